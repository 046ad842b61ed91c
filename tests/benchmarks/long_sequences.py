"""Measure the kernels against their rivals and write RESULTS.md: `make bench`, on a machine at rest.

    python -m tests.benchmarks.long_sequences

The contests (see `contests`) run in processes of their own: all on one thread, then on all.
"""

import json
import os
import platform
import subprocess
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.benchmarks.contests import CONTESTS, MEMORY, TINY, Measured

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = Path(__file__).with_name("RESULTS.md")
SIZES = (2048, 4096, 8192)
Memory = dict[str, dict[int, float]]  # kernel -> n -> megabytes beyond inputs and output
MOST_MEGABYTES = {  # with n = 8192, and how many more than with half as many tokens
    "torch, streaming_attention": (60, 15),
    "numpy, streaming_attention": (60, 15),
    "torch, sliding_window_attention": (40, 15),
}


def run(*arguments: object, threads: int = 1) -> Any:
    """Run a part of `contests` in a process of its own with so many threads, and return what it prints."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(threads))
    command = [sys.executable, "-m", "tests.benchmarks.contests", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def machine() -> str:
    """Return what the figures were measured on."""
    info = Path("/proc/cpuinfo")
    models = [line for line in info.read_text().splitlines() if "model name" in line] if info.exists() else []
    cpu = models[0].split(":")[1].strip() if models else platform.processor() or platform.machine()
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return (
        f"{date.today()}; {cpu}, {os.cpu_count()} CPUs, {platform.system()}{load}; Python "
        f"{platform.python_version()}, numpy {version('numpy')}, torch {version('torch')}."
    )


def verdict(limit: float | None, value: float, why: str = "") -> str:
    """Return three cells of a table: what was wanted, what was measured, and whether that is enough."""
    if limit is None:
        return f"– | {value:.3g} | "
    missed = f"**missed**: {why}" if why else "**missed**"
    return f"≤ {limit:.3g} | {value:.3g} | {'met' if value <= limit else missed}"


def times_table(one: list[Measured], every: list[Measured]) -> list[str]:
    """Return one table row for each contest and n."""
    lines = ["| first ÷ second | n | wanted | measured | | first, ms | second, ms | ratio, all threads |"]
    lines.append("|---|---:|---:|---:|---|---:|---:|---:|")
    sizes = [(contest, n) for contest in CONTESTS for n in contest.limits]
    for (contest, n), alone, threaded in zip(sizes, one, every, strict=True):
        size = "3 × 4" if n == TINY else str(n)
        cells = verdict(contest.limits[n], alone.ratio, contest.why)
        milliseconds = f"{1000 * alone.first:.3g} | {1000 * alone.second:.3g}"
        lines.append(f"| {contest} | {size} | {cells} | {milliseconds} | {threaded.ratio:.3g} |")
    return lines


def memory_tables(memory: Memory) -> list[str]:
    """Return a table with a row for each target, and one with a row for each kernel."""
    *_, half, whole = SIZES
    wanted = ["| MB beyond inputs and output | wanted | measured | |", "|---|---:|---:|---|"]
    for kernel, (most, growth) in MOST_MEGABYTES.items():
        used, more = memory[kernel][whole], memory[kernel][whole] - memory[kernel][half]
        wanted.append(f"| {kernel}, n = {whole} | {verdict(most, used)} |")
        wanted.append(f"| {kernel}, more than with n = {half} | {verdict(growth, more)} |")
    every = ["| MB beyond inputs and output | " + " | ".join(f"n = {n}" for n in SIZES) + " |"]
    every.append("|---|" + "---:|" * len(SIZES))
    for kernel, used_for in memory.items():
        every.append(f"| {kernel} | " + " | ".join(f"{used_for[n]:.0f}" for n in SIZES) + " |")
    return ["\n".join(wanted), "\n".join(every)]


def report(about: str, one: list[Measured], every: list[Measured], memory: Memory) -> str:
    """Return the text of RESULTS.md."""
    lines = [
        "# Measured: speed and memory",
        "Written by `make bench`, not by hand. Two rivals alone take turns, A B A B, in one process: the "
        "ratio is the median over the rounds, and holds better than the milliseconds, which are for the "
        "machine below. 8 heads of 64, float32, no batch, no gradients; 3 × 4 is one head, float64.",
        about,
        "## Time, one thread",
        "\n".join(times_table(one, every)),
        "The usual code spends much of its time on getting memory from the system: its n × n scores are "
        "new pages. A tile is used again and again, and fits the cache. On arithmetic alone there is little "
        "to win.",
        "## Memory: the peak of one call, in a process of its own",
        "The tiles' outputs are put together at the end, so that the output is held twice.",
        *memory_tables(memory),
    ]
    return "\n\n".join(lines) + "\n"


def main() -> int:
    about, n_threads = machine(), os.cpu_count() or 1
    one, every = (
        [Measured(*each) for each in run("times", threads, threads=threads)] for threads in (1, n_threads)
    )
    memory = {kernel: {n: run("memory", kernel, n) for n in SIZES} for kernel in MEMORY}
    text = report(about, one, every, memory)
    print(text)
    RESULTS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
