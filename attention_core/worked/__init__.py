"""The worked examples: inputs and printed numbers from the sources, and what the kernels make of them.

`load("one-query")` reads the text file of that name beside this module, `computed(example)` works the
example with the kernels, and `compare(example)` sets what the source printed beside what its own inputs
give. Claims that the sources make in words stand in the files too, with the sections of the notebooks
that test them. A mistake in a file is a ValueError that names the file and the field.
"""

import tomllib
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, replace
from decimal import Decimal
from importlib.resources import files
from re import fullmatch
from typing import Any, NamedTuple, TypeVar

import numpy as np

from attention_core._numbers import in_line
from attention_core.worked._work import WORK

__all__ = ["VERDICTS", "Example", "Published", "Row", "Section", "Statement"]
__all__ += ["agrees", "compare", "computed", "load", "names", "parse"]

VERDICTS = ("true", "overstated", "half true", "false")
Array = np.ndarray[Any, np.dtype[Any]]
Value = Array | float | int
Printed = str | tuple["Printed", ...]

# --- what a file holds ------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """A number that a source printed.

    `quantity` names the value in `computed(example)`; `printed` is a text, or a nested tuple of texts,
    exactly as printed. `erratum` is the reason why the number is wrong, `slip` where the source slipped:
    both None when it is right. `source` is the example's unless the file says otherwise.
    """

    quantity: str
    printed: Printed
    erratum: str | None = None
    slip: str | None = None
    note: str | None = None
    source: str = ""


class Section(NamedTuple):
    """A part of a notebook: the name of its file without ending, and the words of its heading."""

    notebook: str
    heading: str


@dataclass(frozen=True)
class Statement:
    """A claim in words, the verdict and the reason.

    `tested` are the sections whose code puts the claim to the test; `shows` names the computed
    quantities that decide it, where the example computes any.
    """

    says: str
    tested: tuple[Section, ...]
    verdict: str
    why: str
    shows: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, eq=False)
class Example:
    """One worked example; `example["q"]` is short for `example.inputs["q"]`."""

    id: str
    title: str
    source: str
    place: str
    inputs: dict[str, Any] = field(default_factory=dict)
    published: tuple[Published, ...] = ()
    statements: tuple[Statement, ...] = ()

    def __getitem__(self, name: str) -> Any:
        """Return one input, or raise KeyError naming the inputs there are."""
        if name not in self.inputs:
            raise KeyError(f"{self.id} has no input {name!r}; it has {', '.join(self.inputs)}")
        return self.inputs[name]

    def as_printed(self, quantity: str) -> Array:
        """Return what the source printed for `quantity`, as numbers to compute on with."""
        for published in self.published:
            if published.quantity == quantity:
                texts = np.asarray(published.printed)
                return np.reshape([float(_decimal(text)) for text in texts.ravel().tolist()], texts.shape)
        raise ValueError(f"{self.id} publishes no {quantity!r}, which other quantities are computed from")


Reader = Callable[[Any, str], Any]  # what stands in a file, and where -> what it means
Table = TypeVar("Table", Published, Statement, Example)


# --- printed beside computed ------------------------------------------------------------------


class Row(NamedTuple):
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


def _one_agrees(printed: str, value: float) -> bool:
    number, exact = _decimal(printed), Decimal(f"{value:.12g}")  # without the noise of binary fractions
    half_a_unit = Decimal(5).scaleb(_last_place(number) - 1)
    return exact.is_finite() and abs(number - exact) <= half_a_unit


def _row(id: str, published: Published, values: dict[str, Value]) -> Row:
    quantity, printed = published.quantity, published.printed
    if quantity not in values:
        raise ValueError(f"{id} computes no {quantity!r}; it has {', '.join(values)}")
    last = min(_last_place(_decimal(text)) for text in np.ravel(printed).tolist())
    digits = in_line(values[quantity], max(6, 1 - last))  # one more than printed
    right, p = agrees(printed, values[quantity]), published
    return Row(id, p.source, quantity, in_line(printed), digits, right, p.erratum, p.slip, p.note)


def _decimal(printed: str) -> Decimal:
    """Return the printed number, with its last digit's place kept: "43%" is 0.43, "1.0" is 1.0."""
    return Decimal(printed.removesuffix("%")).scaleb(-2 if printed.endswith("%") else 0)


