"""How queries and keys are made, and where they match: one list of places."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from attention_core._numbers import numbers, vector
from attention_core.figures._marks import (
    Box,
    cell_width,
    cells,
    column_labels,
    labels_height,
    page,
    rectangle,
    shade,
    write,
)
from attention_core.figures._style import (
    CELL,
    INK,
    NEUTRAL,
    ROLES,
    SMALL,
    K,
    Labels,
    Q,
    agree,
    array,
    sized_by_content,
    text_width,
)


@sized_by_content
def places(ax: Axes, wants: Any, has: Any, query: str, keys: Labels, names: Labels) -> str:
    """Draw the list of places: what the query wants at each, and what each key has; matches are framed."""
    q, k = array("wants", wants, places=names), array("has", has, keys=keys, places=names)
    page(ax)
    width = max(cell_width(q, k), 1.0)
    columns = [(q, Q, f"{query} wants"), *((row, K, f"{key} has") for row, key in zip(k, keys, strict=True))]
    for i, name in enumerate(names):
        write(ax, -0.12, -(i + 0.5) * CELL, f"{i}  {name}", SMALL, ha="right")
    for j, (values, color, title) in enumerate(columns):
        left = j * (width + 0.2)
        cells(ax, left, 0, values[:, None], shade(color, [1.0]), color, width=width)
        write(ax, left + width / 2, 0.12, title, SMALL, va="bottom")
        for i in np.flatnonzero(q * values).tolist() if j else []:
            rectangle(ax, Box(left, -(i + 1) * CELL, left + width, -i * CELL), "none", INK, line=2.4)
    said = [
        f"{key} has {vector(row)}, a match at "
        f"{', '.join(names[i] for i in np.flatnonzero(q * row).tolist()) or 'no place'}"
        for row, key in zip(k, keys, strict=True)
    ]
    return f"Places {', '.join(names)}. {query} wants {vector(q)}; {'; '.join(said)}."


@sized_by_content
def row_times_matrix(
    ax: Axes, x: Any, w: Any, y: Any, token: str, features: Labels, role: str, names: Labels
) -> str:
    """Draw y = x W: the row at the left, W above, the result where row and columns meet."""
    x, w = array("x", x, features=features), array("w", w, features=features, places=names)
    y = array("y", y, places=names)
    agree("y", y, "x W", x @ w)
    page(ax)
    width, gap = cell_width(x, w, y), 0.5 + max(map(text_width, features))
    left = len(features) * width + gap
    above = cells(ax, left, 0, w, shade(NEUTRAL, w), NEUTRAL, width=width)
    for i, feature in enumerate(features):
        write(ax, left - 0.12, -(i + 0.5) * CELL, feature, SMALL, ha="right")
    column_labels(ax, [left + (j + 0.5) * width for j in range(len(names))], 0.1, names, width, below=False)
    top = labels_height(names, width) + 0.2
    write(ax, above.x, top, f"W_{role.upper()}", va="bottom")
    low = above.bottom - 0.35
    at = cells(ax, 0, low, x, shade(NEUTRAL, x), NEUTRAL, width=width)
    write(ax, at.x, at.bottom - 0.08, f"x({token})", va="top")
    out = cells(ax, left, low, y, shade(ROLES[role], y), ROLES[role], width=width)
    write(ax, out.x, out.bottom - 0.08, f"{role}({token})", va="top")
    for i in np.flatnonzero(x).tolist():
        for place in (
            Box(i * width, low - CELL, (i + 1) * width, low),
            Box(left, -(i + 1) * CELL, above.right, -i * CELL),
        ):
            rectangle(ax, place, "none", INK, line=2.4)
    rows = "; ".join(f"{feature} {vector(row)}" for feature, row in zip(features, w, strict=True))
    read = " and ".join(features[i] for i in np.flatnonzero(x).tolist()) or "none"
    return (
        f"x({token}) = [{', '.join(numbers(x))}] times W_{role.upper()}, whose rows are {rows}. "
        f"It reads {read}. {role}({token}) = {vector(y)}."
    )
