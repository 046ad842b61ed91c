import re
import subprocess
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from attention_core import attend, figures, softmax
from attention_core.figures import _style, curves, gallery
from attention_core.figures._marks import ink, tint, weight_shade
from tests.pins import why_pictures_may_differ

ROOT = Path(__file__).resolve().parents[2]
SMALLEST = 9.0  # points
SUBSCRIPT = 0.7  # of the size of its formula

GALLERY = sorted(gallery.GALLERY)
ARRAY_FREE = ["multi_head_sketch", "transformer_block"]
STABLE_ONLY = ["learning_curves", "alignment_map"]  # the words leave out what differs between processors


@cache
def picture(name: str) -> tuple[Figure, str]:
    """Return a gallery picture, drawn once for all tests."""
    return gallery.picture(name)


# --- what is in the gallery -------------------------------------------------------------------


def test_every_drawing_function_is_in_the_gallery():
    drawing = {name for name in figures.__all__ if hasattr(getattr(figures, name), "size")}
    assert drawing == set(GALLERY)
    assert "canvas" in gallery.CANVASES


# --- legible: nothing small, nothing cut, nothing over anything else --------------------------


def drawn_texts(figure: Figure) -> list[tuple[Text, Bbox]]:
    """Return every text that is drawn into a PNG, with the room it takes in its pixels."""
    drawn: list[tuple[Text, Bbox]] = []
    original = Text.draw

    def remember(self, renderer, *args, **kwargs):
        if self.get_visible() and self.get_text().strip():
            drawn.append((self, Text.get_window_extent(self, renderer)))
        return original(self, renderer, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", remember)
        figures.png(figure)
    return drawn


def legibility(figure: Figure) -> list[str]:
    """Return what is wrong with the texts of `figure`."""
    found = []
    placed = drawn_texts(figure)
    width, height = 2 * _style.DPI * figure.get_size_inches()
    for i, (text, box) in enumerate(placed):
        name = text.get_text()
        formula = text.get_parse_math() and re.search(r"[_^]", name)
        size = float(text.get_fontsize()) * (SUBSCRIPT if formula else 1)
        if size < SMALLEST:
            found.append(f"{name!r} is {size:g} pt")
        if box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height:
            found.append(f"{name!r} is cut")
        if text.get_parse_math() and any(label in name for label in LITERAL):
            found.append(f"{name!r} is read as a formula")
        for other, room in placed[:i]:
            across = min(box.x1, room.x1) - max(box.x0, room.x0)
            down = min(box.y1, room.y1) - max(box.y0, room.y0)
            if across > 1 and down > 1:
                found.append(f"{name!r} lies over {other.get_text()!r}")
    return found


def margin(figure: Figure) -> float:
    """Return the least distance, in inches, of anything drawn from the edge."""
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    return min(box.x0, box.y0, width - box.x1, height - box.y1)


@pytest.mark.parametrize("name", GALLERY)
def test_gallery_figures_are_legible(name):
    figure, _ = picture(name)
    assert legibility(figure) == []
    assert margin(figure) > _style.MARGIN / 2


def bad_figure(x: float, y: float, size: float = 10, text: str = "word", **kwargs) -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.text(0.5, 0.5, "word")
    figure.text(x, y, text, fontsize=size, **kwargs)
    return figure


@pytest.mark.parametrize(
    ("figure", "problem"),
    [
        (bad_figure(0.1, 0.1, size=8.5), "'word' is 8.5 pt"),
        (bad_figure(0.1, 0.1, size=12, text="$W_Q$"), "'$W_Q$' is 8.4 pt"),
        (bad_figure(0.9, 0.1), "'word' is cut"),
        (bad_figure(0.1, 0.98), "'word' is cut"),
        (bad_figure(0.52, 0.52), "'word' lies over 'word'"),
        (bad_figure(0.1, 0.1, size=13, text="$x$"), "'$x$' is read as a formula"),
        (bad_figure(0.1, 0.1), None),
    ],
)
def test_the_legibility_check_fails_on_a_bad_figure(figure, problem):
    assert legibility(figure) == ([problem] if problem else [])


LITERAL = ["$x$", "a_b"]
ODD = [*LITERAL, "internationalisation", "<b>&", "it", "\n", "%d"]


def odd_pictures():
    rng = np.random.default_rng(1)
    n = len(ODD)
    q, k, v = rng.standard_normal((3, n, 3))
    steps = attend(q, k, v)
    s, w = steps.scores[0], steps.weights[0]
    temperatures = [0.5, 1, 2, 5]
    cold = np.stack([softmax(s / t) for t in temperatures])
    angles = [26.565051177, 90.0, 180.0]
    return {
        "embedding_heatmap": (k, ODD, ["a long feature", "b", "$c$"]),
        "weights_heatmap": (steps.weights, ODD, ODD),
        "scores_heatmap": (np.where(np.eye(n) > 0, -np.inf, 100 * steps.scores), ODD, ODD),
        "mask_map": (steps.weights > 0.2, ODD, ODD),
        "score_tiles": (steps.weights > 0.2, 2, 3, ODD, ODD),
        "head_maps": (np.stack([steps.weights] * 5), ODD, ODD, [f"head {i}" for i in range(5)]),
        "score_bars": ([1, -np.inf, -2], ODD[:3], ODD[0]),
        "weight_bars": (w, ODD, ODD[0]),
        "weight_rows": (cold, [f"T = {t:g}" for t in temperatures], ODD),
        "waterfall": (w, v[:, 0], w * v[:, 0], (w * v[:, 0]).sum(), ODD, "output[0]"),
        "softmax_curve": (s, np.exp(s), w, ODD),
        "slope_curve": ([0.0, 0.5, 1.0], [0.0, 0.25, 0.0]),
        "hull": ([[1, 0], [0, 0], [1, 0]], [[0.43, 0]], ODD[:3], ["output"]),
        "bahdanau": (k, q[0], s, w, w @ k, ODD),
        "dot_product_angle": ([2, 1], [[1, 0], [-1, 2], [-2, -1]], [2, 0, -5], angles, "$x$", ODD[:3]),
        "vectors_plane": ([[1, 0]], [[1, 0], [0, 0], [-1, 2]], ["$x$"], ["a_b", "zero", "k"]),
        "multi_head_sketch": (64, 1, 64),
        "transformer_block": (12288, 96, 49152),
        "alignment_map": (steps.weights, ODD, ODD),
        "learning_curves": ([0, 1000], [[-1.0, 2.0], [2.0, 2.0], [0.0, 2.0], [1.0, 2.0]], ODD[:4]),
        "growth_lines": ([1, 2, 64], [[1e-3, 2, 3e5], [3, 3, 3], [3, 3, 3.1]], ODD[:3], "a_b"),
        "kernel_regression": ([2, 2, -1], [-50, 0, 1000], [-3, 0, 3], np.eye(3), [-50, 0, 1000], 2),
        "attention_graph": (steps.weights, ODD),
        "position_clocks": ([[1, 0], [0, -1], [0.6, 0.8], [0, 1], [-0.6, 0.8]], ODD[:5]),
        "rotary_pairs": ([[1, 0]] * 4, [[0, 0], [-3, 0], [1, 9], [1, -0.1]], [0, -3, 1, 1], ODD[:4], ODD[3:]),
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(odd_pictures()))
def test_odd_labels_and_numbers_stay_legible(name):
    figure, _ = figures.draw(getattr(figures, name), *odd_pictures()[name])
    assert legibility(figure) == []


def test_a_graph_in_a_row_stays_legible_and_counts_its_arrows():
    weights = np.tril(np.ones((len(ODD), len(ODD)))) / np.arange(1, len(ODD) + 1)[:, None]
    figure, alt = figures.draw(figures.attention_graph, weights, ODD, in_a_row=True)
    assert legibility(figure) == []
    assert "28 arrows" in alt


def test_labels_stay_literal_on_axes_of_your_own():
    ax = Figure().add_subplot()  # where matplotlib's own setting would read "$x$" as a formula
    figures.weights_heatmap(ax, np.eye(2), ["$x$", "b"], ["$x$", "b"])
    assert not any(text.get_parse_math() for text in ax.texts)


@pytest.mark.parametrize("fonts", [_style._fonts(), ["DejaVu Sans"]], ids=["fonts of this machine", "DejaVu"])
def test_chinese_tokens_are_drawn_without_a_warning(fonts, monkeypatch, tmp_path):
    monkeypatch.setattr(_style, "_fonts", lambda: fonts)
    tokens = ["我", "爱", "吃", "苹果"]
    figure, alt = figures.draw(figures.weights_heatmap, np.eye(4), tokens, tokens)
    assert legibility(figure) == []
    figures.save_svg(figure, alt, tmp_path / "x.svg")
    assert "Row 苹果: 1 on 苹果" in alt


def test_a_character_that_no_font_has_is_measured_without_a_warning():
    widths = [figures.em_width(label) for label in ("苹果", "a\u0301", "👍", "\u0e01", "a\nb")]
    assert widths[:3] == [2.0, figures.em_width("a"), 1.3]
    assert widths[3] > 0.5
    assert widths[4] == pytest.approx(sum(map(figures.em_width, "a↵b")), abs=0.02)


@pytest.mark.parametrize("weight", np.linspace(0, 1, 21))
def test_numbers_can_be_read_on_every_weight(weight):
    fill = weight_shade(weight)
    assert contrast(ink(fill), fill) >= 4.5


@pytest.mark.parametrize("color", [figures.Q, figures.K, figures.V, figures.OUTPUT, "#8A8A8A", "#B08D57"])
def test_numbers_can_be_read_on_every_cell(color):
    assert min(contrast(ink(tint(color, s)), tint(color, s)) for s in np.linspace(0, 0.75, 16)) >= 4.5


def test_the_contrast_check_can_fail():
    assert contrast("#FFFFFF", figures.WEIGHTS) < 4.5


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    parts = np.array(matplotlib.colors.to_rgb(color))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


# --- pictures that say what is so -------------------------------------------------------------


def bars_in(figure: Figure, color: str) -> list[float]:
    """Return the heights of all rectangles of one colour, from left to right."""
    filled = [bar for ax in figure.axes for bar in ax.patches if isinstance(bar, Rectangle)]
    filled = [bar for bar in filled if matplotlib.colors.to_hex(bar.get_facecolor()) == color.lower()]
    return [bar.get_height() for bar in sorted(filled, key=lambda bar: bar.get_x())]


def test_the_same_weight_is_as_high_in_every_picture():
    weights = [[0.68, 0.32], [0.33, 0.67]]
    alone = [figures.draw(figures.weight_bars, row, ["a", "b"], "it")[0] for row in weights]
    high, low = (bars_in(figure, figures.WEIGHTS)[0] for figure in alone)
    assert high / low == pytest.approx(0.68 / 0.33)
    both, _ = figures.draw(figures.weight_rows, weights, ["it, tired", "it, wide"], ["a", "b"])
    first, second, third, fourth = bars_in(both, figures.WEIGHTS)
    assert (first / third, second / fourth) == pytest.approx((0.68 / 0.33, 0.32 / 0.67))
    assert {"it, tired", "it, wide"} <= {text.get_text() for text, _ in drawn_texts(both)}


def test_a_sum_of_nearly_nothing_stays_low():
    for value, least, most in ((9e-6, 0.0, 0.01), (1.0, 1.0, 3.0)):
        figure, _ = figures.draw(
            figures.waterfall, [0.5, 0.5], [value, value], [value / 2] * 2, value, "ab", "o"
        )
        assert least <= bars_in(figure, figures.OUTPUT)[0] <= most


@pytest.mark.parametrize("draw", [figures.weights_heatmap, figures.head_maps])
def test_a_weight_three_times_as_large_is_plainly_larger(draw):
    heads = [["h"]] if draw is figures.head_maps else []
    weights = np.array([[0.31, 0.11, 0.58]])
    figure, _ = figures.draw(draw, weights[None] if heads else weights, ["q"], ["a", "b", "c"], *heads)
    marks = [bar for bar in figure.axes[0].patches if isinstance(bar, Rectangle) and is_purple(fill_of(bar))]
    marks.sort(key=lambda bar: bar.get_x())
    dark = [bar.get_width() * bar.get_height() * (1 - luminance(fill_of(bar))) for bar in marks]
    assert dark[0] >= 3 * dark[1]


def fill_of(bar: Rectangle) -> str:
    return matplotlib.colors.to_hex(bar.get_facecolor())


def is_purple(color: str) -> bool:
    red, green, blue = matplotlib.colors.to_rgb(color)
    return red > green and blue > green


def test_a_method_has_one_look_in_all_pictures_and_no_role_s_colour():
    names = ["additive", "dot product", "scaled dot product", "equal weights"]
    assert curves.looks(["dot", "scaled dot", "additive"]) == [curves.looks(names)[i] for i in (1, 2, 0)]
    assert len(set(curves.looks(names))) == 4
    roles = {figures.Q, figures.K, figures.V, figures.WEIGHTS, figures.OUTPUT}
    assert not roles & {look.color for look in curves.LOOKS}


def test_a_vector_of_zeros_has_no_angle():
    figure, words = figures.draw(
        figures.dot_product_angle, [1, 0], [[0, 0], [0, 2]], [0, 0], [49.4, 90], "q", "ab"
    )
    assert "k(a) [0, 0] has no angle to it" in words and "49.4" not in words
    assert "49.4°" not in {text.get_text() for text, _ in drawn_texts(figure)}
    assert "k(b) [0, 2] stands at 90° to it" in words


def test_every_clock_of_the_gallery_moves():
    codes, _ = gallery.GALLERY["position_clocks"]()
    turned = np.linalg.norm(codes.reshape(len(codes), -1, 2) - [0, 1], axis=2).max(axis=0)
    assert turned.min() > 0.5  # the chord of half a radian


def test_a_label_from_right_to_left_does_not_turn_numbers_round():
    figure, words = figures.draw(figures.vectors_plane, [[1, 2]], [[3, 4]], ["שלום"], ["k"])
    assert "\u2068שלום\u2069 [1, 2]" in words
    assert legibility(figure) == []
    assert not any("\u2068" in text.get_text() for text, _ in drawn_texts(figure))


# --- the same bytes, whoever draws them -------------------------------------------------------


@pytest.mark.parametrize("name", ["attention_graph", "mask_map", "saturation", "softmax_curve"])
def test_drawn_again_a_figure_is_the_same_file(name, fresh, tmp_path):
    figures.save_svg(*picture(name), tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == (fresh / f"{name}.svg").read_bytes()


def test_settings_of_the_session_change_nothing(tmp_path):
    plain, styled = tmp_path / "plain.svg", tmp_path / "styled.svg"
    figures.save_svg(*gallery.picture("weight_bars"), plain)
    with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 9, "savefig.dpi": 7}):
        figures.save_svg(*gallery.picture("weight_bars"), styled)
        assert matplotlib.rcParams["font.size"] == 20
    assert plain.read_bytes() == styled.read_bytes()


