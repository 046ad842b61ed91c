"""Tests of the torch module: torch's own is the oracle, with the same parameters."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attention_core import causal_mask, multi_head, padding_mask
from attention_core.nn import MultiHeadAttention

D_MODEL, N_HEADS = 6, 3
PADDING = padding_mask(torch.tensor([4, 2]), 4)  # (batch, 1, n_k)


def pair(**options: Any) -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    """Return our module and torch's own with the same random parameters, biases too."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True, dtype=torch.float64, **options)
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    return MultiHeadAttention.from_torch(theirs), theirs


def inputs(*shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [
        torch.randn(shape, dtype=torch.float64, generator=generator, requires_grad=True) for shape in shapes
    ]


def same(ours: Tensor, theirs: Tensor) -> None:
    # atol: a bias of the keys shifts all scores of a row alike, so its gradient is 0 but for rounding
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-10)


Shapes = list[tuple[int, ...]]
SELF: Shapes = [(2, 4, D_MODEL)]
CROSS: Shapes = [(2, 3, D_MODEL), (2, 4, D_MODEL), (2, 4, D_MODEL)]

CASES: dict[str, tuple[Shapes, Tensor | None, dict[str, Tensor]]] = {
    "self": (SELF, None, {}),
    "cross": (CROSS, None, {}),
    "keys are values": (CROSS[:2], None, {}),
    "one sequence": ([(4, D_MODEL)], None, {}),
    "causal": (SELF, causal_mask(4, like=PADDING), {"attn_mask": ~causal_mask(4, like=PADDING)}),
    "padding": (SELF, PADDING[:, None], {"key_padding_mask": ~PADDING[:, 0]}),
    "cross with padding": (CROSS, PADDING[:, None], {"key_padding_mask": ~PADDING[:, 0]}),
    "causal and padding": (
        SELF,
        PADDING[:, None] & causal_mask(4, like=PADDING),
        {"attn_mask": ~causal_mask(4, like=PADDING), "key_padding_mask": ~PADDING[:, 0]},
    ),
}


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize(("shapes", "mask", "masks"), CASES.values(), ids=CASES.keys())
def test_equal_to_torchs_own(
    shapes: Shapes, mask: Tensor | None, masks: dict[str, Tensor], bias: bool
) -> None:
    ours, theirs = pair(bias=bias)
    our_inputs, their_inputs = inputs(*shapes), inputs(*shapes)
    heads = ours(*our_inputs, mask=mask)
    query, key, value = (their_inputs * 3 if len(shapes) == 1 else [*their_inputs, their_inputs[-1]])[:3]
    output, weights = theirs(query, key, value, average_attn_weights=False, **masks)
    same(heads.output, output)
    same(heads.weights, weights)

    (heads.output**3).sum().backward()
    (output**3).sum().backward()
    for x, y in zip(our_inputs, their_inputs, strict=True):
        same(gradient(x), gradient(y))
    projections = (ours.w_q, ours.w_k, ours.w_v)
    same(torch.cat([gradient(w.weight) for w in projections]), gradient(theirs.in_proj_weight))
    same(gradient(ours.w_o.weight), gradient(theirs.out_proj.weight))
    if bias:
        same(torch.cat([gradient(w.bias) for w in projections]), gradient(theirs.in_proj_bias))
        same(gradient(ours.w_o.bias), gradient(theirs.out_proj.bias))


def gradient(x: Any) -> Tensor:
    assert x.grad is not None
    return x.grad


def test_equal_to_the_function_multi_head() -> None:
    ours, _ = pair(bias=False)
    x, y = (x.detach() for x in inputs((2, 3, D_MODEL), (2, 4, D_MODEL)))
    w = [linear.weight.T.detach().numpy() for linear in (ours.w_q, ours.w_k, ours.w_v, ours.w_o)]
    mask = np.random.default_rng(0).random((2, N_HEADS, 3, 4)) < 0.7
    expected = multi_head(x.numpy(), y.numpy(), w[0], w[1], w[2], w[3], n_heads=N_HEADS, mask=mask)
    for step, theirs in zip(ours(x, y, mask=torch.tensor(mask)), expected, strict=True):
        same(step.detach(), torch.tensor(theirs))


def test_a_query_without_keys_gets_the_bias_alone() -> None:
    ours, _ = pair()
    (x,) = inputs(*SELF)
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[1] = False
    heads = ours(x, mask=mask)
    same(heads.weights[..., 1, :], torch.zeros(2, N_HEADS, 4, dtype=torch.float64))
    same(heads.output[:, 1], ours.w_o.bias.expand(2, D_MODEL))
    heads.output.sum().backward()
    assert all(bool(torch.isfinite(gradient(p)).all()) for p in ours.parameters())


