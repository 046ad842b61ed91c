"""A Gaussian score: the kernel over the keys, the weights it gives, and the average of the values."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, VBox

from attention_core._numbers import number, plain
from attention_core.attention import Attention, weigh
from attention_core.figures import OUTPUT, WEIGHTS, Q, V
from attention_core.figures.svg import SMALL, Picture, Point, circle, named, path, picture, rect, text
from attention_core.live._controls import Player, Slider, sliders
from attention_core.live._inputs import Array, Numbers
from attention_core.live._view import SIDE, View
from attention_core.scoring import gaussian_scores

LOW, HIGH = -1, 6  # of the plane
STEP = 0.05  # between neighbors on the curve
KEYS = np.arange(6.0)[:, None]  # (n_k, 1)
NAMES = [f"y{j}" for j in range(len(KEYS))]
PLACES = np.linspace(LOW, HIGH, 141)[:, None]
LEFT, ACROSS, UP = 30, 62, 34  # pixels: of the axis, of one to the right, of one upwards
TOP, STRIP, FLOOR = 26, 86, 406  # the plane's upper edge; the strip's height and its floor


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
        return self._attend(np.array([[self.query]]))

    @property
    def weights(self) -> Array:
        """The weights of the query, (6,)."""
        return self.steps.weights[0]

    @property
    def output(self) -> float:
        """The height of the curve at the query."""
        return float(self.steps.output[0, 0])

    def _attend(self, places: Array) -> Attention:
        return weigh(gaussian_scores(places, KEYS, width=self.width), self.y[:, None])

    def _arrange(self, picture: HTML) -> list[Any]:
        wide = (60, 230)
        query = Slider(self, "query", "query", STEP, wide=wide)
        width = Slider(self, "width", "width", 0.25, log=True, wide=wide)
        player = Player(self, "query", "move the query", (LOW, HIGH, 2 * STEP))
        rows = [query.widget, player.widget, width.widget, *sliders(self, "y", NAMES, 0.1, wide=wide)]
        return [HBox([VBox(rows, layout=SIDE), picture])]

    def _draw(self) -> Picture:
        at_query = np.array([[self.query]])
        heights = np.exp(gaussian_scores(at_query, PLACES, width=self.width)[0])  # 1 where the query is
        return curve_and_kernel(self.y, self._attend(PLACES).output[:, 0], heights, self.steps, self.query)


def curve_and_kernel(y: Array, curve: Array, kernel: Array, steps: Attention, query: float) -> Picture:
    """Draw values y (n_k,) and the curve of all outputs (m,); below, the kernel (m,) and the weights."""
    weights, output = steps.weights[0], float(steps.output[0, 0])
    here = at(query, output)
    points = [at(x, value) for x, value in zip(PLACES[:, 0], curve, strict=True)]
    bell = [(at(x, 0)[0], FLOOR - STRIP * value) for x, value in zip(PLACES[:, 0], kernel, strict=True)]
    parts = [*grid(), path(points, width=2)]
    for top, floor in ((TOP, at(0, LOW)[1]), (FLOOR - STRIP, FLOOR)):
        parts.append(path([(here[0], top), (here[0], floor)], dashed=True))
    for j, (key, value, weight) in enumerate(zip(KEYS[:, 0], y, weights, strict=True)):
        point = at(key, value)
        if weight > 5e-4:  # a thread as thick as the weight
            parts.append(path([point, here], color=V, width=1 + 9 * float(weight)))
        parts.append(rect(point[0] - 6, point[1] - 6, 12, 12, V, line=1.5))
        parts += strip_bar(point[0], float(weight), float(np.exp(steps.scores[0, j])))
    parts += [path(bell, width=1.5, color="currentColor"), circle(*here, 7, OUTPUT)]
    tip = FLOOR - STRIP
    parts.append(path([(here[0], tip), (here[0] - 7, tip - 12), (here[0] + 7, tip - 12)], fill=Q))
    right = at(HIGH, 0)[0]
    said = f"query {number(query, 2)}, output {number(output)}"
    parts.append(text(LEFT, 10, said, anchor="start", bold=True))
    parts.append(text(right, 10, "the line: the output of every query", anchor="end", size=SMALL))
    about = "bars: weights; bell: exp(score), with a dot at each key"
    parts.append(text(right, FLOOR - STRIP - 22, about, anchor="end", size=SMALL))
    words = f"Query {number(query, 2)}: weights {named(weights, NAMES)}; output {number(output)}."
    return picture(right + 14, FLOOR + 44, words, *parts)


def at(x: float, y: float) -> Point:
    """Return where a point of the plane stands."""
    return LEFT + (x - LOW) * ACROSS, TOP + (HIGH - y) * UP


def grid() -> Iterator[str]:
    """Draw the grid of the plane, and the strip below it that shares its keys."""
    for y in range(LOW, HIGH + 1):
        left, right = at(LOW, y), at(HIGH, y)
        yield f'<g opacity=".3">{path([left, right], width=0.6)}</g>'
        yield text(left[0] - 12, left[1], plain(y), size=SMALL)
    for y, name in ((FLOOR, "0"), (FLOOR - STRIP, "1")):
        yield path([(LEFT, y), (at(HIGH, 0)[0], y)], width=0.8) + text(LEFT - 12, y, name, size=SMALL)
    for x in range(LOW, HIGH + 1):
        across, _ = at(x, 0)
        yield f'<g opacity=".3">{path([(across, TOP), at(x, LOW)], width=0.6)}</g>'
        yield text(across, FLOOR + 30, plain(x), size=SMALL)


def strip_bar(x: float, weight: float, height: float) -> Iterator[str]:
    """Draw a weight as a bar, and the height of the kernel at its key as a dot: what it is a share of."""
    yield rect(x - 13, FLOOR - STRIP * weight, 26, STRIP * weight, WEIGHTS, line=0.6)
    yield circle(x, FLOOR - STRIP * height, 3, "currentColor")
    yield text(x, FLOOR + 12, number(weight, 2), size=SMALL)
