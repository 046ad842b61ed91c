"""Four tokens, d_model = 8: a band for each head, from its columns of X W to its slice of the merge."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, NamedTuple

import numpy as np
from ipywidgets import HTML, HBox

from attention_core._numbers import number, vector
from attention_core.attention import attend
from attention_core.figures import NEGATIVE, NEUTRAL, OUTPUT, WEIGHTS, K, Q, V
from attention_core.figures.svg import (
    FULL_WEIGHT,
    SMALL,
    Labels,
    Picture,
    cell,
    label,
    lines,
    picture,
    rect,
    shades,
    small_matrix,
    text,
)
from attention_core.heads import merge_heads, split_heads
from attention_core.live._controls import Slider, tick
from attention_core.live._inputs import Array, Numbers, Truths
from attention_core.live._view import View
from attention_core.worked import load

D_MODEL = 8
PLACE, PART, STENCIL, WEIGHT = (
    18,
    56,
    6,
    30,
)  # widths: a named entry, all of K or V, an entry seen small, a weight
LEFT, TABLE, KEYS, VALUES, MAP, MERGED = 72, 132, 286, 352, 418, 548  # where the columns begin
RIGHT, TOP, BELOW = 606, 42, 462
LARGE, SMALLER, LOW, TITLE, GAP = 36, 20, 9, 16, 6  # a row for up to two heads, for more, and one not picked


class HeadSteps(NamedTuple):
    """Every array between the input and the output of multi-head attention.

    places, q, k, v (n_heads, n, d_head); weights (n_heads, n, n); merged and output (n, d_model). A place
    is 10 · row + column in X W.
    """

    places: Array
    q: Array
    k: Array
    v: Array
    weights: Array
    merged: Array
    output: Array


class HeadsView(View):
    """The same numbers in one, two, four or eight heads."""

    n_heads = Numbers(1, D_MODEL, whole=True, help="The number of heads.")
    head = Numbers(0, D_MODEL - 1, whole=True, help="The head that is picked out.")
    forget = Truths(help="Is the transpose forgotten, so that a reshape alone cuts the heads?")

    def __init__(self) -> None:
        s1 = load("it-animal")["tokens"]
        self.tokens = [s1[1], s1[3], s1[5], s1[6]]
        rng = np.random.default_rng(0)
        self.x = rng.standard_normal((len(self.tokens), D_MODEL)).round(2)
        self.w = dict(zip("qkvo", rng.standard_normal((4, D_MODEL, D_MODEL)).round(2) / 2, strict=True))
        same: dict[str, Any] = {"head": 0, "forget": False}
        self.presets = {f"{h} head{'s' * (h > 1)}": {**same, "n_heads": h} for h in (2, 1, 4, 8)}
        self.presets["2 heads, no transpose"] = {**same, "n_heads": 2, "forget": True}
        super().__init__()

    def put(self, inputs: Mapping[str, Any]) -> None:
        """Set inputs; with fewer heads, pick the last one that is left."""
        with self.hold_trait_notifications():
            super().put(inputs)
            if "head" not in inputs:
                self.set_trait("head", min(self.head, self.n_heads - 1))

    @property
    def steps(self) -> HeadSteps:
        """Every array on the way."""
        rows, columns = np.ogrid[: len(self.tokens), :D_MODEL]
        places, q, k, v = map(self.cut, (10.0 * rows + columns, *(self.x @ self.w[name] for name in "qkv")))
        heads = attend(q, k, v)
        merged = merge_heads(heads.output)
        return HeadSteps(places, q, k, v, heads.weights, merged, merged @ self.w["o"])

    @property
    def weights(self) -> Array:
        """The weights of all heads, (n_heads, 4, 4)."""
        return self.steps.weights

    @property
    def output(self) -> Array:
        """The output, (4, 8)."""
        return self.steps.output

    def cut(self, x: Array) -> Array:
        """Cut (4, 8) into heads, (n_heads, 4, d_head): rightly, or by a reshape alone."""
        heads: Array = split_heads(x, self.n_heads)
        return x.reshape(heads.shape) if self.forget else heads

    def _arrange(self, picture: HTML) -> list[Any]:
        n_heads = Slider(self, "n_heads", "n_heads", 1, wide=(60, 250))
        head = Slider(self, "head", "picked head", 1, wide=(84, 270))
        return [HBox([n_heads.widget, head.widget, tick(self, "forget", "forget the transpose")]), picture]

    def _draw(self) -> Picture:
        steps, last = self.steps, self.n_heads - 1
        if self.head > last:
            raise ValueError(f"the picked head must be from 0 to n_heads − 1 = {last}, got {self.head}")
        return bands(steps, self.tokens, self.head, self.forget)


def bands(steps: HeadSteps, tokens: Labels, head: int, forget: bool) -> Picture:
    """Draw a band for each head; of eight only the picked one is large. Below, merged × W_O = output."""
    n_heads, n, d_head = steps.q.shape
    names = {LEFT + 24: "X W", TABLE + 72: "Q, by place", KEYS + 28: "K", VALUES + 28: "V",
             MAP + 60: "weights", MERGED + 24: "merged"}  # fmt: skip
    parts = [text(x, 12, name, bold=True) for x, name in names.items()]
    parts += [text(MAP + (j + 0.5) * WEIGHT, TOP - 8, str(j), size=SMALL) for j in range(n)]
    y, high = TOP, LARGE if n_heads <= 2 else SMALLER
    for h in range(n_heads):
        title = TITLE if n_heads <= 4 or h == head else 0
        tall = title + n * (high if title else LOW)
        parts += band(steps, tokens, h, y + title, high, named=title > 0)
        if h == head and n_heads > 1:
            parts.append(rect(1.5, y - 1, RIGHT - 3, tall + 4, line=2))
        y += tall + GAP
    said = [
        f"reshape: ({n}, {D_MODEL}) → ({n_heads}, {n}, {d_head}), no transpose" if forget else
        f"split: ({n}, {D_MODEL}) → ({n}, {n_heads}, {d_head}) → ({n_heads}, {n}, {d_head})",
        f"merge: ({n_heads}, {n}, {d_head}) → ({n}, {n_heads}, {d_head}) → ({n}, {D_MODEL})",
    ]  # fmt: skip
    held = holds(steps.places, head, tokens)
    parts += [text(6, BELOW + 8, held, anchor="start", size=SMALL), lines(6, BELOW + 52, said)]
    parts.append(rect(6, BELOW + 26, 12, 12, NEGATIVE))
    parts.append(text(24, BELOW + 32, "below zero", anchor="start", size=SMALL))
    for x, name, values, color in ((350, "merged", steps.merged, V), (502, "output", steps.output, OUTPUT)):
        parts.append(text(x + 48, BELOW + 32, f"{name} ({n}, {D_MODEL})", bold=True))
        parts.append(small_matrix(x, BELOW + 43, values, color, side=12))
    parts.append(text(474, BELOW + 67, "× W_O =", size=SMALL))
    rows = " ".join(f"{t}: {vector(row, 4)}." for t, row in zip(tokens, steps.weights[head], strict=True))
    count = f"{n_heads} head{'s' * (n_heads > 1)} of width {d_head}"
    words = f"{count}. {held}. Weights of head {head}: {rows} {said[0]}; {said[1]}."
    return picture(RIGHT, BELOW + 95, words, *parts)


def band(steps: HeadSteps, tokens: Labels, h: int, y: float, high: float, named: bool) -> Iterator[str]:
    """Draw one head: where its entries lie in X W, its q, k and v, its weights, its columns of the merge."""
    _, n, d_head = steps.q.shape
    places, right, high = steps.places[h].astype(int), own(h, n, d_head), high if named else LOW
    if named:
        yield text(6, y - TITLE / 2 + 1, f"head {h}", anchor="start", bold=True)
        for i, token in enumerate(tokens):
            yield text(6, y + (i + 0.5) * high, label(f"{i} {token}", LEFT - 8), anchor="start", size=SMALL)
    else:
        yield text(6, y + n * high / 2, f"head {h}", anchor="start", size=SMALL)
    for place in places.flat:
        yield rect(LEFT + place % 10 * STENCIL, y + place // 10 * high, STENCIL, high, NEUTRAL, 0.8)
    yield grid(LEFT, y, (n, D_MODEL), STENCIL, high)
    part = min(PLACE, PART / d_head)
    for x, name, values, color, wide in (
        (TABLE, "Q", steps.q, Q, PLACE), (KEYS, "K", steps.k, K, part), (VALUES, "V", steps.v, V, part)
    ):  # fmt: skip
        strong = shades(values)[h]
        for (i, j), place in np.ndenumerate(places):
            hue, at = color if values[h, i, j] >= 0 else NEGATIVE, (x + j * wide, y + i * high, wide, high)
            row, column = divmod(place, 10)
            title = f"{name}[{row}, {column}] of {tokens[row]} = {number(values[h, i, j])}"
            if named and name == "Q":
                moved = place != right[i, j]
                yield cell(*at, f"{place:02}", hue, strong[i, j], title=title, picked=moved, size=SMALL)
            else:
                yield f"<g><title>{escape(title)}</title>{rect(*at, hue, strong[i, j])}</g>"
        yield grid(x, y, (n, d_head), wide, high)
    for (i, j), weight in np.ndenumerate(steps.weights[h]):
        title = f"{tokens[i]} asks {tokens[j]}: weight {number(weight)}"
        at, said = (MAP + j * WEIGHT, y + i * high, WEIGHT, high), number(weight, 2) if named else ""
        yield cell(*at, said, WEIGHTS, weight / FULL_WEIGHT, title=title, size=SMALL)
    strong = shades(steps.merged)
    for i, j in np.ndindex(n, d_head):
        column = h * d_head + j
        hue = V if steps.merged[i, column] >= 0 else NEGATIVE
        yield rect(MERGED + column * STENCIL, y + i * high, STENCIL, high, hue, strong[i, column])
    yield grid(MERGED, y, (n, D_MODEL), STENCIL, high)
    yield rect(MERGED + h * d_head * STENCIL, y, d_head * STENCIL, n * high, line=1.6)


def grid(x: float, y: float, shape: tuple[int, int], wide: float, high: float) -> str:
    """Draw the lines of a matrix."""
    n, m = shape
    across = "".join(f"M{x:g} {y + i * high:g}h{m * wide:g}" for i in range(n + 1))
    down = "".join(f"M{x + j * wide:g} {y:g}v{n * high:g}" for j in range(m + 1))
    return f'<path d="{across}{down}" stroke="currentColor" stroke-width=".4"/>'


def own(h: int, n: int, d_head: int) -> Array:
    """Return the places that head h should hold, (n, d_head)."""
    return 10 * np.arange(n)[:, None] + h * d_head + np.arange(d_head)


def holds(places: Array, h: int, tokens: Labels) -> str:
    """Say which columns a head holds, or name its first entry that belongs elsewhere."""
    _, n, d_head = places.shape
    for (i, j), right in np.ndenumerate(own(h, n, d_head)):
        row, column = divmod(int(places[h, i, j]), 10)
        if 10 * row + column != right:
            what = f"{row}{column}: row {row} ({tokens[row]}), column {column}, of head {column // d_head}"
            return f"Framed: misplaced. Row {i} of head {h} holds {what}"
    last = (h + 1) * d_head - 1
    columns = f"columns {h * d_head} to {last}" if d_head > 1 else f"column {last}"
    return f"Head {h} holds {columns} of X W, each row its own token's"
