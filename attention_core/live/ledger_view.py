"""The live view on streaming attention: one row for each tile of keys, with m, l and o."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, VBox

from attention_core import figures
from attention_core._numbers import number
from attention_core.attention import Attention, attend
from attention_core.figures import NEUTRAL, OUTPUT
from attention_core.live._shapes import Array, Drawing, cell, drawing, path, rect, text
from attention_core.live.number_controls import Slider, Sliders
from attention_core.live.view import SIDE, Input, View
from attention_core.long import Partial, Step, streaming_ledger


class LedgerView(View):
    """One query, six keys, read tile after tile: what is kept, and when the output is the exact one."""

    tile_k = Input("How many keys are read at a time.")
    blocked = Input("How many of the first keys the mask blocks.")
    scores = Input("The scores, (6,).")
    VALUES = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])  # (n_k, d_v)
    steps: Attention
    ledger: list[Step]

    def __init__(self) -> None:
        n = len(self.VALUES)
        wide: dict[str, Any] = {"label": "70px", "width": "220px"}
        self._keys = [f"k{j}" for j in range(n)]
        controls = {
            "tile_k": Slider("tile_k", 2, 1, n, 1, whole=True, **wide),
            "blocked": Slider("blocked", 0, 0, n, 1, whole=True, **wide),
            "scores": Sliders([f"score {j}" for j in range(n)], -10.0, 10.0, 0.1, **wide),
        }
        hills = {"tile_k": 2, "blocked": 0, "scores": [1.0, 3.0, 2.0, 5.0, 0.0, 4.0]}
        examples = {
            "tiles of 2": hills,
            "one key at a time": {**hills, "tile_k": 1},
            "all keys at once": {**hills, "tile_k": n},
            "the first tile is blocked": {**hills, "blocked": 2},
            "the largest score comes last": {**hills, "scores": [0.0, 1.0, 2.0, 3.0, 4.0, 10.0]},
            "nothing is allowed": {**hills, "blocked": n},
        }
        super().__init__(controls, examples)

    @property
    def output(self) -> float:
        """The output after the last tile."""
        return float(self.ledger[-1].merged.output[0, 0])

    def _arrange(self, picture: HTML) -> list[Any]:
        c = self.controls
        rows = [c["tile_k"].widget, c["blocked"].widget, *c["scores"].widgets]
        return [HBox([VBox(rows, layout=SIDE), picture])]

    def _draw(self) -> Drawing:
        # With q = 1 and keys of one entry, q·k is the score itself.
        q, k = np.ones((1, 1)), self.scores[:, None]
        mask = np.arange(len(k))[None, :] >= self.blocked  # (1, n_k)
        self.steps = attend(q, k, self.VALUES, mask=mask, scale=1.0)
        tiles = streaming_ledger(q, k, self.VALUES, mask=mask, scale=1.0, tile_k=int(self.tile_k))
        self.ledger = list(tiles)
        return ledger(self.ledger, float(self.steps.output[0, 0]), len(k))

    def _figure(self) -> tuple[Any, ...]:
        return figures.weights_heatmap, self.steps.weights, ["q"], self._keys


def ledger(steps: Sequence[Step], exact: float, most: int) -> Drawing:
    """Draw a row for each tile: m, l, o of the tile, and merged; room for `most` rows."""
    wide, high, top, left = 62, 30, 56, 52
    names = ("m", "l", "o")
    x_merged, x_output = left + 3 * wide + 16, left + 6 * wide + 32
    parts = [text(left + 1.5 * wide, 12, "this tile", bold=True)]
    parts += [text(x_merged + 1.5 * wide, 12, "all tiles so far", bold=True)]
    for j, name in enumerate(names):
        parts += [text(x + (j + 0.5) * wide, 38, name) for x in (left, x_merged)]
    parts += [text(x_output + wide / 2, 38, "o / l"), text(left - 26, 38, "keys")]
    for i, step in enumerate(steps):
        y, last = top + i * high, i == len(steps) - 1
        parts.append(text(left - 26, y + high / 2, _keys(step)))
        for x, kept in ((left, step.tile), (x_merged, step.merged)):
            parts += [
                cell(x + j * wide, y, wide, high, number(value), NEUTRAL, 0.0)
                for j, value in enumerate(_numbers(kept))
            ]
        output = float(step.merged.output[0, 0])
        parts.append(cell(x_output, y, wide, high, number(output), OUTPUT, 1.0 if last else 0.0))
    y = top + most * high + 24
    parts.append(path([(left - 46, y - 16), (x_output + wide, y - 16)]))
    parts.append(text(x_output - 10, y + 4, "attend, all keys at once", anchor="end"))
    parts.append(rect(x_output, y - 10, wide, 28, line=1.5))
    parts.append(text(x_output + wide / 2, y + 4, number(exact), bold=True))
    said = "; ".join(
        f"keys {_keys(step)}: m {number(m)}, l {number(l)}, o {number(o)}"
        for step in steps
        for m, l, o in [_numbers(step.merged)]  # noqa: E741
    )
    words = f"After each tile, {said}. o / l = {number(float(steps[-1].merged.output[0, 0]))}."
    return drawing(530, y + 30, f"{words} attend gives {number(exact)}.", *parts)


def _keys(step: Step) -> str:
    """Say which keys a tile holds: 2, or 2-3."""
    return str(step.start) if step.stop == step.start + 1 else f"{step.start}–{step.stop - 1}"


def _numbers(kept: Partial) -> list[float]:
    """Return m, l and o of the only query."""
    arrays: tuple[Array, ...] = tuple(kept)
    return [float(array[0, 0]) for array in arrays]
