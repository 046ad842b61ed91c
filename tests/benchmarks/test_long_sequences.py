"""The contests of `make bench` as tests: rivals compute the same, and the report tells what was missed."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from pytest_benchmark.fixture import BenchmarkFixture

from tests.benchmarks import contests as c
from tests.benchmarks import long_sequences as report

SMALL = 64
OTHER_QUESTION = ("no window", "n = ", "n × n times")  # rivals for their time alone
KERNELS = [name for name in c.MEMORY if "usual" not in name]


def agree(rivals: dict[str, Callable[[], Any]]) -> None:
    """Check that all rivals return the same numbers."""
    outputs = {
        name: np.asarray(run())
        for name, run in rivals.items()
        if not any(words in name for words in OTHER_QUESTION)
    }
    for name, output in outputs.items():
        assert_allclose(output, next(iter(outputs.values())), rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.fixture(autouse=True)
def no_gradients() -> Any:
    with torch.no_grad():
        yield


@pytest.mark.parametrize("contest", c.contests(SMALL))
def test_rivals_compute_the_same(contest: str) -> None:
    agree(c.contests(SMALL)[contest]())


def test_the_modules_compute_the_same() -> None:
    agree(c.modules(SMALL))


def test_a_rival_that_computes_something_else_is_found() -> None:
    with pytest.raises(AssertionError, match="wrong"):
        agree({"right": lambda: np.ones(2), "wrong": lambda: np.zeros(2)})


@pytest.mark.parametrize("kernel", KERNELS)
def test_speed_of(kernel: str, benchmark: BenchmarkFixture) -> None:
    arrays = c.inputs(2048 if benchmark.enabled else SMALL)  # once and small in the test suite
    if kernel.startswith("torch"):
        benchmark(c.MEMORY[kernel], *map(torch.tensor, arrays))
    else:
        benchmark(c.MEMORY[kernel], *arrays)


def test_medians_give_every_rival_its_turns() -> None:
    calls: list[str] = []
    rivals: dict[str, Callable[[], Any]] = {name: functools.partial(calls.append, name) for name in "ab"}
    found = c.medians(rivals, budget=0.0)
    assert list(found) == ["a", "b"]
    assert min(found.values()) > 0
    assert calls[-1] == "b"
    assert calls.count("a") >= 4


def equal_times(largest: int) -> report.Times:
    """Return times as if every rival were as fast as every other."""
    return {name: dict.fromkeys(make(), 1.0) for name, make in c.contests(largest).items()}


def some_memory(largest: int) -> report.Memory:
    sizes = (largest // 4, largest // 2, largest)
    return {kernel: dict.fromkeys(sizes, 61.0) for kernel in report.MEMORY_OF}


def test_the_report_tells_what_was_met_and_what_missed() -> None:
    times = equal_times(512)
    text = report.report("about", times, times, 2, some_memory(512), 512)
    stream = "attention, n = 512: torch, streaming_attention, time ÷ torch, F.scaled_dot_product_attention"
    assert f"| {stream} | ≤ 1.5 | 1 | met |" in text
    faster = "attention, n = 512: torch, streaming_attention, × faster than torch, the usual code"
    assert f"| {faster} | ≥ 2.3 | 1 | **missed**: each step is a pass" in text
    assert "numpy, streaming_attention, n = 512: MB beyond inputs and output | ≤ 60 | 61 | **missed**" in text
    assert "streaming_attention: MB more than for half the tokens | ≤ 5 | 0 | met" in text
    assert all(contest in text for contest in times)


def test_every_target_of_the_whole_run_has_its_contest() -> None:
    assert {target.contest for target in report.targets(8192)} <= set(c.contests(8192))
    assert len(report.targets(8192)) == 16


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell a process its highest mark")
def test_memory_is_measured_in_a_process_of_its_own() -> None:
    scores = 8 * 2048 * 2048 * 4 / 1e6  # one array of n × n scores
    assert report.run("memory", "numpy, the usual code", 2048) > scores
    assert report.run("memory", "numpy, streaming_attention", 2048) < scores / 2
