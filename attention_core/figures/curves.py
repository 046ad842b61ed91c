"""Curves of measured or computed numbers."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from attention_core._numbers import number, numbers, plain, three_digits
from attention_core.figures._marks import apart, bar_row, on_white, page, write
from attention_core.figures._style import (
    BODY,
    INK,
    NEUTRAL,
    OUTPUT,
    QUIET,
    SMALL,
    SYMBOL,
    WEIGHTS,
    Floats,
    Labels,
    Q,
    V,
    agree,
    array,
    sized,
    spread,
    width_of,
)


class Look(NamedTuple):
    """How the curve of a method is drawn; no method has the colour of a query, a key or a value."""

    color: str
    line: str
    marker: str


# One look for a method in every notebook; what has none gets the first that is left.
LOOKS = (
    Look(INK, "-", "o"),
    Look("#7A4A12", "--", "s"),
    Look("#4B3F99", ":", "^"),
    Look(NEUTRAL, "-.", "D"),
)
METHODS = {
    "dot": LOOKS[0],
    "dot product": LOOKS[0],
    "scaled dot": LOOKS[1],
    "scaled dot product": LOOKS[1],
    "additive": LOOKS[2],
}


def looks(names: Labels) -> list[Look]:
    """Return the look of each method's curve; raise ValueError for more methods than looks."""
    if len(names) > len(LOOKS):
        raise ValueError(f"names must be at most {len(LOOKS)}, got {len(names)}")
    known = [METHODS.get(name) for name in names]
    left = (look for look in LOOKS if look not in known)
    return [look or next(left) for look in known]


@sized(3.4, 2.6)
def softmax_curve(ax: Axes, scores: Any, exponentials: Any, weights: Any, tokens: Labels) -> str:
    """Draw eˣ with the scores marked on it, and beside it the weights they give."""
    s, e, w = (
        array(name, x, tokens=tokens)
        for name, x in (("scores", scores), ("exponentials", exponentials), ("weights", weights))
    )
    agree("exponentials", e, "exp(scores)", np.exp(s))
    agree("weights", w, "exponentials / their sum", e / e.sum())
    curve = np.linspace(s.min() - 2.2, s.max() + 0.3, 200)
    ax.plot(curve, np.exp(curve), color=QUIET, linewidth=1.6)
    ax.set_xlim(curve[0], curve[-1])
    ax.set_ylim(0, 1.15 * np.exp(curve[-1]))
    points = sorted({(score, value) for score, value in zip(s, e, strict=True)})
    ax.vlines([x for x, _ in points], 0, [y for _, y in points], color=QUIET, linewidth=0.8, linestyle=":")
    ax.plot(*zip(*points, strict=True), "o", color=NEUTRAL, markeredgecolor=INK, markersize=8, zorder=3)
    gap = 0.2 * ax.get_ylim()[1] / 2.6
    heights = apart([y + 0.5 * gap for _, y in points], gap)
    texts = dict(zip(s, numbers(s), strict=True))
    said = []
    for (score, value), y in zip(points, heights, strict=True):
        here = [token for token, x in zip(tokens, s, strict=True) if x == score]
        who = ", ".join(here) if len(here) < 3 else f"{len(here)} keys"
        text = f"{who}:  exp({texts[score]}) = {numbers([value])[0]}"
        write(ax, score - 0.05 * np.ptp(curve) / 3.4, y, text, ha="right", va="bottom")
        said.append(f"exp({texts[score]}) = {numbers([value])[0]} for {', '.join(here)}")
    ax.locator_params(nbins=5)
    write(ax, curve[-1], np.exp(curve[-1]) * 1.02, "$e^{x}$", SYMBOL, ha="right", va="bottom", math=True)
    _weights_beside(ax, w, tokens)
    return f"The curve of exp, with {'; '.join(said)}. Divided by their sum: {spread(numbers(w), tokens)}."


