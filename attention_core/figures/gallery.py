"""The pictures in the folder figures/ of the project: what each drawing function is given there.

`python -m tools.build --figures` writes them. Every number comes from a worked example or a kernel.
Tokens are ASCII, so that the bytes do not depend on the fonts of a machine.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from attention_core import figures
from attention_core.attention import attend, attention_scores, causal_mask, softmax
from attention_core.figures.svg import Picture, standalone
from attention_core.positions import rotary_positions, sinusoidal_positions
from attention_core.scoring import additive_scores, gaussian_scores
from attention_core.worked import load

Array = np.ndarray[Any, np.dtype[np.float64]]
Arguments = tuple[Any, ...]

GALLERY: dict[str, Callable[[], Arguments]] = {}  # name of a drawing function -> its arguments
CANVASES: dict[str, Callable[[], Picture]] = {}  # the canvas, and what else it can show


def entry(arguments: Callable[[], Arguments]) -> Callable[[], Arguments]:
    """Enter into the gallery what the drawing function of the same name is given."""
    return GALLERY.setdefault(arguments.__name__, arguments)


def canvas_entry(drawn: Callable[[], Picture]) -> Callable[[], Picture]:
    """Enter a canvas into the gallery."""
    return CANVASES.setdefault(drawn.__name__, drawn)


def picture(name: str) -> tuple[Figure, str]:
    """Return the gallery's figure that `name` draws, and its alt text."""
    return figures.draw(getattr(figures, name), *GALLERY[name]())


def write_figures(folder: Path) -> None:
    """Draw all pictures into `folder`, with a README.md that shows them with their alt texts."""
    page = (
        "# Figures\n\n"
        "Drawn by `attention_core/figures/` from computed values; made by `make figures`, "
        "never edited by hand. A name is that of the function which draws the picture.\n"
    )
    words = {}
    for name, drawn in CANVASES.items():
        (folder / f"{name}.svg").write_text(standalone(drawn()), encoding="utf-8", newline="\n")
        words[name] = drawn().words
    for name in GALLERY:
        figure, words[name] = picture(name)
        figures.save_svg(figure, words[name], folder / f"{name}.svg")
    for name, alt in words.items():
        text = "".join(f"\\{c}" if c in r"\`*_[]<>|$#" else c for c in alt)  # nothing is markup
        page += f"\n## {name}\n\n![{text}]({name}.svg)\n\n{text}\n"
    (folder / "README.md").write_text(page, encoding="utf-8", newline="\n")


# --- the canvas -------------------------------------------------------------------------------


@canvas_entry
def canvas() -> Picture:
    s0 = load("one-query")
    q, k, v = s0["q"], s0["k"], s0["v"]
    return figures.canvas(q, k, v, attend(q, k, v), picked=("scores", 0, 1))


@canvas_entry
def canvas_of_tokens() -> Picture:
    s1 = _it_animal()
    q, k, v, tokens, scale = (s1[name] for name in ("q", "k", "v", "tokens", "scale"))
    steps = attend(q, k, v, scale=scale)
    place, names = ("weights", s1["it"], tokens.index("animal")), s1["features"]
    return figures.canvas(
        q, k, v, steps, divisor=1 / scale, queries=tokens, keys=tokens, features=names, picked=place
    )


@canvas_entry
def canvas_of_heads() -> Picture:
    q, k, v = np.random.default_rng(0).integers(-2, 3, (3, 4, 3, 2)).astype(float)
    names = ["cat", "chases", "mouse"]
    picked = ("output", 1, 0)
    return figures.canvas(q, k, v, attend(q, k, v), queries=names, keys=names, head=1, picked=picked)


@canvas_entry
def canvas_with_a_mask() -> Picture:
    s3 = load("three-tokens")
    q, k, v = s3["q"], s3["k"], s3["v"]
    return figures.canvas(q, k, v, attend(q, k, v, mask=causal_mask(3)), picked=("weights", 1, 0))


@canvas_entry
def canvas_in_tiles() -> Picture:
    q, k, v = np.random.default_rng(0).integers(-1, 2, (3, 8, 4)).astype(float)
    steps = attend(q, k, v, mask=causal_mask(8))
    return figures.canvas(q, k, v, steps, tile=(2, 4), picked=("scores", 5, 2))


# --- S1: it -> animal -------------------------------------------------------------------------


@cache
def _it_animal() -> dict[str, Any]:
    s1 = load("it-animal")
    x, it = s1["embeddings"], s1["tokens"].index("it")
    q, k, v = (x @ s1[w].T for w in ("w_q", "w_k", "w_v"))  # the source's convention: q = W_Q x
    steps = attend(q, k, v, scale=s1["scale"])
    of_it = {"scores": steps.scores[it], "weights": steps.weights[it], "output": steps.output[it]}
    return {**s1.inputs, "q": q, "k": k, "v": v, "it": it, **of_it, "all_weights": steps.weights}


