"""The course's one picture of attention: aligned matrices, at fixed places and in fixed colours.

Below runs the line Q, scores, ÷ √d_k, softmax, weights, output; above it stand Kᵀ and V. Where a row of Q
and a column of Kᵀ cross stands their score; where a row of weights and a column of V cross stands the output.
A cell that is hovered, tapped or focused outlines its row and column, and its sum is written below.
Several heads lie as sheets one behind the other; a mask hatches what it blocks; thick lines cut tiles.
"""

import functools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple, Protocol

import numpy as np

from attention_core import _numbers
from attention_core._numbers import fixed
from attention_core.figures._style import (
    NEUTRAL,
    OUTPUT,
    WEIGHTS,
    K,
    Q,
    V,
    agree,
    array,
    em_width,
    isolated,
    shown,
    weight_strength,
)
from attention_core.figures.svg import (
    SMALL,
    STRONGEST,
    Labels,
    Picture,
    Piece,
    broken,
    coloured,
    hatch,
    path,
    picture,
    rect,
    role_inks,
    slanted,
    text,
)

# Every word that the picture says, in one place for a translation.
WORDS = {
    "scores": "scores",
    "weights": "weights",
    "output": "output",
    "weight": "weight of",
    "softmax": "softmax",
    "head": "head {} of {}",
    "tiles": "Cut into tiles of {} queries by {} keys.",
    "blocked": "blocked: the score becomes −∞, and the weight 0",
    "nothing": "every key is blocked: all weights are 0",
}
LESSON = {"scores": 1, "÷": 2, "softmax": 3, "weights": 3, "output": 4}  # what each lesson lights
COLORS = {"scores": NEUTRAL, "weights": WEIGHTS, "output": OUTPUT}
EDGE, PICKED = 0.7, 2.6  # the widths of an edge and of an outline
MANY = 4  # more keys than this stand in small cells
LEAST = 24.0  # the width of a small cell of one digit, or of a bare weight
TURNED, NARROW = 75.0, 28.0  # from this height a box between matrices is narrow, and its text turned
LARGE = 20.0  # exp of more would not fit into a line
MARGIN, GAP, STEP = 10.0, 24.0, 22.0  # around the picture, between its two lines, from sum to sum
SHEET, SHEETS = 5.0, 4  # how far a sheet stands out behind the next; more heads look like so many

DECIMALS, FEW = 3, 2  # in every number of the picture, and in a small cell

plain = functools.partial(_numbers.plain, most=DECIMALS)
Floats = np.ndarray[Any, np.dtype[np.float64]]
Line = Sequence[Piece]
Place = tuple[float, float, float, float]  # x, y, width, height
Sums = Callable[[int, int], list[Line]]


class Steps(Protocol):
    """What `attend` returns: scores (already divided), masked_scores, weights, output."""

    @property
    def scores(self) -> Any:
        """Before the mask."""

    @property
    def masked_scores(self) -> Any:
        """With -inf where the mask blocks."""

    @property
    def weights(self) -> Any:
        """Each row sums to 1."""

    @property
    def output(self) -> Any:
        """One row for each query."""


class Sheet(NamedTuple):
    """The steps of one head."""

    scores: Floats
    masked_scores: Floats
    weights: Floats
    output: Floats


class Cell(NamedTuple):
    """One cell: of the "scores", "weights" or "output", and its row and column."""

    step: str
    row: int
    column: int


class Field(NamedTuple):
    """Where a matrix stands: its upper left corner, its rows and columns, and the size of a cell."""

    x: float
    y: float
    rows: int
    columns: int
    wide: float
    high: float

    def place(self, i: int, j: int) -> Place:
        """Return the place of one cell."""
        return self.x + j * self.wide, self.y + i * self.high, self.wide, self.high

    @property
    def right(self) -> float:
        """The right edge."""
        return self.x + self.columns * self.wide

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.rows * self.high

    @property
    def middle(self) -> float:
        """Half way from left to right."""
        return (self.x + self.right) / 2


