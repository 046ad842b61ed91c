"""Tests of attention with parameters: torch's own module, and plain loops, are the oracles."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attention_core import Attention, causal_mask, padding_mask
from attention_core.nn import AdditiveAttention, MultiHeadAttention, uniform_attention

D_MODEL, N_HEADS = 6, 3
PADDING = padding_mask(torch.tensor([4, 2]), 4)  # (batch, 1, n_k)
CAUSAL = causal_mask(4, like=PADDING)  # (n_q, n_k)


def inputs(*shapes: tuple[int, ...]) -> list[Tensor]:
    options: Any = {"generator": torch.Generator().manual_seed(1), "dtype": torch.float64}
    return [torch.randn(shape, **options, requires_grad=True) for shape in shapes]


def same(ours: Tensor, theirs: Tensor) -> None:
    # atol: a bias of the keys shifts all scores of a row alike, so its gradient is 0 but for rounding
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-10)


def gradient(x: Any) -> Tensor:
    assert x.grad is not None
    return x.grad


# -- several heads -------------------------------------------------------------------------------


def pair(**options: Any) -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    """Return our module and torch's own with the same random parameters, biases too."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True, dtype=torch.float64, **options)
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    return MultiHeadAttention.from_torch(theirs), theirs


Shapes = list[tuple[int, ...]]
SELF: Shapes = [(2, 4, D_MODEL)]
CROSS: Shapes = [(2, 3, D_MODEL), (2, 4, D_MODEL), (2, 4, D_MODEL)]

