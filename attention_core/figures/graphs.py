"""Attention drawn as a graph. Use it through `attention_core.figures`, which has every picture."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch
from matplotlib.path import Path

from attention_core._numbers import counted
from attention_core.figures._marks import page, weight_shade, write
from attention_core.figures._style import (
    BODY,
    INK,
    Floats,
    Labels,
    Point,
    array,
    rows,
    sized_by_content,
    text_width,
)

LOOP, SPREAD = 0.62, np.radians(32)  # inches that a loop stands out; half the angle between its ends


@sized_by_content
def attention_graph(ax: Axes, weights: Any, tokens: Labels, *, in_a_row: bool = False) -> str:
    """Draw each weight as an arrow from its key to its query, the wider the larger; 0 is no arrow.

    The tokens stand on a circle, clockwise from the top, or in a row from left to right.
    """
    w = array("weights", weights, queries=tokens, keys=tokens)
    if w.min() < 0:
        raise ValueError(f"weights must not be negative, got {w.min():g}")
    page(ax)
    radius = max(0.24, 0.5 * max(text_width(token, BODY) for token in tokens) + 0.08)
    places, outward = _places(len(tokens), radius, in_a_row)
    nodes = [
        Circle((x, y), radius, facecolor="white", edgecolor=INK, linewidth=1.2, zorder=3, clip_on=False)
        for x, y in places
    ]
    for node, (x, y), token in zip(nodes, places, tokens, strict=True):
        ax.add_patch(node)
        write(ax, x, y, token).set_zorder(4)
    for flat in np.argsort(w, axis=None):  # the widest arrows last, on top
        i, j = np.unravel_index(flat, w.shape)
        if w[i, j] > 0:
            loop = _loop(places[i], outward[i], radius) if i == j else None
            bend = 0.32 if in_a_row and abs(i - j) > 1 else 0.18  # around the tokens in between
            _edge(ax, nodes[j], nodes[i], float(w[i, j]), loop, bend)
    count = int((w > 0).sum())
    return (
        f"A graph of {counted(len(tokens))} tokens and {counted(count)} arrows, each from a key to the query "
        f"that hears it, as wide as its weight. {rows(w, tokens, tokens)}"
    )


def _places(n: int, radius: float, in_a_row: bool) -> tuple[list[Point], list[float]]:
    """Return where the nodes stand, and the angle at which each has room for a loop."""
    if in_a_row:
        return [(i * (2 * radius + 0.8), 0.0) for i in range(n)], [np.pi / 2] * n
    angles = [np.pi / 2 - 2 * np.pi * i / n for i in range(n)]
    ring = max(1.1, (2 * radius + 0.6) * n / (2 * np.pi))
    return [(ring * np.cos(a), ring * np.sin(a)) for a in angles], angles


def _edge(ax: Axes, start: Circle, end: Circle, weight: float, loop: Path | None, bend: float) -> None:
    """Draw one arrow, bent so that the two directions between a pair do not cover each other."""
    style: dict[str, Any] = {
        "arrowstyle": "-|>",
        "mutation_scale": 9 + 7 * weight,
        "linewidth": 0.5 + 5 * weight,
        "color": weight_shade(0.35 + 0.65 * weight),
        "joinstyle": "miter",
        "capstyle": "butt",
        "clip_on": False,
    }
    if loop is not None:
        ax.add_artist(FancyArrowPatch(path=loop, **style))
        ax.update_datalim(loop.get_extents().get_points())
        return
    bent: dict[str, Any] = {
        "connectionstyle": f"arc3,rad={bend}",
        "patchA": start,
        "patchB": end,
        "shrinkA": 0,
        "shrinkB": 1,
    }
    ax.add_artist(FancyArrowPatch(start.center, end.center, **style, **bent))


def _loop(center: Point, outward: float, radius: float) -> Path:
    """Return a loop that leaves a node and comes back to it."""
    angles = outward + SPREAD * np.array([-1, -1.1, 1.1, 1])
    far: Floats = radius + np.array([0, LOOP, LOOP, 0.02])
    points = np.asarray(center) + far[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
