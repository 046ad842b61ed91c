"""Curves of measured or computed numbers. Use them through `attention_core.figures`."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from attention_core._numbers import numbers, three_digits
from attention_core.figures._drawing import (
    BODY,
    INK,
    OUTPUT,
    QUIET,
    SMALL,
    WEIGHTS,
    Floats,
    K,
    Labels,
    Q,
    V,
    agree,
    array,
    sized,
    width_of,
)
from attention_core.figures._shapes import apart, on_white, write

# --- attention as regression ------------------------------------------------------------------


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
    pairs = [f"{weight} at {key}" for weight, key in zip(_hundredths(w[shown]), numbers(k), strict=True)]
    first, last, query = numbers([q[0], q[-1], q[shown]])
    return (
        f"Values over their keys: {', '.join(at)}. The outputs for queries from {first} to {last} lie "
        f"between {z.min():.2f} and {z.max():.2f}. Query {query} has the output {z[shown]:.2f}, from the "
        f"weights {', '.join(pairs)}."
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


def _hundredths(values: Floats) -> list[str]:
    return [f"{value:.2f}" for value in values]


# --- growth -----------------------------------------------------------------------------------


@sized(5.2, 3.0)
def growth_lines(ax: Axes, sizes: Sequence[int], values: Any, names: Labels, size_name: str) -> str:
    """Draw one line for each name, against sizes, both on scales where doubling is one step."""
    looks = ((K, "o"), (Q, "s"), (V, "^"), (QUIET, "D"))  # color, marker
    if len(names) > len(looks):
        raise ValueError(f"names must be at most {len(looks)}, got {len(names)}")
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
    for line, name, height, (color, marker) in zip(x, names, heights, looks, strict=False):
        ax.plot(sizes, line, color=color, marker=marker, markeredgecolor=INK, markersize=7, linewidth=1.4)
        ax.annotate(f"{name}  {three_digits(line[-1])}", (sizes[-1], height), (12, 0), va="center",
                    textcoords="offset points", fontsize=SMALL, annotation_clip=False)  # fmt: skip
    said = [
        f"{name}: {', '.join(f'{three_digits(y)} at {size}' for size, y in zip(sizes, line, strict=True))}"
        for name, line in zip(names, x, strict=True)
    ]
    return f"Against {size_name}: {'; '.join(said)}."


# --- training ---------------------------------------------------------------------------------


@sized(5.2, 3.0)
def learning_curves(
    ax: Axes, steps: Sequence[int], curves: Any, labels: Labels, *, measure: str = "loss", decimals: int = 1
) -> str:
    """Draw how `measure` changed in training, one curve for each label.

    The words give both ends of each curve, rounded: what lies between differs more from one processor
    to another.
    """
    looks = ((Q, "-", "o"), (K, "--", "s"), (V, ":", "^"), (INK, "-.", "D"))  # color, line, marker
    if len(labels) > len(looks):
        raise ValueError(f"labels must be at most {len(looks)}, got {len(labels)}")
    y = array("curves", curves, labels=labels, steps=len(steps))
    ax.set_xlim(steps[0], steps[-1])
    ax.set_ylim(min(0.0, y.min()), 1.05 * max(0.0, y.max()) or 1.0)
    ax.set_xlabel("step", fontsize=BODY)
    ax.set_ylabel(measure, fontsize=BODY)
    inch = np.ptp(ax.get_ylim()) / 3.0
    heights = apart([float(curve[-1]) for curve in y], 0.2 * inch)
    for curve, label, height, (color, line, marker) in zip(y, labels, heights, looks, strict=False):
        ax.plot(steps, curve, line, color=color, marker=marker, markeredgecolor=INK, markersize=5,
                linewidth=1.6, clip_on=False)  # fmt: skip
        ax.annotate(label, (steps[-1], height), (12, 0), va="center", textcoords="offset points",
                    fontsize=BODY, annotation_clip=False)  # fmt: skip
    said = [
        f"{label} from {curve[0]:.{decimals}f} to {curve[-1]:.{decimals}f}"
        for label, curve in zip(labels, y, strict=True)
    ]
    return f"The {measure} from step {steps[0]:g} to step {steps[-1]:g}: {'; '.join(said)}."
