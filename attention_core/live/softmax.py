"""Seven logits, a temperature and a constant: weights, ratio and entropy; in float64 or float16."""

import math
from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, VBox

from attention_core._numbers import number
from attention_core.attention import attention_scores, softmax
from attention_core.figures import WEIGHTS
from attention_core.figures.svg import SMALL, Labels, Picture, bars, label, lines, named, picture, text
from attention_core.live._controls import Slider, sliders, tick
from attention_core.live._inputs import Array, Numbers, Truths
from attention_core.live._view import SIDE, View
from attention_core.worked import load


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
        wide = (80, 230)
        t = Slider(self, "temperature", "T", 0.1, wide=wide)
        c = Slider(self, "constant", "c", 10.0, wide=wide)
        rows = [*sliders(self, "logits", self.tokens, 0.1, wide=wide), t.widget, c.widget]
        return [HBox([VBox([*rows, tick(self, "float16", "compute in float16")], layout=SIDE), picture])]

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
    """Draw a bar for each weight over what went in, and below them what is `said`."""
    step, floor, tall, left = 62, 196, 140, 72
    titles = [f"{t}: {number(x)} → {number(w)}" for t, x, w in zip(tokens, scores, weights, strict=True)]
    parts = [
        text(left, 12, "weights = softmax((logits + c) / T)", anchor="start", bold=True),
        bars(left, floor, weights, WEIGHTS, step=step, tall=tall, full=1.0, titles=titles),
        text(left - 8, floor + 16, "token", anchor="end", size=SMALL),
        text(left - 8, floor + 36, "(x + c)/T", anchor="end", size=SMALL),
        lines(left, floor + 66, said),
    ]
    for j, (token, value, weight) in enumerate(zip(tokens, scores, weights, strict=True)):
        x = left + (j + 0.5) * step
        parts.append(text(x, floor - tall * weight - 10, number(weight)))
        parts.append(text(x, floor + 16, label(token, step), size=SMALL))
        parts.append(text(x, floor + 36, number(value, 2), size=SMALL))
    return picture(520, floor + 146, f"Weights {named(weights, tokens)}. {'. '.join(said)}.", *parts)
