"""What `long_sequences` measures, each contest in one process: rivals take turns, medians are compared.

    OMP_NUM_THREADS=THREADS python -m tests.benchmarks.contests times THREADS LARGEST_N
    python -m tests.benchmarks.contests memory KERNEL N

prints JSON. All rivals of a contest compute the same, on the same inputs: 8 heads of 64, float32,
unless the contest's name says otherwise. A test checks that with small inputs.
"""

import functools
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attention_core import attend
from attention_core.long import (
    elu_plus_one,
    linear_attention,
    sliding_window_attention,
    streaming_attention,
    window_mask,
)
from attention_core.nn import MultiHeadAttention
from attention_core.worked import load

N_HEADS, D_HEAD, WINDOW = 8, 64, 128
BUDGET = 5.0  # seconds: about as long a contest runs, but at least 3 rounds
Rivals = dict[str, Callable[[], Any]]


def inputs(n: int, dtype: str = "float32") -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((N_HEADS, n, D_HEAD), dtype=np.dtype(dtype)) for _ in "qkv"]


# -- the usual code of tutorials -------------------------------------------------------------------


def usual_torch(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any = None) -> torch.Tensor:
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, dim=-1) @ v


def usual_numpy(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = q @ k.swapaxes(-2, -1) / np.sqrt(q.dtype.type(q.shape[-1]))
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def square_linear(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    weights = (elu_plus_one(q) @ elu_plus_one(k).transpose(-2, -1)).tril()
    return weights @ v / weights.sum(dim=-1, keepdim=True)


# -- contests --------------------------------------------------------------------------------------


def attention(n: int, dtype: str = "float32", *, with_attend: bool = True) -> Rivals:
    return attention_of(inputs(n, dtype), with_attend=with_attend)


def attention_of(arrays: list[np.ndarray], *, with_attend: bool = True) -> Rivals:
    q, k, v = arrays
    tq, tk, tv = (torch.tensor(x) for x in arrays)
    rivals: Rivals = {
        "torch, the usual code": lambda: usual_torch(tq, tk, tv),
        "torch, F.scaled_dot_product_attention": lambda: scaled_dot_product_attention(
            tq[None], tk[None], tv[None]
        )[0],
        "torch, streaming_attention": lambda: streaming_attention(tq, tk, tv),
        "numpy, the usual code": lambda: usual_numpy(q, k, v),
        "numpy, streaming_attention": lambda: streaming_attention(q, k, v),
    }
    if with_attend:
        rivals["torch, attend"] = lambda: attend(tq, tk, tv).output
        rivals["numpy, attend"] = lambda: attend(q, k, v).output
    return rivals


def worked_example() -> Rivals:
    example = load("it-animal")
    x = example["embeddings"][:3]
    return attention_of([x, x, x])


def window(n: int) -> Rivals:
    arrays = inputs(n)
    q, k, v = arrays
    tq, tk, tv = (torch.tensor(x) for x in arrays)
    mask = window_mask(n, window=WINDOW, causal=True, like=tq)
    options: dict[str, Any] = {"window": WINDOW, "causal": True}
    return {
        "torch, the usual code, masked": lambda: usual_torch(tq, tk, tv, mask),
        "torch, sliding_window_attention": lambda: sliding_window_attention(tq, tk, tv, **options),
        "numpy, sliding_window_attention": lambda: sliding_window_attention(q, k, v, **options),
        "torch, F.scaled_dot_product_attention, causal, no window": lambda: scaled_dot_product_attention(
            tq[None], tk[None], tv[None], is_causal=True
        )[0],
    }


def longer_windows(n: int) -> Rivals:
    """The same window over n, n / 2 and n / 4 tokens."""

    def slide(size: int) -> Callable[[], Any]:
        q, k, v = (torch.tensor(x) for x in inputs(size))
        return lambda: sliding_window_attention(q, k, v, window=WINDOW, causal=True)

    return {f"n = {size}": slide(size) for size in (n // 4, n // 2, n)}


def linear(n: int) -> Rivals:
    arrays = inputs(n)
    q, k, v = arrays
    tq, tk, tv = (torch.tensor(x) for x in arrays)
    options: dict[str, Any] = {"feature_map": elu_plus_one, "causal": True}
    return {
        "torch, all n × n weights": lambda: square_linear(tq, tk, tv),
        "torch, linear_attention": lambda: linear_attention(tq, tk, tv, **options),
        "numpy, linear_attention": lambda: linear_attention(q, k, v, **options),
    }


def modules(n: int) -> Rivals:
    theirs = nn.MultiheadAttention(N_HEADS * D_HEAD, N_HEADS, batch_first=True)
    theirs.eval()
    ours = MultiHeadAttention.from_torch(theirs).eval()
    x = torch.tensor(np.random.default_rng(0).standard_normal((1, n, N_HEADS * D_HEAD), dtype="f4"))
    return {
        "nn.MultiheadAttention, weights of each head": lambda: theirs(x, x, x, average_attn_weights=False)[0],
        "MultiHeadAttention": lambda: ours(x).output,
    }


def matrix_product(n: int) -> Rivals:
    a, b = (torch.tensor(x[0] @ x[0].T) for x in inputs(n)[:2])
    return {"torch, n × n times n × n": lambda: a @ b}


def contests(largest: int) -> dict[str, Callable[[], Rivals]]:
    """Return every contest with n up to `largest`; 8192 is the whole list."""
    found: dict[str, Callable[[], Rivals]] = {"attention, 3 × 4, one head, float64": worked_example}
    for n in sorted({n for n in (128, 512, 2048) if n < largest} | {largest}):
        found[f"attention, n = {n}"] = functools.partial(attention, n, with_attend=n < 8192)
    middle, most = min(512, largest), min(2048, largest)
    found[f"attention, n = {middle}, float64"] = functools.partial(attention, middle, "float64")
    found[f"causal window of {WINDOW}, n = {largest}"] = functools.partial(window, largest)
    found[f"causal window of {WINDOW}, n up to {4 * largest}"] = functools.partial(
        longer_windows, 4 * largest
    )
    found[f"causal linear attention, n = {most}"] = functools.partial(linear, most)
    for n in (128, 512, 2048):
        if n <= largest:
            found[f"module, d_model = {N_HEADS * D_HEAD}, n = {n}"] = functools.partial(modules, n)
    found[f"matrix product, n = {most}"] = functools.partial(matrix_product, most)
    return found


def medians(rivals: Rivals, budget: float = BUDGET) -> dict[str, float]:
    """Return the median seconds of each rival; they take turns, so that a busy moment meets all."""
    once = {}
    for name, run in rivals.items():
        once[name] = seconds(run, 1)  # loads what a first call needs
        if once[name] < 1:
            once[name] = seconds(run, 1)
    repeats = {name: max(1, round(0.005 / took)) for name, took in once.items()}  # 5 ms or one call
    one_round = sum(once[name] * repeats[name] for name in rivals)
    n_rounds = int(min(max(budget / one_round, 3), 101))
    took: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(n_rounds):
        for name, run in rivals.items():
            took[name].append(seconds(run, repeats[name]))
    return {name: median(times) for name, times in took.items()}


def seconds(run: Callable[[], Any], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - start) / repeats


# -- memory: one call in a process of its own ------------------------------------------------------

MEMORY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "torch, the usual code": usual_torch,
    "numpy, the usual code": usual_numpy,
    "torch, streaming_attention": streaming_attention,
    "numpy, streaming_attention": streaming_attention,
    "torch, sliding_window_attention": lambda q, k, v: sliding_window_attention(
        q, k, v, window=WINDOW, causal=True
    ),
    "torch, linear_attention": lambda q, k, v: linear_attention(
        q, k, v, feature_map=elu_plus_one, causal=True
    ),
}


def extra_megabytes(kernel: str, n: int) -> float:
    """Return how much the process grows at its worst during one call, without inputs and output.

    Only once in a process: what the system keeps is the highest mark.
    """
    function = MEMORY[kernel]
    to: Callable[[np.ndarray], Any] = torch.from_numpy if kernel.startswith("torch") else np.asarray
    arrays = [to(x) for x in inputs(n)]
    function(*(to(x) for x in inputs(16)))  # a first call loads what it needs
    before = highest_mark()
    output = function(*arrays)
    return (highest_mark() - before - output.nbytes) / 1e6


def highest_mark() -> int:
    """Return the most bytes that this process has held so far."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux what getrusage tells may be the mark of the process that started this one
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(task: str, what: str, n: str) -> None:
    torch.set_grad_enabled(False)
    if task == "memory":
        print(json.dumps(extra_megabytes(what, int(n))))
        return
    torch.set_num_threads(int(what))
    found = {}
    for name, make in contests(int(n)).items():
        print(name, file=sys.stderr, flush=True)
        found[name] = medians(make())
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
