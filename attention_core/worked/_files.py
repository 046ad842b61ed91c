"""The text files of the worked examples: what they hold, and how they are read.

A mistake in a file is a ValueError that names the file and the field.
"""

import tomllib
from dataclasses import dataclass, fields
from decimal import Decimal
from re import fullmatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Input = Array | list[str] | float | int
Value = Array | float | int
Printed = str | tuple["Printed", ...]

VERDICTS = ("true", "overstated", "half true", "false")


@dataclass(frozen=True)
class Published:
    """A number that a source printed.

    `quantity` names the value in `computed(example)`; `printed` is a text, or a nested tuple of texts,
    exactly as printed; `unit` says what is counted ("" for a plain number). `erratum` is the reason
    why the number is wrong, `slip` where the source slipped: both None when it is right. `source` is
    the example's unless the file says otherwise.
    """

    quantity: str
    printed: Printed
    unit: str = ""
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
    shows: tuple[str, ...]
    tested: tuple[Section, ...]
    verdict: str
    why: str
    source: str


@dataclass(frozen=True, eq=False)
class Example:
    """One worked example; `example["q"]` is short for `example.inputs["q"]`."""

    id: str
    title: str
    source: str
    place: str
    inputs: dict[str, Input]
    published: tuple[Published, ...]
    statements: tuple[Statement, ...]

    def __getitem__(self, name: str) -> Any:
        """Return one input, or raise KeyError naming the inputs there are."""
        if name not in self.inputs:
            raise KeyError(f"{self.id} has no input {name!r}; it has {', '.join(self.inputs)}")
        return self.inputs[name]


def decimal(printed: str) -> Decimal:
    """Return the printed number, with its last digit's place kept: "43%" is 0.43, "1.0" is 1.0."""
    return Decimal(printed.removesuffix("%")).scaleb(-2 if printed.endswith("%") else 0)


def parse(text: str, file: str) -> Example:
    """Read an example from TOML text; raise ValueError naming `file` and the field that is wrong."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: this is not valid TOML: {error}") from None
    where = f"{file}: "
    _check_fields(table, where, Example)
    id, source = _text(table, "id", where), _text(table, "source", where)
    if f"{id}.toml" != file:
        raise ValueError(f"{where}id must be the file's name without .toml, got {id!r}")
    return Example(
        id=id,
        title=_text(table, "title", where),
        source=source,
        place=_text(table, "place", where),
        inputs=_inputs(table, where),
        published=tuple(_published(t, at, source) for at, t in _tables(table, "published", where)),
        statements=tuple(_statement(t, at, source) for at, t in _tables(table, "statements", where)),
    )


def _published(table: dict[str, Any], where: str, source: str) -> Published:
    _check_fields(table, where, Published)
    published = Published(
        quantity=_text(table, "quantity", where),
        printed=_printed(table.get("printed"), f"{where}printed"),
        source=_text(table, "source", where) if "source" in table else source,
        **{name: _text(table, name, where) for name in ("unit", "erratum", "slip", "note") if name in table},
    )
    if (published.erratum is None) != (published.slip is None):
        raise ValueError(f"{where}erratum and slip belong together: give both or neither")
    return published


def _statement(table: dict[str, Any], where: str, source: str) -> Statement:
    _check_fields(table, where, Statement)
    verdict = _text(table, "verdict", where)
    if verdict not in VERDICTS:
        raise ValueError(f"{where}verdict must be one of {', '.join(VERDICTS)}, got {verdict!r}")
    return Statement(
        says=_text(table, "says", where),
        shows=_texts(table, "shows", where, "names of quantities") if "shows" in table else (),
        tested=tuple(_section(text, where) for text in _texts(table, "tested", where, "sections")),
        verdict=verdict,
        why=_text(table, "why", where),
        source=_text(table, "source", where) if "source" in table else source,
    )


def _section(text: str, where: str) -> Section:
    notebook, sign, heading = text.partition("#")
    if not (notebook and sign and heading):
        raise ValueError(f'{where}tested must hold texts such as "03_softmax#Temperature", got {text!r}')
    return Section(notebook, heading)


def _printed(value: Any, where: str) -> Printed:
    if isinstance(value, list) and value:
        entries = tuple(_printed(entry, f"{where}[{i}]") for i, entry in enumerate(value))
        if len({np.shape(entry) for entry in entries}) > 1:
            raise ValueError(f"{where} must have rows of one length, got {value!r}")
        return entries
    if not isinstance(value, str) or not fullmatch(r"-?[0-9]+(\.[0-9]+)?%?", value):
        raise ValueError(
            f'{where} must be the printed number in quotes, such as "0.43" or "43%", '
            f"or a list of them, got {value!r}"
        )
    return value


def _inputs(table: dict[str, Any], where: str) -> dict[str, Input]:
    inputs = table.get("inputs")
    if inputs is None and "published" not in table:
        return {}  # claims in words alone
    if not isinstance(inputs, dict) or not inputs:
        raise ValueError(f"{where}inputs must be a table with at least one entry, got {inputs!r}")
    return {name: _input(value, f"{where}inputs.{name}") for name, value in inputs.items()}


def _input(value: Any, where: str) -> Input:
    if isinstance(value, list) and value and _all_texts(value):
        return list(value)
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


def _tables(table: dict[str, Any], name: str, where: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the tables [[name]] of a file, each with the words that say where it stands."""
    tables = table.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(entry, dict) for entry in tables):
        raise ValueError(f"{where}{name} must be written as tables, [[{name}]], got {tables!r}")
    return [(f"{where}{name}[{i}].", entry) for i, entry in enumerate(tables)]


def _text(table: dict[str, Any], name: str, where: str) -> str:
    if not isinstance(table.get(name), str) or not table[name].strip():
        came = repr(table[name]) if name in table else "nothing"
        raise ValueError(f"{where}{name} must be a text, got {came}")
    return str(table[name])


def _texts(table: dict[str, Any], name: str, where: str, kind: str) -> tuple[str, ...]:
    texts = table.get(name)
    if not isinstance(texts, list) or not texts or not _all_texts(texts):
        raise ValueError(f"{where}{name} must be a list of {kind}, got {texts!r}")
    return tuple(texts)


def _all_texts(entries: list[Any]) -> bool:
    return all(isinstance(entry, str) for entry in entries)


def _check_fields(table: dict[str, Any], where: str, kind: type[Any]) -> None:
    """Refuse a field that does not exist: a mistyped "erratum" must not pass as "no erratum"."""
    known = [field.name for field in fields(kind)]
    for name in table:
        if name not in known:
            raise ValueError(f"{where}{name} is not a field; the fields are {', '.join(known)}")
