"""Numbers on their way through attention, as cells and arrows."""

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes

from attention_core._numbers import counted, dot_product, numbers, vector
from attention_core.figures._marks import (
    Box,
    arrow,
    cell_width,
    cells,
    column_labels,
    line,
    operation,
    page,
    rectangle,
    shade,
    tint,
    weight_shade,
    write,
)
from attention_core.figures._style import (
    BODY,
    CELL,
    INK,
    NEUTRAL,
    OUTPUT,
    QUIET,
    ROLES,
    SMALL,
    SYMBOL,
    WEIGHTS,
    Floats,
    K,
    Labels,
    Q,
    V,
    agree,
    array,
    sized_by_content,
    text_width,
    width_of,
)

Role = Literal["q", "k", "v"]


@sized_by_content
def matrix_vector(
    ax: Axes, matrix: Any, x: Any, product: Any, token: str, features: Labels, role: Role = "k"
) -> str:
    """Draw matrix × vector: each row of the matrix is laid against x and gives one number.

    `matrix` is in column convention (product = matrix @ x) and square, so that rows and columns
    carry the same `features`; `role` ("q", "k" or "v") gives the colour and the names.
    """
    w = array(f"w_{role}", matrix, rows=features, columns=features)
    x, y = array("x", x, features=features), array("product", product, features=features)
    agree("product", y, "matrix @ x", w @ x)
    color, name = ROLES[role], f"{role}({token})"
    page(ax)
    wide, gap = max(cell_width(w, x), *(text_width(feature) + 0.1 for feature in features)), 0.14
    terms = [dot_product(numbers(row), numbers(x)) for row in w]
    end = wide * len(x) + 0.2 + max(map(text_width, terms)) + 0.15
    top = cells(ax, 0, 0, x, shade(NEUTRAL, x), NEUTRAL, width=wide)
    column_labels(ax, [(j + 0.5) * wide for j in range(len(x))], 0.08, features, wide, below=False)
    write(ax, -0.15, top.y, f"x({token})", BODY, ha="right")
    for i, (feature, row) in enumerate(zip(features, w, strict=True)):
        probe = cells(
            ax, 0, -CELL - 0.4 - i * (CELL + gap), row, shade(color, w), tint(color, 0.5), width=wide
        )
        for j in np.flatnonzero(row * x):
            match = Box(j * wide, probe.bottom, (j + 1) * wide, probe.top)
            rectangle(ax, match, "none", INK, line=2)
        write(ax, probe.right + 0.2, probe.y, terms[i], SMALL, ha="left", color=QUIET)
        arrow(ax, (end, probe.y), (end + 0.35, probe.y))
        result = cells(ax, end + 0.43, probe.top, y[i : i + 1], shade(color, y), color,
                       width=cell_width(y), texts=[numbers(y)[i]])  # fmt: skip
        write(ax, -0.15, probe.y, feature, SMALL, ha="right")
        write(ax, result.right + 0.1, result.y, feature, SMALL, ha="left")
    write(ax, -0.15, -CELL - 0.2, f"$W_{role.upper()}$", SYMBOL, ha="right", math=True)
    write(ax, result.x, top.y, name, BODY)
    lines = [
        f"Row {feature} {vector(row)} gives {number}."
        for feature, row, number in zip(features, w, numbers(y), strict=True)
    ]
    return f"W_{role.upper()} times x({token}) = {vector(x)}. {' '.join(lines)} So {name} = {vector(y)}."


@sized_by_content
def qkv_pipeline(
    ax: Axes, x: Any, w_q: Any, w_k: Any, w_v: Any, q: Any, k: Any, v: Any, token: str, features: Labels
) -> str:
    """Draw one embedding on its way through W_Q, W_K and W_V (column convention: q = W_Q x)."""
    x = array("x", x, features=features)
    page(ax)
    lanes = []
    for role, w, y in (("q", w_q, q), ("k", w_k, k), ("v", w_v, v)):
        y = array(role, y, rows=width_of(y))
        w = array(f"w_{role}", w, rows=len(y), columns=features)
        agree(role, y, f"w_{role} @ x", w @ x)
        lanes.append((role, w, y))
    side, tall = 0.32, 0.32 * max(len(y) for _, _, y in lanes) + 0.55
    wide = max(cell_width(w, least=side, size=SMALL) for _, w, _ in lanes)
    middle = -tall
    embedding = cells(ax, 0, middle + 0.5 * CELL * len(x), x[:, None], shade(NEUTRAL, x), NEUTRAL,
                      width=cell_width(x))  # fmt: skip
    for i, feature in enumerate(features):
        write(ax, -0.1, embedding.top - (i + 0.5) * CELL, feature, SMALL, ha="right")
    write(ax, embedding.x, embedding.top + 0.16, f"x({token})", BODY)
    for lane, (role, w, y) in enumerate(lanes):
        color, centre = ROLES[role], -lane * tall
        matrix = cells(ax, 1.75, centre + side * len(y) / 2, w, shade(color, w), tint(color, 0.5),
                       width=wide, height=side, size=SMALL)  # fmt: skip
        write(ax, matrix.x, matrix.top + 0.17, f"$W_{role.upper()}$", SYMBOL, math=True)
        start = (embedding.right + 0.08, middle + 0.25 * (1 - lane))
        arrow(ax, start, (matrix.left - 0.08, centre))
        arrow(ax, (matrix.right + 0.08, centre), (matrix.right + 0.7, centre))
        result = cells(ax, matrix.right + 0.78, matrix.top, y[:, None], shade(color, y), color,
                       width=max(cell_width(y) for _, _, y in lanes), height=side)  # fmt: skip
        write(ax, result.right + 0.12, centre, f"{role}({token})", BODY, ha="left")
    said = [
        f"W_{role.upper()} with rows {', '.join(map(vector, w))} gives {role}({token}) = {vector(y)}"
        for role, w, y in lanes
    ]
    return f"The embedding x({token}) = {vector(x)} goes through three matrices: {'; '.join(said)}."


