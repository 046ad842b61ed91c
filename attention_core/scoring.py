"""Other ways to compare queries with keys; each gives scores for `weigh`.

The dot product and the scaled dot product are `attention_scores`, with scale=1.0 and without.
"""

from attention_core import _checks
from attention_core._checks import Array


def additive_scores(q: Array, k: Array, w_q: Array, w_k: Array, w_v: Array) -> Array:
    """Compare every query with every key through a small network with one hidden layer.

    Formula: scores[i, j] = tanh(q_i w_q + k_j w_k) · w_v.
    Shapes: q (..., n_q, d_q), k (..., n_k, d_k), w_q (d_q, d_hidden), w_k (d_k, d_hidden),
    w_v (d_hidden,) -> (..., n_q, n_k); leading axes of q and k broadcast. Queries and keys may
    differ in size. Dtype: any floating point, one for all, kept.
    The hidden layer of every pair is held at once: n_q · n_k · d_hidden numbers.

    Raises TypeError for lists, integers, mixed libraries, dtypes or devices; ValueError for
    shapes that do not fit or an empty axis.

    Source: Bahdanau, Cho & Bengio (2015), Neural Machine Translation by Jointly Learning to Align
    and Translate, appendix A.1.2: a(s_{i-1}, h_j) = v_aᵀ tanh(W_a s_{i-1} + U_a h_j), here with rows.

    >>> import numpy as np
    >>> q, k, eye = np.array([[1.0, -1.0]]), np.array([[0.0, 1.0], [9.0, 1.0]]), np.eye(2)
    >>> additive_scores(q, k, eye, eye, np.array([1.0, 1.0])).round(4)
    array([[0.7616, 1.    ]])
    """
    shapes = "q ... n_q d_q | k ... n_k d_k | w_q d_q d_hidden | w_k d_k d_hidden | w_v d_hidden"
    xp = _checks.inputs(shapes, q=q, k=k, w_q=w_q, w_k=w_k, w_v=w_v)
    from_q = (q @ w_q)[..., :, None, :]  # (..., n_q, 1, d_hidden)
    from_k = (k @ w_k)[..., None, :, :]  # (..., 1, n_k, d_hidden)
    hidden = xp.tanh(from_q + from_k)  # (..., n_q, n_k, d_hidden)
    return hidden @ w_v  # (..., n_q, n_k)


def gaussian_scores(q: Array, k: Array, *, width: float = 1.0) -> Array:
    """Compare every query with every key by their distance: the nearer, the higher the score.

    Formula: scores[i, j] = -|q_i - k_j|² / (2 width²).
    Shapes: q (..., n_q, d), k (..., n_k, d) -> (..., n_q, n_k); leading axes broadcast.
    Dtype: any floating point, the same for q and k, kept.
    Softmax makes Gaussian kernels of these scores, and `weigh(gaussian_scores(q, k), v)` is then
    kernel regression: q holds the places asked for, k and v the points that are known.

    Raises TypeError for lists, integers, mixed libraries, dtypes or devices, or a width that is no
    number; ValueError for shapes that do not fit, an empty axis, or a width that is not above 0.

    Source: Nadaraya (1964), On Estimating Regression, and Watson (1964), Smooth Regression Analysis.

    >>> import numpy as np
    >>> gaussian_scores(np.array([[1.0]]), np.array([[1.0], [2.0], [5.0]]), width=2.0)
    array([[ 0.   , -0.125, -2.   ]])
    """
    xp = _checks.inputs("q ... n_q d | k ... n_k d", q=q, k=k)
    _checks.number("width", width, above=0)
    apart = (q[..., :, None, :] - k[..., None, :, :]) / float(width)  # (..., n_q, n_k, d)
    return 0.0 - 0.5 * xp.sum(apart * apart, axis=-1)  # (..., n_q, n_k)  0 - 0 is 0, and -0.5 · 0 is -0
