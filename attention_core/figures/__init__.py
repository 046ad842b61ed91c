"""Pictures of attention, from arrays and labels.

Each function draws on `ax` the arrays it is given, with tokens as labels, computes nothing
beyond layout and returns the picture's alt text, made from the same numbers. `draw` makes the
figure, `save_svg` and `png` store it. `canvas` returns its picture as SVG instead (see `svg`).
The palette and the widths of labels serve other pictures too.
"""

from attention_core.figures._style import (
    NEGATIVE,
    NEUTRAL,
    OUTPUT,
    WEIGHTS,
    K,
    Q,
    V,
    bundle,
    draw,
    em_width,
    fold,
    is_chart,
    note,
    png,
    save_svg,
    shown,
    weight_strength,
    words_below,
)
from attention_core.figures.architecture import multi_head_sketch, transformer_block
from attention_core.figures.bars import score_bars, waterfall, weight_bars, weight_rows
from attention_core.figures.canvas import canvas
from attention_core.figures.clocks import position_clocks, rotary_pairs
from attention_core.figures.curves import (
    growth_lines,
    kernel_regression,
    learning_curves,
    saturation,
    slope_curve,
    softmax_curve,
    variance_lines,
)
from attention_core.figures.diagrams import bahdanau
from attention_core.figures.dots import score_dots
from attention_core.figures.graphs import attention_graph
from attention_core.figures.heatmaps import (
    alignment_map,
    embedding_heatmap,
    head_maps,
    mask_map,
    scores_heatmap,
    weights_heatmap,
)
from attention_core.figures.matching import places, row_times_matrix
from attention_core.figures.planes import dot_product_angle, hull, vectors_plane
from attention_core.figures.tiles import score_tiles

__all__ = [
    "NEGATIVE", "NEUTRAL", "OUTPUT", "WEIGHTS", "K", "Q", "V", "alignment_map", "attention_graph",
    "bahdanau", "bundle", "canvas", "dot_product_angle", "draw", "em_width", "embedding_heatmap", "fold",
    "growth_lines", "head_maps", "hull", "is_chart", "kernel_regression", "learning_curves", "mask_map",
    "multi_head_sketch", "note", "places", "png", "position_clocks", "rotary_pairs", "row_times_matrix",
    "saturation", "save_svg", "score_bars", "score_dots", "score_tiles", "scores_heatmap", "shown",
    "slope_curve", "softmax_curve", "transformer_block", "variance_lines", "vectors_plane", "waterfall",
    "weight_bars", "weight_rows", "weight_strength", "weights_heatmap", "words_below",
]  # fmt: skip
