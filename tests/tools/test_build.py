"""The build: editions in two languages from one execution, the same bytes twice, stale files found."""

import base64
from pathlib import Path

import nbformat
import pytest

from tools import build, colab

HEAD = """---
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
"""
BILINGUAL = (
    HEAD
    + """
+++ {"lang": "en"}

# 01 One sum

We add two numbers.

+++ {"lang": "zh"}

# 01 一个和

两个数相加。

```{code-cell} ipython3
1 + 2
```

+++ {"lang": "en"}

The sum.

+++ {"lang": "zh"}

和。
"""
)
ENGLISH = HEAD + '\n+++ {"lang": "en"}\n\n# 02 A text\n\n```{code-cell} ipython3\nprint("x")\n```\n'


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "01_sum.md").write_text(BILINGUAL, encoding="utf-8")
    (folder / "02_text.md").write_text(ENGLISH, encoding="utf-8")
    return sorted(folder.iterdir())


@pytest.fixture
def built(sources: list[Path], tmp_path: Path) -> list[Path]:
    return build.build_all(sources, sources, tmp_path / "out")


def prose(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def code(path: Path) -> list[tuple[str, list]]:
    cells = nbformat.read(path, as_version=4).cells
    return [(cell.source, cell.outputs) for cell in cells if cell.cell_type == "code"]


def test_each_language_becomes_an_edition_with_the_same_code_and_outputs(built, tmp_path) -> None:
    english, chinese = tmp_path / "out" / "01_sum.ipynb", tmp_path / "out" / "zh" / "01_sum.ipynb"
    assert built == [english, chinese, tmp_path / "out" / "02_text.ipynb"]
    assert "We add two numbers." in prose(english) and "两个数相加" not in prose(english)
    assert "两个数相加" in prose(chinese) and "We add" not in prose(chinese)
    assert code(english) == code(chinese)
    assert code(english)[1][1][0].data["text/plain"] == "3"


def test_links_lead_to_the_neighbours_of_the_same_language(built) -> None:
    english, chinese, text = built
    assert prose(english).count("[02 A text →](02_text.ipynb)") == 2
    assert prose(text).count("[← 01 One sum](01_sum.ipynb)") == 2
    assert ".ipynb" not in prose(chinese)  # 02 has no Chinese edition yet


def test_the_first_cell_is_for_colab_alone(built) -> None:
    for path in built:
        source, outputs = code(path)[0]
        assert source == colab.first_cell(build.REPOSITORY) and outputs == []


def test_a_known_address_gives_a_badge(sources, monkeypatch) -> None:
    monkeypatch.setattr(build, "REPOSITORY", None)
    assert "Colab" not in build.links(sources[0], sources, "en")
    monkeypatch.setattr(build, "REPOSITORY", "a/b")
    assert "/github/a/b/blob/main/notebooks/zh/01_sum.ipynb" in build.links(sources[0], sources, "zh")


def test_the_same_bytes_twice_and_a_stale_or_missing_file_is_found(built, sources, tmp_path) -> None:
    again = tmp_path / "again"
    rebuilt = build.build_all(sources, sources, again)
    assert build.differing(rebuilt, again, tmp_path / "out") == []
    built[0].write_text(built[0].read_text(encoding="utf-8").replace('"3"', '"4"'), encoding="utf-8")
    built[1].unlink()
    assert build.differing(rebuilt, again, tmp_path / "out") == ["01_sum.ipynb", "zh/01_sum.ipynb"]


def test_a_swapped_figure_is_found(tmp_path: Path) -> None:
    fresh, committed = tmp_path / "fresh", tmp_path / "committed"
    for folder, names in ((fresh, "ab"), (committed, "ba")):
        folder.mkdir()
        (folder / "a.svg").write_text(names[0])
        (folder / "b.svg").write_text(names[1])
    assert build.differing(sorted(fresh.iterdir()), fresh, committed) == ["a.svg", "b.svg"]


def test_the_pixels_of_a_trained_picture_may_differ_and_nothing_else(tmp_path: Path) -> None:
    def notebook(folder: str, png: str, words: str, **about: bool) -> Path:
        data = {"text/plain": words, "image/png": base64.b64encode(png.encode()).decode()}
        picture = nbformat.v4.new_output("display_data", data=data, metadata={"image/png": about})
        cell = nbformat.v4.new_code_cell("show(x)", outputs=[picture], id="x")
        path = tmp_path / folder / "a.ipynb"
        path.parent.mkdir(exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
        return path

    def differs(png: str, words: str, **about: bool) -> bool:
        fresh = notebook("fresh", "old", "words", **about)
        return bool(build.differing([fresh], fresh.parent, notebook("stored", png, words, **about).parent))

    assert not differs("old", "words") and not differs("new", "words", trained=True)
    assert differs("new", "words") and differs("old", "other", trained=True)


def test_a_left_over_file_is_found(tmp_path: Path) -> None:
    fresh, committed = tmp_path / "fresh", tmp_path / "committed"
    fresh.mkdir()
    committed.mkdir()
    (committed / "old.svg").write_text("x")
    assert build.left_over([], fresh, committed, "*.svg") == ["old.svg"]


def test_the_output_after_a_prediction_is_folded() -> None:
    code, prose = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    ask, look = code("predict('?', guess=..., answer=x)"), code("x")
    assert build.reveals(ask, look)
    for last, cell in ((None, look), (look, look), (ask, ask), (ask, prose("x")), (prose("x"), look)):
        assert not build.reveals(last, cell)


def test_prose_without_a_language_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "01_x.md"
    source.write_text(HEAD + "\n# 01 Title\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r'01_x\.md: every prose cell starts with \+\+\+ {"lang": "en"}'):
        build.read(source)


def test_a_source_without_a_heading_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "01_x.md"
    source.write_text(HEAD + '\n+++ {"lang": "en"}\n\ntext\n', encoding="utf-8")
    with pytest.raises(ValueError, match="no heading"):
        build.title(source, "en")


@pytest.mark.parametrize("line", ['import sys; sys.stderr.write("careful")', "1 / 0"])
def test_a_cell_that_warns_or_fails_stops_the_build(line: str, tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(line)])
    with pytest.raises(Exception, match=r"careful|ZeroDivisionError"):
        build.execute(notebook, tmp_path)


def test_a_widget_leaves_its_picture_and_words_but_no_view(tmp_path: Path) -> None:
    png = base64.b64encode(b"picture").decode()
    bundle = {"text/plain": "0.39", "image/png": png, build.WIDGET_VIEW: {"model_id": "x"}}
    line = f"from IPython.display import display\ndisplay({bundle!r}, raw=True)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(line)])
    [output] = build.execute(notebook, tmp_path).cells[0].outputs
    assert sorted(output.data) == ["image/png", "text/plain"]


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no notebook source starts with '99'"):
        build.select(["99"])
