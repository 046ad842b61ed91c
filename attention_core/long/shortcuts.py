"""Less than full attention: a window of neighbours, sums of features, fewer keys."""

from collections.abc import Callable
from typing import Any

from array_api_compat import device

from attention_core import _checks
from attention_core._checks import Array
from attention_core.attention import (
    attend,
    causal_mask,
    gather,
    has_16_bits,
    in_float32,
    unseen_as_0,
    wide,
)
from attention_core.long._tiles import constant, cut, leading_axes, or_1, product_dtype, tiles


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
    Memory: every step of `attend` for one tile, tile × (tile + 2 · window) numbers for each leading
    index, and the output twice.

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
    if has_16_bits(q, xp):  # too few for large scores
        options = {"window": window, "mask": mask, "causal": causal, "scale": scale, "tile": tile}
        return in_float32(sliding_window_attention, q, k, v, **options)
    n_q, n_k = q.shape[-2], k.shape[-2]
    ahead = 0 if causal else window - 1
    outputs = []
    for rows in tiles(n_q, tile):
        first, last = rows.start + n_k - n_q, rows.stop - 1 + n_k - n_q  # the keys beside these rows
        keys = slice(max(first - window + 1, 0), min(max(last + ahead, 0), n_k - 1) + 1)
        sizes = rows.stop - rows.start, keys.stop - keys.start  # tile, at most tile + 2 · window
        allowed = window_mask(*sizes, window=window, causal=causal, offset=first - keys.start, like=q)
        if mask is not None:
            allowed = allowed & cut(mask, rows, keys)
        near = attend(q[..., rows, :], k[..., keys, :], v[..., keys, :], mask=allowed, scale=scale)
        outputs.append(near.output)  # (..., tile, d_v)
    return xp.concat(outputs, axis=-2)  # (..., n_q, d_v)


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
    Time O(n · d_f · d_v); memory O(d_f · d_v + tile²) for each leading index, however long the sequence,
    and the output twice.

    Only ratios of products count, so that no product underflows as long as the features are normal
    numbers: with `elu_plus_one` for q and k above -87, in float64 above -708. A query whose products
    with all its keys are 0 has no weights, and its output is NaN.

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
    if mask is not None and mask.ndim > 1 and mask.shape[-2] != 1:
        raise ValueError(
            "mask must be the same for all queries, (..., 1, n_k), since they share one sum over the keys, "
            f"got {tuple(mask.shape)}; to hide the future write causal=True"
        )
    if has_16_bits(q, xp):  # too few for a long sum
        options = {"feature_map": feature_map, "mask": mask, "causal": causal, "tile": tile}
        return in_float32(linear_attention, q, k, v, **options)
    n_q, n_k, dtype = q.shape[-2], k.shape[-2], product_dtype(q, xp)
    ahead = n_k - n_q  # query i stands beside key i + ahead
    sees = _sees(mask, n_q, n_k, causal, q, xp)  # (..., n_q, 1)
    d_f = _features(feature_map, q[..., :1, :], xp).shape[-1]
    state = xp.zeros((*leading_axes(q, k, v, mask), d_f, v.shape[-1] + 1), dtype=q.dtype, device=device(q))
    for keys in tiles(max(ahead, 0) if causal else n_k, tile):  # the keys before every query
        phi_k_t, v_1 = _keys(feature_map, k, v, mask, keys, xp)
        state = state + phi_k_t @ v_1  # (..., d_f, d_v + 1)  Σ φ(k)ᵀ [v, 1]
    outputs = []
    for rows in tiles(n_q, tile):
        phi_q = _features(feature_map, q[..., rows, :], xp)  # (..., tile, d_f)
        largest = xp.max(xp.abs(constant(phi_q)), axis=-1, keepdims=True)  # (..., tile, 1)
        phi_q = phi_q / or_1(largest, xp)  # (..., tile, d_f)  only ratios count, and these do not underflow
        sums = wide(phi_q @ state, xp)  # (..., tile, d_v + 1)
        if causal and rows.stop + ahead > 0:  # and the keys beside these queries
            beside = slice(max(rows.start + ahead, 0), rows.stop + ahead)
            phi_k_t, v_1 = _keys(feature_map, k, v, mask, beside, xp)
            past = causal_mask(rows.stop - rows.start, beside.stop - beside.start, like=q)  # (tile, tile)
            weights = xp.where(past, phi_q @ phi_k_t, 0.0)  # (..., tile, tile)
            sums = sums + gather(weights, v_1, past, xp)
            state = state + phi_k_t @ v_1
        o, l = sums[..., :-1], sums[..., -1:]  # noqa: E741
        output = xp.where(sees[..., rows, :] & (l == 0), xp.nan, o / or_1(l, xp))  # (..., tile, d_v)
        outputs.append(xp.astype(output, dtype, copy=False))
    return xp.concat(outputs, axis=-2)  # (..., n_q, d_v)


