"""The stored notebooks: their pictures, the rhythm of the lessons, the numbers in prose."""

import io
import re
import statistics
import tokenize
from base64 import b64decode, b64encode
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbformat import NotebookNode
from PIL import Image

from attention_core.worked import load, names
from tools.build import code_cells

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
LONGEST_CELL = 12  # lines of code, imports aside
SMALL = 10  # whole numbers below this are counting words in prose: "three keys", "row 2"

NUMBER = re.compile(r"(?<![\w.,])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
NOT_QUOTED = re.compile(  # parts of prose that state no result
    r"```.*?```|`[^`]*`|\[[^\]]*\]\([^)]*\)|<[^>]+>"  # code, links, tags
    r"|^#+ \d\d |^\*\*\d\.\*\*|\(\d{4}\)|notebooks? \d\d(?: (?:to|and) \d\d)?"
    r"|^\*About \d+ minutes|^Read \d\d to \d\d",  # names, years, the time it takes
    re.DOTALL | re.MULTILINE,
)


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> NotebookNode:
    return nbformat.read(request.param, as_version=4)


def texts(cell: NotebookNode) -> Iterator[str]:
    """Every text that a code cell shows."""
    for output in cell.outputs:
        yield output.get("text", "")
        for kind, data in output.get("data", {}).items():
            if kind.startswith("text/"):
                yield re.sub(r"<[^>]+>", " ", data)


# --- pictures -------------------------------------------------------------------------------------


def faults(data: dict[str, str], about: dict[str, Any]) -> list[str]:
    """Return what is wrong with a stored picture and what is stored about it."""
    image = Image.open(io.BytesIO(b64decode(data["image/png"]))).convert("L")
    low, high = image.getextrema()
    wrong = {
        "no words": not about.get("alt") or data.get("text/plain") != about["alt"],
        "of one color": low == high,
        "not twice as large as shown": image.size != (2 * about.get("width", 0), 2 * about.get("height", 0)),
    }
    return [fault for fault, found in wrong.items() if found]


def test_pictures(notebook: NotebookNode) -> None:
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    pictures = [(o.data, o.metadata["image/png"]) for o in outputs if "image/png" in o.get("data", {})]
    assert [faults(*picture) for picture in pictures] == [[] for _ in pictures]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, []),
        ({"alt": ""}, ["no words"]),
        ({"alt": "other words"}, ["no words"]),
        ({"width": 7}, ["not twice as large as shown"]),
        ({"colors": [0]}, ["of one color"]),
    ],
)
def test_a_poor_picture_is_found(change: dict[str, Any], fault: list[str]) -> None:
    given = {"alt": "words", "width": 2, "height": 1, "colors": [0, 255], **change}
    image, file = Image.new("L", (4, 2)), io.BytesIO()
    image.putdata(given.pop("colors") * 4)
    image.save(file, format="PNG")
    data = {"image/png": b64encode(file.getvalue()).decode(), "text/plain": "words"}
    assert faults(data, given) == fault


# --- rhythm --------------------------------------------------------------------------------------


def off_beat(notebook: NotebookNode) -> list[str]:
    """Return where a lesson leaves the rhythm: short cells, predictions, exercises, a close."""
    wrong = []
    lines = [len(c.source.splitlines()) for c in code_cells(notebook) if "import " not in c.source]
    code = "\n".join(cell.source for cell in code_cells(notebook))
    prose = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    if max(lines) > LONGEST_CELL or statistics.median(lines) > 4:
        wrong.append(f"code cells are too long: longest {max(lines)}, median {statistics.median(lines)}")
    if len(re.findall(r"^predict\(", code, re.MULTILINE)) < 3:
        wrong.append("fewer than three predictions")
    if len(re.findall(r"^check\(", code, re.MULTILINE)) < 2:
        wrong.append("fewer than two exercises")
    if statistics.median(len(text.split()) for text in prose) > 50:
        wrong.append("prose cells are too long")
    if not any("## What you can now say" in text for text in prose):
        wrong.append("no close: What you can now say")
    return wrong


