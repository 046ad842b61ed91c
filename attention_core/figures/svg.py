"""Pieces of SVG as text, the sheet that holds them, and its PNG.

Ink is `currentColor`, so that a picture follows a light or a dark page, and fills behind text stay pale
enough for a contrast of 4.5 on both. There are no ids: copies of a picture cannot disturb each other.
"""

import math
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from unicodedata import bidirectional

import matplotlib

from attention_core.figures._style import NEGATIVE, NEUTRAL, OUTPUT, WEIGHTS, K, Q, V, em_width, shown

# The strongest fill on which text keeps a contrast of 4.5, on white, #111 and Colab's #383838.
STRONGEST = {Q: 0.65, K: 0.5, V: 0.45, WEIGHTS: 0.4, OUTPUT: 0.22, NEUTRAL: 0.4, NEGATIVE: 0.4}
SIZE, SMALL = 14, 12  # CSS pixels
EDGE = 0.7  # the width of a thin line
# Colours of words: mixed with the page's ink, so that they are darker on white and lighter on black.
ROLES = {"q": Q, "k": K, "v": V, "w": WEIGHTS, "o": OUTPUT}
_DARK = {"q": "#004f7c", "k": "#8a3c00", "v": "#00573f", "w": "#7a3f63", "o": "#6f6500"}  # the same on white


class Picture(NamedTuple):
    """A picture, and the same facts in words."""

    svg: str
    words: str


class Piece(NamedTuple):
    """Some letters of a line; `role` is one of ROLES, or "" for the colour of the page's text."""

    text: str
    role: str = ""


Line = Sequence[Piece]
Labels = Sequence[str]
Place = tuple[float, float, float, float]  # x, y, width, height


def sheet(width: float, height: float, words: str, css: str, parts: Sequence[str]) -> Picture:
    """Put `parts` on a sheet whose accessible name is `words`; it shrinks where the page is narrow."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="canvas" role="group" aria-label="{escape(words)}" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="max-width:100%;height:auto" fill="currentColor" font-family="system-ui, sans-serif" '
        f'font-size="{SIZE}" text-anchor="middle">'
    )
    roles = "".join(
        f".canvas .{role}-ink{{fill:color-mix(in srgb,currentColor 45%,{color})}}"
        for role, color in ROLES.items()
    )
    return Picture(f"{head}<style>{roles}{css}</style>{''.join(parts)}</svg>", words)


def png(picture: Picture, scale: float = 2.0) -> bytes | None:
    """Return the picture as PNG on white, `scale` image pixels for a CSS pixel; None without resvg-py.

    It needs resvg-py, which belongs to the tools that build the course, not to what runs it.
    """
    if find_spec("resvg_py") is None:
        return None
    import resvg_py

    # What CSS does in a browser when nothing is hovered.
    roles = "".join(f".{role}-ink{{fill:{color}}}" for role, color in _DARK.items())
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=picture.svg,
            background="#ffffff",
            zoom=scale,
            skip_system_fonts=True,
            font_dirs=[str(Path(matplotlib.get_data_path()) / "fonts" / "ttf")],
            sans_serif_family="DejaVu Sans",
            style_sheet=f"svg{{color:#000}}.picked .sum{{visibility:visible}}{roles}",
        )
    )


# --- text ---------------------------------------------------------------------------------------


def width_of(content: str, size: float = SIZE) -> float:
    """Return how many pixels a text takes."""
    return em_width(content) * size


@cache
def isolated(content: str) -> str:
    """Keep a text that runs from right to left from turning its neighbours round."""
    turned = any(bidirectional(letter) in ("R", "AL") for letter in content)
    return f"\u2068{content}\u2069" if turned else content


def text(
    x: float, y: float, content: str, *, size: float = SIZE, anchor: str = "", bold: bool = False
) -> str:
    """Write `content`, whatever it holds, with its middle at height y."""
    look = f' text-anchor="{anchor}"' if anchor else ""
    look += f' font-size="{size:g}"' if size != SIZE else ""
    look += ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" dy=".35em"{look}>{escape(isolated(shown(content)))}</text>'


def slanted(x: float, y: float, content: str) -> str:
    """Write a label that rises to the right from (x, y)."""
    turn = f'transform="rotate(-45 {x:.1f} {y:.1f})"'
    return f"<g {turn}>{text(x, y, content, size=SMALL, anchor='start')}</g>"


def line(x: float, y: float, pieces: Line) -> str:
    """Write one line from x to the right, each piece in the colour of its role."""
    spans = []
    for piece in pieces:
        content = escape(isolated(shown(piece.text)))
        look = f'<tspan class="{piece.role}-ink" font-weight="600">'
        spans.append(f"{look}{content}</tspan>" if piece.role else content)
    return f'<text x="{x:.1f}" y="{y:.1f}" dy=".35em" text-anchor="start">{"".join(spans)}</text>'


def broken(pieces: Line, room: float) -> list[list[Piece]]:
    """Break a line between pieces where it grows wider than `room` pixels."""
    lines: list[list[Piece]] = [[]]
    used = 0.0
    for piece in pieces:
        wide = width_of(piece.text)
        if used + wide > room and lines[-1]:
            lines.append([])
            used = 0.0
        lines[-1].append(piece)
        used += wide
    return lines


# --- shapes -------------------------------------------------------------------------------------


def rect(
    place: Place, fill: str = "none", *, strength: float = 1.0, edge: float = 0.0, look: str = ""
) -> str:
    """Draw a rectangle; `edge` is the width of its line, `look` more attributes."""
    x, y, wide, high = place
    paint = f' fill-opacity="{strength:.3f}"' if strength < 1 else ""
    stroke = f' stroke="currentColor" stroke-width="{edge:g}"' if edge else ""
    size = f'width="{max(wide, 0):.1f}" height="{max(high, 0):.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{fill}"{paint}{stroke}{look}/>'


def hatch(place: Place) -> str:
    """Draw the slanted lines that mean "blocked" in every picture."""
    x, y, wide, high = place
    lines = []
    for t in range(6, math.ceil(wide + high), 6):
        low, top = (max(0.0, t - high), min(t, high)), (min(t, wide), max(0.0, t - wide))
        lines.append(f"M{x + low[0]:.1f} {y + low[1]:.1f}L{x + top[0]:.1f} {y + top[1]:.1f}")
    return f'<path d="{"".join(lines)}" stroke="currentColor" stroke-width="{EDGE}" opacity=".55"/>'


def across(x: float, right: float, y: float, *, dotted: bool = False) -> str:
    """Draw a line from left to right."""
    dots = ' stroke-dasharray="2 4" opacity=".6"' if dotted else ""
    return f'<path d="M{x:.1f} {y:.1f}H{right:.1f}" stroke="currentColor" stroke-width="{EDGE}"{dots}/>'


def centre(place: Place) -> tuple[float, float]:
    """Return the middle of a place."""
    x, y, wide, high = place
    return x + wide / 2, y + high / 2
