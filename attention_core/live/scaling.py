"""Random queries and keys of any width: the spread of scores, 8 weights, the softmax's gradient."""

import math
from functools import cache
from typing import Any

import numpy as np
from ipywidgets import HTML, HBox

from attention_core._numbers import number, plain
from attention_core.attention import attend, attention_scores
from attention_core.figures import NEUTRAL, WEIGHTS, K
from attention_core.figures.svg import FULL, SMALL, Picture, bars, lines, named, path, picture, rect, text
from attention_core.live._controls import Slider, tick
from attention_core.live._inputs import Array, Numbers, Truths
from attention_core.live._view import View

PAIRS, KEYS, WIDEST = 400, 8, 1024
EDGE, BINS = 100, 50  # of the histogram


class ScalingView(View):
    """400 random pairs of a query and a key, and the first query's weights of 8 keys."""

    d_k = Numbers(1, WIDEST, whole=True, help="The width of queries and keys.")
    scaled = Truths(help="Are the scores divided by √d_k?")

    def __init__(self) -> None:
        self.presets = {
            "d_k = 64, not divided": {"d_k": 64, "scaled": False},
            "d_k = 64, divided": {"d_k": 64, "scaled": True},
            "d_k = 1024, not divided": {"d_k": 1024, "scaled": False},
        }
        super().__init__()

    @property
    def scores(self) -> Array:
        """The score of each pair, (400,)."""
        q, k, scale = self._pairs()
        return attention_scores(q[:, None], k[:, None], scale=scale).ravel()

    @property
    def weights(self) -> Array:
        """The weights that the first query gives to 8 keys, (1, 8)."""
        q, k, scale = self._pairs()
        return attend(q[:1], k[:KEYS], k[:KEYS], scale=scale).weights

    @property
    def jacobian(self) -> Array:
        """∂w_i/∂s_j = w_i (1[i = j] − w_j), (8, 8)."""
        w = self.weights[0]
        return np.diag(w) - np.outer(w, w)

    def _pairs(self) -> tuple[Array, Array, float | None]:
        q, k = _random()[..., : self.d_k]
        return q, k, None if self.scaled else 1.0

    def _arrange(self, picture: HTML) -> list[Any]:
        width = Slider(self, "d_k", "d_k", 0.5, log=True, wide=(30, 360))
        return [HBox([width.widget, tick(self, "scaled", "divide by √d_k")]), picture]

    def _draw(self) -> Picture:
        expected = 1.0 if self.scaled else math.sqrt(self.d_k)
        return spread_and_slopes(self.scores, expected, self.weights[0], self.jacobian)


@cache
def _random() -> Array:
    """Return queries and keys, the same in every view."""
    return np.random.default_rng(0).standard_normal((2, PAIRS, WIDEST))


def spread_and_slopes(scores: Array, expected: float, weights: Array, jacobian: Array) -> Picture:
    """Draw a histogram of scores, the weights of 8 keys, and their slopes."""
    floor, tall, step, middle = 176, 120, 240 / BINS, 138
    counts, _ = np.histogram(scores, bins=BINS, range=(-EDGE, EDGE))
    spread, gradient = float(scores.std()), float(np.linalg.norm(jacobian))
    parts = [text(6, 12, f"scores of {counts.sum()} random pairs", anchor="start", bold=True)]
    for i, count in enumerate(counts[counts > 0]):
        height, left = tall * count / counts.max(), 18 + np.flatnonzero(counts)[i] * step
        parts.append(rect(left, floor - height, step, height, NEUTRAL))
    parts.append(path([(18, floor), (258, floor)]))
    for tick_at in (-EDGE, -EDGE / 2, 0, EDGE / 2, EDGE):
        x = middle + 120 * tick_at / EDGE
        parts.append(path([(x, floor), (x, floor + 5)]) + text(x, floor + 16, plain(tick_at), size=SMALL))
    reach = min(120 * spread / EDGE, 120)
    parts.append(path([(middle - reach, 48), (middle + reach, 48)], color=K, width=4))
    parts.append(text(middle, 36, f"standard deviation {number(spread, 2)}"))
    for x, name, values, color, full in (
        (290, "weights of 8 keys", weights, WEIGHTS, 1.0),
        (556, "slopes  ∂w/∂s = w (1 − w)", np.diag(jacobian), NEUTRAL, 0.25),
    ):
        titles = [f"key {j}: {number(value)}" for j, value in enumerate(values)]
        parts.append(text(x, 12, name, anchor="start", bold=True))
        parts.append(bars(x, floor, values, color, step=31, tall=tall, full=full, titles=titles))
        for j, value in enumerate(values):
            height = tall * min(value / full, 1)
            parts.append(text(x + (j + 0.5) * 31, floor - height - 9, number(value, 2), size=SMALL))
            parts.append(text(x + (j + 0.5) * 31, floor + 12, str(j), size=SMALL))
    parts.append(lines(6, floor + 44, [f"in theory {number(expected, 2)}"]))
    parts.append(lines(290, floor + 44, [f"largest {number(weights.max())}"]))
    parts.append(lines(556, floor + 44, [f"size of the gradient, ‖∂w/∂s‖ = {number(gradient)}"]))
    words = (
        f"Scores: standard deviation {number(spread, 2)}, in theory {number(expected, 2)}. "
        f"Weights {named(weights, [f'key {j}' for j in range(len(weights))])}. "
        f"Size of the softmax gradient {number(gradient)}."
    )
    return picture(FULL, floor + 60, words, *parts)
