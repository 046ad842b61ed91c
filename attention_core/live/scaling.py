"""Random queries and keys of any width: scores, weights and slopes, plain and divided by √d_k."""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from ipywidgets import HTML

from attention_core._numbers import number, plain
from attention_core.attention import attention_scores, softmax
from attention_core.figures import NEUTRAL, WEIGHTS
from attention_core.figures.svg import SMALL, Picture, bars, chart, circle, path, picture, text
from attention_core.live._controls import Slider
from attention_core.live._inputs import Array, Numbers
from attention_core.live._view import View

QUERIES, KEYS, WIDEST = 200, 8, 1024
EDGE = 50  # of the line of scores
NAMES = ("q·k", "q·k ÷ √d_k")


class Averages(NamedTuple):
    """What 200 queries have on average, with their 8 keys sorted by score; plain, and divided by √d_k."""

    spread: Array  # (2,) the standard deviation of all scores
    scores: Array  # (2, 8)
    weights: Array  # (2, 8)
    slope: Array  # (2,) of w(1 − w)


class ScalingView(View):
    """200 random queries with 8 random keys each, without and with the division by √d_k."""

    d_k = Numbers(1, WIDEST, whole=True, help="The width of queries and keys.")

    def __init__(self) -> None:
        self.presets = {f"d_k = {d_k}": {"d_k": d_k} for d_k in (64, 4, 1024)}
        super().__init__()

    @property
    def scores(self) -> Array:
        """The scores, plain and divided by √d_k, (2, 200, 8)."""
        return _scores(self.d_k)

    @property
    def weights(self) -> Array:
        """The weights that the plain and the divided scores give, (2, 200, 8)."""
        return softmax(self.scores)

    def _arrange(self, picture: HTML) -> list[Any]:
        return [Slider(self, "d_k", "d_k", 0.5, log=True, wide=(30, 360)).widget, picture]

    def _draw(self) -> Picture:
        return plain_and_divided(self.d_k, _averages(self.d_k), _slopes())


@cache
def _random() -> tuple[Array, Array]:
    """Return queries and keys, the same in every view."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((QUERIES, 1, WIDEST)), rng.standard_normal((QUERIES, KEYS, WIDEST))


def _scores(d_k: int) -> Array:
    q, k = (x[..., :d_k] for x in _random())
    return np.stack([attention_scores(q, k, scale=scale)[:, 0] for scale in (1.0, None)])


def _averages(d_k: int) -> Averages:
    scores = _scores(d_k)
    w = softmax(scores)
    by_score = np.sort(scores).mean(axis=1), np.sort(w).mean(axis=1)
    return Averages(scores.std(axis=(1, 2)), *by_score, (w * (1 - w)).mean(axis=(1, 2)))


@cache
def _slopes() -> Array:
    """Return log₂ d_k, and the average slope of the plain and of the divided scores, (20, 3)."""
    sizes = sorted({round(2 ** (i / 2)) for i in range(21)})
    return np.array([[math.log2(d_k), *_averages(d_k).slope] for d_k in sizes])


def plain_and_divided(d_k: int, averages: Averages, slopes: Array) -> Picture:
    """Draw the scores as dots on one scale, threads to their weights, and slopes (n, 3) against d_k."""
    words = [f"d_k = {d_k}, averages of {QUERIES} random queries, 8 keys sorted by score"]
    parts = [text(6, 12, words[0], anchor="start", bold=True)]
    for row, name in enumerate(NAMES):
        spread, scores, weights, slope = (values[row] for values in averages)
        said = f"standard deviation {number(spread, 2)}"
        parts.append(text(6, 44 + 178 * row, name, anchor="start", bold=True))
        parts.append(text(514, 44 + 178 * row, said, anchor="end"))
        parts.append(_dots_and_bars(82.0 + 178 * row, scores, weights))
        each = ", ".join(number(w) for w in weights)
        words.append(f"{name}: {said}, weights {each}, slope {number(slope)}")
    top, high = 424, 110
    parts.append(text(6, top - 20, "slope w (1 − w), averaged, when d_k changes", anchor="start", bold=True))
    sizes = {float(i): plain(2**i) for i in range(0, 11, 2)}
    grid, at = chart(44, top, 390, high, sizes, {y: plain(y) for y in (0.0, 0.04, 0.08, 0.12)})
    parts.append(grid)
    x = at((math.log2(d_k), 0))[0]
    parts.append(path([(x, top), (x, top + high)], width=1.5))
    for row, name in enumerate(NAMES):
        parts.append(path([at(point) for point in slopes[:, [0, 1 + row]]], width=2, dashed=row == 1))
        parts.append(text(442, at(slopes[-1, [0, 1 + row]])[1], name, anchor="start", size=SMALL))
        parts.append(circle(x, at((0, averages.slope[row]))[1], 5, NEUTRAL))
    return picture(520, top + high + 24, f"{'. '.join(words)}.", *parts)


def _dots_and_bars(y: float, scores: Array, weights: Array) -> str:
    """Draw scores on a line at height y, a bar for each weight below it, and threads between them."""
    unit, step, tall = 242 / EDGE, 65.0, 54.0
    floor = y + 108
    parts = [path([(18, y), (502, y)])]
    for tick in (-EDGE, -EDGE / 2, 0, EDGE / 2, EDGE):
        x = 260 + tick * unit
        parts.append(path([(x, y - 4), (x, y + 4)]) + text(x, y - 14, plain(tick), size=SMALL))
    parts.append(bars(0, floor, weights, WEIGHTS, step=step, tall=tall, full=1.0))
    for j, (score, weight) in enumerate(zip(scores, weights, strict=True)):
        x, top = (j + 0.5) * step, floor - tall * float(weight)
        parts.append(path([(260 + score * unit, y), (x, top - 18)], color=WEIGHTS, width=1 + 3 * weight))
        parts.append(text(x, top - 9, number(weight, 2), size=SMALL))
    parts += [circle(260 + score * unit, y, 4, NEUTRAL) for score in scores]
    return "".join(parts)
