"""The repository's address, and what is made from it: badges and the first cell."""

import subprocess
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tools import colab

NO_ADDRESS = '[project]\nname = "x"\n\n[project.urls]\n\n[tool.x]\n'


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/some-one/a.course",
        "https://github.com/some-one/a.course.git",
        "git@github.com:some-one/a.course.git",
        "ssh://git@github.com/some-one/a.course",
    ],
)
def test_the_remote_of_a_clone_is_read(url: str, tmp_path: Path) -> None:
    git(tmp_path, "init")
    git(tmp_path, "remote", "add", "origin", url)
    assert colab.of_remote(tmp_path) == "some-one/a.course"


def test_without_a_remote_or_with_another_host_there_is_no_address(tmp_path: Path) -> None:
    git(tmp_path, "init")
    assert colab.of_remote(tmp_path) is None
    git(tmp_path, "remote", "add", "origin", "https://example.org/some-one/a")
    assert colab.of_remote(tmp_path) is None


def test_the_address_is_written_changed_and_taken_away() -> None:
    assert colab.repository(NO_ADDRESS) is None
    first = colab.with_repository(NO_ADDRESS, "a/b")
    second = colab.with_repository(first, "c/d")
    assert (colab.repository(first), colab.repository(second)) == ("a/b", "c/d")
    assert colab.with_repository(second, None) == NO_ADDRESS


def test_pyproject_has_a_place_for_the_address() -> None:
    text = colab.PYPROJECT.read_text(encoding="utf-8")
    assert colab.repository(colab.with_repository(text, "a/b")) == "a/b"


def test_an_address_that_is_not_on_github_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be a GitHub address .*, got https://example\.org"):
        colab.repository('[project]\n[project.urls]\nRepository = "https://example.org/a/b"\n')


def test_badge() -> None:
    assert colab.badge(None, "notebooks/01_x.ipynb") == ""
    assert "(https://colab.research.google.com/github/a/b/blob/main/notebooks/01_x.ipynb)" in colab.badge(
        "a/b", "notebooks/01_x.ipynb"
    )


@pytest.mark.parametrize("name", [None, "a/b"])
def test_outside_colab_the_first_cell_does_nothing(name: str | None, capsys) -> None:
    code = TransformerManager().transform_cell(colab.first_cell(name))
    exec(compile(code, "cell", "exec"), {})  # get_ipython() is not there: reaching it would fail
    assert capsys.readouterr().out == ""


def test_in_colab_the_first_cell_says_what_to_do_while_no_address_is_set(monkeypatch, capsys) -> None:
    monkeypatch.setitem(__import__("sys").modules, "google.colab", object())
    exec(compile(colab.first_cell(None), "cell", "exec"), {})
    assert "git+https://github.com/OWNER/NAME" in capsys.readouterr().out
