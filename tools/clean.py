"""Remove this project's environments and caches, and nothing else; `make clean` calls this.

What a learner made stays, even where git ignores it: copies of notebooks, JupyterLab's checkpoints.
Links are neither followed nor removed.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = {".venv", ".venv-oldest", ".venv-newest", ".venv-colab"}
CACHES = {
    "__pycache__",
    ".hypothesis",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".virtual_documents",
    "attention_notebooks.egg-info",
}


def leftovers(root: Path) -> Iterator[Path]:
    """Yield the environments in `root`, then every cache in and below it."""
    yield from (root / name for name in sorted(ENVIRONMENTS) if (root / name / "pyvenv.cfg").is_file())
    for folder, names, _ in os.walk(root):
        yield from (Path(folder, name) for name in names if name in CACHES)
        names[:] = set(names) - CACHES - ENVIRONMENTS - {".git"}


def main(root: Path = ROOT) -> None:
    for path in leftovers(root):
        if path.is_symlink():
            continue
        try:
            shutil.rmtree(path)
        except OSError as error:
            sys.exit(f"{path.relative_to(root)} could not be removed. Is JupyterLab still running?\n{error}")


if __name__ == "__main__":
    main()
