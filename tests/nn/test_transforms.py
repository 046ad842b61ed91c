"""What torch makes of the modules: batches, gradients of each sample, graphs, shapes alone, bfloat16."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from onnx.reference import ReferenceEvaluator
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call, grad, vmap
from torch.testing import assert_close
from torch.utils._pytree import tree_leaves

from attention_core import attend, causal_mask
from attention_core.nn import (
    AdditiveAttention,
    AttentionOnly,
    DecoderBlock,
    EncoderBlock,
    EncoderDecoder,
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


# The blocks' parts are compiled inside of them: reading a module takes seconds.
@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")  # array_api_compat's
@pytest.mark.parametrize("name", ["heads", "additive, mask", "decoder", "attention only"])
def test_compiled_whole(name: str) -> None:
    case, module = CASES[name], made(CASES[name])
    compiled = torch.compile(module, fullgraph=True, backend="eager")
    assert_close(compiled(*case.inputs, **case.masks), module(*case.inputs, **case.masks))


@each_case
def test_exported_whole(case: Case) -> None:
    module = made(case)
    exported = torch.export.export(module, case.inputs, case.masks).module()
    assert_close(exported(*case.inputs, **case.masks), module(*case.inputs, **case.masks))


@each_case
def test_shapes_without_numbers(case: Case) -> None:
    module = made(case)
    expected = shapes(module(*case.inputs, **case.masks))
    masks = {name: mask.to("meta") for name, mask in case.masks.items()}
    assert shapes(copy.deepcopy(module).to("meta")(*(x.to("meta") for x in case.inputs), **masks)) == expected
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert shapes(module(*case.inputs, **case.masks)) == expected


# -- TorchScript and the exporter that is built on it ----------------------------------------------


class OutputOnly(nn.Module):
    """Two heads, with the output alone: TorchScript knows no NamedTuple that torch did not make."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.heads = MultiHeadAttention(D, 2)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.heads(x, mask=mask).output


outdated = pytest.mark.filterwarnings(
    "ignore:`torch.jit.trace:DeprecationWarning",
    "ignore:You are using the legacy TorchScript-based ONNX export:DeprecationWarning",
    "ignore:The feature will be removed:DeprecationWarning",
    "ignore:Converting a tensor to a Python:torch.jit.TracerWarning",  # our checks look at shapes
)


@outdated
def test_a_traced_module_takes_other_lengths() -> None:
    module, (x, longer) = OutputOnly(), (X.float(), torch.randn(2, 9, D))
    traced = torch.jit.trace(module, (x, CAUSAL))
    for each in (x, longer):
        mask = causal_mask(each.shape[1], like=each)
        assert_close(traced(each, mask), module(each, mask))


@outdated
def test_the_legacy_exporter_writes_onnx(tmp_path: Path) -> None:
    module, file = OutputOnly(), tmp_path / "heads.onnx"
    axes = {"x": {0: "batch", 1: "n"}, "mask": {0: "n", 1: "n"}}
    torch.onnx.export(
        module, (X.float(), CAUSAL), file, dynamo=False, input_names=list(axes), dynamic_axes=axes
    )
    longer, mask = torch.randn(2, 9, D), causal_mask(9, like=X)
    (output,) = ReferenceEvaluator(str(file)).run(None, {"x": longer.numpy(), "mask": mask.numpy()})
    assert_close(torch.tensor(output), module(longer, mask).detach())


# -- bfloat16 where torch's own layers use it --------------------------------------------------------

TINY: Any = {"batch_first": True, "norm_first": True, "dropout": 0.0}


def pairs() -> dict[str, tuple[nn.Module, nn.Module]]:
    torch.manual_seed(0)
    heads = nn.MultiheadAttention(D, 2, batch_first=True)
    encoder, decoder = (
        nn.TransformerEncoderLayer(D, 2, 8, **TINY),
        nn.TransformerDecoderLayer(D, 2, 8, **TINY),
    )
    return {
        "heads": (MultiHeadAttention.from_torch(heads), heads),
        "encoder": (EncoderBlock.from_torch(encoder), encoder),
        "decoder": (DecoderBlock.from_torch(decoder), decoder),
    }


def close(ours: Tensor, theirs: Tensor) -> None:
    assert_close(
        ours, theirs, rtol=2**-5, atol=2**-5
    )  # bfloat16 has 8 binary digits; the dtype must be equal


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("mask", [None, CAUSAL], ids=["no mask", "mask"])
def test_autocast_as_in_torch(mask: Tensor | None, dtype: torch.dtype) -> None:
    x, memory = X.to(dtype), MEMORY.to(dtype)
    blocked = None if mask is None else ~mask
    models = pairs()
    with torch.autocast("cpu", torch.bfloat16):
        ours, theirs = models["heads"]
        steps = ours(x, memory, mask=mask)
        output, weights = theirs(x, memory, memory, attn_mask=blocked, average_attn_weights=False)
        close(steps.output, output)
        close(steps.weights, weights)
        assert {step.dtype for step in steps} == {torch.bfloat16}
        ours, theirs = models["encoder"]
        close(ours(x, mask=mask), theirs(x, src_mask=blocked))
        ours, theirs = models["decoder"]
        close(ours(x, memory, mask=mask), theirs(x, memory, tgt_mask=blocked))


def test_autocast_of_what_torch_has_not() -> None:
    torch.manual_seed(0)
    words = (
        torch.tensor([[1, 2, 3, 4], [1, 2, 0, 0]]),
        torch.tensor([4, 2]),
        torch.tensor([[0, 1, 2], [0, 3, 3]]),
    )
    modules: dict[str, tuple[nn.Module, tuple[Tensor, ...]]] = {
        "additive": (AdditiveAttention(D, D, 5), (X.float(), MEMORY.float())),
        "feed forward": (FeedForward(D, 8), (X.float(),)),
        "attention only": (AttentionOnly(5, D, 2, 2, N), (words[0],)),
        "encoder and decoder": (EncoderDecoder(5, 5, 4, AdditiveAttention(4, 4, 4)), words),
        "encoder and decoder, products": (EncoderDecoder(5, 5, 4, attend), words),
    }
    for name, (module, inputs) in modules.items():
        exact = module(*inputs)
        with torch.autocast("cpu", torch.bfloat16):
            found = module(*inputs)
        for part, precise in zip(tree_leaves(found), tree_leaves(exact), strict=True):
            assert part.dtype == torch.bfloat16, name
            assert_close(part.float(), precise, rtol=2**-4, atol=2**-4)
