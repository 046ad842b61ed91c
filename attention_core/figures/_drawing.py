"""What every picture shares: palette, numbers as text, and the few shapes it is made of.

Most pictures are laid out in inches: one data unit is one inch, and the picture is as large as
its content (`sized_by_content`). Charts with real axes state the size of those (`sized`).
"""

import io
import math
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from unicodedata import east_asian_width
from warnings import catch_warnings, filterwarnings

import numpy as np
from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.textpath import text_to_path

Q, K, V, WEIGHTS, OUTPUT = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#F0E442"  # Okabe & Ito (2008)
NEUTRAL, NEGATIVE = "#8A8A8A", "#B08D57"  # inputs and scores; numbers below zero
INK, QUIET, RULE, BLOCKED = "#1A1A1A", "#595959", "#D9D9D9", "#BDBDBD"
DEEP_WEIGHTS = "#6B2455"  # the weight 1
SMALL, BODY, SYMBOL = 9.0, 10.0, 13.0  # points; a subscript is 0.7 of its symbol, so 9.1
CELL, MARGIN, DPI = 0.42, 0.12, 96  # inches, inches, CSS pixels per inch

Floats = np.ndarray[Any, np.dtype[np.float64]]
Labels = Sequence[str]
Point = tuple[float, float]
Shade = Callable[[float], str]
Drawing = TypeVar("Drawing", bound=Callable[..., str])

STYLE: Any = {
    "font.size": BODY,
    "text.color": INK,
    "text.parse_math": False,  # a token may hold "$" or "_"
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#EBEBEB",
    "grid.linewidth": 0.8,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "attention_core",  # the same bytes at every run
    "svg.fonttype": "path",
}
_CJK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Source Han Sans SC",
    "PingFang SC",
    "Heiti TC",
    "Microsoft YaHei",
    "SimHei",
    "WenQuanYi Zen Hei",
)
_COUNTS = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)


# --- a figure from a drawing function ---------------------------------------------------------


def sized(width: float, height: float) -> Callable[[Drawing], Drawing]:
    """Mark a drawing function whose axes are `width` by `height` inches."""

    def mark(function: Drawing) -> Drawing:
        vars(function)["size"] = (width, height)
        return function

    return mark


def sized_by_content(function: Drawing) -> Drawing:
    """Mark a drawing function that is laid out in inches (see `page`)."""
    vars(function)["size"] = None
    return function


def draw(function: Callable[..., str], *args: Any, **kwargs: Any) -> tuple[Figure, str]:
    """Return a new figure of the right size with `function` drawn on it, and its alt text."""
    with _house_style():
        size = vars(function)["size"]
        figure = Figure(figsize=size or (1, 1), dpi=4 * DPI)  # text is measured as finely as it may be shown
        ax = figure.add_axes((0, 0, 1, 1))
        alt = function(ax, *args, **kwargs)
        if size is None:
            figure.set_size_inches(np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim()))
        figure.draw_without_rendering()  # makes every tick label, while the style holds
        _fit(figure)
        figure.set_dpi(DPI)
    return figure, alt


def save_svg(figure: Figure, alt: str, path: Path) -> None:
    """Write `figure` as SVG, the same bytes at every run, with `alt` as its title."""
    text = io.StringIO()
    with _house_style():
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Title": alt})
    path.write_bytes(text.getvalue().encode())


def png(figure: Figure, scale: float = 2.0) -> bytes:
    """Return `figure` as PNG, `scale` image pixels for each CSS pixel."""
    data = io.BytesIO()
    with _house_style():
        figure.savefig(data, format="png", dpi=DPI * scale, metadata={"Software": None})
    return data.getvalue()


