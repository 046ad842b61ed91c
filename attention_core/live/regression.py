"""A Gaussian score: attention as a smooth curve through points."""

from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, VBox

from attention_core._numbers import number
from attention_core.attention import Attention, weigh
from attention_core.figures import OUTPUT, WEIGHTS, Q, V
from attention_core.figures.svg import (
    SMALL,
    Picture,
    arrow,
    circle,
    lines,
    named,
    path,
    picture,
    plane,
    rect,
    text,
)
from attention_core.live._controls import Slider, sliders
from attention_core.live._inputs import Array, Numbers
from attention_core.live._view import SIDE, View
from attention_core.scoring import gaussian_scores

LOW, HIGH = -1, 6  # of the plane
STEP = 0.05  # between neighbors on the curve
KEYS = np.arange(6.0)[:, None]  # (n_k, 1)
NAMES = [f"y{j}" for j in range(len(KEYS))]


class RegressionView(View):
    """Six points; the output for every query is their average, the near ones counting most."""

    query = Numbers(LOW, HIGH, help="Where the curve is read.")
    width = Numbers(0.125, 8.0, help="How far a key counts as near.")
    y = Numbers(LOW, HIGH, (len(KEYS),), help="The values, (6,).")

    def __init__(self) -> None:
        hill, step = np.array([1.0, 2, 4, 5, 3, 1]), np.array([0.0, 0, 0, 4, 4, 4])
        self.presets = {
            "a hill": {"query": 2.5, "width": 0.5, "y": hill},
            "narrow: the nearest key": {"query": 2.3, "width": 0.125, "y": hill},
            "wide: the mean of all": {"query": 2.5, "width": 8.0, "y": hill},
            "a step": {"query": 2.5, "width": 0.5, "y": step},
        }
        super().__init__()

    @property
    def steps(self) -> Attention:
        """The attention of the query to all keys."""
        return self._attend(np.array([self.query]))

    @property
    def weights(self) -> Array:
        """The weights of the query, (6,)."""
        return self.steps.weights[0]

    @property
    def output(self) -> float:
        """The height of the curve at the query."""
        return float(self.steps.output[0, 0])

    def _attend(self, places: Array) -> Attention:
        return weigh(gaussian_scores(places[:, None], KEYS, width=self.width), self.y[:, None])

    def _arrange(self, picture: HTML) -> list[Any]:
        wide = (60, 230)
        query = Slider(self, "query", "query", STEP, wide=wide)
        width = Slider(self, "width", "width", 0.25, log=True, wide=wide)
        rows = [query.widget, width.widget, *sliders(self, "y", NAMES, 0.1, wide=wide)]
        return [HBox([VBox(rows, layout=SIDE), picture])]

    def _draw(self) -> Picture:
        places = np.linspace(LOW, HIGH, 141)
        curve = np.column_stack([places, self._attend(places).output[:, 0]])
        return curve_through_points(self.y, curve, np.array([self.query, self.output]), self.weights)


def curve_through_points(y: Array, curve: Array, here: Array, weights: Array) -> Picture:
    """Draw the values y (n_k,), the curve of all outputs (m, 2), the query's output (2,) and its weights."""
    side, left = 300, 26
    grid, at = plane(left, 8, side, LOW, HIGH)
    parts = [grid, path([at(point) for point in curve], width=2)]
    for point, weight in zip(np.column_stack([KEYS[:, 0], y]), weights, strict=True):
        (x, foot), tall = at((point[0], LOW)), 0.4 * side * float(weight)
        parts.append(rect(x - 7, foot - tall, 14, tall, WEIGHTS, line=0.6))
        parts.append(rect(x - 6, at(point)[1] - 6, 12, 12, V, line=1.5))
    x, high = at(here)
    parts.append(arrow(at((here[0], LOW)), (x, high + 9), color=Q, width=3) + circle(x, high, 7, OUTPUT))
    x = left + side + 26
    said = [f"{name}: {number(weight)}" for name, weight in zip(NAMES, weights, strict=True)]
    parts += [text(x, 18, "weights", anchor="start", bold=True), lines(x, 42, said)]
    parts += [rect(x, 190, 12, 12, V, line=1), text(x + 20, 196, "value y_j at key x_j", anchor="start")]
    parts += [rect(x, 214, 12, 12, Q), text(x + 20, 220, f"query {number(here[0], 2)}", anchor="start")]
    parts += [circle(x + 6, 246, 6, OUTPUT)]
    parts += [text(x + 20, 246, f"output {number(here[1])}", anchor="start", bold=True)]
    parts += [path([(x, 270), (x + 12, 270)], width=2)]
    parts += [text(x + 20, 270, "output of every query", anchor="start", size=SMALL)]
    words = f"Query {number(here[0], 2)}: weights {named(weights, NAMES)}; output {number(here[1])}."
    return picture(530, side + 34, words, *parts)
