"""The live view on a Gaussian score: attention as a smooth curve through points."""

from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, Layout, VBox

from attention_core import figures
from attention_core._numbers import number
from attention_core.attention import Attention, weigh
from attention_core.figures import WEIGHTS, Q, V
from attention_core.live._shapes import (
    SMALL,
    Array,
    Drawing,
    arrow,
    circle,
    drawing,
    lines,
    named,
    path,
    plane,
    rect,
    text,
)
from attention_core.live.number_controls import Slider, Sliders
from attention_core.live.view import SIDE, Input, View
from attention_core.scoring import gaussian_scores

STEP = 0.05  # between neighbors on the curve


class KernelView(View):
    """Six points (x_j, y_j): keys are the places x_j, values the heights y_j, the query any place x."""

    query = Input("The place that asks.")
    width = Input("How far a key is heard: the width of the Gaussian.")
    y = Input("The values, (6,).")
    KEYS = np.arange(6.0)[:, None]  # (n_k, 1)
    LOW, HIGH = -1, 6
    steps: Attention

    def __init__(self) -> None:
        self._names = [f"y{j}" for j in range(len(self.KEYS))]
        wide: dict[str, Any] = {"label": "60px", "width": "230px"}
        controls = {
            "query": Slider("query", 2.5, self.LOW, self.HIGH, STEP, **wide),
            "width": Slider("width", 0.5, 0.125, 8.0, 0.25, log=True, **wide),
            "y": Sliders(self._names, self.LOW, self.HIGH, 0.1, **wide),
        }
        hill = [1.0, 2.0, 4.0, 5.0, 3.0, 1.0]
        examples = {
            "a hill": {"query": 2.5, "width": 0.5, "y": hill},
            "narrow: the nearest key": {"query": 2.3, "width": 0.125, "y": hill},
            "wide: the mean of all": {"query": 2.5, "width": 8.0, "y": hill},
            "a step": {"query": 2.5, "width": 0.5, "y": [0.0, 0.0, 0.0, 4.0, 4.0, 4.0]},
        }
        super().__init__(controls, examples)

    @property
    def weights(self) -> Array:
        """The weights of the query, (6,)."""
        return self.steps.weights[0]

    @property
    def output(self) -> float:
        """The height of the curve at the query."""
        return float(self.steps.output[0, 0])

    def _attend(self, places: Array) -> Attention:
        return weigh(gaussian_scores(places[:, None], self.KEYS, width=self.width), self.y[:, None])

    def _arrange(self, picture: HTML) -> list[Any]:
        c = self.controls
        rows = [c["query"].widget, c["width"].widget, *c["y"].widgets]
        return [HBox([VBox(rows, layout=SIDE), picture], layout=Layout())]

    def _draw(self) -> Drawing:
        self.steps = self._attend(np.array([self.query]))
        places = np.linspace(self.LOW, self.HIGH, 141)
        points = np.column_stack([self.KEYS[:, 0], self.y])
        curve = np.column_stack([places, self._attend(places).output[:, 0]])
        here = np.array([self.query, self.output])
        return regression(points, curve, here, self.weights, self._names, (self.LOW, self.HIGH))

    def _figure(self) -> tuple[Any, ...]:
        before, after = (int(abs(end - self.query) / STEP) for end in (self.LOW, self.HIGH))
        places = self.query + STEP * np.arange(-before, after + 1)  # the query is one of them
        weights, output = self._attend(places)[2:]
        return figures.kernel_regression, self.KEYS[:, 0], self.y, places, weights, output[:, 0], before


def regression(
    points: Array, curve: Array, here: Array, weights: Array, names: list[str], reach: tuple[int, int]
) -> Drawing:
    """Draw points (n_k, 2), the curve of all outputs (m, 2), the query's output (2,) and its weights."""
    side, left = 300, 26
    grid, at = plane(left, 8, side, *reach)
    low, (x, y) = reach[0], at(here)
    parts = [grid, path([at(point) for point in curve], width=2)]
    for point, weight in zip(points, weights, strict=True):
        foot = at((point[0], low))
        tall = 0.4 * side * float(weight)
        parts.append(rect(foot[0] - 7, foot[1] - tall, 14, tall, WEIGHTS, line=0.6))
        parts.append(rect(at(point)[0] - 6, at(point)[1] - 6, 12, 12, V, line=1.5))
    parts.append(arrow(at((here[0], low)), (x, y + 9), color=Q, width=3))
    parts.append(circle(x, y, 7, figures.OUTPUT))
    x = left + side + 26
    said = [f"{name}: {number(weight)}" for name, weight in zip(names, weights, strict=True)]
    parts += [text(x, 18, "weights", anchor="start", bold=True), lines(x, 42, said)]
    parts += [rect(x, 190, 12, 12, V, line=1), text(x + 20, 196, "value y_j at key x_j", anchor="start")]
    parts += [rect(x, 214, 12, 12, Q), text(x + 20, 220, f"query {number(here[0], 2)}", anchor="start")]
    parts += [circle(x + 6, 246, 6, figures.OUTPUT)]
    parts += [text(x + 20, 246, f"output {number(here[1])}", anchor="start", bold=True)]
    parts += [path([(x, 270), (x + 12, 270)], width=2)]
    parts += [text(x + 20, 270, "output of every query", anchor="start", size=SMALL)]
    words = f"Query {number(here[0], 2)}: weights {named(weights, names)}; output {number(here[1])}."
    return drawing(530, side + 34, words, *parts)
