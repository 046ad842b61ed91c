"""Numbers as dots on number lines."""

from collections import Counter
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from attention_core._numbers import plain
from attention_core.figures._style import BODY, INK, NEUTRAL, QUIET, SMALL, Labels, array, sized


@sized(5.6, 2.6)
def score_dots(ax: Axes, scores: Any, names: Labels) -> str:
    """Draw one number line for each row of scores, all to one scale; equal scores stand on each other."""
    x = array("scores", scores, names=names, keys=np.shape(scores)[-1])
    ax.set_ylim(-0.15, len(names) - 0.1)
    ax.spines["left"].set_visible(False)
    ax.grid(False)
    ax.axvline(0, color=QUIET, linewidth=0.8, linestyle=":")
    ax.set_yticks([])
    ax.set_xlabel("score", fontsize=BODY)
    for i, (row, name) in enumerate(zip(x, names, strict=True)):
        base = len(names) - 1 - i
        ax.axhline(base, color=QUIET, linewidth=0.8)
        for value, count in Counter(row).items():
            heights = base + 0.1 + 0.18 * np.arange(count)
            ax.plot([value] * count, heights, "o", color=NEUTRAL, markeredgecolor=INK, markersize=7)
        ax.annotate(name, (0, base + 0.1), (-12, 0), xycoords=("axes fraction", "data"), ha="right",
                    textcoords="offset points", fontsize=SMALL, annotation_clip=False)  # fmt: skip
    said = [f"{name}: {', '.join(map(plain, sorted(row)))}" for name, row in zip(names, x, strict=True)]
    return f"Scores as dots on number lines of one scale. {'; '.join(said)}."