def _weights_beside(ax: Axes, weights: Floats, tokens: Labels) -> None:
    """Draw weight bars to the right of a chart that is 3.4 by 2.6 inches."""
    step = 0.56
    panel = ax.inset_axes((1 + 0.5 / 3.4, 0, step * len(tokens) / 3.4, 1))
    page(panel)
    bar_row(panel, 0, 0, weights, tokens, WEIGHTS, step=step, tall=2.2, top=1.0)
    panel.set_xlim(0, step * len(tokens))
    panel.set_ylim(0, 2.6)


@sized(3.4, 2.4)
def slope_curve(ax: Axes, weights: Any, slopes: Any) -> str:
    """Draw how much a weight p gains for each 1 that its score gains: p (1 − p), with dots at `weights`."""
    p = array("weights", weights, weights=width_of(weights))
    slope = array("slopes", slopes, weights=len(p))
    agree("slopes", slope, "weights * (1 - weights)", p * (1 - p))
    curve = np.linspace(0, 1, 101)
    ax.plot(curve, curve * (1 - curve), color=QUIET, linewidth=1.6)
    ax.plot(p, slope, "o", color=WEIGHTS, markeredgecolor=INK, markersize=8, zorder=3, clip_on=False)
    ax.set_ylim(0, 0.28)
    ax.locator_params(nbins=5)
    ax.set_xlabel("weight", fontsize=BODY)
    ax.set_ylabel("slope", fontsize=BODY)
    said = [f"{plain(y)} at {plain(x)}" for x, y in zip(p, slope, strict=True)]
    return f"The slope of a weight: an arch that starts at 0 and ends at 0. Dots: {', '.join(said)}."


@sized(5.6, 3.2)
def variance_lines(ax: Axes, d_k: Sequence[int], unscaled: Any, scaled: Any) -> str:
    """Draw the measured variance of q·k against d_k, and of q·k/√d_k; the lines are the theory."""
    raw, divided = array("unscaled", unscaled, d_k=len(d_k)), array("scaled", scaled, d_k=len(d_k))
    if min(raw.min(), divided.min()) <= 0:
        raise ValueError(f"variances must be positive, got {min(raw.min(), divided.min()):g}")
    _log_axes(ax, d_k)
    ax.set_yscale("log")
    ax.set_ylim(0.4, 2.2 * max(d_k))
    for y, marks, look, name in (
        (list(d_k), raw, METHODS["dot"], r"$\mathrm{Var}(q\cdot k)=d_k$"),
        ([1] * len(d_k), divided, METHODS["scaled dot"], r"$\mathrm{Var}(q\cdot k/\sqrt{d_k})=1$"),
    ):
        ax.plot(d_k, y, look.line, color=look.color, linewidth=1.2)
        ax.plot(d_k, marks, look.marker, color=look.color, markeredgecolor=INK, markersize=7)
        ax.annotate(name, (d_k[-1], y[-1]), (14, 0), textcoords="offset points", va="center",
                    fontsize=SYMBOL, parse_math=True)  # fmt: skip
        for x, value in zip(d_k, marks, strict=True):
            _near(ax, x, value, three_digits(value))
    ticks = [10**i for i in range(len(str(max(d_k))))]
    ax.set_yticks(ticks, map(str, ticks))
    ax.yaxis.set_minor_locator(NullLocator())
    pairs = zip(d_k, map(three_digits, raw), map(three_digits, divided), strict=True)
    said = [f"{a} and {b} at d_k = {d}" for d, a, b in pairs]
    return f"Measured variance of q·k and of q·k/√d_k: {', '.join(said)}. The lines are d_k and 1."


