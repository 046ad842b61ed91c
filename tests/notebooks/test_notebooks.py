"""The committed notebooks: what nbval lets pass, the rhythm of the lessons, prose numbers, solutions."""

import io
import re
import statistics
import subprocess
import sys
import tokenize
from base64 import b64decode, b64encode
from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from PIL import Image

from attention_core.worked import load, names

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NO_TORCH = ("00", "01", "02", "03", "04", "05", "08", "11", "15")  # as the README says
WITHOUT_TORCH = [path for path in NOTEBOOKS if path.stem[:2] in NO_TORCH]
LONGEST_CELL = 12  # lines of code, imports aside
SMALL = 10  # whole numbers below this are counting words in prose: "three keys", "row 2"

NUMBER = re.compile(r"(?<![\w.,])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
ANSWER = re.compile(r"^(\w+) = \.\.\..*$", re.MULTILINE)
SOLUTION = re.compile(r"<details>.*?```python\n(.*?)```.*?</details>", re.DOTALL)
NOT_QUOTED = re.compile(  # parts of prose that state no result
    r"```.*?```|`[^`]*`|\[[^\]]*\]\([^)]*\)|<[^>]+>"  # code, links, tags
    r"|^#+ \d\d |^\*\*\d\.\*\*|\(\d{4}\)|notebooks? \d\d(?: (?:to|and) \d\d)?",  # names, years
    re.DOTALL | re.MULTILINE,
)


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(cell: NotebookNode) -> Iterator[str]:
    """Every text that a code cell shows."""
    for output in cell.get("outputs", []):
        yield output.get("text", "")
        for kind, data in output.get("data", {}).items():
            if kind.startswith("text/"):
                yield re.sub(r"<[^>]+>", " ", data)


# --- hygiene: what nbval lets pass ---------------------------------------------------------------


def unhygienic(notebook: NotebookNode) -> list[str]:
    """Return what is wrong with a committed notebook although nbval would pass it."""
    wrong = []
    if "widgets" in notebook.metadata:
        wrong.append("holds widget state, which breaks GitHub's view")
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        wrong.append(f"is not executed once from top to bottom: {counts}")
    if not any(cell.outputs for cell in code_cells(notebook)):
        wrong.append("has no outputs")
    for cell in code_cells(notebook):
        for output in cell.outputs:
            data = output.get("data", {})
            if output.get("name") == "stderr" or output.output_type == "error":
                wrong.append(f"shows an error: {cell.source[:60]!r}")
            if "application/vnd.jupyter.widget-view+json" in data:
                wrong.append(f"holds a widget view: {cell.source[:60]!r}")
            about = output.get("metadata", {}).get("image/png", {})
            if "image/png" in data and (not about.get("alt") or data.get("text/plain") != about["alt"]):
                wrong.append(f"has a picture without words: {cell.source[:60]!r}")
            if "image/png" in data and blank(data["image/png"], about):
                wrong.append(f"has a blank picture or one of another size: {cell.source[:60]!r}")
    return wrong


def blank(png: str, about: dict[str, int]) -> bool:
    """Is a stored picture of one color, or not twice as large as it is shown?"""
    image = Image.open(io.BytesIO(b64decode(png))).convert("L")
    low, high = image.getextrema()
    return low == high or image.size != (2 * about.get("width", 0), 2 * about.get("height", 0))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_hygiene(path: Path) -> None:
    assert unhygienic(read(path)) == []


def one_color(width: int, height: int) -> str:
    png = io.BytesIO()
    Image.new("L", (width, height), 255).save(png, format="PNG")
    return b64encode(png.getvalue()).decode()


def test_hygiene_can_fail() -> None:
    def spoiled(change) -> list[str]:
        notebook = deepcopy(read(next(path for path in NOTEBOOKS if path.stem.startswith("01"))))
        change(notebook, code_cells(notebook))
        return unhygienic(notebook)

    def clear(_, cells) -> None:
        for cell in cells:
            cell.outputs, cell.execution_count = [], None

    def picture(cells) -> NotebookNode:
        return next(o for c in cells for o in c.outputs if "image/png" in o.get("data", {}))

    stderr = nbformat.v4.new_output("stream", name="stderr", text="warning")
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}}
    assert len(spoiled(clear)) == 2  # a cleared notebook, which nbval passes
    assert spoiled(lambda nb, cells: nb.metadata.update(widgets={}))
    assert spoiled(lambda nb, cells: cells.insert(0, cells[0].update(execution_count=7)))
    assert spoiled(lambda nb, cells: cells[0].outputs.append(stderr))
    assert spoiled(lambda nb, cells: picture(cells).data.update(view))
    assert spoiled(lambda nb, cells: picture(cells).metadata.clear())
    assert spoiled(lambda nb, cells: picture(cells).data.update({"image/png": one_color(100, 100)}))
    about = {"width": 50, "height": 50}
    assert blank(one_color(100, 100), about)
    assert "picture" in " ".join(
        spoiled(lambda nb, cells: picture(cells).metadata["image/png"].update(about))
    )


