"""Where a token stands: codes as clocks, and pairs of numbers that turn with the position."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Arc, Circle

from attention_core._numbers import numbers, vector
from attention_core.figures._marks import arrow, page, write
from attention_core.figures._style import (
    BODY,
    INK,
    QUIET,
    RULE,
    SMALL,
    Floats,
    K,
    Labels,
    Q,
    agree,
    array,
    sized_by_content,
    text_width,
    width_of,
)

RADIUS, DIAL = 0.27, 0.8  # inches: a clock, a circle in which a query meets a key
ACROSS = 4  # such circles in a row


@sized_by_content
def position_clocks(ax: Axes, codes: Any, positions: Labels) -> str:
    """Draw each pair (sine, cosine) of a code as the hand of a clock: it starts at the top, clockwise.

    One row for each position, one column for each pair.
    """
    x = array("codes", codes, positions=positions, d_model=width_of(codes))
    if x.shape[1] % 2:
        raise ValueError(f"codes must have pairs of columns, got {x.shape[1]} columns")
    pairs = x.reshape(len(positions), -1, 2)
    agree("the length of each pair", np.linalg.norm(pairs, axis=-1), "1", np.ones(pairs.shape[:2]))
    page(ax)
    step = 2 * RADIUS + 0.16
    for (p, i), _ in np.ndenumerate(pairs[..., 0]):
        _clock(ax, i * step, -p * step, pairs[p, i])
    for p, name in enumerate(positions):
        write(ax, -RADIUS - 0.14, -p * step, name, SMALL, ha="right")
    for i in range(pairs.shape[1]):
        write(ax, i * step, RADIUS + 0.1, f"{2 * i}, {2 * i + 1}", SMALL, va="bottom")
    degrees = np.degrees(np.arctan2(pairs[..., 0], pairs[..., 1])) % 360
    said = [
        f"{name}: {', '.join(f'{angle:.1f}°' for angle in row)}"
        for name, row in zip(positions, degrees.round(1) % 360, strict=True)
    ]
    columns = ", ".join(f"{2 * i} and {2 * i + 1}" for i in range(pairs.shape[1]))
    return f"Clock hands, clockwise from the top, one for columns {columns}. {'; '.join(said)}."


def _clock(ax: Axes, x: float, y: float, pair: Floats) -> None:
    """Draw a dial around (x, y) with a hand to (sine, cosine) of its angle from the top."""
    ax.add_patch(Circle((x, y), RADIUS, facecolor="#FFFFFF", edgecolor=QUIET, linewidth=1.0, clip_on=False))
    ax.plot([x, x], [y + 0.82 * RADIUS, y + RADIUS], color=QUIET, linewidth=1.0)  # the top
    arrow(ax, (x, y), (x + 0.9 * RADIUS * pair[0], y + 0.9 * RADIUS * pair[1]), INK, line=1.4)


@sized_by_content
def rotary_pairs(ax: Axes, q: Any, k: Any, scores: Any, queries: Labels, keys: Labels) -> str:
    """Draw queries (thick) and keys (thin) of two numbers each, one circle for each meeting of two.

    The arc is the angle between them; that angle and the score q·k stand below.
    """
    if len(queries) != len(keys):
        raise ValueError(f"each query must meet one key, got {len(queries)} queries, {len(keys)} keys")
    q, k = array("q", q, queries=queries, dims=2), array("k", k, keys=keys, dims=2)
    s = array("scores", scores, queries=queries)
    agree("scores", s, "q · k, row by row", (q * k).sum(axis=1))
    page(ax)
    inch = DIAL / max(np.hypot(*q.T).max(), np.hypot(*k.T).max(), 1e-9)
    starts, ends = (np.degrees(np.arctan2(x[:, 1], x[:, 0])) for x in (q, k))
    between = np.abs((ends - starts + 180) % 360 - 180)
    names = [f"{a}, {b}" for a, b in zip(queries, keys, strict=True)]
    width = max(2 * DIAL + 0.7, *(text_width(name, BODY) + 0.3 for name in names))
    for i, text in enumerate(numbers(s)):
        x, y = (i % ACROSS) * width, -(i // ACROSS) * (2 * DIAL + 1.4)
        _meeting(ax, x, y, q[i] * inch, k[i] * inch, starts[i], ends[i])
        for row, words in enumerate((names[i], f"{between[i]:.1f}°", f"q·k = {text}")):
            write(ax, x, y - DIAL - 0.4 - 0.22 * row, words, BODY)
    said = [
        f"{query} {vector(a)} and {key} {vector(b)} are {angle:.1f}° apart, and q·k = {text}"
        for query, a, key, b, angle, text in zip(queries, q, keys, k, between, numbers(s), strict=True)
    ]
    return f"Meetings of a query and a key: {'; '.join(said)}."


def _meeting(ax: Axes, x: float, y: float, q: Floats, k: Floats, start: float, end: float) -> None:
    """Draw a query and a key around (x, y), and the shorter arc between their angles in degrees."""
    ax.add_patch(Circle((x, y), DIAL, facecolor="none", edgecolor=RULE, linewidth=1.0, clip_on=False))
    turn = (end - start + 180) % 360 - 180
    low, high = (start, start + turn) if turn >= 0 else (start + turn, start)
    ax.add_patch(Arc((x, y), 0.7 * DIAL, 0.7 * DIAL, theta1=low, theta2=high, color=QUIET, linewidth=1.2))
    spread = max(0.0, 18 - abs(turn)) / 2 * (1 if turn >= 0 else -1)  # letters need 18 degrees
    for tip, color, line, name, angle in ((q, Q, 3.2, "q", start - spread), (k, K, 1.6, "k", end + spread)):
        arrow(ax, (x, y), (x + tip[0], y + tip[1]), color, line=line)
        away = DIAL + 0.14
        write(ax, x + away * np.cos(np.radians(angle)), y + away * np.sin(np.radians(angle)), name, BODY)
