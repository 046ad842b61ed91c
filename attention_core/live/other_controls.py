"""Controls for everything but numbers: choices, ticks, tokens, a button."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from ipywidgets import Button, Checkbox, Dropdown, Layout, Text

from attention_core.live._shapes import Array, Labels
from attention_core.live.number_controls import BAD, HEIGHT, Control


class Choice(Control):
    """One of several options."""

    def __init__(
        self, name: str, options: Sequence[tuple[str, Any]], *, label: str = "60px", width: str
    ) -> None:
        super().__init__()
        self.widget = Dropdown(
            options=options, description=name, style={"description_width": label},
            layout=Layout(width=width, height=HEIGHT),
        )  # fmt: skip
        self.widget.observe(self._chosen, "value")

    @property
    def value(self) -> Any:
        """What the chosen option stands for."""
        return self.widget.value

    @value.setter
    def value(self, value: Any) -> None:
        options = [option for _, option in self.widget.options]
        if value not in options:
            raise ValueError(f"{self.widget.description} must be one of {options}, got {value!r}")
        self.widget.value = value

    def offer(self, options: Sequence[tuple[str, Any]]) -> None:
        """Offer other options, and keep the choice where it still exists."""
        if tuple(options) != tuple(self.widget.options):
            chosen = self.value
            with self._silence.raised():
                self.widget.options = options
                if chosen in [option for _, option in options]:
                    self.widget.value = chosen

    def _chosen(self, _: Any) -> None:
        if not self._silence.up:
            self._tell()


class Tick(Control):
    """Yes or no."""

    def __init__(self, name: str, value: bool, *, width: str = "auto") -> None:
        super().__init__()
        self.widget = Checkbox(
            value,
            description=name,
            indent=False,
            layout=Layout(width=width, height=HEIGHT, margin="0 0 2px 8px"),
        )
        self.widget.observe(lambda _: self._tell(), "value")

    @property
    def value(self) -> bool:
        """Is it ticked?"""
        return bool(self.widget.value)

    @value.setter
    def value(self, value: Any) -> None:
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{self.widget.description} must be True or False, got {value!r}")
        self.widget.value = bool(value)


class Ticks(Control):
    """Yes or no for each of several things, as a boolean array."""

    def __init__(self, names: Labels) -> None:
        super().__init__()
        self._ticks = [Tick(name, False) for name in names]
        self.widgets = [tick.widget for tick in self._ticks]
        for tick in self._ticks:
            tick.listen(self._tick_changed)

    @property
    def value(self) -> Array:
        """Which are ticked."""
        return np.array([tick.value for tick in self._ticks])

    @value.setter
    def value(self, value: Any) -> None:
        values = list(value)
        if len(values) != len(self._ticks):
            raise ValueError(f"expected {len(self._ticks)} of True or False, got {value!r}")
        with self._silence.raised():
            for tick, one in zip(self._ticks, values, strict=True):
                tick.value = one
        self._tell()

    def _tick_changed(self) -> None:
        if not self._silence.up:
            self._tell()


class Words(Control):
    """A fixed number of tokens, typed with spaces between them; they may hold anything else."""

    def __init__(self, name: str, value: Labels, *, label: str = "60px", width: str) -> None:
        super().__init__()
        self._value = list(value)
        self.widget = Text(
            " ".join(value), description=name, style={"description_width": label},
            layout=Layout(width=width, height=HEIGHT),
        )  # fmt: skip
        self.widget.observe(self._typed, "value")

    @property
    def value(self) -> list[str]:
        """The last good tokens."""
        return list(self._value)

    @value.setter
    def value(self, value: Any) -> None:
        tokens = [str(token) for token in value]
        if len(tokens) != len(self._value) or any(not re.fullmatch(r"\S+", token) for token in tokens):
            raise ValueError(f"expected {len(self._value)} tokens without spaces, got {tokens}")
        with self._silence.raised():
            self.widget.value = " ".join(tokens)
        self._take(tokens)

    def _typed(self, _: Any) -> None:
        if self._silence.up:
            return
        tokens = self.widget.value.split()
        if len(tokens) == len(self._value):
            self._take(tokens)
        else:
            self.problem = (
                f"{self.widget.description}: the example needs {len(self._value)} tokens with spaces "
                f"between them, and here are {len(tokens)}."
            )
            self.widget.add_class(BAD)
            self._tell()

    def _take(self, tokens: list[str]) -> None:
        self._value = tokens
        if self.problem:
            self.problem = ""
            self.widget.remove_class(BAD)
        self._tell()


def button(name: str, pressed: Callable[[], None]) -> Button:
    """Return a button that calls `pressed`."""
    made = Button(description=name, layout=Layout(width="80px", height=HEIGHT, flex="0 0 auto"))
    made.on_click(lambda _: pressed())
    return made
