"""The pictures of the live views on tokens: arrays and labels in, SVG and words out (see `drawings`)."""

import itertools
from html import escape
from typing import NamedTuple

import numpy as np

from attention_core._numbers import number, plain, product, vector
from attention_core.figures import NEGATIVE, NEUTRAL, OUTPUT, WEIGHTS, K, Q, V
from attention_core.live._shapes import (
    FULL,
    FULL_WEIGHT,
    SMALL,
    STRONGEST,
    Array,
    Drawing,
    Labels,
    arrow,
    cell,
    drawing,
    label,
    lines,
    named,
    path,
    rect,
    shades,
    small_matrix,
    text,
)

# --- 6 it -> animal ---------------------------------------------------------------------------


def it_animal(
    scores: Array,
    weights: Array,
    values: Array,
    output: Array,
    tokens: Labels,
    asking: int,
    entry: int,
    feature: str,
) -> Drawing:
    """Draw the weights of all tokens, and how one number of the asking token's output adds up.

    scores and weights (n, n), values (n,): the `entry` of each token's value; output: the whole row.
    """
    n, side, left, top = len(tokens), 40, 52, 60
    parts = [text(left, 12, f"weights ({n}, {n}), each row asks", anchor="start", bold=True)]
    strengths = shades(weights, FULL_WEIGHT)
    for i, j in itertools.product(range(n), range(n)):
        x, y, weight = left + j * side, top + i * 32, float(weights[i, j])
        title = f"{tokens[i]} asks {tokens[j]}: score {number(scores[i, j])}, weight {number(weight)}"
        shown = number(weight, 2, 4)
        parts.append(cell(x, y, side, 32, shown, WEIGHTS, strengths[i, j], title=title, size=SMALL))
    for i, token in enumerate(tokens):
        parts.append(
            text(
                left - 6,
                top + (i + 0.5) * 32,
                label(token, left - 6),
                anchor="end",
                size=SMALL,
                bold=i == asking,
            )
        )
        parts.append(text(left + (i + 0.5) * side, top - 14, label(token, side), size=SMALL))
    parts.append(rect(left, top + asking * 32, n * side, 32, line=3))
    parts += _waterfall(left + n * side + 22, top, weights[asking], values, float(output[entry]), tokens)
    title = f"output({label(tokens[asking], 60)})[{entry}]: {feature}"
    parts.append(text(left + n * side + 22, 12, title, anchor="start", bold=True))
    y = top + n * 32 + 22
    said = f"output({label(tokens[asking], 60)}) = {vector(output, 4)}"
    parts.append(rect(4, y - 9, 18, 18, OUTPUT, STRONGEST[OUTPUT], 1.5) + text(30, y, said, anchor="start"))
    words = (
        f"{tokens[asking]} gives its weights: {named(weights[asking], tokens)}. Output {vector(output, 4)}."
    )
    return drawing(574, int(y + 16), words, *parts)


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
        arithmetic = product(number(weights[j]), " · ", plain(values[j], least=1))
        title = f"{tokens[j]}: {arithmetic} = {number(term)}"
        bar = rect(x + j * wide + 3, y(high_end), wide - 6, y(low_end) - y(high_end), V, line=0.8)
        parts.append(f"<g><title>{escape(title)}</title>{bar}</g>")
        if abs(term) >= 5e-3:
            parts.append(text(x + (j + 0.5) * wide, y(high_end) - 9, number(term, 2, 5), size=SMALL))
    end = x + len(terms) * wide
    parts.append(rect(end + 3, y(max(total, 0)), wide - 6, abs(total) * unit, OUTPUT, line=1.5))
    parts.append(text(end + wide / 2, y(max(total, 0)) - 9, number(total, 2, 5), size=SMALL, bold=True))
    for j, name in enumerate([*tokens, "sum"]):
        parts.append(
            text(x + (j + 0.5) * wide, floor + 10, label(name, 60), size=SMALL, turn=True, anchor="end")
        )
    return parts


# --- 7 heads ----------------------------------------------------------------------------------


class HeadSteps(NamedTuple):
    """Every matrix between the input and the output of multi-head attention, before merging.

    x (n, d_model); q, k, v (n, d_model); weights (n_heads, n, n); merged and output (n, d_model).
    """

    x: Array
    q: Array
    k: Array
    v: Array
    weights: Array
    merged: Array
    output: Array


