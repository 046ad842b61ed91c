"""Multi-head attention: split the model dimension into heads, attend in each, merge."""

from typing import Any

from attention_core import _checks
from attention_core._checks import Array
from attention_core.attention import Attention, attend


def split_heads(x: Array, n_heads: int) -> Array:
    """Give each head its own slice of the last axis.

    Formula: head h holds columns h·d_head to (h+1)·d_head, with d_head = d_model / n_heads.
    Shape: x (..., n, d_model) -> (..., n_heads, n, d_head). Dtype: any floating point, kept.
    Where the library allows it the result is a view: same memory, other strides.

    Raises TypeError when x is not a floating-point array or n_heads not an integer; ValueError
    when n_heads does not divide d_model.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.2.2.

    >>> import numpy as np
    >>> split_heads(np.array([[1.0, 2.0, 3.0, 4.0]]), 2)
    array([[[1., 2.]],
    <BLANKLINE>
           [[3., 4.]]])
    """
    xp = _checks.inputs("x ... n d_model", x=x)
    divides("n_heads", n_heads, "d_model", x.shape[-1])
    d_head = x.shape[-1] // n_heads
    heads = xp.reshape(x, (*x.shape[:-1], n_heads, d_head))  # (..., n, n_heads, d_head)
    return xp.moveaxis(heads, -2, -3)  # (..., n_heads, n, d_head)


def merge_heads(x: Array) -> Array:
    """Lay the heads side by side again: the inverse of `split_heads`.

    Formula: Concat(head_0, ..., head_h).
    Shape: x (..., n_heads, n, d_head) -> (..., n, n_heads·d_head). Dtype: any floating point, kept.

    Raises TypeError when x is not a floating-point array, ValueError when it has fewer than 3 axes.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.2.2.

    >>> import numpy as np
    >>> merge_heads(np.array([[[1.0, 2.0]], [[3.0, 4.0]]]))
    array([[1., 2., 3., 4.]])
    """
    xp = _checks.inputs("x ... n_heads n d_head", x=x)
    rows = xp.moveaxis(x, -3, -2)  # (..., n, n_heads, d_head)
    return xp.reshape(rows, (*rows.shape[:-2], rows.shape[-2] * rows.shape[-1]))  # (..., n, d_model)


