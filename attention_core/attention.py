"""Scaled dot-product attention, one equation a line.

Written once against the Python array API: the same lines run on numpy, on torch (gradients, vmap,
compile and export included), on JAX and on any other library that `array_api_compat` knows. Nothing
here looks at the numbers to decide what to do. Masks are boolean everywhere; True means "may attend".
"""

import math
from collections.abc import Callable
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
    xp = _checks.inputs("x ... n", x=x)
    _checks.integer("axis", axis, -x.ndim, x.ndim - 1)
    if has_16_bits(x, xp):  # too few for a long sum
        return in_float32(softmax, x, axis=axis)
    if hasattr(xp, "softmax"):  # torch: what follows in one pass
        return _softmax_of(xp, x, axis)
    m = _finite(xp.max(x, axis=axis, keepdims=True), xp)  # (..., 1)
    e = xp.exp(x - m)  # (..., n)  at most 1 each
    total = xp.sum(e, axis=axis, keepdims=True)  # (..., 1)
    return e / xp.maximum(total, 1.0)  # (..., n)  the total is below 1 only where nothing is allowed


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
    xp = _checks.inputs("q ... n_q d_k | k ... n_k d_k", q=q, k=k)
    scaled_q = q * _scale(scale, q)  # (..., n_q, d_k)  before the product, so that float16 can hold it
    return scaled_q @ xp.matrix_transpose(k)  # (..., n_q, n_k)


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

    A query that may attend to nothing gets weights 0 and output 0. What `mask` blocks changes no weight
    and no output, even where the score or the value is NaN, infinite or close to overflow. An allowed
    NaN stays visible: under a mask, a value that holds NaN or infinity and has a weight makes the output of
    that query NaN in each column that holds any.
    `dropout` is applied to the weights before they meet the values; the weights returned are
    those before it, so they still sum to 1.

    Raises TypeError for lists, integers, masks that are not boolean, mixed libraries, dtypes or
    devices; ValueError for shapes that do not fit or an empty axis.

    Source: Bahdanau, Cho & Bengio (2015), Neural Machine Translation by Jointly Learning to Align
    and Translate, section 3.1, eq. 5 and 6.

    >>> weigh(np.array([[1.0, 1.0, -np.inf]]), np.array([[10.0], [20.0], [90.0]])).output
    array([[15.]])
    """
    xp = _checks.inputs("scores ... n_q n_k | v ... n_k d_v", scores=scores, v=v, mask=mask)
    masked_scores = masked(scores, mask, xp)  # (..., n_q, n_k)  -inf where the mask blocks
    weights = softmax(masked_scores)  # (..., n_q, n_k)  each row sums to 1
    kept = weights if dropout is None else dropout(weights)  # (..., n_q, n_k)
    output = gather(kept, v, mask, xp)  # (..., n_q, d_v)  weights @ v
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

    What `weigh` says of a query without keys, of blocked values and of `dropout` holds here too, and a
    blocked key changes nothing either. What no query may see of k, and is NaN, infinite or so large
    that its products overflow, counts as 0. 16 bits are computed as 32, so weights and output
    are right where scores overflow; the scores returned are then infinite.
    Gradients: what no query may see changes none. A NaN or infinity that some queries may see and
    others not reaches the gradients when it stands in a key, but not when it stands in a value.

    Raises TypeError for lists, integers, masks that are not boolean, mixed libraries, dtypes or
    devices; ValueError for shapes that do not fit, an empty axis, or a scale that is not finite.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.2.1, eq. 1.

    >>> q, k = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 2.0]])
    >>> attend(q, k, np.array([[10.0], [20.0]])).output
    array([[15.]])
    """
    xp = _checks.inputs("q ... n_q d_k | k ... n_k d_k | v ... n_k d_v", q=q, k=k, v=v, mask=mask)
    if has_16_bits(q, xp):  # too few for large scores
        return in_float32(attend, q, k, v, mask=mask, scale=scale, dropout=dropout)
    k = unseen_as_0(k, mask, xp)  # padding may hold anything
    scores = (q * _scale(scale, q)) @ xp.matrix_transpose(k)  # (..., n_q, n_k)  q kᵀ / √d_k
    masked_scores = masked(scores, mask, xp)  # (..., n_q, n_k)  -inf where the mask blocks
    weights = _softmax_of_products(masked_scores, mask, xp)  # (..., n_q, n_k)  each row sums to 1
    kept = weights if dropout is None else dropout(weights)  # (..., n_q, n_k)
    output = gather(kept, v, mask, xp)  # (..., n_q, d_v)  weights @ v
    return Attention(scores, masked_scores, weights, output)


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
    _checks.integer("n_q", n_q, 1)
    _checks.integer("n_k", n_k, 1)
    offset = n_k - n_q if offset is None else offset
    _checks.integer("offset", offset)
    xp, where = _library(like)
    i = xp.arange(n_q, device=where)  # (n_q,)
    j = xp.arange(n_k, device=where)  # (n_k,)
    return j[None, :] <= i[:, None] + offset  # (n_q, n_k)


def padding_mask(lengths: Array, n_k: int) -> Array:
    """Allow the real keys of each sequence, and block the padding after them.

    Formula: mask[b, 0, j] = (j < lengths[b]).
    Shapes: lengths (...) of integers -> (..., 1, n_k), boolean, True = may attend: the axis of
    size 1 serves every query. With heads, (batch, n_heads, n_q, n_k), add an axis: mask[:, None].

    A length below 0 counts as 0, and one above n_k as n_k: nothing looks at the numbers themselves,
    so that a compiler may know no more than their shape.

    Raises TypeError when lengths is not an integer array or n_k no integer; ValueError for n_k below 1.

    Source: Vaswani et al. (2017), section 3.2.3 (masking by -inf), applied to padding.

    >>> padding_mask(np.array([1, 3]), 3).astype(int)
    array([[[1, 0, 0]],
    <BLANKLINE>
           [[1, 1, 1]]])
    """
    _checks.integer("n_k", n_k, 1)
    xp = _checks.inputs("", lengths=lengths)
    j = xp.arange(n_k, device=device(lengths))  # (n_k,)
    return (j < lengths[..., None])[..., None, :]  # (..., 1, n_k)


