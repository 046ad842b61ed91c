"""Where a token stands, for attention that cannot tell: codes that are added, and turns of q and k."""

from typing import Any

import numpy as np
from array_api_compat import device

from attention_core import _checks
from attention_core._checks import Array
from attention_core.attention import at_least_float32


def sinusoidal_positions(n: int, d_model: int, *, base: float = 10000.0, like: Array | None = None) -> Array:
    """Give each position a code of sines and cosines, to be added to the embeddings.

    Formula: code[p, 2i] = sin(p / base^(2i/d_model)), code[p, 2i + 1] = cos(p / base^(2i/d_model)).
    Shape: (n, d_model) for positions 0 to n - 1. Library, device and dtype are those of `like`,
    any floating point; numpy's float64 without it.
    Each pair (2i, 2i + 1) of columns is a point on a circle: a step of one position turns it by one
    fixed angle, so the code of p + step is a fixed rotation of the code of p.

    Raises TypeError for sizes that are not integers, a base that is no number, or a `like` that is
    no floating-point array; ValueError for n below 1, an odd d_model, or a base that is not above 0.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.5.

    >>> sinusoidal_positions(2, 4).round(4)
    array([[0.    , 1.    , 0.    , 1.    ],
           [0.8415, 0.5403, 0.01  , 1.    ]])
    """
    _checks.integer("n", n, 1)
    _checks.integer("d_model", d_model, 1)
    _even("d_model", d_model)
    like = np.empty(1) if like is None else like
    xp = _checks.inputs("", like=like)
    angle = _angles(None, n, d_model, base, like, xp)  # (n, d_model / 2)
    pairs = xp.stack([xp.sin(angle), xp.cos(angle)], axis=-1)  # (n, d_model / 2, 2)
    return xp.astype(xp.reshape(pairs, (n, d_model)), like.dtype)


def rotary_positions(x: Array, *, positions: Array | None = None, base: float = 10000.0) -> Array:
    """Turn each query or key by an angle that grows with its position.

    Formula: the pair (x[p, 2i], x[p, 2i + 1]) is rotated by the angle p · base^(-2i/d).
    Shape: x (..., n, d) -> the same; positions (n,), 0 to n - 1 unless given. Dtype: any floating
    point, kept; positions may be integers. The angles are computed in float32 at least.
    Lengths stay as they are, and after it the product q_i · k_j depends on the positions only
    through their difference. Turn q and k this way, never v.

    Raises TypeError when x is not a floating-point array, positions are not numbers of its library
    and device, or base is no number; ValueError for an odd d, an empty axis, positions that are not
    (n,), or a base that is not above 0.

    Source: Su et al. (2021), RoFormer: Enhanced Transformer with Rotary Position Embedding,
    section 3.2.2.

    >>> rotary_positions(np.array([[1.0, 0.0], [1.0, 0.0]])).round(4)
    array([[1.    , 0.    ],
           [0.5403, 0.8415]])
    """
    shapes = "x ... n d" if positions is None else "x ... n d | positions n"
    xp = _checks.inputs(shapes, x=x, positions=positions)
    n, d = x.shape[-2:]
    _even("d, the last axis of x,", d)
    angle = _angles(positions, n, d, base, x, xp)  # (n, d / 2)
    cos, sin = xp.astype(xp.cos(angle), x.dtype), xp.astype(xp.sin(angle), x.dtype)  # (n, d / 2)
    first, second = x[..., 0::2], x[..., 1::2]  # (..., n, d / 2)
    turned = [first * cos - second * sin, first * sin + second * cos]
    return xp.reshape(xp.stack(turned, axis=-1), x.shape)  # (..., n, d)  the pairs side by side again


def _even(name: str, value: int) -> None:
    """Raise ValueError unless the size `value` is even."""
    if value % 2:
        raise ValueError(f"{name} must be even, because its columns are taken in pairs, got {value}")


def _angles(positions: Array | None, n: int, d: int, base: float, like: Array, xp: Any) -> Array:
    """Return position · base^(-2i/d), (n, d / 2), in float32 or like's dtype if that is wider."""
    _checks.number("base", base, above=0)
    kind = {"dtype": at_least_float32(like.dtype, xp), "device": device(like)}
    p = xp.arange(n, **kind) if positions is None else xp.astype(positions, kind["dtype"])  # (n,)
    frequency = float(base) ** (-xp.arange(0, d, 2, **kind) / d)  # (d / 2,)
    return p[:, None] * frequency  # (n, d / 2)
