"""Multi-head attention: split the model dimension into heads, attend in each, merge."""

from collections.abc import Callable
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
    return _swap(heads, xp)  # (..., n_heads, n, d_head)


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
    rows = _swap(x, xp)  # (..., n, n_heads, d_head)
    return xp.reshape(rows, (*rows.shape[:-2], rows.shape[-2] * rows.shape[-1]))  # (..., n, d_model)


def attend_in_heads(
    q: Array,
    k: Array,
    v: Array,
    *,
    n_heads: int,
    mask: Array | None = None,
    scale: float | None = None,
    dropout: Callable[[Array], Array] | None = None,
) -> Attention:
    """Let each head attend in its own columns of q, k and v, and lay the results side by side.

    Formula: output = Concat(head_1, ..., head_h), head_i = attend(q_i, k_i, v_i).
    Shapes: q (..., n_q, d_model), k (..., n_k, d_model), v (..., n_k, d_values) -> scores,
    masked_scores, weights (..., n_heads, n_q, n_k) and output (..., n_q, d_values). Dtype: any
    floating point, one for all, kept. What `attend` says of mask, scale and dropout holds here too.
    mask is (n_q, n_k) for all, or has every axis of the scores, the axis of the heads too:
    (..., n_heads or 1, n_q, n_k). For a mask (batch, n_q, n_k) write mask[:, None].

    Raises TypeError or ValueError as `attend` does, and ValueError when n_heads does not divide
    d_model and d_values, or a mask has no axis for the heads.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.2.2.

    >>> import numpy as np
    >>> x = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> attend_in_heads(x, x, x, n_heads=2).output.round(4)
    array([[0.7311, 0.5   ],
           [0.5   , 0.7311]])
    """
    _checks.inputs("q ... n_q d_model | k ... n_k d_model | v ... n_k d_values", q=q, k=k, v=v)
    q, k, v = (split_heads(x, n_heads) for x in (q, k, v))  # (..., n_heads, n, d_head)
    _check_mask(mask, q, k)
    heads = attend(q, k, v, mask=mask, scale=scale, dropout=dropout)  # each head by itself
    return heads._replace(output=merge_heads(heads.output))  # (..., n_q, d_values)


def multi_head(
    x_q: Array,
    x_kv: Array,
    w_q: Array,
    w_k: Array,
    w_v: Array,
    w_o: Array,
    *,
    n_heads: int,
    mask: Array | None = None,
    scale: float | None = None,
) -> Attention:
    """Attend in n_heads smaller spaces at once, then mix the results.

    Formula: output = Concat(head_1, ..., head_h) w_o, head_i = attend(x_q w_q, x_kv w_k, x_kv w_v)_i.
    Shapes: x_q (..., n_q, d_in), x_kv (..., n_k, d_kv), w_q (d_in, d_model), w_k (d_kv, d_model),
    w_v (d_kv, d_values), w_o (d_values, d_out) -> scores, masked_scores, weights
    (..., n_heads, n_q, n_k) and output (..., n_q, d_out). Dtype: any floating point, one for all, kept.
    Self-attention: x_kv is x_q. mask as in `attend_in_heads`.
    A NaN in a blocked row of x_kv changes no output, but it reaches the gradients of w_k and w_v.

    Raises TypeError or ValueError as `attend_in_heads` does, and ValueError when a weight matrix does
    not fit its input.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.2.2.

    >>> import numpy as np
    >>> x, eye = np.array([[1.0, 0.0], [0.0, 1.0]]), np.eye(2)
    >>> multi_head(x, x, eye, eye, eye, 2 * eye, n_heads=2).output.round(4)
    array([[1.4621, 1.    ],
           [1.    , 1.4621]])
    """
    shapes = "x_q ... n_q d_in | x_kv ... n_k d_kv | w_q d_in d_model"
    shapes += " | w_k d_kv d_model | w_v d_kv d_values | w_o d_values d_out"
    _checks.inputs(shapes, x_q=x_q, x_kv=x_kv, w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o)
    q, k, v = x_q @ w_q, x_kv @ w_k, x_kv @ w_v  # (..., n, d_model)
    heads = attend_in_heads(q, k, v, n_heads=n_heads, mask=mask, scale=scale)
    return heads._replace(output=heads.output @ w_o)  # (..., n_q, d_out)