@sized_by_content
def attention_flow(
    ax: Axes, q: Any, k: Any, v: Any, scores: Any, weights: Any, output: Any, keys: Labels
) -> str:
    """Draw one query meeting its keys: scores, softmax, weighted values, output."""
    q, z = array("q", q, d_k=width_of(q)), array("output", output, d_v=width_of(output))
    k, v = array("k", k, keys=keys, d_k=len(q)), array("v", v, keys=keys, d_v=len(z))
    s, w = array("scores", scores, keys=keys), array("weights", weights, keys=keys)
    agree("output", z, "weights @ v", w @ v)
    page(ax)
    pitch, last = CELL + 0.22, len(keys) - 1
    wide, value_wide, room = (
        cell_width(q, k, least=0.5),
        cell_width(v, z, least=0.5),
        cell_width(s, least=0.62),
    )
    query = cells(ax, 0, 0.85 + CELL, q, shade(Q, q), Q, width=wide)
    write(ax, -0.15, query.y, "q", BODY, ha="right")
    for j in range(len(q)):
        arrow(ax, ((j + 0.5) * wide, query.bottom - 0.06), ((j + 0.5) * wide, CELL / 2 + 0.08))
    score_x, weight_x = query.right + 0.75, query.right + 0.75 + room + 1.15
    value_x = weight_x + room + 0.45
    for i, key in enumerate(keys):
        y = -i * pitch + CELL / 2
        key_row = cells(ax, 0, y, k[i], shade(K, k), K, width=wide, texts=_row(k, i))
        write(ax, -0.15, key_row.y, key, BODY, ha="right")
        score = cells(ax, score_x, y, s[i : i + 1], shade(NEUTRAL, s), NEUTRAL, width=room, texts=_row(s, i))
        arrow(ax, (key_row.right + 0.1, key_row.y), (score.left - 0.08, key_row.y))
        weight = cells(ax, weight_x, y, w[i : i + 1], weight_shade, WEIGHTS, width=room, texts=_row(w, i))
        value = cells(ax, value_x, y, v[i], shade(V, v), V, width=value_wide, texts=_row(v, i))
        write(ax, (weight.right + value.left) / 2, weight.y, "×", SYMBOL)
    bottom = -last * pitch - CELL / 2
    _softmax_between(ax, score, weight, CELL / 2, bottom)
    heading = query.bottom - 0.3
    write(ax, score.x, heading, r"$q\cdot k\,/\sqrt{d_k}$", SYMBOL, math=True)
    write(ax, weight.x, heading, "weights", BODY)
    write(ax, value.x, heading, "v", BODY)
    arrow(ax, (value.x, bottom - 0.08), (value.x, bottom - 0.52))
    write(ax, value.x - 0.12, bottom - 0.3, "Σ", SYMBOL, ha="right")
    result = cells(ax, value_x, bottom - 0.6, z, shade(OUTPUT, z), INK, width=value_wide)
    write(ax, result.left - 0.15, result.y, "output", BODY, ha="right")
    said = [
        f"{key} {vector(k[i])} scores {numbers(s)[i]} and gets weight {numbers(w)[i]}, "
        f"which multiplies the value {vector(v[i])}"
        for i, key in enumerate(keys)
    ]
    return f"The query {vector(q)} meets {counted(len(keys))} keys. {'; '.join(said)}. Output: {vector(z)}."


def _row(x: Floats, i: int) -> list[str]:
    """Return the texts of row i, with decimals that suit the whole of x."""
    return list(np.reshape(numbers(x), (len(x), -1))[i])


def _softmax_between(ax: Axes, score: Box, weight: Box, top: float, bottom: float) -> None:
    """Draw softmax as one box that takes the whole column of scores."""
    box = Box(score.right + 0.22, bottom, weight.left - 0.22, top)
    operation(ax, box, "")
    write(ax, box.x, box.y, "softmax", BODY, vertical=True)
    arrow(ax, (score.right + 0.04, box.y), (box.left - 0.02, box.y))
    arrow(ax, (box.right + 0.02, box.y), (weight.left - 0.04, box.y))


