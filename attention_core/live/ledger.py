"""Streaming attention, tile after tile: what is kept, how it shrinks when m grows, and where o / l stands."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, VBox

from attention_core._numbers import number, plain
from attention_core.attention import Attention, attend
from attention_core.figures import OUTPUT, WEIGHTS, V
from attention_core.figures.svg import SMALL, Picture, circle, path, picture, rect, text
from attention_core.live._controls import Slider, sliders
from attention_core.live._inputs import Array, Numbers
from attention_core.live._view import SIDE, View
from attention_core.long import Step, streaming_ledger

VALUES = np.arange(1.0, 7.0)  # (n_k,)
N = len(VALUES)
RAISED = str.maketrans("0123456789−.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻·")
PALE, DASHED = 0.45, ' stroke-dasharray="3 2"'  # what was there before
# Where things stand, in pixels: bars, stacked sums, and the axis of the values.
LEFT, SLOT, STACK, ROOM, AXIS, UNIT = 4, 32, 230, 84, 402, 18
TOP, ROWS, TALLEST = 46, 438, 146  # of all rows, and of one


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
        return attend(q, k, VALUES[:, None], mask=mask, scale=1.0)

    @property
    def ledger(self) -> list[Step]:
        """What is kept after each tile."""
        return self._read(VALUES[:, None])

    @property
    def output(self) -> float:
        """The output after the last tile."""
        return float(self.ledger[-1].merged.output[0, 0])

    def _read(self, values: Array) -> list[Step]:
        q, k, mask = self._inputs_of_attend()
        return list(streaming_ledger(q, k, values, mask=mask, scale=1.0, tile_k=self.tile_k))

    def _inputs_of_attend(self) -> tuple[Array, Array, Array]:
        # With q = 1 and keys of one entry, q·k is the score itself.
        return np.ones((1, 1)), self.scores[:, None], np.arange(N)[None, :] >= self.blocked

    def _arrange(self, picture: HTML) -> list[Any]:
        wide = (70, 220)
        first = [Slider(self, name, name, 1, wide=wide).widget for name in ("tile_k", "blocked")]
        scores = sliders(self, "scores", [f"score {j}" for j in range(N)], 0.1, wide=wide)
        return [HBox([VBox([*first, *scores], layout=SIDE), picture])]

    def _draw(self) -> Picture:
        # A key of its own column in V keeps its term of the sum apart.
        terms, parts = (
            [step.merged.o[0] for step in self._read(values)] for values in (np.eye(N), np.diag(VALUES))
        )
        return walk(self.ledger, terms, parts, float(self.steps.output[0, 0]))


def walk(steps: Sequence[Step], terms: Sequence[Array], parts: Sequence[Array], exact: float) -> Picture:
    """Draw a row for each tile: the terms exp(score − m) of each key, their sums l and o, and o / l.

    terms and parts, (n_k,) for each step: what each key has added to l and to o, as they are now.
    """
    high = min(ROWS / len(steps), TALLEST)
    full = max(1.0, math.ceil(max(float(step.merged.l[0, 0]) for step in steps)))  # of l: one scale
    drawn, said, dots = [*headings(exact, TOP + high * len(steps))], [], []
    for i, step in enumerate(steps):
        y, floor = TOP + i * high, TOP + (i + 1) * high - 8
        before = steps[i - 1] if i else None
        line = headline(step, before)
        drawn.append(text(LEFT, y + 8, line, anchor="start", bold=True, size=SMALL))
        drawn += bars(floor, high - 48, terms[i], terms[i - 1] if i else np.zeros(N), step)
        for name, values, color, y_stack, most in (
            ("l", terms[i], WEIGHTS, floor - 10 - max(20, high / 4), full),
            ("o", parts[i], V, floor - 10, full * VALUES.max()),
        ):
            drawn += stack(name, values, color, y_stack, ROOM / most, step)
        l, o = (float(kept[0, 0]) for kept in step.merged[1:])  # noqa: E741
        o_l = float(step.merged.output[0, 0])
        dots.append((on_axis(o_l), floor - 16))
        said.append(f"{line}, l {number(l)}, o {number(o)}, o / l {number(o_l)}")
    drawn.append(path(dots, width=1.5))
    for step, (x, y) in zip(steps, dots, strict=True):
        side, anchor = (-10, "end") if x > AXIS + 40 else (10, "start")  # there is more room
        output = number(float(step.merged.output[0, 0]), 3)
        drawn += [circle(x, y, 5, OUTPUT), text(x + side, y, output, size=SMALL, anchor=anchor)]
    drawn += legend(TOP + ROWS + 38)
    words = f"{'. '.join(said)}. attend, with all keys at once, gives {number(exact)}."
    return picture(520, TOP + ROWS + 50, words, *drawn)


def on_axis(value: float) -> float:
    """Return where a value stands from left to right."""
    return AXIS + value * UNIT


def headings(exact: float, bottom: float) -> Iterator[str]:
    """Name the columns and draw the axis of the values, with the exact output as a dashed line."""
    for left, content in ((LEFT, "exp(score − m) of key"), (STACK - 16, "their sums"), (AXIS, "o / l")):
        yield text(left, 10, content, anchor="start", bold=True)
    for j in range(N):
        yield text(LEFT + (j + 0.5) * SLOT, 30, str(j), size=SMALL)
    yield path([(AXIS, bottom), (AXIS + VALUES.max() * UNIT, bottom)])
    for value in range(N + 1):
        x = on_axis(value)
        yield path([(x, bottom), (x, bottom + 4)]) + text(x, bottom + 13, str(value), size=SMALL)
    x = on_axis(exact)
    yield path([(x, TOP - 10), (x, bottom)], dashed=True)
    yield text(AXIS + VALUES.max() * UNIT, 30, f"exact: {number(exact)}", anchor="end", size=SMALL)


def legend(y: float) -> Iterator[str]:
    """Say what strong, pale and dashed bars are."""
    for x, content, opacity, look in (
        (LEFT, "this tile", 1, ""),
        (LEFT + 94, "the tiles before", PALE, ""),
        (LEFT + 232, "before m grew", 0, DASHED),
    ):
        yield rect(x, y - 6, 12, 12, WEIGHTS, opacity, 0.8, look)
        yield text(x + 20, y, content, anchor="start", size=SMALL)


def headline(step: Step, before: Step | None) -> str:
    """Say what a tile does to m, and so to all that is there already."""
    keys = f"key {step.start}" if step.stop == step.start + 1 else f"keys {step.start}–{step.stop - 1}"
    m, old = float(step.merged.m[0, 0]), -math.inf if before is None else float(before.merged.m[0, 0])
    if m == -math.inf:
        return f"{keys}: blocked, m = −∞"
    if m == old:
        return f"{keys}: m stays {plain(m)}"
    if old == -math.inf:
        return f"{keys}: m = {plain(m)}"
    power = plain(old - m).translate(RAISED)
    return f"{keys}: m = {plain(old)} → {plain(m)}, old × e{power} = {number(math.exp(old - m), 3)}"


def bars(floor: float, tall: float, terms: Array, before: Array, step: Step) -> Iterator[str]:
    """Draw the terms as bars; dashed, how high they stood before m grew."""
    yield path([(LEFT, floor), (LEFT + N * SLOT, floor)])
    for j in range(step.stop):
        x, is_new = LEFT + j * SLOT + 6, j >= step.start
        high, old = tall * float(terms[j]), tall * float(before[j])
        if old > high + 0.5:
            yield rect(x, floor - old, SLOT - 12, old, line=0.8, look=DASHED)
        yield rect(x, floor - high, SLOT - 12, high, WEIGHTS, 1 if is_new else PALE, 0.8)
        yield text(x + SLOT / 2 - 6, floor - max(high, old) - 9, number(float(terms[j]), 2), size=SMALL)


def stack(name: str, values: Array, color: str, y: float, unit: float, step: Step) -> Iterator[str]:
    """Draw a sum as the pieces it is made of, one behind the other."""
    yield text(STACK - 12, y, name, bold=True)
    x = float(STACK)
    for j, value in enumerate(values):
        wide = unit * float(value)
        if wide > 0:
            yield rect(x, y - 8, wide, 16, color, 1 if j >= step.start else PALE, 0.8)
        x += wide
    yield text(STACK + ROOM + 44, y, number(float(values.sum()), 3), anchor="end", size=SMALL)
