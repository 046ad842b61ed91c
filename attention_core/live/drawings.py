"""The pictures of the views: arrays and labels in, an SVG text and the same facts in words out.

Nothing is computed here beyond layout and the written-out arithmetic of what is shown.
"""

import math
from typing import NamedTuple

import numpy as np

from attention_core._numbers import number, plain, product, vector
from attention_core.attention import Attention
from attention_core.figures import NEUTRAL, OUTPUT, WEIGHTS, K, Q, V
from attention_core.live._shapes import (
    FULL,
    FULL_WEIGHT,
    SMALL,
    Array,
    Drawing,
    Labels,
    arrow,
    bars,
    circle,
    drawing,
    label,
    lines,
    named,
    path,
    plane,
    products,
    rect,
    row,
    text,
)

GAP = "\u2003"  # SVG joins plain spaces


class Picked(NamedTuple):
    """The number whose arithmetic is written out: a "score", "weight" or "output", and which."""

    step: str
    place: int


# --- 1 attention, step by step ----------------------------------------------------------------


def attention_steps(
    q: Array, k: Array, v: Array, dots: Array, steps: Attention, divisor: float, keys: Labels, picked: Picked
) -> Drawing:
    """Draw QKᵀ, scores, weights and output of one query, and the arithmetic of one number.

    q (d_k,), k (n_k, d_k), v (n_k, d_v), dots (n_k,); each of `steps` without its axis of queries.
    """
    n, wide, gap, top = len(keys), 56, 58, 44
    score_titles = [
        score_arithmetic(q, k[j], dots[j], divisor, steps.masked_scores[j], keys[j]) for j in range(n)
    ]
    weight_titles = [weight_arithmetic(steps.masked_scores, j, steps.weights[j], keys[j]) for j in range(n)]
    output_titles = [
        output_arithmetic(steps.weights, v[:, c], steps.output[c], c) for c in range(len(steps.output))
    ]
    at = {step: picked.place if picked.step == step else -1 for step in ("score", "weight", "output")}
    blocks = (
        ("QKᵀ", dots, NEUTRAL, score_titles, -1),
        ("scores", steps.masked_scores, NEUTRAL, score_titles, at["score"]),
        ("weights", steps.weights, WEIGHTS, weight_titles, at["weight"]),
        ("output", steps.output, OUTPUT, output_titles, at["output"]),
    )
    parts, x = [], 6.0
    for i, (name, values, color, titles, here) in enumerate(blocks):
        right = x + wide * len(values)
        full = FULL_WEIGHT if color == WEIGHTS else 0.0
        parts.append(row(x, top, values, color, titles=titles, picked=here, full=full))
        parts.append(text((x + right) / 2, 10, f"{name} (1, {len(values)})", bold=True))
        above = keys if color != OUTPUT else [f"[{c}]" for c in range(len(values))]
        parts += [
            text(x + (j + 0.5) * wide, top - 12, label(a, wide), size=SMALL) for j, a in enumerate(above)
        ]
        if i < 3:
            step = (f"÷ {plain(divisor)}", "softmax", "× V")[i]
            parts.append(text(right + gap / 2, top + 4, step, size=SMALL))
            parts.append(arrow((right + 8, top + 17), (right + gap - 8, top + 17)))
        if color == WEIGHTS:
            parts.append(bars(x, top + 100, values, WEIGHTS, step=wide, tall=56, full=1.0))
        x = right + gap
    all_titles = {"score": score_titles, "weight": weight_titles, "output": output_titles}
    parts.append(lines(6, top + 124, all_titles[picked.step][picked.place].split("\n")))
    words = (
        f"Scores {named(steps.masked_scores, keys)}. Weights {named(steps.weights, keys)}. "
        f"Output {vector(steps.output, 4)}."
    )
    return drawing(FULL, top + 162, words, *parts)


def score_arithmetic(q: Array, key: Array, dot: float, divisor: float, score: float, name: str) -> str:
    """Write out how one score comes about."""
    first = f"q·k of {name}: {products(q, key)} = {number(dot)}"
    if score == -math.inf:
        return f"{first}\n{name} is blocked: its score is −∞"
    return f"{first}\nscore of {name}: {number(dot)} ÷ {plain(divisor)} = {number(score)}"


def weight_arithmetic(scores: Array, j: int, weight: float, name: str) -> str:
    """Write out how one weight comes about."""
    if not np.isfinite(scores).any():
        return f"weight of {name}: every key is blocked, so there is nothing to share\nall weights are 0"
    powers = [math.exp(score) for score in scores]
    below = " + ".join(f"exp({number(score)})" for score in scores)
    return (
        f"weight of {name}: exp({number(scores[j])}) ÷ ({below})\n"
        f"= {number(powers[j])} ÷ {number(sum(powers))} = {number(weight)}"
    )


