"""The scores of a long sequence, cut into the tiles that are computed one after the other."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from attention_core.figures._marks import (
    Box,
    column_labels,
    on_white,
    page,
    rectangle,
    tint,
    write,
)
from attention_core.figures._style import (
    BLOCKED,
    BODY,
    INK,
    SMALL,
    WEIGHTS,
    K,
    Labels,
    Q,
    permissions,
    sized_by_content,
)

SIDE = 0.3  # inches: the side of one score


@sized_by_content
def score_tiles(ax: Axes, mask: Any, tile_q: int, tile_k: int, queries: Labels, keys: Labels) -> str:
    """Draw all scores in tiles of tile_q × tile_k, numbered as they are computed.

    Hatched scores are blocked; a tile in which all are blocked is left out.
    """
    if min(tile_q, tile_k) < 1:
        raise ValueError(f"tile_q and tile_k must be at least 1, got {tile_q} and {tile_k}")
    x = permissions(mask, queries, keys)
    page(ax)
    for (i, j), allowed in np.ndenumerate(x):
        box = _box(i, j, i + 1, j + 1)
        fill, hatch = (tint(WEIGHTS, 0.35), None) if allowed else ("#FFFFFF", "////")
        rectangle(ax, box, fill, "#FFFFFF" if allowed else BLOCKED, hatch=hatch)
    masked = []  # for each tile that is computed: does it need the mask?
    n_tiles = 0
    for i in range(0, len(queries), tile_q):
        for j in range(0, len(keys), tile_k):
            tile = x[i : i + tile_q, j : j + tile_k]
            n_tiles += 1
            if tile.any():
                masked.append(not tile.all())
                box = _box(i, j, i + tile.shape[0], j + tile.shape[1])
                ax.plot(*_outline(box), color=INK, linewidth=1.6, clip_on=False)
                on_white(write(ax, box.x, box.y, str(len(masked))))
    _labels(ax, queries, keys)
    seen = " ".join(f"{query} sees {_runs(row, keys)}." for query, row in zip(queries, x, strict=True))
    return (
        f"Scores of {len(queries)} queries and {len(keys)} keys in tiles of {tile_q} by {tile_k}: "
        f"{len(masked)} of {n_tiles} tiles are computed, row by row, {sum(masked)} of them with a mask; the "
        f"others are left out, because all their scores are blocked. {seen}"
    )


def _runs(row: Any, keys: Labels) -> str:
    """Say which keys are allowed, neighbours together: k1 to k3, k5."""
    edges = np.flatnonzero(np.diff([False, *row, False]))  # where a run starts, and where it has ended
    runs = [(keys[start], keys[stop - 1]) for start, stop in edges.reshape(-1, 2)]
    return ", ".join(first if first == last else f"{first} to {last}" for first, last in runs) or "no key"


def _box(top: int, left: int, bottom: int, right: int) -> Box:
    return Box(left * SIDE, -bottom * SIDE, right * SIDE, -top * SIDE)


def _outline(box: Box) -> tuple[list[float], list[float]]:
    xs = [box.left, box.right, box.right, box.left, box.left]
    return xs, [box.top, box.top, box.bottom, box.bottom, box.top]


def _labels(ax: Axes, queries: Labels, keys: Labels) -> None:
    """Write the keys above the columns and the queries beside the rows."""
    right, bottom = len(keys) * SIDE, -len(queries) * SIDE
    rectangle(ax, Box(-0.09, bottom, -0.05, 0.0), Q)
    rectangle(ax, Box(0.0, 0.05, right, 0.09), K)
    for i, query in enumerate(queries):
        write(ax, -0.14, -(i + 0.5) * SIDE, query, SMALL, ha="right")
    columns = [(j + 0.5) * SIDE for j in range(len(keys))]
    column_labels(ax, columns, 0.13, keys, 0.94 * SIDE, below=False)
    write(ax, -0.07, bottom - 0.06, "q", BODY, va="top")
    write(ax, right + 0.08, 0.07, "k", BODY, ha="left")
