"""`make reset` brings a notebook back, and first keeps a dated copy of the learner's own."""

import subprocess
from datetime import date
from pathlib import Path

import pytest

from tools import reset

TODAY = date(2026, 11, 30)


def git(folder: Path, *words: str) -> None:
    author = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def notebooks(tmp_path: Path) -> Path:
    """Return the folder of three notebooks in the last commit of a git repository."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for name in ("01_query.ipynb", "03_softmax.ipynb", "13_heads.ipynb"):
        (folder / name).write_bytes(f"original {name} é\n".encode())
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "Notebooks")
    return folder


def copies(notebooks: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in (notebooks / "mine").glob("*")}


def test_the_original_comes_back_and_every_version_of_the_learner_stays(notebooks: Path) -> None:
    path = notebooks / "03_softmax.ipynb"
    for answer in ("one", "two", "three"):
        path.write_text(answer, encoding="utf-8")
        reset.reset(notebooks, ["03"], TODAY)
        assert path.read_bytes() == "original 03_softmax.ipynb é\n".encode()
    assert copies(notebooks) == {
        "03_softmax_2026-11-30.ipynb": "one",
        "03_softmax_2026-11-30_2.ipynb": "two",
        "03_softmax_2026-11-30_3.ipynb": "three",
    }


def test_a_notebook_that_was_never_changed_needs_no_copy(notebooks: Path, capsys) -> None:
    reset.reset(notebooks, ["03"], TODAY)
    assert "03_softmax.ipynb is as it was" in capsys.readouterr().out
    assert not (notebooks / "mine").exists()


def test_a_deleted_notebook_comes_back(notebooks: Path) -> None:
    (notebooks / "13_heads.ipynb").unlink()
    reset.reset(notebooks, ["13"], TODAY)
    assert (notebooks / "13_heads.ipynb").is_file() and not (notebooks / "mine").exists()


def test_all_means_every_notebook_and_a_number_only_that_one(notebooks: Path) -> None:
    for path in notebooks.glob("*.ipynb"):
        path.write_text("answer", encoding="utf-8")
    reset.reset(notebooks, ["1", "03_softmax"], TODAY)
    first = ["01_query_2026-11-30.ipynb", "03_softmax_2026-11-30.ipynb"]
    assert sorted(copies(notebooks)) == first
    assert (notebooks / "13_heads.ipynb").read_text(encoding="utf-8") == "answer"
    reset.reset(notebooks, ["all"], TODAY)
    assert sorted(copies(notebooks)) == [*first, "13_heads_2026-11-30.ipynb"]


def test_an_unknown_number_is_refused(notebooks: Path) -> None:
    with pytest.raises(
        SystemExit, match="There is no notebook '4'; there are 01_query, 03_softmax, 13_heads"
    ):
        reset.reset(notebooks, ["03", "4"], TODAY)


def test_without_git_nothing_is_changed(notebooks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = notebooks / "03_softmax.ipynb"
    path.write_text("answer", encoding="utf-8")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match=r"git is not installed\. Nothing was changed"):
        reset.reset(notebooks, ["03"], TODAY)
    assert path.read_text(encoding="utf-8") == "answer"


def test_outside_a_repository_nothing_is_changed(tmp_path: Path) -> None:
    (tmp_path / "03_softmax.ipynb").write_text("answer", encoding="utf-8")
    with pytest.raises(SystemExit, match="Nothing was changed"):
        reset.reset(tmp_path, ["03"], TODAY)


def test_in_a_repository_of_something_else_nothing_is_changed(notebooks: Path) -> None:
    other = notebooks.parent / "download" / "notebooks"
    other.mkdir(parents=True)
    with pytest.raises(SystemExit, match="Nothing was changed: the originals come from git"):
        reset.reset(other, ["03"], TODAY)
