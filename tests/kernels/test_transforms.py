"""What libraries make of the kernels: batches, gradients, graphs, shapes alone, bfloat16, little memory."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import dask.array
import jax
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import grad, vmap
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from attention_core import (
    additive_scores,
    attend,
    attention_scores,
    causal_mask,
    gaussian_scores,
    rotary_positions,
    softmax,
    weigh,
)

pytestmark = pytest.mark.slow

BATCH, N, D = 3, 4, 6
Kernel = Callable[..., Any]


def of_scores(q: Any, k: Any, v: Any, mask: Any) -> Any:
    return weigh(gaussian_scores(q, k), v, mask=mask)


KERNELS: dict[str, Kernel] = {
    "attend": lambda q, k, v, mask: attend(q, k, v),
    "attend, mask": lambda q, k, v, mask: attend(q, k, v, mask=mask),
    "weigh, mask": of_scores,
    "attention_scores": lambda q, k, v, mask: attention_scores(q, k),
    "additive_scores": lambda q, k, v, mask: additive_scores(q, k, k.T, k.T, k[:, 0]),
    "rotary_positions": lambda q, k, v, mask: rotary_positions(q),
    "softmax": lambda q, k, v, mask: softmax(q),
}
each = pytest.mark.parametrize("name", KERNELS)


def samples(seed: int = 0) -> tuple[list[np.ndarray], np.ndarray]:
    """Return q, k, v (batch, n, d) and masks (batch, n, n); one query of the first may see nothing."""
    rng = np.random.default_rng(seed)
    mask = rng.random((BATCH, N, N)) < 0.6
    mask[0, 1] = False
    return list(rng.standard_normal((3, BATCH, N, D))), mask


def tensors() -> tuple[list[Tensor], Tensor]:
    arrays, mask = samples()
    return [torch.tensor(x) for x in arrays], torch.tensor(mask)


def listed(steps: Any) -> list[Any]:
    return list(steps) if isinstance(steps, tuple) else [steps]


def loss(steps: Any) -> Tensor:
    """Return one number that every step changes; -inf is none."""
    return torch.stack([torch.where(x.isinf(), 0.0, x).pow(3).sum() for x in listed(steps)]).sum()


@each
def test_vmap_is_one_sample_after_the_other(name: str) -> None:
    kernel, (x, mask) = KERNELS[name], tensors()
    ours = listed(vmap(kernel)(*x, mask))
    for i in range(BATCH):
        assert_close([step[i] for step in ours], listed(kernel(*(y[i] for y in x), mask[i])))


@each
def test_gradients_of_each_sample(name: str) -> None:
    kernel, (x, mask) = KERNELS[name], tensors()
    ours = vmap(grad(lambda *inputs: loss(kernel(*inputs))))(*x, mask)
    for i in range(BATCH):
        q = x[0][i].clone().requires_grad_()
        loss(kernel(q, x[1][i], x[2][i], mask[i])).backward()
        assert_close(ours[i], q.grad)


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")  # array_api_compat's
@each
def test_compiled_whole(name: str) -> None:
    kernel, (x, mask) = KERNELS[name], tensors()
    inputs = [*(y[0] for y in x), mask[0]]
    compiled = torch.compile(kernel, fullgraph=True, backend="eager")
    assert_close(listed(compiled(*inputs)), listed(kernel(*inputs)))


class Module(torch.nn.Module):
    """A kernel as a module, for what takes modules only."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.kernel = kernel

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Any:
        return tuple(listed(self.kernel(q, k, v, mask)))


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")
@each
def test_exported_whole(name: str) -> None:
    kernel, (x, mask) = KERNELS[name], tensors()
    inputs = (*(y[0] for y in x), mask[0])
    exported = torch.export.export(Module(kernel), inputs).module()
    assert_close(list(exported(*inputs)), listed(kernel(*inputs)))