class Layout(NamedTuple):
    """Where everything stands; the keys are columns."""

    q: Field
    k: Field
    scores: Field
    divisor: Field
    softmax: Field
    weights: Field
    v: Field
    output: Field
    depth: float  # how far the sheets of other heads stand out, upwards and to the right


def canvas(
    q: Any,
    k: Any,
    v: Any,
    steps: Steps,
    *,
    divisor: float | None = None,
    queries: Labels = (),
    keys: Labels = (),
    features: Labels = (),
    stage: int = 4,
    hide: Collection[str] = (),
    picked: tuple[str, int, int] | None = None,
    before: Steps | None = None,
    head: int = 0,
    tile: tuple[int, int] | None = None,
) -> Picture:
    """Draw softmax(Q Kᵀ ÷ √d_k) V: q (n_q, d_k), k (n_k, d_k), v (n_k, d_v), and the steps of `attend`.

    `divisor` is what the scores were divided by, √d_k unless given. `stage` is the lesson up to which the
    parts are lit: 1 the scores, 2 the divisor, 3 the softmax, 4 all; 0 shows all, with both boxes closed.
    Parts in `hide` show a question mark. The sum of the `picked` cell is written out until another one is
    asked. With the steps `before` an edit, levels and fills move from the old numbers to the new.
    Where q, k, v and the steps have an axis of heads in front, `head` lies on the others. Thick lines cut
    the scores into tiles of `tile` queries by keys.

    Raises ValueError where sizes do not fit, and where q · k ÷ divisor or weights · v is not what the
    steps hold.
    """
    n_heads = len(q) if np.ndim(q) == 3 else 0
    if n_heads:
        q, k, v = (np.asarray(x)[head] for x in (q, k, v))
        steps, before = sheet(steps, head), before and sheet(before, head)
    n_q, n_k = np.shape(q)[0], np.shape(k)[0]
    queries = [isolated(shown(name)) for name in queries]
    queries = queries or (["q"] if n_q == 1 else [f"q{i}" for i in range(n_q)])
    keys = [isolated(shown(name)) for name in keys] or [f"k{j}" for j in range(n_k)]
    q = array("q", q, n_q=queries, d_k=np.shape(q)[1])
    k = array("k", k, n_k=keys, d_k=q.shape[1])
    v = array("v", v, n_k=keys, d_v=np.shape(v)[1])
    divisor = math.sqrt(q.shape[1]) if divisor is None else divisor
    dots = q @ k.T  # (n_q, n_k)
    agree("scores", steps.scores, f"q · k ÷ {plain(divisor)}", dots / divisor)
    agree("output", steps.output, "weights · v", steps.weights @ v)
    opened = stage >= LESSON["÷"]
    here = None if picked is None else Cell(*picked)
    depth = SHEET * max(min(n_heads, SHEETS) - 1, 0)
    written = dots / divisor if opened else dots
    at = layout(q, k, v, written, steps.output, queries, keys, features, f"÷ {plain(divisor)}", depth)
    sums = {
        "scores": score_sums(q, k, steps, divisor, opened, queries, keys),
        "weights": weight_sums(steps, keys, stage == 0 or stage >= LESSON["softmax"]),
        "output": output_sums(steps, v),
    }
    numbers = {"scores": dots, "weights": steps.weights, "output": steps.output}
    was = steps if before is None else before
    old = {"scores": was.scores * divisor, "weights": was.weights, "output": was.output}
    parts = [
        *sheets(at, stage),
        *given(at.q, q, lit(Q, "scores", stage), "q{0}", here),
        *given(at.k, k.T, lit(K, "scores", stage), "k{1}", here),
        *given(at.v, v, lit(V, "output", stage), "v{1}", here),
        *boxes(at, divisor, stage),
        *titles(at, queries, keys, features),
    ]
    room = at.output.right - MARGIN
    n_lines = 1
    for step, values in numbers.items():
        color = lit(COLORS[step], step, stage)
        for (i, j), value in np.ndenumerate(values):
            cell, place = Cell(step, i, j), getattr(at, step).place(i, j)
            lines = (
                [] if step in hide else [part for pieces in sums[step](i, j) for part in broken(pieces, room)]
            )
            if step in hide:
                inside = frame(place) + text(*centre(place), "?")
            elif step != "output" and steps.masked_scores[i, j] == -math.inf:
                inside = frame(place, cell == here) + hatch(*place)
            elif step == "weights":
                inside = level(place, value, old[step][i, j], color, cell == here)
            else:
                top = float(np.abs(values).max()) or 1.0
                shares = (abs(value) / top, min(abs(old[step][i, j]) / top, 1.0))
                below = value / divisor if step == "scores" and opened and divisor != 1 else None
                inside = fill(place, value, below, shares, color, cell == here, step == "output")
            parts.append(asking(cell, inside, lines, at.scores.bottom + 52, cell == here))
            n_lines = max(n_lines, len(lines))
    if n_q == 1 and "weights" not in hide:
        parts += standing(at, steps.weights[0], old["weights"][0], lit(WEIGHTS, "weights", stage))
    told = {**numbers, "scores": steps.scores if opened else dots}
    words = in_words(told, queries, keys, hide)
    if n_heads:
        said = WORDS["head"].format(head, n_heads)
        parts.append(text(MARGIN, MARGIN + 8, said, bold=True, anchor="start"))
        words = f"{said[0].upper()}{said[1:]}. {words}"
    if tile is not None:
        parts += cuts(at, *tile)
        words += f" {WORDS['tiles'].format(*tile)}"
    height = at.scores.bottom + 52 + STEP * n_lines
    return picture(at.output.right + at.depth + MARGIN, height, words, *parts, css=rules(at))


