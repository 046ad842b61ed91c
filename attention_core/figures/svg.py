"""What the canvas and the live pictures are made of, as SVG text; and their PNG.

Ink is `currentColor`, so that a picture follows a light or a dark page. Fills behind text stay pale
enough for a contrast of 4.5 on both. No ids: copies of a picture cannot disturb each other.
"""

import math
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np

from attention_core._numbers import dot_product, number, plain
from attention_core.figures import _style
from attention_core.figures._style import (
    NEGATIVE,
    NEUTRAL,
    OUTPUT,
    WEIGHTS,
    K,
    Q,
    V,
    em_width,
    shown,
)

# The strongest fill on which text keeps a contrast of 4.5, on white, #111 and Colab's #383838.
STRONGEST = {Q: 0.65, K: 0.5, V: 0.45, WEIGHTS: 0.4, OUTPUT: 0.22, NEUTRAL: 0.4, NEGATIVE: 0.4}
SIZE = 13  # CSS pixels; nothing is smaller than SMALL
SMALL = 12
FULL_WEIGHT = 0.6  # the weight with the strongest fill, as in `figures`
# Colours of words: mixed with the page's ink, so that they are darker on white and lighter on black.
ROLES = {"q": Q, "k": K, "v": V, "w": WEIGHTS, "o": OUTPUT}
_ON_WHITE = {"q": "#004f7c", "k": "#8a3c00", "v": "#00573f", "w": "#7a3f63", "o": "#6f6500"}

isolated = _style.isolated  # for live views, too

Array = np.ndarray[Any, np.dtype[Any]]
Labels = Sequence[str]
Point = tuple[float, float]
Places = Callable[[Sequence[float] | Array], Point]  # from numbers to pixels


class Picture(NamedTuple):
    """A picture of so many CSS pixels, and the same facts in words."""

    svg: str
    words: str
    width: int
    height: int


class Piece(NamedTuple):
    """Some letters of a line; `role` is one of ROLES, or "" for the colour of the page's text."""

    text: str
    role: str = ""


def picture(width: float, height: float, words: str, *parts: str, css: str = "") -> Picture:
    """Put `parts` on a sheet whose accessible name is `words`; it shrinks where the page is narrow.

    With `css` the parts answer to the mouse and the keyboard, so that the sheet is a group, not an image.
    """
    wide, high = math.ceil(width), math.ceil(height)
    kind = 'class="canvas" role="group"' if css else 'role="img"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {kind} aria-label="{escape(words)}" width="{wide}" '
        f'height="{high}" viewBox="0 0 {wide} {high}" style="max-width:100%;height:auto" fill="currentColor" '
        f'font-family="system-ui, sans-serif" font-size="{SIZE}" text-anchor="middle">'
    )
    style = f"<style>{css}</style>" if css else ""
    return Picture(f"{head}{style}{''.join(parts)}</svg>", words, wide, high)


def on_sheet(picture: Picture, width: int, height: int) -> Picture:
    """Return the picture on a sheet at least so large, so that what stands below it does not move."""
    wide, high = max(picture.width, width), max(picture.height, height)
    size = 'width="{0}" height="{1}" viewBox="0 0 {0} {1}"'
    old, new = size.format(picture.width, picture.height), size.format(wide, high)
    return Picture(picture.svg.replace(old, new, 1), picture.words, wide, high)


def standalone(picture: Picture) -> str:
    """Return the picture as a file of its own: black on a white card, whatever the page behind it."""
    head, _, rest = picture.svg.replace('style="', 'style="color:#000;', 1).partition(">")
    card = f'<rect width="{picture.width}" height="{picture.height}" rx="8" fill="#fff"/>'
    return f"{head}>{card}{rest}\n"