def output_arithmetic(weights: Array, column: Array, output: float, c: int) -> str:
    """Write out how one number of the output comes about."""
    terms = " + ".join(
        product(number(w), "·", plain(x, least=1)) for w, x in zip(weights, column, strict=True)
    )
    return f"output[{c}], from column {c} of V: {terms}\n= {number(output)}"


# --- 2 dot product and angle ------------------------------------------------------------------


def dot_product(
    a: Array, b: Array, dot: float, lengths: tuple[float, float], angle: float, reach: int
) -> Drawing:
    """Draw two vectors, the shadow of b on a, and both ways to their dot product (angle in degrees)."""
    side, left = 290, 26
    grid, at = plane(left, 8, side, -reach, reach)
    cosine = math.cos(math.radians(angle))
    shadow = a * (dot / lengths[0] ** 2) if lengths[0] > 0 else a * 0
    parts = [
        grid,
        path([at((0, 0)), at(shadow)], color=WEIGHTS, width=9),
        path([at(b), at(shadow)], dashed=True),
        arrow(at((0, 0)), at(a), color=Q, width=4),
        arrow(at((0, 0)), at(b), color=K, width=4),
        *(_tip(at(tip), at((0, 0)), name) for tip, name in ((a, "a"), (b, "b"))),
    ]
    x = left + side + 40
    verdict = (
        "right angle: 0"
        if abs(dot) < 5e-5
        else "same side: above 0"
        if dot > 0
        else "opposite sides: below 0"
    )
    said = [
        f"a = {vector(a, 4)}{GAP}|a| = {number(lengths[0])}",
        f"b = {vector(b, 4)}{GAP}|b| = {number(lengths[1])}",
        f"θ = {number(angle, 1)}°{GAP}cos θ = {number(cosine)}",
        "",
        f"a·b = {products(a, b)}",
        f"{GAP}= {number(dot)}",
        f"|a||b| cos θ = {number(lengths[0])} · {number(lengths[1])} · {number(cosine)}",
        f"{GAP}= {number(dot)}",
        "",
        verdict,
    ]
    parts += [rect(x, 8, 12, 12, Q), rect(x, 34, 12, 12, K), rect(x, 246, 24, 9, WEIGHTS)]
    parts += [lines(x + 20, 14, said[:3], step=26), lines(x, 118, said[4:8], step=26)]
    parts += [text(x + 32, 250, "shadow of b on a: its length times |a| is a·b", anchor="start")]
    parts += [text(x, 280, verdict, anchor="start", bold=True)]
    ends = f"a {vector(a, 4)}, b {vector(b, 4)}, {number(angle, 1)} degrees apart"
    words = f"{ends}; a·b = {number(dot)}, {verdict}."
    return drawing(FULL, side + 34, words, *parts)


def _tip(tip: tuple[float, float], origin: tuple[float, float], name: str) -> str:
    """Write a name beyond the tip of an arrow."""
    length = math.hypot(tip[0] - origin[0], tip[1] - origin[1]) or 1.0
    x, y = (tip[i] + 13 * (tip[i] - origin[i]) / length for i in (0, 1))
    return text(x, y, name, bold=True)


# --- 3 scaling --------------------------------------------------------------------------------


def scaling(
    counts: Array, edge: float, spread: float, expected: float, weights: Array, slopes: Array, gradient: float
) -> Drawing:
    """Draw a histogram of scores from -edge to edge, the weights of 8 keys, and their slopes."""
    floor, tall, keys = 176, 120, range(len(weights))
    step = 240 / len(counts)
    top = max(float(counts.max()), 1.0)
    parts = [text(6, 12, f"scores of {int(counts.sum())} random pairs", anchor="start", bold=True)]
    for i, count in enumerate(counts):
        height = tall * count / top
        parts.append(rect(18 + i * step, floor - height, step, height, NEUTRAL) if count else "")
    parts.append(path([(18, floor), (258, floor)]))
    for tick in (-edge, -edge / 2, 0, edge / 2, edge):
        x = 138 + 120 * tick / edge
        parts.append(path([(x, floor), (x, floor + 5)]) + text(x, floor + 16, plain(tick), size=SMALL))
    reach = min(120 * spread / edge, 120)
    parts.append(path([(138 - reach, 48), (138 + reach, 48)], color=K, width=4))
    parts.append(text(138, 36, f"standard deviation {number(spread, 2)}"))
    for x, name, values, color, full in (
        (290, "weights of 8 keys", weights, WEIGHTS, 1.0),
        (556, "slopes  ∂w/∂s = w (1 − w)", slopes, NEUTRAL, 0.25),
    ):
        titles = [f"key {j}: {number(value)}" for j, value in enumerate(values)]
        parts.append(text(x, 12, name, anchor="start", bold=True))
        parts.append(bars(x, floor, values, color, step=31, tall=tall, full=full, titles=titles))
        for j, value in enumerate(values):
            height = tall * min(value / full, 1)
            parts.append(text(x + (j + 0.5) * 31, floor - height - 9, number(value, 2), size=SMALL))
            parts.append(text(x + (j + 0.5) * 31, floor + 12, str(j), size=SMALL))
    parts.append(lines(6, floor + 44, [f"in theory {number(expected, 2)}"]))
    parts.append(lines(290, floor + 44, [f"largest {number(weights.max())}"]))
    parts.append(lines(556, floor + 44, [f"size of the gradient, ‖∂w/∂s‖ = {number(gradient)}"]))
    words = (
        f"Scores: standard deviation {number(spread, 2)}, in theory {number(expected, 2)}. "
        f"Weights {named(weights, [f'key {j}' for j in keys])}. "
        f"Size of the softmax gradient {number(gradient)}."
    )
    return drawing(FULL, floor + 60, words, *parts)


