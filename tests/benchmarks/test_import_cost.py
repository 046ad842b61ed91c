"""How long importing the package takes, next to numpy and array-api-compat: `make bench`.

Both are imported in one fresh process, one after the other, and what is measured is the processor's
time, so that waiting for other programs does not count. The best of many rounds is compared.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 1.2
MEASURE = """
import json, sys, time
start = time.process_time()
import numpy, array_api_compat
middle = time.process_time()
__import__(sys.argv[1])
print(json.dumps([middle - start, time.process_time() - middle]))
"""


def seconds(module: str, path: Path = ROOT) -> tuple[float, float]:
    """Return the processor's seconds for numpy with array-api-compat, and for `module` after them."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, module],
        env=os.environ | {"PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=True,
    )
    base, own = json.loads(done.stdout)
    return base, own


def costs_little(module: str, rounds: list[tuple[float, float]]) -> None:
    base, own = (min(times) for times in zip(*rounds, strict=True))
    ratio = (base + own) / base
    assert ratio <= LIMIT, f"importing {module} takes {ratio:.2f} times as long as numpy, more than {LIMIT}"


def test_importing_attention_core(benchmark: BenchmarkFixture) -> None:
    rounds: list[tuple[float, float]] = []
    benchmark.pedantic(lambda: rounds.append(seconds("attention_core")), rounds=10, warmup_rounds=1)
    if benchmark.enabled:  # in the test suite this runs once, and timings are no test
        costs_little("attention_core", rounds)


def test_a_slow_import_is_seen(tmp_path: Path) -> None:
    burn = "import time\nstart = time.process_time()\nwhile time.process_time() < start + 0.6:\n    pass\n"
    (tmp_path / "slow.py").write_text(burn, encoding="utf-8")
    with pytest.raises(AssertionError, match=r"importing slow takes \d+\.\d\d times as long"):
        costs_little("slow", [seconds("slow", tmp_path)])