def sheet(steps: Steps, head: int) -> Sheet:
    """Take one head out of the steps of several."""
    every = (steps.scores, steps.masked_scores, steps.weights, steps.output)
    return Sheet(*(np.asarray(x)[head] for x in every))


def lit(color: str, part: str, stage: int) -> str:
    """Return the colour of a part, or grey where no lesson up to `stage` has reached it."""
    return color if stage == 0 or stage >= LESSON[part] else NEUTRAL


def outline(is_picked: bool) -> float:
    """Return the width of a cell's edge."""
    return PICKED if is_picked else EDGE


# --- where everything stands --------------------------------------------------------------------


def layout(
    q: Floats,
    k: Floats,
    v: Floats,
    scores: Floats,
    output: Floats,
    queries: Labels,
    keys: Labels,
    features: Labels,
    divisor: str,
    depth: float = 0.0,
) -> Layout:
    """Place two crossings on one line: Q with Kᵀ, and the weights with V."""
    (n_q, d_k), (n_k, d_v) = q.shape, v.shape
    high, wide, wide_in, wide_out = 36.0, 52.0, 38.0, 52.0
    if n_k > MANY:
        high, wide, wide_out = (
            27.0,
            max(width_for(scores), width_for(k)),
            max(width_for(v), width_for(output)),
        )
        wide_in = width_for(q)
    rows = max(em_width(name) * SMALL for name in queries) + MARGIN + 8
    left_of_k = max((em_width(name) * SMALL for name in features), default=0.0) + MARGIN + 8
    x = max(rows + d_k * wide_in + 14 + depth, left_of_k)
    longest = max(em_width(name) * SMALL for name in keys)
    above = longest * 0.71 + 12 if longest > wide - 4 else 20.0  # slanted, or level
    gap = GAP + depth
    y = MARGIN + above + depth + max(d_k, n_k) * high + gap
    at_scores = Field(x, y, n_q, n_k, wide, high)
    turned = n_q * high > TURNED
    wide_box = NARROW if turned else max(40.0, em_width(divisor) * 13 + 10)
    box = Field(at_scores.right + 10 + depth, y, 1, 1, wide_box, n_q * high)
    softmax = box._replace(x=box.right + 6, wide=NARROW if turned else 62.0)
    weights = at_scores._replace(x=softmax.right + 10, wide=LEAST if n_k > MANY else wide)
    at_output = Field(weights.right + longest + 20 + depth, y, n_q, d_v, wide_out, high)
    return Layout(
        q=Field(x - 14 - depth - d_k * wide_in, y, n_q, d_k, wide_in, high),
        k=Field(x, y - gap - d_k * high, d_k, n_k, wide, high),
        scores=at_scores,
        divisor=box,
        softmax=softmax,
        weights=weights,
        v=at_output._replace(y=y - gap - n_k * high, rows=n_k),
        output=at_output,
        depth=depth,
    )


