"""What `long_sequences` measures: contests of two alone, in turns, and the memory of one call.

    OMP_NUM_THREADS=THREADS python -m tests.benchmarks.contests times THREADS
    python -m tests.benchmarks.contests memory KERNEL N

prints JSON. Both rivals of a contest get the same inputs and compute the same; a test checks that with
small inputs.
"""

import functools
import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attention_core import attend, causal_mask
from attention_core.long import (
    elu_plus_one,
    linear_attention,
    sliding_window_attention,
    streaming_attention,
    window_mask,
)
from attention_core.nn import MultiHeadAttention

N_HEADS, D_HEAD, WINDOW = 8, 64, 128
TINY = 3  # tokens of a worked example: one head, 3 × 4, float64
BUDGET = 3.0  # seconds: about as long a contest runs, but at least 3 rounds
Run = Callable[[], Any]
Kernel = Callable[..., Any]


def inputs(n: int, library: str = "numpy") -> list[Any]:
    """Return q, k and v: 8 heads of 64, float32, but for a TINY n one head of 4, float64."""
    shape, dtype = ((n, 4), np.float64) if n == TINY else ((N_HEADS, n, D_HEAD), np.float32)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(dtype) for _ in "qkv"]
    return [torch.from_numpy(x) for x in arrays] if library == "torch" else arrays


# -- the usual code of tutorials -------------------------------------------------------------------


def usual_torch(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any = None) -> torch.Tensor:
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, dim=-1) @ v


