"""The build: a notebook from its source, the same bytes twice, stale ones found, built again on save."""

import shutil
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from watchfiles import Change

from tools import build, colab
from tools.stored import WIDGET_VIEW

HEAD = """---
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

"""
SUM = """# 01 One sum

We add two numbers.

```{code-cell} ipython3
1 + 2
```

The sum.
"""
TEXT = "# 02 A text\n\n```{code-cell} ipython3\nprint('x')\n```\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of two sources, with all that is built from them."""
    project = tmp_path_factory.mktemp("project")
    for name, text in {"01_sum": SUM, "02_text": TEXT}.items():
        path = project / "notebooks" / "source" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + text, encoding="utf-8")
    (project / "figures").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        build_in(project, patch)
        assert build.main([]) == 0
    return project


def build_in(project: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(build, "ROOT", project)
    patch.setattr(build, "NOTEBOOKS", project / "notebooks")
    patch.setattr(build, "FIGURES", project / "figures")
    patch.setattr(build, "write_figures", lambda folder: (folder / "a.svg").write_text("<svg/>"))


@pytest.fixture
def course(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The notebooks of a copy of that project, where the build now looks for everything."""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    build_in(tmp_path, monkeypatch)
    return tmp_path / "notebooks"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8", newline="\n")


# --- one notebook ---------------------------------------------------------------------------------


def test_a_notebook_has_the_cells_of_its_source_links_and_what_its_code_gives(course: Path) -> None:
    notebook = nbformat.read(course / "01_sum.ipynb", as_version=4)
    prose = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    to_the_next = "[02 A text →](02_text.ipynb)"
    assert prose == ["# 01 One sum\n\nWe add two numbers.", to_the_next, "The sum.", to_the_next]
    first, cell = build.code_cells(notebook)
    assert first.source == colab.first_cell(build.HOME) and first.outputs == []
    assert cell.source == "1 + 2" and cell.outputs[0].data == {"text/plain": "3"}
    assert (first.execution_count, cell.execution_count, cell.outputs[0].execution_count) == (1, 2, 2)


def test_links_lead_back_too_and_to_colab_once_there_is_an_address(course, monkeypatch) -> None:
    second = course / "source" / "02_text.md"
    monkeypatch.setattr(build, "HOME", colab.Home(None, "main"))
    assert build.links(second) == "[← 01 One sum](01_sum.ipynb)"
    monkeypatch.setattr(build, "HOME", colab.Home("a/b", "main"))
    assert "/github/a/b/blob/main/notebooks/02_text.ipynb" in build.links(second)


def test_the_output_after_a_prediction_is_folded() -> None:
    code, prose = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    ask, look = code("predict('?', guess=..., answer=x)"), code("x")
    assert build.reveals(ask, look)
    for last, cell in ((None, look), (look, look), (ask, ask), (ask, prose("x")), (prose("x"), look)):
        assert not build.reveals(last, cell)


def display(**kinds: object) -> NotebookNode:
    return nbformat.v4.new_output("display_data", data={f"text/{k}": v for k, v in kinds.items()})


def test_a_widget_leaves_its_picture_and_words_but_no_view(course: Path) -> None:
    shown = display(plain="0.39")
    shown.data[WIDGET_VIEW] = {"model_id": "x"}
    text = build.written(course / "source" / "01_sum.md", [[], [shown]])
    assert "0.39" in text and "model_id" not in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("undefined", r"01_sum\.md: (?s:.*)NameError.*undefined"),
        ('import sys; sys.stderr.write("careful")', r"01_sum\.md: a cell wrote to stderr: careful"),
    ],
)
def test_a_cell_that_fails_or_warns_stops_the_build(line: str, message: str, course: Path) -> None:
    edit(course / "source" / "01_sum.md", "1 + 2", line)
    before = (course / "01_sum.ipynb").read_bytes()
    with pytest.raises(RuntimeError, match=message):
        build.build(build.sources(["1"]), course)
    assert (course / "01_sum.ipynb").read_bytes() == before


def test_a_source_without_a_heading_is_refused(course: Path) -> None:
    edit(course / "source" / "02_text.md", "# 02", "02")
    with pytest.raises(ValueError, match=r"02_text\.md: no heading"):
        build.read(course / "source" / "01_sum.md")


# --- all of them ----------------------------------------------------------------------------------


def test_a_name_means_one_notebook(course: Path) -> None:
    (course / "source" / "10_ten.md").write_text(HEAD + SUM, encoding="utf-8")
    for name in ("1", "01", "01_sum"):
        assert [source.stem for source in build.sources([name])] == ["01_sum"]
    assert [source.stem for source in build.sources(["10", "1", "01"])] == ["01_sum", "10_ten"]
    assert len(build.sources()) == 3


def test_an_unknown_name_is_refused_in_words(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main(["9"]) == 1
    assert capsys.readouterr().err == "no notebook '9'; there are 01_sum, 02_text\n"


def test_all_is_built(course: Path) -> None:
    assert {path.name for path in course.glob("*.ipynb")} == {"01_sum.ipynb", "02_text.ipynb"}
    assert (build.FIGURES / "a.svg").is_file()


def test_a_build_is_up_to_date_and_a_second_writes_the_same_bytes(course: Path, capsys) -> None:
    assert build.main(["--check"]) == 0 and capsys.readouterr().out == "up to date\n"
    before = (course / "01_sum.ipynb").read_bytes()
    (course / "01_sum.ipynb").unlink()
    assert build.main(["1"]) == 0
    assert (course / "01_sum.ipynb").read_bytes() == before


def no_outputs(course: Path) -> None:
    notebook = nbformat.read(course / "01_sum.ipynb", as_version=4)
    for cell in build.code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, course / "01_sum.ipynb")


STALE = {
    "prose edited": lambda course: edit(course / "01_sum.ipynb", "The sum.", "The Sum."),
    "source edited": lambda course: edit(course / "source" / "01_sum.md", "1 + 2", "2 + 1"),
    "run twice": lambda course: edit(course / "01_sum.ipynb", 'count": 2', 'count": 3'),
    "outputs cleared": no_outputs,
    "missing": lambda course: (course / "01_sum.ipynb").unlink(),
    "without a source": lambda course: (course / "source" / "01_sum.md").unlink(),
}


@pytest.mark.parametrize("change", STALE.values(), ids=STALE)
def test_what_is_not_as_built_is_named(change, course: Path, capsys) -> None:
    change(course)
    assert build.main(["--check"]) == 1
    assert f"not as built: {Path('notebooks/01_sum.ipynb')}\n" in capsys.readouterr().out


def test_a_saved_file_builds_what_it_concerns(monkeypatch, capsys) -> None:
    first, second = Path("01_sum.md"), Path("02_text.md")
    built: list[list[Path]] = []

    def fails_for_the_second(chosen: list[Path], target: Path) -> None:
        built.append(chosen)
        if second in chosen:
            raise RuntimeError("a cell failed")

    monkeypatch.setattr(build, "build", fails_for_the_second)
    saves = [{(Change.modified, str(path))} for path in (second, first, build.PACKAGE / "attention.py")]
    build.rebuild_when_saved([first], Path(), saves)
    assert built == [[], [first], [first]]
    build.rebuild_when_saved([first, second], Path(), saves)
    assert built[3:] == [[second], [first], [first, second]]
    assert capsys.readouterr().out == "a cell failed\n" * 2