def at_least_float32(dtype: Any, xp: Any) -> Any:
    """Return `dtype`, or float32 for a type of 16 bits."""
    return xp.float32 if xp.finfo(dtype).bits < 32 else dtype


def wide(x: Array, xp: Any) -> Array:
    """Return x as float32 where it has 16 bits."""
    return xp.astype(x, at_least_float32(x.dtype, xp), copy=False)


def has_16_bits(x: Array, xp: Any) -> bool:
    """Is x float16 or bfloat16?"""
    return xp.finfo(x.dtype).bits < 32


def in_float32(function: Callable[..., Any], *arrays: Array, **options: Any) -> Any:
    """Return what `function` makes of `arrays` as float32, in the dtype of these arrays."""
    xp, dtype = array_namespace(*arrays), arrays[0].dtype
    result = function(*(xp.astype(x, xp.float32) for x in arrays), **options)
    if isinstance(result, Attention):
        return Attention(*(_narrow(step, dtype, xp) for step in result))
    return _narrow(result, dtype, xp)


def _narrow(x: Array, dtype: Any, xp: Any) -> Array:
    return xp.astype(x, dtype) if x.dtype == xp.float32 else x  # torch.autocast may have chosen another


def masked(scores: Array, mask: Array | None, xp: Any) -> Array:
    """Return scores (..., n_q, n_k) with -inf where `mask` is False."""
    return scores if mask is None else xp.where(mask, scores, -xp.inf)


def unseen_as_0(k: Array, mask: Array | None, xp: Any) -> Array:
    """Return keys (..., n_k, d_k), with 0 for what no query may see and what could do harm.

    That is NaN, infinity, and numbers whose products overflow: padding may hold anything.
    """
    if mask is None:
        return k
    harmless = xp.abs(k) <= xp.finfo(k.dtype).max ** 0.5  # (..., n_k, d_k)
    return xp.where(harmless | _seen(mask, k, xp), k, 0.0)


def gather(weights: Array, v: Array, mask: Array | None, xp: Any) -> Array:
    """Return weights @ v, (..., n_q, d_v), in which 0 · NaN and 0 · inf are 0 where there is a mask.

    NaN and infinity are left out, and whoever gives such a value a weight gets NaN in the columns that
    hold any. Values that no query may see are left out too: padding may hold anything.
    """
    if mask is None:
        return weights @ v
    finite = xp.abs(v) <= xp.finfo(v.dtype).max  # (..., n_k, d_v)
    clean = xp.where(finite & _seen(mask, v, xp), v, 0.0)  # (..., n_k, d_v)
    odd = xp.astype(~xp.all(finite, axis=-1, keepdims=True), v.dtype)  # (..., n_k, 1)
    product = weights @ xp.concat([clean, odd], axis=-1)  # (..., n_q, d_v + 1)
    met = (product[..., -1:] > 0) & ~xp.all(finite, axis=-2, keepdims=True)  # (..., n_q, d_v)
    return xp.where(met, xp.nan, product[..., :-1])


def _seen(mask: Array, rows: Array, xp: Any) -> Array:
    """Return for each of the rows (..., n_k, d) whether any query may see it, (..., n_k or 1, 1)."""
    mask = mask if mask.ndim > 1 else mask[None, :]
    seen = xp.any(mask, axis=-2)[..., None]  # (..., n_k or 1, 1)
    for axis in range(mask.ndim - 2):  # leading axes that the rows do not have share the rows
        if mask.ndim - axis > rows.ndim or rows.shape[axis - mask.ndim] == 1:
            seen = xp.any(seen, axis=axis, keepdims=True)
    return xp.reshape(seen, seen.shape[max(mask.ndim - rows.ndim, 0) :])


def _softmax_of_products(scores: Array, mask: Array | None, xp: Any) -> Array:
    """Return softmax(scores), with torch at less cost: products are not -inf, unless masked.

    The NaN of a row that is blocked throughout cannot reach the gradients: `masked` lets nothing through.
    """
    if not hasattr(xp, "softmax"):
        return softmax(scores)
    weights = xp.softmax(scores, -1)  # (..., n_q, n_k)
    return weights if mask is None else xp.where(xp.any(mask, axis=-1, keepdims=True), weights, 0.0)


def _softmax_of(xp: Any, x: Array, axis: int) -> Array:
    """Return the softmax of the library, with 0 for its NaN where every score is -inf."""
    some = xp.astype(xp.max(x, axis=axis, keepdims=True) > -xp.inf, x.dtype)
    return xp.softmax(xp.clip(x, min=xp.finfo(x.dtype).min), axis) * some


def _finite(m: Array, xp: Any) -> Array:
    """Return m, but not -inf where nothing is allowed, for -inf + inf is NaN."""
    return xp.maximum(m, xp.finfo(m.dtype).min)


def _scale(scale: float | None, q: Array) -> float:
    if scale is None:
        return 1 / math.sqrt(q.shape[-1])
    _checks.number("scale", scale)
    return float(scale)  # numpy's own float64 would change the dtype of q


def _library(like: Array | None) -> tuple[Any, Any]:
    """Return the namespace and device of `like`; numpy's when it is None."""
    if like is None:
        return np, None
    _checks.array("like", like)
    return array_namespace(like), device(like)