def multi_head(
    x_q: Array,
    x_kv: Array,
    w_q: Array,
    w_k: Array,
    w_v: Array,
    w_o: Array,
    *,
    n_heads: int,
    n_kv_heads: int | None = None,
    mask: Array | None = None,
    scale: float | None = None,
) -> Attention:
    """Attend in n_heads smaller spaces at once, then mix the results.

    Formula: output = Concat(head_1, ..., head_h) w_o, head_i = attend(x_q w_q, x_kv w_k, x_kv w_v)_i.
    Shapes: x_q (..., n_q, d_in), x_kv (..., n_k, d_kv), w_q (d_in, d_model), w_k (d_kv, d_model),
    w_v (d_kv, d_model), w_o (d_model, d_out) -> scores, masked_scores, weights
    (..., n_heads, n_q, n_k) and output (..., n_q, d_out). Dtype: any floating point, one for all, kept.
    Self-attention: x_kv is x_q. mask is (n_q, n_k) for all, or has every axis of the scores, the axis
    of the heads too: (..., n_heads or 1, n_q, n_k). For a mask (batch, n_q, n_k) write mask[:, None].
    A NaN in a blocked row of x_kv changes no output, but it reaches the gradients of w_k and w_v.

    Fewer heads of keys and values, n_kv_heads, make it grouped-query attention (1: multi-query): head
    h uses the keys and values h // (n_heads / n_kv_heads), and w_k and w_v have n_kv_heads · d_head
    columns, with d_head = d_model / n_heads. The shared keys and values are not repeated.

    Raises TypeError or ValueError as `attend` does, and ValueError when a weight matrix does not
    fit its input, n_heads does not divide d_model, n_kv_heads does not divide n_heads, or a mask has
    no axis for the heads.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.2.2; for n_kv_heads Ainslie et
    al. (2023), GQA, section 2.2, and Shazeer (2019), Fast Transformer Decoding, section 3.

    >>> import numpy as np
    >>> x, eye = np.array([[1.0, 0.0], [0.0, 1.0]]), np.eye(2)
    >>> multi_head(x, x, eye, eye, eye, eye, n_heads=2).output.round(4)
    array([[0.7311, 0.5   ],
           [0.5   , 0.7311]])
    """
    n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
    shapes = "x_q ... n_q d_in | x_kv ... n_k d_kv | w_q d_in d_model | w_k d_kv d_keys | w_v d_kv d_values"
    arrays = {"x_q": x_q, "x_kv": x_kv, "w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}
    xp = _checks.inputs(f"{shapes} | w_o d_columns d_out", **arrays)
    _check_heads(w_q, w_k, w_v, w_o, n_heads, n_kv_heads)
    q = split_heads(x_q @ w_q, n_heads)  # (..., n_heads, n_q, d_k)
    k = split_heads(x_kv @ w_k, n_kv_heads)  # (..., n_kv_heads, n_k, d_k)
    v = split_heads(x_kv @ w_v, n_kv_heads)  # (..., n_kv_heads, n_k, d_v)
    if mask is not None:
        heads_mask(mask, q, k)
        mask = xp.broadcast_to(mask, (*mask.shape[:-3], *q.shape[-3:-1], mask.shape[-1]))
        mask = _regroup(mask, n_kv_heads, xp)
    groups = attend(_regroup(q, n_kv_heads, xp), k, v, mask=mask, scale=scale)
    heads = Attention(*(_regroup(step, n_heads, xp) for step in groups))  # (..., n_heads, n_q, any)
    return heads._replace(output=merge_heads(heads.output) @ w_o)  # (..., n_q, d_out)


def _regroup(x: Array, n: int, xp: Any) -> Array:
    """Lay heads that share their keys one below the other, (..., n_kv_heads, rows, any), or undo it.

    To the keys, the queries of several heads are only more queries.
    """
    return xp.reshape(x, (*x.shape[:-3], n, x.shape[-3] * x.shape[-2] // n, x.shape[-1]))


def divides(name: str, part: int, whole_name: str, whole: int) -> None:
    """Raise unless `part` is an integer that divides `whole`."""
    _checks.integer(name, part, 1)
    if whole % part:
        fitting = [n for n in range(1, whole + 1) if whole % n == 0]
        raise ValueError(f"{name} must divide {whole_name} = {whole} (one of {fitting}), got {part}")


def heads_mask(mask: Array, q: Array, k: Array) -> None:
    """Raise unless `mask` fits, and it is certain which of its axes belongs to the heads of q.

    Broadcasting would take the batch axis of (batch, n_q, n_k) for the axis of the heads: an error
    when the sizes differ, and a wrong result without a word when they happen to be equal.
    """
    _checks.inputs("", q=q, mask=mask)
    n_axes, n_heads = max(q.ndim, k.ndim), q.shape[-3]
    if mask.ndim > 2 and (mask.ndim < n_axes or mask.shape[-3] not in (1, n_heads)):
        raise ValueError(
            f"mask must have shape (n_q, n_k), or {n_axes} axes with 1 or n_heads = {n_heads} third from the "
            f"end, got {tuple(mask.shape)}; if it is (batch, n_q, n_k), write mask[:, None] for all heads"
        )
    leading = _checks.broadcast(tuple(q.shape[:-3]), tuple(k.shape[:-3])) or ()
    _checks.fitting_mask(tuple(mask.shape), (*leading, n_heads, q.shape[-2], k.shape[-2]))


def _check_heads(w_q: Array, w_k: Array, w_v: Array, w_o: Array, n_heads: int, n_kv_heads: int) -> None:
    """Raise unless the columns of the weight matrices fit the numbers of heads."""
    divides("n_heads", n_heads, "d_model", w_q.shape[1])
    divides("n_kv_heads", n_kv_heads, "n_heads", n_heads)
    d_head = w_q.shape[1] // n_heads
    if w_k.shape[1] != n_kv_heads * d_head:
        wanted = f"n_kv_heads · d_head = {n_kv_heads} · {d_head}"
        raise ValueError(f"w_k must have {wanted} columns, got {w_k.shape[1]}")
    if w_v.shape[1] % n_kv_heads:
        raise ValueError(f"n_kv_heads = {n_kv_heads} must divide the columns of w_v, got {w_v.shape[1]}")
    columns = w_v.shape[1] // n_kv_heads * n_heads
    _checks.equal("w_o needs a row for each value column of each head", columns=columns, w_o=w_o.shape[0])
