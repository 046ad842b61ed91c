"""`make clean` removes environments and caches, and nothing that a learner made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import clean

POSIX = ["two\nlines", 'say "hi"', "--", "*"] if os.name == "posix" else []  # Windows has no such names
FOLDERS = ["source copy", "it's mine", "-rf", " ", "$HOME", "%TEMP%", "本", *POSIX]


def make(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x", encoding="utf-8")
    return path


@pytest.mark.parametrize("folder", FOLDERS)
def test_caches_go_and_files_stay_whatever_the_folders_are_called(folder: str, tmp_path: Path) -> None:
    mine = make(tmp_path / "notebooks" / folder / "mine.py")
    source = make(tmp_path / "notebooks" / "source" / "01.md")
    cache = make(tmp_path / "notebooks" / folder / "__pycache__" / "mine.pyc").parent
    clean.main(tmp_path)
    assert mine.is_file() and source.is_file() and not cache.exists()


def test_what_git_ignores_may_be_a_learners_work(tmp_path: Path) -> None:
    names = ["notebooks/.ipynb_checkpoints/03-checkpoint.ipynb", "notebooks/mine/03.ipynb", ".git/config"]
    files = [make(tmp_path / name) for name in [*names, ".git/hooks/__pycache__/x.pyc", "build/notes.md"]]
    clean.main(tmp_path)
    assert all(path.is_file() for path in files)


def test_an_environment_goes_and_a_folder_of_that_name_stays(tmp_path: Path) -> None:
    make(tmp_path / ".venv" / "pyvenv.cfg")
    notes = make(tmp_path / ".venv-colab" / "notes.md")
    clean.main(tmp_path)
    assert not (tmp_path / ".venv").exists() and notes.is_file()


@pytest.mark.skipif(os.name != "posix", reason="Windows asks for a right before it makes links")
def test_links_are_neither_followed_nor_removed(tmp_path: Path) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    files = [make(outside / "__pycache__" / "x.pyc"), make(outside / ".venv" / "pyvenv.cfg")]
    project.mkdir()
    links = [project / "linked", project / "__pycache__", project / ".venv"]
    for link, target in zip(links, [outside, outside / "__pycache__", outside / ".venv"], strict=True):
        link.symlink_to(target)
    clean.main(project)
    assert all(path.exists() for path in [*files, *links])


def test_the_command_cleans_the_project_it_stands_in(tmp_path: Path) -> None:
    command, source = tmp_path / "tools" / "clean.py", make(tmp_path / "notebooks" / "source" / "01.md")
    make(command).write_bytes(Path(clean.__file__).read_bytes())
    cache = make(tmp_path / "notebooks" / "source copy" / "__pycache__" / "x.pyc").parent
    subprocess.run([sys.executable, "-m", "tools.clean"], cwd=tmp_path, check=True)
    assert command.is_file() and source.is_file() and not cache.exists()


def test_what_cannot_be_removed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "__pycache__" / "x.pyc")

    def refuse(path: Path) -> None:
        raise PermissionError("in use")

    monkeypatch.setattr("shutil.rmtree", refuse)
    with pytest.raises(SystemExit, match=r"__pycache__ could not be removed.*\n.*in use"):
        clean.main(tmp_path)