@sized(5.6, 3.2)
def saturation(ax: Axes, d_k: Sequence[int], largest_weight: Any, gradient: Any) -> str:
    """Draw the largest weight and the size of the softmax gradient against d_k."""
    largest, size = (
        array("largest_weight", largest_weight, d_k=len(d_k)),
        array("gradient", gradient, d_k=len(d_k)),
    )
    _log_axes(ax, d_k)
    ax.set_ylim(0, 1.1 * max(1.0, largest.max(), size.max()))
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    names = (r"$\max\,w$", r"$\Vert\partial w/\partial s\Vert$")
    heights = apart([largest[-1], size[-1]], 0.1)
    lines = zip((largest, size), (size, largest), (WEIGHTS, QUIET), "os", names, heights, strict=True)
    for y, others, color, marker, name, height in lines:
        ax.plot(d_k, y, "-", marker=marker, color=color, markeredgecolor=INK, markersize=7, clip_on=False)
        ax.annotate(name, (d_k[-1], height), (12, 0), textcoords="offset points", va="center",
                    fontsize=SYMBOL, parse_math=True, annotation_clip=False)  # fmt: skip
        for x, value, other in zip(d_k, y, others, strict=True):
            _near(ax, x, value, f"{value:.2f}", below=0 < other - value < 0.12)
    said = [f"{a:.2f} and {b:.2f} at d_k = {d}" for d, a, b in zip(d_k, largest, size, strict=True)]
    return f"Largest weight and gradient size: {', '.join(said)}."


def _near(ax: Axes, x: float, y: float, text: str, *, below: bool = False) -> None:
    """Write `text` above a mark, or below it where another mark is close above."""
    ax.annotate(text, (x, y), (0, -6 if below else 6), textcoords="offset points", ha="center",
                va="top" if below else "bottom", fontsize=SMALL)  # fmt: skip


def _log_axes(ax: Axes, d_k: Sequence[int]) -> None:
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_locator(FixedLocator(list(d_k)))
    ax.set_xticks(list(d_k), [str(d) for d in d_k])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("$d_k$", fontsize=SYMBOL, parse_math=True)


@sized(5.6, 2.4)
def kernel_regression(
    ax: Axes, keys: Any, values: Any, queries: Any, weights: Any, outputs: Any, shown: int
) -> str:
    """Draw values over their keys and the curve of outputs over evenly spaced queries.

    Below it stand the weights of one query, number `shown`: they average the values to its output.
    """
    k = array("keys", keys, keys=width_of(keys))
    v = array("values", values, keys=len(k))
    q = array("queries", queries, queries=width_of(queries))
    w = array("weights", weights, queries=len(q), keys=len(k))
    z = array("outputs", outputs, queries=len(q))
    agree("queries", q, "evenly spaced numbers", np.linspace(q[0], q[-1], len(q)))
    agree("outputs", z, "weights @ values", w @ v)
    pad = 0.04 * (float(np.ptp(np.concatenate([k, q]))) or 1.0)
    ax.set_xlim(min(k.min(), q.min()) - pad, max(k.max(), q.max()) + pad)
    ax.axvline(q[shown], color=Q, linewidth=1.6, linestyle="--")
    ax.plot(q, z, color=INK, linewidth=5)
    ax.plot(q, z, color=OUTPUT, linewidth=3)
    ax.plot(k, v, "s", color=V, markeredgecolor=INK, markersize=8, zorder=3)
    ax.plot(q[shown], z[shown], "o", color=OUTPUT, markeredgecolor=INK, markersize=11, zorder=4)
    ax.margins(y=0.12)
    ax.locator_params(axis="y", nbins=5)
    ax.tick_params(labelbottom=False)
    _weights_below(ax, k, w[shown], q[shown])
    at = [f"{value} at {key}" for value, key in zip(numbers(v), numbers(k), strict=True)]
    pairs = [f"{number(weight, 2)} at {key}" for weight, key in zip(w[shown], numbers(k), strict=True)]
    first, last, query = numbers([q[0], q[-1], q[shown]])
    low, high, output = (number(x, 2) for x in (z.min(), z.max(), z[shown]))
    return (
        f"Values over their keys: {', '.join(at)}. The outputs for queries from {first} to {last} lie "
        f"between {low} and {high}. Query {query} has the output {output}, from the weights "
        f"{', '.join(pairs)}."
    )


