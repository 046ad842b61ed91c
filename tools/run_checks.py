"""Run every check of the project, one after the other, and say at the end how each went.

    python -m tools.run_checks

`make test` calls this. All checks run, even when one fails. The style of the code and the stored
bytes are checked only in the environment that constraints.txt pins, because other versions of the
tools format and draw differently.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tools import constraints
from tools.install import CONSTRAINTS, PYPROJECT, ROOT

NBVAL = "--nbval --nbval-current-env --nbval-cell-timeout 120 --nbval-kernel-startup-timeout 120"


class Check(NamedTuple):
    """A command that exits with 0 when all is well."""

    name: str
    command: Sequence[str]
    pinned_only: bool = False


class Result(NamedTuple):
    """How a check went: "passed", "FAILED" or "skipped"."""

    name: str
    verdict: str
    seconds: float


def checks() -> list[Check]:
    """Return all checks, the quick ones first."""
    python = [sys.executable, "-m"]
    notebooks = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "notebooks").glob("*.ipynb"))
    return [
        Check("lint", [*python, "ruff", "check", "."], pinned_only=True),
        Check("format", [*python, "ruff", "format", "--check", "."], pinned_only=True),
        Check("types", [*python, "mypy"], pinned_only=True),
        Check("tests", [*python, "pytest"]),
        Check("notebooks", [*python, "pytest", *NBVAL.split(), *(notebooks or ["notebooks/*.ipynb"])]),
        Check("fresh build", [*python, "tools.build", "--check"], pinned_only=True),
    ]


def differences_from_pins() -> list[str]:
    """Return how this environment differs from the pinned one."""
    wanted = constraints.requirements(PYPROJECT.read_text("utf-8"))
    here = constraints.render(constraints.this_platform(), constraints.installed(wanted))
    return constraints.differences(CONSTRAINTS.read_text("utf-8"), here)


def succeeds(command: Sequence[str]) -> bool:
    """Run `command` at the top of the project; tell whether it exited with 0."""
    one_thread = {"OMP_NUM_THREADS": "1"}  # torch's sums depend on the number of threads
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **one_thread}).returncode == 0


def run(wanted: Sequence[Check], pinned: bool, succeeds: Callable[[Sequence[str]], bool]) -> list[Result]:
    """Run the checks of `wanted` that fit this environment, the pinned one or not."""
    results = []
    for check in wanted:
        print(f"\n━━ {check.name}: {' '.join(check.command)[:100]}", flush=True)
        begin = time.perf_counter()
        if check.pinned_only and not pinned:
            verdict = "skipped"
            print("SKIPPED: needs the exact versions of constraints.txt")
        else:
            verdict = "passed" if succeeds(check.command) else "FAILED"
        results.append(Result(check.name, verdict, time.perf_counter() - begin))
    return results


def summary(results: Sequence[Result]) -> str:
    """Return one line for each result, and a last line for all."""
    lines = [f"{r.name:<12} {r.verdict:<8} {r.seconds:6.1f} s" for r in results]
    failed = [r.name for r in results if r.verdict == "FAILED"]
    skipped = [r.name for r in results if r.verdict == "skipped"]
    verdict = f"FAILED: {', '.join(failed)}" if failed else "all checks that ran have passed"
    left_out = f"; skipped, since this is not the pinned environment: {', '.join(skipped)}" if skipped else ""
    return "\n".join([*lines, verdict + left_out])


def main() -> int:
    found = differences_from_pins()
    if found:
        print("This is not the environment that constraints.txt pins:", *found[:10], sep="\n  ")
        if os.environ.get("PINNED") == "required":
            print("FAILED: PINNED=required, so that no check is skipped")
            return 1
    results = run(checks(), pinned=not found, succeeds=succeeds)
    print(f"\n━━ summary\n{summary(results)}")
    return 1 if any(result.verdict == "FAILED" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
