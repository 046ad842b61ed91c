"""The live view on masks: causal, padding, both; new queries beside older keys."""

from typing import Any

import numpy as np
from ipywidgets import HTML, HBox

from attention_core import figures
from attention_core._numbers import number
from attention_core.attention import Attention, attend, causal_mask, padding_mask
from attention_core.figures import NEUTRAL, WEIGHTS
from attention_core.live._shapes import (
    FULL,
    FULL_WEIGHT,
    SIZE,
    SMALL,
    Array,
    Drawing,
    Labels,
    arrow,
    cell,
    drawing,
    label,
    named,
    rect,
    shades,
    text,
)
from attention_core.live.number_controls import Slider
from attention_core.live.other_controls import Tick
from attention_core.live.view import Input, View


class MaskView(View):
    """Five tokens: which keys may each query see, and what becomes of its weights."""

    n_q = Input("How many of the last tokens ask: 5 is all of them, 1 is one step with a cache.")
    causal = Input("May a query see no later key?")
    offset = Input("Query i may see the keys up to i + offset.")
    length = Input("How many keys are real; the others are padding.")
    TOKENS = ("the", "cat", "sat", "on", "it")
    steps: Attention

    def __init__(self) -> None:
        n = len(self.TOKENS)
        wide: dict[str, Any] = {"whole": True, "label": "80px", "width": "230px"}
        controls = {
            "length": Slider("real keys", n, 0, n, 1, **wide),
            "n_q": Slider("n_q", n, 1, n, 1, **wide),
            "offset": Slider("offset", 0, -n, n, 1, **wide),
            "causal": Tick("causal", True),
        }
        plain = {"length": n, "n_q": n, "offset": 0, "causal": True}
        examples = {
            "causal": plain,
            "no mask": {**plain, "causal": False},
            "padding": {**plain, "causal": False, "length": 3},
            "causal and padding": {**plain, "length": 3},
            "2 new queries, a cache": {**plain, "n_q": 2, "offset": n - 2},
            "2 new queries, offset 0": {**plain, "n_q": 2},
            "nothing is allowed": {**plain, "length": 0},
        }
        self.x = np.random.default_rng(0).standard_normal((n, 4)).round(1)  # queries, keys and values
        super().__init__(controls, examples)

    @property
    def mask(self) -> Array:
        """Which key each query may see, (n_q, 5) of True and False."""
        n_q, n = int(self.n_q), len(self.TOKENS)
        allowed = padding_mask(np.array(int(self.length)), n)  # (1, n_k)
        causal = causal_mask(n_q, n, offset=int(self.offset)) if self.causal else np.ones((n_q, n), bool)
        return allowed & causal

    @property
    def weights(self) -> Array:
        """The weights in the picture, (n_q, 5)."""
        return self.steps.weights

    def _arrange(self, picture: HTML) -> list[Any]:
        c = self.controls
        rows = [
            HBox([c["n_q"].widget, c["causal"].widget]),
            HBox([c["offset"].widget, c["length"].widget]),
        ]
        return [*rows, picture]

    def _draw(self) -> Drawing:
        self.steps = attend(self.x[-int(self.n_q) :], self.x, self.x, mask=self.mask)
        return mask_and_weights(self.steps.masked_scores, self.weights, self._asking(), self.TOKENS)

    def _asking(self) -> Labels:
        return self.TOKENS[-int(self.n_q) :]

    def _figure(self) -> tuple[Any, ...]:
        return figures.mask_map, self.mask, self._asking(), self.TOKENS


def mask_and_weights(scores: Array, weights: Array, queries: Labels, keys: Labels) -> Drawing:
    """Draw the masked scores (n_q, n_k), where a blocked one is −∞, beside the weights."""
    n, wide, high, top = len(keys), 58, 34, 58
    left, right = 58, 58 + n * wide + 110
    parts = []
    for x, name, values, color, full in (
        (left, "masked scores", scores, NEUTRAL, 0.0),
        (right, "weights", weights, WEIGHTS, FULL_WEIGHT),
    ):
        parts.append(text(x, 12, f"{name} ({len(queries)}, {n})", anchor="start", bold=True))
        strengths = shades(values, full)
        for j, key in enumerate(keys):
            parts.append(text(x + (j + 0.5) * wide, top - 14, label(key, wide), size=SMALL))
        for i, query in enumerate(queries):
            y = top + i * high
            parts.append(text(x - 8, y + high / 2, label(query, 46), anchor="end", size=SMALL))
            for j, key in enumerate(keys):
                blocked = scores[i, j] == -np.inf
                title = f"{query} asks {key}: {'blocked' if blocked else 'allowed'}"
                content = "" if blocked and color == WEIGHTS else number(values[i, j])
                at = (x + j * wide, y, wide, high)
                size = SIZE if len(content) <= 6 else SMALL
                parts.append(cell(*at, content, color, strengths[i, j], title=title, size=size))
                if blocked:  # a smaller frame: not only the color says so
                    parts.append(rect(at[0] + 4, y + 4, wide - 8, high - 8, line=0.5))
    middle = top + n * high / 2
    parts.append(text(right - 70, middle - 16, "softmax", size=SMALL))
    parts.append(arrow((left + n * wide + 12, middle), (right - 58, middle)))
    said = [
        f"{query} gives {named(row[row > 0], [k for k, w in zip(keys, row, strict=True) if w > 0])}"
        if row.any()
        else f"{query} may see nothing: weights 0"
        for query, row in zip(queries, weights, strict=True)
    ]
    return drawing(FULL, top + n * high + 10, f"Weights of the mask: {'; '.join(said)}.", *parts)
