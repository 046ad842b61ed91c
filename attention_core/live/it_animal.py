"""The seven tokens of "it → animal": embeddings and projections to edit, all weights, one waterfall."""

from html import escape
from typing import Any

import numpy as np
from ipywidgets import HTML, Dropdown, HBox, Layout, VBox
from traitlets import dlink, observe

from attention_core._numbers import number, plain, product, vector
from attention_core.attention import Attention, attend
from attention_core.figures import OUTPUT, WEIGHTS, V
from attention_core.figures.svg import (
    FULL_WEIGHT,
    SMALL,
    STRONGEST,
    Labels,
    Picture,
    cell,
    isolated,
    label,
    named,
    path,
    picture,
    rect,
    shades,
    text,
)
from attention_core.live._controls import Choice, Mover, Table, tick, words
from attention_core.live._inputs import Array, Numbers, Tokens, Truths
from attention_core.live._view import HEIGHT, SIDE, View
from attention_core.worked import load

LIMIT = 10.0  # the largest entry; exp() of the scores it gives can still be held


class ItAnimalView(View):
    """Which token does "it" give its weights to, and what does it take from there?"""

    embeddings = Numbers(-LIMIT, LIMIT, (7, 4), help="The embeddings, (7, 4).")
    w_q = Numbers(-LIMIT, LIMIT, (4, 4), help="W_Q in the source's convention, q = W_Q x, (4, 4).")
    w_k = Numbers(-LIMIT, LIMIT, (4, 4), help="W_K, (4, 4).")
    w_v = Numbers(-LIMIT, LIMIT, (4, 4), help="W_V, (4, 4).")
    tokens = Tokens(7, help="The seven tokens.")
    asking = Numbers(0, 6, whole=True, help="The number of the token that asks.")
    entry = Numbers(0, 3, whole=True, help="Which number of the output the waterfall shows.")
    scaled = Truths(help="Are the scores divided by √d_k?")

    def __init__(self) -> None:
        s1 = load("it-animal")
        self.features = s1["features"]
        same = {name: s1[name] for name in ("tokens", "embeddings", "w_q", "w_k", "w_v")}
        same |= {"asking": s1["tokens"].index("it"), "entry": 0, "scaled": False}
        pronoun = np.diag([0.0, 0.0, 0.0, 1.0])
        self.presets = {
            "it → animal (S1)": same,
            "W_V = I": {**same, "w_v": np.eye(4)},
            "W_V keeps the pronoun only": {**same, "w_v": pronoun, "entry": 3},
        }
        super().__init__()

    @property
    def v(self) -> Array:
        """The values, (7, 4)."""
        return self.embeddings @ self.w_v.T

    @property
    def steps(self) -> Attention:
        """The attention of all tokens to each other."""
        q, k = (self.embeddings @ w.T for w in (self.w_q, self.w_k))
        return attend(q, k, self.v, scale=None if self.scaled else 1.0)

    @property
    def weights(self) -> Array:
        """All weights, (7, 7): rows ask."""
        return self.steps.weights

    @property
    def output(self) -> Array:
        """The output of every token, (7, 4)."""
        return self.steps.output

    def _arrange(self, picture: HTML) -> list[Any]:
        columns, rows = ["noun", "alive", "tire", "pron."], [f"row {i}" for i in range(4)]
        self._x = Table(self, "embeddings", "x", self.tokens, columns, cell=42)
        tables = {"embeddings X": self._x}
        for name in ("w_q", "w_k", "w_v"):
            tables[name.upper()] = Table(self, name, name.upper(), rows, columns, cell=42)
        panels = {
            title: VBox([table.widget, Mover([table], (-2.0, 2.0, 0.1), upright=True).widget])
            for title, table in tables.items()
        }
        edit = Dropdown(
            options=list(panels), description="Edit", style={"description_width": "40px"},
            layout=Layout(width="200px", height=HEIGHT),
        )  # fmt: skip
        panel = VBox(layout=Layout(height="310px", width="240px"))
        dlink((edit, "value"), (panel, "children"), lambda title: [panels[title]])
        self._asks = Choice(self, "asking", "Asks", self.tokens, room="40px", width="150px")
        entry = Choice(self, "entry", "Waterfall of", self.features, room="80px", width="190px")
        top = HBox([words(self, "tokens", "Tokens", width="420px"), self._asks.widget, entry.widget])
        left = VBox([HBox([edit]), tick(self, "scaled", "divide by √d_k"), panel], layout=SIDE)
        return [top, HBox([left, picture])]

    @observe("tokens")
    def _rename(self, _: Any) -> None:
        self._x.rename(self.tokens)
        self._asks.offer(self.tokens)

    def _draw(self) -> Picture:
        tokens = [isolated(token) for token in self.tokens]
        return map_and_waterfall(
            self.steps, self.v, tokens, self.asking, self.entry, self.features[self.entry]
        )