def width_for(values: Floats) -> float:
    """Return how wide small cells must be for these numbers; the longest are written smaller."""
    longest = max(em_width(_numbers.plain(x, most=FEW)) for x in values.ravel())
    return min(max(LEAST, 12 * longest + 7), 36.0)


def titles(at: Layout, queries: Labels, keys: Labels, features: Labels) -> Iterator[str]:
    """Write the names of rows, columns and matrices, these with their shapes."""
    for field, names in ((at.q, queries), (at.v, keys), (at.k, features)):
        for i, name in enumerate(names):
            yield text(field.x - 8, centre(field.place(i, 0))[1], name, size=SMALL, anchor="end")
    slants = max(em_width(name) * SMALL for name in keys) > at.k.wide - 4
    for j, name in enumerate(keys):
        x, y = centre(at.k.place(0, j))[0], at.k.y - at.depth
        yield slanted(x, y - 8, name) if slants else text(x, y - 12, name, size=SMALL)
    yield text(at.q.middle, at.q.y - at.depth - 13, f"Q ({at.q.rows}, {at.q.columns})", bold=True)
    beside, said = at.k.right + at.depth + 8, f"Kᵀ ({at.k.rows}, {at.k.columns})"
    yield text(beside, at.k.y + 10, said, bold=True, anchor="start")
    yield text(at.v.middle, at.v.y - at.depth - 12, f"V ({at.v.rows}, {at.v.columns})", bold=True)
    for step in COLORS:
        field = getattr(at, step)
        said = f"{WORDS[step]} ({field.rows}, {field.columns})"
        yield text(field.middle, field.bottom + 16, said, bold=True)


def boxes(at: Layout, divisor: float, stage: int) -> Iterator[str]:
    """Draw the two steps between matrices; a closed one names the lesson that opens it."""
    for name, said, field in (
        ("÷", f"÷ {plain(divisor)}", at.divisor),
        ("softmax", WORDS["softmax"], at.softmax),
    ):
        opened = stage >= LESSON[name]
        place = (field.x, field.y, field.wide, field.high)
        yield rect(*place, NEUTRAL, 0.12 if opened else 0.4, EDGE)
        said = said if opened or name == "softmax" else name
        yield text(*centre(place), said, turn=field.wide == NARROW)
        if not opened:
            yield text(field.middle, field.bottom + 16, f"{LESSON[name]:02}", size=SMALL)


def sheets(at: Layout, stage: int) -> Iterator[str]:
    """Draw what is seen of the other heads' matrices: their upper and right edges, the farthest last."""
    fields = (
        (at.q, lit(Q, "scores", stage)),
        (at.k, lit(K, "scores", stage)),
        (at.v, lit(V, "output", stage)),
        *((getattr(at, step), lit(color, step, stage)) for step, color in COLORS.items()),
    )
    for field, color in fields:
        for near in np.arange(0.0, at.depth, SHEET):
            left, right, far = field.x + near + SHEET, field.right + near, near + SHEET
            yield path(
                [
                    (left, field.y - near),
                    (left, field.y - far),
                    (right + SHEET, field.y - far),
                    (right + SHEET, field.bottom - far),
                    (right, field.bottom - far),
                    (right, field.y - near),
                ],
                width=EDGE,
                fill=color,
                opacity=STRONGEST[color],
            )