def test_an_svg_holds_its_alt_text_and_no_date(tmp_path):
    figure, alt = picture("weight_bars")
    figures.save_svg(figure, alt, tmp_path / "x.svg")
    svg = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert f"<title>{alt}</title>" in svg
    assert "dc:date" not in svg
    assert b"\r" not in (tmp_path / "x.svg").read_bytes()


def digests(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    gallery.write_figures(folder)
    return folder


def test_committed_figures_are_what_the_code_draws(fresh):
    if reason := why_pictures_may_differ():
        pytest.skip(reason)
    assert digests(ROOT / "figures") == digests(fresh)


def test_the_gallery_page_shows_every_figure_with_its_alt_text(fresh):
    page = (fresh / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^!\[(.*)\]\((\w+)\.svg\)$", page, re.MULTILINE)
    assert [name for _, name in shown] == [*gallery.CANVASES, *gallery.GALLERY]
    for alt, name in shown:
        words = gallery.CANVASES[name]().words if name in gallery.CANVASES else picture(name)[1]
        assert re.sub(r"\\(.)", r"\1", alt) == words


def test_png_has_two_image_pixels_for_each_css_pixel():
    figure, _ = picture("weight_bars")
    header = figures.png(figure)[16:24]
    size = [int.from_bytes(header[i : i + 4]) for i in (0, 4)]
    assert size == [round(192 * side) for side in figure.get_size_inches()]


# --- the words --------------------------------------------------------------------------------


def unsaid(function, args) -> list[str]:
    """Return the numbers in `args` that can change while the alt text stays as it is.

    A change that contradicts another argument is refused with a ValueError: that is as good.
    """
    before, found = function(Figure().add_subplot(), *args), []
    for i, arg in enumerate(args):
        if np.asarray(arg).dtype.kind not in "fb":
            continue
        places = np.argwhere(np.isfinite(arg))
        for at in map(tuple, places[:: 1 + len(places) // 6]):
            changed = np.array(arg)
            changed[at] = not changed[at] if changed.dtype == bool else 1.25 * changed[at] + 0.25
            try:
                after = function(Figure().add_subplot(), *args[:i], changed, *args[i + 1 :])
            except ValueError as contradiction:
                after = str(contradiction)
            if after == before:
                found.append(f"argument {i} at {tuple(map(int, at))}")
    return found


@pytest.mark.parametrize("name", sorted(set(GALLERY) - set(ARRAY_FREE) - set(STABLE_ONLY)))
def test_no_number_can_change_without_the_alt_text(name):
    assert unsaid(getattr(figures, name), gallery.GALLERY[name]()) == []


def test_the_alt_text_check_can_fail():
    def says_the_first_only(ax, weights, tokens):
        return f"{weights[0]:.2f} on {tokens[0]}"

    assert unsaid(says_the_first_only, (np.array([0.5, 0.5]), ["a", "b"])) == ["argument 0 at (1,)"]


def test_both_ends_of_a_curve_are_in_the_alt_text():
    function, (steps, curves, labels) = figures.learning_curves, gallery.GALLERY["learning_curves"]()
    steps, ends = [steps[0], steps[-1]], np.asarray(curves)[:, [0, -1]]
    assert unsaid(function, (steps, ends, labels)) == []
    assert function(Figure().add_subplot(), steps, ends, labels) == picture("learning_curves")[1]


def test_the_largest_weight_of_each_row_is_in_the_alt_text():
    def words(weights):
        return figures.draw(figures.alignment_map, weights, "ab", "xyz")[1]

    weights = np.array([[0.1, 0.7, 0.2], [0.8, 0.1, 0.1]])
    assert words(weights).endswith("Row a: most on y. Row b: most on x.")
    assert words(weights + 0.01) == words(weights)
    assert words(weights[::-1]) != words(weights)


@pytest.mark.parametrize("name", GALLERY)
def test_alt_texts_are_sentences(name):
    alt = picture(name)[1]
    assert alt[0].isupper() or name == "multi_head_sketch" or alt.startswith(("q(", "output"))
    assert alt.endswith(".")
    assert "np." not in alt
    assert "array" not in alt


def test_the_alt_text_of_the_main_example():
    assert picture("weight_bars")[1] == (
        "Weights of it: 0.31 on animal, 0.11 on each of the other six. Equal shares would be 1/7."
    )
    assert "together 0.43" in picture("waterfall")[1]
    assert "Row it: 0.31 on animal, 0.11 on each of the other six." in picture("weights_heatmap")[1]
    assert "k(animal) [1, 1, 1, 0] stands at 54.7° to it" in picture("dot_product_angle")[1]
    assert gallery.CANVASES["canvas"]().words.endswith("q, output: [0.560, 0.440].")


# --- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("weights_heatmap", (np.eye(2), ["a"], ["b", "c"]), r"weights .* \(1 queries, 2 keys\).* \(2, 2\)"),
        ("weight_bars", ([], [], "q"), r"none of them 0"),
        ("weight_bars", ([0.5, np.nan], ["a", "b"], "q"), r"weights must be finite, got nan"),
        ("mask_map", (np.eye(2), ["a", "b"], ["a", "b"]), r"mask must be boolean.*float64"),
        ("score_tiles", (np.eye(2), 1, 1, "ab", "ab"), r"mask must be boolean.*float64"),
        ("score_tiles", (np.eye(2) > 0, 0, 1, "ab", "ab"), r"tile_q and tile_k must be .*got 0 and 1"),
        ("waterfall", ([1], [2], [2], 3.0, ["a"], "o"), r"total must equal the sum of terms = 2.0, got 3.0"),
        ("waterfall", ([1], [2], [3], 3.0, ["a"], "o"), r"terms must equal weights \* values = \[2.0\]"),
        ("variance_lines", ([4], [0.0], [1.0]), r"variances must be positive, got 0"),
        ("softmax_curve", ([0], [2], [1], ["a"]), r"exponentials must equal exp\(scores\) = \[1.0\]"),
        ("slope_curve", ([0.5], [0.2]), r"slopes must equal weights \* \(1 - weights\) = \[0.25\]"),
        ("growth_lines", ([4], [[0.0]], ["a"], "d"), r"values must be positive, got 0"),
        ("growth_lines", ([4], np.ones((5, 1)), "abcde", "d"), r"names must be at most 4, got 5"),
        ("kernel_regression", ([0, 1], [1, 2], [0, 1, 3], np.eye(2)[[0, 0, 1]], [1, 1, 2], 0), r"evenly"),
        ("kernel_regression", ([0, 1], [1, 2], [0, 1], np.eye(2), [1, 3], 0), r"weights @ values"),
        ("attention_graph", (-np.eye(2), "ab"), r"weights must not be negative, got -1"),
        ("dot_product_angle", ([1, 0], [[0, 2]], [1], [90], "q", ["k"]), r"products must equal"),
        ("dot_product_angle", ([1, 0], np.eye(4), [1] * 4, [0] * 4, "q", "abcd"), r"at most 3.* got 4"),
        ("bahdanau", ([[1]], [1], [1], [1], [2], ["a"]), r"context must equal weights @ states"),
        ("position_clocks", ([[0, 1, 0]], ["a"]), r"codes must have pairs of columns, got 3"),
        ("position_clocks", ([[1, 1]], ["a"]), r"the length of each pair must equal 1"),
        ("rotary_pairs", ([[1, 0]], [[1, 0]], [2], ["a"], ["b"]), r"scores must equal q · k, row by row"),
        ("rotary_pairs", ([[1, 0]], [[1, 0]], [1], ["a"], []), r"each query must meet one key, got 1 .* 0"),
        ("learning_curves", ([0, 9], np.ones((5, 2)), ODD[:5]), r"names must be at most 4, got 5"),
        ("multi_head_sketch", (512, 8, 63), r"n_heads · d_head must equal d_model = 512, got 504"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(name, args, message):
    with pytest.raises(ValueError, match=message):
        figures.draw(getattr(figures, name), *args)


# --- drawing functions only draw --------------------------------------------------------------


def test_drawing_loads_no_pyplot():
    code = """
import sys
from attention_core.figures import gallery
gallery.picture("hull")
sys.exit("matplotlib.pyplot" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_inputs_are_not_changed():
    weights = np.eye(2)
    weights.setflags(write=False)
    figures.draw(figures.weights_heatmap, weights, ["a", "b"], ["a", "b"])
