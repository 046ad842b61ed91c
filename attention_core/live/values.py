"""Three values in the plane, three scores: the output is their mixture, inside their triangle."""

from itertools import pairwise
from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, VBox

from attention_core._numbers import number, plain, product, vector
from attention_core.attention import Attention, attend, attention_scores
from attention_core.figures import OUTPUT, WEIGHTS, V
from attention_core.figures.svg import Picture, arrow, circle, lines, named, path, picture, plane, rect, text
from attention_core.live._controls import Slider, sliders
from attention_core.live._inputs import Array, Numbers
from attention_core.live._view import SIDE, View
from attention_core.worked import load

LOW, HIGH = -1, 3  # of the plane
NAMES = [f"v{j}" for j in range(3)]


class ValuesView(View):
    """Three values and what their weights make of them."""

    v = Numbers(LOW, HIGH, (3, 2), help="The values, (3, 2).")
    scores = Numbers(-5.0, 5.0, (3,), help="The scores, (3,).")

    def __init__(self) -> None:
        one, three = load("one-query"), load("three-tokens")
        wide = np.array([[-0.5, -0.5], [2.5, 0.0], [1.0, 2.5]])
        self.presets = {
            "a triangle": {"v": wide, "scores": np.array([1.0, 0.0, 0.5])},
            "One query (S0)": {"v": one["v"], "scores": attention_scores(one["q"], one["k"])[0]},
        }
        for i, scores in enumerate(attention_scores(three["q"], three["k"])):
            self.presets[f"Three tokens (S3), query {i}"] = {"v": three["v"], "scores": scores}
        super().__init__()

    @property
    def steps(self) -> Attention:
        """The attention with these scores: with q = 1 and a key of one entry, q·k is the score itself."""
        return attend(np.ones((1, 1)), self.scores[:, None], self.v, scale=1.0)

    @property
    def weights(self) -> Array:
        """The weights in the picture, (3,)."""
        return self.steps.weights[0]

    @property
    def output(self) -> Array:
        """The output in the picture, (2,)."""
        return self.steps.output[0]

    def _arrange(self, picture: HTML) -> list[Any]:
        wide = (56, 210)
        scores = sliders(self, "scores", [f"score {j}" for j in range(3)], 0.05, wide=wide)
        points = [
            Slider(self, "v", f"{name}, {axis}", 0.05, (j, c), wide=wide).widget
            for j, name in enumerate(NAMES)
            for c, axis in enumerate("xy")
        ]
        return [HBox([VBox([*scores, *points], layout=SIDE), picture])]

    def _draw(self) -> Picture:
        return mixture(self.v, self.weights, self.output)


def mixture(v: Array, weights: Array, output: Array) -> Picture:
    """Draw the values (3, 2) in the plane, and their shares head to tail from the origin to the output."""
    side, left, x = 290, 26, 340
    grid, at = plane(left, 44, side, LOW, HIGH)
    parts = [grid, path([at(point) for point in v], color=V, width=2, fill=V, opacity=0.18)]
    parts += [path([at((0, 0)), at(point)], color=V, dashed=True) for point in v]
    heads = [(0.0, 0.0), *np.cumsum(weights[:, None] * v, axis=0)]
    parts += [arrow(at(tail), at(head), color=WEIGHTS, width=3) for tail, head in pairwise(heads)]
    for point, name in zip(v, NAMES, strict=True):
        (px, py), below = at(point), point[1] < v[:, 1].mean()
        parts.append(rect(px - 6, py - 6, 12, 12, V, line=1.5))
        parts.append(text(max(px, left + 14), py + (18 if below else -16), name, bold=True))
    parts.append(circle(*at(output), 8, OUTPUT))
    parts.append(text(left, 12, "head to tail: w0 v0 + w1 v1 + w2 v2", anchor="start", bold=True))
    parts.append(text(x, 12, "weights", anchor="start", bold=True))
    for j, weight in enumerate(weights):
        y = 40 + 26 * j
        parts.append(text(x, y, f"w{j}  {number(weight)}", anchor="start"))
        parts.append(rect(x + 76, y - 8, 96, 16, line=0.4))
        parts.append(rect(x + 76, y - 8, 96 * float(weight), 16, WEIGHTS))
    parts.append(circle(x + 8, 132, 8, OUTPUT) + text(x + 24, 132, "output", anchor="start", bold=True))
    parts.append(text(x, 154, vector(output, 4), anchor="start"))
    for c, axis in enumerate("xy"):
        terms = [product(number(w), " · ", plain(p, least=1)) for w, p in zip(weights, v[:, c], strict=True)]
        said = [f"{axis} = {terms[0]}", *(f"   + {term}" for term in terms[1:])]
        parts.append(lines(x, 184 + 72 * c, said))
    points = ", ".join(f"{name} {vector(point, 4)}" for name, point in zip(NAMES, v, strict=True))
    shares = [f"w{j}" for j in range(3)]
    words = (
        f"Values {points}. Weights {named(weights, shares)}. "
        f"Head to tail, the weighted values lead to the output {vector(output, 4)}, inside their region."
    )
    return picture(520, side + 70, words, *parts)