@entry
def places() -> Arguments:
    s1, names = _it_animal(), ["animal", "street"]
    has = s1["k"][[s1["tokens"].index(name) for name in names]]
    return s1["q"][s1["it"]], has, "it", names, s1["features"]


@entry
def row_times_matrix() -> Arguments:
    s1 = _it_animal()
    x, w = s1["embeddings"][s1["it"]], s1["w_q"].T  # for rows: x W
    return x, w, x @ w, "it", s1["features"], "q", [f"place {i}" for i in range(4)]


@entry
def dot_product_angle() -> Arguments:
    s1, names = _it_animal(), ["animal", "street"]
    q, k = s1["q"][s1["it"]], s1["k"][[s1["tokens"].index(name) for name in names]]
    products = attention_scores(q[None], k, scale=1.0)[0]
    cosines = products / np.linalg.norm(q) / np.linalg.norm(k, axis=1)
    return q, k, products, np.degrees(np.arccos(cosines)), "it", names


@entry
def softmax_curve() -> Arguments:
    s1 = _it_animal()
    return s1["scores"], np.exp(s1["scores"]), s1["weights"], s1["tokens"]


@entry
def embedding_heatmap() -> Arguments:
    s1 = _it_animal()
    return s1["embeddings"], s1["tokens"], s1["features"]


@entry
def score_bars() -> Arguments:
    s1 = _it_animal()
    return s1["scores"], s1["tokens"], "it"


@entry
def weight_bars() -> Arguments:
    s1 = _it_animal()
    return s1["weights"], s1["tokens"], "it"


@entry
def waterfall() -> Arguments:
    s1 = _it_animal()
    weights, values = s1["weights"], s1["v"][:, 0]
    return weights, values, weights * values, s1["output"][0], s1["tokens"], "output[0]"


# --- steps and parts of attention -------------------------------------------------------------


@entry
def multi_head_sketch() -> Arguments:
    return 512, 8, 64


@entry
def bahdanau() -> Arguments:
    states = np.array([[0.9, -0.2], [0.3, 0.8], [-0.4, 0.5]])  # h_1, h_2, h_3
    decoder = np.array([0.5, 0.7])  # s_{t-1}
    w_q, w_k = np.array([[0.2, 1.0], [0.6, -0.4]]), np.array([[-0.5, 1.2], [0.8, 0.3]])
    w_v = np.array([1.5, 0.5])
    scores = np.tanh(decoder @ w_q.T + states @ w_k.T) @ w_v  # additive: w_v . tanh(W_q s + W_k h)
    weights = softmax(scores)
    return states, decoder, scores, weights, weights @ states, ["green", "tea", "please"]


@entry
def transformer_block() -> Arguments:
    return 512, 8, 2048


# --- matrices of weights, scores and masks; vectors in the plane ------------------------------


@entry
def weights_heatmap() -> Arguments:
    s1 = _it_animal()
    return s1["all_weights"], s1["tokens"], s1["tokens"]


@entry
def scores_heatmap() -> Arguments:
    s3, names = load("three-tokens"), _names("token ", 3)
    return attend(s3["q"], s3["k"], s3["v"], mask=causal_mask(3)).masked_scores, names, names


@entry
def mask_map() -> Arguments:
    names = _names("token ", 5)
    return causal_mask(5), names, names


@entry
def head_maps() -> Arguments:
    tokens = _it_animal()["tokens"][:5]
    q, k, v = np.random.default_rng(0).standard_normal((3, 3, len(tokens), 4))
    weights = attend(q, k, v, mask=causal_mask(len(tokens))).weights
    return weights, tokens, tokens, _names("head ", 3)


@entry
def vectors_plane() -> Arguments:
    return np.array([[2.0, 1.0]]), load("three-tokens")["k"], ["q"], _names("k", 3)


@entry
def hull() -> Arguments:
    s3 = load("three-tokens")
    output = attend(s3["q"], s3["k"], s3["v"]).output
    return s3["v"], output, _names("v", 3), _names("output ", 3)


def _names(prefix: str, n: int) -> list[str]:
    return [f"{prefix}{i + 1}" for i in range(n)]


# --- curves, measured -------------------------------------------------------------------------

WIDTHS = [4, 16, 64, 256, 1024]


def _dot_products(d_k: int, pairs: int) -> Array:
    q, k = np.random.default_rng(d_k).standard_normal((2, pairs, d_k))
    return attention_scores(q[:, None], k[:, None], scale=1.0).ravel()