def cuts(at: Layout, tile_q: int, tile_k: int) -> Iterator[str]:
    """Draw the thick lines between tiles: the queries are cut everywhere, and the keys."""
    for field, high, wide in (
        (at.q, tile_q, at.q.columns),
        (at.k, at.k.rows, tile_k),
        (at.scores, tile_q, tile_k),
        (at.weights, tile_q, tile_k),
        (at.v, tile_k, at.v.columns),
        (at.output, tile_q, at.output.columns),
    ):
        for i in range(high, field.rows, high):
            y = field.y + i * field.high
            yield path([(field.x - 4, y), (field.right + 4, y)], width=PICKED)
        for j in range(wide, field.columns, wide):
            x = field.x + j * field.wide
            yield path([(x, field.y - 4), (x, field.bottom + 4)], width=PICKED)


# --- cells --------------------------------------------------------------------------------------


def given(field: Field, values: Floats, color: str, name: str, picked: Cell | None) -> Iterator[str]:
    """Draw a matrix that is put in; `name` says to which row {0} or column {1} a cell belongs."""
    top = float(np.abs(values).max()) or 1.0
    sources = sources_of(picked)
    for (i, j), value in np.ndenumerate(values):
        group, place = name.format(i, j), field.place(i, j)
        strength = STRONGEST[color] * abs(value) / top
        body = rect(*place, color, strength, outline(group in sources))
        yield f'<g class="{group}">{body}{number_in(place, short(value, place))}</g>'


def fill(
    place: Place,
    value: float,
    below: float | None,
    shares: tuple[float, float],
    color: str,
    is_picked: bool,
    is_output: bool,
) -> str:
    """Draw a number on a fill that was once `shares[1]` and is now `shares[0]` of the strongest."""
    now, old = (STRONGEST[color] * share for share in shares)
    look = "" if abs(now - old) < 0.005 else f' class="fade" style="--from:{old:.3f}"'
    body = rect(*place, color, now, outline(is_picked), look)
    if below is None or is_small(place):
        said = fixed(value, DECIMALS) if is_output and not is_small(place) else None
        return body + number_in(place, said or short(value if below is None else below, place))
    x, y = centre(place)
    second = number_in(place, short(below, place, bold=True), 8, bold=True)
    return body + text(x, y - 8, short(value, place), size=SMALL) + second


def level(place: Place, weight: float, old: float, color: str, is_picked: bool) -> str:
    """Draw a weight as a level in its cell: the larger, the higher and the stronger."""
    x, y, wide, high = place
    tall = high * weight
    bare = is_small(place)  # larger cells hold a number, too
    strength = weight_strength(weight) * (1.0 if bare else STRONGEST[color])
    mark = rect(x, y + high - tall, wide, tall, color, strength, look=growth(weight, old))
    return (
        mark
        + frame(place, is_picked)
        + ("" if is_small(place) else number_in(place, fixed(weight, DECIMALS)))
    )


def standing(at: Layout, weights: Floats, old: Floats, color: str) -> Iterator[str]:
    """Draw the weights of a single query as bars above their cells; the dotted line is the weight 1."""
    floor = at.weights.y - at.depth - GAP / 2
    tall = floor - min(at.k.y, at.v.y)
    for y in (floor, floor - tall):
        yield path([(at.weights.x, y), (at.weights.right, y)], width=EDGE, dashed=y != floor)
    yield text(at.weights.x - 4, floor - tall, "1", size=SMALL, anchor="end")
    for j, weight in enumerate(weights):
        x, _, wide, _ = at.weights.place(0, j)
        bar = (x + 9, floor - tall * weight, wide - 18, tall * weight)
        yield rect(*bar, color, 0.85, EDGE, growth(weight, old[j]))


def growth(now: float, old: float) -> str:
    """Return the attributes with which a bar grows from its old height to the new one."""
    still = now <= 0 or abs(now - old) < 5e-4
    return "" if still else f' class="grow" style="--from:{old / now:.3f}"'


def frame(place: Place, is_picked: bool = False) -> str:
    """Draw the edge of a cell, a thick one around the picked cell."""
    return rect(*place, "none", 1.0, outline(is_picked))


def centre(place: Place) -> tuple[float, float]:
    """Return the middle of a place."""
    x, y, wide, high = place
    return x + wide / 2, y + high / 2