def test_rhythm(notebook: NotebookNode) -> None:
    assert off_beat(notebook) == []


def test_what_is_off_beat_is_found() -> None:
    cells = [nbformat.v4.new_code_cell("x\n" * 20), nbformat.v4.new_markdown_cell("word " * 60)]
    assert len(off_beat(nbformat.v4.new_notebook(cells=cells))) == 5


# --- prose numbers -------------------------------------------------------------------------------


def numbers(text: str) -> set[str]:
    return {match.replace(",", "").replace("−", "-").rstrip(".") for match in NUMBER.findall(text)}


def example_numbers(notebook: NotebookNode) -> set[str]:
    """Inputs and published values of the worked examples that `notebook` loads, as text."""
    code = "\n".join(cell.source for cell in code_cells(notebook))
    loaded = names() if "in names()" in code else re.findall(r'load\("([\w-]+)"\)', code)
    found = set()
    for example in map(load, loaded):
        found |= {str(n) for x in example.inputs.values() for n in np.ravel(x) if not isinstance(n, str)}
        found |= {n for published in example.published for n in np.ravel(published.printed)}
    return {n.rstrip("%") for n in found}


def written(code: str) -> set[str]:
    """The numbers in `code`, without those in its strings and comments."""
    plain = re.sub(r"^%.*$", "", code, flags=re.MULTILINE)  # IPython's own commands
    tokens = tokenize.generate_tokens(io.StringIO(plain).readline)
    return {str(float(token.string)) for token in tokens if token.type == tokenize.NUMBER}


def supported(quoted: str, known: set[str]) -> bool:
    """Is `quoted` a small whole number, or a known number rounded to its own last digit?"""
    value = float(quoted)
    if quoted.lstrip("-").isdigit() and abs(value) < SMALL:
        return True
    decimals = len(quoted.partition(".")[2].partition("e")[0])
    return any(abs(float(n) - value) <= 0.5 * 10.0**-decimals + 1e-12 for n in known)


def unsupported(notebook: NotebookNode, inputs: set[str]) -> list[str]:
    """Return the numbers in prose that no input, published value or output above them shows.

    An input may stand in the cell below as well: prose often says what is taken next.
    """
    known, wrong = set(inputs), []
    for cell, below in pairwise([*notebook.cells, nbformat.v4.new_code_cell()]):
        if cell.cell_type == "code":
            known |= written(cell.source) | {n for text in texts(cell) for n in numbers(text)}
        else:
            quoted = numbers(NOT_QUOTED.sub(" ", cell.source))
            taken = written(below.source) if below.cell_type == "code" else set()
            wrong += [f"{n} in {cell.source[:60]!r}" for n in quoted if not supported(n, known | taken)]
    return wrong


def test_prose_quotes_only_what_is_shown(notebook: NotebookNode) -> None:
    assert unsupported(notebook, example_numbers(notebook)) == []


def test_a_number_that_nothing_shows_is_found() -> None:
    shown = nbformat.v4.new_output("execute_result", data={"text/plain": "0.3866"}, execution_count=1)
    cell = nbformat.v4.new_code_cell("weights[0, 0]", outputs=[shown])

    def prose(text: str, *above: NotebookNode) -> list[str]:
        cells = [*above, nbformat.v4.new_markdown_cell(text)]
        return unsupported(nbformat.v4.new_notebook(cells=cells), set())

    assert prose("The first weight is 0.39, of three.", cell) == []
    assert prose("The first weight is 0.38.", cell)
    assert prose("The first weight is 0.39.")  # nothing above shows it
    assert prose("It grew 1,280 times.", cell)
    in_a_string = nbformat.v4.new_code_cell('hint = "0.39"  # 0.39')
    assert prose("The first weight is 0.39.", in_a_string)
    s3 = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell('load("three-tokens")')])
    assert "0.401" in example_numbers(s3) and "0.3118" not in example_numbers(s3)  # that is S1's
