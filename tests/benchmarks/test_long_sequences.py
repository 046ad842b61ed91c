"""The contests of `make bench` as tests: rivals compute the same, and the report tells what was missed."""

import functools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from pytest_benchmark.fixture import BenchmarkFixture

from tests.benchmarks import contests as c
from tests.benchmarks import long_sequences as report

SMALL = 64
KERNELS = [name for name in c.MEMORY if "usual" not in name]


@pytest.fixture(autouse=True)
def no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


def agree(first: Any, second: Any) -> None:
    assert_allclose(np.asarray(first), np.asarray(second), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")  # array_api_compat's
@pytest.mark.parametrize("contest", c.CONTESTS, ids=str)
def test_rivals_compute_the_same(contest: c.Contest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))  # no C++ here
    for n in (c.TINY, SMALL):
        first, second = (run() for run in contest.rivals(n))
        if contest.same:
            agree(first, second)


def test_a_rival_that_computes_something_else_is_found() -> None:
    with pytest.raises(AssertionError, match="Not equal"):
        agree(np.ones(2), np.zeros(2))


@pytest.mark.parametrize("kernel", KERNELS)
def test_speed_of(kernel: str, benchmark: BenchmarkFixture) -> None:
    n = 2048 if benchmark.enabled else SMALL  # once and small in the test suite
    benchmark(c.MEMORY[kernel], *c.inputs(n, kernel.split(",")[0]))


def test_two_alone_take_turns() -> None:
    calls: list[str] = []
    first, second = (functools.partial(calls.append, name) for name in "ab")
    found = c.measure(first, second, budget=0.0)  # no budget: three rounds after the first
    assert min(found) > 0
    turns = [calls[i] for i in range(len(calls)) if i == 0 or calls[i] != calls[i - 1]]
    assert turns == list("ab" * 4)


def test_the_report_tells_what_was_wanted_and_what_missed() -> None:
    times = [c.Measured(0.002, 0.001, 2.0) for contest in c.CONTESTS for _ in contest.limits]
    memory = {kernel: dict.fromkeys(report.SIZES, 61.0) for kernel in c.MEMORY}
    text = report.report("about", times, times, memory)
    stream = "| torch, streaming_attention ÷ F.scaled_dot_product_attention | 8192"
    assert f"{stream} | ≤ 1.35 | 2 | **missed**: each step is a pass" in text
    assert "| torch, attend ÷ the usual code | 3 × 4 | ≤ 3 | 2 | met | 2 | 1 | 2 |" in text
    assert "| MultiHeadAttention ÷ nn.MultiheadAttention(need_weights=False) | 128 | – | 2 |  | 2" in text
    assert "| numpy, streaming_attention, n = 8192 | ≤ 60 | 61 | **missed** |" in text
    assert "| torch, streaming_attention, more than with n = 4096 | ≤ 15 | 0 | met |" in text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell a process its highest mark")
def test_memory_is_measured_in_a_process_of_its_own() -> None:
    scores = 8 * 2048 * 2048 * 4 / 1e6  # one array of n × n scores
    assert report.run("memory", "numpy, the usual code", 2048) > scores
    assert report.run("memory", "numpy, streaming_attention", 2048) < scores / 2