def bundle(figure: Figure, words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what IPython displays for `figure`: the picture, the same facts in words, and its size."""
    width, height = (round(side * DPI) for side in figure.get_size_inches())
    data = {"text/plain": words, "image/png": b64encode(png(figure)).decode()}
    return data, {"image/png": {"width": width, "height": height, "alt": words}}


@contextmanager
def _house_style() -> Iterator[None]:
    """Draw with matplotlib's own defaults, whatever the session has set, and our changes to them.

    A character that no font here can show is an empty box in the picture, not a warning on stderr
    (which would differ from machine to machine in stored notebooks).
    """
    with rc_context(), catch_warnings():
        filterwarnings("ignore", message="Glyph .* missing from")
        rcdefaults()
        rcParams.update(STYLE)
        rcParams["font.family"] = _fonts()
        yield


@cache
def _fonts() -> list[str]:
    """DejaVu Sans, which matplotlib brings along, then what is here for Chinese."""
    here = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _CJK_FONTS if name in here)]


def _fit(figure: Figure) -> None:
    """Change the figure's size so that everything drawn fits, with an even margin."""
    box = figure.get_tightbbox()  # inches
    width, height = (math.ceil((side + 2 * MARGIN) * DPI) / DPI for side in (box.width, box.height))
    old_width, old_height = figure.get_size_inches()
    left, bottom = (width - box.width) / 2 - box.x0, (height - box.height) / 2 - box.y0
    places = [ax.get_position() for ax in figure.axes]
    figure.set_size_inches(width, height)
    for ax, place in zip(figure.axes, places, strict=True):
        x, y = (place.x0 * old_width + left) / width, (place.y0 * old_height + bottom) / height
        ax.set_position((x, y, place.width * old_width / width, place.height * old_height / height))


# --- what comes in ----------------------------------------------------------------------------


def array(name: str, values: Any, *, finite: bool = True, **axes: int | Labels) -> Floats:
    """Return `values` as float64, or raise ValueError unless it has one axis for each of `axes`.

    Each axis is given as name=length, or as name=labels, one label for each entry.
    """
    x = np.asarray(values, dtype=np.float64)
    lengths = tuple(size if isinstance(size, int) else len(size) for size in axes.values())
    if x.shape != lengths or x.size == 0:
        wanted = ", ".join(f"{size} {axis}" for axis, size in zip(axes, lengths, strict=True))
        raise ValueError(f"{name} must have shape ({wanted}), none of them 0, got shape {x.shape}")
    if finite and not np.isfinite(x).all():
        raise ValueError(f"{name} must be finite, got {x[~np.isfinite(x)][0]}")
    return x


def agree(name: str, values: Any, formula: str, expected: Any) -> None:
    """Raise ValueError when a picture would show numbers that contradict each other."""
    if not np.allclose(values, expected, rtol=1e-5, atol=1e-5):
        came, wanted = np.asarray(values).round(6).tolist(), np.asarray(expected).round(6).tolist()
        raise ValueError(f"{name} must equal {formula} = {wanted}, got {came}")


def width_of(values: Any) -> int:
    """Return the length of the last axis (0 for a lone number)."""
    shape = np.shape(values)
    return shape[-1] if shape else 0


# --- numbers and labels as text ---------------------------------------------------------------


def numbers(values: Any) -> list[str]:
    """Write all numbers with the same decimals: what shows them exactly (at most 3), otherwise 2."""
    x = np.asarray(values, dtype=np.float64).ravel()
    finite = x[np.isfinite(x)]
    exact = (d for d in range(4) if np.allclose(finite, finite.round(d), rtol=0, atol=1e-9))
    decimals = next(exact, 2)
    return [_number(value, decimals) for value in x]


def _number(value: float, decimals: int) -> str:
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(value, "NaN")
    text = f"{value:.{decimals}f}"
    return (text.lstrip("-") if float(text) == 0 else text).replace("-", "−")


def three_digits(value: float) -> str:
    """Write a positive number with three digits, or all of those before the point: 0.989, 15.3, 1027."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"


def vector(values: Any) -> str:
    """Write a row of numbers for an alt text: [1, 0, 0.5]."""
    return f"[{', '.join(numbers(values))}]"


def spread(texts: Labels, labels: Labels) -> str:
    """Say what each label has, the commonest value once: 0.31 on animal, 0.11 on each of the other six."""
    common = max(texts, key=list(texts).count)
    count = list(texts).count(common)
    if count < 3:
        return ", ".join(f"{text} on {label}" for text, label in zip(texts, labels, strict=True))
    alone = [f"{text} on {label}" for text, label in zip(texts, labels, strict=True) if text != common]
    return ", ".join([*alone, f"{common} on each of the {'other ' if alone else ''}{counted(count)}"])


def rows(values: Floats, queries: Labels, keys: Labels) -> str:
    """Say a whole matrix, row by row."""
    texts = np.reshape(numbers(values), values.shape)
    return " ".join(
        f"Row {query}: {spread(list(row), keys)}." for query, row in zip(queries, texts, strict=True)
    )


def counted(n: int) -> str:
    """Write a number as English prose does: six, but 13."""
    return _COUNTS[n] if n < len(_COUNTS) else str(n)


def shown(label: str) -> str:
    """Return what is drawn for a label: itself, with line breaks made visible."""
    return label.replace("\n", "↵").replace("\t", "⇥")


def product(a: str, sign: str, b: str) -> str:
    """Write a product of two numbers, a negative second one in brackets: 2·(−1)."""
    return f"{a}{sign}({b})" if b.startswith("−") else f"{a}{sign}{b}"


def dot_product(a: Any, b: Any) -> str:
    """Write a dot product term by term: 1·1 + 0·1."""
    return " + ".join(product(x, "·", y) for x, y in zip(numbers(a), numbers(b), strict=True))


@cache
def text_width(label: str, size: float = SMALL) -> float:
    """Return how many inches a label takes; a Chinese character is as wide as the size of the font."""
    wide = [c for c in shown(label) if east_asian_width(c) in "WF"]
    narrow = "".join(c for c in shown(label) if c not in wide)
    font = FontProperties(family="DejaVu Sans", size=size)
    points, _, _ = text_to_path.get_text_width_height_descent(narrow, font, ismath=False)
    return (points + len(wide) * size) / 72
