"""Tables of number boxes, and one slider for any of their boxes."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from ipywidgets import HTML, Dropdown, GridBox, HBox, Layout, VBox

from attention_core.figures import shown
from attention_core.live._shapes import Array, Labels
from attention_core.live.number_controls import HEIGHT, Control, NumberBox, Track, frozen


class Grid(Control):
    """A table of number boxes; the shape may change, up to that of `rows` and `columns`."""

    def __init__(
        self, name: str, value: Array, rows: Labels, columns: Labels, low: float, high: float,
        *, label: int = 50, cell: int = 52,
    ) -> None:  # fmt: skip
        super().__init__()
        self.name, self._label, self._cell = name, label, cell
        one = Layout(width="auto", height=HEIGHT, margin="0")  # shared by all boxes: fewer messages
        self.boxes = [
            [NumberBox(f"{name}[{i}, {j}]", 0.0, low, high, layout=one) for j in range(len(columns))]
            for i in range(len(rows))
        ]
        self._heads = [_head(row, label) for row in rows]
        self._tops = [_head(column) for column in columns]
        self._all = [box for row in self.boxes for box in row]
        for box in self._all:
            box.listen(self._box_changed)
        self.widget = GridBox(layout=Layout(grid_gap="2px"))
        self._shape = (0, 0)
        self.value = value

    @property
    def problem(self) -> str:  # type: ignore[override]
        """What is wrong with the first box that holds something impossible."""
        return next((box.problem for box in self.shown if box.problem), "")

    @property
    def shown(self) -> list[NumberBox]:
        """The boxes of the present shape, row by row."""
        n, m = self._shape
        return [box for row in self.boxes[:n] for box in row[:m]]

    @property
    def value(self) -> Array:
        """The numbers; read-only, because writing into the array would not reach the boxes."""
        return frozen([[box.value for box in row[: self._shape[1]]] for row in self.boxes[: self._shape[0]]])

    @value.setter
    def value(self, value: Any) -> None:
        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"{self.name} must be numbers, got {value!r}") from None
        most = (len(self.boxes), len(self.boxes[0]))
        if array.ndim != 2 or not all(0 < size <= top for size, top in zip(array.shape, most, strict=True)):
            raise ValueError(f"{self.name} must have shape {most} or smaller, got {array.shape}")
        before = [(box, box.value) for box in self._all]
        with self._silence.raised():
            try:
                for (i, j), number in np.ndenumerate(array):
                    self.boxes[i][j].value = number
            except ValueError:
                for box, number in before:
                    box.value = number
                raise
        self._reshape(*array.shape)
        self._tell()

    def rename_rows(self, rows: Labels) -> None:
        """Write other labels in front of the rows; they may hold anything."""
        for head, row in zip(self._heads, rows, strict=True):
            head.value = _head_html(row, self._label)

    def _reshape(self, n: int, m: int) -> None:
        if (n, m) != self._shape:
            self._shape = (n, m)
            self.widget.layout.grid_template_columns = f"{self._label}px repeat({m}, {self._cell}px)"
            rows = [
                [head, *(box.widget for box in row[:m])]
                for head, row in zip(self._heads, self.boxes, strict=True)
            ]
            self.widget.children = [_head(""), *self._tops[:m], *(w for row in rows[:n] for w in row)]

    def _box_changed(self) -> None:
        if not self._silence.up:
            self._tell()


class Mover(Control):
    """One slider for any box of some grids: choose the box, then slide."""

    def __init__(
        self, grids: Sequence[Grid], low: float, high: float, step: float, *, upright: bool = False
    ) -> None:
        super().__init__()
        self._grids = grids
        self._at = grids[0].shown[0]
        self._pick = Dropdown(
            options=self._options(),
            value=self._at,
            description="Slide",
            style={"description_width": "40px"},
            layout=Layout(width="190px", height=HEIGHT),
        )
        self._track = Track("value", self._at.value, low, high, step, label="40px", width="230px")
        self.widget = (VBox if upright else HBox)([self._pick, self._track.widget])
        self._pick.observe(self._picked, "value")
        self._track.listen(self._slid)
        for grid in grids:
            grid.listen(self._grid_changed)

    def _options(self) -> list[tuple[str, NumberBox]]:
        return [(box.name, box) for grid in self._grids for box in grid.shown]

    def _picked(self, _: Any) -> None:
        if not self._silence.up:
            self._at = self._pick.value
            self._track.follow(self._at.value)

    def _slid(self) -> None:
        with self._silence.raised():
            self._at.value = self._track.value

    def _grid_changed(self) -> None:
        if self._silence.up:
            return
        options = self._options()
        if len(options) != len(self._pick.options):
            with self._silence.raised():
                self._pick.options = options
                self._at = self._pick.value
        self._track.follow(self._at.value)


def _head(content: str, width: int = 0) -> HTML:
    return HTML(_head_html(content, width), layout=Layout(margin="0", height="auto"))


def _head_html(content: str, width: int = 0) -> str:
    """Write the head of a column, or that of a row into `width` pixels."""
    place = f"text-align:right;width:{width - 4}px" if width else "text-align:center"
    style = f"{place};white-space:nowrap;overflow:hidden;text-overflow:ellipsis"
    return f'<div style="{style}">{escape(shown(content))}</div>'
