"""Scaled dot-product attention, one equation a line.

Written once against the Python array API: the same lines run on numpy, on torch
(gradients included) and on any other library that `array_api_compat` knows.
Masks are boolean everywhere, and True means "may attend".
"""

import math
from collections.abc import Callable
from functools import partial
from operator import matmul
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device

from attention_core import _checks
from attention_core._checks import Array


class Attention(NamedTuple):
    """Every step of one attention call: softmax(q kᵀ / √d_k) v.

    Shapes: scores, masked_scores and weights (..., n_q, n_k); output (..., n_q, d_v).
    `scores` are already scaled; `masked_scores` hold -inf where the mask blocks.
    """

    scores: Array
    masked_scores: Array
    weights: Array
    output: Array


def softmax(x: Array, *, axis: int = -1) -> Array:
    """Turn scores into weights that are not negative and sum to 1 along `axis`.

    Formula: softmax(x)_j = exp(x_j - m) / Σ_i exp(x_i - m), with m = max(x).
    Shape: x (...) -> the same. Dtype: any floating point, kept.
    Where every score is -inf (nothing may be attended) the weights are 0, not NaN.

    Raises TypeError when x is not a floating-point array; ValueError when an axis is empty
    or `axis` does not exist.

    Source: Goodfellow, Bengio & Courville (2016), Deep Learning, section 4.1, eq. 4.1.

    >>> softmax(np.array([0.0, 1.0, -np.inf])).round(4)
    array([0.2689, 0.7311, 0.    ])
    """
    xp = _checks.namespace(x=x)
    _checks.axes("x", x, "")
    _checks.axis("axis", axis, x)
    if hasattr(xp, "softmax"):  # torch has its own, in one pass
        return _library_softmax(x, axis, xp)
    m = xp.max(x, axis=axis, keepdims=True)
    m = xp.maximum(m, xp.finfo(x.dtype).min)  # nothing allowed: m is finite, because -inf + inf is NaN
    e = xp.exp(x - m)  # at most 1 each
    wide = at_least_float32(x.dtype, xp)  # float16 could not hold a long sum
    total = xp.maximum(xp.sum(e, axis=axis, keepdims=True, dtype=wide), 1.0)  # 0 where nothing is allowed
    return xp.astype(e / total, x.dtype, copy=False)


def attention_scores(q: Array, k: Array, *, scale: float | None = None) -> Array:
    """Compare every query with every key.

    Formula: scores = q kᵀ / √d_k, or q kᵀ · scale where `scale` is given.
    Shapes: q (..., n_q, d_k), k (..., n_k, d_k) -> (..., n_q, n_k); leading axes broadcast.
    Dtype: any floating point, the same for q and k, kept.

    Raises TypeError for lists, integers, mixed libraries, dtypes or devices; ValueError for
    shapes that do not fit, an empty axis, or a scale that is not finite.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.2.1, eq. 1.

    >>> attention_scores(np.array([[1.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 5.0]]), scale=1.0)
    array([[3., 0.]])
    """
    _checks.namespace(q=q, k=k)
    _checks.queries_and_keys(q, k, scale)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)  # float: keeps q's dtype
    scaled_q = q * scale  # (..., n_q, d_k)  scaled before the product, so that float16 can hold it
    return scaled_q @ k.mT  # (..., n_q, n_k)