# --- 4 softmax --------------------------------------------------------------------------------


def softmax_bars(
    inputs: Array,
    weights: Array,
    tokens: Labels,
    ratio: float,
    entropy: float,
    moved: float,
    naive: float,
    dtype: str,
) -> Drawing:
    """Draw what goes into the softmax and the weights that come out, with what can be said of them."""
    step, floor, tall, left = 62, 196, 140, 72
    middles = [left + (j + 0.5) * step for j in range(len(tokens))]
    titles = [
        f"{token}: {number(x)} → {number(w)}" for token, x, w in zip(tokens, inputs, weights, strict=True)
    ]
    parts = [
        text(left, 12, "weights = softmax((logits + c) / T)", anchor="start", bold=True),
        bars(left, floor, weights, WEIGHTS, step=step, tall=tall, full=1.0, titles=titles),
        text(left - 8, floor + 16, "token", anchor="end", size=SMALL),
        text(left - 8, floor + 36, "(x + c)/T", anchor="end", size=SMALL),
    ]
    for x, token, value, weight in zip(middles, tokens, inputs, weights, strict=True):
        parts.append(text(x, floor - tall * float(weight) - 10, number(weight)))
        parts.append(text(x, floor + 16, label(token, step), size=SMALL))
        parts.append(text(x, floor + 36, number(value, 2), size=SMALL))
    largest = math.log(len(tokens))
    said = [
        f"largest ÷ smallest weight: {number(ratio)}",
        f"entropy: {number(entropy)} of at most ln {len(tokens)} = {number(largest)}",
        f"the constant c has moved a weight by {number(moved)} at most",
        f"exp(largest input) in {dtype}: {_power(naive)}",
    ]
    parts.append(lines(left, floor + 66, said))
    words = f"Weights {named(weights, tokens)}. {'. '.join(said)}."
    return drawing(520, floor + 146, words, *parts)


def _power(value: float) -> str:
    return "∞, so it is subtracted first" if value == math.inf else number(value)


# --- 5 weighted values ------------------------------------------------------------------------


def weighted_values(v: Array, weights: Array, output: Array, names: Labels, low: int, high: int) -> Drawing:
    """Draw the values in the plane, the region they span, and the output inside it."""
    side, left = 290, 30
    grid, at = plane(left, 8, side, low, high)
    middle, target = v.mean(axis=0), at(output)
    parts = [grid, path([at(point) for point in v], color=V, width=2, fill=V, opacity=0.18)]
    parts += [
        path([target, at(point)], width=1 + 9 * float(w), color=WEIGHTS)
        for point, w in zip(v, weights, strict=True)
    ]
    for point, name in zip(v, names, strict=True):
        x, y = at(point)
        parts.append(rect(x - 6, y - 6, 12, 12, V, line=1.5))
        beyond = -1 if point[1] >= middle[1] else 1
        parts.append(text(x, y + 18 * beyond, label(name, 90)))
    parts.append(circle(*target, 8, OUTPUT))
    x = left + side + 16
    parts.append(text(x, 14, "weights", anchor="start", bold=True))
    for i, (name, weight) in enumerate(zip(names, weights, strict=True)):
        y = 38 + 26 * i
        parts.append(text(x, y, f"{label(name, 40)}  {number(weight)}", anchor="start"))
        parts.append(rect(x + 88, y - 7, 84 * float(weight), 14, WEIGHTS, line=0.6))
    parts.append(circle(x + 8, 126, 8, OUTPUT) + text(x + 24, 126, "output", anchor="start", bold=True))
    parts.append(text(x, 148, vector(output, 4), anchor="start"))
    for c in (0, 1):
        said = [product(number(w), "·", plain(x, least=1)) for w, x in zip(weights, v[:, c], strict=True)]
        first = f"output[{c}] = {said[0]}"
        parts.append(lines(x, 178 + 74 * c, [first, *(f"+ {term}" for term in said[1:])]))
    points = ", ".join(f"{name} {vector(point, 4)}" for name, point in zip(names, v, strict=True))
    words = (
        f"Values {points}. Weights {named(weights, names)}. Output {vector(output, 4)}, inside their region."
    )
    return drawing(540, side + 34, words, *parts)