def map_and_waterfall(
    steps: Attention, v: Array, tokens: Labels, asking: int, entry: int, feature: str
) -> Picture:
    """Draw the weights (n, n) of all tokens, and how the `entry` of the asking token's output adds up."""
    n, side, high, left, top = len(tokens), 42, 32, 52, 60
    weights, output = steps.weights, steps.output[asking]
    parts = [text(left, 12, f"weights ({n}, {n}), each row asks", anchor="start", bold=True)]
    for (i, j), strength in np.ndenumerate(shades(weights, FULL_WEIGHT)):
        said = f"score {number(steps.scores[i, j])}, weight {number(weights[i, j])}"
        at, title = (left + j * side, top + i * high, side, high), f"{tokens[i]} asks {tokens[j]}: {said}"
        parts.append(cell(*at, number(weights[i, j], 2, 4), WEIGHTS, strength, title=title, size=SMALL))
    for i, token in enumerate(tokens):
        y, name = top + (i + 0.5) * high, label(token, left - 6)
        parts.append(text(left - 6, y, name, anchor="end", bold=i == asking, size=SMALL))
        parts.append(text(left + (i + 0.5) * side, top - 14, label(token, side), size=SMALL))
    parts.append(rect(left, top + asking * high, n * side, high, line=3))
    x, y = left + n * side + 22, top + n * high + 22
    parts += _waterfall(x, top, weights[asking], v[:, entry], float(output[entry]), tokens)
    name = f"output({label(tokens[asking], 60)})"
    parts.append(text(x, 12, f"{name}[{entry}]: {feature}", anchor="start", bold=True))
    parts.append(rect(4, y - 9, 18, 18, OUTPUT, STRONGEST[OUTPUT], 1.5))
    parts.append(text(30, y, f"{name} = {vector(output, 4)}", anchor="start"))
    gives = f"{tokens[asking]} gives its weights: {named(weights[asking], tokens)}"
    return picture(588, y + 16, f"{gives}. Output {vector(output, 4)}.", *parts)


def _waterfall(
    x: float, top: float, weights: Array, values: Array, total: float, tokens: Labels
) -> list[str]:
    """Draw one bar for each weight × value, each starting where the one before it ended."""
    terms = weights * values
    ends = np.concatenate([[0.0], np.cumsum(terms)])
    low, high = min(ends.min(), 0.0), max(ends.max(), 1e-12)
    wide, tall, floor = 26, 120, top + 150
    unit = tall / (high - low)

    def y(value: float) -> float:
        return floor - (value - low) * unit

    parts = [path([(x, y(0)), (x + wide * (len(terms) + 1), y(0))])]
    for j, term in enumerate(terms):
        high_end, low_end = max(ends[j], ends[j + 1]), min(ends[j], ends[j + 1])
        factors = product(number(weights[j]), " · ", plain(values[j], least=1))
        bar = rect(x + j * wide + 3, y(high_end), wide - 6, y(low_end) - y(high_end), V, line=0.8)
        parts.append(f"<g><title>{escape(f'{tokens[j]}: {factors} = {number(term)}')}</title>{bar}</g>")
        if abs(term) >= 5e-3:
            parts.append(text(x + (j + 0.5) * wide, y(high_end) - 9, number(term, 2, 5), size=SMALL))
    end, above = x + len(terms) * wide, y(max(total, 0))
    parts.append(rect(end + 3, above, wide - 6, abs(total) * unit, OUTPUT, line=1.5))
    parts.append(text(end + wide / 2, above - 9, number(total, 2, 5), size=SMALL, bold=True))
    for j, name in enumerate([*tokens, "sum"]):
        at = x + (j + 0.5) * wide, floor + 10
        parts.append(text(*at, label(name, 60), turn=True, anchor="end", size=SMALL))
    return parts
