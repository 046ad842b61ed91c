"""One query and three keys: QKᵀ, the scores, the weights, the output, and any number's arithmetic."""

import math
from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, Layout, VBox
from traitlets import observe

from attention_core import figures
from attention_core._numbers import number, plain, product, vector
from attention_core.attention import Attention, attend, attention_scores
from attention_core.figures import NEUTRAL, OUTPUT, WEIGHTS
from attention_core.live._controls import Choice, Mover, Table, tick, ticks, titled
from attention_core.live._inputs import Array, Numbers, Truths
from attention_core.live._svg import (
    FULL,
    FULL_WEIGHT,
    SMALL,
    Picture,
    arrow,
    bars,
    label,
    lines,
    named,
    picture,
    products,
    row,
    text,
)
from attention_core.live._view import SIDE, View
from attention_core.worked import load

KEYS, VALUES = [f"key {j}" for j in range(3)], [f"value {j}" for j in range(3)]
LIMIT = 10.0  # the largest entry; exp() of the scores it gives can still be held


class AttentionView(View):
    """One query and up to three keys, with every number of Q, K and V to edit."""

    q = Numbers(-LIMIT, LIMIT, (1, 4), smaller=True, help="The query, (1, d_k).")
    k = Numbers(-LIMIT, LIMIT, (3, 4), smaller=True, help="The keys, (n_k, d_k).")
    v = Numbers(-LIMIT, LIMIT, (3, 2), smaller=True, help="The values, (n_k, d_v).")
    scaled = Truths(help="Are the scores divided by √d_k?")
    blocked = Truths((3,), help="Which keys are blocked, (3,) of True and False.")
    explained = Numbers(0, 7, whole=True, help="The number whose arithmetic is written out.")

    def __init__(self) -> None:
        one, three = load("one-query"), load("three-tokens")
        fixed = {"scaled": True, "blocked": [False] * 3}
        self.presets = {"One query (S0)": {**{name: one[name] for name in "qkv"}, **fixed}}
        for i in range(3):
            q, k, v = three["q"][i : i + 1], three["k"], three["v"]
            self.presets[f"Three tokens (S3), query {i}"] = {"q": q, "k": k, "v": v, **fixed}
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
        v = Table(self, "v", "v", VALUES, columns[:2], room=58)
        above = HTML(layout=Layout(height="53px", margin="0"))  # beside K's rows
        self._ticks = ticks(self, "blocked", [f"block {key}" for key in KEYS])
        blocks = VBox([above, *self._ticks], layout=SIDE)
        tables = [titled("Q", figures.Q, q), titled("K", figures.K, k), blocks, titled("V", figures.V, v)]
        self._explain = Choice(self, "explained", "Explain", self._numbers(3, 2), room="60px", width="240px")
        mover = Mover([q, k, v], (-2.0, 2.0, 0.05))
        rest = [mover.widget, self._explain.widget, tick(self, "scaled", "divide by √d_k")]
        return [HBox(tables), HBox(rest), picture]

    @staticmethod
    def _numbers(n_k: int, d_v: int) -> list[str]:
        of_keys = [f"{step} of {key}" for step in ("score", "weight") for key in KEYS[:n_k]]
        return [*of_keys, *(f"output[{c}]" for c in range(d_v))]

    @observe("k", "v")
    def _offer(self, _: Any) -> None:
        there = self._numbers(*self.v.shape)
        self.explained = min(self.explained, len(there) - 1)
        self._explain.offer(there)
        for j, one in enumerate(self._ticks):
            one.layout.visibility = "visible" if j < len(self.k) else "hidden"

    def _draw(self) -> Picture:
        dots = attention_scores(self.q, self.k, scale=1.0)
        divisor = math.sqrt(self.q.shape[-1]) if self.scaled else 1.0
        one = Attention(*(step[0] for step in self.steps))
        return steps_of_one_query(self.q[0], self.k, self.v, dots[0], one, divisor, self.explained)

    def _still(self) -> tuple[Any, ...]:
        _, scores, weights, output = (step[0] for step in self.steps)
        if self.scaled and not self.blocked.any():
            keys = KEYS[: len(self.k)]
            return figures.attention_flow, self.q[0], self.k, self.v, scores, weights, output, keys
        return figures.weights_heatmap, weights[None], ["q"], KEYS[: len(self.k)]


