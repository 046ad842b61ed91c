"""Less than full attention: a window of neighbours, sums of features, fewer keys."""

from collections.abc import Callable
from typing import Any

from array_api_compat import device

from attention_core import _checks
from attention_core._checks import Array
from attention_core.attention import at_least_float32, attend, causal_mask, gather, wide
from attention_core.long._tiles import cut, empty_output


def window_mask(
    n_q: int,
    n_k: int | None = None,
    *,
    window: int,
    causal: bool = False,
    offset: int | None = None,
    like: Array | None = None,
) -> Array:
    """Allow each query the keys nearer than `window`; with `causal` none after its own position.

    Formula: mask[i, j] = (|j - i - offset| < window), and j <= i + offset with `causal`;
    offset = n_k - n_q unless given, as in `causal_mask`. A causal window of w is w keys, itself
    included; the other is 2w - 1 keys.
    Shape, errors and `like` as in `causal_mask`; ValueError also for a window below 1.

    Source: Beltagy, Peters & Cohan (2020), Longformer, section 3.1; Child et al. (2019), Generating
    Long Sequences with Sparse Transformers, section 4.3.

    >>> window_mask(4, window=2, causal=True).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """
    _checks.integer("window", window, 1)
    _checks.integer("n_q", n_q, 1)
    offset = (n_q if n_k is None else n_k) - n_q if offset is None else offset
    _checks.integer("offset", offset)
    last = offset if causal else offset + window - 1
    too_far_back = causal_mask(n_q, n_k, offset=offset - window, like=like)  # (n_q, n_k)
    return causal_mask(n_q, n_k, offset=last, like=like) & ~too_far_back  # (n_q, n_k)


def sliding_window_attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    window: int,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
    tile: int = 128,
) -> Array:
    """Let every query attend to its neighbours alone: time O(n · window) in place of O(n²).

    Formula: `attend` with `window_mask(n_q, n_k, window=window, causal=causal)`, where each tile of
    queries meets only the keys that one of them may see. With window >= n it is attention itself.
    Shapes, dtypes, masks and errors as in `attend` -> output (..., n_q, d_v).
    Memory: the scores of one tile, tile × (tile + 2 · window) numbers for each leading index.

    Source: Beltagy, Peters & Cohan (2020), section 3.1; Child et al. (2019), section 4.3.

    >>> import numpy as np
    >>> q, v = np.zeros((4, 1)), np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> sliding_window_attention(q, q, v, window=2, causal=True)
    array([[1. ],
           [1.5],
           [2.5],
           [3.5]])
    """
    xp = _checks.inputs("q ... n_q d_k | k ... n_k d_k | v ... n_k d_v", q=q, k=k, v=v, mask=mask)
    _checks.integer("window", window, 1)
    _checks.integer("tile", tile, 1)
    n_q, n_k = q.shape[-2], k.shape[-2]
    ahead = 0 if causal else window - 1
    output = empty_output(q, k, v, mask, xp)  # (..., n_q, d_v)
    for start in range(0, n_q, tile):
        rows = slice(start, min(start + tile, n_q))
        first, last = (row + n_k - n_q for row in (rows.start, rows.stop - 1))  # keys beside these rows
        keys = slice(max(first - window + 1, 0), min(max(last + ahead, 0), n_k - 1) + 1)
        allowed = window_mask(
            rows.stop - rows.start,
            keys.stop - keys.start,
            window=window,
            causal=causal,
            offset=first - keys.start,
            like=q,
        )  # (tile, at most tile + 2 · window)
        if mask is not None:
            allowed = allowed & cut(mask, rows, keys)
        near = attend(q[..., rows, :], k[..., keys, :], v[..., keys, :], mask=allowed, scale=scale)
        output[..., rows, :] = near.output
    return output