def png(picture: Picture, scale: float = 2.0) -> bytes | None:
    """Return the picture as PNG on white, `scale` image pixels for a CSS pixel; None without resvg-py.

    resvg-py belongs to the tools that build the course, not to what runs it.
    """
    if find_spec("resvg_py") is None:
        return None
    import resvg_py

    # What a browser does by itself when nothing is hovered.
    roles = "".join(f"svg.canvas .{role}-ink,.{role}-ink{{fill:{ink}}}" for role, ink in _ON_WHITE.items())
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=picture.svg,
            background="#ffffff",
            zoom=scale,
            skip_system_fonts=True,
            font_dirs=[str(Path(matplotlib.get_data_path()) / "fonts" / "ttf")],
            sans_serif_family="DejaVu Sans",
            style_sheet=f"svg{{color:#000}}.canvas .picked .sum{{visibility:visible}}{roles}",
        )
    )


def still(picture: Picture) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what IPython displays where nothing moves: the picture's words and its PNG, and its size."""
    image = png(picture)
    if image is None:
        return {"text/plain": picture.words}, {}
    size = {"width": picture.width, "height": picture.height, "alt": picture.words}
    return {"text/plain": picture.words, "image/png": b64encode(image).decode()}, {"image/png": size}


# --- words ------------------------------------------------------------------------------------


def products(a: Array, b: Array) -> str:
    """Write a dot product term by term: 1.0·0.8 + 0.0·0.1."""
    return dot_product(*([plain(x, least=1) for x in vector] for vector in (a, b)))


def named(values: Array, names: Labels) -> str:
    """Say what each name has: key 0 0.3866, key 1 0.2670."""
    return ", ".join(f"{name} {number(value)}" for name, value in zip(names, values, strict=True))


def label(content: str, room: float, *, size: float = SMALL) -> str:
    """Return what fits into `room` pixels of a token typed by someone."""
    content = shown(content)[:99]
    while len(content) > 1 and em_width(content) * size > room:
        content = content.removesuffix("…")[:-1] + "…"
    return isolated(content)


# --- shapes -----------------------------------------------------------------------------------


def text(
    x: float,
    y: float,
    content: str,
    *,
    size: float = SIZE,
    anchor: str = "",
    bold: bool = False,
    turn: bool = False,
) -> str:
    """Write `content`, whatever it holds, with its middle at height y; turned, it reads upwards."""
    extra = f' text-anchor="{anchor}"' if anchor else ""
    extra += f' font-size="{size:g}"' if size != SIZE else ""
    extra += ' font-weight="600"' if bold else ""
    extra += f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" dy=".35em"{extra}>{escape(content)}</text>'


def lines(x: float, y: float, contents: Sequence[str], *, step: float = 22) -> str:
    """Write one line of text below the other, from x to the right."""
    return "".join(text(x, y + i * step, line, anchor="start") for i, line in enumerate(contents))


def slanted(x: float, y: float, content: str) -> str:
    """Write a label that rises to the right from (x, y)."""
    written = text(x, y, content, size=SMALL, anchor="start")
    return f'<g transform="rotate(-45 {x:.1f} {y:.1f})">{written}</g>'


def coloured(x: float, y: float, pieces: Sequence[Piece]) -> str:
    """Write one line from x to the right, each piece in the colour of its role."""
    spans = []
    for piece in pieces:
        content = escape(isolated(shown(piece.text)))
        look = f'<tspan class="{piece.role}-ink" font-weight="600">'
        spans.append(f"{look}{content}</tspan>" if piece.role else content)
    return f'<text x="{x:.1f}" y="{y:.1f}" dy=".35em" text-anchor="start">{"".join(spans)}</text>'


def broken(pieces: Sequence[Piece], room: float) -> list[list[Piece]]:
    """Break a line between pieces where it grows wider than `room` pixels."""
    broken_lines: list[list[Piece]] = [[]]
    used = 0.0
    for piece in pieces:
        wide = em_width(piece.text) * SIZE
        if used + wide > room and broken_lines[-1]:
            broken_lines.append([])
            used = 0.0
        broken_lines[-1].append(piece)
        used += wide
    return broken_lines


