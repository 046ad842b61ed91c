"""What a reader does after Run All, in the kernel where nbval has just run a notebook: a plugin of pytest.

    python -m pytest -p tests.notebooks.after_run_all --nbval --nbval-current-env notebooks

nbval compares what the cells of a notebook give with what is stored, all but pixels and metadata.
Then come, without running the notebook a second time:

    fair                 each right answer is accepted, each wrong one is told its own thought
    as built             what the cells gave is, byte for byte, what is stored
    Cell 7 asked again   a question that is still open says the same once more
    Cell 7 solved        an exercise is correct with its folded solution
    without torch        a notebook that needs no torch has not imported it
    Cell 7 in section 2  each section gives the same once more; the last section runs first
"""

import inspect
import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from itertools import count, groupby
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, IPyNbFile

from tests.pins import why_pictures_may_differ
from tools import build

NO_TORCH = ("00", "01", "02", "03", "04", "05", "08", "11", "15")  # as the README says
TORCH_IS_OUT = nbformat.v4.new_code_cell('import sys; assert "torch" not in sys.modules')
QUESTION = re.compile(r"^(?:predict|check)\(", re.MULTILINE)
EXERCISE = re.compile(r"^check\(", re.MULTILINE)
OPEN = re.compile(r"^(?:\w+ = \.\.\..*|def \w+\(.*\):\n    return \.\.\.)\n", re.MULTILINE)
SOLUTION = re.compile(r"<details>.*?```python\n(.*?)```.*?</details>", re.DOTALL)
HEADING = re.compile(r"^## ", re.MULTILINE)
# Tests that cannot pass yet, by notebook, for a name is used again there: what passes must go.
NOT_YET: dict[str, list[str]] = {"13_real_heads": ["fair", "Cell 8 asked again"]}
ASKED_NOT_YET = ("08", "12")  # a name is used again there: to be mended with the lessons


# Their sections give other outputs when run again, or were never tried: to be mended with the lessons.
SECTIONS_NOT_YET = ("08", "09", "10", "11", "12", "13", "14", "16")


def unfair(notebook: str, names: dict[str, object]) -> list[str]:
    """Return the questions whose right answer is refused, or whose wrong one is told another thought.

    It runs in the kernel of the notebook, whose `names` the answers are computed from.
    """
    from attention_core.questions import judge_exercise, judge_prediction, questions

    found = []
    for name, question in questions(notebook).items():
        judge = judge_prediction if question.words else judge_exercise
        answer = question.answered(names)
        if said := judge(answer.right, answer):
            found.append(f"{name}: the right answer is told {said!r}")
        for thought, wrong in answer.wrong.items():
            if thought not in (said := judge(wrong, answer)):
                found.append(f"{name}: {thought!r} is wanted, {said or 'Correct.'!r} is said")
    return found


class Solved(IPyNbCell):
    """An exercise with its solution written in."""

    def runtest(self) -> None:
        super().runtest()
        said = [output.get("data", {}).get("text/plain") for output in self.test_outputs]
        assert "Correct." in said, f"{said} from\n{self.cell.source}"


class AsBuilt(pytest.Item):
    """Whether a build would store what the cells have just given."""

    def __init__(self, *, cells: list[IPyNbCell], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cells = cells

    def runtest(self) -> None:
        if reason := why_pictures_may_differ():
            pytest.skip(reason)
        source = self.path.parent / "source" / f"{self.path.stem}.md"
        text = build.written(source, [cell.test_outputs for cell in self.cells])
        fresh = build.code_cells(nbformat.reads(text, as_version=4))
        differing = [
            c.name for c, new in zip(self.cells, fresh, strict=True) if settled(c.cell) != settled(new)
        ]
        assert differing == []


def settled(cell: NotebookNode) -> list[NotebookNode]:
    """Return the outputs of `cell` without the pixels of a picture of what a model has learned.

    These differ in the last digits from one processor to another.
    """
    outputs: list[NotebookNode] = deepcopy(cell.outputs)
    for output in outputs:
        if output.get("metadata", {}).get("image/png", {}).get("trained"):
            del output.data["image/png"]
    return outputs


def solved(exercise: NotebookNode, below: str) -> NotebookNode:
    """Return the cell of an exercise with the first solution in the prose `below` for its `...`."""
    solution = SOLUTION.search(below)
    code = OPEN.sub(lambda _: solution[1], exercise.source, count=1) if solution else exercise.source
    return nbformat.v4.new_code_cell(code)


def sections(notebook: NotebookNode) -> list[list[int]]:
    """Return the numbers of the code cells in each section of `notebook`, which "## " begins."""
    numbers = count()
    result: list[list[int]] = [[]]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            result[-1].append(next(numbers))
        elif HEADING.search(cell.source):
            result.append([])
    return result


def after(file: IPyNbFile, cells: list[IPyNbCell]) -> Iterator[pytest.Item]:
    """Yield the tests that come behind the `cells` of the notebook `file`."""

    def run(
        what: str, number: int, cell: NotebookNode, kind: Any = IPyNbCell, check: bool = True
    ) -> pytest.Item:
        options = {"check": check, "check_exception": False, "skip": False}
        return kind.from_parent(file, name=what, cell_num=number, cell=cell, options=options)

    yield AsBuilt.from_parent(file, name="as built", cells=cells)
    notebook = file.path.stem[:2]
    code = f'{inspect.getsource(unfair)}\nfound = unfair("{notebook}", globals())\nassert not found, found'
    yield run("fair", len(cells), nbformat.v4.new_code_cell(code), check=False)
    for number, cell in enumerate(c.cell for c in cells):
        if QUESTION.search(cell.source) and not file.path.stem.startswith(ASKED_NOT_YET):
            yield run(f"Cell {number} asked again", number, cell)
    for number, cell in enumerate(c.cell for c in cells):
        if EXERCISE.search(cell.source):
            below = "\n".join(c.source for c in file.nb.cells[file.nb.cells.index(cell) :])
            yield run(f"Cell {number} solved", number, solved(cell, below), kind=Solved, check=False)
    if file.path.stem.startswith(NO_TORCH):
        yield run("without torch", len(cells), TORCH_IS_OUT, check=False)
    if file.path.stem.startswith(SECTIONS_NOT_YET):
        return
    for here, numbers in reversed(list(enumerate(sections(file.nb)))):
        for number in numbers:
            yield run(f"Cell {number} in section {here}", number, cells[number].cell)


def expect_failures(notebook: str, tests: Iterable[pytest.Item]) -> None:
    """Mark the `tests` of `notebook` that cannot pass yet: one that passes fails."""
    names = {test.name: test for test in tests}
    for name in NOT_YET.get(notebook, []):
        if name not in names:
            raise pytest.UsageError(f"NOT_YET names a test that {notebook} has no more: {name}")
        names[name].add_marker(pytest.mark.xfail(strict=True, reason="the lesson is still to be mended"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of this file behind the cells of every notebook that runs as a whole, slow ones first."""
    collected = groupby(list(items), key=lambda item: item.parent)
    items.clear()
    for file, group in collected:
        cells = list(group)
        items += cells
        if isinstance(file, IPyNbFile) and len(cells) == len(build.code_cells(file.nb)):
            tests = list(after(file, cells))
            expect_failures(file.path.stem, tests)
            items += tests
    items.sort(key=lambda item: not item.path.stem.startswith(build.SLOW))
