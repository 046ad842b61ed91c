"""Five tokens: which keys may each query see, and what becomes of its weights."""

from typing import Any

import numpy as np
from ipywidgets import HTML, HBox

from attention_core._numbers import number
from attention_core.attention import Attention, attend, causal_mask, padding_mask
from attention_core.figures import NEUTRAL, WEIGHTS
from attention_core.figures.svg import (
    FULL,
    FULL_WEIGHT,
    SIZE,
    SMALL,
    Labels,
    Picture,
    arrow,
    cell,
    label,
    named,
    picture,
    rect,
    shades,
    text,
)
from attention_core.live._controls import Slider, tick
from attention_core.live._inputs import Array, Numbers, Truths
from attention_core.live._view import View

TOKENS = ("the", "cat", "sat", "on", "it")
N = len(TOKENS)


class MaskView(View):
    """Causal, padding, both; new queries beside older keys."""

    n_q = Numbers(
        1, N, whole=True, help="How many of the last tokens ask: 5 is all, 1 is one step with a cache."
    )
    causal = Truths(help="May a query see no later key?")
    offset = Numbers(-N, N, whole=True, help="Query i may see the keys up to i + offset.")
    length = Numbers(0, N, whole=True, help="How many keys are real; the others are padding.")

    def __init__(self) -> None:
        plain = {"length": N, "n_q": N, "offset": 0, "causal": True}
        self.presets = {
            "causal": plain,
            "no mask": {**plain, "causal": False},
            "padding": {**plain, "causal": False, "length": 3},
            "causal and padding": {**plain, "length": 3},
            "2 new queries, a cache": {**plain, "n_q": 2, "offset": N - 2},
            "2 new queries, offset 0": {**plain, "n_q": 2},
            "nothing is allowed": {**plain, "length": 0},
        }
        self.x = np.random.default_rng(0).standard_normal((N, 4)).round(1)  # queries, keys and values
        super().__init__()

    @property
    def mask(self) -> Array:
        """Which key each query may see, (n_q, 5) of True and False."""
        allowed = padding_mask(np.array(self.length), N)  # (1, n_k)
        if not self.causal:
            return np.broadcast_to(allowed, (self.n_q, N))
        return allowed & causal_mask(self.n_q, N, offset=self.offset)

    @property
    def steps(self) -> Attention:
        """The attention of the last tokens to all."""
        return attend(self.x[-self.n_q :], self.x, self.x, mask=self.mask)

    @property
    def weights(self) -> Array:
        """The weights in the picture, (n_q, 5)."""
        return self.steps.weights

    def _arrange(self, picture: HTML) -> list[Any]:
        wide = (80, 230)
        n_q, offset = (Slider(self, name, name, 1, wide=wide).widget for name in ("n_q", "offset"))
        length = Slider(self, "length", "real keys", 1, wide=wide).widget
        return [HBox([n_q, tick(self, "causal", "causal")]), HBox([offset, length]), picture]

    def _draw(self) -> Picture:
        return scores_and_weights(self.steps.masked_scores, self.weights, TOKENS[-self.n_q :], TOKENS)


def scores_and_weights(scores: Array, weights: Array, queries: Labels, keys: Labels) -> Picture:
    """Draw the masked scores (n_q, n_k), where a blocked one is −∞, beside the weights."""
    n, wide, high, top = len(keys), 58, 34, 58
    left, right = 58, 58 + n * wide + 110
    parts = []
    for x, name, values, color, full in (
        (left, "masked scores", scores, NEUTRAL, 0.0),
        (right, "weights", weights, WEIGHTS, FULL_WEIGHT),
    ):
        parts.append(text(x, 12, f"{name} ({len(queries)}, {n})", anchor="start", bold=True))
        for j, key in enumerate(keys):
            parts.append(text(x + (j + 0.5) * wide, top - 14, label(key, wide), size=SMALL))
        for i, query in enumerate(queries):
            y = top + (i + 0.5) * high
            parts.append(text(x - 8, y, label(query, 46), anchor="end", size=SMALL))
        for (i, j), strength in np.ndenumerate(shades(values, full)):
            blocked, at = scores[i, j] == -np.inf, (x + j * wide, top + i * high, wide, high)
            title = f"{queries[i]} asks {keys[j]}: {'blocked' if blocked else 'allowed'}"
            content = "" if blocked and color == WEIGHTS else number(float(values[i, j]))
            size = SIZE if len(content) <= 6 else SMALL
            parts.append(cell(*at, content, color, strength, title=title, size=size))
            if blocked:  # a smaller frame: not only the color says so
                parts.append(rect(at[0] + 4, at[1] + 4, wide - 8, high - 8, line=0.5))
    middle = top + n * high / 2
    parts.append(text(right - 70, middle - 16, "softmax", size=SMALL))
    parts.append(arrow((left + n * wide + 12, middle), (right - 58, middle)))
    said = [
        f"{query} gives {named(row[row > 0], np.array(keys)[row > 0])}"
        if row.any()
        else f"{query} may see nothing: weights 0"
        for query, row in zip(queries, weights, strict=True)
    ]
    return picture(FULL, top + n * high + 10, f"Weights of the mask: {'; '.join(said)}.", *parts)
