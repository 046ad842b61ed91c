"""The pieces that the pictures are made of, in matplotlib: colours, cells, arrows, bars; in inches."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.text import Text

from attention_core._numbers import numbers
from attention_core.figures._style import (
    BLOCKED,
    BODY,
    CELL,
    DEEP_WEIGHTS,
    INK,
    NEGATIVE,
    QUIET,
    SMALL,
    SYMBOL,
    WEIGHTS,
    Floats,
    Labels,
    Point,
    Shade,
    shown,
    text_width,
)

LINE = 0.16  # inches: the height of a line of small text

# --- colour -----------------------------------------------------------------------------------


def tint(color: str, strength: float) -> str:
    """Mix a colour with white: 0 is white, 1 the colour."""
    return _mix("#FFFFFF", color, strength)


def shade(color: str, values: Any) -> Shade:
    """Return the fill for each value: paler towards 0, another hue below it."""
    top = float(np.abs(np.asarray(values)[np.isfinite(values)]).max(initial=0)) or 1.0
    return lambda value: tint(color if value >= 0 else NEGATIVE, 0.75 * min(abs(value) / top, 1.0))


def weight_shade(weight: float) -> str:
    """Return the fill for a weight: white at 0, purple at 0.6, dark at 1, in every picture."""
    weight = min(max(weight, 0.0), 1.0)
    return tint(WEIGHTS, weight / 0.6) if weight <= 0.6 else _mix(WEIGHTS, DEEP_WEIGHTS, (weight - 0.6) / 0.4)


def _mix(start: str, end: str, share: float) -> str:
    (r, g, b), (red, green, blue) = to_rgb(start), to_rgb(end)
    return to_hex((r + share * (red - r), g + share * (green - g), b + share * (blue - b)))


def ink(fill: str) -> str:
    """Return the ink, black or white, with more contrast on `fill`: 4.5 to 1 or better on any colour."""
    light = _luminance(fill)
    return "#000000" if (light + 0.05) / 0.05 >= 1.05 / (light + 0.05) else "#FFFFFF"


def _luminance(color: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# --- pieces ------------------------------------------------------------------------


class Box(NamedTuple):
    """A rectangle, and its middle (x, y)."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def x(self) -> float:
        return (self.left + self.right) / 2

    @property
    def y(self) -> float:
        return (self.bottom + self.top) / 2


def page(ax: Axes) -> None:
    """Make `ax` a sheet of paper: no axes, square units, limits that follow the shapes on it."""
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.margins(0)


def write(
    ax: Axes,
    x: float,
    y: float,
    text: str,
    size: float = BODY,
    *,
    ha: Literal["left", "center", "right"] = "center",
    va: Literal["top", "center", "bottom"] = "center",
    color: str = INK,
    math: bool = False,
    vertical: bool = False,
) -> Text:
    """Write `text` literally, or as a formula (`math`); formulas are ours, labels never are."""
    text = text if math else shown(text)
    middle = "center" if math or vertical else "center_baseline"  # digits in the middle of their cell
    return ax.text(
        x,
        y,
        text,
        fontsize=size,
        color=color,
        parse_math=math,
        ha=ha,
        va=middle if va == "center" else va,
        rotation=90 if vertical else 0,
    )


def cells(
    ax: Axes,
    x: float,
    y: float,
    values: Floats,
    fill: Shade,
    edge: str,
    *,
    width: float = CELL,
    height: float = CELL,
    texts: Labels | None = None,
    size: float = BODY,
) -> Box:
    """Draw a matrix (or one row) as cells with numbers, hatched where they are not finite.

    (x, y) is the top left corner.
    """
    values = np.atleast_2d(values)
    words = np.reshape(numbers(values) if texts is None else list(texts), values.shape)
    for (i, j), value in np.ndenumerate(values):
        box = Box(x + j * width, y - (i + 1) * height, x + (j + 1) * width, y - i * height)
        finite = math.isfinite(value)
        color = fill(value) if finite else "#FFFFFF"
        rectangle(ax, box, color, edge if finite else BLOCKED, hatch=None if finite else "////")
        if words[i, j]:
            text = write(ax, box.x, box.y, str(words[i, j]), size, color=ink(color))
            if not finite:
                on_white(text)
    return Box(x, y - values.shape[0] * height, x + values.shape[1] * width, y)