def test_nbval_notices_one_changed_digit(tmp_path: Path) -> None:
    stored = (ROOT / "notebooks" / "00_start_here.ipynb").read_text(encoding="utf-8")
    assert "[[0.3866, 0.2670" in stored
    changed = tmp_path / "changed.ipynb"
    changed.write_text(stored.replace("[[0.3866, 0.2670", "[[0.3866, 0.2671"), encoding="utf-8")
    nbval = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-p", "no:cacheprovider"]
    done = subprocess.run([*nbval, str(changed)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "1 failed" in done.stdout and "0.2671" in done.stdout


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
    if not (".ipynb)" in prose[1] and ".ipynb)" in prose[-1]):
        wrong.append("no links to the previous and the next notebook")
    return wrong


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_rhythm(path: Path) -> None:
    assert off_beat(read(path)) == []


def test_rhythm_can_fail() -> None:
    prose = [nbformat.v4.new_markdown_cell("word " * 60) for _ in range(2)]
    cells = [nbformat.v4.new_code_cell("x\n" * 20), *prose]
    assert len(off_beat(nbformat.v4.new_notebook(cells=cells))) == 6


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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_prose_quotes_only_what_is_shown(path: Path) -> None:
    notebook = read(path)
    assert unsupported(notebook, example_numbers(notebook)) == []


def test_prose_numbers_can_fail() -> None:
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


# --- exercises -----------------------------------------------------------------------------------


def solved(notebook: NotebookNode) -> NotebookNode:
    """Return `notebook` with the folded solution written into each exercise."""
    result = deepcopy(notebook)
    for here, cell in enumerate(result.cells):
        answer = ANSWER.search(cell.source) if cell.cell_type == "code" else None
        if answer is not None:
            prose = "\n".join(c.source for c in result.cells[here + 1 :] if c.cell_type == "markdown")
            solution = SOLUTION.search(prose)
            assert solution is not None, f"no folded solution after {cell.source[:60]!r}"
            before, after = cell.source[: answer.start()], cell.source[answer.end() :]
            cell.source = before + solution[1].rstrip("\n") + after
    return result


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_solutions_are_correct(path: Path) -> None:
    notebook = solved(read(path))
    if path in WITHOUT_TORCH:
        boundary = 'import sys; assert "torch" not in sys.modules'
        notebook.cells.append(nbformat.v4.new_code_cell(boundary))
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
    for cell in code_cells(notebook):
        if re.search(r"^check\(", cell.source, re.MULTILINE):
            assert "Correct." in "".join(texts(cell)), cell.source


def test_a_missing_solution_is_noticed() -> None:
    exercise = nbformat.v4.new_code_cell("mine = ...\ncheck(mine, 1)")
    with pytest.raises(AssertionError, match="no folded solution"):
        solved(nbformat.v4.new_notebook(cells=[exercise]))
