"""Measure the kernels against their rivals and write RESULTS.md: `make bench`, on a machine at rest.

    python -m tests.benchmarks.long_sequences [LARGEST_N]

The contests (see `contests`) run in processes of their own: all on one thread, then on all. LARGEST_N
is 8192; a smaller one is a rehearsal, which prints the tables and leaves RESULTS.md as it is.
"""

import json
import os
import platform
import subprocess
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = Path(__file__).with_name("RESULTS.md")
LARGEST = 8192
MEMORY_OF = [
    *("torch, the usual code", "torch, streaming_attention", "torch, sliding_window_attention"),
    *("torch, linear_attention", "numpy, the usual code", "numpy, streaming_attention"),
]
MOST_MEGABYTES = {
    "torch, streaming_attention": 60,
    "numpy, streaming_attention": 60,
    "torch, sliding_window_attention": 20,
}
GROWTH, KEPT = 5, "the library keeps freed blocks for later"
Times = dict[str, dict[str, float]]  # contest -> rival -> median seconds
Memory = dict[str, dict[int, float]]  # kernel -> n -> megabytes beyond inputs and output
MEMORY_NOISE = (
    "among so many rivals, memory that one gives back the next must fetch anew: this ratio varies much, "
    "see both tables below"
)
LONG_INPUTS = "longer inputs leave the cache; it varies by a tenth, see both tables below"


class Target(NamedTuple):
    """A ratio to be reached in one contest: `over` takes at least or at most so many times `under`."""

    kind: str  # "× faster": over ÷ under is to be at least `limit`; "time ÷": at most
    contest: str
    over: str
    under: str
    limit: float
    why: str  # it was missed, if it was

    def line(self, times: Times) -> str:
        """Return the row of the table: says, limit, measured, verdict."""
        value = times[self.contest][self.over] / times[self.contest][self.under]
        if self.kind == "× faster":
            return row(
                f"{self.contest}: {self.under}, × faster than {self.over}", "≥", self.limit, value, self.why
            )
        return row(f"{self.contest}: {self.over}, time ÷ {self.under}", "≤", self.limit, value, self.why)


def targets(largest: int) -> list[Target]:
    """Return what was to be reached in time, for contests with n up to `largest`."""
    usual, sdpa = "torch, the usual code", "torch, F.scaled_dot_product_attention"
    stream, slide = "torch, streaming_attention", "torch, sliding_window_attention"
    long, window = f"attention, n = {largest}", f"causal window of 128, n = {largest}"
    windows, doubled = (
        f"causal window of 128, n up to {4 * largest}",
        (f"n = {4 * largest}", f"n = {2 * largest}"),
    )
    linear, square = f"causal linear attention, n = {min(2048, largest)}", "torch, all n × n weights"
    passes = "each step is a pass over its tile, where the library does all steps in one"
    found = [
        Target("× faster", long, usual, stream, 2.3, passes),
        Target("time ÷", long, stream, sdpa, 1.5, passes),
        Target("× faster", long, "numpy, the usual code", "numpy, streaming_attention", 3, passes),
        Target("× faster", window, f"{usual}, masked", slide, 40, passes),
        Target("× faster", window, f"{sdpa}, causal, no window", slide, 5, passes),
        Target(
            "time ÷",
            windows,
            *doubled,
            2.2,
            LONG_INPUTS,
        ),
        Target("× faster", linear, square, "torch, linear_attention", 5, passes),
    ]
    for library in ("torch", "numpy"):
        ours, theirs = f"{library}, attend", f"{library}, the usual code"
        found += [
            Target(
                "time ÷",
                f"attention, n = {n}",
                ours,
                theirs,
                1.1,
                MEMORY_NOISE,
            )
            for n in (512, 2048)
            if n < largest
        ]
        tiny = "attention, 3 × 4, one head, float64"
        found.append(Target("time ÷", tiny, ours, theirs, 4, "the checks take longer than so few numbers"))
    found += [
        Target(
            "time ÷",
            f"module, d_model = 512, n = {n}",
            "MultiHeadAttention",
            "nn.MultiheadAttention, weights of each head",
            1.1,
            "it returns the scores of every head as well",
        )
        for n in (128, 512, 2048)
        if n <= largest
    ]
    return found