def is_small(place: Place) -> bool:
    """Is this one of the small cells of many keys?"""
    return place[3] < 30


def short(value: float, place: Place, *, bold: bool = False) -> str:
    """Write a number with the decimals that its cell has room for: its sum says the others."""
    if is_small(place):
        return _numbers.plain(value, most=FEW)
    texts = [_numbers.plain(value, most=most) for most in range(DECIMALS, -1, -1)]
    return next((said for said in texts if width_of(said, bold) * SMALL <= place[2] - 2), texts[-1])


def width_of(said: str, bold: bool) -> float:
    """Return how wide a number is in units of its font's size."""
    return em_width(said) * (1.08 if bold else 1.0)


def number_in(place: Place, said: str, below: float = 0, *, bold: bool = False) -> str:
    """Write a number into a cell, `below` its middle, smaller where it would not fit."""
    x, y = centre(place)
    size = min(13, (place[2] - 2) / max(width_of(said, bold), 1))
    return text(x, y + below, said, size=size, bold=bold)


# --- sums ---------------------------------------------------------------------------------------


def score_sums(
    q: Floats, k: Floats, steps: Steps, divisor: float, opened: bool, queries: Labels, keys: Labels
) -> Sums:
    """Return what writes out one score: q · k1 = 1·0.2 + 0·0.9 + 0.5·0.1 + 0.2·0.4 = 0.33."""

    def sums(i: int, j: int) -> list[Line]:
        pieces = [Piece(queries[i], "q"), Piece(" · "), Piece(keys[j], "k"), Piece(" = ")]
        pieces += products(q[i], "q", k[j], "k")
        dot = float(q[i] @ k[j])
        if steps.masked_scores[i, j] == -math.inf:
            return [[*pieces, Piece(f" = {plain(dot)}")], [Piece(WORDS["blocked"])]]
        divided = f",  ÷ {plain(divisor)} = {plain(dot / divisor)}" if opened and divisor != 1 else ""
        return [[*pieces, Piece(f" = {plain(dot)}{divided}")]]

    return sums


def weight_sums(steps: Steps, keys: Labels, opened: bool) -> Sums:
    """Return what writes out one weight: weight of k1 = exp(0.165) ÷ (exp(0.535) + …) = 0.267."""

    def sums(i: int, j: int) -> list[Line]:
        scores, weight = steps.masked_scores[i], Piece(fixed(steps.weights[i, j], DECIMALS), "w")
        name = [Piece(f"{WORDS['weight']} ", "w"), Piece(keys[j], "k"), Piece(" = ")]
        if not opened:
            return [[*name, weight]]
        if not np.isfinite(scores).any():
            return [[Piece(WORDS["nothing"])]]
        scores = scores - (scores.max() if scores.max() > LARGE else 0.0)  # as softmax does: the same shares
        powers = np.exp(scores)
        terms = [Piece((" + " if n else "") + f"exp({plain(score)})") for n, score in enumerate(scores)]
        shares = Piece(f"= {fixed(powers[j], DECIMALS)} ÷ {fixed(powers.sum(), DECIMALS)} = ")
        return [[*name, Piece(f"exp({plain(scores[j])}) ÷ ("), *terms, Piece(")")], [shares, weight]]

    return sums


def output_sums(steps: Steps, v: Floats) -> Sums:
    """Return what writes out one number of the output: 0.387·1 + 0.267·0 + 0.346·0.5 = 0.560."""

    def sums(i: int, c: int) -> list[Line]:
        terms = products(steps.weights[i], "w", v[:, c], "v", DECIMALS)
        return [
            [
                Piece(WORDS["output"], "o"),
                Piece(" = "),
                *terms,
                Piece(f" = {fixed(steps.output[i, c], DECIMALS)}"),
            ]
        ]

    return sums


def products(a: Floats, a_role: str, b: Floats, b_role: str, decimals: int | None = None) -> Iterator[Piece]:
    """Write a dot product term by term, each factor in the colour of its role."""
    for n, (x, y) in enumerate(zip(a, b, strict=True)):
        yield Piece(" + " if n else "")
        yield Piece(bracketed(plain(x) if decimals is None else fixed(x, decimals)), a_role)
        yield Piece("·")
        yield Piece(bracketed(plain(y)), b_role)