def test_padding_that_is_not_a_number_changes_nothing() -> None:
    ours, _ = pair()
    clean, bad = inputs(*SELF), inputs(*SELF)
    with torch.no_grad():
        bad[0][1, 2:] = torch.nan
    real = PADDING[:, 0]  # (batch, n): the rows that are not padding
    results = []
    for (x,) in (clean, bad):
        heads = ours(x[:, :2], x, mask=PADDING[:, None])
        heads.output.sum().backward()
        results.append((heads.output, heads.weights, gradient(x)[real]))
    for a, b in zip(*results, strict=True):
        same(a, b)


def test_dropout_meets_the_values_in_training_alone() -> None:
    ours, _ = pair(dropout=0.5)
    (x,) = inputs(*SELF)

    def output_of(weights: Tensor) -> Tensor:
        v = ours.w_v(x).unflatten(-1, (N_HEADS, -1)).transpose(1, 2)
        return ours.w_o((weights @ v).transpose(1, 2).flatten(-2))

    still = ours.eval()(x)
    same(still.output, output_of(still.weights))
    torch.manual_seed(3)
    noisy = ours.train()(x)
    same(noisy.weights, still.weights)
    torch.manual_seed(3)
    same(noisy.output, output_of(nn.functional.dropout(still.weights, 0.5)))
    assert not torch.allclose(noisy.output, still.output)


def test_no_dropout_uses_no_random_numbers() -> None:
    ours, _ = pair()
    (x,) = inputs(*SELF)
    before = torch.get_rng_state()
    ours.train()(x)
    assert torch.equal(torch.get_rng_state(), before)


def test_all_weights_dropped() -> None:
    ours = MultiHeadAttention(4, 2, dropout=1.0)
    same(ours(torch.ones(3, 4)).output, ours.w_o.bias.expand(3, 4))


def test_one_path_for_any_leading_axes() -> None:
    ours, _ = pair()
    (x,) = inputs((2, 5, 4, D_MODEL))
    heads = ours(x)
    assert heads.weights.shape == (2, 5, N_HEADS, 4, 4)
    same(heads.output[1, 3], ours(x[1, 3]).output)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_dtype_is_that_of_the_parameters(dtype: torch.dtype) -> None:
    ours, _ = pair()
    (x,) = inputs(*SELF)
    exact = ours(x).output
    heads = ours.to(dtype)(x.to(dtype), mask=PADDING[:, None])
    assert {step.dtype for step in heads} == {dtype}
    close = ours(x.to(dtype)).output.double()
    torch.testing.assert_close(close, exact, rtol=0.1, atol=0.3 if dtype == torch.bfloat16 else 0.05)


def test_parameters_are_copied_not_shared() -> None:
    ours, theirs = pair(dropout=0.25)
    assert (ours.d_model, ours.n_heads, ours.dropout.p) == (D_MODEL, N_HEADS, 0.25)
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.parameters())
    with torch.no_grad():
        theirs.in_proj_weight.zero_()
    assert ours.w_q.weight.abs().sum() > 0
    assert ours.w_q.weight.dtype == torch.float64
    assert all(p.requires_grad for p in ours.parameters())
    assert ours.training
    assert not MultiHeadAttention.from_torch(theirs.eval()).training
    assert MultiHeadAttention.from_torch(nn.MultiheadAttention(4, 2, device="meta")).w_q.weight.is_meta


def test_state_can_be_saved_and_loaded() -> None:
    ours, _ = pair()
    other = MultiHeadAttention(D_MODEL, N_HEADS).double()
    other.load_state_dict(ours.state_dict())
    (x,) = inputs(*SELF)
    same(other(x).output, ours(x).output)
    same(copy.deepcopy(ours)(x).output, ours(x).output)


HALF: Any = 0.5  # Any: wrong on purpose
TEXT: Any = "0.1"
MODEL = MultiHeadAttention(4, 2)
X, B = torch.ones(3, 4), torch.ones(2, 3, 4)
NUMPY: Any = np.ones((3, 4), np.float32)

