"""Four tokens, d_model = 8: split into heads, each head's weights, merged again."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from ipywidgets import HTML, HBox

from attention_core._numbers import number, vector
from attention_core.figures import NEGATIVE, NEUTRAL, OUTPUT, WEIGHTS, K, Q, V
from attention_core.figures.svg import (
    FULL,
    FULL_WEIGHT,
    SMALL,
    Labels,
    Picture,
    arrow,
    cell,
    label,
    lines,
    picture,
    rect,
    small_matrix,
    text,
)
from attention_core.heads import attend_in_heads
from attention_core.live._controls import Slider
from attention_core.live._inputs import Array, Numbers
from attention_core.live._view import View
from attention_core.worked import load

D_MODEL = 8


class HeadSteps(NamedTuple):
    """Every matrix between the input and the output of multi-head attention.

    q, k, v (n, d_model); weights (n_heads, n, n); merged and output (n, d_model).
    """

    q: Array
    k: Array
    v: Array
    weights: Array
    merged: Array
    output: Array


class HeadsView(View):
    """The same numbers in one, two, four or eight heads."""

    n_heads = Numbers(1, D_MODEL, whole=True, help="The number of heads.")
    head = Numbers(0, D_MODEL - 1, whole=True, help="The head that is picked out.")

    def __init__(self) -> None:
        s1 = load("it-animal")["tokens"]
        self.tokens = [s1[1], s1[3], s1[5], s1[6]]
        rng = np.random.default_rng(0)
        self.x = rng.standard_normal((len(self.tokens), D_MODEL)).round(2)
        self.w = dict(zip("qkvo", rng.standard_normal((4, D_MODEL, D_MODEL)).round(2) / 2, strict=True))
        self.presets = {f"{h} head{'s' * (h > 1)}": {"n_heads": h, "head": 0} for h in (2, 1, 4, 8)}
        super().__init__()

    def put(self, inputs: Mapping[str, Any]) -> None:
        """Set inputs; with fewer heads, pick the last one that is left."""
        with self.hold_trait_notifications():
            super().put(inputs)
            if "head" not in inputs:
                self.set_trait("head", min(self.head, self.n_heads - 1))

    @property
    def steps(self) -> HeadSteps:
        """Every matrix on the way."""
        q, k, v = (self.x @ self.w[name] for name in "qkv")
        heads = attend_in_heads(q, k, v, n_heads=self.n_heads)
        return HeadSteps(q, k, v, heads.weights, heads.output, heads.output @ self.w["o"])

    @property
    def weights(self) -> Array:
        """The weights of all heads, (n_heads, 4, 4)."""
        return self.steps.weights

    @property
    def output(self) -> Array:
        """The output, (4, 8)."""
        return self.steps.output

    def _arrange(self, picture: HTML) -> list[Any]:
        wide = (90, 300)
        n_heads = Slider(self, "n_heads", "n_heads", 1, wide=wide)
        return [HBox([n_heads.widget, Slider(self, "head", "picked head", 1, wide=wide).widget]), picture]

    def _draw(self) -> Picture:
        steps, last = self.steps, self.n_heads - 1
        if self.head > last:
            raise ValueError(f"the picked head must be from 0 to n_heads − 1 = {last}, got {self.head}")
        return split_and_merge(self.x, steps, self.tokens, self.head)


def split_and_merge(x_in: Array, steps: HeadSteps, tokens: Labels, head: int) -> Picture:
    """Draw the way from the input (n, d_model) through all heads to the output."""
    n, d_model = x_in.shape
    n_heads, side = len(steps.weights), 12
    d_head = d_model // n_heads
    wide, high, top = d_model * side, n * side, 46

    def columns(x: float, y: float) -> str:  # of the picked head
        return rect(x + head * d_head * side, y, d_head * side, high, line=3)

    parts = [
        _headed(0, top + 70, "X", x_in, NEUTRAL, side),
        *(
            _step(x, top + 94, name)
            for x, name in ((100, "× W"), (244, "split"), (522, "merge"), (666, "× W_O"))
        ),
        _headed(566, top + 70, "merged", steps.merged, V, side) + columns(566, top + 70),
        _headed(706, top + 70, "output", steps.output, OUTPUT, side)
        + rect(706, top + 70, wide, high, line=1.2),
        rect(0, top + 250, 12, 12, NEGATIVE) + text(18, top + 256, "below zero", anchor="start", size=SMALL),
    ]
    for i, (name, values, color) in enumerate((("Q", steps.q, Q), ("K", steps.k, K), ("V", steps.v, V))):
        y = top + i * (high + 36)
        parts.append(_headed(142, y, name, values, color, side) + columns(142, y))
    parts.append(text(290, 12, f"weights ({n_heads}, {n}, {n})", bold=True, anchor="start"))
    for h, weights in enumerate(steps.weights):
        x, y = 290 + h % 4 * (high + 10), top + h // 4 * (high + 22)
        parts.append(text(x + high / 2, y - 9, f"head {h}", size=SMALL, bold=h == head))
        parts.append(small_matrix(x, y, weights, WEIGHTS, side=side))
        parts.append(rect(x, y, high, high, line=3 if h == head else 0.6))
    parts += _large_head(338, top + 164, steps.weights[head], tokens)
    parts.append(text(338 + 2 * 44, top + 136, f"head {head}: d_head = {d_head}", bold=True))
    said = [
        f"split: ({n}, {d_model}) → ({n}, {n_heads}, {d_head}) → ({n_heads}, {n}, {d_head})",
        f"merge: ({n_heads}, {n}, {d_head}) → ({n}, {n_heads}, {d_head}) → ({n}, {d_model})",
    ]
    parts.append(lines(530, top + 200, said))
    rows = " ".join(f"{t}: {vector(row, 4)}." for t, row in zip(tokens, steps.weights[head], strict=True))
    words = f"{n_heads} heads of width {d_head}. Weights of head {head}: {rows} {said[0]}; {said[1]}."
    return picture(FULL, top + 296, words, *parts)


def _step(x: float, y: float, name: str) -> str:
    """Draw an arrow to the next matrix with the name of the step."""
    return text(x + 19, y - 11, name, size=SMALL) + arrow((x, y), (x + 38, y))


def _headed(x: float, y: float, name: str, values: Array, color: str, side: float) -> str:
    """Draw a small matrix with its name and shape above it."""
    n, m = values.shape
    above = text(x + m * side / 2, y - 11, f"{name} ({n}, {m})", bold=True)
    return above + small_matrix(x, y, values, color, side=side)


def _large_head(x: float, y: float, weights: Array, tokens: Labels) -> list[str]:
    """Draw one head's weights with numbers."""
    parts = []
    for i, token in enumerate(tokens):
        parts.append(text(x - 6, y + (i + 0.5) * 30, label(token, 60), anchor="end", size=SMALL))
        parts.append(text(x + (i + 0.5) * 44, y - 9, label(token, 44), size=SMALL))
        for j, weight in enumerate(weights[i]):
            at, title = (x + j * 44, y + i * 30, 44, 30), f"{token} asks {tokens[j]}: weight {number(weight)}"
            parts.append(cell(*at, number(weight, 2), WEIGHTS, weight / FULL_WEIGHT, title=title))
    return parts
