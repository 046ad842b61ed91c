"""Streaming attention: one row for each tile of keys, with m, l and o."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, VBox

from attention_core._numbers import number
from attention_core.attention import Attention, attend
from attention_core.figures import NEUTRAL, OUTPUT
from attention_core.figures.svg import Picture, cell, path, picture, rect, text
from attention_core.live._controls import Slider, sliders
from attention_core.live._inputs import Array, Numbers
from attention_core.live._view import SIDE, View
from attention_core.long import Partial, Step, streaming_ledger

VALUES = np.arange(1.0, 7.0)[:, None]  # (n_k, d_v)
N = len(VALUES)


class LedgerView(View):
    """One query, six keys, read tile after tile: what is kept, and when the output is the exact one."""

    tile_k = Numbers(1, N, whole=True, help="How many keys are read at a time.")
    blocked = Numbers(0, N, whole=True, help="How many of the first keys the mask blocks.")
    scores = Numbers(-10.0, 10.0, (N,), help="The scores, (6,).")

    def __init__(self) -> None:
        hills = {"tile_k": 2, "blocked": 0, "scores": np.array([1.0, 3, 2, 5, 0, 4])}
        self.presets = {
            "tiles of 2": hills,
            "one key at a time": {**hills, "tile_k": 1},
            "all keys at once": {**hills, "tile_k": N},
            "the first tile is blocked": {**hills, "blocked": 2},
            "the largest score comes last": {**hills, "scores": np.array([0.0, 1, 2, 3, 4, 10])},
            "nothing is allowed": {**hills, "blocked": N},
        }
        super().__init__()

    @property
    def steps(self) -> Attention:
        """The attention to all keys at once."""
        q, k, mask = self._inputs_of_attend()
        return attend(q, k, VALUES, mask=mask, scale=1.0)

    @property
    def ledger(self) -> list[Step]:
        """What is kept after each tile."""
        q, k, mask = self._inputs_of_attend()
        return list(streaming_ledger(q, k, VALUES, mask=mask, scale=1.0, tile_k=self.tile_k))

    @property
    def output(self) -> float:
        """The output after the last tile."""
        return float(self.ledger[-1].merged.output[0, 0])

    def _inputs_of_attend(self) -> tuple[Array, Array, Array]:
        # With q = 1 and keys of one entry, q·k is the score itself.
        return np.ones((1, 1)), self.scores[:, None], np.arange(N)[None, :] >= self.blocked

    def _arrange(self, picture: HTML) -> list[Any]:
        wide = (70, 220)
        first = [Slider(self, name, name, 1, wide=wide).widget for name in ("tile_k", "blocked")]
        scores = sliders(self, "scores", [f"score {j}" for j in range(N)], 0.1, wide=wide)
        return [HBox([VBox([*first, *scores], layout=SIDE), picture])]

    def _draw(self) -> Picture:
        return rows_of_ledger(self.ledger, float(self.steps.output[0, 0]))


def rows_of_ledger(steps: Sequence[Step], exact: float) -> Picture:
    """Draw a row for each tile: m, l, o of the tile, and merged."""
    wide, high, top, left = 62, 30, 56, 52
    x_merged, x_output = left + 3 * wide + 16, left + 6 * wide + 32
    parts = [text(left + 1.5 * wide, 12, "this tile", bold=True)]
    parts += [text(x_merged + 1.5 * wide, 12, "all tiles so far", bold=True)]
    for j, name in enumerate("mlo"):
        parts += [text(x + (j + 0.5) * wide, 38, name) for x in (left, x_merged)]
    parts += [text(x_output + wide / 2, 38, "o / l"), text(left - 26, 38, "keys")]
    said = []
    for i, step in enumerate(steps):
        y, last = top + i * high, i == len(steps) - 1
        parts.append(text(left - 26, y + high / 2, _keys(step)))
        for x, kept in ((left, step.tile), (x_merged, step.merged)):
            for j, value in enumerate(_numbers(kept)):
                parts.append(cell(x + j * wide, y, wide, high, value, NEUTRAL, 0.0))
        output = number(float(step.merged.output[0, 0]))
        parts.append(cell(x_output, y, wide, high, output, OUTPUT, 1.0 if last else 0.0))
        m, l, o = _numbers(step.merged)  # noqa: E741
        said.append(f"keys {_keys(step)}: m {m}, l {l}, o {o}")
    y = top + N * high + 24
    parts.append(path([(left - 46, y - 16), (x_output + wide, y - 16)]))
    parts.append(text(x_output - 10, y + 4, "attend, all keys at once", anchor="end"))
    parts.append(rect(x_output, y - 10, wide, 28, line=1.5))
    parts.append(text(x_output + wide / 2, y + 4, number(exact), bold=True))
    words = f"After each tile, {'; '.join(said)}. o / l = {output}. attend gives {number(exact)}."
    return picture(530, y + 30, words, *parts)


def _keys(step: Step) -> str:
    """Say which keys a tile holds: 2, or 2–3."""
    return str(step.start) if step.stop == step.start + 1 else f"{step.start}–{step.stop - 1}"


def _numbers(kept: Partial) -> list[str]:
    """Write m, l and o of the only query."""
    return [number(float(array[0, 0])) for array in kept]
