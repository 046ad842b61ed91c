"""What every picture shares: palette, fonts, the figure it becomes, what may come in, and words.

Most pictures are laid out in inches: one data unit is one inch, and the picture is as large as
its content (`sized_by_content`). Charts with real axes state the size of those (`sized`).
"""

import io
import math
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, TypeGuard, TypeVar
from unicodedata import bidirectional, category, east_asian_width
from warnings import catch_warnings, filterwarnings

import numpy as np
from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.textpath import text_to_path

from attention_core._numbers import counted, numbers

Q, K, V, WEIGHTS, OUTPUT = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#F0E442"  # Okabe & Ito (2008)
ROLES = {"q": Q, "k": K, "v": V}
NEUTRAL, NEGATIVE = "#8A8A8A", "#B08D57"  # inputs and scores; numbers below zero
INK, QUIET, RULE, BLOCKED = "#1A1A1A", "#595959", "#D9D9D9", "#BDBDBD"
DEEP_WEIGHTS = "#6B2455"  # the weight 1
SMALL, BODY, SYMBOL = 9.0, 10.0, 13.0  # points; a subscript is 0.7 of its symbol, so 9.1
ISOLATE, POP = "\u2068", "\u2069"  # FIRST STRONG ISOLATE … POP DIRECTIONAL ISOLATE
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
_NOTE = "margin: 4px 0; padding: 2px 12px; border-left: 3px solid #56b4e9"  # seen in light and dark
_NO_GLYPH = "Glyph .* missing from"
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


def is_chart(function: Callable[..., Any]) -> TypeGuard[Callable[..., str]]:
    """Does `function` draw on axes? Others return their picture (see `svg`)."""
    return hasattr(function, "size")


def draw(function: Callable[..., str], *args: Any, **kwargs: Any) -> tuple[Figure, str]:
    """Return a new figure of the right size with `function` drawn on it, and its alt text."""
    with _house_style():
        size = vars(function)["size"]
        figure = Figure(figsize=size or (1, 1), dpi=4 * DPI)  # text is measured as finely as it may be shown
        ax = figure.add_axes((0, 0, 1, 1))
        alt = function(ax, *map(_isolate, args), **kwargs)
        if size is None:
            figure.set_size_inches(np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim()))
        figure.draw_without_rendering()  # makes every tick label, while the style holds
        _fit(figure)
        figure.set_dpi(DPI)
    return figure, alt


def _isolate(argument: Any) -> Any:
    """Isolate an argument that is a label, or labels: numbers stand beside them in the words."""
    if isinstance(argument, str):
        return isolated(argument)
    if isinstance(argument, list | tuple) and all(isinstance(entry, str) for entry in argument):
        return [isolated(entry) for entry in argument]
    return argument


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


def words_below(words: str) -> str:
    """Return the HTML that stands below a picture: its words, folded."""
    return note(fold("The picture in words", escape(words)))


def note(html: str) -> str:
    """Mark `html` as said by the course, not printed by the cell."""
    return f'<div style="{_NOTE}">{html}</div>'


def fold(title: str, html: str) -> str:
    """Show `title`; what it stands for opens on request."""
    return f"<details><summary>{title}</summary>{html}</details>"


@contextmanager
def _house_style() -> Iterator[None]:
    """Draw with matplotlib's own defaults, whatever the session has set, and our changes to them.

    A character that no font here can show is an empty box in the picture, not a warning on stderr
    (which would differ from machine to machine in stored notebooks).
    """
    with rc_context(), catch_warnings():
        filterwarnings("ignore", message=_NO_GLYPH)
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


def permissions(mask: Any, queries: Labels, keys: Labels) -> Any:
    """Return a mask (queries, keys), or raise ValueError unless it is boolean and has that shape."""
    if np.asarray(mask).dtype != np.bool_:
        raise ValueError(f"mask must be boolean, True = may attend, got {np.asarray(mask).dtype}")
    return array("mask", mask, queries=queries, keys=keys) > 0


def agree(name: str, values: Any, formula: str, expected: Any) -> None:
    """Raise ValueError when a picture would show numbers that contradict each other."""
    if not np.allclose(values, expected, rtol=1e-5, atol=1e-5):
        came, wanted = np.asarray(values).round(6).tolist(), np.asarray(expected).round(6).tolist()
        raise ValueError(f"{name} must equal {formula} = {wanted}, got {came}")


def weight_strength(weight: float) -> float:
    """Return how strong the mark of a weight is, in every picture; it is as large as the weight besides.

    So 0.31 and 0.11 differ three to one, although one is not three times the other.

    >>> round(0.31 * weight_strength(0.31) / (0.11 * weight_strength(0.11)), 2)
    3.54
    """
    return 0.4 + 0.6 * min(max(weight, 0.0), 1.0)


def width_of(values: Any) -> int:
    """Return the length of the last axis (0 for a lone number)."""
    shape = np.shape(values)
    return shape[-1] if shape else 0


# --- words ---------------------------------------------------------------


def spread(texts: Labels, labels: Labels) -> str:
    """Say what each label has, the commonest value once.

    >>> spread(["0.31", "0.11", "0.11", "0.11"], ["animal", "the", "street", "it"])
    '0.31 on animal, 0.11 on each of the other three'
    >>> spread(["2", "2", "2"], "abc"), spread(["1", "0"], "ab")
    ('2 on each of the three', '1 on a, 0 on b')
    """
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


def isolated(label: str) -> str:
    """Return a label that runs from right to left so that it does not turn round what stands beside it."""
    return f"{ISOLATE}{label}{POP}" if {"R", "AL"} & set(map(bidirectional, label)) else label


def shown(label: str) -> str:
    """Return what is drawn for a label: itself, with line breaks made visible."""
    return label.replace("\n", "↵").replace("\t", "⇥").strip(ISOLATE + POP)


def text_width(label: str, size: float = SMALL) -> float:
    """Return how many inches a label of this size in points takes."""
    return em_width(label) * size / 72


@cache
def em_width(label: str) -> float:
    """Return how wide a label is in units of its font's size: Chinese characters 1, emoji 1.3 each.

    Others are measured in DejaVu Sans, which is wider than most fonts of a screen.
    """
    marks = [c for c in shown(label) if category(c) not in ("Mn", "Me", "Cf")]  # they take no room
    wide = [c for c in marks if east_asian_width(c) in "WF"]
    narrow = "".join(c for c in marks if c not in wide)
    font = FontProperties(family="DejaVu Sans", size=SMALL)
    with catch_warnings():
        filterwarnings("ignore", message=_NO_GLYPH)  # measured as the empty box that stands for it
        points, _, _ = text_to_path.get_text_width_height_descent(narrow, font, ismath=False)
    return points / SMALL + sum(1.3 if c >= "\N{MAHJONG TILE EAST WIND}" else 1.0 for c in wide)
