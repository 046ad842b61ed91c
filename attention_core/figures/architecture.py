"""Heads and blocks: the parts of a model as boxes and arrows, with the shapes between them."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Circle

from attention_core.figures._marks import Box, arrow, line, operation, page, rectangle, tint, write
from attention_core.figures._style import (
    BODY,
    INK,
    NEUTRAL,
    OUTPUT,
    QUIET,
    SMALL,
    SYMBOL,
    WEIGHTS,
    K,
    Q,
    V,
    agree,
    sized_by_content,
)

LOOP, ASIDE = 1.75, 1.75  # inches: the height of a sublayer, and its distance from the thick line
Sublayer = tuple[str, str, str]  # name, what stands below it, color


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
def transformer_block(ax: Axes, d_model: int, n_heads: int, d_ff: int) -> str:
    """Draw an encoder block and a decoder block (pre-norm) side by side, x running from top to bottom.

    The thick line is x itself; each sublayer reads a normalized copy and adds its result to x.
    """
    page(ax)
    heads, wide = f"{n_heads} heads", f"{d_model} → {d_ff} → {d_model}"
    attention, feed_forward = ("attention", heads, WEIGHTS), ("feed-forward", wide, NEUTRAL)
    masked, cross = ("attention", f"{heads}, causal", WEIGHTS), ("cross-attention", heads, WEIGHTS)
    memory, _ = _block(ax, 0, [attention, feed_forward], "x", f"(n_s, {d_model})", "memory")
    _, boxes = _block(ax, 4.9, [masked, cross, feed_forward], "y", f"(n_t, {d_model})", "output")
    elbow, reader = memory.right + 0.55, boxes[1]
    line(ax, (memory.right + 0.04, memory.y), (elbow, memory.y), (elbow, reader.y), color=K, width=2)
    arrow(ax, (elbow, reader.y), (reader.left - 0.04, reader.y), K, line=2)
    write(ax, elbow + 0.08, reader.y + 0.16, "k, v", BODY, ha="left", color=K)
    write(ax, reader.x + 0.1, reader.top + 0.24, "q", BODY, ha="left", color=Q)
    return (
        f"Encoder block, from top to bottom: x, {d_model} wide, runs through as a thick line. Twice a copy "
        f"of it is normalized, goes through a sublayer and is added to x: first attention with {heads}, then "
        f"feed-forward, {wide}. The result is the memory. The decoder block has three such sublayers: "
        f"attention with {heads} and a causal mask; cross-attention with {heads}, where the keys and values "
        f"come from the memory; feed-forward, {wide}."
    )


def _block(
    ax: Axes, x: float, sublayers: Sequence[Sublayer], start: str, shape: str, end: str
) -> tuple[Box, list[Box]]:
    """Draw one block around the thick line at `x`; return its result and its sublayers."""
    bottom = -LOOP * len(sublayers) - 0.25
    line(ax, (x, -0.05), (x, bottom), color=INK, width=3.2)
    arrow(ax, (x, bottom), (x, bottom - 0.2), INK, line=3.2)
    write(ax, x, 0.12, start, BODY)
    write(ax, x + 0.1, -0.12, shape, SMALL, ha="left")
    boxes = [_sublayer(ax, x, -LOOP * i, *texts) for i, texts in enumerate(sublayers)]
    result = Box(x - 0.45, bottom - 0.58, x + 0.45, bottom - 0.24)
    rectangle(ax, result, tint(OUTPUT, 0.75), INK)
    write(ax, result.x, result.y, end, BODY)
    write(ax, x + 0.1, bottom + 0.05, shape, SMALL, ha="left")
    return result, boxes


def _sublayer(ax: Axes, x: float, top: float, name: str, below: str, color: str) -> Box:
    """Draw one loop: away from the line, through norm and the sublayer, and back by addition."""
    middle = x - ASIDE
    norm = operation(ax, Box(middle - 0.55, top - 0.55, middle + 0.55, top - 0.19), "norm")
    box = operation(ax, Box(middle - 1, top - 1.6, middle + 1, top - 0.98), "", color)
    write(ax, middle, box.y + 0.12, name, BODY)
    write(ax, middle, box.y - 0.14, below, SMALL)
    arrow(ax, (x, norm.y), (norm.right + 0.02, norm.y))
    arrow(ax, (middle, norm.bottom - 0.02), (middle, box.top + 0.02))
    arrow(ax, (box.right + 0.02, box.y), (x - 0.15, box.y))
    ax.add_patch(Circle((x, box.y), 0.13, facecolor="white", edgecolor=INK, linewidth=1.4, zorder=3))
    write(ax, x, box.y, "+", BODY).set_zorder(4)
    return box