def cell_width(*values: Floats, least: float = CELL, size: float = BODY) -> float:
    """Return the width of a cell in which every one of these numbers fits."""
    return max(least, *(text_width(text, size) + 0.12 for x in values for text in numbers(x)))


def on_white(text: Text) -> None:
    """Keep lines and hatching away from `text`."""
    text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1})


def rectangle(
    ax: Axes, box: Box, fill: str, edge: str = "none", *, hatch: str | None = None, line: float = 0.8
) -> None:
    """Draw a plain rectangle."""
    ax.add_patch(
        Rectangle(
            (box.left, box.bottom),
            box.right - box.left,
            box.top - box.bottom,
            facecolor=fill,
            edgecolor=edge,
            linewidth=line,
            hatch=hatch,
            clip_on=False,
        )
    )


def operation(ax: Axes, box: Box, text: str, color: str = QUIET, *, math: bool = False) -> Box:
    """Draw a step of a computation: a rounded box with its name."""
    pad = 0.06
    ax.add_patch(
        FancyBboxPatch(
            (box.left + pad, box.bottom + pad),
            box.right - box.left - 2 * pad,
            box.top - box.bottom - 2 * pad,
            boxstyle=f"round,pad={pad}",
            facecolor=tint(color, 0.12),
            edgecolor=color,
            linewidth=1.2,
            clip_on=False,
        )
    )
    write(ax, box.x, box.y, text, SYMBOL if math else BODY, math=math)
    return box


def arrow(ax: Axes, start: Point, end: Point, color: str = QUIET, *, line: float = 1.2) -> None:
    """Draw a straight arrow."""
    ax.add_artist(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=9 + 2 * line,
            linewidth=line,
            shrinkA=0,
            shrinkB=0,
            color=color,
            capstyle="butt",
            joinstyle="miter",
            clip_on=False,
        )
    )
    ax.update_datalim([start, end])


def line(ax: Axes, *points: Point, color: str = QUIET, width: float = 1.2, dashed: bool = False) -> None:
    """Draw a line through `points`."""
    xs, ys = zip(*points, strict=True)
    style = (0, (3, 2)) if dashed else "-"
    ax.plot(xs, ys, color=color, linewidth=width, linestyle=style, clip_on=False,
            solid_capstyle="butt", solid_joinstyle="miter")  # fmt: skip


def column_labels(
    ax: Axes, xs: Sequence[float], y: float, labels: Labels, room: float, *, below: bool
) -> None:
    """Write one label for each column, upright when one is wider than its column."""
    vertical = labels_height(labels, room) > LINE
    for x, label in zip(xs, labels, strict=True):
        write(ax, x, y, label, SMALL, va="top" if below else "bottom", vertical=vertical)


def labels_height(labels: Labels, room: float) -> float:
    """Return how high `column_labels` are: one line, or the longest label when they stand upright."""
    widest = max(map(text_width, labels))
    return LINE if widest <= room else max(widest, 1.01 * LINE)


def apart(positions: Sequence[float], gap: float) -> list[float]:
    """Move label positions apart until neighbours are at least `gap` away from each other."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    moved = list(positions)
    for lower, upper in pairwise(order):
        moved[upper] = max(moved[upper], moved[lower] + gap)
    return moved


def bar_row(
    ax: Axes,
    left: float,
    base: float,
    values: Floats,
    labels: Labels,
    color: str,
    *,
    step: float = 0.66,
    tall: float = 1.8,
    top: float | None = None,
) -> Box:
    """Draw a row of bars on a line at `base`, the number at the end of each; return their room."""
    finite = np.where(np.isfinite(values), values, 0.0)
    top = max(finite.max(), 0.0) if top is None else top
    inch = tall / ((top - min(finite.min(), 0.0)) or 1.0)
    right, floor = left + step * len(values), base + min(finite.min(), 0.0) * inch
    xs = [left + (i + 0.5) * step for i in range(len(values))]
    for x, value, text in zip(xs, finite, numbers(values), strict=True):
        end = base + value * inch
        half = 0.31 * step
        rectangle(ax, Box(x - half, min(base, end), x + half, max(base, end)), color)
        up = value >= 0
        on_white(write(ax, x, end + (0.04 if up else -0.04), text, va="bottom" if up else "top"))
    line(ax, (left, base), (right, base), width=1.0)
    below = floor - (0.28 if floor < base else 0.08)
    column_labels(ax, xs, below, labels, 0.94 * step, below=True)
    return Box(left, floor, right, base + top * inch)
