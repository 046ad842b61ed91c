"""Two vectors by length and angle, and the ways to their dot product."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, VBox

from attention_core._numbers import number, plain, product, vector
from attention_core.attention import attention_scores
from attention_core.figures import NEUTRAL, K, Q
from attention_core.figures.svg import (
    Picture,
    Places,
    Point,
    arrow,
    chart,
    circle,
    lines,
    path,
    picture,
    plane,
    products,
    rect,
    text,
)
from attention_core.live._controls import Player, Slider
from attention_core.live._inputs import Array, Numbers, Refused
from attention_core.live._view import SIDE, View
from attention_core.worked import load

REACH = 3  # of the plane
GAP = "\u2003"  # SVG joins plain spaces


class DotProductView(View):
    """Two vectors in the plane, the shadow of one on the other, and their dot product."""

    a_length = Numbers(0.0, REACH, help="The length of a.")
    a_angle = Numbers(-180.0, 180.0, help="The angle of a, in degrees.")
    b_length = Numbers(0.0, REACH, help="The length of b.")
    b_angle = Numbers(-180.0, 180.0, help="The angle of b, in degrees.")

    def __init__(self) -> None:
        s1 = load("it-animal")
        x, at = s1["embeddings"], s1["tokens"].index
        q, k = x @ s1["w_q"].T, x @ s1["w_k"].T  # the source's convention: q = W_Q x
        pairs = {
            "two vectors": ([2.0, 0.5], [1.0, 2.0]),
            "q of it, k of animal (S1)": (q[at("it"), :2], k[at("animal"), :2]),
            "q of it, k of street (S1)": (q[at("it"), :2], k[at("street"), :2]),
            "opposite": ([2.0, 1.0], [-2.0, -1.0]),
        }
        self.presets = {name: {**_polar("a", a), **_polar("b", b)} for name, (a, b) in pairs.items()}
        super().__init__()

    def set(self, inputs: Mapping[str, Any]) -> None:
        """Set several inputs at once, by name; `a` and `b` too, as vectors (2,)."""
        polar: dict[str, Any] = {}
        for name, value in inputs.items():
            polar |= _polar(name, value) if name in ("a", "b") else {name: value}
        super().set(polar)

    @property
    def a(self) -> Array:
        """The vector a, (2,)."""
        return _cartesian(self.a_length, self.a_angle)

    @a.setter
    def a(self, value: Any) -> None:
        self.set({"a": value})

    @property
    def b(self) -> Array:
        """The vector b, (2,)."""
        return _cartesian(self.b_length, self.b_angle)

    @b.setter
    def b(self, value: Any) -> None:
        self.set({"b": value})

    @property
    def dot(self) -> float:
        """The dot product."""
        return float(attention_scores(self.a[None], self.b[None], scale=1.0)[0, 0])

    @property
    def turned(self) -> Array:
        """What a·b would be at other angles θ between them: rows of θ in degrees and a·b, (37, 2)."""
        angles = np.arange(0, 181, 5)
        b = np.stack([_cartesian(self.b_length, self.a_angle + angle) for angle in angles])
        return np.column_stack([angles, attention_scores(self.a[None], b, scale=1.0)[0]])

    def _arrange(self, picture: HTML) -> list[Any]:
        wide = (86, 250)
        controls = [
            Slider(self, f"{name}_{what}", f"{what} of {name}", step, wide=wide).widget
            for name in "ab"
            for what, step in (("length", 0.05), ("angle", 1.0))
        ]
        player = Player(self, "b_angle", "turn b", (-180.0, 180.0, 4.0))
        return [HBox([VBox([*controls, player.widget], layout=SIDE), picture])]

    def _draw(self) -> Picture:
        polar = ((self.a_length, self.a_angle), (self.b_length, self.b_angle))
        return two_vectors(self.a, self.b, self.dot, polar, self.turned)


def _cartesian(length: float, angle: float) -> Array:
    return length * np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])


def _polar(name: str, value: Any) -> dict[str, float]:
    try:
        x, y = map(float, value)
    except (TypeError, ValueError):
        raise Refused(f"{name} must have two numbers, got {value!r}") from None
    return {f"{name}_length": math.hypot(x, y), f"{name}_angle": math.degrees(math.atan2(y, x))}


def two_vectors(a: Array, b: Array, dot: float, polar: tuple[Point, Point], turned: Array) -> Picture:
    """Draw two vectors (2,), the shadow of b on a, their dot product, and beside it that at other angles.

    `polar` has length and angle in degrees of each, `turned` (n, 2) rows of θ and a·b.
    """
    (a_long, a_angle), (b_long, b_angle) = polar
    turn = (b_angle - a_angle + 180) % 360 - 180  # the short way from a to b
    angle, cosine = abs(turn), math.cos(math.radians(turn))
    side, top, left, right, no_angle = 250, 28, 26, 326, min(a_long, b_long) == 0
    grid, at = plane(left, top, side, -REACH, REACH)
    parts = [text(left, 12, "a, b and the shadow of b on a", anchor="start", bold=True), grid]
    parts += [] if no_angle else _shadow(at, a / a_long, b) + _arc(at((0, 0)), a_angle, turn)
    parts += [arrow(at((0, 0)), at(a), color=Q, width=4), arrow(at((0, 0)), at(b), color=K, width=4)]
    parts += [_tip(at(tip), at((0, 0)), name) for tip, name in ((a, "a"), (b, "b"))]
    degrees, levels = {0.0: "0°", 90.0: "90°", 180.0: "180°"}, {3.0 * y: plain(3 * y) for y in range(-3, 4)}
    grid, at = chart(right, top, 174, side, degrees, levels)
    parts += [text(right, 12, "a·b when θ changes", anchor="start", bold=True), grid]
    parts.append(path([at(point) for point in turned], color=NEUTRAL, width=2.5))
    if not no_angle:
        x, y = at((angle, dot))
        parts += [path([at((angle, 0)), (x, y)], dashed=True), circle(x, y, 6, NEUTRAL)]
    shadow = 0.0 if no_angle else dot / a_long
    said = [
        f"a = {vector(a, 4)}{GAP}|a| = {number(a_long)}",
        f"b = {vector(b, 4)}{GAP}|b| = {number(b_long)}",
        f"a·b = {products(a, b)} = {number(dot)}",
    ]
    about = ["θ: no angle", "no shadow"]
    verdict = "a vector of length 0 has no direction: 0"
    if not no_angle:
        about = [f"θ = {number(angle, 1)}°{GAP}cos θ = {number(cosine)}", f"shadow of b = {number(shadow)}"]
        where = "same side: above 0" if cosine > 0 else "opposite sides: below 0"
        verdict = "right angle: 0" if abs(cosine) < 5e-5 else where
        lengths = f"{number(a_long)} · {number(b_long)}"
        said += [
            f"|a||b| cos θ = {product(lengths, ' · ', number(cosine))} = {number(dot)}",
            f"|a| times the shadow = {product(number(a_long), ' · ', number(shadow))} = {number(dot)}",
        ]
    floor = top + side + 38
    for y, color in ((floor, Q), (floor + 24, K)):
        parts.append(rect(left, y - 6, 12, 12, color))
    parts.append(rect(right - 16, floor + 19, 12, 9, NEUTRAL))
    parts += [lines(left + 20, floor, said[:2], step=24), text(right - 16, floor, about[0], anchor="start")]
    parts.append(text(right + 4, floor + 24, about[1], anchor="start"))
    parts += [lines(left, floor + 48, said[2:], step=24)]
    parts.append(text(left, floor + 120, verdict, anchor="start", bold=True))
    ends = f"a {vector(a, 4)}, b {vector(b, 4)}"
    apart = "" if no_angle else f", {number(angle, 1)} degrees apart, shadow of b on a {number(shadow)}"
    return picture(520, floor + 136, f"{ends}{apart}; a·b = {number(dot)}, {verdict}.", *parts)


def _shadow(at: Places, along: Array, b: Array) -> list[str]:
    """Draw what b throws on the line of a, whose direction is `along`: beside it, with the foot of b."""
    foot = along * (along @ b)
    up = b - foot
    apart = float(np.hypot(*up))
    across = np.array([along[1], -along[0]]) if apart < 1e-9 else -up / apart  # away from b
    beside = 0.12 * across
    parts = [path([at(beside), at(foot + beside)], color=NEUTRAL, width=8)]
    parts += [path([at((0, 0)), at(foot)], dashed=True), path([at(b), at(foot)], dashed=True)]
    if apart > 0.25:
        back, leg = -0.16 * np.copysign(along, along * float(along @ b)), -0.16 * across
        parts.append(path([at(foot + back), at(foot + back + leg), at(foot + leg)]))
    return parts


def _arc(origin: Point, start: float, turn: float) -> list[str]:
    """Draw the angle from `start` over `turn` degrees, with its name."""

    def at(radius: float, angle: float) -> Point:
        radians = math.radians(angle)
        return origin[0] + radius * math.cos(radians), origin[1] - radius * math.sin(radians)

    arc = path([at(24, start + turn * t / 24) for t in range(25)], width=1.5)
    return [arc, text(*at(36, start + turn / 2), "θ", bold=True)]


def _tip(tip: Point, origin: Point, name: str) -> str:
    """Write a name beyond the tip of an arrow."""
    length = math.hypot(tip[0] - origin[0], tip[1] - origin[1])
    x, y = ((tip[i] + 13 * (tip[i] - origin[i]) / length) if length else tip[i] + 11 for i in (0, 1))
    return text(x, y, name, bold=True)
