"""What holds for every kernel for long sequences: transforms, autocast, what is blocked, memory."""

import tracemalloc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import dask.array
import jax
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import grad, vmap
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from attention_core import attend, causal_mask
from attention_core.long import (
    elu_plus_one,
    linear_attention,
    low_rank_attention,
    partial_attention,
    sliding_window_attention,
    streaming_attention,
    streaming_ledger,
)
from tests.kernels.properties import POISON, random

pytestmark = pytest.mark.slow

Kernel = Callable[..., Any]
PADDING = np.array([True, True, True, False])  # for 4 keys


def low_rank(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """Low-rank attention to 2 keys; there is no mask, and the first head's keys serve as w_k and w_v."""
    one = k[(0,) * (k.ndim - 2)] if k.ndim > 2 else k  # (n_k, d_k)
    return low_rank_attention(q, k, v, one.T[:2, :], one.T[1:3, :])


KERNELS: dict[str, Kernel] = {
    "streaming": lambda q, k, v, mask: streaming_attention(q, k, v, mask=mask, tile_k=3),
    "causal": lambda q, k, v, mask: streaming_attention(q, k, v, mask=mask, causal=True, tile_q=3, tile_k=3),
    "part": lambda q, k, v, mask: partial_attention(q, k, v, mask=mask).output,
    "window": lambda q, k, v, mask: sliding_window_attention(q, k, v, window=3, mask=mask, tile=3),
    "linear": lambda q, k, v, mask: linear_attention(q, k, v, mask=mask, feature_map=elu_plus_one, tile=3),
    "causal linear": lambda q, k, v, mask: linear_attention(
        q, k, v, mask=mask, causal=True, feature_map=elu_plus_one, tile=3
    ),
}
each_masked = pytest.mark.parametrize("name", KERNELS)
ALL: dict[str, Kernel] = {**KERNELS, "low rank": low_rank}
each = pytest.mark.parametrize("name", ALL)


# -- transforms: no branch looks at the numbers ----------------------------------------------------


def samples() -> tuple[list[np.ndarray], np.ndarray]:
    """Return q, k, v of 3 samples with 2 heads, and a mask of the keys for each sample."""
    return random((3, 2, 4, 3), (3, 2, 4, 3), (3, 2, 4, 2)), np.array([PADDING, ~PADDING, [False] * 4])


def torch_samples() -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    arrays, masks = samples()
    return tuple(torch.tensor(x) for x in arrays), torch.tensor(masks)


@each
def test_vmap(name: str) -> None:
    kernel, (inputs, masks) = ALL[name], torch_samples()
    expected = torch.stack([kernel(*(x[i] for x in inputs), masks[i]) for i in range(3)])
    assert_close(vmap(kernel)(*inputs, masks), expected)
    q, k, v = inputs
    values_alone = vmap(kernel, in_dims=(None, None, 0, None))(q[0], k[0], v, masks[0])
    assert_close(values_alone, torch.stack([kernel(q[0], k[0], x, masks[0]) for x in v]))


@each
def test_gradients_of_each_sample(name: str) -> None:
    kernel, (inputs, masks) = ALL[name], torch_samples()

    def loss(*x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = kernel(*x).pow(3).sum()
        return result

    ours = vmap(grad(loss, argnums=(0, 1, 2)))(*inputs, masks)
    for i in range(3):
        one = [x[i].clone().requires_grad_() for x in inputs]
        assert_close(tuple(g[i] for g in ours), torch.autograd.grad(loss(*one, masks[i]), one))


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")  # array_api_compat's
@each
def test_graphs(name: str) -> None:
    kernel, (inputs, masks) = ALL[name], torch_samples()
    arguments = (*(x[0, 0] for x in inputs), masks[0])

    class Module(torch.nn.Module):
        def forward(self, *x: torch.Tensor) -> Any:
            return kernel(*x)

    expected = kernel(*arguments)
    assert_close(torch.compile(Module(), fullgraph=True, backend="eager")(*arguments), expected)
    assert_close(torch.export.export(Module(), arguments).module()(*arguments), expected)


@each
def test_shapes_without_numbers(name: str) -> None:
    kernel, (inputs, masks) = ALL[name], torch_samples()
    arguments = (*(x[0] for x in inputs), masks[0])
    shape = kernel(*arguments).shape
    assert kernel(*(x.to("meta") for x in arguments)).shape == shape
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert kernel(*arguments).shape == shape


@each
def test_jax(name: str) -> None:
    kernel, (arrays, masks) = ALL[name], samples()
    few = [x[:2, 0] for x in arrays]
    expected = [kernel(*(x[i] for x in few), masks[i]) for i in range(2)]
    with jax.enable_x64(True):
        inputs = [jax.numpy.asarray(x) for x in (*few, masks[:2])]
        assert_allclose(jax.jit(jax.vmap(kernel))(*inputs), expected, rtol=1e-9)


@each
def test_dask(name: str) -> None:
    kernel, (arrays, masks) = ALL[name], samples()
    few = (*(x[0, 0] for x in arrays), masks[0])
    ours = kernel(*(dask.array.from_array(x, chunks=2) for x in few))
    assert_allclose(ours.compute(), kernel(*few), rtol=1e-9)


@pytest.mark.parametrize("transform", [test_vmap, test_graphs, test_jax])
def test_a_branch_on_data_is_found(transform: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    def branch(q: Any, k: Any, v: Any, mask: Any) -> Any:
        return v if bool(mask[0]) else 2 * v

    monkeypatch.setitem(ALL, "branch", branch)
    with pytest.raises((RuntimeError, jax.errors.TracerBoolConversionError)):
        transform("branch")


def test_gradcheck() -> None:
    q, k, v = (torch.tensor(x, requires_grad=True) for x in random((2, 3, 3), (4, 3), (4, 2)))
    rows = torch.tensor([[True, True, False, True], [False] * 4, [True] * 4])
    for name in ("streaming", "causal", "window"):
        assert torch.autograd.gradcheck(lambda *x, f=ALL[name]: f(*x, rows), (q, k, v))
    for name in ("linear", "causal linear", "low rank"):
        assert torch.autograd.gradcheck(lambda *x, f=ALL[name]: f(*x, torch.tensor(PADDING)), (q, k, v))
    assert torch.autograd.gradgradcheck(lambda *x: ALL["streaming"](*x, rows), (q[:1], k, v))


# -- torch.autocast ----------------------------------------------------------------------------------


@each
def test_autocast_is_that_of_torchs_own_attention(name: str) -> None:
    inputs = [torch.tensor(x, dtype=torch.float32) for x in random((2, 6, 3), (2, 4, 3), (2, 4, 2))]
    exact = ALL[name](*inputs, torch.tensor(PADDING))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        q, k, v = inputs
        theirs = scaled_dot_product_attention(q, k, v)
        ours = ALL[name](*inputs, torch.tensor(PADDING))
    assert theirs.dtype == torch.bfloat16
    assert ours.dtype == (torch.float32 if name == "part" else torch.bfloat16)
    assert_close(ours.float(), exact, rtol=0.05, atol=0.05)


def test_parts_stay_float32_under_autocast() -> None:
    """In bfloat16 a sum of ones stops at 256."""
    q, v = torch.zeros(1, 1), torch.arange(400.0).remainder(2)[:, None]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        *_, last = streaming_ledger(q, torch.zeros(400, 1), v, tile_k=1)
        assert [x.dtype for x in (*last.tile, *last.merged)] == [torch.float32] * 6
        assert last.merged.l == 400
        assert streaming_attention(q, torch.zeros(400, 1), v, tile_k=1) == 0.5


# -- what is blocked changes nothing ---------------------------------------------------------------


def naive(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """Attention as it is often written: a weight of 0 does not silence a NaN."""
    q, k, v, mask = map(torch.as_tensor, (q, k, v, mask))
    return torch.softmax((q @ k.mT).masked_fill(~mask, -torch.inf), -1) @ v


def poison_changes_no_output(kernel: Kernel, dtype: str) -> None:
    q, k, v = (x.astype(dtype) for x in random((2, 4, 3), (2, 4, 3), (2, 4, 2)))
    clean = kernel(q, k, v, PADDING)
    for poison in (*POISON, np.finfo(dtype).max):
        bad_k, bad_v = k.copy(), v.copy()
        with np.errstate(over="ignore"):
            bad_k[:, 3], bad_v[:, 3] = poison, poison
        assert_array_equal(kernel(q, bad_k, bad_v, PADDING), clean)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble"])
@each_masked
def test_what_is_hidden_from_all_changes_no_output(name: str, dtype: str) -> None:
    poison_changes_no_output(KERNELS[name], dtype)


@pytest.mark.parametrize("name", ["streaming", "causal", "part", "window", "causal linear"])
def test_what_some_may_see_changes_no_output_of_the_others(name: str) -> None:
    rows = np.tri(4, dtype=bool)
    mask = None if name in ("causal", "causal linear") else rows
    q, k, v = random((2, 4, 3), (2, 4, 3), (2, 4, 2))
    clean = KERNELS[name](q, k, v, mask)
    for poison in POISON:
        bad_k, bad_v = k.copy(), v.copy()
        bad_k[:, 2], bad_v[:, 2] = poison, poison
        with np.errstate(invalid="ignore", over="ignore"):  # whoever may see them may fail
            ours = KERNELS[name](q, bad_k, bad_v, mask)
        assert_array_equal(ours[:, :2], clean[:, :2])
    bad_v[:, 2] = np.nan
    with np.errstate(invalid="ignore"):
        assert np.all(np.isnan(KERNELS[name](q, k, bad_v, mask)[:, 2:])), "an allowed NaN must stay visible"


def poison_changes_no_gradient(kernel: Kernel) -> None:
    def gradients(*arrays: np.ndarray) -> list[torch.Tensor]:
        inputs = [torch.tensor(x, requires_grad=True) for x in arrays]
        return list(torch.autograd.grad(kernel(*inputs, torch.tensor(PADDING)).pow(3).sum(), inputs))

    q, k, v = random((2, 4, 3), (2, 4, 3), (2, 4, 2))
    clean = gradients(q, k, v)
    assert torch.all(clean[1][:, 3] == 0)
    for poison in POISON:
        bad_k, bad_v = k.copy(), v.copy()
        bad_k[:, 3], bad_v[:, 3] = poison, poison
        assert_close(gradients(q, bad_k, bad_v), clean, rtol=0, atol=0)


@each_masked
def test_what_is_hidden_from_all_changes_no_gradient(name: str) -> None:
    poison_changes_no_gradient(KERNELS[name])


def test_a_leak_is_seen() -> None:
    with pytest.raises(AssertionError):
        poison_changes_no_output(naive, "float64")
    with pytest.raises(AssertionError):
        poison_changes_no_gradient(naive)


# -- tiles in the future ---------------------------------------------------------------------------


def operations(**options: Any) -> int:
    (x,) = random((16, 2))
    with FlopCounterMode(display=False) as counter:
        streaming_attention(*[torch.tensor(x)] * 3, tile_q=2, tile_k=2, **options)
    return int(counter.get_total_flops())


def test_tiles_of_the_future_are_left_out() -> None:
    """8 × 8 tiles, of which 1 + 2 + ... + 8 = 36 are not in the future of all their queries."""
    whole = operations()
    assert 36 / 64 <= operations(causal=True) / whole < 40 / 64
    assert operations(mask=causal_mask(16, like=torch.ones(1))) >= whole, "a mask alone leaves out nothing"


# -- memory: what is allocated beyond inputs and the output, which is held twice --------------------


def numpy_extra(function: Kernel, arrays: Sequence[np.ndarray]) -> int:
    """Return the bytes that `function` holds at its worst."""
    peaks = []
    for _ in range(3):  # the least of three: Python itself keeps a few objects more or less
        tracemalloc.start()
        try:
            output = function(*arrays)
            peaks.append(tracemalloc.get_traced_memory()[1] - 2 * output.nbytes)
        finally:
            tracemalloc.stop()
    return min(peaks)


class Living(TorchDispatchMode):
    """Count the bytes of all tensors that torch makes and that are still alive."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for x in made if isinstance(made, tuple | list) else [made]:
            if isinstance(x, torch.Tensor) and not func.is_view and not any(x is arg for arg in args):
                self.now += x.nbytes
                self.peak = max(self.peak, self.now)
                weakref.finalize(x, self.release, x.nbytes)
        return made

    def release(self, n_bytes: int) -> None:
        self.now -= n_bytes


def torch_extra(function: Kernel, arrays: Sequence[np.ndarray]) -> int:
    """Return the bytes that `function` holds at its worst."""
    inputs = [torch.tensor(x) for x in arrays]
    with Living() as living:
        output = function(*inputs)
    return int(living.peak - 2 * output.nbytes)


EXTRA = {"numpy": numpy_extra, "torch": torch_extra}
FLAT: dict[str, Kernel] = {
    "streaming": lambda q, k, v: streaming_attention(q, k, v, tile_q=64, tile_k=128),
    "causal": lambda q, k, v: streaming_attention(q, k, v, causal=True, tile_q=64, tile_k=128),
    "window": lambda q, k, v: sliding_window_attention(q, k, v, window=32, causal=True, tile=64),
    "linear": lambda q, k, v: linear_attention(q, k, v, feature_map=elu_plus_one, tile=64),
    "causal linear": lambda q, k, v: linear_attention(
        q, k, v, feature_map=elu_plus_one, causal=True, tile=64
    ),
}
GROWING: dict[str, Kernel] = {
    "all scores": lambda q, k, v: attend(q, k, v).output,
    "one tile": lambda q, k, v: streaming_attention(q, k, v, tile_q=64, tile_k=k.shape[-2]),
    "all parts kept": lambda q, k, v: list(streaming_ledger(q, k, v, tile_k=128))[-1].merged.output,
}


def is_flat(function: Kernel, extra: Callable[..., int]) -> None:
    """Check that twice as long a sequence needs no more memory beyond inputs and output."""
    short, twice = (extra(function, random(*[(2, n, 8)] * 3)) for n in (512, 1024))
    assert short > 0
    assert twice <= 1.1 * short, f"{short} bytes for n = 512, {twice} for n = 1024"


@pytest.mark.parametrize("library", EXTRA)
@pytest.mark.parametrize("kernel", FLAT)
def test_memory_is_flat_as_n_doubles(kernel: str, library: str) -> None:
    is_flat(FLAT[kernel], EXTRA[library])


@pytest.mark.parametrize("library", EXTRA)
@pytest.mark.parametrize("kernel", GROWING)
def test_growing_memory_is_seen(kernel: str, library: str) -> None:
    with pytest.raises(AssertionError, match="bytes for n = 512"):
        is_flat(GROWING[kernel], EXTRA[library])