def usual_numpy(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: Any = None) -> np.ndarray:
    scores = q @ k.swapaxes(-2, -1) / np.sqrt(q.dtype.type(q.shape[-1]))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def square_linear(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    weights = (elu_plus_one(q) @ elu_plus_one(k).transpose(-2, -1)).tril()
    return weights @ v / weights.sum(dim=-1, keepdim=True)


def usual_window(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return usual_torch(q, k, v, window_mask(q.shape[-2], window=WINDOW, causal=True, like=q))


def sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, is_causal: bool = False) -> torch.Tensor:
    return scaled_dot_product_attention(q[None], k[None], v[None], is_causal=is_causal)[0]


def output_of(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    return attend(q, k, v, mask=mask).output


causal_sdpa = functools.partial(sdpa, is_causal=True)
slide = functools.partial(sliding_window_attention, window=WINDOW, causal=True)
causal_linear = functools.partial(linear_attention, feature_map=elu_plus_one, causal=True)


# -- contests of two -------------------------------------------------------------------------------


class Contest(NamedTuple):
    """Two that compute the same, and how often the time of the second the first may take."""

    first: str
    second: str
    rivals: Callable[[int], tuple[Run, Run]]  # for n tokens
    limits: Mapping[int, float | None]  # n -> the most that first ÷ second may be; None: only measured
    why: str = ""  # a limit may be missed
    same: bool = True  # do both compute the same? Some rivals answer another question

    def __str__(self) -> str:
        return f"{self.first} ÷ {self.second}"


def kernels(
    library: str, first: Kernel, second: Kernel, mask: Kernel | None = None
) -> Callable[[int], tuple[Run, Run]]:
    """Return the rivals first(q, k, v) and second(q, k, v), both also with mask(n) where it is given."""

    def rivals(n: int) -> tuple[Run, Run]:
        arrays = inputs(n, library)
        options = {} if mask is None else {"mask": mask(n, like=arrays[0])}
        return functools.partial(first, *arrays, **options), functools.partial(second, *arrays, **options)

    return rivals


def compiled(mask: Kernel | None = None) -> Callable[[int], tuple[Run, Run]]:
    def rivals(n: int) -> tuple[Run, Run]:
        torch.compiler.reset()  # otherwise it compiles for sizes that vary
        ours, usual = (torch.compile(kernel, fullgraph=True) for kernel in (output_of, usual_torch))
        both = kernels("torch", ours, usual, mask)(n)
        for run in both:
            run()  # compiles it
        return both

    return rivals


def longer_window(n: int) -> tuple[Run, Run]:
    """The same window over n tokens, and over half of them."""
    first, second = (functools.partial(slide, *inputs(size, "torch")) for size in (n, n // 2))
    return first, second


def products(n: int) -> tuple[Run, Run]:
    """Streaming attention, and one product of matrices with as many operations: 4 · heads · n² · d."""
    q, k, v = inputs(n, "torch")
    size = round((2 * N_HEADS * n**2 * D_HEAD) ** (1 / 3))
    a = torch.ones(size, size)
    return lambda: streaming_attention(q, k, v), lambda: a @ a


def modules(**options: Any) -> Callable[[int], tuple[Run, Run]]:
    def rivals(n: int) -> tuple[Run, Run]:
        theirs = nn.MultiheadAttention(N_HEADS * D_HEAD, N_HEADS, batch_first=True).eval()
        ours = MultiHeadAttention.from_torch(theirs).eval()
        x = torch.tensor(np.random.default_rng(0).standard_normal((1, n, N_HEADS * D_HEAD), dtype="f4"))
        return lambda: ours(x).output, lambda: theirs(x, x, x, **options)[0]

    return rivals


PASSES = "each step is a pass over its tile, where the library does all steps in one"
CHECKS = "the checks take longer than so few numbers"
POISON = "a blocked NaN or infinity must change nothing, which the usual code does not promise"
STEPS = "it returns the scores too"
STREAM, WINDOW_OF_KEYS = "torch, streaming_attention", f"torch, sliding_window_attention, {WINDOW} keys"
SDPA, USUAL = "F.scaled_dot_product_attention", "the usual code"
MHA = "nn.MultiheadAttention"
PLAIN = {TINY: 3, 128: 1.05, 512: 1.05, 2048: 1.05}
MASKED = {TINY: 3, 128: None, 512: 1.3, 2048: 1.3}
CONTESTS = [
    Contest("torch, attend", USUAL, kernels("torch", output_of, usual_torch), PLAIN, CHECKS),
    Contest("numpy, attend", USUAL, kernels("numpy", output_of, usual_numpy), PLAIN, CHECKS),
    Contest(
        "torch, attend, mask", USUAL, kernels("torch", output_of, usual_torch, causal_mask), MASKED, POISON
    ),
    Contest(
        "numpy, attend, mask", USUAL, kernels("numpy", output_of, usual_numpy, causal_mask), MASKED, POISON
    ),
    Contest("compiled attend", f"{USUAL}, compiled", compiled(), {512: 1.0, 2048: 1.0}),
    Contest("compiled attend, mask", f"{USUAL}, compiled", compiled(causal_mask), {512: 1.0, 2048: 1.0}),
    Contest(STREAM, SDPA, kernels("torch", streaming_attention, sdpa), {2048: None, 8192: 1.35}, PASSES),
    Contest(
        STREAM, USUAL, kernels("torch", streaming_attention, usual_torch), {512: None, 2048: None, 8192: 0.43}
    ),
    Contest(
        "numpy, streaming_attention",
        USUAL,
        kernels("numpy", streaming_attention, usual_numpy),
        {512: None, 2048: None, 8192: 0.33},
    ),
    Contest(STREAM, "a matrix product of as much arithmetic", products, {8192: None}, same=False),
    Contest(WINDOW_OF_KEYS, f"{USUAL}, masked", kernels("torch", slide, usual_window), {8192: 1 / 40}),
    Contest(
        WINDOW_OF_KEYS, f"{SDPA}, causal", kernels("torch", slide, causal_sdpa), {8192: 1 / 5}, same=False
    ),
    Contest(
        WINDOW_OF_KEYS,
        "half as many tokens",
        longer_window,
        {32768: 2.2},
        "longer inputs leave the cache",
        same=False,
    ),
    Contest(
        "torch, linear_attention, causal",
        "all n × n weights",
        kernels("torch", causal_linear, square_linear),
        {2048: 1 / 5},
    ),
    Contest(
        "MultiHeadAttention",
        f"{MHA}(average_attn_weights=False)",
        modules(average_attn_weights=False),
        {128: 1.1, 512: 1.1, 2048: 1.1},
        STEPS,
    ),
    Contest("MultiHeadAttention", f"{MHA}(need_weights=True)", modules(), {128: None, 512: None, 2048: None}),
    Contest(
        "MultiHeadAttention",
        f"{MHA}(need_weights=False)",
        modules(need_weights=False),
        {128: None, 512: None, 2048: None},
    ),
]


class Measured(NamedTuple):
    """Medians over the rounds: the seconds of either, and the ratio of both in one round."""

    first: float
    second: float
    ratio: float


def measure(first: Run, second: Run, budget: float = BUDGET) -> Measured:
    """Let two take turns, A B A B, so that a busy moment meets both."""
    once = [seconds(run, 1) for run in (first, second)]  # loads what a first call needs
    if sum(once) < budget:
        once = [seconds(run, 1) for run in (first, second)]
    repeats = max(1, round(0.005 / min(once)))  # 5 ms or one call
    n_rounds = int(min(max(budget / (repeats * sum(once)), 3), 101))
    rounds = [(seconds(first, repeats), seconds(second, repeats)) for _ in range(n_rounds)]
    a, b = zip(*rounds, strict=True)
    return Measured(median(a), median(b), median(x / y for x, y in rounds))


def seconds(run: Run, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - start) / repeats


# -- memory: one call in a process of its own ------------------------------------------------------

MEMORY: dict[str, Kernel] = {
    "torch, the usual code": usual_torch,
    "torch, streaming_attention": streaming_attention,
    "torch, sliding_window_attention": slide,
    "torch, linear_attention": causal_linear,
    "numpy, the usual code": usual_numpy,
    "numpy, streaming_attention": streaming_attention,
}


def extra_megabytes(kernel: str, n: int) -> float:
    """Return how much the process grows at its worst during one call, without inputs and output.

    Only once in a process: what the system keeps is the highest mark.
    """
    library = kernel.split(",")[0]
    arrays = inputs(n, library)
    MEMORY[kernel](*inputs(16, library))  # a first call loads what it needs
    before = highest_mark()
    output = MEMORY[kernel](*arrays)
    return (highest_mark() - before - output.nbytes) / 1e6


def highest_mark() -> int:
    """Return the most bytes that this process has held so far."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux what getrusage tells may be the mark of the process that started this one
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    import resource  # not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(task: str, *arguments: str) -> None:
    torch.set_grad_enabled(False)
    if task == "memory":
        print(json.dumps(extra_megabytes(arguments[0], int(arguments[1]))))
        return
    torch.set_num_threads(int(arguments[0]))
    found = []
    for contest in CONTESTS:
        for n in contest.limits:
            print(contest, n, file=sys.stderr, flush=True)
            found.append(measure(*contest.rivals(n)))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