def weigh(
    scores: Array,
    v: Array,
    *,
    mask: Array | None = None,
    dropout: Callable[[Array], Array] | None = None,
) -> Attention:
    """Turn scores of any kind into weights, and let every query gather the values with them.

    Formula: output = softmax(scores) v; scores are -inf where `mask` is False.
    Shapes: scores (..., n_q, n_k), v (..., n_k, d_v), mask broadcasts to (..., n_q, n_k)
    -> Attention(scores, masked_scores, weights, output); leading axes broadcast.
    Dtype: any floating point, the same for scores and v, kept; mask boolean, True = may attend.

    A query that may attend to nothing gets weights 0 and output 0. A score or value that is blocked
    changes nothing, even where it is NaN, infinite or close to overflow. Where some queries may
    attend to such a value and others not, that costs n_q copies of v.
    `dropout` is applied to the weights before they meet the values; the weights returned are
    those before it, so they still sum to 1.

    Raises TypeError for lists, integers, masks that are not boolean, mixed libraries, dtypes or
    devices; ValueError for shapes that do not fit or an empty axis.

    Source: Bahdanau, Cho & Bengio (2015), Neural Machine Translation by Jointly Learning to Align
    and Translate, section 3.1, eq. 5 and 6.

    >>> weigh(np.array([[1.0, 1.0, -np.inf]]), np.array([[10.0], [20.0], [90.0]])).output
    array([[15.]])
    """
    xp = _checks.namespace(scores=scores, v=v)
    _checks.scores_and_values(scores, v, mask, xp)
    masked_scores = scores if mask is None else xp.where(mask, scores, -xp.inf)  # (..., n_q, n_k)
    weights = softmax(masked_scores)  # (..., n_q, n_k)  each row sums to 1
    kept = weights if dropout is None else dropout(weights)  # (..., n_q, n_k)
    output = _shielded(matmul, kept, v, mask, xp)  # (..., n_q, d_v)  kept @ v
    return Attention(scores, masked_scores, weights, output)


def attend(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None = None,
    scale: float | None = None,
    dropout: Callable[[Array], Array] | None = None,
) -> Attention:
    """Let every query gather the values, weighted by how well their keys match.

    Formula: output = softmax(q kᵀ / √d_k) v; scores are -inf where `mask` is False.
    Shapes: q (..., n_q, d_k), k (..., n_k, d_k), v (..., n_k, d_v), mask broadcasts to
    (..., n_q, n_k) -> Attention(scores, masked_scores, weights, output); leading axes broadcast.
    Dtype: any floating point, the same for q, k and v, kept; mask boolean, True = may attend.

    What `weigh` says of a query without keys, of blocked values and of `dropout` holds here too. A
    blocked key changes nothing either: where it is NaN, infinite or close to overflow it counts as 0.
    Where some queries may attend to such a key and others not, that costs n_q copies of k.

    Raises TypeError for lists, integers, masks that are not boolean, mixed libraries, dtypes or
    devices; ValueError for shapes that do not fit, an empty axis, or a scale that is not finite.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.2.1, eq. 1.

    >>> q, k = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 2.0]])
    >>> attend(q, k, np.array([[10.0], [20.0]])).output
    array([[15.]])
    """
    xp = _checks.namespace(q=q, k=k, v=v)
    _checks.attention_inputs(q, k, v, mask, xp)
    compare = partial(attention_scores, scale=scale)
    scores = _shielded(compare, q, k, mask, xp)  # (..., n_q, n_k)  q kᵀ / √d_k
    return weigh(scores, v, mask=mask, dropout=dropout)  # output (..., n_q, d_v)


def causal_mask(
    n_q: int, n_k: int | None = None, *, offset: int | None = None, like: Array | None = None
) -> Array:
    """Allow each query the keys up to its own position, and none after it.

    Formula: mask[i, j] = (j <= i + offset); offset = n_k - n_q unless given.
    Shape: (n_q, n_k), boolean, True = may attend; n_k = n_q unless given. The library and device
    are those of `like`; numpy without it.

    When n_q < n_k (new queries, older keys in a cache), two alignments are in use::

        offset = n_k - n_q (ours: the last query     offset = 0 (torch's is_causal=True: the first
        sees every key, as decoding needs)           query sees the first key alone)

            k0 k1 k2 k3                                  k0 k1 k2 k3
        q0   x  x  x  .                              q0   x  .  .  .
        q1   x  x  x  x                              q1   x  x  .  .

    Raises TypeError for sizes that are not integers or a `like` that is not an array, ValueError for
    sizes below 1.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.2.3.

    >>> causal_mask(2, 4).astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 1]])
    """
    n_k = n_q if n_k is None else n_k
    _checks.positive_int("n_q", n_q)
    _checks.positive_int("n_k", n_k)
    offset = n_k - n_q if offset is None else offset
    _checks.whole_number("offset", offset)
    xp, where = _library(like)
    i = xp.arange(n_q, device=where)  # (n_q,)
    j = xp.arange(n_k, device=where)  # (n_k,)
    return j[None, :] <= i[:, None] + offset  # (n_q, n_k)


