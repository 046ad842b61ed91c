"""Box-and-arrow pictures. Use them through `attention_core.figures`, which has every picture."""

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes

from attention_core._numbers import counted, dot_product, numbers, vector
from attention_core.figures._drawing import (
    BODY,
    CELL,
    INK,
    NEUTRAL,
    OUTPUT,
    QUIET,
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
from attention_core.figures._shapes import (
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

ROLES = {"q": Q, "k": K, "v": V}
Role = Literal["q", "k", "v"]


# --- vectors ----------------------------------------------------------------------------------


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


# --- attention --------------------------------------------------------------------------------


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


# --- several heads ----------------------------------------------------------------------------


@sized_by_content
def multi_head_sketch(ax: Axes, d_model: int, n_heads: int, d_head: int) -> str:
    """Draw x going to all heads at once, their outputs side by side, and W_O."""
    agree("n_heads · d_head", n_heads * d_head, "d_model", d_model)
    page(ax)
    many = n_heads > 4
    drawn = [0, 1, n_heads - 1] if many else list(range(n_heads))
    heights = [-1.2 * place - (0.5 if many and place == 2 else 0) for place in range(len(drawn))]
    middle, narrow = (heights[0] + heights[-1]) / 2, max(1 / n_heads, 0.12)
    x = _sheet(ax, 0, middle, 1, f"n × {d_model}")
    rectangle(ax, x, tint(NEUTRAL, 0.25), QUIET)
    write(ax, x.x, x.y, "x", BODY)
    merged = _sheet(ax, 5.05 + narrow, middle, 1, f"n × {d_model}")
    for place, (head, y) in enumerate(zip(drawn, heights, strict=True)):
        box = operation(ax, Box(1.9, y - 0.42, 3.55, y + 0.42), "")
        write(ax, box.x, y + 0.16, f"head {head + 1}", BODY)
        formula = r"\ \ ".join(f"W_{role}^{{{head + 1}}}" for role in "QKV")
        write(ax, box.x, y - 0.17, f"${formula}$", SYMBOL, math=True)
        own = _sheet(ax, 4.0, y, narrow, f"n × {d_head}")
        left = merged.left + head / n_heads
        _slice(ax, own, place)
        _slice(ax, Box(left, merged.bottom, left + 1 / n_heads, merged.top), place)
        fan = middle + 0.12 * ((len(drawn) - 1) / 2 - place)
        arrow(ax, (x.right + 0.08, fan), (box.left - 0.08, y))
        arrow(ax, (box.right + 0.08, y), (own.left - 0.08, y))
        arrow(ax, (own.right + 0.08, y), (merged.left - 0.08, fan))
    if many:
        write(ax, box.x, (heights[1] + heights[2]) / 2, "⋮", SYMBOL)
    rectangle(ax, merged, "none", INK)
    left = merged.right + 0.55
    w_o = operation(ax, Box(left, middle - 0.42, left + 0.75, middle + 0.42), "$W_O$", math=True)
    output = _sheet(ax, w_o.right + 0.45, middle, 1, f"n × {d_model}")
    rectangle(ax, output, OUTPUT, INK)
    write(ax, output.x, output.y, "output", BODY)
    arrow(ax, (merged.right + 0.08, middle), (w_o.left - 0.08, middle))
    arrow(ax, (w_o.right + 0.08, middle), (output.left - 0.08, middle))
    return (
        f"x (n × {d_model}) goes to {n_heads} heads at once; each has its own W_Q, W_K and W_V and returns "
        f"n × {d_head}. Side by side they are n × {d_model} again; W_O mixes them into the output."
    )


def _sheet(ax: Axes, left: float, y: float, wide: float, shape: str) -> Box:
    """Return the room for an array of n rows, its width in proportion, with its shape written below."""
    box = Box(left, y - 0.4, left + wide, y + 0.4)
    write(ax, box.x, box.bottom - 0.16, shape, SMALL)
    return box


def _slice(ax: Axes, box: Box, place: int) -> None:
    """Draw one head's output; its hatching is the same where it appears again."""
    strength, hatch = ((0.75, None), (0.4, "///"), (0.15, r"\\\\\\"), (0.55, "xxx"))[place]
    rectangle(ax, box, tint(V, strength), INK, hatch=hatch)


@sized_by_content
def multi_head_block(ax: Axes, d_model: int, n_heads: int, d_head: int) -> str:
    """Draw the steps of `multi_head` from top to bottom, with the shape after each."""
    agree("n_heads · d_head", n_heads * d_head, "d_model", d_model)
    page(ax)
    step, xs = 0.92, (0.0, 2.0, 4.0)
    for role, x, n in zip(ROLES, xs, "qkk", strict=True):
        source = "$x_q$" if role == "q" else "$x_{kv}$"
        write(ax, x, 0.95 * step, source, SYMBOL, math=True)
        _down(ax, x, 0.95 * step - 0.18, 0.24, f"(n_{n}, {d_model})")
        operation(ax, _at(x, 0), f"$W_{role.upper()}$", ROLES[role], math=True)
        _down(ax, x, -0.24, -step + 0.24, f"(n_{n}, {d_model})")
        operation(ax, _at(x, -step), "split_heads", ROLES[role])
        _down(ax, x, -step - 0.24, -2 * step + 0.32, f"({n_heads}, n_{n}, {d_head})")
    middle, attend = xs[1], Box(xs[0] - 0.75, -2 * step - 0.3, xs[2] + 0.75, -2 * step + 0.3)
    for back in (2, 1):  # sheets behind the front one: the same step in every head
        shift = 0.07 * back
        sheet = Box(attend.left + shift, attend.bottom - shift, attend.right + shift, attend.top - shift)
        operation(ax, sheet, "")
    operation(ax, attend, "")
    write(ax, attend.x, attend.y, r"$\mathrm{softmax}\left(q\,k^{T}/\sqrt{d_k}\right)v$", SYMBOL, math=True)
    write(ax, attend.right + 0.25, attend.y, f"× {n_heads}", SYMBOL, ha="left")
    y = attend.bottom - 0.16
    for name, shape, is_formula in (
        ("merge_heads", f"({n_heads}, n_q, {d_head})", False),
        ("$W_O$", f"(n_q, {d_model})", True),
    ):
        _down(ax, middle, y, y - 0.44, shape)
        operation(ax, _at(middle, y - 0.68), name, math=is_formula)
        y -= step
    _down(ax, middle, y, y - 0.44, f"(n_q, {d_model})")
    write(ax, middle, y - 0.58, "output", BODY)
    return (
        f"From top to bottom: x_q and x_kv, {d_model} wide, through W_Q, W_K and W_V; split_heads makes "
        f"{n_heads} heads of {d_head}; each head attends by itself; merge_heads puts {n_heads} × {d_head} = "
        f"{d_model} back together; W_O gives the output, {d_model} wide."
    )


def _at(x: float, y: float) -> Box:
    return Box(x - 0.75, y - 0.22, x + 0.75, y + 0.22)


def _down(ax: Axes, x: float, start: float, end: float, shape: str) -> None:
    """Draw an arrow down, with the shape of what flows."""
    arrow(ax, (x, start), (x, end))
    write(ax, x + 0.1, (start + end) / 2, shape, SMALL, ha="left")
