"""One step of a decoder that attends: numbers as cells, and arrows."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from attention_core._numbers import counted, numbers, vector
from attention_core.figures._marks import (
    Box,
    arrow,
    cell_width,
    cells,
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
    INK,
    NEUTRAL,
    OUTPUT,
    SYMBOL,
    WEIGHTS,
    Floats,
    Labels,
    Q,
    V,
    agree,
    array,
    sized_by_content,
    width_of,
)


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


def _row(x: Floats, i: int) -> list[str]:
    """Return the texts of row i, with decimals that suit the whole of x."""
    return list(np.reshape(numbers(x), (len(x), -1))[i])


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
