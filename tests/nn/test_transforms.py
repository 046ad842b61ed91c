"""What torch makes of the modules: batches, gradients of each sample, graphs, shapes alone, bfloat16."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call, grad, vmap
from torch.testing import assert_close

from attention_core import causal_mask
from attention_core.nn import (
    AdditiveAttention,
    AttentionOnly,
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    MultiHeadAttention,
)

BATCH, N, D = 3, 4, 6
X, MEMORY = torch.randn(2, BATCH, N, D, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
CAUSAL = causal_mask(N, like=X)


class Case(NamedTuple):
    """A module, what it takes, with the batch first, and its masks: one for all samples."""

    make: Callable[[], nn.Module]
    inputs: tuple[Tensor, ...]
    masks: dict[str, Tensor]


CASES = {
    "heads": Case(lambda: MultiHeadAttention(D, 2), (X,), {}),
    "heads, mask": Case(lambda: MultiHeadAttention(D, 2), (X, MEMORY), {"mask": CAUSAL}),
    "additive, mask": Case(lambda: AdditiveAttention(D, D, 5), (X, MEMORY), {"mask": CAUSAL}),
    "feed forward": Case(lambda: FeedForward(D, 8), (X,), {}),
    "encoder": Case(lambda: EncoderBlock(D, 2, 8), (X,), {"mask": CAUSAL}),
    "decoder": Case(lambda: DecoderBlock(D, 2, 8), (X, MEMORY), {"mask": CAUSAL, "memory_mask": CAUSAL}),
    "attention only": Case(lambda: AttentionOnly(5, D, 2, 2, N), (torch.arange(12).reshape(3, N) % 5,), {}),
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def made(case: Case) -> nn.Module:
    torch.manual_seed(0)
    return case.make().double()


def shapes(steps: Any) -> Any:
    return tuple(steps.shape) if isinstance(steps, Tensor) else [shapes(step) for step in steps]


@each_case
def test_vmap_is_a_batch(case: Case) -> None:
    module = made(case)
    assert_close(vmap(lambda *x: module(*x, **case.masks))(*case.inputs), module(*case.inputs, **case.masks))


def test_vmap_over_masks() -> None:
    module, masks = MultiHeadAttention(D, 2).double(), torch.rand(BATCH, N, N) < 0.6
    ours = vmap(lambda x, mask: module(x, mask=mask))(X, masks)
    assert_close(ours, module(X, mask=masks[:, None]))


def loss(steps: Any) -> Tensor:
    """Return one number that every output of a module changes; -inf is none."""
    if isinstance(steps, Tensor):
        return torch.where(steps.isinf(), 0.0, steps).pow(3).sum()
    return torch.stack([loss(step) for step in steps]).sum()


@each_case
def test_gradients_of_each_sample(case: Case) -> None:
    module = made(case)
    parameters = {name: p.detach() for name, p in module.named_parameters()}

    def of_one(parameters: dict[str, Tensor], *x: Tensor) -> Tensor:
        return loss(functional_call(module, parameters, x, case.masks))

    ours = vmap(grad(of_one), in_dims=(None, *[0] * len(case.inputs)))(parameters, *case.inputs)
    for i in range(BATCH):
        module.zero_grad()
        loss(module(*(x[i] for x in case.inputs), **case.masks)).backward()
        for name, p in module.named_parameters():
            assert_close(ours[name][i], p.grad, msg=f"{name} of sample {i}")


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")  # array_api_compat's
@each_case
def test_compiled_and_exported_graphs(case: Case) -> None:
    module = made(case)
    expected = module(*case.inputs, **case.masks)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    assert_close(compiled(*case.inputs, **case.masks), expected)
    exported = torch.export.export(module, case.inputs, case.masks)
    assert_close(exported.module()(*case.inputs, **case.masks), expected)


@each_case
def test_shapes_without_numbers(case: Case) -> None:
    module = made(case)
    expected = shapes(module(*case.inputs, **case.masks))
    masks = {name: mask.to("meta") for name, mask in case.masks.items()}
    assert shapes(copy.deepcopy(module).to("meta")(*(x.to("meta") for x in case.inputs), **masks)) == expected
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert shapes(module(*case.inputs, **case.masks)) == expected
