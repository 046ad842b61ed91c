"""Bars: one for each number."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from attention_core._numbers import numbers, product
from attention_core.figures._marks import (
    Box,
    bar_row,
    column_labels,
    labels_height,
    line,
    page,
    rectangle,
    write,
)
from attention_core.figures._style import (
    BODY,
    INK,
    NEUTRAL,
    OUTPUT,
    SMALL,
    WEIGHTS,
    Labels,
    V,
    agree,
    array,
    sized_by_content,
    spread,
    text_width,
)


@sized_by_content
def score_bars(ax: Axes, scores: Any, tokens: Labels, query: str) -> str:
    """Draw the scores of one query, a bar for each key."""
    x = array("scores", scores, finite=False, tokens=tokens)
    page(ax)
    box = bar_row(ax, 0, 0, x, tokens, NEUTRAL)
    write(ax, box.left, box.top + 0.4, f"scores({query})", BODY, ha="left")
    return f"Scores of {query}: {spread(numbers(x), tokens)}."


@sized_by_content
def weight_bars(ax: Axes, weights: Any, tokens: Labels, query: str) -> str:
    """Draw the weights of one query, a bar for each key, on a scale to 1; the dashed line is equal shares."""
    x = array("weights", weights, tokens=tokens)
    page(ax)
    box = bar_row(ax, 0, 0, x, tokens, WEIGHTS, top=1.0)
    _mark_one(ax, box)
    share = box.top / len(tokens)
    line(ax, (box.left, share), (box.right, share), width=1.0, dashed=True)
    write(ax, box.right + 0.06, share, f"1/{len(tokens)}", BODY, ha="left")
    write(ax, box.left, box.top + 0.4, f"weights({query})", BODY, ha="left")
    return f"Weights of {query}: {spread(numbers(x), tokens)}. Equal shares would be 1/{len(tokens)}."


@sized_by_content
def weight_rows(ax: Axes, weights: Any, names: Labels, tokens: Labels) -> str:
    """Draw several rows of weights over the same keys, to be compared: one scale, to 1, for all.

    `names` says how each row came about: a temperature, a way to score, a sentence and a head.
    """
    x = array("weights", weights, names=names, tokens=tokens)
    page(ax)
    step, tall = 0.46, 1.6
    wide = max(len(tokens) * step, *(text_width(name, BODY) for name in names)) + 0.4
    across = max(1, int(9 / wide))
    for i, (name, row) in enumerate(zip(names, x, strict=True)):
        base = -(i // across) * (tall + 0.85 + labels_height(tokens, step))
        box = bar_row(ax, (i % across) * wide, base, row, tokens, WEIGHTS, step=step, tall=tall, top=1.0)
        _mark_one(ax, box)
        write(ax, box.left, box.top + 0.35, name, BODY, ha="left")
    lines = [f"{name}: {spread(numbers(row), tokens)}." for name, row in zip(names, x, strict=True)]
    return "Weights over the same keys. " + " ".join(lines)


def _mark_one(ax: Axes, box: Box) -> None:
    """Draw the line where a weight of 1 would end."""
    line(ax, (box.left, box.top), (box.right, box.top), width=0.6, dashed=True)
    write(ax, box.left - 0.06, box.top, "1", SMALL, ha="right")


@sized_by_content
def waterfall(
    ax: Axes, weights: Any, values: Any, terms: Any, total: float, tokens: Labels, output: str
) -> str:
    """Draw how one number of the output adds up: each term is weight × value."""
    w, v, t = (
        array(name, x, tokens=tokens)
        for name, x in (("weights", weights), ("values", values), ("terms", terms))
    )
    agree("terms", t, "weights * values", w * v)
    agree("total", total, "the sum of terms", t.sum())
    page(ax)
    ends = np.concatenate([[0.0], np.cumsum(t)])
    inch = 2.4 / max(float(np.ptp(ends)), 1.0)  # a sum of nearly nothing stays low
    step, half, floor = 1.0, 0.3, ends.min() * inch - 0.1
    texts = numbers([*t, total])
    for i, (start, end) in enumerate(zip(ends[:-1] * inch, ends[1:] * inch, strict=True)):
        x = i * step
        rectangle(ax, Box(x - half, min(start, end), x + half, max(start, end)), V, INK)
        line(ax, (x + half, end), (x + step - half, end), width=0.8)
        write(ax, x, max(start, end) + 0.05, texts[i], va="bottom")
    x, end = len(t) * step, ends[-1] * inch
    rectangle(ax, Box(x - half, min(0, end), x + half, max(0, end)), OUTPUT, INK, hatch="//")
    write(ax, x, max(0, end) + 0.05, texts[-1], va="bottom")
    line(ax, (-step / 2, 0), (x + step / 2, 0), width=1.0)
    products = [product(a, " × ", b) for a, b in zip(numbers(w), numbers(v), strict=True)]
    centres = [i * step for i in range(len(t) + 1)]
    column_labels(ax, centres, floor, [*tokens, output], 0.96 * step, below=True)
    below = floor - labels_height([*tokens, output], 0.96 * step) - 0.08
    column_labels(ax, centres[:-1], below, products, 0.96 * step, below=True)
    said = [f"{token} {p} = {r}" for token, p, r in zip(tokens, products, texts, strict=False)]
    return f"{output} adds up from zero: {', '.join(said)}; together {texts[-1]}."