def padding_mask(lengths: Array, n_k: int) -> Array:
    """Allow the real keys of each sequence, and block the padding after them.

    Formula: mask[b, 0, j] = (j < lengths[b]).
    Shapes: lengths (...) of integers -> (..., 1, n_k), boolean, True = may attend: the axis of
    size 1 serves every query. With heads, (batch, n_heads, n_q, n_k), add an axis: mask[:, None].

    Raises TypeError when lengths is not an integer array; ValueError when a length is not
    between 0 and n_k.

    Source: Vaswani et al. (2017), section 3.2.3 (masking by -inf), applied to padding.

    >>> padding_mask(np.array([1, 3]), 3).astype(int)
    array([[[1, 0, 0]],
    <BLANKLINE>
           [[1, 1, 1]]])
    """
    _checks.positive_int("n_k", n_k)
    xp = _checks.lengths(lengths, n_k)
    j = xp.arange(n_k, device=device(lengths))  # (n_k,)
    return (j < lengths[..., None])[..., None, :]  # (..., 1, n_k)


def at_least_float32(dtype: Any, xp: Any) -> Any:
    """Return `dtype`, or float32 for a type of 16 bits."""
    return xp.float32 if xp.finfo(dtype).bits < 32 else dtype


def _library_softmax(x: Array, axis: int, xp: Any) -> Array:
    """Return the softmax of the library `xp`, with 0 for its NaN where every score is -inf."""
    weights = xp.softmax(x, axis)
    if not bool(xp.isnan(xp.sum(weights))):
        return weights
    blocked = xp.all(x == -xp.inf, axis=axis, keepdims=True)
    finite = xp.where(blocked, 0.0, x)  # before softmax, for its gradient would be NaN too
    return xp.where(blocked, 0.0, xp.softmax(finite, axis))


def _shielded(
    step: Callable[[Array, Array], Array], queries: Array, rows: Array, mask: Array | None, xp: Any
) -> Array:
    """Return step(queries, rows), with 0 in the place of blocked rows where these could do harm.

    Shapes: queries (..., n_q, any), rows (..., n_k, any): the keys or the values -> (..., n_q, any).
    A weight of 0 does not silence a NaN: 0 · NaN is NaN, in outputs and in gradients.
    """
    if mask is None or not _blocked_may_leak(rows, mask, xp):
        return step(queries, rows)
    mask = xp.broadcast_to(mask, np.broadcast_shapes(mask.shape, (queries.shape[-2], rows.shape[-2])))
    used = xp.any(mask, axis=-2)[..., None]  # (..., n_k, 1): padding is used by no query
    rows = xp.where(used, rows, 0.0)  # (..., n_k, any)
    if not _blocked_may_leak(rows, mask, xp):
        return step(queries, rows)
    # some queries may see what others may not: each gets its own copy
    own_rows = xp.where(mask[..., None], rows[..., None, :, :], 0.0)  # (..., n_q, n_k, any)
    return step(queries[..., None, :], own_rows)[..., 0, :]


def _blocked_may_leak(rows: Array, mask: Array, xp: Any) -> bool:
    """Is there a NaN, infinity or huge number in a row that some query may not attend to?"""
    limit = math.sqrt(xp.finfo(rows.dtype).max)  # products of larger numbers overflow, also in gradients
    if bool(xp.max(xp.abs(rows)) <= limit):  # a NaN is not <= anything
        return False
    bad = xp.any(~(xp.abs(rows) <= limit), axis=-1)  # (..., n_k)
    return bool(xp.any(~mask & bad[..., None, :]))


def _library(like: Array | None) -> tuple[Any, Any]:
    """Return the namespace and device of `like`; numpy's when it is None."""
    if like is None:
        return np, None
    _checks.array("like", like)
    return array_namespace(like), device(like)
