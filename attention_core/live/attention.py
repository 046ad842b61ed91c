"""One query and three keys: the canvas, with every number of Q, K and V to edit."""

from collections.abc import Collection
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, Layout, VBox
from traitlets import observe

from attention_core import figures
from attention_core.attention import Attention, attend
from attention_core.figures.canvas import canvas
from attention_core.figures.svg import Picture, on_sheet
from attention_core.live._controls import Mover, Table, tick, ticks, titled
from attention_core.live._inputs import Array, Numbers, Truths
from attention_core.live._view import SIDE, View
from attention_core.worked import load

KEYS, VALUES = [f"k{j}" for j in range(3)], [f"v{j}" for j in range(3)]
LIMIT = 10.0  # the largest entry; exp() of the scores it gives can still be held


class AttentionView(View):
    """One query and up to three keys, with every number of Q, K and V to edit.

    `stage` and `hide` are the canvas's: before lesson 02 nothing is divided in it and nothing blocked.
    """

    q = Numbers(-LIMIT, LIMIT, (1, 4), smaller=True, help="The query, (1, d_k).")
    k = Numbers(-LIMIT, LIMIT, (3, 4), smaller=True, help="The keys, (n_k, d_k).")
    v = Numbers(-LIMIT, LIMIT, (3, 2), smaller=True, help="The values, (n_k, d_v).")
    scaled = Truths(help="Are the scores divided by √d_k?")
    blocked = Truths((3,), help="Which keys are blocked, (3,) of True and False.")

    def __init__(self, *, stage: int = 4, hide: Collection[str] = ()) -> None:
        self._stage, self._hide = stage, hide
        one, three = load("one-query"), load("three-tokens")
        fixed = {"scaled": True, "blocked": [False] * 3}
        self.presets = {"One query": {**{name: one[name] for name in "qkv"}, **fixed}}
        for i in range(3):
            q, k, v = three["q"][i : i + 1], three["k"], three["v"]
            self.presets[f"Three tokens, query {i}"] = {"q": q, "k": k, "v": v, **fixed}
        self._drawn: Attention | None = None
        self._ticks: list[Any] = []
        super().__init__()

    @property
    def steps(self) -> Attention:
        """Scores, weights and output, each with one row."""
        mask = ~self.blocked[None, : len(self.k)]
        return attend(self.q, self.k, self.v, mask=mask, scale=None if self.scaled else 1.0)

    @property
    def weights(self) -> Array:
        """The weights in the picture, (1, n_k)."""
        return self.steps.weights

    @property
    def output(self) -> Array:
        """The output in the picture, (1, d_v)."""
        return self.steps.output

    def _arrange(self, picture: HTML) -> list[Any]:
        columns = [str(i) for i in range(4)]
        q = Table(self, "q", "q", ["q"], columns, room=20)
        k = Table(self, "k", "k", KEYS, columns)
        v = Table(self, "v", "v", VALUES, columns[:2])
        tables = [titled("Q", figures.Q, q), titled("K", figures.K, k), titled("V", figures.V, v)]
        mover = Mover([q, k, v], (-2.0, 2.0, 0.05))
        if self._stage < 2:
            return [HBox(tables), mover.widget, picture]
        above = HTML(layout=Layout(height="53px", margin="0"))  # beside K's rows
        self._ticks = ticks(self, "blocked", [f"block {key}" for key in KEYS])
        tables.insert(2, VBox([above, *self._ticks], layout=SIDE))
        rest = [mover.widget, tick(self, "scaled", "divide by √d_k")]
        return [HBox(tables), HBox(rest), picture]

    @observe("k")
    def _offer(self, _: Any) -> None:
        for j, one in enumerate(self._ticks):
            one.layout.visibility = "visible" if j < len(self.k) else "hidden"

    def _draw(self) -> Picture:
        steps, before = self.steps, self._drawn
        self._drawn = steps
        same_shapes = before is not None and [x.shape for x in before] == [x.shape for x in steps]
        drawn = canvas(
            self.q,
            self.k,
            self.v,
            steps,
            divisor=None if self.scaled else 1.0,
            stage=self._stage,
            hide=self._hide,
            picked=("scores", 0, 0) if self._stage else None,
            before=before if same_shapes else None,
        )
        return on_sheet(drawn, *sheet(self._stage))


@cache
def sheet(stage: int) -> tuple[int, int]:
    """Return the size of a picture in which everything that can be set has room."""
    drawn = []
    for d_k, entry in product((2, 3, 4), (-0.999, -9.999)):  # √3 is long, and so are many digits
        q, k, v = np.full((1, d_k), entry), np.full((3, d_k), -entry), np.full((3, 2), entry)
        drawn.append(canvas(q, k, v, attend(q, k, v), stage=stage))
    return max(picture.width for picture in drawn), max(picture.height for picture in drawn)
