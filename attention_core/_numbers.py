"""Every number as text, in one place.

What a notebook prints looks as numpy prints it: `printed`, and `in_line` where a table needs one line.
Pictures have little room and write − and ∞: `numbers` gives all numbers of one picture the same decimals,
`number` gives each its own, and `plain` leaves out zeros at the end.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
DIGITS = 4  # decimals in notebooks and live views
_SIGNS = {"inf": "∞", "-inf": "−∞", "nan": "NaN"}
_WORDS = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)


# --- in notebooks -----------------------------------------------------------------------------


def printed(value: Any, digits: int = DIGITS) -> str:
    """Write a number or an array as the notebooks print it, anything else as `str` does.

    As many decimals as it has, at most `digits`, or four digits where those would hide the number.

    >>> printed(1.07), printed(0.5 / 10**6), printed(2359296.0), printed(6e9), printed(3)
    ('1.07', '5.000e-07', '2359296', '6.000e+09', '3')
    """
    if isinstance(value, np.ndarray):
        return np.array2string(
            rounded(value), precision=digits, suppress_small=True, floatmode="maxprec_equal"
        )
    if not isinstance(value, float | np.floating):
        return str(value)
    size = abs(float(value))
    if 1e6 <= size < 1e9 and size.is_integer():
        return f"{value:.0f}"
    hidden = math.isfinite(size) and size != 0 and not 10.0**-digits <= size < 1e6
    return f"{value:.3e}" if hidden else _short(f"{value:z.{digits}f}", 1)


def rounded(x: Array) -> Array:
    """Return `x` without what only rounding has left: 0.1 + 0.2 reads as 0.3, and -1e-17 as 0.

    >>> rounded(np.array([0.1 + 0.2, -1e-17]))
    array([0.3, 0. ])
    """
    return np.round(x, 10) + 0.0 if x.dtype.kind == "f" else x


def in_line(value: Any, decimals: int = 6) -> str:
    """Write a number, or an array of any shape, in one line, with as many decimals as it has.

    >>> in_line([[1.0, 1 / 3], [0.25, -5e-9]]), in_line(True)
    ('[[1, 0.333333], [0.25, 0]]', 'True')
    """
    value = np.asarray(value).tolist()
    if isinstance(value, list):
        return f"[{', '.join(in_line(entry, decimals) for entry in value)}]"
    return _short(f"{value:z.{decimals}f}") if isinstance(value, float) else str(value)


# --- in pictures ------------------------------------------------------------------------------


def numbers(values: Any) -> list[str]:
    """Write all numbers with the same decimals: what shows them exactly (at most 3), otherwise 2.

    >>> numbers([1, 0.5, -2]), numbers([1 / 3, -math.inf])
    (['1.0', '0.5', '−2.0'], ['0.33', '−∞'])
    """
    x = np.asarray(values, dtype=np.float64).ravel()
    finite = x[np.isfinite(x)]
    exact = (d for d in range(4) if np.allclose(finite, finite.round(d), rtol=0, atol=1e-9))
    decimals = next(exact, 2)
    return [fixed(value, decimals) for value in x]


def number(x: float, decimals: int = DIGITS, room: int = 7) -> str:
    """Write `x` with fixed decimals, with fewer where more than `room` characters would be needed.

    >>> number(0.5), number(-1234.5), number(6.4e11), number(-1e-9)
    ('0.5000', '−1234.5', '6.4e+11', '0.0000')
    """
    texts = (fixed(x, d) for d in range(decimals, -1, -1))
    return next((text for text in texts if len(text) <= room), f"{x:.1e}".replace("-", "−"))


def plain(x: float, least: int = 0, most: int = DIGITS) -> str:
    """Write `x` with as many decimals as it has, at least `least` and at most `most`.

    >>> plain(0.5), plain(3.0), plain(3.0, least=1), plain(-1 / 3)
    ('0.5', '3', '3.0', '−0.3333')
    """
    return _short(fixed(x, most), least)


def typed(x: float) -> str:
    """Write `x` as someone types it into a box: `plain`, with the minus of a keyboard."""
    return plain(x).replace("−", "-")


def three_digits(x: float) -> str:
    """Write a positive number with three digits, or all of those before the point.

    >>> three_digits(0.989), three_digits(15.34), three_digits(1027.0)
    ('0.989', '15.3', '1027')
    """
    return f"{x:.{max(0, 2 - math.floor(math.log10(x)))}f}"


def vector(values: Any, decimals: int | None = None) -> str:
    """Write a row of numbers: as `numbers` does, or each as `number` does with these decimals.

    >>> vector([1, 0, 0.5]), vector([0.56, 0.44], 4)
    ('[1.0, 0.0, 0.5]', '[0.5600, 0.4400]')
    """
    texts = numbers(values) if decimals is None else [number(x, decimals) for x in values]
    return f"[{', '.join(texts)}]"


def product(a: str, sign: str, b: str) -> str:
    """Write a product of two numbers, a negative one in brackets.

    >>> product("2", " × ", "−1")
    '2 × (−1)'
    """
    return sign.join(f"({x})" if x.startswith("−") else x for x in (a, b))


def dot_product(a: Sequence[str], b: Sequence[str]) -> str:
    """Write a dot product term by term.

    >>> dot_product(["1", "0"], ["0.8", "−0.1"])
    '1·0.8 + 0·(−0.1)'
    """
    return " + ".join(product(x, "·", y) for x, y in zip(a, b, strict=True))


def counted(n: int) -> str:
    """Write a number as English prose does: six, but 13."""
    return _WORDS[n] if n < len(_WORDS) else str(n)


def fixed(x: float, decimals: int) -> str:
    """Write `x` with exactly so many decimals, and never −0.

    >>> fixed(0.56, 3), fixed(-0.0004, 3), fixed(-math.inf, 3)
    ('0.560', '0.000', '−∞')
    """
    text = f"{x:z.{decimals}f}"  # z: no minus before 0.00
    return _SIGNS.get(text, text.replace("-", "−"))


def _short(text: str, least: int = 0) -> str:
    whole, point, rest = text.partition(".")
    rest = rest.rstrip("0").ljust(least, "0")
    return f"{whole}.{rest}" if point and rest else whole
