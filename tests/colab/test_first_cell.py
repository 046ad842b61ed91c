"""In an environment with Colab's versions, the first cell adds two packages and moves none.

`make test-colab` runs this first, in an environment made from pins.txt. It leaves the package installed
there, as Colab would have it.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import colab

ROOT = Path(__file__).resolve().parents[2]
OURS = {"attention-notebooks", "array-api-compat"}


def in_colab() -> bool:
    """Is this the look-alike? Colab has an IPython far older than anybody else's."""
    import IPython

    return IPython.version_info[:2] == (7, 34)


look_alike = pytest.mark.skipif(not in_colab(), reason="only in the look-alike of Colab: make test-colab")


def pip(*words: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=True
    ).stdout


def packages() -> dict[str, str]:
    """Return name -> line of pip freeze."""
    lines = pip("freeze", "--all").splitlines()
    return {line.replace(" @ ", "==").split("==")[0]: line for line in lines if not line.startswith("#")}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """Return the packages that were added, removed or moved to another version."""
    return {name for name in before | after if before.get(name) != after.get(name)}


@look_alike
def test_the_first_cell_adds_our_two_packages_and_moves_none(tmp_path: Path) -> None:
    pip("uninstall", "--yes", *OURS)
    before = packages()
    assert not OURS & before.keys()
    address = f"git+{ROOT.as_uri()}" if (ROOT / ".git").exists() else str(ROOT)
    released = colab.Home("owner/name", "v0.2.0")
    cell = colab.first_cell(released).replace("git+https://github.com/owner/name@v0.2.0", address)
    assert address in cell
    stand_in = "import sys, types\nsys.modules['google.colab'] = types.ModuleType('google.colab')\n"
    script = tmp_path / "cell.ipy"
    script.write_text(stand_in + cell, encoding="utf-8")
    run = [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", str(script)]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert changed(before, packages()) == OURS, done.stdout + done.stderr


def test_a_moved_or_removed_package_is_seen() -> None:
    before = {"numpy": "numpy==2.1.3", "pillow": "pillow==11.3.0"}
    assert changed(before, before) == set()
    assert changed(before, {"numpy": "numpy==2.4.6", "nbval": "nbval==0.11.0"}) == {
        "numpy",
        "pillow",
        "nbval",
    }