def role_inks() -> str:
    """Return the style that mixes the colours of words with the page's ink."""
    mix = ".canvas .{}-ink{{fill:color-mix(in srgb,currentColor 45%,{})}}"
    return "".join(mix.format(role, color) for role, color in ROLES.items())


def hatch(x: float, y: float, width: float, height: float) -> str:
    """Draw the slanted lines that mean "blocked" in every picture."""
    strokes = []
    for t in range(6, math.ceil(width + height), 6):
        low, top = (max(0.0, t - height), min(t, height)), (min(t, width), max(0.0, t - width))
        strokes.append(f"M{x + low[0]:.1f} {y + low[1]:.1f}L{x + top[0]:.1f} {y + top[1]:.1f}")
    return f'<path d="{"".join(strokes)}" stroke="currentColor" stroke-width=".8" opacity=".75"/>'


def rect(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str = "none",
    opacity: float = 1,
    line: float = 0,
    look: str = "",
) -> str:
    """Draw a rectangle; `line` is the width of its edge, in the colour of the text, `look` more of it."""
    paint = f' fill-opacity="{opacity:.3f}"' if opacity < 1 else ""
    edge = f' stroke="currentColor" stroke-width="{line:g}"' if line else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" '
        f'fill="{fill}"{paint}{edge}{look}/>'
    )


def path(points: Sequence[Point], *, color: str = "currentColor", width: float = 1, dashed: bool = False,
         fill: str = "none", opacity: float = 1) -> str:  # fmt: skip
    """Draw straight lines from point to point; with a `fill` the shape is closed."""
    steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    close = "" if fill == "none" else "Z"
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    paint = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
    return f'<path d="M{steps}{close}" fill="{fill}"{paint} stroke="{color}" stroke-width="{width:g}"{dash}/>'


def circle(x: float, y: float, radius: float, fill: str) -> str:
    """Draw a dot with an edge in the colour of the text."""
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}" stroke="currentColor" '
        'stroke-width="1.5"/>'
    )


def arrow(start: Point, end: Point, *, color: str = "currentColor", width: float = 1.5) -> str:
    """Draw an arrow; one too short for its head is left out."""
    (x0, y0), (x1, y1) = start, end
    length = math.hypot(x1 - x0, y1 - y0)
    if length < 1:
        return ""
    head = min(5 + 2 * width, length)
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    neck, side = (x1 - head * ux, y1 - head * uy), 0.45 * head
    wings = [(neck[0] - side * uy, neck[1] + side * ux), (x1, y1), (neck[0] + side * uy, neck[1] - side * ux)]
    return path([start, neck], color=color, width=width) + path(wings, color=color, width=0.5, fill=color)


def cell(
    x: float,
    y: float,
    width: float,
    height: float,
    content: str,
    color: str,
    strength: float,
    *,
    title: str = "",
    picked: bool = False,
    size: int = SIZE,
) -> str:
    """Draw a number on a fill; `strength` runs from 0 to 1, `title` is shown on hover."""
    hover = f"<title>{escape(title)}</title>" if title else ""
    fill = rect(
        x, y, width, height, color, min(max(strength, 0.0), 1.0) * STRONGEST[color], 3 if picked else 0.6
    )
    return f"<g>{hover}{fill}{text(x + width / 2, y + height / 2, content, size=size)}</g>"


def row(
    x: float,
    y: float,
    values: Array,
    color: str,
    *,
    width: float = 56,
    height: float = 34,
    titles: Labels = (),
    picked: int = -1,
    full: float = 0,
) -> str:
    """Draw one row of numbers; the fill is strongest at `full`, or at the largest value."""
    cells = []
    for j, (value, strength) in enumerate(zip(values, shades(values, full), strict=True)):
        hue = color if value >= 0 or color == OUTPUT else NEGATIVE
        title, content = titles[j] if titles else "", number(value)
        size = SIZE if len(content) <= 6 else SMALL
        at = (x + j * width, y, width, height)
        cells.append(cell(*at, content, hue, strength, title=title, picked=j == picked, size=size))
    return "".join(cells)