ERRORS: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "d_model float": (
        TypeError,
        lambda: MultiHeadAttention(HALF, 2),
        r"d_model must be an integer, got float",
    ),
    "d_model 0": (ValueError, lambda: MultiHeadAttention(0, 1), r"d_model must be at least 1, got 0"),
    "n_heads": (
        ValueError,
        lambda: MultiHeadAttention(6, 4),
        r"divide d_model = 6 \(one of \[1, 2, 3, 6\]\), got 4",
    ),
    "n_heads float": (
        TypeError,
        lambda: MultiHeadAttention(4, HALF),
        r"n_heads must be an integer, got float",
    ),
    "dropout str": (
        TypeError,
        lambda: MultiHeadAttention(4, 2, dropout=TEXT),
        r"dropout must be a number, got str",
    ),
    "dropout nan": (
        ValueError,
        lambda: MultiHeadAttention(4, 2, dropout=np.nan),
        r"dropout must be finite, got nan",
    ),
    "dropout 2": (
        ValueError,
        lambda: MultiHeadAttention(4, 2, dropout=2),
        r"dropout must be from 0 to 1, got 2",
    ),
    "numpy": (TypeError, lambda: MODEL(NUMPY), r"one library, got query numpy, .*parameters torch"),
    "list": (TypeError, lambda: MODEL([[1.0]]), r"query must be an array .*got list"),
    "integers": (TypeError, lambda: MODEL(X.long()), r"query must be floating point .*got torch.int64"),
    "dtype": (
        TypeError,
        lambda: MODEL(X.double()),
        r"one dtype, got query torch.float64, .*parameters torch.float32",
    ),
    "device": (TypeError, lambda: MODEL(X, X.to("meta")), r"one device, got query cpu, key meta"),
    "one axis": (
        ValueError,
        lambda: MODEL(X[0]),
        r"query must have shape \(\.\.\., n, d_model\), got shape \(4,\)",
    ),
    "d_model": (
        ValueError,
        lambda: MODEL(X, X[:, :3]),
        r"last axis of key must be d_model = 4, got shape \(3, 3\)",
    ),
    "d_model of value": (
        ValueError,
        lambda: MODEL(X, X, X[:, :3]),
        r"of value must be d_model = 4, got shape \(3, 3\)",
    ),
    "empty": (ValueError, lambda: MODEL(X[:0]), r"query must have no empty axis, got shape \(0, 4\)"),
    "n_k": (ValueError, lambda: MODEL(X, X, X[:2]), r"same number of rows n_k, got k 3, v 2"),
    "batches": (
        ValueError,
        lambda: MODEL(B, torch.ones(3, 3, 4)),
        r"leading axes of q and k .*\(2, 2\) and \(3, 2\)",
    ),
    "mask int": (
        TypeError,
        lambda: MODEL(X, mask=torch.ones(3, 3).long()),
        r"True = may attend, got torch.int64",
    ),
    "mask float": (
        TypeError,
        lambda: MODEL(X, mask=torch.zeros(3, 3)),
        r"True = may attend, got torch.float32",
    ),
    "mask numpy": (
        TypeError,
        lambda: MODEL(X, mask=np.ones((3, 3), bool)),
        r"one library, got q torch, mask numpy",
    ),
    "mask of batch": (
        ValueError,
        lambda: MODEL(B, mask=torch.ones(2, 3, 3).bool()),
        r"4 axes with 1 or n_heads = 2 third .*got \(2, 3, 3\); if it is .*, write mask\[:, None\]",
    ),
    "padding mask of batch": (
        ValueError,
        lambda: MODEL(B, mask=padding_mask(torch.tensor([1, 2]), 3)),
        r"got \(2, 1, 3\); if it is .*, write mask\[:, None\]",
    ),
    "mask shape": (
        ValueError,
        lambda: MODEL(X, mask=torch.ones(2, 3).bool()),
        r"mask must broadcast to the scores' shape \(2, 3, 3\), got \(2, 3\)$",
    ),
    "from a list": (
        TypeError,
        lambda: MultiHeadAttention.from_torch(TEXT),
        r"torch\.nn\.MultiheadAttention, got str",
    ),
    "bias_k": (
        ValueError,
        lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(4, 2, add_bias_kv=True)),
        r"has no bias_k and bias_v, got a module with add_bias_kv=True",
    ),
    "add_zero_attn": (
        ValueError,
        lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(4, 2, add_zero_attn=True)),
        r"adds no key of zeros, got a module with add_zero_attn=True",
    ),
    "kdim": (
        ValueError,
        lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(4, 2, kdim=3)),
        r"must have one size, got embed_dim 4, kdim 3, vdim 4",
    ),
    "vdim": (
        ValueError,
        lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(4, 2, vdim=5)),
        r"must have one size, got embed_dim 4, kdim 4, vdim 5",
    ),
}


@pytest.mark.parametrize(("error", "call", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_error(error: type[Exception], call: Callable[[], Any], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
