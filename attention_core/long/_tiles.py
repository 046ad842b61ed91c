"""What every loop over tiles needs."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from array_api_compat import array_namespace, device

from attention_core import _checks
from attention_core._checks import Array

ALL = slice(None)


def tiles(n: int, size: int) -> Iterator[slice]:
    """Cut 0 to n - 1 into slices of `size`; the last one may be shorter."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def cut(mask: Array | None, rows: slice = ALL, keys: slice = ALL) -> Array | None:
    """Cut a tile out of a mask; an axis of size 1 serves every tile and stays."""
    if mask is None:
        return None
    mask = mask if mask.ndim > 1 else mask[None, :]
    return mask[..., rows if mask.shape[-2] > 1 else ALL, keys if mask.shape[-1] > 1 else ALL]


def leading_axes(*arrays: Array | None) -> tuple[int, ...]:
    """Return the leading axes (...) of the output for inputs (..., n, d) that have been checked."""
    leading = _checks.broadcast(*(tuple(x.shape[:-2]) for x in arrays if x is not None))
    assert leading is not None, "the inputs have been checked"
    return leading


def by_head(step: Callable[..., Array], *arrays: Array | None) -> Array:
    """Return step(matrices) for every index of the leading axes, stacked; None stays None."""
    xp, leading = array_namespace(*(x for x in arrays if x is not None)), leading_axes(*arrays)
    full = [None if x is None else xp.broadcast_to(x, (*leading, *x.shape[-2:])) for x in arrays]
    heads = [
        step(*(None if x is None else x[(*index, ...)] for x in full))
        for index in product(*map(range, leading))
    ]
    return xp.reshape(xp.stack(heads), (*leading, *heads[0].shape))


def product_dtype(x: Array, xp: Any) -> Any:
    """Return the dtype of x in matrix products: its own, where torch.autocast does not choose another."""
    one = xp.ones((1, 1), dtype=x.dtype, device=device(x))
    return (one @ one).dtype


def or_1(x: Array, xp: Any) -> Array:
    """Return x, and 1 where it is 0, to divide by."""
    return xp.where(x == 0, 1.0, x)


def constant(x: Array) -> Array:
    """Cut x out of torch's gradients, where the result is the same for any x."""
    return x.detach() if hasattr(x, "detach") else x
