"""The pictures in figures/: what each one is drawn from. `python -m tools.build --figures` writes them.

Every number comes from a worked example or a kernel. Tokens are ASCII, so that the bytes do not
depend on the fonts of a machine.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from attention_core import attend, attention_scores, causal_mask, figures, softmax
from attention_core.positions import rotary_positions, sinusoidal_positions
from attention_core.scoring import additive_scores, gaussian_scores
from attention_core.worked import load

Array = np.ndarray[Any, np.dtype[np.float64]]
Picture = tuple[Figure, str]


def write_figures(folder: Path) -> dict[str, str]:
    """Draw all pictures into `folder`, with a README.md that shows them; return name -> alt text."""
    alts = {}
    for name, picture in GALLERY.items():
        figure, alts[name] = picture()
        figures.save_svg(figure, alts[name], folder / f"{name}.svg")
    (folder / "README.md").write_text(readme(alts), encoding="utf-8", newline="\n")
    return alts


def readme(alts: dict[str, str]) -> str:
    """Return the page that shows every picture with its alt text."""
    head = (
        "# Figures\n\n"
        "Drawn by `attention_core/figures/` from computed values; made by `make figures`, "
        "never edited by hand. Each name is the function that draws the picture.\n"
    )
    return head + "".join(
        f"\n## {name}\n\n![{_escaped(alt)}]({name}.svg)\n\n{_escaped(alt)}\n" for name, alt in alts.items()
    )


def _escaped(text: str) -> str:
    """Return `text` with every character that Markdown would take for markup made literal."""
    return "".join(f"\\{c}" if c in r"\`*_[]<>|$#" else c for c in text)


# --- S1: it -> animal -------------------------------------------------------------------------


@cache
def _it_animal() -> dict[str, Any]:
    s1 = load("it-animal")
    x = s1["embeddings"]
    q, k, v = (x @ s1[w].T for w in ("w_q", "w_k", "w_v"))  # the source's convention: q = W_Q x
    it = s1["tokens"].index("it")
    steps = attend(q, k, v, scale=s1["scale"])
    return {
        **s1.inputs,
        **{"q": q, "k": k, "v": v, "it": it},
        **{"scores": steps.scores[it], "weights": steps.weights[it], "output": steps.output[it]},
        "all_weights": steps.weights,
    }


def _matrix_vector() -> Picture:
    s1 = _it_animal()
    i = s1["tokens"].index("animal")
    x, y = s1["embeddings"][i], s1["k"][i]
    return figures.draw(figures.matrix_vector, s1["w_k"], x, y, "animal", s1["features"], "k")


def _dot_product_angle() -> Picture:
    s1 = _it_animal()
    names = ["animal", "street"]
    q, k = s1["q"][s1["it"]], s1["k"][[s1["tokens"].index(name) for name in names]]
    products = attention_scores(q[None], k, scale=1.0)[0]
    cosines = products / np.linalg.norm(q) / np.linalg.norm(k, axis=1)
    return figures.draw(
        figures.dot_product_angle, q, k, products, np.degrees(np.arccos(cosines)), "it", names
    )


def _softmax_curve() -> Picture:
    s1 = _it_animal()
    scores = s1["scores"]
    return figures.draw(figures.softmax_curve, scores, np.exp(scores), s1["weights"], s1["tokens"])


def _embedding_heatmap() -> Picture:
    s1 = _it_animal()
    return figures.draw(figures.embedding_heatmap, s1["embeddings"], s1["tokens"], s1["features"])


def _score_bars() -> Picture:
    s1 = _it_animal()
    return figures.draw(figures.score_bars, s1["scores"], s1["tokens"], "it")


def _weight_bars() -> Picture:
    s1 = _it_animal()
    return figures.draw(figures.weight_bars, s1["weights"], s1["tokens"], "it")


def _waterfall() -> Picture:
    s1 = _it_animal()
    weights, values, total = s1["weights"], s1["v"][:, 0], s1["output"][0]
    return figures.draw(
        figures.waterfall, weights, values, weights * values, total, s1["tokens"], "output[0]"
    )


def _qkv_pipeline() -> Picture:
    s1 = _it_animal()
    i = s1["tokens"].index("animal")
    ws, ys = [s1[w] for w in ("w_q", "w_k", "w_v")], [s1[y][i] for y in "qkv"]
    return figures.draw(figures.qkv_pipeline, s1["embeddings"][i], *ws, *ys, "animal", s1["features"])


def _weights_heatmap() -> Picture:
    s1 = _it_animal()
    return figures.draw(figures.weights_heatmap, s1["all_weights"], s1["tokens"], s1["tokens"])


def _temperature_bars() -> Picture:
    temperatures = [0.25, 1.0, 4.0]
    scores = np.array([2.0, 1.0, 0.5, 0.0])
    weights = np.stack([softmax(scores / t) for t in temperatures])
    return figures.draw(figures.temperature_bars, weights, temperatures, ["a", "b", "c", "d"])


# --- S0 and S3: small examples ----------------------------------------------------------------


def _attention_flow() -> Picture:
    s0 = load("one-query")
    q, k, v = s0["q"], s0["k"], s0["v"]
    steps = attend(q, k, v)
    return figures.draw(
        figures.attention_flow, q[0], k, v, steps.scores[0], steps.weights[0], steps.output[0], _names("k", k)
    )


def _vectors_plane() -> Picture:
    k, q = load("three-tokens")["k"], np.array([[2.0, 1.0]])
    return figures.draw(figures.vectors_plane, q, k, ["q"], _names("k", k))


def _hull() -> Picture:
    s3 = load("three-tokens")
    output = attend(s3["q"], s3["k"], s3["v"]).output
    return figures.draw(figures.hull, s3["v"], output, _names("v", output), _names("output ", output))


def _scores_heatmap() -> Picture:
    s3 = load("three-tokens")
    steps = attend(s3["q"], s3["k"], s3["v"], mask=causal_mask(3))
    names = _names("token ", s3["q"])
    return figures.draw(figures.scores_heatmap, steps.masked_scores, names, names)


def _mask_map() -> Picture:
    names = _names("token ", np.zeros(5))
    return figures.draw(figures.mask_map, causal_mask(5), names, names)


def _names(prefix: str, rows: Array) -> list[str]:
    return [f"{prefix}{i + 1}" for i in range(len(rows))]


# --- S2: encoder and decoder, several heads ---------------------------------------------------


def _bahdanau() -> Picture:
    tokens = ["green", "tea", "please"]
    states = np.array([[0.9, -0.2], [0.3, 0.8], [-0.4, 0.5]])  # h_1, h_2, h_3
    decoder = np.array([0.5, 0.7])  # s_{t-1}
    w_q, w_k, w_v = (
        np.array([[0.2, 1.0], [0.6, -0.4]]),
        np.array([[-0.5, 1.2], [0.8, 0.3]]),
        np.array([1.5, 0.5]),
    )
    scores = np.tanh(decoder @ w_q.T + states @ w_k.T) @ w_v  # additive: w_v . tanh(W_q s + W_k h)
    weights = softmax(scores)
    return figures.draw(figures.bahdanau, states, decoder, scores, weights, weights @ states, tokens)


def _multi_head_sketch() -> Picture:
    return figures.draw(figures.multi_head_sketch, 512, 8, 64)


def _multi_head_block() -> Picture:
    return figures.draw(figures.multi_head_block, 512, 8, 64)


def _transformer_block() -> Picture:
    return figures.draw(figures.transformer_block, 512, 8, 2048)


def _head_maps() -> Picture:
    tokens = _it_animal()["tokens"][:5]
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((3, 3, len(tokens), 4))
    weights = attend(q, k, v, mask=causal_mask(len(tokens))).weights
    return figures.draw(figures.head_maps, weights, tokens, tokens, ["head 1", "head 2", "head 3"])


# --- scaling, measured ------------------------------------------------------------------------

WIDTHS = [4, 16, 64, 256, 1024]


def _dot_products(d_k: int, pairs: int) -> Array:
    rng = np.random.default_rng(d_k)
    q, k = rng.standard_normal((2, pairs, d_k))
    return attention_scores(q[:, None], k[:, None], scale=1.0).ravel()


def _variance_lines() -> Picture:
    products = [_dot_products(d_k, 4000) for d_k in WIDTHS]
    unscaled = [x.var() for x in products]
    scaled = [(x / np.sqrt(d_k)).var() for x, d_k in zip(products, WIDTHS, strict=True)]
    return figures.draw(figures.variance_lines, WIDTHS, unscaled, scaled)


def _saturation() -> Picture:
    """Without scaling, 8 scores a row: mean largest weight, mean size of the softmax Jacobian."""
    largest, gradient = [], []
    for d_k in WIDTHS:
        w = softmax(_dot_products(d_k, 8 * 400).reshape(400, 8))
        jacobian = w[:, :, None] * (np.eye(8) - w[:, None, :])  # dw_i/ds_j = w_i (1[i = j] - w_j)
        largest.append(w.max(axis=1).mean())
        gradient.append(np.linalg.norm(jacobian, axis=(1, 2)).mean())
    return figures.draw(figures.saturation, WIDTHS, largest, gradient)


# --- other scores, and attention as a graph ---------------------------------------------------


def _growth_lines() -> Picture:
    """The typical size (standard deviation) of three scores of random vectors."""
    rng = np.random.default_rng(0)
    dot, additive = [], []
    for d in WIDTHS:
        q, k = rng.standard_normal((2, 40, d))
        w_q, w_k = rng.standard_normal((2, d, 16)) / np.sqrt(d)
        dot.append(attention_scores(q, k, scale=1.0).std())
        additive.append(additive_scores(q, k, w_q, w_k, np.full(16, 0.25)).std())
    sizes = [dot, dot / np.sqrt(WIDTHS), additive]
    return figures.draw(figures.growth_lines, WIDTHS, sizes, ["dot", "scaled dot", "additive"], "d")


def _kernel_regression() -> Picture:
    """Eight temperatures of one day, and the curve for every quarter of an hour."""
    hours = np.array([1.0, 4.0, 6.0, 9.0, 11.0, 14.0, 17.0, 22.0])
    degrees = np.array([9.0, 7.0, 8.0, 13.0, 17.0, 21.0, 19.0, 12.0])
    asked = np.linspace(0, 24, 97)
    weights = softmax(gaussian_scores(asked[:, None], hours[:, None], width=2.0))
    return figures.draw(figures.kernel_regression, hours, degrees, asked, weights, weights @ degrees, 50)


def _attention_graph() -> Picture:
    tokens = ["the", "cat", "chases", "a", "mouse"]
    q, k, v = np.random.default_rng(1).standard_normal((3, len(tokens), 4))
    return figures.draw(figures.attention_graph, attend(q, k, v).weights, tokens)


# --- positions --------------------------------------------------------------------------------


def _position_clocks() -> Picture:
    """Six positions, four pairs of columns: each pair turns ten times more slowly than the one before."""
    names = [f"position {p}" for p in range(6)]
    return figures.draw(figures.position_clocks, sinusoidal_positions(6, 8), names)


def _rotary_pairs() -> Picture:
    """One query and one key, two places apart, at three places of a text."""
    starts = np.array([0.0, 1.0, 4.0])
    q = rotary_positions(np.array([[2.0, 1.0]] * 3), positions=starts)
    k = rotary_positions(np.array([[1.0, 2.0]] * 3), positions=starts + 2)
    queries, keys = (
        [f"{name} at {p:.0f}" for p in places] for name, places in (("q", starts), ("k", starts + 2))
    )
    return figures.draw(figures.rotary_pairs, q, k, (q * k).sum(axis=1), queries, keys)


# --- training ---------------------------------------------------------------------------------


def _alignment_map() -> Picture:
    """Four steps of a decoder that looks at place 4, 3, 2 and 1 of four encoder states."""
    places = np.arange(1.0, 5.0)
    weights = softmax(-np.abs(places[::-1, None] - places[None, :]) * 2.0)
    return figures.draw(figures.alignment_map, weights, list("pots"), list("stop"))


def _learning_curves() -> Picture:
    """Gradient descent on half a square, x²/2: at each step x loses `rate` of itself."""
    steps, rates = list(range(0, 41, 4)), [0.1, 0.03, 0.005]
    curves = [[0.5 * 2.5**2 * (1 - rate) ** (2 * step) for step in steps] for rate in rates]
    return figures.draw(figures.learning_curves, steps, curves, [f"rate {rate}" for rate in rates])


def _score_tiles() -> Picture:
    queries, keys = ([f"{name}{i + 1}" for i in range(8)] for name in "qk")
    return figures.draw(figures.score_tiles, causal_mask(8), 2, 4, queries, keys)


GALLERY: dict[str, Callable[[], Picture]] = {
    "matrix_vector": _matrix_vector,
    "dot_product_angle": _dot_product_angle,
    "softmax_curve": _softmax_curve,
    "embedding_heatmap": _embedding_heatmap,
    "score_bars": _score_bars,
    "weight_bars": _weight_bars,
    "waterfall": _waterfall,
    "qkv_pipeline": _qkv_pipeline,
    "multi_head_sketch": _multi_head_sketch,
    "attention_flow": _attention_flow,
    "bahdanau": _bahdanau,
    "multi_head_block": _multi_head_block,
    "transformer_block": _transformer_block,
    "weights_heatmap": _weights_heatmap,
    "scores_heatmap": _scores_heatmap,
    "mask_map": _mask_map,
    "head_maps": _head_maps,
    "vectors_plane": _vectors_plane,
    "hull": _hull,
    "variance_lines": _variance_lines,
    "saturation": _saturation,
    "learning_curves": _learning_curves,
    "alignment_map": _alignment_map,
    "temperature_bars": _temperature_bars,
    "growth_lines": _growth_lines,
    "kernel_regression": _kernel_regression,
    "attention_graph": _attention_graph,
    "position_clocks": _position_clocks,
    "rotary_pairs": _rotary_pairs,
    "score_tiles": _score_tiles,
}