@entry
def score_dots() -> Arguments:
    """Scores of a query and eight keys whose entries are 1 or -1 by chance."""
    rng, rows = np.random.default_rng(0), []
    for d_k in WIDTHS[::2]:
        query, keys = rng.choice([-1.0, 1.0], size=d_k), rng.choice([-1.0, 1.0], size=(8, d_k))
        rows.append(keys @ query)
    return rows, [f"d_k = {d_k}" for d_k in WIDTHS[::2]]


@entry
def variance_lines() -> Arguments:
    products = [_dot_products(d_k, 4000) for d_k in WIDTHS]
    scaled = [(x / np.sqrt(d_k)).var() for x, d_k in zip(products, WIDTHS, strict=True)]
    return WIDTHS, [x.var() for x in products], scaled


@entry
def saturation() -> Arguments:
    """Without scaling, 8 scores a row: mean largest weight, mean size of the softmax Jacobian."""
    largest, gradient = [], []
    for d_k in WIDTHS:
        w = softmax(_dot_products(d_k, 8 * 400).reshape(400, 8))
        jacobian = w[:, :, None] * (np.eye(8) - w[:, None, :])  # dw_i/ds_j = w_i (1[i = j] - w_j)
        largest.append(w.max(axis=1).mean())
        gradient.append(np.linalg.norm(jacobian, axis=(1, 2)).mean())
    return WIDTHS, largest, gradient


@entry
def slope_curve() -> Arguments:
    weights = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
    return weights, weights * (1 - weights)


@entry
def learning_curves() -> Arguments:
    """Gradient descent on half a square, x²/2: at each step x loses `rate` of itself."""
    steps, rates = list(range(0, 41, 4)), [0.1, 0.03, 0.005]
    curves = [[0.5 * 2.5**2 * (1 - rate) ** (2 * step) for step in steps] for rate in rates]
    return steps, curves, [f"rate {rate}" for rate in rates]


@entry
def alignment_map() -> Arguments:
    """Four steps of a decoder that looks at place 4, 3, 2 and 1 of four encoder states."""
    places = np.arange(1.0, 5.0)
    weights = softmax(-np.abs(places[::-1, None] - places[None, :]) * 2.0)
    return weights, list("pots"), list("stop")


@entry
def weight_rows() -> Arguments:
    scores, temperatures = np.array([2.0, 1.0, 0.5, 0.0]), [0.25, 1.0, 4.0]
    rows = np.stack([softmax(scores / t) for t in temperatures])
    return rows, [f"T = {t:g}" for t in temperatures], list("abcd")


@entry
def growth_lines() -> Arguments:
    """The typical size (standard deviation) of three scores of random vectors."""
    rng = np.random.default_rng(0)
    dot, additive = [], []
    for d in WIDTHS:
        q, k = rng.standard_normal((2, 40, d))
        w_q, w_k = rng.standard_normal((2, d, 16)) / np.sqrt(d)
        dot.append(attention_scores(q, k, scale=1.0).std())
        additive.append(additive_scores(q, k, w_q, w_k, np.full(16, 0.25)).std())
    return WIDTHS, [dot, dot / np.sqrt(WIDTHS), additive], ["dot", "scaled dot", "additive"], "d"


@entry
def kernel_regression() -> Arguments:
    """Eight temperatures of one day, and the curve for every quarter of an hour."""
    hours = np.array([1.0, 4.0, 6.0, 9.0, 11.0, 14.0, 17.0, 22.0])
    degrees = np.array([9.0, 7.0, 8.0, 13.0, 17.0, 21.0, 19.0, 12.0])
    asked = np.linspace(0, 24, 97)
    weights = softmax(gaussian_scores(asked[:, None], hours[:, None], width=2.0))
    return hours, degrees, asked, weights, weights @ degrees, 50


# --- graphs, positions, tiles -----------------------------------------------------------------


@entry
def attention_graph() -> Arguments:
    tokens = ["the", "cat", "chases", "a", "mouse"]
    q, k, v = np.random.default_rng(1).standard_normal((3, len(tokens), 4))
    return attend(q, k, v).weights, tokens


@entry
def position_clocks() -> Arguments:
    """Each pair turns ten times more slowly than the one before: far positions move the slow ones."""
    far = [0, 1, 2, 10, 100, 1000]
    return sinusoidal_positions(1001, 8)[far], [f"position {p}" for p in far]


@entry
def rotary_pairs() -> Arguments:
    """One query and one key, two places apart, at three places of a text."""
    starts = np.array([0.0, 1.0, 4.0])
    q = rotary_positions(np.array([[2.0, 1.0]] * 3), positions=starts)
    k = rotary_positions(np.array([[1.0, 2.0]] * 3), positions=starts + 2)
    queries, keys = [f"q at {p:.0f}" for p in starts], [f"k at {p + 2:.0f}" for p in starts]
    return q, k, (q * k).sum(axis=1), queries, keys


@entry
def score_tiles() -> Arguments:
    return causal_mask(8), 2, 4, _names("q", 8), _names("k", 8)