def low_rank_attention(
    q: Array, k: Array, v: Array, w_k: Array, w_v: Array, *, scale: float | None = None
) -> Array:
    """Mix n_k keys and values into r of each, and attend to these: O(n_q · r) in place of O(n_q · n_k).

    Formula: softmax(q (w_k k)ᵀ / √d_k) w_v v. With w_k = w_v = the identity it is attention itself.
    Shapes: q, k, v as in `attend`; w_k, w_v (r, n_k) -> output (..., n_q, d_v). Dtype: one for all, kept.
    There is no mask: each of the r keys is a mix of all, so none can be hidden from some queries. To
    leave out padding, set its columns of w_k and w_v to 0; its rows of k and v must then be finite.

    Raises TypeError or ValueError as `attend` does, and ValueError when w_k and w_v do not fit.

    Source: Wang et al. (2020), Linformer: Self-Attention with Linear Complexity, section 4, eq. 7.

    >>> import numpy as np
    >>> q, v, mean = np.zeros((1, 1)), np.array([[1.0], [2.0], [6.0]]), np.ones((1, 3)) / 3
    >>> low_rank_attention(q, v, v, mean, mean)
    array([[3.]])
    """
    shapes = "q ... n_q d_k | k ... n_k d_k | v ... n_k d_v | w_k r n_k | w_v r n_k"
    xp = _checks.inputs(shapes, q=q, k=k, v=v, w_k=w_k, w_v=w_v)
    if has_16_bits(q, xp):  # too few for a long sum
        return in_float32(low_rank_attention, q, k, v, w_k, w_v, scale=scale)
    mixed_k = w_k @ k  # (..., r, d_k)
    mixed_v = w_v @ v  # (..., r, d_v)
    return attend(q, mixed_k, mixed_v, scale=scale).output  # (..., n_q, d_v)


def _features(feature_map: Callable[[Array], Array], x: Array, xp: Any) -> Array:
    """Return φ(x) (..., n, d_f), for x (..., n, d)."""
    phi = feature_map(x)
    if tuple(phi.shape[:-1]) != tuple(x.shape[:-1]):
        came = f"it made shape {tuple(phi.shape)} of {tuple(x.shape)}"
        raise ValueError(f"feature_map must keep every axis but the last: {came}")
    return wide(phi, xp)  # torch.autocast may have chosen 16 bits


def _keys(
    feature_map: Callable[[Array], Array], k: Array, v: Array, mask: Array | None, keys: slice, xp: Any
) -> tuple[Array, Array]:
    """Return φ(k)ᵀ (..., d_f, n) and [v, 1] (..., n, d_v + 1) of n keys, 0 where these are hidden."""
    k, v, mask = k[..., keys, :], v[..., keys, :], cut(mask, keys=keys)
    phi_k = _features(feature_map, unseen_as_0(k, mask, xp), xp)  # (..., n, d_f)
    ones = xp.ones((*v.shape[:-1], 1), dtype=v.dtype, device=device(v))
    v_1 = xp.concat([v, ones], axis=-1)  # (..., n, d_v + 1)  the column of ones sums the weights
    if mask is not None:
        seen = xp.matrix_transpose(mask)  # (..., n, 1)
        phi_k, v_1 = xp.where(seen, phi_k, 0.0), xp.where(seen, v_1, 0.0)
    return xp.matrix_transpose(phi_k), v_1


def _sees(mask: Array | None, n_q: int, n_k: int, causal: bool, like: Array, xp: Any) -> Array:
    """Return for each query whether there is a key that it may see, (..., n_q, 1)."""
    i, j = (xp.arange(n, device=device(like)) for n in (n_q, n_k))
    last = i[:, None] + n_k - n_q if causal else xp.full_like(i[:, None], n_k - 1)  # (n_q, 1)
    first = 0 if mask is None else xp.min(xp.where(cut(mask), j, n_k), axis=-1, keepdims=True)  # (..., 1, 1)
    return first <= last