@sized_by_content
def bahdanau(
    ax: Axes, states: Any, decoder: Any, scores: Any, weights: Any, context: Any, tokens: Labels
) -> str:
    """Draw one step of a decoder that attends to the states of an encoder (Bahdanau et al., 2015)."""
    h = array("states", states, tokens=tokens, d=width_of(states))
    s, c = array("decoder", decoder, d=width_of(decoder)), array("context", context, d=h.shape[1])
    e, a = array("scores", scores, tokens=tokens), array("weights", weights, tokens=tokens)
    agree("context", c, "weights @ states", a @ h)
    page(ax)
    wide, tall = cell_width(h, e, c, least=0.62), 0.34
    pitch = wide + 0.58
    xs = [i * pitch for i in range(len(tokens))]
    e_y, band_y, a_y, c_y = 1.0, 1.95, 2.75, 4.0
    band = operation(ax, Box(-wide, band_y - 0.2, xs[-1] + wide, band_y + 0.2), "softmax")
    middle = sum(xs) / len(xs)
    context_box = cells(ax, middle - wide * len(c) / 2, c_y + tall / 2, c, shade(OUTPUT, c), INK,
                        width=wide, height=tall)  # fmt: skip
    for j, (x, token) in enumerate(zip(xs, tokens, strict=True)):
        state = cells(ax, x - wide / 2, 0, h[j][:, None], shade(V, h), V, width=wide, height=tall,
                      texts=_row(h, j))  # fmt: skip
        write(ax, x, state.bottom - 0.2, f"$h_{{{j + 1}}}$", SYMBOL, math=True)
        write(ax, x, state.bottom - 0.45, token, BODY)
        score = cells(ax, x - wide / 2, e_y + tall / 2, e[j : j + 1], shade(NEUTRAL, e), NEUTRAL,
                      width=wide, height=tall, texts=_row(e, j))  # fmt: skip
        weight = cells(ax, x - wide / 2, a_y + tall / 2, a[j : j + 1], weight_shade, WEIGHTS,
                       width=wide, height=tall, texts=_row(a, j))  # fmt: skip
        arrow(ax, (x, 0.05), (x, score.bottom - 0.05))
        arrow(ax, (x, score.top + 0.05), (x, band.bottom - 0.03))
        arrow(ax, (x, band.top + 0.03), (x, weight.bottom - 0.05))
        arrow(ax, (x, weight.top + 0.05), (middle + (x - middle) * 0.25, context_box.bottom - 0.05), WEIGHTS)
        if j:
            arrow(ax, (x - pitch + wide / 2 + 0.05, state.y), (x - wide / 2 - 0.05, state.y), V)
    _decoder(ax, s, context_box, xs, e_y, wide)
    write(ax, xs[-1] + wide + 0.1, e_y, "$e_{tj}$", SYMBOL, ha="left", math=True)
    write(ax, xs[-1] + wide + 0.1, a_y, r"$\alpha_{tj}$", SYMBOL, ha="left", math=True)
    write(ax, context_box.right + 0.12, c_y, r"$c_t=\sum_j\,\alpha_{tj}\,h_j$", SYMBOL, ha="left", math=True)
    said = [
        f"{token} {vector(h[j])} scores {numbers(e)[j]} and gets weight {numbers(a)[j]}"
        for j, token in enumerate(tokens)
    ]
    return (
        f"The decoder state {vector(s)} is compared with {counted(len(tokens))} encoder states. "
        f"{'; '.join(said)}. The weighted sum of the states is the context {vector(c)}."
    )


def _decoder(ax: Axes, s: Floats, context: Box, xs: list[float], e_y: float, wide: float) -> None:
    """Draw the decoder's old state, which takes part in every score, and its next one."""
    tall, bus = 0.34, 0.42
    old = cells(
        ax, -1.38 - wide, e_y + tall * len(s) / 2, s[:, None], shade(Q, s), Q, width=wide, height=tall
    )
    write(ax, old.x, old.top + 0.2, "$s_{t-1}$", SYMBOL, math=True)
    line(ax, (old.x, old.bottom - 0.05), (old.x, bus), (xs[-1] - 0.2, bus), color=Q)
    for x in xs:
        arrow(ax, (x - 0.2, bus), (x - 0.2, e_y - tall / 2 - 0.05), Q)
    new = Box(old.left, context.y - tall, old.right, context.y + tall)
    rectangle(ax, new, tint(Q, 0.12), Q)
    write(ax, new.x, new.y, "$s_t$", SYMBOL, math=True)
    arrow(ax, (old.x, old.top + 0.4), (old.x, new.bottom - 0.05), Q)
    arrow(ax, (context.left - 0.08, context.y), (new.right + 0.06, context.y), INK)
