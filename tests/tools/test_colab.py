"""The repository's address and version, and what is made from them: badges and the first cell."""

import subprocess
import sys
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tools.colab import PYPROJECT, Home, badge, first_cell, home, of_remote, with_repository

NO_ADDRESS = '[project]\nname = "x"\nversion = "0.2.0"\n\n[project.urls]\n\n[tool.x]\n'


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
    assert of_remote(tmp_path) == "some-one/a.course"


def test_without_a_remote_or_with_another_host_there_is_no_address(tmp_path: Path) -> None:
    git(tmp_path, "init")
    assert of_remote(tmp_path) is None
    git(tmp_path, "remote", "add", "origin", "https://example.org/some-one/a")
    assert of_remote(tmp_path) is None


def test_the_address_is_written_and_changed() -> None:
    assert home(NO_ADDRESS).repository is None
    first = with_repository(NO_ADDRESS, "a/b")
    second = with_repository(first, "c/d")
    assert (home(first).repository, home(second).repository) == ("a/b", "c/d")
    assert "a/b" not in second


def test_pyproject_has_a_place_for_the_address() -> None:
    assert home(with_repository(PYPROJECT.read_text(encoding="utf-8"), "a/b")).repository == "a/b"


def test_an_address_that_is_not_on_github_is_refused() -> None:
    text = NO_ADDRESS.replace("[project.urls]", '[project.urls]\nRepository = "https://example.org/a/b"')
    with pytest.raises(ValueError, match=r"must be a GitHub address .*, got https://example\.org"):
        home(text)


@pytest.mark.parametrize(("version", "ref"), [("0.2.0", "v0.2.0"), ("0.2.0.dev0", "main")])
def test_a_released_notebook_goes_with_its_tag_and_no_other_version(version: str, ref: str) -> None:
    here = home(with_repository(NO_ADDRESS.replace("0.2.0", version), "a/b"))
    assert first_cell(here).endswith(f"array-api-compat git+https://github.com/a/b@{ref}")
    assert f"/github/a/b/blob/{ref}/notebooks/01_x.ipynb)" in badge(here, "notebooks/01_x.ipynb")


def test_without_an_address_there_is_no_badge() -> None:
    assert badge(Home(None, "main"), "notebooks/01_x.ipynb") == ""


@pytest.mark.parametrize("name", [None, "a/b"])
def test_outside_colab_the_first_cell_does_nothing(name: str | None, capsys) -> None:
    code = TransformerManager().transform_cell(first_cell(Home(name, "v0.2.0")))
    exec(compile(code, "cell", "exec"), {})  # get_ipython() is not there: reaching it would fail
    assert capsys.readouterr().out == ""


def test_in_colab_the_first_cell_says_what_to_do_while_no_address_is_set(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "google.colab", object())
    exec(compile(first_cell(Home(None, "v0.2.0")), "cell", "exec"), {})
    assert "git+https://github.com/OWNER/NAME@v0.2.0" in capsys.readouterr().out
