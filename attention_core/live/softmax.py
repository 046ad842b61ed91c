"""Seven logits, a temperature and a constant: weights, ratio and entropy; in float64 or float16."""

import math
from html import escape
from typing import Any

import numpy as np
from ipywidgets import HTML, GridBox, HBox, Layout

from attention_core._numbers import number
from attention_core.attention import attention_scores, softmax
from attention_core.figures import NEUTRAL, WEIGHTS
from attention_core.figures.svg import (
    SMALL,
    STRONGEST,
    Labels,
    Picture,
    bars,
    label,
    lines,
    named,
    path,
    picture,
    rect,
    text,
)
from attention_core.live._controls import Slider, sliders, tick
from attention_core.live._inputs import Array, Numbers, Truths
from attention_core.live._view import View
from attention_core.worked import load

COLUMN = 72  # pixels for each logit


class SoftmaxView(View):
    """What goes into the softmax, the weights that come out, and what can be said of them."""

    logits = Numbers(-5.0, 5.0, (7,), help="The logits, (7,).")
    temperature = Numbers(0.1, 10.0, help="What the logits are divided by.")
    constant = Numbers(-2000.0, 2000.0, help="What is added to every logit.")
    float16 = Truths(help="Is the softmax computed in float16?")

    def __init__(self) -> None:
        s1 = load("it-animal")
        self.tokens, x = s1["tokens"], s1["embeddings"]
        scores = attention_scores(x @ s1["w_q"].T, x @ s1["w_k"].T, scale=s1["scale"])
        plain = {"temperature": 1.0, "constant": 0.0, "float16": False}
        self.presets = {
            "scores of it (S1)": {"logits": scores[self.tokens.index("it")], **plain},
            "all equal": {"logits": np.zeros(7), **plain},
            "a staircase": {"logits": np.arange(7) / 2, **plain},
        }
        super().__init__()

    @property
    def dtype(self) -> Any:
        """The dtype in which the softmax is computed."""
        return np.float16 if self.float16 else np.float64

    @property
    def scores(self) -> Array:
        """What goes into the softmax: (logits + c) / T, (7,)."""
        return (self.logits.astype(self.dtype) + self.dtype(self.constant)) / self.dtype(self.temperature)

    @property
    def weights(self) -> Array:
        """The weights in the picture, (7,)."""
        return softmax(self.scores)

    @property
    def entropy(self) -> float:
        """−Σ w ln w."""
        w = self.weights.astype(float)
        return float(-(w[w > 0] * np.log(w[w > 0])).sum())

    def _arrange(self, picture: HTML) -> list[Any]:
        wide = (20, 190)
        t = Slider(self, "temperature", "T", 0.1, wide=wide)
        c = Slider(self, "constant", "c", 10.0, wide=wide)
        rest = HBox([t.widget, c.widget, tick(self, "float16", "compute in float16")])
        layout = Layout(grid_template_columns="repeat(7, minmax(0, 1fr))", width=f"{7 * COLUMN}px")
        columns = GridBox(sliders(self, "logits", self.tokens, 0.1), layout=layout)
        return [rest, picture, columns]

    def _draw(self) -> Picture:
        w = self.weights.astype(float)
        without = softmax(self.logits.astype(self.dtype) / self.dtype(self.temperature))
        moved, power = float(abs(self.weights - without).max()), float(np.exp(self.scores.max()))
        said = [
            f"largest ÷ smallest weight: {number(w.max() / w.min() if w.min() > 0 else math.inf)}",
            f"entropy: {number(self.entropy)} of at most ln {len(w)} = {number(math.log(len(w)))}",
            f"the constant c has moved a weight by {number(moved)} at most",
            f"exp(largest input) in {np.dtype(self.dtype).name}: "
            f"{'∞, so it is subtracted first' if power == math.inf else number(power)}",
        ]
        return scores_and_weights(self.scores, w, self.tokens, said)


def scores_and_weights(scores: Array, weights: Array, tokens: Labels, said: Labels) -> Picture:
    """Draw from below: what goes in, exp of it, and a strip that the weights share; above it what is `said`.

    The columns are as wide as the picture, so that their sliders can stand under them.
    """
    n, top, high, floor, tall = len(tokens), 118, 36, 338, 84
    powers = weights / weights.max()  # exp(score − largest score): the common divisor is gone
    ends = np.concatenate([[0], np.cumsum(weights)]) * n * COLUMN
    parts = [text(2, 12, "weights = softmax((logits + c) / T)", anchor="start", bold=True)]
    parts += [lines(2, 34, said, step=20)]
    for j, (token, score, weight) in enumerate(zip(tokens, scores, weights, strict=True)):
        x, title = (j + 0.5) * COLUMN, f"{token}: {number(score)} → {number(weight)}"
        left, right, below = ends[j], ends[j + 1], top + high
        band = [(left, below), (right, below), (x + 25, below + 40), (x - 25, below + 40)]
        parts.append(path(band, color="none", fill=WEIGHTS, opacity=0.2 if j % 2 else 0.38))
        name = label(token, right - left - 4) if right - left > 30 else ""
        strength = STRONGEST[WEIGHTS] * (0.6 if j % 2 else 1)
        parts.append(
            f"<g><title>{escape(title)}</title>{rect(left, top, right - left, high, WEIGHTS, strength, 0.8)}"
            f"{text((left + right) / 2, top + high / 2, name, size=SMALL)}</g>"
        )
        parts.append(text(x, below + 50, number(weight), bold=True))
        parts.append(text(x, floor - tall * float(powers[j]) - 9, number(powers[j], 2), size=SMALL))
        parts.append(text(x, floor + 16, number(score, 2)))
        parts.append(text(x, floor + 36, label(token, COLUMN), size=SMALL))
    parts.append(
        text(
            2,
            top + high + 70,
            "exp(x − largest x), and below x = (logit + c) / T",
            size=SMALL,
            anchor="start",
        )
    )
    parts.append(bars(0, floor, powers, NEUTRAL, step=COLUMN, tall=tall, full=1.0))
    return picture(n * COLUMN, floor + 46, f"Weights {named(weights, tokens)}. {'. '.join(said)}.", *parts)