def grouped_query(
    x_q: Array,
    x_kv: Array,
    w_q: Array,
    w_k: Array,
    w_v: Array,
    w_o: Array,
    *,
    n_heads: int,
    n_kv_heads: int,
    mask: Array | None = None,
    scale: float | None = None,
) -> Attention:
    """Do what `multi_head` does with fewer heads of keys and values than of queries.

    Formula: that of `multi_head`, where head i uses the keys and values i // (n_heads / n_kv_heads).
    Shapes: those of `multi_head`, but w_k (d_kv, n_kv_heads · d_head) with d_head = d_model / n_heads,
    w_v (d_kv, n_kv_heads · d_v), w_o (n_heads · d_v, d_out). Dtype: any floating point, one for all, kept.
    One head of keys for all, n_kv_heads=1, is multi-query attention. Shared keys and values are not
    repeated in memory.

    Raises TypeError or ValueError as `multi_head` does, and ValueError when n_kv_heads does not divide
    n_heads.

    Source: Ainslie et al. (2023), GQA: Training Generalized Multi-Query Transformer Models, section
    2.2; n_kv_heads=1: Shazeer (2019), Fast Transformer Decoding, section 3.

    >>> import numpy as np
    >>> x, eye, one = np.array([[1.0, 0.0], [0.0, 1.0]]), np.eye(2), np.ones((2, 1))
    >>> grouped_query(x, x, eye, one, one, eye, n_heads=2, n_kv_heads=1).output
    array([[1., 1.],
           [1., 1.]])
    """
    shapes = "x_q ... n_q d_in | x_kv ... n_k d_kv | w_q d_in d_model"
    shapes += " | w_k d_kv d_keys | w_v d_kv d_values | w_o d_heads d_out"
    xp = _checks.inputs(shapes, x_q=x_q, x_kv=x_kv, w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o)
    _check_groups(w_q, w_k, w_v, w_o, n_heads, n_kv_heads)
    q = split_heads(x_q @ w_q, n_heads)  # (..., n_heads, n_q, d_head)
    k = split_heads(x_kv @ w_k, n_kv_heads)  # (..., n_kv_heads, n_k, d_head)
    v = split_heads(x_kv @ w_v, n_kv_heads)  # (..., n_kv_heads, n_k, d_v)
    if mask is not None:
        _check_mask(mask, q, k)
        mask = xp.broadcast_to(mask, (*mask.shape[:-3], *q.shape[-3:-1], mask.shape[-1]))
        mask = _regroup(mask, n_kv_heads, xp)
    groups = attend(_regroup(q, n_kv_heads, xp), k, v, mask=mask, scale=scale)
    heads = Attention(*(_regroup(step, n_heads, xp) for step in groups))  # (..., n_heads, n_q, any)
    return heads._replace(output=merge_heads(heads.output) @ w_o)  # (..., n_q, d_out)


def _swap(x: Array, xp: Any) -> Array:
    """Exchange the axes of heads and of positions, third and second from the end."""
    *leading, i, j, k = range(x.ndim)
    return xp.permute_dims(x, (*leading, j, i, k))  # torch.vmap does not know moveaxis


def _regroup(x: Array, n: int, xp: Any) -> Array:
    """Lay heads that share their keys one below the other, (..., n, rows, any), or take them apart.

    To the keys, the queries of several heads are only more queries.
    """
    return xp.reshape(x, (*x.shape[:-3], n, x.shape[-3] * x.shape[-2] // n, x.shape[-1]))


def divides(name: str, part: int, whole_name: str, whole: int) -> None:
    """Raise TypeError unless `part` is an integer, ValueError unless it divides `whole`.

    >>> divides("n_heads", 8, "d_model", 512)
    """
    _checks.integer(name, part, 1)
    if whole % part:
        fitting = [n for n in range(1, whole + 1) if whole % n == 0]
        raise ValueError(f"{name} must divide {whole_name} = {whole} (one of {fitting}), got {part}")


def _check_mask(mask: Array | None, q: Array, k: Array) -> None:
    """Raise unless `mask` fits, and it is certain which of its axes belongs to the heads of q.

    Broadcasting would take the batch axis of (batch, n_q, n_k) for the axis of the heads: an error
    when the sizes differ, and a wrong result without a word when they happen to be equal.
    """
    if mask is None:
        return
    _checks.inputs("", q=q, mask=mask)
    n_axes, n_heads = max(q.ndim, k.ndim), q.shape[-3]
    if mask.ndim > 2 and (mask.ndim < n_axes or mask.shape[-3] not in (1, n_heads)):
        raise ValueError(
            f"mask must have shape (n_q, n_k), or {n_axes} axes with 1 or n_heads = {n_heads} third from the "
            f"end, got {tuple(mask.shape)}; if it is (batch, n_q, n_k), write mask[:, None] for all heads"
        )
    leading = _checks.broadcast(tuple(q.shape[:-3]), tuple(k.shape[:-3])) or ()
    _checks.fitting_mask(tuple(mask.shape), (*leading, n_heads, q.shape[-2], k.shape[-2]))


def _check_groups(w_q: Array, w_k: Array, w_v: Array, w_o: Array, n_heads: int, n_kv_heads: int) -> None:
    """Raise unless the columns of the weight matrices fit the numbers of heads."""
    divides("n_heads", n_heads, "d_model", w_q.shape[1])
    divides("n_kv_heads", n_kv_heads, "n_heads", n_heads)
    divides("n_kv_heads", n_kv_heads, "the columns of w_v", w_v.shape[1])
    keys, values = n_kv_heads * (w_q.shape[1] // n_heads), n_heads * (w_v.shape[1] // n_kv_heads)
    shapes = f"w_k d_kv n_kv_heads·d_head={keys} | w_o n_heads·d_v={values} d_out"
    _checks.inputs(shapes, w_k=w_k, w_o=w_o)
