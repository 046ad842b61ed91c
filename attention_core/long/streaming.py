"""Exact attention, tile after tile of keys: the online softmax, and how its parts merge."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from array_api_compat import array_namespace

from attention_core import _checks
from attention_core._checks import Array
from attention_core.attention import (
    attention_scores,
    causal_mask,
    gather,
    has_16_bits,
    in_float32,
    masked,
    unseen_as_0,
    wide,
)
from attention_core.long._tiles import by_head, constant, cut, or_1, product_dtype, tiles


class Partial(NamedTuple):
    """What some of the keys contribute: all that must be known to add other keys later.

    m (..., n_q, 1): the largest score so far; -inf where nothing may be attended.
    l (..., n_q, 1): the sum of exp(score - m).
    o (..., n_q, d_v): the sum of exp(score - m) · value, not yet divided by l.
    Dtype: that of the inputs, but at least float32: 16 bits could not hold a long sum.
    """

    m: Array
    l: Array  # noqa: E741  the letter that the papers use
    o: Array

    @property
    def output(self) -> Array:
        """The attention output over the keys so far: o / l, and 0 where nothing may be attended."""
        xp = array_namespace(self.l)
        return self.o / or_1(self.l, xp)  # (..., n_q, d_v)


class Step(NamedTuple):
    """One row of the ledger: the keys start to stop - 1 alone, and merged with all before them."""

    start: int
    stop: int
    tile: Partial
    merged: Partial


def partial_attention(
    q: Array, k: Array, v: Array, *, mask: Array | None = None, scale: float | None = None
) -> Partial:
    """Attend to some of the keys, and keep what is needed to merge the result with that of others.

    Formula: m = max_j scores_j, l = Σ_j exp(scores_j - m), o = Σ_j exp(scores_j - m) v_j.
    Shapes, dtypes, masks and errors as in `attend`; the result as in `Partial`.

    What is blocked changes nothing, even where it is NaN, infinite or close to overflow.

    Source: Milakov & Gimelshein (2018), Online normalizer calculation for softmax, section 3;
    Rabe & Staats (2021), Self-attention Does Not Need O(n²) Memory, section 2.

    >>> import numpy as np
    >>> q, k, v = np.array([[1.0]]), np.array([[3.0], [5.0]]), np.array([[10.0], [20.0]])
    >>> partial_attention(q, k[:1], v[:1])
    Partial(m=array([[3.]]), l=array([[1.]]), o=array([[10.]]))
    """
    xp = _checks.inputs("q ... n_q d_k | k ... n_k d_k | v ... n_k d_v", q=q, k=k, v=v, mask=mask)
    q, k, v = (wide(x, xp) for x in (q, k, v))
    k = unseen_as_0(k, mask, xp)  # padding may hold anything
    scores = wide(attention_scores(q, k, scale=scale), xp)  # (..., n_q, n_k)  q kᵀ / √d_k
    scores = masked(scores, mask, xp)  # (..., n_q, n_k)  -inf where the mask blocks
    m = xp.max(constant(scores), axis=-1, keepdims=True)  # (..., n_q, 1)
    scores -= _or_0(m, xp)  # (..., n_q, n_k)  in place: our own array, and large
    e = xp.exp(scores)  # (..., n_q, n_k)  at most 1 each
    l = xp.sum(e, axis=-1, keepdims=True)  # (..., n_q, 1)  # noqa: E741
    return Partial(m, l, wide(gather(e, v, mask, xp), xp))  # o (..., n_q, d_v)  e v


def merge_partial(a: Partial, b: Partial) -> Partial:
    """Merge what two disjoint groups of keys contribute to the same queries; the order is free.

    Formula: m = max(m_a, m_b), l = exp(m_a - m) l_a + exp(m_b - m) l_b, and o likewise.
    Shapes as in `Partial`; leading axes broadcast. The groups may come from anywhere: tiles of one
    loop, other processes, other machines.

    Raises TypeError for mixed libraries, dtypes or devices; ValueError when a and b are not about the
    same number of queries and the same d_v.

    Source: Milakov & Gimelshein (2018), section 3.1, eq. 4; Dao et al. (2022), FlashAttention,
    section 3.1.

    >>> import numpy as np
    >>> q, k, v = np.array([[1.0]]), np.array([[3.0], [5.0]]), np.array([[10.0], [20.0]])
    >>> first, second = partial_attention(q, k[:1], v[:1]), partial_attention(q, k[1:], v[1:])
    >>> merge_partial(first, second).output.round(4)
    array([[18.808]])
    """
    xp = _checks.inputs("a ... n_q d_v | b ... n_q d_v", a=a.o, b=b.o)
    m = xp.maximum(a.m, b.m)  # (..., n_q, 1)
    finite = _or_0(m, xp)
    shrink_a, shrink_b = xp.exp(a.m - finite), xp.exp(b.m - finite)  # (..., n_q, 1)
    return Partial(m, shrink_a * a.l + shrink_b * b.l, shrink_a * a.o + shrink_b * b.o)


def streaming_attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
    tile_q: int = 512,
    tile_k: int = 1024,
) -> Array:
    """Compute the output of `attend` exactly, without ever holding n_q × n_k numbers.

    Formula: for each tile of queries, `merge_partial` of `partial_attention` over tiles of keys.
    Shapes, dtypes, masks and errors as in `attend` -> output (..., n_q, d_v).
    `causal` blocks what `causal_mask(n_q, n_k)` blocks; tiles in the future of all their queries are
    never computed. Memory: a few tiles of tile_q × tile_k numbers, however long the sequence, since
    one head follows the other, and the output twice. With gradients in torch every tile is kept until
    the backward pass, O(n_q · n_k) numbers; FlashAttention computes them a second time instead.

    Source: Rabe & Staats (2021), section 2; Dao et al. (2022), section 3.1, algorithm 1.

    >>> import numpy as np
    >>> q, k, v = np.array([[1.0]]), np.array([[3.0], [5.0]]), np.array([[10.0], [20.0]])
    >>> streaming_attention(q, k, v, tile_k=1).round(4)
    array([[18.808]])
    """
    xp = _checks.inputs("q ... n_q d_k | k ... n_k d_k | v ... n_k d_v", q=q, k=k, v=v, mask=mask)
    _checks.integer("tile_q", tile_q, 1)
    _checks.integer("tile_k", tile_k, 1)
    if has_16_bits(q, xp):  # too few for a long sum
        options = {"mask": mask, "causal": causal, "scale": scale, "tile_q": tile_q, "tile_k": tile_k}
        return in_float32(streaming_attention, q, k, v, **options)
    n_q, n_k, dtype = q.shape[-2], k.shape[-2], product_dtype(q, xp)

    def one_head(q: Array, k: Array, v: Array, mask: Array | None) -> Array:
        outputs = []
        for rows in tiles(n_q, tile_q):
            offset = rows.start + n_k - n_q if causal else None
            for step in _steps(q[rows, :], k, v, cut(mask, rows), offset, scale, tile_k):
                merged = step.merged  # m, l (tile_q, 1), o (tile_q, d_v)
            outputs.append(xp.astype(merged.output, dtype, copy=False))
        return xp.concat(outputs, axis=-2)  # (n_q, d_v)

    return by_head(one_head, q, k, v, cut(mask))  # (..., n_q, d_v)


def streaming_ledger(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
    tile_k: int = 1024,
) -> Iterator[Step]:
    """Yield what `streaming_attention` holds after each tile of keys, for all queries at once.

    Inputs and errors as in `streaming_attention`; the last step's `merged.output` is its result.

    >>> import numpy as np
    >>> q, k = np.array([[1.0]]), np.array([[1.0], [3.0], [2.0]])
    >>> for step in streaming_ledger(q, k, k, tile_k=1):
    ...     print(step.start, step.stop, *(x.item() for x in step.merged[:1]), step.merged.output.round(4))
    0 1 1.0 [[1.]]
    1 2 3.0 [[2.7616]]
    2 3 3.0 [[2.5752]]
    """
    _checks.inputs("q ... n_q d_k | k ... n_k d_k | v ... n_k d_v", q=q, k=k, v=v, mask=mask)
    _checks.integer("tile_k", tile_k, 1)
    offset = k.shape[-2] - q.shape[-2] if causal else None
    return _steps(q, k, v, mask, offset, scale, tile_k)


def _steps(
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    offset: int | None,
    scale: float | None,
    tile_k: int,
) -> Iterator[Step]:
    """Merge tile after tile of keys; with an offset, query i sees the keys up to i + offset."""
    n_q, n_k = q.shape[-2], k.shape[-2]
    if offset is not None:
        n_k = min(max(n_q + offset, 1), n_k)  # the keys after these are in the future of all queries
    merged = None
    for keys in tiles(n_k, tile_k):
        allowed = cut(mask, keys=keys)  # (..., n_q, tile_k)
        if offset is not None and keys.stop > offset + 1:  # some of them are in the first query's future
            past = causal_mask(n_q, keys.stop - keys.start, offset=offset - keys.start, like=k)
            allowed = past if allowed is None else allowed & past
        tile = partial_attention(q, k[..., keys, :], v[..., keys, :], mask=allowed, scale=scale)
        merged = tile if merged is None else merge_partial(merged, tile)
        yield Step(keys.start, keys.stop, tile, merged)


def _or_0(m: Array, xp: Any) -> Array:
    """Return m, and 0 where m is -inf: nothing is allowed there, and -inf + inf would be NaN."""
    return xp.where(m == -xp.inf, 0.0, m)
