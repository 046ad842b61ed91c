"""Bring notebooks back as they were, and keep a dated copy of the learner's own; `make reset` calls this.

    python -m tools.reset 03        notebook 03
    python -m tools.reset all       every notebook, as before an update

"As they were" is as in git's last commit here. The copies go to notebooks/mine/, which git ignores and
no command of this project removes.
"""

import argparse
import subprocess
import sys
from datetime import date
from itertools import count
from pathlib import Path

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
NO_ORIGINAL = (
    "Nothing was changed: the originals come from git, which does not know them here. If you downloaded "
    "this folder without git, rename your notebook and take the original from a new download."
)


def git(folder: Path, *words: str) -> bytes:
    """Return what git prints in `folder`; end the program, in words, where it is missing or fails."""
    try:
        return subprocess.run(["git", *words], cwd=folder, capture_output=True, check=True).stdout
    except FileNotFoundError:
        sys.exit(f"git is not installed. {NO_ORIGINAL}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error.stderr.decode(errors='replace')}{NO_ORIGINAL}")


def originals(folder: Path, wanted: list[str]) -> dict[str, bytes]:
    """Return file -> content in the last commit of the notebooks in `wanted`, such as 3, 03 or 03_softmax."""
    files = git(folder, "ls-tree", "-z", "--name-only", "HEAD").decode().split("\0")
    stems = [name.removesuffix(".ipynb") for name in files if name.endswith(".ipynb")]
    known = {name: [stem] for stem in stems for name in (stem, stem[:2], stem[:2].lstrip("0") or "0")}
    known["all"] = stems
    if not stems:
        sys.exit(NO_ORIGINAL)
    for name in wanted:
        if name not in known:
            sys.exit(f"There is no notebook {name!r}; there are {', '.join(stems)}")
    chosen = sorted({f"{stem}.ipynb" for name in wanted for stem in known[name]})
    return {name: git(folder, "show", f"HEAD:./{name}") for name in chosen}


def keep(path: Path, today: date) -> Path:
    """Copy `path` to a file of its own with the date in its name; return that file."""
    mine = path.parent / "mine"
    mine.mkdir(exist_ok=True)
    endings = (".ipynb" if number == 1 else f"_{number}.ipynb" for number in count(1))
    names = (mine / f"{path.stem}_{today.isoformat()}{ending}" for ending in endings)
    copy = next(name for name in names if not name.exists())
    with copy.open("xb") as file:  # x: never over another file
        file.write(path.read_bytes())
    return copy


def reset(folder: Path, wanted: list[str], today: date) -> None:
    """Write the originals of `wanted` into `folder`, each after a copy of what differs from it."""
    for name, original in originals(folder, wanted).items():
        path = folder / name
        if path.is_file() and path.read_bytes() == original:
            print(f"{name} is as it was; nothing to do.")
            continue
        if path.is_file():
            print(f"{name}: yours is now {keep(path, today).relative_to(folder.parent).as_posix()}.")
        path.write_bytes(original)
        print(f"{name} is back. Where JupyterLab has it open: File, Reload Notebook from Disk.")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split(";")[0])
    parser.add_argument(
        "names", nargs="+", metavar="NN", help='the number of a notebook, such as 03, or "all"'
    )
    reset(NOTEBOOKS, parser.parse_args(arguments).names, date.today())


if __name__ == "__main__":
    main()
