"""Three values in the plane, three scores: the output is their mixture, inside their triangle."""

from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, VBox

from attention_core._numbers import number, plain, product, vector
from attention_core.attention import Attention, attend, attention_scores
from attention_core.figures import OUTPUT, WEIGHTS, V
from attention_core.figures.svg import Picture, circle, label, lines, named, path, picture, plane, rect, text
from attention_core.live._controls import Mover, Table, sliders, titled
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
        self.presets = {"One query (S0)": {"v": one["v"], "scores": attention_scores(one["q"], one["k"])[0]}}
        for i, scores in enumerate(attention_scores(three["q"], three["k"])):
            self.presets[f"Three tokens (S3), query {i}"] = {"v": three["v"], "scores": scores}
        wide = np.array([[-0.5, -0.5], [2.5, 0.0], [1.0, 2.5]])
        self.presets["a wide triangle"] = {"v": wide, "scores": np.zeros(3)}
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
        names = [f"score {j}" for j in range(3)]
        scores = sliders(self, "scores", names, 0.05, wide=(60, 230))
        table = Table(self, "v", "v", NAMES, ["x", "y"], room=30, cell=60)
        mover = Mover([table], (LOW, HIGH, 0.05), upright=True)
        return [HBox([VBox([*scores, titled("V", V, table), mover.widget], layout=SIDE), picture])]

    def _draw(self) -> Picture:
        return mixture(self.v, self.weights, self.output)


def mixture(v: Array, weights: Array, output: Array) -> Picture:
    """Draw the values (3, 2) in the plane, the region they span, and the output inside it."""
    side, left = 290, 30
    grid, at = plane(left, 8, side, LOW, HIGH)
    middle, target = v.mean(axis=0), at(output)
    parts = [grid, path([at(point) for point in v], color=V, width=2, fill=V, opacity=0.18)]
    for point, w in zip(v, weights, strict=True):
        parts.append(path([target, at(point)], width=1 + 9 * float(w), color=WEIGHTS))
    for point, name in zip(v, NAMES, strict=True):
        x, y = at(point)
        beyond = -18 if point[1] >= middle[1] else 18
        parts.append(rect(x - 6, y - 6, 12, 12, V, line=1.5) + text(x, y + beyond, label(name, 90)))
    parts.append(circle(*target, 8, OUTPUT))
    x = left + side + 16
    parts.append(text(x, 14, "weights", anchor="start", bold=True))
    for i, (name, weight) in enumerate(zip(NAMES, weights, strict=True)):
        y = 38 + 26 * i
        parts.append(text(x, y, f"{label(name, 40)}  {number(weight)}", anchor="start"))
        parts.append(rect(x + 88, y - 7, 84 * float(weight), 14, WEIGHTS, line=0.6))
    parts.append(circle(x + 8, 126, 8, OUTPUT) + text(x + 24, 126, "output", anchor="start", bold=True))
    parts.append(text(x, 148, vector(output, 4), anchor="start"))
    for c in (0, 1):
        said = [product(number(w), "·", plain(x, least=1)) for w, x in zip(weights, v[:, c], strict=True)]
        parts.append(
            lines(x, 178 + 74 * c, [f"output[{c}] = {said[0]}", *(f"+ {term}" for term in said[1:])])
        )
    points = ", ".join(f"{name} {vector(point, 4)}" for name, point in zip(NAMES, v, strict=True))
    words = (
        f"Values {points}. Weights {named(weights, NAMES)}. Output {vector(output, 4)}, inside their region."
    )
    return picture(540, side + 34, words, *parts)
