"""Controls for one number, or several: a text box, a slider, both together.

Numbers are typed into text boxes, because a number box swallows an empty or impossible entry without
a word. Only what ipywidgets 7.7 and 8 share is used.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from ipywidgets import FloatLogSlider, FloatSlider, HBox, Layout, Text

from attention_core._numbers import DIGITS, plain, typed
from attention_core.figures import shown
from attention_core.live._shapes import Array, Labels

BAD = "attention-bad"  # CSS class of a box that holds something impossible
QUIET = "attention-quiet"  # CSS class of a box whose label only a screen reader needs
HEIGHT = "28px"


class Flag(threading.local):
    """Raised in one thread only: what a browser sends may be worked on in another one than a cell."""

    up = False

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Keep the flag up for a while."""
        before, self.up = self.up, True
        try:
            yield
        finally:
            self.up = before


class Control:
    """Something to change, with those who want to know of it.

    It has a `value` that is always good, and a `problem`: what is wrong with the text that stands in
    it now, or "".
    """

    widget: Any
    problem: str = ""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []
        self._silence = Flag()  # up while we write into our own widgets

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every change."""
        self._listeners.append(listener)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()


def parse(typed: str, low: float, high: float, *, whole: bool = False) -> float:
    """Read a number from `low` to `high`; raise ValueError in words that a learner understands.

    >>> parse(" −0,5 ", -1, 1)
    -0.5
    """
    wanted = allowed(low, high, whole)
    if not typed.strip():
        raise ValueError(f"the box is empty; type {wanted}")
    try:
        value = float(typed.strip().replace("−", "-").replace(",", "."))
    except ValueError:
        raise ValueError(f"“{shown(typed.strip())}” is not a number; type {wanted}") from None
    if not fits(value, low, high, whole):
        raise ValueError(f"“{shown(typed.strip())}” does not fit; type {wanted}")
    return value + 0.0  # -0.0 becomes 0.0


def fits(value: float, low: float, high: float, whole: bool) -> bool:
    """Is `value` a finite number from `low` to `high`, and a whole one where that is asked for?"""
    return low <= value <= high and (not whole or value == round(value))


def allowed(low: float, high: float, whole: bool) -> str:
    """Say which numbers fit."""
    kind = "a whole number" if whole else "a number"
    return f"{kind} from {plain(low)} to {plain(high)}"


def frozen(values: Any) -> Array:
    """Return `values` as an array that cannot be written to."""
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array


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


def moved(value: float, slid: float, step: float) -> bool:
    """Is a slider elsewhere than on the step nearest to `value`?

    >>> moved(2.06, 2.05, step=0.05), moved(2.06, 2.1, step=0.05)
    (False, True)
    """
    return abs(slid - value) > step / 2 * (1 + 1e-9)


class NumberBox(Control):
    """A text box for one number."""

    def __init__(
        self,
        name: str,
        value: float,
        low: float,
        high: float,
        *,
        whole: bool = False,
        layout: Layout | None = None,
    ) -> None:
        super().__init__()
        self.name, self._low, self._high, self._whole = name, low, high, whole
        self._value = value
        self.widget = Text(
            typed(value), description=name, layout=layout or Layout(width="64px", height=HEIGHT)
        )
        self.widget.add_class(QUIET)
        self.widget.observe(self._typed, "value")

    @property
    def value(self) -> float:
        """The last good number."""
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        wanted = f"{self.name} must be {allowed(self._low, self._high, self._whole)}"
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ValueError(f"{wanted}, got {value!r}") from None
        if not fits(number, self._low, self._high, self._whole):
            raise ValueError(f"{wanted}, got {typed(number) if math.isfinite(number) else number}")
        self._accept(number + 0.0)
        with self._silence.raised():
            self.widget.value = typed(number)
        self._tell()

    def _typed(self, _: Any) -> None:
        if self._silence.up:
            return
        try:
            self._accept(parse(self.widget.value, self._low, self._high, whole=self._whole))
        except ValueError as problem:
            self.problem = f"{self.name}: {problem}."
            self.widget.add_class(BAD)
        self._tell()

    def _accept(self, number: float) -> None:
        self._value = number
        if self.problem:
            self.problem = ""
            self.widget.remove_class(BAD)


class Track(Control):
    """A slider alone; with `log` it runs in powers of two. `value` is where someone moved it."""

    def __init__(
        self,
        name: str,
        value: float,
        low: float,
        high: float,
        step: float,
        *,
        log: bool = False,
        label: str = "70px",
        width: str = "230px",
    ) -> None:
        super().__init__()
        self._low, self._high, self._step, self._log = low, high, step, log
        self.value = value
        kind = (
            {"base": 2, "min": math.log2(low), "max": math.log2(high)} if log else {"min": low, "max": high}
        )
        self.widget = (FloatLogSlider if log else FloatSlider)(
            **kind,
            value=self._place(value),
            step=step,
            description=name,
            readout=False,
            style={"description_width": label},
            layout=Layout(width=width, height=HEIGHT),
        )
        self.widget.observe(self._slid, "value")

    def follow(self, value: float) -> None:
        """Go to the step nearest to `value`, without telling anybody."""
        self.value = value
        with self._silence.raised():
            self.widget.value = self._place(value)

    def _place(self, value: float) -> float:
        if self._log:
            return float(2 ** (round(math.log2(value) / self._step) * self._step))
        return on_step(min(value, self._high), self._low, self._high, self._step)

    def _slid(self, _: Any) -> None:
        scale = math.log2 if self._log else float
        if not self._silence.up and moved(scale(self.value), scale(self.widget.value), self._step):
            self.value = round(self.widget.value, DIGITS) + 0.0
            self._tell()


class Slider(Control):
    """A slider with a text box beside it."""

    def __init__(
        self,
        name: str,
        value: float,
        low: float,
        high: float,
        step: float,
        *,
        whole: bool = False,
        **looks: Any,
    ) -> None:
        super().__init__()
        self._whole = whole
        self._track = Track(name, value, low, high, step, **looks)
        self.box = NumberBox(f"{name}, typed", value, low, high, whole=whole)
        self.widget = HBox([self._track.widget, self.box.widget])
        self._track.listen(self._slid)
        self.box.listen(self._typed)

    @property
    def problem(self) -> str:  # type: ignore[override]
        """What is wrong with the text in the box."""
        return self.box.problem

    @property
    def value(self) -> float:
        """The number that slider and box show."""
        return self.box.value

    @value.setter
    def value(self, value: Any) -> None:
        self.box.value = value

    def _slid(self) -> None:
        with self._silence.raised():
            self.box.value = round(self._track.value) if self._whole else self._track.value
        self._tell()

    def _typed(self) -> None:
        if not self._silence.up:
            self._track.follow(self.box.value)
            self._tell()


class Sliders(Control):
    """Several sliders, read as one array."""

    def __init__(
        self, names: Labels, low: float, high: float, step: float, *, label: str, width: str
    ) -> None:
        super().__init__()
        self.sliders = [Slider(name, 0.0, low, high, step, label=label, width=width) for name in names]
        self.widgets = [slider.widget for slider in self.sliders]
        for slider in self.sliders:
            slider.listen(self._slider_changed)

    @property
    def problem(self) -> str:  # type: ignore[override]
        """What is wrong with the first box that holds something impossible."""
        return next((slider.problem for slider in self.sliders if slider.problem), "")

    @property
    def value(self) -> Array:
        """The numbers; read-only, because writing into the array would not reach the sliders."""
        return frozen([slider.value for slider in self.sliders])

    @value.setter
    def value(self, value: Any) -> None:
        numbers = list(value)
        if len(numbers) != len(self.sliders):
            raise ValueError(f"expected {len(self.sliders)} numbers, got {len(numbers)}")
        before = self.value
        with self._silence.raised():
            try:
                for slider, number in zip(self.sliders, numbers, strict=True):
                    slider.value = number
            except ValueError:
                for slider, number in zip(self.sliders, before, strict=True):
                    slider.value = number
                raise
        self._tell()

    def _slider_changed(self) -> None:
        if not self._silence.up:
            self._tell()