def _last_place(number: Decimal) -> int:
    """Return the place of the last digit: -2 for 0.43, 0 for 1280."""
    return int(number.as_tuple().exponent)


# --- reading ----------------------------------------------------------------------------------


def parse(text: str, file: str) -> Example:
    """Read an example from TOML text; raise ValueError naming `file` and the field that is wrong."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: this is not valid TOML: {error}") from None
    example = _read(Example, table, f"{file}: ")
    if f"{example.id}.toml" != file:
        raise ValueError(f"{file}: id must be the file's name without .toml, got {example.id!r}")
    for p in example.published:
        if (p.erratum is None) != (p.slip is None):
            raise ValueError(f"{file}: {p.quantity}: erratum and slip belong together: give both or neither")
    return replace(
        example,
        published=tuple(replace(p, source=p.source or example.source) for p in example.published),
        statements=tuple(replace(s, source=s.source or example.source) for s in example.statements),
    )


def _read(kind: type[Table], table: dict[str, Any], where: str) -> Table:
    """Make a `kind` of a TOML table; a mistyped "erratum" must not pass as "no erratum"."""
    known = {field.name: field for field in fields(kind)}
    read = {}
    for name, value in table.items():
        if name not in known:
            raise ValueError(f"{where}{name} is not a field; the fields are {', '.join(known)}")
        reader: Reader = _READERS.get(name, _text)
        read[name] = reader(value, f"{where}{name}")
    for name, one in known.items():
        if name not in read and one.default is one.default_factory is MISSING:
            raise ValueError(f"{where}{name} is missing")
    return kind(**read)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{where} must be a text, got {value!r}")
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{where} must be a list of texts, got {value!r}")
    return tuple(_text(entry, f"{where}[{i}]") for i, entry in enumerate(value))


def _tables(kind: type[Table]) -> Callable[[Any, str], tuple[Table, ...]]:
    def read(value: Any, where: str) -> tuple[Table, ...]:
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise ValueError(f"{where} must be written as tables, [[{where.split()[-1]}]], got {value!r}")
        return tuple(_read(kind, entry, f"{where}[{i}].") for i, entry in enumerate(value))

    return read


def _printed(value: Any, where: str) -> Printed:
    if isinstance(value, list) and value:
        return tuple(_printed(entry, f"{where}[{i}]") for i, entry in enumerate(value))
    if not isinstance(value, str) or not fullmatch(r"-?[0-9]+(\.[0-9]+)?%?", value):
        wanted = 'the printed number in quotes, such as "0.43" or "43%", or a list of them'
        raise ValueError(f"{where} must be {wanted}, got {value!r}")
    return value


def _inputs(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be a table, got {value!r}")
    return {name: _input(entry, f"{where}.{name}") for name, entry in value.items()}


def _input(value: Any, where: str) -> Array | list[str] | float | int:
    if isinstance(value, list) and value and all(isinstance(entry, str) for entry in value):
        return value
    try:
        array = np.array(value)
    except ValueError:
        raise ValueError(f"{where} must have rows of one length, got {value!r}") from None
    if array.dtype.kind not in "if" or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"{where} must be a finite number, numbers or texts in a list, got {value!r}")
    if isinstance(value, int | float):
        return value
    array = array.astype(np.float64)
    array.setflags(write=False)  # a notebook cannot change an example by accident
    return array


def _verdict(value: Any, where: str) -> str:
    if value not in VERDICTS:
        raise ValueError(f"{where} must be one of {', '.join(VERDICTS)}, got {value!r}")
    return str(value)


def _sections(value: Any, where: str) -> tuple[Section, ...]:
    found = []
    for text in _texts(value, where):
        notebook, _, heading = text.partition("#")
        if not (notebook and heading):
            raise ValueError(f'{where} must hold texts such as "03_softmax#Temperature", got {text!r}')
        found.append(Section(notebook, heading))
    return tuple(found)


_READERS: dict[str, Reader] = {  # everything else is a text
    "inputs": _inputs,
    "published": _tables(Published),
    "printed": _printed,
    "statements": _tables(Statement),
    "shows": _texts,
    "tested": _sections,
    "verdict": _verdict,
}