CASES: dict[str, tuple[Shapes, Tensor | None, dict[str, Tensor]]] = {
    "self": (SELF, None, {}),
    "cross": (CROSS, None, {}),
    "keys are values": (CROSS[:2], None, {}),
    "one sequence": ([(4, D_MODEL)], None, {}),
    "causal": (SELF, CAUSAL, {"attn_mask": ~CAUSAL}),
    "cross with padding": (CROSS, PADDING[:, None], {"key_padding_mask": ~PADDING[:, 0]}),
    "causal and padding": (
        SELF,
        PADDING[:, None] & CAUSAL,
        {"attn_mask": ~CAUSAL, "key_padding_mask": ~PADDING[:, 0]},
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


def unclear(module: nn.Module) -> set[str]:
    """Return the names of the parameters whose gradients hold a NaN."""
    return {name for name, p in module.named_parameters() if bool(gradient(p).isnan().any())}


def test_padding_that_is_not_a_number_changes_nothing() -> None:
    ours, _ = pair()
    clean, bad = inputs(*SELF), inputs(*SELF)
    with torch.no_grad():
        bad[0][1, 2:] = torch.nan
    real = PADDING[:, 0]  # (batch, n): the rows that are not padding
    results = []
    for (x,) in (clean, bad):
        ours.zero_grad()
        heads = ours(x[:, :2], x, mask=PADDING[:, None])
        heads.output.sum().backward()
        results.append((heads.output, heads.weights, gradient(x)[real]))
    for a, b in zip(*results, strict=True):
        same(a, b)
    assert unclear(ours) == {"w_k.weight", "w_v.weight"}  # products with the padding itself


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
    before = torch.get_rng_state()
    ours.train()(*inputs(*SELF))
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


# -- additive attention, uniform attention ---------------------------------------------------------

D_Q, D_K, D_HIDDEN, D_V = 2, 3, 5, 4
MASK = torch.tensor([[True, False, True, True], [False, False, True, False], [True, True, True, True]])


def additive(d_q: int = D_Q) -> AdditiveAttention:
    torch.manual_seed(0)
    return AdditiveAttention(d_q, D_K, D_HIDDEN).double()


def queries_keys_values() -> list[Tensor]:
    return inputs((2, 3, D_Q), (2, 4, D_K), (2, 4, D_V))


def by_loops(module: AdditiveAttention, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Any:
    """Return weights and output of one sequence, pair by pair."""
    scores = torch.full((len(q), len(k)), -torch.inf, dtype=q.dtype)
    for i in range(len(q)):
        for j in range(len(k)):
            if mask is None or mask[i, j]:
                hidden = module.w_q.weight @ q[i] + module.w_k.weight @ k[j]
                scores[i, j] = module.w_v.weight[0] @ torch.tanh(hidden)
    weights = torch.softmax(scores, dim=-1)
    return weights, weights @ v


@pytest.mark.parametrize("mask", [None, MASK], ids=["no mask", "mask"])
def test_additive_attention_pair_by_pair(mask: Tensor | None) -> None:
    module = additive()
    q, k, v = queries_keys_values()
    found = module(q, k, v, mask=mask)
    for b in range(len(q)):
        weights, output = by_loops(module, q[b], k[b], v[b], mask)
        same(found.weights[b], weights)
        same(found.output[b], output)
    if mask is not None:
        assert torch.equal(found.masked_scores[:, ~mask], torch.full((2, 4), -torch.inf).double())
        same(found.masked_scores[:, mask], found.scores[:, mask])


def test_additive_attention_takes_the_keys_for_values() -> None:
    q, k, _ = queries_keys_values()
    same(additive()(q, k).output, additive()(q, k, k).output)


def test_additive_gradients() -> None:
    module = additive()
    parameters = dict(module.named_parameters())

    def output(q: Tensor, k: Tensor, v: Tensor, *values: Tensor) -> Any:
        named = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(module, named, (q, k, v), {"mask": PADDING}).output

    assert torch.autograd.gradcheck(output, (*queries_keys_values(), *parameters.values()))


@pytest.mark.parametrize("call", [additive(D_K), uniform_attention], ids=["additive", "uniform"])
def test_what_is_blocked_changes_nothing(call: Callable[..., Attention]) -> None:
    _, k, v = (x.detach() for x in queries_keys_values())
    mask = padding_mask(torch.tensor([2, 2]), 4)
    clean = call(k[:, :3], k, v, mask=mask)
    for poison in (torch.nan, torch.inf, 1e6):
        bad_k, bad_v = k.clone(), v.clone()
        bad_k[:, 2:] = bad_v[:, 2:] = poison
        found = call(k[:, :3], bad_k, bad_v, mask=mask)
        assert torch.equal(found.weights, clean.weights)
        assert torch.equal(found.output, clean.output)


def test_a_blocked_key_that_is_not_a_number_reaches_gradients() -> None:
    module, (q, k, v) = additive(), queries_keys_values()
    with torch.no_grad():
        k[:, 3] = torch.nan
    module(q, k, v, mask=padding_mask(torch.tensor([3, 3]), 4)).output.sum().backward()
    assert unclear(module) == {"w_q.weight", "w_k.weight", "w_v.weight"}
    assert gradient(q).isnan().all() and not gradient(v).isnan().any()


def test_a_query_without_keys_gets_nothing() -> None:
    q, k, v = queries_keys_values()
    found = additive()(q, k, v, mask=torch.zeros(3, 4, dtype=torch.bool))
    assert not found.weights.any() and not found.output.any()
    found.output.sum().backward()
    assert not gradient(q).any()


def test_uniform_attention_is_the_mean() -> None:
    _, k, v = queries_keys_values()
    found = uniform_attention(k, k, v, mask=padding_mask(torch.tensor([4, 3]), 4))
    same(found.output[0], v[0].mean(dim=0).expand(4, D_V))
    same(found.output[1], v[1, :3].mean(dim=0).expand(4, D_V))
    assert not found.scores.any()


# -- errors --------------------------------------------------------------------------------------

WRONG: Any = "0.1"
MODEL, ADDITIVE = MultiHeadAttention(4, 2), AdditiveAttention(D_Q, D_K, D_HIDDEN)
X, B = torch.ones(3, 4), torch.ones(2, 3, 4)
Q, K = torch.ones(2, D_Q), torch.ones(4, D_K)
NUMPY: Any = np.ones((3, 4), np.float32)


def from_torch(**options: Any) -> MultiHeadAttention:
    return MultiHeadAttention.from_torch(nn.MultiheadAttention(4, 2, **options))


ERRORS: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "d_model": (TypeError, lambda: MultiHeadAttention(WRONG, 2), r"d_model must be an integer, got str"),
    "n_heads": (ValueError, lambda: MultiHeadAttention(6, 4), r"divide d_model = 6 .*, got 4"),
    "dropout": (TypeError, lambda: MultiHeadAttention(4, 2, dropout=WRONG), r"dropout .* a number, got str"),
    "dropout 2": (ValueError, lambda: MultiHeadAttention(4, 2, dropout=2), r"dropout .*from 0 to 1, got 2"),
    "numpy": (TypeError, lambda: MODEL(NUMPY), r"one library, got query numpy, .*parameters torch"),
    "integers": (TypeError, lambda: MODEL(X.long()), r"query must be floating point .*, got torch.int64"),
    "dtype": (TypeError, lambda: MODEL(X.double()), r"got query torch.float64, .*parameters torch.float32"),
    "device": (TypeError, lambda: MODEL(X, X.to("meta")), r"one device, got query cpu, key meta"),
    "one axis": (ValueError, lambda: MODEL(X[0]), r"query must have .*d_model=4\), got shape \(4,\)"),
    "width": (ValueError, lambda: MODEL(X, X[:, :3]), r"d_model must be .* query \(3, 4\), key \(3, 3\)"),
    "n_k": (ValueError, lambda: MODEL(X, X, X[:2]), r"n_k must be .* got key \(3, 4\), value \(2, 4\)"),
    "mask float": (TypeError, lambda: MODEL(X, mask=torch.ones(3, 3)), r"True = .*got torch.float32"),
    "mask numpy": (TypeError, lambda: MODEL(X, mask=NUMPY == 1), r"one library, .* mask numpy"),
    "mask shape": (ValueError, lambda: MODEL(X, mask=X[:2] == 1), r"shape \(2, 3, 3\), got \(2, 4\)$"),
    "mask of batch": (
        ValueError,
        lambda: MODEL(B, mask=padding_mask(torch.tensor([1, 2]), 3)),
        r"4 axes with 1 or n_heads = 2 third .*got \(2, 1, 3\); if it is .*, write mask\[:, None\]",
    ),
    "from text": (TypeError, lambda: MultiHeadAttention.from_torch(WRONG), r"\.MultiheadAttention, got str"),
    "bias_k": (
        ValueError,
        lambda: from_torch(add_bias_kv=True),
        r"no bias_k and bias_v, .* add_bias_kv=True",
    ),
    "add_zero_attn": (
        ValueError,
        lambda: from_torch(add_zero_attn=True),
        r"no key of zeros, .*add_zero_attn",
    ),
    "kdim": (ValueError, lambda: from_torch(kdim=3), r"one size, got embed_dim 4, kdim 3, vdim 4"),
    "d_q": (ValueError, lambda: AdditiveAttention(0, 1, 1), r"d_q must be at least 1, got 0"),
    "width of query": (ValueError, lambda: ADDITIVE(K, K), r"query must have .*d_q=2\), got shape \(4, 3\)"),
    "width of key": (ValueError, lambda: ADDITIVE(Q, Q), r"key must have .*d_k=3\), got shape \(2, 2\)"),
    "value rows": (ValueError, lambda: ADDITIVE(Q, K, Q), r"n_k must .* got key \(4, 3\), value \(2, 2\)"),
    "additive mask": (TypeError, lambda: ADDITIVE(Q, K, mask=torch.ones(2, 4)), r"True = .*torch.float32"),
}


@pytest.mark.parametrize(("error", "call", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_error(error: type[Exception], call: Callable[[], Any], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
