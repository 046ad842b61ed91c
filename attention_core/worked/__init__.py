"""The worked examples of the course: inputs and printed numbers from the sources, checked by the kernels.

Claims that the sources make in words stand here too, with the sections of the notebooks that test them.

`load("one-query")` reads one example, `computed(example)` works it with the kernels, and
`compare(example)` sets what the source printed beside what its own inputs give.
The text files are in the folder `examples` beside this module.
"""

from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files

import numpy as np

from attention_core._numbers import in_line
from attention_core.worked._files import (
    VERDICTS,
    Array,
    Example,
    Input,
    Printed,
    Published,
    Section,
    Statement,
    Value,
    decimal,
    parse,
)
from attention_core.worked._work import WORK

__all__ = [
    "VERDICTS",
    "Array",
    "Example",
    "Input",
    "Printed",
    "Published",
    "Row",
    "Section",
    "Statement",
    "Value",
    "agrees",
    "compare",
    "computed",
    "load",
    "names",
    "parse",
]


@dataclass(frozen=True)
class Row:
    """One printed number beside the computed one."""

    example_id: str
    source: str
    quantity: str
    printed: str
    computed: str
    agrees: bool
    erratum: str | None
    slip: str | None
    note: str | None


def names() -> list[str]:
    """Return the ids of all worked examples, in the order of the sources."""
    return list(WORK)


def load(id: str) -> Example:
    """Read one worked example; its arrays are read-only.

    Raises ValueError for an id that does not exist and for a file with a mistake in it.

    >>> load("dot-product")["a"]
    array([1., 2., 3.])
    """
    if id not in WORK:
        raise ValueError(f"there is no worked example {id!r}; there are {', '.join(WORK)}")
    file = files("attention_core") / "worked" / f"{id}.toml"
    return parse(file.read_text(encoding="utf-8"), file.name)


def computed(example: Example) -> dict[str, Value]:
    """Compute every named quantity of an example from its inputs, with the kernels.

    >>> computed(load("dot-product"))["dot_product"]
    32.0
    """
    return WORK[example.id](example)


def compare(example: Example) -> list[Row]:
    """Set every printed number beside the computed one.

    >>> row, = compare(load("dot-product"))
    >>> row.printed, row.computed, row.agrees
    ('32', '32', True)
    """
    values = computed(example)
    return [_row(example.id, published, values) for published in example.published]


def agrees(printed: Printed, value: Value) -> bool:
    """Does `value` equal what was printed, to half a unit of the last printed digit?

    Raises ValueError when the shapes differ.

    >>> agrees("0.43", 0.4265), agrees("0.42", 0.4265), agrees("43%", 0.4265)
    (True, False, True)
    """
    texts, numbers = np.asarray(printed), np.asarray(value)
    if texts.shape != numbers.shape:
        raise ValueError(f"printed has shape {texts.shape}, computed has shape {numbers.shape}")
    return all(map(_one_agrees, texts.ravel().tolist(), numbers.ravel().tolist()))


def _one_agrees(printed: str, value: float | int) -> bool:
    number, exact = decimal(printed), Decimal(f"{value:.12g}")  # without the noise of binary fractions
    return exact.is_finite() and abs(number - exact) <= _half_a_unit(number)


def _half_a_unit(number: Decimal) -> Decimal:
    """Return half a unit of the last digit: 0.005 for 0.43, 0.5 for 1280."""
    return Decimal(5).scaleb(_exponent(number) - 1)


def _exponent(number: Decimal) -> int:
    """Return the place of the last digit: -2 for 0.43, 0 for 1280."""
    return int(number.as_tuple().exponent)


def _row(id: str, published: Published, values: dict[str, Value]) -> Row:
    if published.quantity not in values:
        raise ValueError(f"{id} computes no {published.quantity!r}; it has {', '.join(values)}")
    value = values[published.quantity]
    last = min(_exponent(decimal(text)) for text in np.ravel(published.printed).tolist())
    return Row(
        example_id=id,
        source=published.source,
        quantity=published.quantity,
        printed=in_line(published.printed),
        computed=in_line(value, max(6, 1 - last)),  # one digit more than printed
        agrees=agrees(published.printed, value),
        erratum=published.erratum,
        slip=published.slip,
        note=published.note,
    )