def elu_plus_one(x: Array) -> Array:
    """Return the features of Katharopoulos et al.: x + 1 where x > 0, and exp(x) elsewhere.

    Shape and dtype: those of x. No feature is negative, so that weights made of them are none either.

    Source: Katharopoulos et al. (2020), Transformers are RNNs, section 3.2.1, eq. 7.

    >>> import numpy as np
    >>> elu_plus_one(np.array([-1.0, 0.0, 2.0])).round(4)
    array([0.3679, 1.    , 3.    ])
    """
    xp = _checks.inputs("", x=x)
    return xp.where(x >= 0, x + 1, xp.exp(-xp.abs(x)))  # -|x|: where x is large, exp(x) would overflow


def linear_attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    feature_map: Callable[[Array], Array],
    mask: Array | None = None,
    causal: bool = False,
    tile: int = 128,
) -> Array:
    """Weigh by products of features, so that keys and values can be summed up before any query.

    Formula: output_i = φ(q_i) Σ_j φ(k_j)ᵀ v_j / (φ(q_i) Σ_j φ(k_j)ᵀ), with φ = `feature_map`; with
    `causal` the sums run over j <= i + n_k - n_q. This is not softmax attention: the weight of a key
    is φ(q_i) · φ(k_j) in the place of exp(q_i · k_j / √d_k).
    Shapes: as in `attend`; feature_map (..., n, d_k) -> (..., n, d_f), not negative (`elu_plus_one`).
    mask (..., 1, n_k) or (n_k,): a key is hidden from all queries or from none, since all share one sum.
    Time O(n · d_f · d_v); memory O(d_f · d_v + tile²) for each leading index, however long the sequence.

    Raises TypeError and ValueError as `attend` does; ValueError also for a mask that differs between
    queries, or a feature_map that changes more than the last axis.

    Source: Katharopoulos et al. (2020), section 3.2, eq. 5 and 6; section 3.3, eq. 8 to 12.

    >>> import numpy as np
    >>> q, v = np.zeros((3, 1)), np.array([[1.0], [2.0], [6.0]])
    >>> linear_attention(q, q, v, feature_map=elu_plus_one, causal=True)
    array([[1. ],
           [1.5],
           [3. ]])
    """
    xp = _checks.inputs("q ... n_q d_k | k ... n_k d_k | v ... n_k d_v", q=q, k=k, v=v, mask=mask)
    _checks.integer("tile", tile, 1)
    state = _no_sums(q, k, v, mask, feature_map, xp)  # (d_f, d_v + 1)
    n_q, n_k = q.shape[-2], k.shape[-2]
    before = max(n_k - n_q, 0) if causal else n_k  # so many keys come before every query
    blind = max(n_q - n_k, 0) if causal else 0  # so many queries come before every key
    for start in range(0, before, tile):
        phi_k_t, v_1 = _key_part(k, v, mask, feature_map, slice(start, min(start + tile, before)), xp)
        state = state + xp.matmul(phi_k_t, v_1)  # (..., d_f, d_v + 1)  Σ φ(k)ᵀ [v, 1]
    output = empty_output(q, k, v, mask, xp)  # (..., n_q, d_v)
    output[..., :blind, :] = 0.0
    for start in range(blind, n_q, tile):
        rows = slice(start, min(start + tile, n_q))
        phi_q = wide(feature_map(q[..., rows, :]), xp)  # (..., tile, d_f)
        sums = xp.matmul(phi_q, state)  # (..., tile, d_v + 1)
        if causal:  # and the keys beside these queries
            beside = slice(rows.start + n_k - n_q, rows.stop + n_k - n_q)
            phi_k_t, v_1 = _key_part(k, v, mask, feature_map, beside, xp)
            past = causal_mask(rows.stop - rows.start, like=q)  # (tile, tile)
            weights = xp.tril(xp.matmul(phi_q, phi_k_t))  # (..., tile, tile)  0 where the mask blocks
            sums = sums + gather(weights, v_1, past, xp)
            state = state + xp.matmul(phi_k_t, v_1)
        o, l = sums[..., :-1], sums[..., -1:]  # noqa: E741
        output[..., rows, :] = xp.astype(o / xp.where(l == 0, 1.0, l), q.dtype)
    return output