def _weights_below(ax: Axes, keys: Floats, weights: Floats, query: float) -> None:
    """Draw the weights of one query as bars at their keys, in a panel of the same width."""
    low, high = ax.get_xlim()
    panel = ax.inset_axes((0, -0.55, 1, 0.42))
    panel.set_xlim(low, high)
    panel.set_ylim(0, 1.35 * max(float(weights.max()), 0.1))
    panel.axvline(query, color=Q, linewidth=1.6, linestyle="--")
    panel.bar(keys, weights, width=0.02 * (high - low), color=WEIGHTS, edgecolor=INK, linewidth=0.8, zorder=3)
    panel.locator_params(axis="y", nbins=3)
    for y, top, name in ((0.5, ax, "v"), (0.5, panel, "w")):
        top.text(-0.115, y, name, fontsize=BODY, transform=top.transAxes, ha="center", va="center")
    inch = (high - low) / 5.6
    beside = 0.08 * inch if query <= (low + high) / 2 else -0.08 * inch
    ha: Literal["left", "right"] = "left" if beside > 0 else "right"
    label = write(panel, query + beside, panel.get_ylim()[1], "q", ha=ha, va="top", color=Q)
    on_white(label)
    write(panel, high + 0.1 * inch, 0, "k", ha="left")


@sized(5.2, 3.0)
def growth_lines(ax: Axes, sizes: Sequence[int], values: Any, names: Labels, size_name: str) -> str:
    """Draw one line for each name, against sizes, both on scales where doubling is one step."""
    styles = looks(names)
    x = array("values", values, names=names, sizes=len(sizes))
    if x.min() <= 0:
        raise ValueError(f"values must be positive, got {x.min():g}")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_ylim(x.min() / 2, 2 * x.max())
    ax.set_xticks(list(sizes), [str(size) for size in sizes])
    powers = np.arange(np.ceil(np.log10(x.min() / 2)), np.floor(np.log10(2 * x.max())) + 1)
    ax.set_yticks(10.0**powers, [f"{10.0**power:,g}" for power in powers])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_xlabel(size_name, fontsize=BODY)
    inch = np.ptp(np.log(ax.get_ylim())) / 3.0
    heights = np.exp(apart([float(y) for y in np.log(x[:, -1])], 0.2 * inch))
    for line, name, height, look in zip(x, names, heights, styles, strict=True):
        ax.plot(sizes, line, look.line, color=look.color, marker=look.marker, markeredgecolor=INK,
                markersize=7, linewidth=1.4)  # fmt: skip
        ax.annotate(f"{name}  {three_digits(line[-1])}", (sizes[-1], height), (12, 0), va="center",
                    textcoords="offset points", fontsize=SMALL, annotation_clip=False)  # fmt: skip
    said = [
        f"{name}: {', '.join(f'{three_digits(y)} at {size}' for size, y in zip(sizes, line, strict=True))}"
        for name, line in zip(names, x, strict=True)
    ]
    return f"Against {size_name}: {'; '.join(said)}."


@sized(5.2, 3.0)
def learning_curves(
    ax: Axes, steps: Sequence[int], curves: Any, labels: Labels, *, measure: str = "loss", decimals: int = 1
) -> str:
    """Draw how `measure` changed in training, one curve for each label.

    The words give both ends of each curve, rounded: what lies between differs more from one processor
    to another.
    """
    styles = looks(labels)
    y = array("curves", curves, labels=labels, steps=len(steps))
    ax.set_xlim(steps[0], steps[-1])
    ax.set_ylim(min(0.0, y.min()), 1.05 * max(0.0, y.max()) or 1.0)
    ax.set_xlabel("step", fontsize=BODY)
    ax.set_ylabel(measure, fontsize=BODY)
    inch = np.ptp(ax.get_ylim()) / 3.0
    heights = apart([float(curve[-1]) for curve in y], 0.2 * inch)
    for curve, label, height, look in zip(y, labels, heights, styles, strict=True):
        ax.plot(steps, curve, look.line, color=look.color, marker=look.marker, markeredgecolor=INK,
                markersize=5, linewidth=1.6, clip_on=False)  # fmt: skip
        ax.annotate(label, (steps[-1], height), (12, 0), va="center", textcoords="offset points",
                    fontsize=BODY, annotation_clip=False)  # fmt: skip
    said = [
        f"{label} from {curve[0]:.{decimals}f} to {curve[-1]:.{decimals}f}"
        for label, curve in zip(labels, y, strict=True)
    ]
    return f"The {measure} from step {steps[0]:g} to step {steps[-1]:g}: {'; '.join(said)}."
