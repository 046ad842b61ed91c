"""Controls: each shows one input of a view, and sets it when someone changes the page.

Numbers are typed into text boxes, because a number box swallows an empty or impossible entry without a
word. Only what ipywidgets 7.7 and 8 share is used.
"""

import math
from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any

from ipywidgets import (
    HTML,
    Checkbox,
    Dropdown,
    FloatLogSlider,
    FloatSlider,
    GridBox,
    HBox,
    Layout,
    Play,
    Text,
    VBox,
)
from traitlets import link

from attention_core.figures import shown
from attention_core.figures.svg import Labels, isolated
from attention_core.live._inputs import Refused
from attention_core.live._view import BAD, HEIGHT, QUIET, SIDE, WHOLE, View

Index = tuple[int, ...]
Wide = tuple[int, int]
TICK = Layout(width="auto", height=HEIGHT, margin="0 0 2px 8px")  # of a box to tick with a label
DIGITS = 4  # decimals that a slider's value keeps


def put(view: View, name: str, index: Index, value: Any) -> None:
    """Set an input, or with an index one entry of it, as someone does on the page."""
    with view.lock:
        if index:
            array = getattr(view, name).copy()
            array[index] = value
            value = array
        view.put({name: value})


# --- boxes and sliders ------------------------------------------------------------------------------


class Entry:
    """A text box for an input, or for one entry of it.

    What cannot be read or drawn stays in the box, and the view says why.
    """

    def __init__(self, view: View, name: str, label: str, index: Index = (), **looks: Any) -> None:
        self.view, self.name, self.label, self.index = view, name, label, index
        self._trait = view.inputs[name]
        self.problem, self._seen = "", self.value
        self.widget = Text(self._trait.write(self._seen), description=label, **looks)
        self.widget.observe(self._typed, "value")

    @property
    def value(self) -> Any:
        """What the view has; the box may hold something else that is no good."""
        value = getattr(self.view, self.name)
        return value[self.index] if self.index else value

    def enter(self, value: Any) -> None:
        """Put a value into the box, as if it were typed."""
        self.widget.value = self._trait.write(value)

    def show(self, anew: bool) -> None:
        """Follow the view. What someone is typing stays as it is, unless the input was set `anew`."""
        changed, self._seen = self.value != self._seen, self.value
        if anew or (changed and not self.problem):
            self.enter(self._seen)
            self.mark("")

    def mark(self, problem: str) -> None:
        """Note what is wrong with the box, or "" for nothing."""
        if problem != self.problem:
            self.problem = problem
            (self.widget.add_class if problem else self.widget.remove_class)(BAD)
            self.view.complain(self, problem)

    def _typed(self, _: Any) -> None:
        with self.view.lock:  # then the text and the view belong together
            text = self.widget.value
            try:
                if text != self._trait.write(self.value):
                    self._seen = self._trait.read(text)
                    put(self.view, self.name, self.index, self._seen)
            except Refused as problem:
                self.mark(f"{problem}.")
            except ValueError as problem:
                self.mark(f"{self.label}: {problem}.")
            else:
                self.mark("")


class Tick:
    """A box to tick for one entry of an input that is True or False, or 1 or 0."""

    def __init__(self, view: View, name: str, label: str, index: Index, **looks: Any) -> None:
        self.view, self.name, self.label, self.index = view, name, label, index
        self.widget = Checkbox(self.value, description=label, indent=False, **looks)
        self.widget.observe(self._ticked, "value")

    @property
    def value(self) -> bool:
        """What the view has."""
        return bool(getattr(self.view, self.name)[self.index])

    def show(self, anew: bool) -> None:
        """Follow the view."""
        self.widget.value = self.value

    def mark(self, problem: str) -> None:
        """Do nothing: there is nothing that cannot be ticked."""

    def _ticked(self, _: Any) -> None:
        with self.view.lock:
            if self.widget.value != self.value:
                put(self.view, self.name, self.index, self.widget.value)


class Track:
    """A slider for the number in a box: from, to, step; with `log` it runs in powers of two.

    `wide`: pixels of the label, and of all; without it the slider stands upright, its label unseen.
    """

    def __init__(
        self,
        entry: Entry,
        label: str,
        reach: tuple[float, float, float],
        wide: Wide | None,
        log: bool = False,
    ) -> None:
        self.entry, self._log, self._seen = entry, log, entry.value
        self._low, self._high, self._step = reach
        scale = math.log2 if log else float
        kind: Any = partial(FloatLogSlider, base=2) if log else FloatSlider
        self.widget = kind(
            value=self._place, min=scale(self._low), max=scale(self._high), step=self._step,
            description=label, readout=False, orientation="horizontal" if wide else "vertical",
        )  # fmt: skip
        if wide:
            self.widget.style.description_width = f"{wide[0]}px"
            self.widget.layout = Layout(width=f"{wide[1]}px", height=HEIGHT)
        else:
            self.widget.layout = Layout(width="auto", height="120px")
            self.widget.add_class(QUIET)
        self.widget.observe(self._slid, "value")

    def show(self, anew: bool) -> None:
        """Stand where the number is, when it has changed or was set `anew`."""
        changed, self._seen = self.entry.value != self._seen, self.entry.value
        if (anew or changed) and self._elsewhere():
            self.widget.value = self._place

    @property
    def _place(self) -> float:
        if self._log:
            return float(2 ** (round(math.log2(self.entry.value) / self._step) * self._step))
        return on_step(min(self.entry.value, self._high), self._low, self._high, self._step)

    def _elsewhere(self) -> bool:
        scale = math.log2 if self._log else float
        off = abs(scale(self.widget.value) - scale(self._place))
        return off > self._step / 2 * (1 + 1e-9)  # a slider that only snaps to its steps has not moved

    def _slid(self, _: Any) -> None:
        with self.entry.view.lock:
            if self._elsewhere() or self.entry.problem:
                self.entry.enter(round(self.widget.value, DIGITS))