def memory_lines(memory: Memory, largest: int) -> list[str]:
    """Return one table row for each target of memory."""
    lines = []
    for kernel, most in MOST_MEGABYTES.items():
        used, half = memory[kernel][largest], memory[kernel][largest // 2]
        lines.append(row(f"{kernel}, n = {largest}: MB beyond inputs and output", "≤", most, used, KEPT))
        lines.append(row(f"{kernel}: MB more than for half the tokens", "≤", GROWTH, used - half, KEPT))
    return lines


def row(says: str, sign: str, limit: float, value: float, why: str) -> str:
    """Return one row of a table of targets; `why` is told where it is missed."""
    met = value >= limit if sign == "≥" else value <= limit
    return f"| {says} | {sign} {limit:g} | {value:.3g} | {'met' if met else f'**missed**: {why}'} |"


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


def times_table(times: Times) -> list[str]:
    """Return one table row for each rival: its milliseconds, and its time over that of the first."""
    lines = ["| contest | rival | ms | ÷ the first |", "|---|---|---:|---:|"]
    for contest, rivals in times.items():
        first = next(iter(rivals.values()))
        for rival, took in rivals.items():
            lines.append(f"| {contest} | {rival} | {1000 * took:.3g} | {took / first:.2f} |")
    return lines


def memory_table(memory: Memory) -> list[str]:
    """Return one table row for each kernel: the megabytes for each n."""
    sizes = list(next(iter(memory.values())))
    lines = ["| MB beyond inputs and output | " + " | ".join(f"n = {n}" for n in sizes) + " |"]
    lines.append("|---|" + "---:|" * len(sizes))
    for kernel, used in memory.items():
        lines.append(f"| {kernel} | " + " | ".join(f"{used[n]:.0f}" for n in sizes) + " |")
    return lines


def share_of_peak(times: Times, largest: int) -> str:
    """Say how much of the speed of a plain matrix product attention reaches: 4 h n² d operations."""
    (name, product) = next((name, rivals) for name, rivals in times.items() if name.startswith("matrix"))
    n = int(name.split(" = ")[1])
    peak = 2 * n**3 / next(iter(product.values()))
    rivals = times[f"attention, n = {largest}"]
    shares = [f"{rival} {4 * 8 * largest**2 * 64 / took / peak:.0%}" for rival, took in rivals.items()]
    return f"A matrix product reaches {peak / 1e9:.0f} GFLOP/s (float32). Share of it: {'; '.join(shares)}."


def report(about: str, one: Times, all_threads: Times, n_threads: int, memory: Memory, largest: int) -> str:
    """Return the text of RESULTS.md."""
    head = ["| target | | measured | |", "|---|---:|---:|---|"]
    lines = [
        "# Measured: speed and memory",
        "Written by `make bench`, not by hand. Medians; rivals take turns in one process, so trust the "
        "ratios, and the milliseconds only for the machine below. 8 heads of 64, float32, no batch, no "
        "gradients, unless a row says otherwise.",
        about,
        "## What was to be reached (one thread)",
        "\n".join(head + [target.line(one) for target in targets(largest)]),
        "## Memory: the peak of one call, in a process of its own",
        "\n".join(head + memory_lines(memory, largest)),
        "\n".join(memory_table(memory)),
        "## Where the speed comes from",
        share_of_peak(one, largest),
        "The usual code spends much of its time on getting memory from the system: its n × n scores are "
        "new pages. A tile is used again and again, and fits the cache. On arithmetic alone there is little "
        "to win.",
        "## One thread",
        "\n".join(times_table(one)),
        f"## All {n_threads} threads",
        share_of_peak(all_threads, largest),
        "\n".join(times_table(all_threads)),
    ]
    return "\n\n".join(lines) + "\n"


def main(largest: int = LARGEST) -> int:
    about, n_threads = machine(), os.cpu_count() or 1
    one = run("times", 1, largest)
    all_threads = run("times", n_threads, largest, threads=n_threads)
    sizes = [largest // 4, largest // 2, largest]
    memory = {kernel: {n: run("memory", kernel, n) for n in sizes} for kernel in MEMORY_OF}
    text = report(about, one, all_threads, n_threads, memory, largest)
    print(text)
    if largest == LARGEST:
        RESULTS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