@each
def test_shapes_without_numbers(name: str) -> None:
    kernel, (x, mask) = KERNELS[name], tensors()
    inputs = [*(y[0] for y in x), mask[0]]
    expected = [step.shape for step in listed(kernel(*inputs))]
    assert [s.shape for s in listed(kernel(*(y.to("meta") for y in inputs)))] == expected
    with FakeTensorMode() as mode:
        fake = [mode.from_tensor(y) for y in inputs]
        assert [s.shape for s in listed(kernel(*fake))] == expected


@pytest.mark.filterwarnings("ignore:`torch.jit.trace:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("name", ["attend", "attend, mask"])
def test_a_trace_is_the_kernel(name: str) -> None:
    (x, mask), kernel = tensors(), KERNELS[name]
    inputs = (*(y[0] for y in x), mask[0])
    others = (*(y[1] for y in x), mask[1])
    traced = torch.jit.trace(Module(kernel), inputs, check_trace=False)
    assert_close(list(traced(*others)), listed(kernel(*others)))


@each
def test_jax_jit_and_vmap(name: str) -> None:
    kernel, (arrays, mask) = KERNELS[name], samples()
    with jax.enable_x64(True):
        inputs = [jax.numpy.asarray(x) for x in (*arrays, mask)]
        batch = listed(jax.jit(jax.vmap(kernel))(*inputs))
    for i in range(BATCH):
        for ours, expected in zip(batch, listed(kernel(*(x[i] for x in arrays), mask[i])), strict=True):
            assert_allclose(np.asarray(ours[i]), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["attend", "attend, mask", "attention_scores"])
def test_dask(name: str) -> None:
    kernel, (arrays, mask) = KERNELS[name], samples()
    ours = listed(
        kernel(*(dask.array.from_array(x[0], chunks=2) for x in arrays), dask.array.from_array(mask[0]))
    )
    for step, expected in zip(ours, listed(kernel(*(x[0] for x in arrays), mask[0])), strict=True):
        assert_allclose(step.compute(), expected, rtol=1e-12)


def test_a_branch_on_data_would_be_seen() -> None:
    def branches(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        return q if mask.any() else k

    kernel: Kernel = branches
    x, mask = tensors()
    with pytest.raises(RuntimeError, match=r"data-dependent|vmap"):
        vmap(kernel)(*x, mask)


# -- precision and memory --------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
def test_autocast_gives_what_sdpa_gives(masked: bool) -> None:
    x, mask = tensors()
    q, k, v = (y.float() for y in x)
    allowed = mask | torch.eye(N, dtype=torch.bool) if masked else None
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ours = attend(q, k, v, mask=allowed).output
        theirs = scaled_dot_product_attention(q, k, v, attn_mask=allowed)
    assert ours.dtype == theirs.dtype == torch.bfloat16
    assert_close(ours.float(), theirs.float(), atol=0.03, rtol=0.03)


def test_scores_that_overflow_float16_are_no_nan() -> None:
    x = torch.full((1, 2, 4), 300.0, dtype=torch.float16)
    assert_close(attend(x, x, x).output, scaled_dot_product_attention(x, x, x))
    assert attend(x, x, x).output.unique().tolist() == [300.0]


def test_shapes_never_depend_on_values() -> None:
    (q, k, v), mask = samples()
    bad = k.copy()
    bad[0, 1, 0] = np.nan
    clean, spoiled = (attend(q, keys, v, mask=mask[0]) for keys in (k, bad))
    assert [x.shape for x in clean] == [x.shape for x in spoiled]
    others = np.ones((BATCH, N, N), bool)
    others[0, :, 1] = False
    assert_array_equal(clean.scores[others], spoiled.scores[others])  # all but the cells of that key


def peak(k: np.ndarray, mask: np.ndarray) -> int:
    """Return the most memory that one call holds."""
    tracemalloc.start()
    try:
        attend(k, k, k, mask=mask)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_one_large_key_costs_no_copies() -> None:
    k = np.random.default_rng(0).standard_normal((256, 16)).astype(np.float16)
    mask, large = causal_mask(256), k.copy()
    large[100, 0] = 300.0
    assert peak(large, mask) < 1.1 * peak(k, mask)
    each_its_own = k[None] * mask[..., None]  # what copies for each query would take
    assert each_its_own.nbytes > peak(k, mask)