def on_step(value: float, low: float, high: float, step: float) -> float:
    """Return where a slider stands for `value`: the nearest of its steps, to the last bit.

    A slider in the browser goes to its nearest step and reports that, late, as if someone had moved
    it. It has nothing to report when it is already there. So this repeats its arithmetic (noUiSlider).

    >>> on_step(2.06, low=0, high=4, step=0.25), on_step(9, low=0, high=4, step=0.25)
    (2.0, 4)
    """
    if value >= high:
        return high
    percent = 100 * max(value - low, 0.0) / (high - low)
    unit = 100 * step / (high - low)
    return math.floor(percent / unit + 0.5) * unit * (high - low) / 100 + low


class Slider:
    """A slider with a text box beside it, for one number; without `wide` upright, with the box below it."""

    def __init__(
        self,
        view: View,
        name: str,
        label: str,
        step: float,
        index: Index = (),
        *,
        wide: Wide | None = None,
        log: bool = False,
    ) -> None:
        self.name, trait = name, view.inputs[name]
        layout = Layout(width="78px" if wide else "auto", height=HEIGHT, flex="0 0 auto")
        self.entry = Entry(view, name, f"{label}, typed", index, layout=layout)
        self.entry.widget.add_class(QUIET)
        self.track = Track(self.entry, label, (trait.low, trait.high, step), wide, log)
        self.widget = (HBox if wide else VBox)([self.track.widget, self.entry.widget])
        self.widget.add_class(WHOLE)
        view.controls.append(self)

    def show(self, anew: bool) -> None:
        """Follow the view."""
        self.entry.show(anew)
        self.track.show(anew)


def sliders(view: View, name: str, labels: Labels, step: float, *, wide: Wide | None = None) -> list[Any]:
    """Return a slider for each entry of an input (n,)."""
    return [Slider(view, name, label, step, (j,), wide=wide).widget for j, label in enumerate(labels)]


class Player:
    """A button that lets an input run by itself: from, to, step."""

    def __init__(self, view: View, name: str, label: str, reach: tuple[float, float, float]) -> None:
        self.view, self.name, (self._low, high, self._step) = view, name, reach
        last = round((high - self._low) / self._step)
        self.play = Play(value=self._nearest, min=0, max=last, interval=100, layout=Layout(height=HEIGHT))
        self.widget = HBox([self.play, HTML(escape(label))])  # the buttons get their name from this text
        self.widget.add_class(WHOLE)
        self.play.observe(self._ran, "value")
        view.controls.append(self)

    def show(self, anew: bool) -> None:
        """Go on from where the input is now."""
        self.play.value = self._nearest

    @property
    def _nearest(self) -> int:
        return round((getattr(self.view, self.name) - self._low) / self._step)

    def _ran(self, _: Any) -> None:
        if self.play.value != self._nearest:
            put(self.view, self.name, (), round(self._low + self.play.value * self._step, DIGITS))