def heads(steps: HeadSteps, tokens: Labels, head: int) -> Drawing:
    """Draw how the columns are split into heads, each head's weights, and how they are merged."""
    n, d_model = steps.x.shape
    n_heads, side = len(steps.weights), 12
    d_head = d_model // n_heads
    wide, high, top = d_model * side, n * side, 46
    parts = [
        _headed(0, top + 70, "X", steps.x, NEUTRAL, side),
        _step(100, top + 94, "× W"),
        _step(244, top + 94, "split"),
        _step(522, top + 94, "merge"),
        _headed(566, top + 70, "merged", steps.merged, V, side),
        rect(566 + head * d_head * side, top + 70, d_head * side, high, line=3),
        _step(666, top + 94, "× W_O"),
        _headed(706, top + 70, "output", steps.output, OUTPUT, side),
        rect(706, top + 70, wide, high, line=1.2),
        rect(0, top + 250, 12, 12, NEGATIVE) + text(18, top + 256, "below zero", anchor="start", size=SMALL),
    ]
    for i, (name, values, color) in enumerate((("Q", steps.q, Q), ("K", steps.k, K), ("V", steps.v, V))):
        y = top + i * (high + 36)
        parts.append(_headed(142, y, name, values, color, side))
        parts.append(rect(142 + head * d_head * side, y, d_head * side, high, line=3))
    parts.append(text(290, 12, f"weights ({n_heads}, {n}, {n})", bold=True, anchor="start"))
    for h in range(n_heads):
        x, y = 290 + h % 4 * (high + 10), top + h // 4 * (high + 22)
        parts.append(text(x + high / 2, y - 9, f"head {h}", size=SMALL, bold=h == head))
        parts.append(small_matrix(x, y, steps.weights[h], WEIGHTS, side=side))
        parts.append(rect(x, y, high, high, line=3 if h == head else 0.6))
    parts += _large_head(338, top + 164, steps.weights[head], tokens)
    parts.append(text(338 + 2 * 44, top + 136, f"head {head}: d_head = {d_head}", bold=True))
    said = [
        f"split: ({n}, {d_model}) → ({n}, {n_heads}, {d_head}) → ({n_heads}, {n}, {d_head})",
        f"merge: ({n_heads}, {n}, {d_head}) → ({n}, {n_heads}, {d_head}) → ({n}, {d_model})",
    ]
    parts.append(lines(530, top + 200, said))
    words = (
        f"{n_heads} heads of width {d_head}. Weights of head {head}: "
        + " ".join(f"{token}: {vector(r, 4)}." for token, r in zip(tokens, steps.weights[head], strict=True))
        + f" {said[0]}; {said[1]}."
    )
    return drawing(FULL, top + 296, words, *parts)


def _step(x: float, y: float, name: str) -> str:
    """Draw an arrow to the next matrix with the name of the step."""
    return text(x + 19, y - 11, name, size=SMALL) + arrow((x, y), (x + 38, y))


def _headed(x: float, y: float, name: str, values: Array, color: str, side: float) -> str:
    """Draw a small matrix with its name and shape above it."""
    n, m = values.shape
    return text(x + m * side / 2, y - 11, f"{name} ({n}, {m})", bold=True) + small_matrix(
        x, y, values, color, side=side
    )


def _large_head(x: float, y: float, weights: Array, tokens: Labels) -> list[str]:
    """Draw one head's weights with numbers."""
    parts = []
    for i, token in enumerate(tokens):
        parts.append(text(x - 6, y + (i + 0.5) * 30, label(token, 60), anchor="end", size=SMALL))
        parts.append(text(x + (i + 0.5) * 44, y - 9, label(token, 50), size=SMALL))
        for j, weight in enumerate(weights[i]):
            title = f"{token} asks {tokens[j]}: weight {number(weight)}"
            parts.append(
                cell(
                    x + j * 44,
                    y + i * 30,
                    44,
                    30,
                    number(weight, 2),
                    WEIGHTS,
                    weight / FULL_WEIGHT,
                    title=title,
                )
            )
    return parts
