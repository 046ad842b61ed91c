"""What every loop over tiles needs."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from array_api_compat import array_namespace, device

from attention_core import _checks
from attention_core._checks import Array

ALL = slice(None)


def cut(mask: Array | None, rows: slice = ALL, keys: slice = ALL) -> Array | None:
    """Cut a tile out of a mask; an axis of size 1 serves every tile and stays."""
    if mask is None:
        return None
    mask = mask if mask.ndim > 1 else mask[None, :]
    return mask[..., rows if mask.shape[-2] > 1 else ALL, keys if mask.shape[-1] > 1 else ALL]


def empty_output(q: Array, k: Array, v: Array, mask: Array | None, xp: Any) -> Array:
    """Return an array for the output (..., n_q, d_v), with the leading axes of all inputs together."""
    arrays = (q, k, v) if mask is None else (q, k, v, mask)
    leading = _checks.broadcast(*(tuple(x.shape[:-2]) for x in arrays))
    assert leading is not None, "the inputs have been checked"
    return xp.empty((*leading, q.shape[-2], v.shape[-1]), dtype=q.dtype, device=device(q))


def each_head(
    leading: tuple[int, ...], *arrays: Array | None
) -> Iterator[tuple[tuple[int, ...], list[Array]]]:
    """Yield every index of the leading axes with the matrices there; None stays None."""
    xp = array_namespace(*(x for x in arrays if x is not None))
    full = [None if x is None else xp.broadcast_to(x, (*leading, *x.shape[-2:])) for x in arrays]
    for index in product(*map(range, leading)):
        yield index, [None if x is None else x[(*index, ...)] for x in full]