class Table:
    """A table of boxes, to type into or to tick, for an input (n, m); it follows the input's shape."""

    def __init__(
        self,
        view: View,
        name: str,
        label: str,
        rows: Labels,
        columns: Labels,
        *,
        room: int = 50,
        cell: int = 60,
        kind: type["Entry | Tick"] = Entry,
    ) -> None:
        self.view, self.name, self._room, self._cell = view, name, room, cell
        one = Layout(width="auto", height=HEIGHT, margin="0")  # shared by all boxes: fewer messages
        self._entries = [
            [kind(view, name, f"{label}[{i}, {j}]", (i, j), layout=one) for j in range(len(columns))]
            for i in range(len(rows))
        ]
        for row in self._entries:
            for entry in row:
                entry.widget.add_class(QUIET)
        self._heads, self._tops = [_head("", room) for _ in rows], [_head(column) for column in columns]
        self.rename(rows)
        self.widget = GridBox(layout=Layout(grid_gap="2px"))
        self._shape = (0, 0)
        self.show(anew=False)
        view.controls.append(self)

    @property
    def entries(self) -> list[Any]:
        """The boxes of the present shape, row by row."""
        n, m = self._shape
        return [entry for row in self._entries[:n] for entry in row[:m]]

    def show(self, anew: bool) -> None:
        """Follow the view."""
        shape = getattr(self.view, self.name).shape
        if shape != self._shape:
            for entry in self.entries:
                entry.mark("")
            self._reshape(*shape)
        for entry in self.entries:
            entry.show(anew)

    def rename(self, rows: Labels) -> None:
        """Write other labels in front of the rows; they may hold anything."""
        for head, row in zip(self._heads, rows, strict=True):
            head.value = _head_html(row, self._room)

    def _reshape(self, n: int, m: int) -> None:
        self._shape = (n, m)
        self.widget.layout.grid_template_columns = f"{self._room}px repeat({m}, minmax(0, {self._cell}px))"
        rows = zip(self._heads[:n], self._entries, strict=False)
        cells = [[head, *(entry.widget for entry in row[:m])] for head, row in rows]
        self.widget.children = [_head(""), *self._tops[:m], *(widget for row in cells for widget in row)]


class Mover:
    """One slider for any box of some tables: choose the box, then slide."""

    name = ""

    def __init__(
        self, tables: Sequence[Table], reach: tuple[float, float, float], *, upright: bool = False
    ) -> None:
        self._tables = tables
        self._pick = Dropdown(
            options=self._options(), description="Slide", style={"description_width": "40px"},
            layout=Layout(width="190px", height=HEIGHT),
        )  # fmt: skip
        entry = self._pick.value
        self._track = Track(entry, "value", reach, (40, 230))
        self.widget = (VBox if upright else HBox)([self._pick, self._track.widget])
        self._pick.observe(self._picked, "value")
        entry.view.controls.append(self)

    def show(self, anew: bool) -> None:
        """Follow the tables."""
        options = self._options()
        if len(options) != len(self._pick.options):
            self._pick.options = options
        self._track.show(anew)

    def _options(self) -> list[tuple[str, Entry]]:
        return [(entry.label, entry) for table in self._tables for entry in table.entries]

    def _picked(self, _: Any) -> None:
        with self._track.entry.view.lock:
            self._track.entry = self._pick.value
            self._track.show(anew=True)


# --- choices, ticks, tokens -------------------------------------------------------------------------


class Choice:
    """One of several things, for an input that is the number of the thing."""

    def __init__(self, view: View, name: str, label: str, things: Labels, *, room: str, width: str) -> None:
        self.widget = Dropdown(
            options=_numbered(things), description=label, style={"description_width": room},
            layout=Layout(width=width, height=HEIGHT),
        )  # fmt: skip
        self._link = link((view, name), (self.widget, "value"))

    def offer(self, things: Labels) -> None:
        """Offer other things, and keep the number that is chosen."""
        if _numbered(things) != self.widget.options:
            self._link.unlink()
            self.widget.options = _numbered(things)
            self._link.link()


def _numbered(things: Labels) -> tuple[tuple[str, int], ...]:
    return tuple((thing, i) for i, thing in enumerate(things))


def tick(view: View, name: str, label: str) -> Checkbox:
    """Return a box to tick, for an input that is True or False."""
    box = Checkbox(False, description=label, indent=False, layout=TICK)
    link((view, name), (box, "value"))
    return box


def ticks(view: View, name: str, labels: Labels) -> list[Checkbox]:
    """Return a box to tick for each entry of an input of True or False (n,)."""
    found = [Tick(view, name, label, (j,), layout=TICK) for j, label in enumerate(labels)]
    view.controls += found
    return [one.widget for one in found]


def words(view: View, name: str, label: str, *, width: str) -> Text:
    """Return a box for the tokens of an input, with blanks between them."""
    style, layout = {"description_width": "60px"}, Layout(width=width, height=HEIGHT)
    entry = Entry(view, name, label, style=style, layout=layout)
    view.controls.append(entry)
    return entry.widget


# --- what stands beside controls --------------------------------------------------------------------


def titled(name: str, color: str, table: Table) -> VBox:
    """Put a table below its name, marked with its colour."""
    square = f'<span style="display:inline-block;width:12px;height:12px;background:{color}"></span>'
    title = HTML(f"{square} <b>{name}</b>", layout=Layout(margin="0", height="24px"))
    return VBox([title, table.widget], layout=SIDE)


def _head(content: str, width: int = 0) -> HTML:
    return HTML(_head_html(content, width), layout=Layout(margin="0", height="auto"))


def _head_html(content: str, width: int = 0) -> str:
    """Write the head of a column, or that of a row into `width` pixels."""
    place = f"text-align:right;width:{width - 4}px" if width else "text-align:center"
    style = f"{place};white-space:nowrap;overflow:hidden;text-overflow:ellipsis"
    return f'<div style="{style}">{escape(isolated(shown(content)))}</div>'
