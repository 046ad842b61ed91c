"""Vectors and points in the plane, and the angles between them."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Arc

from attention_core._numbers import dot_product, numbers, vector
from attention_core.figures._marks import Box, apart, arrow, line, on_white, page, rectangle, tint, write
from attention_core.figures._style import (
    BLOCKED,
    BODY,
    INK,
    NEUTRAL,
    OUTPUT,
    QUIET,
    SMALL,
    Floats,
    K,
    Labels,
    Point,
    Q,
    V,
    agree,
    array,
    sized,
    sized_by_content,
    text_width,
    width_of,
)


@sized(4.2, 3.2)
def vectors_plane(ax: Axes, q: Any, k: Any, queries: Labels, keys: Labels) -> str:
    """Draw queries (thick) and keys (thin) as arrows in the plane."""
    q, k = array("q", q, queries=queries, dims=2), array("k", k, keys=keys, dims=2)
    _plane(ax, np.concatenate([q, k, np.zeros((1, 2))]))
    ax.axhline(0, color=BLOCKED, linewidth=0.8, zorder=0.9)
    ax.axvline(0, color=BLOCKED, linewidth=0.8, zorder=0.9)
    for vectors, color, width in ((q, Q, 3.4), (k, K, 1.6)):
        for x, y in vectors:
            arrow(ax, (0, 0), (x, y), color, line=width)
    for tip, label in _at_one_point([*q, *k], [*queries, *keys]).items():
        _beside(ax, tip, tip, label)
    said = [f"{name} {vector(x)}" for name, x in zip([*queries, *keys], [*q, *k], strict=True)]
    return f"Arrows from the origin: {', '.join(said)}."


@sized(4.2, 3.2)
def hull(ax: Axes, values: Any, output: Any, keys: Labels, queries: Labels) -> str:
    """Draw the values as points, the region between them, and the outputs."""
    v, z = array("values", values, keys=keys, dims=2), array("output", output, queries=queries, dims=2)
    _plane(ax, np.concatenate([v, z]))  # an output may lie outside after W_O
    corners = np.array(_convex_hull([(float(x), float(y)) for x, y in v]))
    ax.fill(*corners.T, facecolor=tint(V, 0.15), edgecolor=V, linewidth=1.6)
    ax.plot(*v.T, "s", color=V, markeredgecolor=INK, markersize=9, zorder=3)
    ax.plot(*z.T, "o", color=OUTPUT, markeredgecolor=INK, markersize=9, zorder=4)
    flat = _across(corners) if len(corners) == 2 else None
    for (x, y), label in _at_one_point(list(v), keys).items():
        _beside(ax, (x, y), flat or (x - v[:, 0].mean(), y - v[:, 1].mean()), label)
    _outputs_at_the_side(ax, v, z, queries)
    points = [f"{key} {_point(point)}" for key, point in zip(keys, v, strict=True)]
    outputs = [f"{query} {_point(point)}" for query, point in zip(queries, z, strict=True)]
    return f"The values {', '.join(points)} and the region they span; the outputs {', '.join(outputs)}."


def _outputs_at_the_side(ax: Axes, v: Floats, z: Floats, queries: Labels) -> None:
    """Name the outputs outside the axes, on the side where fewer values are in the way."""
    inch = _inch(ax)
    near = np.abs(v[None, :, 1] - z[:, None, 1]) < 0.15 * inch
    on_right, on_left = ((near & (sign * (v[None, :, 0] - z[:, None, 0]) > 0)).sum() for sign in (1, -1))
    right = on_right <= on_left
    if not right:
        ax.yaxis.tick_right()
        ax.spines["left"].set_visible(False)
        ax.spines["right"].set_visible(True)
    edge = ax.get_xlim()[1] + 0.25 * inch if right else ax.get_xlim()[0] - 0.25 * inch
    over = 0.4 * inch if min(on_right, on_left) else 0.0  # the line must pass over a value
    texts = [f"{name}  {_point(point)}" for name, point in zip(queries, z, strict=True)]
    for (x, y), height, text in zip(z, apart([y + over for _, y in z], 0.24 * inch), texts, strict=True):
        ax.plot([x, edge], [y, height], color=QUIET, linewidth=0.8, clip_on=False)
        write(ax, edge + (0.06 if right else -0.06) * inch, height, text, ha="left" if right else "right")


def _across(line: Floats) -> Point:
    """Return the direction at a right angle to a line, downwards where it can be."""
    (x0, y0), (x1, y1) = line
    return (y1 - y0, x0 - x1) if x1 > x0 else (y0 - y1, x1 - x0)


def _beside(ax: Axes, point: Point, direction: Point, label: str) -> None:
    """Write a label next to a point, on the side that `direction` names."""
    (x, y), (dx, dy), inch = point, direction, _inch(ax)
    length = np.hypot(dx, dy)
    if length < 1e-9:
        (dx, dy), length = (0.0, 1.0), 1.0
    ha: Literal["left", "center", "right"]
    va: Literal["top", "center", "bottom"]
    ha = "left" if dx > 0.4 * length else "right" if dx < -0.4 * length else "center"
    va = "bottom" if dy > 0.4 * length else "top" if dy < -0.4 * length else "center"
    on_white(write(ax, x + 0.12 * inch * dx / length, y + 0.12 * inch * dy / length, label, ha=ha, va=va))


def _plane(ax: Axes, points: Floats) -> None:
    """Square units and limits around `points`, as large as the axes allow."""
    low, high = points.min(axis=0), points.max(axis=0)
    pad = 0.18 * (float((high - low).max()) or 1.0)
    ax.set_aspect("equal")
    ax.set_xlim(low[0] - pad, high[0] + pad)
    ax.set_ylim(low[1] - pad, high[1] + pad)
    ax.locator_params(nbins=6, steps=[1, 2, 5, 10])


def _inch(ax: Axes) -> float:
    """Return how many data units of a plane one inch is."""
    ax.apply_aspect()
    return float(np.ptp(ax.get_xlim()) / ax.get_window_extent().width * ax.figure.dpi)


def _at_one_point(points: Sequence[Any], names: Labels) -> dict[Point, str]:
    """Join the names of equal points, so that they are not written over each other."""
    joined: dict[Point, str] = {}
    for (x, y), name in zip(points, names, strict=True):
        at = (float(x), float(y))
        joined[at] = f"{joined[at]}, {name}" if at in joined else name
    return joined


def _point(point: Any) -> str:
    return f"({', '.join(numbers(point))})"


def _convex_hull(points: list[Point]) -> list[Point]:
    """Return the corners in order (Andrew's monotone chain)."""
    ordered = sorted(set(points))
    return _chain(ordered) + _chain(ordered[::-1]) if len(ordered) > 2 else ordered


def _chain(points: list[Point]) -> list[Point]:
    chain: list[Point] = []
    for x, y in points:
        while len(chain) > 1:
            (ax, ay), (bx, by) = chain[-2:]
            if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                break
            chain.pop()
        chain.append((x, y))
    return chain[:-1]


@sized_by_content
def dot_product_angle(ax: Axes, q: Any, k: Any, products: Any, angles: Any, query: str, keys: Labels) -> str:
    """Draw up to three keys at their true lengths and their true angles (degrees) to the query.

    The thick band is a key's shadow on the query: q·k is the length of the shadow times that of q.
    A vector of zeros has no direction: neither arrow nor angle is drawn for it.
    """
    if len(keys) > 3:
        raise ValueError(f"keys must be at most 3, or their angles cannot be read, got {len(keys)}")
    q = array("q", q, d_k=width_of(q))
    k = array("k", k, keys=keys, d_k=len(q))
    p, a = array("products", products, keys=keys), array("angles", angles, keys=keys)
    q_length, k_lengths = float(np.linalg.norm(q)), np.linalg.norm(k, axis=1)
    agree("products", p, "|q| |k| cos(angles)", q_length * k_lengths * np.cos(np.radians(a)))
    page(ax)
    directions = np.stack([np.cos(np.radians(a)), np.sin(np.radians(a))], axis=1)
    tips = k_lengths[:, None] * directions
    across = max(q_length, tips[:, 0].max()) - min(0.0, tips[:, 0].min())
    inch = min(2.2 / max(k_lengths.max(), 1e-9), 3.2 / max(across, 1e-9))
    q_tip, tips = q_length * inch, tips * inch
    _angles(ax, q_tip, tips, a)
    write(ax, q_tip + 0.1, 0, f"q({query})", BODY, ha="left")
    for tip, angle, key in zip(tips, a, keys, strict=True):
        if not tip.any():
            continue
        arrow(ax, (0, 0), (tip[0], tip[1]), K, line=2.4)
        _at_tip(ax, tip, angle, f"k({key})")
    names = [f"q({query})", *(f"k({key})" for key in keys)]
    left = max(q_tip, *tips[:, 0]) + max(text_width(name, BODY) for name in names) + 0.6
    for i, key in enumerate(keys):
        _product(ax, left, 2.0 - i * 1.1, q, k[i], p, i, f"q({query}) · k({key})")
    said = [
        f"k({key}) {vector(k[i])} {_stands(q_length * k_lengths[i], a[i])}, and q·k = {numbers(p)[i]}"
        for i, key in enumerate(keys)
    ]
    return f"q({query}) = {vector(q)}. {'. '.join(said)}."


def _angles(ax: Axes, q_tip: float, tips: Floats, angles: Floats) -> None:
    """Draw the query, the shadow of each key on it, and an arc for each angle."""
    directed = [i for i in np.argsort(angles) if q_tip and tips[i].any()]
    for rank, i in enumerate(directed):
        x, y = tips[i]
        if abs(x) > 1e-9:
            rectangle(ax, Box(min(0, x), -0.14, max(0, x), -0.04), NEUTRAL)
            line(ax, (x, y), (x, 0), width=0.9, dashed=True)
        radius = 0.34 + 0.5 * rank
        ax.add_patch(Arc((0, 0), 2 * radius, 2 * radius, theta1=0, theta2=angles[i], color=QUIET))
        on_white(write(ax, radius + 0.08, 0.09, _degrees(angles[i]), SMALL, ha="left", va="bottom"))
    arrow(ax, (0, 0), (q_tip, 0), Q, line=2.4)


def _at_tip(ax: Axes, tip: Floats, angle: float, name: str) -> None:
    """Write a key's name beyond the tip of its arrow, or below it where the arrow is level."""
    if angle < 12 or angle > 168:
        write(ax, tip[0], -0.2, name, BODY, va="top")
        return
    away = 0.14 * tip / np.hypot(*tip)
    side: Literal["left", "center", "right"] = "center"
    if not 75 < angle < 105:
        side = "left" if angle < 90 else "right"
    write(ax, tip[0] + away[0], tip[1] + away[1], name, BODY, ha=side)


def _product(ax: Axes, left: float, y: float, q: Floats, k: Floats, p: Floats, i: int, name: str) -> None:
    """Write one dot product term by term, with a bar as long as its value."""
    inch = 1.8 / ((max(p.max(), 0.0) - min(p.min(), 0.0)) or 1.0)
    write(ax, left, y, name, BODY, ha="left")
    write(ax, left, y - 0.24, f"= {dot_product(numbers(q), numbers(k))}", SMALL, ha="left", color=QUIET)
    base = left - min(p.min(), 0.0) * inch
    end = base + p[i] * inch
    rectangle(ax, Box(min(base, end), y - 0.62, max(base, end), y - 0.42), NEUTRAL)
    line(ax, (base, y - 0.66), (base, y - 0.38), width=1.0)
    write(ax, max(base, end) + 0.08, y - 0.52, numbers(p)[i], BODY, ha="left")


def _stands(lengths: float, angle: float) -> str:
    """Say how a key stands to the query; `lengths` is the product of theirs."""
    return f"stands at {_degrees(angle)} to it" if lengths else "has no angle to it, as one of them is zero"


def _degrees(angle: float) -> str:
    return f"{angle:.1f}°".replace(".0°", "°")
