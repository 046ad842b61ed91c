"""The seven tokens of "it → animal": from the token that asks through keys and weights to its output."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from ipywidgets import HTML, Dropdown, HBox, Layout, VBox
from traitlets import dlink, observe

from attention_core._numbers import number, plain, vector
from attention_core.attention import Attention, attend
from attention_core.figures import NEGATIVE, NEUTRAL, OUTPUT, WEIGHTS, K, Q, V, weight_strength
from attention_core.figures.svg import (
    SMALL,
    Labels,
    Picture,
    arrow,
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
from attention_core.live._controls import Choice, Mover, Slider, Table, Tick, tick, words
from attention_core.live._inputs import Array, Numbers, Tokens, Truths
from attention_core.live._view import HEIGHT, SIDE, View
from attention_core.worked import load

LIMIT = 10.0  # the largest entry; exp() of the scores it gives can still be held
WIDE, HIGH = 29, 25  # of a small cell, in pixels
KEY, SCORE, WEIGHT, VALUE, SUM = 72, 194, 250, 352, 478  # where the columns begin
SENTENCE, X_ROW, Q_ROW, TOP = 78, 114, 158, 214  # where the rows do
SHARE = 46  # the length of the weight 1


class ItAnimalView(View):
    """Which token does "it" give its weights to, and what does it take from there?"""

    embeddings = Numbers(-LIMIT, LIMIT, (7, 4), help="The embeddings, (7, 4).")
    w_q = Numbers(-LIMIT, LIMIT, (4, 4), help="W_Q in the source's convention, q = W_Q x, (4, 4).")
    w_k = Numbers(-LIMIT, LIMIT, (4, 4), help="W_K, (4, 4).")
    w_v = Numbers(-LIMIT, LIMIT, (4, 4), help="W_V, (4, 4).")
    tokens = Tokens(7, help="The seven tokens.")
    asking = Numbers(0, 6, whole=True, help="The number of the token that asks.")
    entry = Numbers(0, 3, whole=True, help="Which number of the output is summed up term by term.")
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
    def q(self) -> Array:
        """The queries, (7, 4)."""
        return self.embeddings @ self.w_q.T

    @property
    def k(self) -> Array:
        """The keys, (7, 4)."""
        return self.embeddings @ self.w_k.T

    @property
    def v(self) -> Array:
        """The values, (7, 4)."""
        return self.embeddings @ self.w_v.T

    @property
    def steps(self) -> Attention:
        """The attention of all tokens to each other."""
        return attend(self.q, self.k, self.v, scale=None if self.scaled else 1.0)

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
        self._x = Table(self, "embeddings", "x", self.tokens, columns, room=64, cell=42, kind=Tick)
        panels = {"embeddings X": self._x.widget}
        for name in ("w_q", "w_k", "w_v"):
            table = Table(self, name, name.upper(), rows, columns, cell=44)
            panels[name.upper()] = VBox([table.widget, Mover([table], (-2.0, 2.0, 0.1), upright=True).widget])
        edit = Dropdown(
            options=list(panels), description="Edit", style={"description_width": "40px"},
            layout=Layout(width="200px", height=HEIGHT),
        )  # fmt: skip
        panel = VBox(layout=Layout(height="310px", width="240px"))
        dlink((edit, "value"), (panel, "children"), lambda title: [panels[title]])
        asks = Slider(self, "asking", "asks", 1, wide=(40, 230))
        entry = Choice(self, "entry", "Sum of", self.features, room="50px", width="160px")
        top = HBox([words(self, "tokens", "Tokens", width="420px"), asks.widget, entry.widget])
        left = VBox([HBox([edit]), tick(self, "scaled", "divide by √d_k"), panel], layout=SIDE)
        return [top, HBox([left, picture])]

    @observe("tokens")
    def _rename(self, _: Any) -> None:
        self._x.rename(self.tokens)

    def _draw(self) -> Picture:
        return chain(self)


def chain(view: ItAnimalView) -> Picture:
    """Draw how the asking token comes to its output: the sentence, x → q, keys, scores, weights, values."""
    asking, steps, tokens = view.asking, view.steps, [isolated(token) for token in view.tokens]
    weights, output = steps.weights[asking], steps.output[asking]
    parts = [*arcs(weights, tokens, asking)]
    for name, row, values, color in (("x", X_ROW, view.embeddings, NEUTRAL), ("q", Q_ROW, view.q, Q)):
        parts.append(
            text(KEY - 8, row + HIGH / 2, f"{name}({label(tokens[asking], 46)})", anchor="end", size=SMALL)
        )
        parts += cells(KEY, row, values[asking], color)
    parts.append(arrow((KEY + 2 * WIDE, X_ROW + HIGH), (KEY + 2 * WIDE, Q_ROW - 1)))
    parts.append(text(KEY + 2 * WIDE + 8, Q_ROW - 8, "W_Q", anchor="start", size=SMALL))
    names = {
        KEY + 2 * WIDE: "keys K",
        SCORE + 24: "q · k" + " ÷ 2" * view.scaled,
        WEIGHT + SHARE: "weight",
        VALUE + 2 * WIDE: "values V",
        SUM + 46: f"sum of {view.features[view.entry]}",
    }
    for x, name in names.items():
        parts.append(text(x, TOP - 12, name, bold=True, size=SMALL))
    for j, token in enumerate(tokens):
        y = TOP + j * HIGH
        parts.append(
            text(KEY - 8, y + HIGH / 2, label(token, 62), anchor="end", bold=j == asking, size=SMALL)
        )
        parts += [*cells(KEY, y, view.k[j], K), *cells(VALUE, y, view.v[j], V)]
        parts.append(
            cell(SCORE, y, 48, HIGH, plain(steps.scores[asking, j], most=3), NEUTRAL, 0.0, size=SMALL)
        )
        parts.append(share(y, float(weights[j])))
    parts.append(rect(VALUE + view.entry * WIDE, TOP, WIDE, 7 * HIGH, line=2.6))
    parts += sums(weights * view.v[:, view.entry], float(output[view.entry]))
    y = TOP + 7 * HIGH + 10
    parts.append(
        text(VALUE - 8, y + HIGH / 2, f"output({label(tokens[asking], 62)})", anchor="end", bold=True)
    )
    parts += cells(VALUE, y, output, OUTPUT)
    gives = f"{tokens[asking]} gives its weights: {named(weights, tokens)}"
    return picture(SUM + 104, y + HIGH + 6, f"{gives}. Output {vector(output, 4)}.", *parts)


def arcs(weights: Array, tokens: Labels, asking: int) -> Iterator[str]:
    """Write the sentence below arcs as thick as the weights, from the token that asks."""
    step = (SUM + 100) / len(tokens)
    places = [(j + 0.5) * step for j in range(len(tokens))]
    for j, (x, weight) in enumerate(zip(places, weights, strict=True)):
        low, peak = SENTENCE - 10, SENTENCE - 24 - 9 * abs(j - asking)
        end, start = (x + 8, places[asking] - 8) if j == asking else (x, places[asking])
        curve = f"M{start:.1f} {low}C{start:.1f} {peak}, {end:.1f} {peak}, {end:.1f} {low}"
        look = f'stroke-width="{24 * weight:.2f}" stroke-opacity="{weight_strength(weight):.3f}"'
        yield f'<path d="{curve}" fill="none" stroke="{WEIGHTS}" {look}/>'
        yield text(x, SENTENCE, label(tokens[j], step - 6, size=15), bold=j == asking)  # bold is wider
        yield text(x, SENTENCE + 16, number(weight, 2), size=SMALL)


def cells(x: float, y: float, values: Array, color: str) -> Iterator[str]:
    """Draw a row of numbers in small cells."""
    for j, (value, strength) in enumerate(zip(values, shades(values), strict=True)):
        said = number(value, 4 if color == OUTPUT else 1, 4) if value % 1 else plain(value)
        hue = color if value >= 0 or color == OUTPUT else NEGATIVE
        yield cell(x + j * WIDE, y, WIDE, HIGH, said, hue, strength, size=SMALL)


def share(y: float, weight: float) -> str:
    """Draw a weight as a bar: the larger, the longer and the stronger; its frame is the weight 1."""
    mark = rect(WEIGHT, y + 2, SHARE * weight, HIGH - 4, WEIGHTS, weight_strength(weight))
    said = text(WEIGHT + SHARE + 46, y + HIGH / 2, number(weight), anchor="end", size=SMALL)
    return mark + rect(WEIGHT, y + 2, SHARE, HIGH - 4, line=0.6) + said


def sums(terms: Array, total: float) -> Iterator[str]:
    """Draw weight × value as bars, each beginning where the one above ended; the scale is at least 0 to 1."""
    ends = np.concatenate([[0.0], np.cumsum(terms)])
    low, high = min(ends.min(), 0.0), max(ends.max(), 1.0)
    unit = 92 / (high - low)

    def at(value: float) -> float:
        return SUM + 4 + (value - low) * unit

    floor = TOP + (len(terms) + 1) * HIGH + 10
    yield path([(at(0), TOP), (at(0), floor)], width=0.7)
    for j, (start, end) in enumerate(pairwise([*ends, 0.0])):
        is_sum = j == len(terms)
        y, color = TOP + j * HIGH + 10 * is_sum, OUTPUT if is_sum else V
        yield rect(at(min(start, end)), y + 4, abs(end - start) * unit, HIGH - 8, color, line=0.8)
        if abs(start - end) >= 5e-3:
            said = number(total) if is_sum else number(end - start, 2)
            x = at(max(start, end))
            side = (x - 4, "end") if x > SUM + 60 else (x + 4, "start")
            yield text(side[0], y + HIGH / 2, said, size=SMALL, anchor=side[1], bold=is_sum)
