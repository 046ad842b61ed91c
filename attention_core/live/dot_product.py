"""Two vectors by length and angle, and both ways to their dot product."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from ipywidgets import HTML, HBox

from attention_core._numbers import number, vector
from attention_core.attention import attention_scores
from attention_core.figures import WEIGHTS, K, Q
from attention_core.figures.svg import (
    FULL,
    Picture,
    Point,
    arrow,
    lines,
    path,
    picture,
    plane,
    products,
    rect,
    text,
)
from attention_core.live._controls import Slider
from attention_core.live._inputs import Array, Numbers, Refused
from attention_core.live._view import View
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

    def _arrange(self, picture: HTML) -> list[Any]:
        wide = (80, 300)
        rows = [
            HBox([
                Slider(self, f"{name}_length", f"length of {name}", 0.05, wide=wide).widget,
                Slider(self, f"{name}_angle", f"angle of {name}", 1.0, wide=wide).widget,
            ])
            for name in "ab"
        ]  # fmt: skip
        return [*rows, picture]

    def _draw(self) -> Picture:
        between = abs((self.a_angle - self.b_angle + 180) % 360 - 180)
        return two_vectors(self.a, self.b, self.dot, (self.a_length, self.b_length), between)


def _cartesian(length: float, angle: float) -> Array:
    return length * np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])


def _polar(name: str, value: Any) -> dict[str, float]:
    try:
        x, y = map(float, value)
    except (TypeError, ValueError):
        raise Refused(f"{name} must have two numbers, got {value!r}") from None
    return {f"{name}_length": math.hypot(x, y), f"{name}_angle": math.degrees(math.atan2(y, x))}


def two_vectors(a: Array, b: Array, dot: float, lengths: tuple[float, float], angle: float) -> Picture:
    """Draw two vectors (2,), the shadow of b on a, and both ways to their dot product (angle in degrees)."""
    side, left = 290, 26
    grid, at = plane(left, 8, side, -REACH, REACH)
    shadow = a * (dot / lengths[0] ** 2) if lengths[0] > 0 else a * 0
    parts = [
        grid,
        path([at((0, 0)), at(shadow)], color=WEIGHTS, width=9),
        path([at(b), at(shadow)], dashed=True),
        arrow(at((0, 0)), at(a), color=Q, width=4),
        arrow(at((0, 0)), at(b), color=K, width=4),
        *(_tip(at(tip), at((0, 0)), name) for tip, name in ((a, "a"), (b, "b"))),
    ]
    x, cosine = left + side + 40, math.cos(math.radians(angle))
    where = "same side: above 0" if dot > 0 else "opposite sides: below 0"
    verdict = "right angle: 0" if abs(dot) < 5e-5 else where
    said = [
        f"a = {vector(a, 4)}{GAP}|a| = {number(lengths[0])}",
        f"b = {vector(b, 4)}{GAP}|b| = {number(lengths[1])}",
        f"θ = {number(angle, 1)}°{GAP}cos θ = {number(cosine)}",
        f"a·b = {products(a, b)}",
        f"{GAP}= {number(dot)}",
        f"|a||b| cos θ = {number(lengths[0])} · {number(lengths[1])} · {number(cosine)}",
        f"{GAP}= {number(dot)}",
    ]
    parts += [rect(x, 8, 12, 12, Q), rect(x, 34, 12, 12, K), rect(x, 246, 24, 9, WEIGHTS)]
    parts += [lines(x + 20, 14, said[:3], step=26), lines(x, 118, said[3:], step=26)]
    parts += [text(x + 32, 250, "shadow of b on a: its length times |a| is a·b", anchor="start")]
    parts += [text(x, 280, verdict, anchor="start", bold=True)]
    ends = f"a {vector(a, 4)}, b {vector(b, 4)}, {number(angle, 1)} degrees apart"
    return picture(FULL, side + 34, f"{ends}; a·b = {number(dot)}, {verdict}.", *parts)


def _tip(tip: Point, origin: Point, name: str) -> str:
    """Write a name beyond the tip of an arrow."""
    length = math.hypot(tip[0] - origin[0], tip[1] - origin[1]) or 1.0
    x, y = (tip[i] + 13 * (tip[i] - origin[i]) / length for i in (0, 1))
    return text(x, y, name, bold=True)
