"""The kernels load nothing heavy, nothing looks up a floor, and importing the package costs little."""

import ast
import json
import os
import subprocess
import sys
from importlib.util import resolve_name
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "attention_core"
HEAVY = {"torch", "matplotlib", "ipywidgets", "IPython"}
KERNELS = {"_checks", "_numbers", "attention", "scoring", "heads", "positions", "long"}
WORKED = {"worked"}
LIGHT = KERNELS | WORKED | {"minilm"}
FILES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
MODULES = {path.parts[0].removesuffix(".py") for path in FILES} - {"__init__"}
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


def loads_nothing_heavy(statement: str, path: Path = ROOT) -> None:
    code = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    loaded = {name.split(".")[0] for name in json.loads(run(code, path=path))}
    assert not loaded & HEAVY, f"{statement!r} loads {sorted(loaded & HEAVY)}"


def costs_little(module: str, path: Path = ROOT) -> None:
    for what, ratio in json.loads(run(COUNT, module, path=path)).items():
        assert ratio <= LIMIT, (
            f"importing {module} takes {ratio:.2f} times the {what} of numpy and array_api_compat, "
            f"more than {LIMIT}"
        )


def imported(source: str, package: str) -> set[str]:
    """Return the dotted name of everything that `source` imports, wherever the import stands."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package)
            names |= {f"{origin}.{alias.name}" for alias in node.names}
    return names


def below(module: str) -> set[str]:
    """Return the modules of the package that `module` may import: its own floor and those below."""
    if module in KERNELS:
        return KERNELS
    if module in WORKED:
        return KERNELS | WORKED
    if module in ("minilm", "nn"):
        return KERNELS | {module}
    return MODULES if module == "lesson" else MODULES - {"lesson"}  # figures and live views


def stands_on_its_floor(path: Path, source: str) -> None:
    """Check the imports of the file at `path` in the package; all files of a folder share its floor."""
    module = path.parts[0].removesuffix(".py")
    parts = [name.split(".") for name in imported(source, ".".join(["attention_core", *path.parts[:-1]]))]
    ours = {part[1] for part in parts if part[0] == "attention_core" and len(part) > 1}
    wrong = ours & (MODULES - below(module))
    if module in LIGHT:
        wrong |= HEAVY & {part[0] for part in parts}
    assert not wrong, f"{path.as_posix()} must not import {sorted(wrong)}"


@pytest.mark.parametrize("module", ["", *sorted(LIGHT & MODULES)])
def test_nothing_heavy_is_loaded(module: str) -> None:
    loads_nothing_heavy(f"import attention_core{module and '.'}{module}")


def test_nothing_heavy_is_loaded_by_a_call() -> None:
    loads_nothing_heavy("import numpy, attention_core; x = numpy.eye(2); attention_core.attend(x, x, x)")


@pytest.mark.parametrize("path", FILES, ids=Path.as_posix)
def test_a_module_stands_on_its_floor(path: Path) -> None:
    stands_on_its_floor(path, (PACKAGE / path).read_text(encoding="utf-8"))


def test_importing_the_package_costs_little() -> None:
    costs_little("attention_core")


# -- the checks can fail -------------------------------------------------------------------------


@pytest.mark.parametrize("heavy", sorted(HEAVY))
@pytest.mark.parametrize(
    "how", ["import {}", "from {} import *", "import importlib; importlib.import_module('{}')"]
)
def test_a_heavy_import_is_seen(heavy: str, how: str, tmp_path: Path) -> None:
    (tmp_path / f"{heavy}.py").touch()  # stands in for the library
    (tmp_path / "culprit.py").write_text(how.format(heavy), encoding="utf-8")
    with pytest.raises(AssertionError, match=f"'import culprit' loads .*{heavy}"):
        loads_nothing_heavy("import culprit", tmp_path)


@pytest.mark.parametrize(
    ("path", "line", "culprit"),
    [
        ("attention.py", "import torch.nn as nn", "torch"),
        ("heads.py", "def late():\n    from matplotlib import pyplot", "matplotlib"),
        ("_checks.py", "from attention_core.lesson import show", "lesson"),
        ("attention.py", "from attention_core import heads, figures", "figures"),
        ("worked/__init__.py", "from .. import live", "live"),
        ("worked/_work.py", "from ..nn import MultiHeadAttention", "nn"),
        ("nn/tasks.py", "from ..lesson import progress", "lesson"),
        ("figures/curves.py", "import attention_core.lesson", "lesson"),
        ("live/views.py", "from ..lesson import show", "lesson"),
    ],
)
def test_looking_up_is_seen(path: str, line: str, culprit: str) -> None:
    with pytest.raises(AssertionError, match=rf"{path} must not import \['{culprit}'\]"):
        stands_on_its_floor(Path(path), line)


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
