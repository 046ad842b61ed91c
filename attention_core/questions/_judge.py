"""Is an answer right, and if not, which thought leads out of it? Nothing here shows anything."""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from attention_core._numbers import plain, printed
from attention_core.attention import Attention

TOLERANCE = 5e-4  # an exercise's answer rounded to three decimals counts as right
NOT_YET = "Not answered yet: write your code in place of ... and run the cell again."


class Hint(Exception):
    """What an answer that breaks a rule is told; raised by `Answer.of`."""


class Answer(NamedTuple):
    """What is right, and what a wrong answer is told.

    `wrong` maps each thought to the wrong answer that it leads out of. What is compared is `of` an answer:
    of a function, what it gives for some arguments; of a matrix, what attention does with it. `about` says
    how far a predicted number may be off where it can only be estimated.
    """

    right: Any
    wrong: Mapping[str, Any] = {}
    of: Callable[[Any], Any] = lambda answer: answer
    about: float = 0


def wanted(answer: Answer) -> str:
    """Say what kind of prediction is wanted.

    >>> wanted(Answer("animal")), wanted(Answer(2)), wanted(Answer(51, about=10))
    ('a word in "quotes"', 'a whole number', 'a number; 10 more or less is fine')
    """
    right = _array(answer.right)
    if answer.about:
        return f"a number; {plain(answer.about)} more or less is fine"
    if right.dtype.kind == "U":
        return 'a word in "quotes"'
    if right.dtype.kind == "b":
        return "True or False"
    whole = right.dtype.kind in "iu"
    one = "a whole number" if whole else "a number; two decimals are enough"
    many = f"{right.size} {'whole numbers' if whole else 'numbers'} in [brackets]"
    return one if right.size == 1 else many + ("" if whole else "; two decimals are enough")


def judge_prediction(guess: Any, answer: Answer) -> str:
    """Return "" for a right guess, and for a wrong one the thought that leads out of it."""
    if _near(guess, answer.right, answer.about):
        return ""
    hints = (thought for thought, wrong in answer.wrong.items() if _near(guess, wrong))
    return next(hints, "Compare it with the answer.")


def judge_exercise(mine: Any, answer: Answer) -> str:
    """Return "" for a right answer, NOT_YET for none, for a wrong one the thought that leads out of it."""
    if isinstance(mine, EllipsisType):
        return NOT_YET
    try:
        found = answer.of(mine)
    except Hint as hint:
        return str(hint)
    except Exception as error:  # whatever the learner's own code may raise
        return f"It stops: {error}"
    if isinstance(found, EllipsisType):  # of a function that is still to be written
        return NOT_YET
    right = answer.of(answer.right)
    if not isinstance(right, str) and (problem := _not_numbers(found)) is not None:
        return problem
    if _same(found, right):
        return ""
    for thought, wrong in answer.wrong.items():
        with suppress(Hint):
            if _same(found, answer.of(wrong)):
                return thought
    return f"Yours is {found!r}." if isinstance(right, str) else _difference(found, right)


def _not_numbers(answer: Any) -> str | None:
    """Say what is wrong with an answer that cannot be read as an array of numbers."""
    if isinstance(answer, Attention):
        return "This holds all steps: take one of them, such as .output."
    try:
        kind = _array(answer).dtype.kind
    except (TypeError, ValueError) as error:
        return f"An array of numbers is expected: {error}."
    return None if kind in "biuf" else f"An array of numbers is expected, got {type(answer).__name__}."


def _array(x: Any) -> np.ndarray:
    """Return `x` as a numpy array, tensors too: without their gradients, bfloat16 as float32."""
    if isinstance(x, list | tuple):
        return np.asarray([_array(entry) for entry in x])
    if "torch" in sys.modules and isinstance(x, sys.modules["torch"].Tensor):
        x = x.detach().cpu()
        x = x.float() if x.is_floating_point() and x.element_size() < 4 else x
    return np.asarray(x)


def _same(a: Any, b: Any) -> bool:
    """Are both the same word, or arrays of one shape that agree to three decimals?"""
    if isinstance(a, str) or isinstance(b, str):
        return str(a).strip().lower() == str(b).lower()
    a, b = _array(a), _array(b)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=TOLERANCE, equal_nan=True))


def _near(guess: Any, answer: Any, about: float = 0) -> bool:
    """Does a guess say what the answer says: the same word, or the same numbers to two decimals?

    Where the answer may be off by `about`, a range (low, high) that holds it and is no wider is right too.
    """
    guess, answer = _yes_or_no(guess), _yes_or_no(answer)
    if isinstance(answer, str):
        return str(guess).strip().lower() == answer.lower()
    try:
        a, b = (_array(x).astype(float).squeeze() for x in (guess, answer))
    except (TypeError, ValueError):
        return False
    if about and a.shape == (2,) and b.shape == ():
        return bool(a[0] <= b <= a[1] and a[1] - a[0] <= 2 * about)
    size = 1 if np.array_equal(b, np.round(b)) else np.maximum(1, np.abs(b))  # whole numbers: exactly
    return a.shape == b.shape and bool(np.all(np.isclose(a, b, rtol=0, atol=about or 0.005 * size)))


def _yes_or_no(x: Any) -> Any:
    """Return the word for one truth value of any library, and everything else as it is."""
    try:
        truth = _array(x)
    except (TypeError, ValueError):
        return x
    return ("no", "yes")[int(truth.item())] if truth.dtype == bool and truth.size == 1 else x


def _difference(answer: Any, expected: Any) -> str:
    """Say how `answer` differs from `expected`: in shape, or where most in value."""
    a, b = _array(answer).astype(float), _array(expected).astype(float)
    if a.shape != b.shape:
        right = "The numbers are right. " if a.size == b.size and _same(a.ravel(), b.ravel()) else ""
        return f"{right}The shape should be {b.shape}, and yours is {a.shape}."
    differs = ~np.isclose(a, b, rtol=0, atol=0, equal_nan=True)  # −∞ in both is no difference
    gap = np.abs(np.subtract(a, b, out=np.zeros_like(a), where=differs))
    at = tuple(int(i) for i in np.unravel_index(np.argmax(gap), gap.shape))
    place = f" at index {list(at)}" if at else ""
    return f"The largest difference is {printed(gap[at])}{place}: yours is {printed(a[at])}."
