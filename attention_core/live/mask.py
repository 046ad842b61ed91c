"""Five tokens: which keys may each query see, and what becomes of its weights."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, Layout, VBox
from traitlets import observe

from attention_core._numbers import number, plain
from attention_core.attention import Attention, attend, causal_mask, padding_mask
from attention_core.figures import WEIGHTS
from attention_core.figures.canvas import level
from attention_core.figures.svg import SMALL, Picture, hatch, label, named, path, picture, rect, text
from attention_core.live._controls import Slider, Table, Tick, tick
from attention_core.live._inputs import Array, Numbers, Truths
from attention_core.live._view import SIDE, View

TOKENS = ("the", "cat", "sat", "on", "it")
N = len(TOKENS)
WIDE, HIGH, TOP, LEFT, RIGHT = 44, 30, 56, 132, 372  # of a cell; of the rows, the scores and the weights


class MaskView(View):
    """Causal, padding, both; new queries beside older keys; and every cell by itself."""

    n_q = Numbers(
        1, N, whole=True, help="How many of the last tokens ask: 5 is all, 1 is one step with a cache."
    )
    causal = Truths(help="May a query see no later key?")
    offset = Numbers(-N, N, whole=True, help="Query i may see the keys up to i + offset.")
    length = Numbers(0, N, whole=True, help="How many keys are real; the others are padding.")
    allowed = Truths((N, N), help="Which key each token may see; set anew by each of the other inputs.")

    def __init__(self) -> None:
        plain: dict[str, Any] = {"length": N, "n_q": N, "offset": 0, "causal": True}
        rules = {
            "causal": plain,
            "no mask": {**plain, "causal": False},
            "padding": {**plain, "causal": False, "length": 3},
            "causal and padding": {**plain, "length": 3},
            "2 new queries, a cache": {**plain, "n_q": 2, "offset": N - 2},
            "2 new queries, offset 0": {**plain, "n_q": 2},
            "nothing is allowed": {**plain, "length": 0},
        }
        self.presets = {name: {**rule, "allowed": seen(**rule)} for name, rule in rules.items()}
        self.x = np.random.default_rng(0).standard_normal((N, 4)).round(1)  # queries, keys and values
        super().__init__()

    def put(self, inputs: Mapping[str, Any]) -> None:
        """Set inputs; a rule that changes is applied to every cell."""
        with self.hold_trait_notifications():
            super().put(inputs)
            if "allowed" not in inputs and {"n_q", "causal", "offset", "length"} & set(inputs):
                self.set_trait("allowed", seen(self.n_q, self.causal, self.offset, self.length))

    @property
    def mask(self) -> Array:
        """Which key each query may see, (n_q, 5) of True and False."""
        return self.allowed[-self.n_q :]

    @property
    def steps(self) -> Attention:
        """The attention of the last tokens to all."""
        return attend(self.x[-self.n_q :], self.x, self.x, mask=self.mask)

    @property
    def weights(self) -> Array:
        """The weights in the picture, (n_q, 5)."""
        return self.steps.weights

    def _arrange(self, picture: HTML) -> list[Any]:
        wide = (80, 230)
        n_q, offset = (Slider(self, name, name, 1, wide=wide).widget for name in ("n_q", "offset"))
        length = Slider(self, "length", "real keys", 1, wide=wide).widget
        self._cells = Table(self, "allowed", "may see", TOKENS, TOKENS, cell=34, kind=Tick)
        title = HTML("<b>may see</b>", layout=Layout(margin="0", height="24px"))
        cells = VBox([title, self._cells.widget], layout=SIDE)
        causal = tick(self, "causal", "causal")
        return [HBox([n_q, causal]), HBox([offset, length]), HBox([cells, picture])]

    @observe("n_q")
    def _ask(self, _: Any) -> None:
        for at, cell in enumerate(self._cells.entries):
            cell.widget.disabled = at // N < N - self.n_q

    def _draw(self) -> Picture:
        return scores_and_weights(self.steps, self.offset if self.causal else None)


def seen(n_q: int, causal: bool, offset: int, length: int) -> Array:
    """Return which keys the last n_q tokens may see by the rules, (5, 5); the others do not ask."""
    past = causal_mask(n_q, N, offset=offset) if causal else np.ones((n_q, N), dtype=bool)
    rows = past & padding_mask(np.array(length), N)  # (n_q, n_k)
    return np.vstack([np.zeros((N - n_q, N), dtype=bool), rows])


def scores_and_weights(steps: Attention, offset: int | None) -> Picture:
    """Draw masked scores and weights (n_q, 5) of the last tokens; those that do not ask are ghosts."""
    n_q = len(steps.weights)
    first = N - n_q
    parts = [*headings(offset, first)]
    for x, name in ((LEFT, "masked scores"), (RIGHT, "weights")):
        parts.append(text(x, 10, f"{name} ({n_q}, {N})", anchor="start", bold=True))
        parts += [rect(x + j * WIDE, TOP + i * HIGH, WIDE, HIGH, line=0.25)
                  for i in range(first) for j in range(N)]  # fmt: skip
    for (i, j), score in np.ndenumerate(steps.masked_scores):
        y, blocked = TOP + (first + i) * HIGH, score == -math.inf
        title = f"{TOKENS[first + i]} asks {TOKENS[j]}: {'blocked' if blocked else 'allowed'}"
        at, there = (LEFT + j * WIDE, y, WIDE, HIGH), (RIGHT + j * WIDE, y, WIDE, HIGH)
        weight = steps.weights[i, j]
        mark = rect(*there, line=0.7) if blocked else level(there, weight, weight, WEIGHTS, False)
        said = text(at[0] + WIDE / 2, y + HIGH / 2, number(score, 2), size=SMALL)
        crossed = hatch(*at) + hatch(*there) if blocked else ""
        parts.append(f"<g><title>{title}</title>{rect(*at, line=0.7)}{crossed}{said}{mark}</g>")
    if offset is not None:
        parts += [staircase(x, first, offset) for x in (LEFT, RIGHT)]
    return picture(RIGHT + N * WIDE + 4, TOP + N * HIGH + 6, in_words(steps.weights, offset), *parts)


def headings(offset: int | None, first: int) -> Iterator[str]:
    """Write the tokens, the number i of each that asks, how far it sees, and the number j of each key."""
    yield text(60, TOP - 14, "i", size=SMALL, bold=True)
    if offset is not None:
        yield text(94, TOP - 28, "i +", size=SMALL, bold=True) + text(
            94, TOP - 14, "offset", size=SMALL, bold=True
        )
    for row, token in enumerate(TOKENS):
        i, y = row - first, TOP + (row + 0.5) * HIGH
        yield text(44, y, label(token, 42), anchor="end", size=SMALL)
        yield text(60, y, str(i) if i >= 0 else "–", size=SMALL)
        if offset is not None and i >= 0:
            yield text(90, y, plain(i + offset), size=SMALL)
        for x in (LEFT, RIGHT):
            at = x + (row + 0.5) * WIDE
            yield text(at, TOP - 26, label(token, WIDE), size=SMALL) + text(
                at, TOP - 10, str(row), size=SMALL
            )
    for x in (LEFT, RIGHT):
        yield text(x - 8, TOP - 10, "j", size=SMALL, bold=True)


def staircase(x: float, first: int, offset: int) -> str:
    """Draw where the rule ends: query i sees the keys up to i + offset."""
    points = []
    for row in range(first, N):
        edge = x + min(max(row - first + offset + 1, 0), N) * WIDE
        points += [(edge, TOP + row * HIGH), (edge, TOP + (row + 1) * HIGH)]
    return path(points, width=3)


def in_words(weights: Array, offset: int | None) -> str:
    """Say what each query may see and what it gives."""
    first, said = N - len(weights), []
    for i, row in enumerate(weights):
        far = "" if offset is None else f", i + offset = {plain(i + offset)}"
        gives = named(row[row > 0], np.array(TOKENS)[row > 0])
        what = f"gives {gives}" if row.any() else "may see nothing: weights 0"
        said.append(f"{TOKENS[first + i]} (i = {i}{far}) {what}")
    ghosts = f" {', '.join(TOKENS[:first])} do not ask." if first else ""
    return f"Weights of the mask: {'; '.join(said)}.{ghosts}"
