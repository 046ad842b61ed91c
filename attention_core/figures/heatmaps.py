"""Heat maps: one cell for each number."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from attention_core._numbers import counted
from attention_core.figures._marks import (
    Box,
    cell_width,
    cells,
    column_labels,
    labels_height,
    page,
    rectangle,
    shade,
    tint,
    write,
)
from attention_core.figures._style import (
    BODY,
    CELL,
    DEEP_WEIGHTS,
    INK,
    NEUTRAL,
    RULE,
    SMALL,
    WEIGHTS,
    Floats,
    K,
    Labels,
    Q,
    Shade,
    array,
    permissions,
    rows,
    sized_by_content,
    text_width,
    weight_strength,
)


@sized_by_content
def embedding_heatmap(ax: Axes, embeddings: Any, tokens: Labels, features: Labels) -> str:
    """Draw one row per token, one column per feature."""
    x = array("embeddings", embeddings, tokens=tokens, features=features)
    page(ax)
    _table(ax, x, tokens, features, shade(NEUTRAL, x))
    return f"Embeddings, {counted(len(tokens))} tokens by {counted(len(features))} features. " + rows(
        x, tokens, features
    )


@sized_by_content
def weights_heatmap(ax: Axes, weights: Any, queries: Labels, keys: Labels) -> str:
    """Draw attention weights: one row per query, one column per key; each fills its share of its cell."""
    x = array("weights", weights, queries=queries, keys=keys)
    page(ax)
    _sides(ax, _table(ax, x, queries, keys, lambda _: "#FFFFFF", levels=True))
    return f"Weights, {_queries_by_keys(queries, keys)}. {rows(x, queries, keys)}"


@sized_by_content
def scores_heatmap(ax: Axes, scores: Any, queries: Labels, keys: Labels) -> str:
    """Draw scores, before or after the mask: a blocked one is −∞ on a hatched cell."""
    x = array("scores", scores, finite=False, queries=queries, keys=keys)
    page(ax)
    _sides(ax, _table(ax, x, queries, keys, shade(NEUTRAL, x)))
    return f"Scores, {_queries_by_keys(queries, keys)}. {rows(x, queries, keys)}"


@sized_by_content
def mask_map(ax: Axes, mask: Any, queries: Labels, keys: Labels) -> str:
    """Draw a boolean mask: a dot where the query may attend to the key, hatching where not."""
    x = permissions(mask, queries, keys)
    page(ax)
    texts = ["●" if allowed else "" for allowed in x.ravel()]
    table = _table(ax, np.where(x, 0.0, -np.inf), queries, keys, lambda _: tint(WEIGHTS, 0.35), texts)
    _sides(ax, table)
    lines = [
        f"{query} may attend to {', '.join(np.compress(row, keys)) or 'nothing'}."
        for query, row in zip(queries, x, strict=True)
    ]
    return f"Mask, {_queries_by_keys(queries, keys)}. {' '.join(lines)}"


@sized_by_content
def head_maps(ax: Axes, weights: Any, queries: Labels, keys: Labels, heads: Labels) -> str:
    """Draw each head's weights as a small map; the area of a square is its weight."""
    x = array("weights", weights, heads=heads, queries=queries, keys=keys)
    page(ax)
    side, across = 0.26, 4
    label = max(map(text_width, queries)) + 0.15
    head_room = 0.45 + labels_height(keys, side)
    for h, (name, one) in enumerate(zip(heads, x, strict=True)):
        left = (h % across) * (len(keys) * side + label + 0.25)
        top = -(h // across) * (len(queries) * side + head_room + 0.25)
        _small_map(ax, left, top, one, queries, keys, side)
        write(ax, left + len(keys) * side / 2, top + head_room - 0.05, name, BODY, va="top")
    return "Weights of each head. " + " ".join(
        f"{name}: {rows(one, queries, keys)}" for name, one in zip(heads, x, strict=True)
    )


@sized_by_content
def alignment_map(ax: Axes, weights: Any, queries: Labels, keys: Labels) -> str:
    """Draw learned weights as squares, and a frame around the largest of each row.

    The words name only where that is: what a model has learned differs in digits from one processor
    to another.
    """
    x = array("weights", weights, queries=queries, keys=keys)
    page(ax)
    side = 0.3
    _small_map(ax, 0, 0, x, queries, keys, side)
    largest = [int(np.argmax(row)) for row in x]
    for i, j in enumerate(largest):
        rectangle(ax, Box(j * side, -(i + 1) * side, (j + 1) * side, -i * side), "none", INK, line=1.6)
    said = [f"Row {query}: most on {keys[j]}." for query, j in zip(queries, largest, strict=True)]
    return f"Weights, {_queries_by_keys(queries, keys)}. {' '.join(said)}"


def _table(
    ax: Axes,
    x: Floats,
    left: Labels,
    above: Labels,
    fill: Shade,
    texts: Labels | None = None,
    levels: bool = False,
) -> Box:
    """Draw a matrix with a label for each row and column, and a `level` in each cell."""
    widest = max(map(text_width, above))
    width = max(cell_width(x), widest + 0.16 if widest <= 0.75 else 0.0)
    box = cells(ax, 0, 0, x, fill, RULE, width=width, height=CELL, texts=texts)
    for (i, j), weight in np.ndenumerate(x) if levels else ():
        share = min(max(weight, 0.0), 1.0)
        floor = -(i + 1) * CELL
        mark = Box(j * width, floor, (j + 1) * width, floor + share * CELL)
        rectangle(ax, mark, tint(WEIGHTS, weight_strength(share)), RULE)
    for i, name in enumerate(left):
        write(ax, -0.12, -(i + 0.5) * CELL, name, SMALL, ha="right")
    column_labels(ax, [(j + 0.5) * width for j in range(len(above))], 0.12, above, width, below=False)
    return box


def _sides(ax: Axes, table: Box) -> None:
    """Colour the query side and the key side, and name them."""
    rectangle(ax, Box(table.left - 0.07, table.bottom, table.left - 0.03, table.top), Q)
    rectangle(ax, Box(table.left, table.top + 0.03, table.right, table.top + 0.07), K)
    write(ax, table.left - 0.05, table.bottom - 0.08, "q", BODY, va="top")
    write(ax, table.right + 0.08, table.top + 0.05, "k", BODY, ha="left")


def _small_map(
    ax: Axes, left: float, top: float, x: Floats, queries: Labels, keys: Labels, side: float
) -> None:
    for (i, j), weight in np.ndenumerate(x):
        cell = Box(left + j * side, top - (i + 1) * side, left + (j + 1) * side, top - i * side)
        rectangle(ax, cell, "#FFFFFF", RULE)
        half = 0.5 * (side - 0.04) * np.sqrt(min(max(weight, 0.0), 1.0))
        square = Box(cell.x - half, cell.y - half, cell.x + half, cell.y + half)
        rectangle(ax, square, tint(DEEP_WEIGHTS, weight_strength(weight)))
    for i, name in enumerate(queries):
        write(ax, left - 0.07, top - (i + 0.5) * side, name, SMALL, ha="right")
    centres = [left + (j + 0.5) * side for j in range(len(keys))]
    column_labels(ax, centres, top + 0.07, keys, side, below=False)


def _queries_by_keys(queries: Labels, keys: Labels) -> str:
    return f"{counted(len(queries))} queries by {counted(len(keys))} keys"