def low_rank_attention(
    q: Array, k: Array, v: Array, w_k: Array, w_v: Array, *, scale: float | None = None
) -> Array:
    """Mix n_k keys and values into r of each, and attend to these: O(n_q · r) in place of O(n_q · n_k).

    Formula: softmax(q (w_k k)ᵀ / √d_k) w_v v. With w_k = w_v = the identity it is attention itself.
    Shapes: q, k, v as in `attend`; w_k, w_v (r, n_k) -> output (..., n_q, d_v). Dtype: one for all, kept.
    There is no mask: each of the r keys is a mix of all, so none can be hidden from some queries. To
    leave out padding, set its columns of w_k and w_v to 0.

    Raises TypeError or ValueError as `attend` does, and ValueError when w_k and w_v do not fit.

    Source: Wang et al. (2020), Linformer: Self-Attention with Linear Complexity, section 4, eq. 7.

    >>> import numpy as np
    >>> q, v, mean = np.zeros((1, 1)), np.array([[1.0], [2.0], [6.0]]), np.ones((1, 3)) / 3
    >>> low_rank_attention(q, v, v, mean, mean)
    array([[3.]])
    """
    shapes = "q ... n_q d_k | k ... n_k d_k | v ... n_k d_v | w_k r n_k | w_v r n_k"
    xp = _checks.inputs(shapes, q=q, k=k, v=v, w_k=w_k, w_v=w_v)
    mixed_k = xp.matmul(w_k, k)  # (..., r, d_k)
    mixed_v = xp.matmul(w_v, v)  # (..., r, d_v)
    return attend(q, mixed_k, mixed_v, scale=scale).output  # (..., n_q, d_v)


def _key_part(
    k: Array, v: Array, mask: Array | None, feature_map: Callable[[Array], Array], keys: slice, xp: Any
) -> tuple[Array, Array]:
    """Return φ(k)ᵀ (..., d_f, n) and [v, 1] (..., n, d_v + 1) of n keys, 0 where these are blocked."""
    phi_k = wide(feature_map(k[..., keys, :]), xp)  # (..., n, d_f)
    some_v = wide(v[..., keys, :], xp)  # (..., n, d_v)
    ones = xp.ones((*some_v.shape[:-1], 1), dtype=some_v.dtype, device=device(v))
    v_1 = xp.concat([some_v, ones], axis=-1)  # (..., n, d_v + 1)  the column of ones sums the weights
    if mask is not None:
        seen = xp.matrix_transpose(cut(mask, keys=keys))  # (..., n, 1)
        phi_k, v_1 = xp.where(seen, phi_k, 0.0), xp.where(seen, v_1, 0.0)
    return xp.matrix_transpose(phi_k), v_1


def _no_sums(
    q: Array, k: Array, v: Array, mask: Array | None, feature_map: Callable[[Array], Array], xp: Any
) -> Array:
    """Return zeros (d_f, d_v + 1), the sums before any key; raise when mask or feature_map do not fit."""
    if mask is not None and mask.ndim > 1 and mask.shape[-2] != 1:
        raise ValueError(
            "mask must be the same for all queries, (..., 1, n_k), since they share one sum over the keys, "
            f"got {tuple(mask.shape)}; to hide the future write causal=True"
        )
    for name, x in {"q": q[..., :1, :], "k": k[..., :1, :]}.items():
        came = feature_map(x)  # (..., 1, d_f)
        if tuple(came.shape[:-1]) != tuple(x.shape[:-1]) or came.dtype != x.dtype:
            raise ValueError(
                f"feature_map must keep the dtype of {name} and its axes but the last: "
                f"it made {tuple(came.shape)} {came.dtype} of {tuple(x.shape)} {x.dtype}"
            )
    dtype = at_least_float32(v.dtype, xp)
    return xp.zeros((came.shape[-1], v.shape[-1] + 1), dtype=dtype, device=device(v))