def bracketed(said: str) -> str:
    """Put a negative factor into brackets."""
    return f"({said})" if said.startswith("−") else said


# --- what answers -------------------------------------------------------------------------------


def asking(cell: Cell, inside: str, lines: Sequence[Line], floor: float, is_picked: bool) -> str:
    """Make a cell answer: it can be hovered, tapped and focused, and holds its sum."""
    said = " ".join("".join(piece.text for piece in pieces) for pieces in lines) or f"{WORDS[cell.step]}: ?"
    sums = "".join(coloured(MARGIN, floor + STEP * n, pieces) for n, pieces in enumerate(lines))
    names = f"cell {cell.step} r{cell.row} c{cell.column}{' picked' if is_picked else ''}"
    label = f'tabindex="0" role="img" aria-label="{escape(said)}"'
    return f'<g class="{names}" {label}>{inside}<g class="sum">{sums}</g></g>'


def sources_of(cell: Cell | None) -> set[str]:
    """Return the given rows and columns that meet in a cell."""
    if cell is None or cell.step == "weights":
        return set()
    return {f"q{cell.row}", f"k{cell.column}"} if cell.step == "scores" else {f"v{cell.column}"}


ASKED = ":is(:hover,:focus)"
RULES = (
    ".canvas .cell{outline:none;cursor:pointer}"
    ".canvas .cell>rect{pointer-events:all}"  # an empty one, too
    ".canvas .sum{visibility:hidden;pointer-events:none}"
    f".canvas .cell{ASKED} .sum,.canvas:not(:has(.cell{ASKED})) .picked .sum{{visibility:visible}}"
    ".canvas:has(.cell:hover) .cell:focus:not(:hover) .sum{visibility:hidden}"
    f".canvas:has(.cell{ASKED}) rect[stroke-width]{{stroke-width:{EDGE}}}"
    f".canvas .cell{ASKED}>rect[stroke-width]{{stroke-width:3.2}}"
    "@media(prefers-reduced-motion:no-preference){"
    ".canvas .grow{animation:canvas-grow .35s;transform-box:fill-box;transform-origin:bottom}"
    ".canvas .fade{animation:canvas-fade .35s}}"
    "@keyframes canvas-grow{from{transform:scaleY(var(--from))}}"
    "@keyframes canvas-fade{from{fill-opacity:var(--from)}}"
)


def rules(at: Layout) -> str:
    """Return the style of a canvas: what an asked cell outlines, and which sum is seen."""
    meets = [(f"scores.r{i}", f"q{i}") for i in range(at.q.rows)]
    meets += [(f"scores.c{j}", f"k{j}") for j in range(at.k.columns)]
    meets += [(f"weights.r{i}", f"scores.r{i}") for i in range(at.q.rows)]
    meets += [(f"output.r{i}", f"weights.r{i}") for i in range(at.q.rows)]
    meets += [(f"output.c{c}", f"v{c}") for c in range(at.v.columns)]
    outlines = (f".canvas:has(.{cell}{ASKED}) .{source}>rect[stroke-width]" for cell, source in meets)
    return RULES + role_inks() + "".join(f"{outlined}{{stroke-width:{PICKED}}}" for outlined in outlines)


def in_words(numbers: Mapping[str, Floats], queries: Labels, keys: Labels, hide: Collection[str]) -> str:
    """Say what the picture shows, query by query."""
    said = []
    for i, query in enumerate(queries):
        for step in ("scores", "weights"):
            if step not in hide:
                values = zip(keys, numbers[step][i], strict=True)
                said.append(f"{query}, {WORDS[step]}: {', '.join(f'{key} {plain(x)}' for key, x in values)}.")
        if "output" not in hide:
            output = ", ".join(fixed(x, DECIMALS) for x in numbers["output"][i])
            said.append(f"{query}, {WORDS['output']}: [{output}].")
    return " ".join(said)