def small_matrix(x: float, y: float, values: Array, color: str, *, side: float) -> str:
    """Draw a matrix as small squares without numbers, in ten strengths: one path for each."""
    n, m = values.shape
    squares: dict[tuple[str, float], list[str]] = {}
    for (i, j), strength in np.ndenumerate(shades(values).round(1)):
        fill = (color if values[i, j] >= 0 else NEGATIVE, float(strength))
        squares.setdefault(fill, []).append(
            f"M{x + j * side:.0f} {y + i * side:.0f}h{side:g}v{side:g}h-{side:g}z"
        )
    filled = "".join(
        f'<path d="{"".join(places)}" fill="{hue}" fill-opacity="{strength:.1f}"/>'
        for (hue, strength), places in squares.items()
    )
    across = "".join(f"M{x:.0f} {y + i * side:.0f}h{m * side:g}" for i in range(n + 1))
    down = "".join(f"M{x + j * side:.0f} {y:.0f}v{n * side:g}" for j in range(m + 1))
    return f'{filled}<path d="{across}{down}" stroke="currentColor" stroke-width=".3"/>'


def shades(values: Array, full: float = 0) -> Array:
    """Return how strong each fill is: 0 for zero, 1 for `full` or the largest value."""
    sizes = np.abs(np.where(np.isfinite(values), values, 0.0).astype(float))
    top = full or float(sizes.max(initial=0)) or 1.0
    return np.minimum(sizes / top, 1.0)


def bars(
    x: float,
    floor: float,
    values: Array,
    color: str,
    *,
    step: float,
    tall: float,
    full: float,
    titles: Labels = (),
) -> str:
    """Draw bars that stand on a line at `floor`; a bar of `full` is `tall` pixels high."""
    parts = [path([(x, floor), (x + step * len(values), floor)])]
    for j, value in enumerate(values):
        height = tall * min(max(float(value), 0.0) / full, 1.0) if math.isfinite(value) else 0.0
        hover = f"<title>{escape(titles[j])}</title>" if titles else ""
        bar = rect(x + (j + 0.15) * step, floor - height, 0.7 * step, height, color, line=0.6)
        parts.append(f"<g>{hover}{bar}</g>")
    return "".join(parts)


def plane(x: float, y: float, side: float, low: int, high: int) -> tuple[str, Places]:
    """Draw a square of the plane with a grid; return it with the map from numbers to pixels."""
    ticks = {float(tick): plain(tick) for tick in range(low, high + 1)}
    return chart(x, y, side, side, ticks, ticks)


def chart(
    x: float, y: float, width: float, height: float, across: Mapping[float, str], up: Mapping[float, str]
) -> tuple[str, Places]:
    """Draw a grid with these ticks, from the lowest to the highest, and the axes where they are 0.

    Return it with the map from numbers to pixels.
    """
    left, bottom = min(across), min(up)
    x_unit, y_unit = width / (max(across) - left), height / (max(up) - bottom)

    def at(point: Sequence[float] | Array) -> Point:
        return x + (point[0] - left) * x_unit, y + height - (point[1] - bottom) * y_unit

    parts = []
    for axis, ticks in enumerate((across, up)):
        for tick, name in ticks.items():
            foot = at((tick, bottom) if axis == 0 else (left, tick))
            end = (foot[0], y) if axis == 0 else (x + width, foot[1])
            line = path([foot, end], width=0.6 if tick else 1.2)
            parts.append(f'<g opacity=".3">{line}</g>' if tick else line)
            place, anchor = (foot[0], foot[1] + 12) if axis == 0 else (x - 7, foot[1]), "end" if axis else ""
            parts.append(text(*place, name, size=SMALL, anchor=anchor))
    return "".join(parts), at
