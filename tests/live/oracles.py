"""What the live views must show: computed with plain numpy, and the contrast of text on a fill."""

import math
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from attention_core import live, multi_head

VIEWS = (
    live.AttentionView,
    live.DotProductView,
    live.ScalingView,
    live.SoftmaxView,
    live.ValuesView,
    live.ItAnimalView,
    live.HeadsView,
    live.MaskView,
    live.RegressionView,
    live.LedgerView,
)
ATTACK = '<img src=x onerror="alert(1)">'


def softmax(scores: np.ndarray) -> np.ndarray:
    """Each row the plain way; a row of -inf gives zeros."""
    finite = np.isfinite(scores)
    top = np.max(scores, axis=-1, keepdims=True, where=finite, initial=-1e9)
    powers = np.where(finite, np.exp(np.where(finite, scores - top, 0)), 0)
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def assert_same(view: Any) -> None:
    """Compare what a view holds with plain numpy."""
    weights, output = expected(view)
    if weights is not None:
        assert_allclose(view.weights, weights, atol=1e-9)
    if output is not None:
        assert_allclose(view.output, output, atol=1e-9)


def expected(view: Any) -> tuple[Any, Any]:
    """Return the weights and the output; None for what a view does not have."""
    if isinstance(view, live.AttentionView):
        scores = view.q @ view.k.T / (math.sqrt(view.q.shape[1]) if view.scaled else 1)
        weights = softmax(np.where(view.blocked[: len(view.k)], -np.inf, scores))
        return weights, weights @ view.v
    if isinstance(view, live.DotProductView):
        assert_allclose(view.dot, view.a @ view.b, atol=1e-12)
        return None, None
    if isinstance(view, live.ScalingView):
        rng = np.random.default_rng(0)
        q, k = (rng.standard_normal((200, n, 1024))[..., : view.d_k] for n in (1, 8))
        dots = (q * k).sum(axis=-1)
        assert_allclose(view.scores, [dots, dots / math.sqrt(view.d_k)], atol=1e-9)
        return softmax(view.scores), None
    if isinstance(view, live.SoftmaxView):
        return None if view.float16 else softmax(view.logits / view.temperature), None
    if isinstance(view, live.ValuesView):
        return softmax(view.scores), softmax(view.scores) @ view.v
    if isinstance(view, live.ItAnimalView):
        q, k, v = (view.embeddings @ w.T for w in (view.w_q, view.w_k, view.w_v))
        weights = softmax(q @ k.T / (2 if view.scaled else 1))
        return weights, weights @ v
    if isinstance(view, live.HeadsView):
        if view.forget:
            shape = (view.n_heads, 4, 8 // view.n_heads)
            q, k, v = ((view.x @ view.w[name]).reshape(shape) for name in "qkv")
            weights = softmax(q @ k.transpose(0, 2, 1) / math.sqrt(shape[2]))
            return weights, (weights @ v).transpose(1, 0, 2).reshape(4, 8) @ view.w["o"]
        steps = multi_head(view.x, view.x, *(view.w[name] for name in "qkvo"), n_heads=view.n_heads)
        return steps.weights, steps.output
    if isinstance(view, live.MaskView):
        allowed = view.allowed[5 - view.n_q :]
        return softmax(np.where(allowed, view.x[-view.n_q :] @ view.x.T / 2, -np.inf)), None
    if isinstance(view, live.RegressionView):
        weights = softmax(-((view.query - np.arange(6)) ** 2) / (2 * view.width**2))
        return weights, weights @ view.y
    assert isinstance(view, live.LedgerView)
    weights = softmax(np.where(np.arange(6) >= view.blocked, view.scores, -np.inf))
    assert [step.start for step in view.ledger] == list(range(0, 6, view.tile_k))
    return None, weights @ np.arange(1.0, 7.0)


def contrast(fill: str, opacity: float, page: str, ink: str) -> float:
    """Return the contrast of `ink` on a fill that lets the page shine through (WCAG 2, 1.4.3)."""

    def luminance(color: np.ndarray) -> float:
        linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    rgb = {name: np.array([int(name[i : i + 2], 16) / 255 for i in (1, 3, 5)]) for name in (fill, page, ink)}
    one, other = luminance(opacity * rgb[fill] + (1 - opacity) * rgb[page]), luminance(rgb[ink])
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)
