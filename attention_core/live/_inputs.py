"""What a view can be set to: traits that take only what the view can show, and otherwise say in words why."""

import re
from typing import Any

import numpy as np
from traitlets import TraitError, TraitType

from attention_core._numbers import plain, typed

Array = np.ndarray[Any, np.dtype[Any]]


class Refused(TraitError, ValueError):
    """A view cannot show what it was given, and stays as it was."""


class Input(TraitType):
    """A trait whose every change goes through its view, which draws it or refuses it."""

    def __set__(self, view: Any, value: Any) -> None:
        view.set({self.name: value})

    def array(self, value: Any, kinds: str, wanted: str) -> Array:
        """Return `value` as an array of one of the `kinds` (as in numpy's dtype), or raise Refused."""
        try:
            array = np.asarray(value)
        except (TypeError, ValueError, RuntimeError):  # RuntimeError: a tensor that needs gradients
            array = np.empty(0, object)
        if array.dtype.kind not in kinds:
            raise Refused(f"{self.name} must be {wanted}, got {value!r}")
        return array


class _InRange(Input):
    """Numbers from `low` to `high`; whole ones are read as int."""

    def __init__(self, default: Any, low: float, high: float, *, whole: bool = False, help: str) -> None:
        self.low, self.high, self.whole = low, high, whole
        super().__init__(default, help=help)

    @property
    def allowed(self) -> str:
        """Which numbers fit, in words."""
        return f"a {'whole ' * self.whole}number from {plain(self.low)} to {plain(self.high)}"

    def fits(self, x: float) -> bool:
        """Is `x` one of the numbers that fit?"""
        return bool(self.low <= x <= self.high) and (not self.whole or x == round(x))

    def read(self, text: str) -> float:
        """Read a number as someone types it; raise ValueError in words that a learner understands."""
        text = text.strip()
        if not text:
            raise ValueError(f"the box is empty; type {self.allowed}")
        if re.fullmatch(r"\D?[1-9]\d{0,2}(,\d{3})+", text):
            raise ValueError(
                f"“{text}” could be a fraction or thousands; type {self.allowed}, without a comma"
            )
        digits = text.replace("−", "-").replace("_", "?")  # float would read 1_0 as 10
        try:
            x = float(digits if self.whole else digits.replace(",", "."))
        except ValueError:
            raise ValueError(f"“{text}” is not a number; type {self.allowed}") from None
        if not self.fits(x):
            raise ValueError(f"“{text}” does not fit; type {self.allowed}")
        return x + 0.0  # -0.0 becomes 0.0

    def write(self, x: float) -> str:
        """Write a number as someone types it."""
        return typed(round(x) if self.whole else x)


class Number(_InRange):
    """One number."""

    def __init__(self, low: float, high: float, *, whole: bool = False, help: str) -> None:
        super().__init__(low, low, high, whole=whole, help=help)

    def validate(self, view: Any, value: Any) -> float:
        """Return `value` as a number, or raise Refused."""
        x = self.array(value, "biuf", self.allowed)
        if x.ndim or not self.fits(float(x)):
            raise Refused(f"{self.name} must be {self.allowed}, got {value!r}")
        return int(x) if self.whole else float(x) + 0.0


class Numbers(_InRange):
    """An array of numbers, with as many axes as `shape`, and as large, unless `smaller` ones fit too.

    What is read is read-only: writing into it would not reach the page.
    """

    def __init__(
        self, shape: tuple[int, ...], low: float, high: float, *, smaller: bool = False, help: str
    ) -> None:
        self.shape, self.smaller = shape, smaller
        super().__init__(np.zeros(shape), low, high, help=help)

    def validate(self, view: Any, value: Any) -> Array:
        """Return `value` as an array of its own, or raise Refused."""
        x = self.array(value, "biuf", "numbers").astype(float)
        sizes = zip(x.shape, self.shape, strict=True) if x.ndim == len(self.shape) else [(0, 0)]
        if not all(0 < n <= most if self.smaller else n == most > 0 for n, most in sizes):
            smaller = " or smaller" if self.smaller else ""
            raise Refused(f"{self.name} must have shape {self.shape}{smaller}, got {x.shape}")
        for at, number in np.ndenumerate(x):
            if not self.fits(number):
                raise Refused(f"{self.name}{list(at)} must be {self.allowed}, got {number}")
        x += 0.0  # -0.0 becomes 0.0
        x.setflags(write=False)
        return x


class Truth(Input):
    """True or False."""

    def __init__(self, *, help: str) -> None:
        super().__init__(False, help=help)

    def validate(self, view: Any, value: Any) -> bool:
        """Return `value` as a bool, or raise Refused."""
        if self.array(value, "b", "True or False").ndim:
            raise Refused(f"{self.name} must be True or False, got {value!r}")
        return bool(value)


class Truths(Input):
    """Several of True or False, as a read-only array."""

    def __init__(self, n: int, *, help: str) -> None:
        self.n = n
        super().__init__(np.zeros(n, bool), help=help)

    def validate(self, view: Any, value: Any) -> Array:
        """Return `value` as a bool array, or raise Refused."""
        wanted = f"{self.n} of True or False"
        x = self.array(value, "b", wanted).copy()
        if x.shape != (self.n,):
            raise Refused(f"{self.name} must be {wanted}, got {value!r}")
        x.setflags(write=False)
        return x


class Tokens(Input):
    """A fixed number of tokens, typed with blanks between them; they may hold anything else."""

    def __init__(self, n: int, *, help: str) -> None:
        self.n = n
        super().__init__(("?",) * n, help=help)

    def validate(self, view: Any, value: Any) -> tuple[str, ...]:
        """Return `value` as a tuple, or raise Refused."""
        x = self.array(value, "UT", "tokens")
        if x.shape != (self.n,) or not all(re.fullmatch(r"\S+", token) for token in x):
            raise Refused(f"{self.name} must be {self.n} tokens without blanks, got {value!r}")
        return tuple(map(str, x))

    def read(self, text: str) -> tuple[str, ...]:
        """Read what someone types; raise ValueError where the number of tokens is wrong."""
        tokens = tuple(text.split())
        if len(tokens) != self.n:
            here = f"and here {'is' if len(tokens) == 1 else 'are'} {len(tokens)}"
            raise ValueError(f"the view needs {self.n} tokens with blanks between them, {here}")
        return tokens

    def write(self, tokens: tuple[str, ...]) -> str:
        """Write the tokens as someone types them."""
        return " ".join(tokens)
