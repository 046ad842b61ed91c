"""Rooms keep to their floors (import-linter, in pyproject.toml), and importing the package costs little.

`make lint` runs import-linter; here its contracts are shown to fail, and what they cannot see is held.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "attention_core"
HEAVY = {"torch", "matplotlib", "ipywidgets", "IPython"}
LIGHT = ["_numbers", "attention", "heads", "long", "minilm", "positions", "scoring", "worked"]
LIMIT = 1.2

# How much an import costs is counted, not timed, so that a busy machine gives the same answer as an
# idle one: the lines of Python that run, and the modules that load (each costs a search and a read).
# What counting cannot see, slow calls into C, is measured in tests/benchmarks/test_import_cost.py.
COUNT = """
import json, sys

def lines_run_by(names):
    run = 0
    def trace(frame, event, argument):
        nonlocal run
        run += event == "line"
        return trace
    sys.settrace(trace)
    try:
        for name in names:
            __import__(name)
    finally:
        sys.settrace(None)
    return run

before = len(sys.modules)
lines = lines_run_by(["numpy", "array_api_compat"])
modules = len(sys.modules) - before
more_lines = lines_run_by(sys.argv[1:])
more_modules = len(sys.modules) - before - modules
print(json.dumps({"lines": 1 + more_lines / lines, "modules": 1 + more_modules / modules}))
"""


def run(code: str, *arguments: str, path: Path = ROOT) -> str:
    """Run Python code in a process of its own that finds modules in `path`."""
    environment = os.environ | {"PYTHONPATH": str(path)}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


# --- contracts -------------------------------------------------------------------------------------


PLANTED = {  # file -> a line that no contract allows
    "attention.py": "from attention_core.worked import load",
    "figures/bars.py": "from attention_core.attention import softmax",
    "figures/curves.py": "import attention_core.live",
    "heads.py": "def late():\n    from matplotlib import pyplot",
    "new.py": "",  # a room without a floor
    "scoring.py": "import torch.nn as nn",
    "worked/_work.py": "from attention_core.long._tiles import Array",
}
SEEN = [
    "attention_core.attention -> attention_core.worked",
    "attention_core.figures.bars -> attention_core.attention",
    "attention_core.figures.curves -> attention_core.live",
    "attention_core.heads -> matplotlib",
    "- attention_core.new",
    "attention_core.scoring -> torch",
    "attention_core.worked._work -> attention_core.long._tiles",
]


def test_every_contract_can_be_broken(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "attention_core")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, line in PLANTED.items():
        with (tmp_path / "attention_core" / name).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
    lint = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    said = subprocess.run(
        [sys.executable, "-c", lint],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        encoding="utf-8",
    ).stdout
    assert "Contracts: 0 kept" in said
    assert [culprit for culprit in SEEN if culprit not in said] == []


# --- private names ---------------------------------------------------------------------------------


def foreign_private_names(path: Path, source: str) -> Iterator[str]:
    """Yield the private names that the file at `path` in the package imports from another room."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("attention_core."):
            room = (node.module or "").split(".")[1]
            if room != path.parts[0].removesuffix(".py"):
                yield from (alias.name for alias in node.names if alias.name.startswith("_"))


def test_no_room_imports_another_rooms_private_names() -> None:
    files = {path.relative_to(PACKAGE): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert {
        str(path): names for path, text in files.items() if (names := [*foreign_private_names(path, text)])
    } == {}


def test_a_foreign_private_name_is_seen() -> None:
    line = "def late():\n    from attention_core.attention import _kept, attend"
    assert list(foreign_private_names(Path("long", "streaming.py"), line)) == ["_kept"]
    assert list(foreign_private_names(Path("attention.py"), line)) == []


# --- what an import loads, and costs ---------------------------------------------------------------


def loaded(statement: str, path: Path = ROOT) -> set[str]:
    """Return the heavy packages that running `statement` loads."""
    return HEAVY & set(
        json.loads(run(f"{statement}\nimport sys, json\nprint(json.dumps([*sys.modules]))", path=path))
    )


def costs_little(module: str, path: Path = ROOT) -> None:
    for what, ratio in json.loads(run(COUNT, module, path=path)).items():
        assert ratio <= LIMIT, (
            f"importing {module} takes {ratio:.2f} times the {what} of numpy and array_api_compat, "
            f"more than {LIMIT}"
        )


def test_nothing_heavy_is_loaded_by_imports_or_a_call() -> None:
    imports = "; ".join(f"import attention_core.{module}" for module in LIGHT)
    assert loaded(f"{imports}; import numpy; x = numpy.eye(2); attention_core.attend(x, x, x)") == set()


@pytest.mark.parametrize("heavy", sorted(HEAVY))
def test_a_heavy_import_is_seen(heavy: str, tmp_path: Path) -> None:
    (tmp_path / f"{heavy}.py").touch()  # stands in for the library
    (tmp_path / "culprit.py").write_text(
        f"import importlib; importlib.import_module('{heavy}')", encoding="utf-8"
    )
    assert loaded("import culprit", tmp_path) == {heavy}


def test_importing_the_package_costs_little() -> None:
    costs_little("attention_core")


def test_a_slow_import_is_seen(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("for _ in range(200_000):\n    pass\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"importing slow takes \d\.\d\d times the lines of numpy"):
        costs_little("slow", tmp_path)


def test_many_modules_are_seen(tmp_path: Path) -> None:
    names = [f"part{i}" for i in range(50)]
    for name in names:
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "crowd.py").write_text(f"import {', '.join(names)}", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"importing crowd takes \d\.\d\d times the modules of numpy"):
        costs_little("crowd", tmp_path)