def steps_of_one_query(
    q: Array, k: Array, v: Array, dots: Array, steps: Attention, divisor: float, explained: int
) -> Picture:
    """Draw QKᵀ, scores, weights and output of one query, and the arithmetic of one of these numbers.

    q (d_k,), k (n_k, d_k), v (n_k, d_v), dots (n_k,); each of `steps` without its axis of queries.
    """
    wide, gap, top, keys = 56, 58, 44, KEYS[: len(k)]
    scores, weights, output = steps.masked_scores, steps.weights, steps.output
    of_scores = [_score(q, k[j], dots[j], divisor, scores[j], key) for j, key in enumerate(keys)]
    of_weights = [_weight(scores, j, weights[j], key) for j, key in enumerate(keys)]
    of_output = [_output(weights, v[:, c], output[c], c) for c in range(len(output))]
    titles = [*of_scores, *of_weights, *of_output]
    explained = min(explained, len(titles) - 1)
    parts, x, first = [], 6.0, -len(keys)  # the number of a block's first title
    for i, (name, values, color, said) in enumerate((
        ("QKᵀ", dots, NEUTRAL, of_scores), ("scores", scores, NEUTRAL, of_scores),
        ("weights", weights, WEIGHTS, of_weights), ("output", output, OUTPUT, of_output),
    )):  # fmt: skip
        right = x + wide * len(values)
        full = FULL_WEIGHT if color == WEIGHTS else 0.0
        parts.append(
            row(x, top, values, color, titles=said, picked=explained - first if i else -1, full=full)
        )
        parts.append(text((x + right) / 2, 10, f"{name} (1, {len(values)})", bold=True))
        for j, above in enumerate(keys if color != OUTPUT else [f"[{c}]" for c in range(len(values))]):
            parts.append(text(x + (j + 0.5) * wide, top - 12, label(above, wide), size=SMALL))
        if i < 3:
            step = (f"÷ {plain(divisor)}", "softmax", "× V")[i]
            parts.append(text(right + gap / 2, top + 4, step, size=SMALL))
            parts.append(arrow((right + 8, top + 17), (right + gap - 8, top + 17)))
        if color == WEIGHTS:
            parts.append(bars(x, top + 100, values, WEIGHTS, step=wide, tall=56, full=1.0))
        x, first = right + gap, first + len(said)
    parts.append(lines(6, top + 124, titles[explained].split("\n")))
    words = f"Scores {named(scores, keys)}. Weights {named(weights, keys)}. Output {vector(output, 4)}."
    return picture(FULL, top + 162, words, *parts)


def _score(q: Array, key: Array, dot: float, divisor: float, score: float, name: str) -> str:
    """Write out how one score comes about."""
    first = f"q·k of {name}: {products(q, key)} = {number(dot)}"
    if score == -math.inf:
        return f"{first}\n{name} is blocked: its score is −∞"
    return f"{first}\nscore of {name}: {number(dot)} ÷ {plain(divisor)} = {number(score)}"


def _weight(scores: Array, j: int, weight: float, name: str) -> str:
    """Write out how one weight comes about."""
    if not np.isfinite(scores).any():
        return f"weight of {name}: every key is blocked, so there is nothing to share\nall weights are 0"
    powers = np.exp(scores)
    below = " + ".join(f"exp({number(score)})" for score in scores)
    return (
        f"weight of {name}: exp({number(scores[j])}) ÷ ({below})\n"
        f"= {number(powers[j])} ÷ {number(powers.sum())} = {number(weight)}"
    )


def _output(weights: Array, column: Array, output: float, c: int) -> str:
    """Write out how one number of the output comes about."""
    terms = [product(number(w), "·", plain(x, least=1)) for w, x in zip(weights, column, strict=True)]
    return f"output[{c}], from column {c} of V: {' + '.join(terms)}\n= {number(output)}"
