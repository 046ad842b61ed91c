"""What a view can be set to: traits that take only what the view can show, and otherwise say in words why."""

import re
from typing import Any

import numpy as np
from traitlets import TraitError, TraitType

from attention_core._numbers import plain, typed

Array = np.ndarray[Any, np.dtype[Any]]


class Refused(TraitError, ValueError):
    """A view cannot show what it was given, and stays as it was."""


def frozen(array: Array) -> Array:
    """Return `array`, which nobody can write to any more."""
    array.setflags(write=False)
    return array


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


class Numbers(Input):
    """A number from `low` to `high`, or an array of such numbers. Whole numbers are read as int.

    An array has this `shape`, or with `smaller` also one of fewer rows or columns. It is read-only:
    writing into it would not reach the page.
    """

    def __init__(
        self, low: float, high: float, shape: tuple[int, ...] = (),
        *, whole: bool = False, smaller: bool = False, help: str,
    ) -> None:  # fmt: skip
        self.low, self.high, self.shape, self.whole, self.smaller = low, high, shape, whole, smaller
        super().__init__(np.full(shape, low) if shape else low, help=help)

    @property
    def allowed(self) -> str:
        """Which numbers fit, in words."""
        return f"a {'whole ' * self.whole}number from {plain(self.low)} to {plain(self.high)}"

    def fits(self, x: float) -> bool:
        """Is `x` one of the numbers that fit?"""
        return bool(self.low <= x <= self.high) and (not self.whole or x == round(x))

    def validate(self, view: Any, value: Any) -> Any:
        """Return `value` as a number, or as an array of its own; or raise Refused."""
        x = self.array(value, "biuf", "numbers" if self.shape else self.allowed).astype(float)
        sizes = zip(x.shape, self.shape, strict=True) if x.ndim == len(self.shape) else [(0, 0)]
        if not all(0 < n <= most if self.smaller else n == most > 0 for n, most in sizes):
            raise Refused(
                f"{self.name} must have shape {self.shape}{' or smaller' * self.smaller}, got {x.shape}"
            )
        for at, number in np.ndenumerate(x):
            if not self.fits(number):
                raise Refused(f"{self.name}{list(at) or ''} must be {self.allowed}, got {number:g}")
        x += 0.0  # -0.0 becomes 0.0
        return frozen(x) if self.shape else (int(x) if self.whole else float(x))

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


class Truths(Input):
    """True or False, or a read-only array of them."""

    def __init__(self, shape: tuple[int, ...] = (), *, help: str) -> None:
        self.shape = shape
        super().__init__(np.zeros(shape, bool) if shape else False, help=help)

    def validate(self, view: Any, value: Any) -> Any:
        """Return `value` as a bool, or as an array of its own; or raise Refused."""
        x = self.array(value, "b", f"True or False{f', of shape {self.shape}' if self.shape else ''}")
        if x.shape != self.shape:
            raise Refused(f"{self.name} must have shape {self.shape}, got {x.shape}")
        return frozen(x.copy()) if self.shape else bool(x)


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
