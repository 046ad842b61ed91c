"""Tests of additive attention and of the encoder-decoder: plain restatements are the oracles."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attention_core import Attention, attend, padding_mask
from attention_core.nn import AdditiveAttention, EncoderDecoder, uniform_attention

D_Q, D_K, D_HIDDEN, D_V = 2, 3, 5, 4
MASK = torch.tensor([[True, False, True, True], [False, False, True, False], [True, True, True, True]])


def same(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-10)


def additive() -> AdditiveAttention:
    torch.manual_seed(0)
    return AdditiveAttention(D_Q, D_K, D_HIDDEN).double()


def inputs(batch: tuple[int, ...] = (2,)) -> tuple[Tensor, Tensor, Tensor]:
    """Return random queries (3 rows), keys and values (4 rows)."""
    generator = torch.Generator().manual_seed(1)
    q, k, v = (
        torch.randn((*batch, n, d), dtype=torch.float64, generator=generator, requires_grad=True)
        for n, d in ((3, D_Q), (4, D_K), (4, D_V))
    )
    return q, k, v


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
    q, k, v = inputs()
    found = module(q, k, v, mask=mask)
    for b in range(len(q)):
        weights, output = by_loops(module, q[b], k[b], v[b], mask)
        same(found.weights[b], weights)
        same(found.output[b], output)
    if mask is not None:
        assert torch.equal(found.masked_scores[:, ~mask], torch.full((2, 4), -torch.inf).double())
        same(found.masked_scores[:, mask], found.scores[:, mask])


def test_additive_attention_takes_the_keys_for_values() -> None:
    q, k, _ = inputs()
    same(additive()(q, k).output, additive()(q, k, k).output)


def test_additive_gradients() -> None:
    module = additive()
    parameters = dict(module.named_parameters())
    mask = padding_mask(torch.tensor([4, 2]), 4)

    def output(q: Tensor, k: Tensor, v: Tensor, *values: Tensor) -> Any:
        named = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(module, named, (q, k, v), {"mask": mask}).output

    assert torch.autograd.gradcheck(output, (*inputs(), *parameters.values()))


@pytest.mark.parametrize("call", [additive(), uniform_attention], ids=["additive", "uniform"])
def test_what_is_blocked_changes_nothing(call: Callable[..., Attention]) -> None:
    if isinstance(call, AdditiveAttention):
        call = AdditiveAttention(D_K, D_K, D_HIDDEN).double()
    _, k, v = (x.detach() for x in inputs())
    mask = padding_mask(torch.tensor([2, 2]), 4)
    clean = call(k[:, :3], k, v, mask=mask)
    for poison in (torch.nan, torch.inf, 1e6):
        bad_k, bad_v = k.clone(), v.clone()
        bad_k[:, 2:] = bad_v[:, 2:] = poison
        found = call(k[:, :3], bad_k, bad_v, mask=mask)
        assert torch.equal(found.weights, clean.weights)
        assert torch.equal(found.output, clean.output)


def test_a_query_without_keys_gets_nothing() -> None:
    q, k, v = inputs()
    found = additive()(q, k, v, mask=torch.zeros(3, 4, dtype=torch.bool))
    assert not found.weights.any() and not found.output.any()
    found.output.sum().backward()
    assert q.grad is not None and not q.grad.any()


def test_uniform_attention_is_the_mean() -> None:
    _, k, v = inputs()
    found = uniform_attention(k, k, v, mask=padding_mask(torch.tensor([4, 3]), 4))
    same(found.output[0], v[0].mean(dim=0).expand(4, D_V))
    same(found.output[1], v[1, :3].mean(dim=0).expand(4, D_V))
    assert not found.scores.any()


# -- encoder and decoder -------------------------------------------------------------------------

N_IN, N_OUT, D = 6, 5, 4
SOURCE = torch.tensor([[1, 2, 3, 4, 5], [5, 3, 1, 0, 0], [2, 0, 0, 0, 0]])
LENGTHS = torch.tensor([5, 3, 1])
TARGET = torch.tensor([[0, 1, 2, 3], [0, 4, 4, 1], [0, 2, 2, 2]])
ATTENTIONS: dict[str, Callable[[], Callable[..., Attention]]] = {
    "additive": lambda: AdditiveAttention(D, D, D),
    "scaled dot": lambda: attend,
    "uniform": lambda: uniform_attention,
}
each_attention = pytest.mark.parametrize("make", ATTENTIONS.values(), ids=ATTENTIONS.keys())


def model_with(make: Callable[[], Callable[..., Attention]], **options: Any) -> EncoderDecoder:
    torch.manual_seed(0)
    return EncoderDecoder(N_IN, N_OUT, D, make(), **options).double()


def gru(cell: Any, x: Tensor, h: Tensor, suffix: str = "") -> Tensor:
    """Return the next state of a GRU, gate by gate, as torch defines it."""
    from_x = getattr(cell, f"weight_ih{suffix}") @ x + getattr(cell, f"bias_ih{suffix}")
    from_h = getattr(cell, f"weight_hh{suffix}") @ h + getattr(cell, f"bias_hh{suffix}")
    (xr, xz, xn), (hr, hz, hn) = from_x.chunk(3), from_h.chunk(3)
    z = torch.sigmoid(xz + hz)
    return (1 - z) * torch.tanh(xn + torch.sigmoid(xr + hr) * hn) + z * h


def read(model: EncoderDecoder, source: Tensor, suffix: str) -> list[Tensor]:
    """Return the states of one direction of the encoder, in the order in which it reads."""
    h = [torch.zeros(model.encoder.hidden_size, dtype=torch.float64)]
    for x in source:
        h.append(gru(model.encoder, model.embed_source.weight[x], h[-1], suffix))
    return h[1:]


@pytest.mark.parametrize("bidirectional", [True, False], ids=["both directions", "one direction"])
@each_attention
def test_encoder_decoder_step_by_step(
    make: Callable[[], Callable[..., Attention]], bidirectional: bool
) -> None:
    model = model_with(make, bidirectional=bidirectional)
    logits, weights = model(SOURCE, LENGTHS, TARGET)
    assert logits.shape == (3, 3, N_OUT) and weights.shape == (3, 3, 5)
    for b, (source, n, target) in enumerate(zip(SOURCE, LENGTHS.tolist(), TARGET, strict=True)):
        directions = [read(model, source[:n], "_l0")]
        if bidirectional:
            directions.append(read(model, source[:n].flip(0), "_l0_reverse"))
        s = torch.tanh(model.w_s(torch.cat([states[-1] for states in directions])))
        if bidirectional:
            directions[1].reverse()
        keys = torch.cat([torch.stack(states) for states in directions], dim=1)  # (n, D): without padding
        for t in range(3):
            look = model.attention(s[None], keys, keys, mask=None)
            y = model.embed_target.weight[target[t]]
            s = gru(model.decoder, torch.cat([y, look.output[0]]), s)
            same(logits[b, t], model.w_o(torch.cat([s, look.output[0]])))
            same(weights[b, t, :n], look.weights[0])
            assert not weights[b, t, n:].any()


@each_attention
def test_padding_changes_nothing(make: Callable[[], Callable[..., Attention]]) -> None:
    model = model_with(make)
    longer = torch.cat([SOURCE, torch.full((3, 4), 5)], dim=1)
    longer[1, 3:] = torch.tensor([4, 3, 2, 1, 0, 1])  # other padding
    results = []
    for source in (SOURCE, longer):
        model.zero_grad()
        logits, weights = model(source, LENGTHS, TARGET)
        (logits**2).sum().backward()
        tokens, _ = model.generate(source, LENGTHS, 4, start=0)
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        results.append([logits, weights[..., :5], tokens, *grads])
        assert not weights[..., 5:].any()
    for short, long in zip(*results, strict=True):
        same(short, long)


@each_attention
def test_generate_writes_what_the_logits_say(make: Callable[[], Callable[..., Attention]]) -> None:
    model = model_with(make)
    tokens, weights = model.generate(SOURCE, LENGTHS, 3, start=0)
    given = torch.cat([torch.zeros(3, 1, dtype=torch.int64), tokens], dim=1)
    logits, expected = model(SOURCE, LENGTHS, given)
    assert torch.equal(tokens, logits.argmax(dim=-1))
    same(weights, expected)
    assert not weights.requires_grad


def test_the_future_of_the_target_is_not_seen() -> None:
    model = model_with(ATTENTIONS["additive"])
    later = TARGET.clone()
    later[:, 2:] = 0
    a, b = (model(SOURCE, LENGTHS, target)[0] for target in (TARGET, later))
    assert torch.equal(a[:, :2], b[:, :2])
    assert not torch.equal(a[:, 2], b[:, 2])


def test_parameters_of_the_attention_belong_to_the_model() -> None:
    names = set(model_with(ATTENTIONS["additive"]).state_dict()) - set(
        model_with(lambda: attend).state_dict()
    )
    assert names == {"attention.w_q.weight", "attention.w_k.weight", "attention.w_v.weight"}
    assert isinstance(model_with(ATTENTIONS["additive"]).attention, nn.Module)


TEXT: Any = "2"
NUMPY: Any = np.ones((2, D_K), np.float32)
MODEL = EncoderDecoder(N_IN, N_OUT, D, attend)
ADDITIVE = AdditiveAttention(D_Q, D_K, D_HIDDEN)
Q, K = torch.ones(2, D_Q), torch.ones(4, D_K)

ERRORS: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "d_q": (ValueError, lambda: AdditiveAttention(0, 1, 1), r"d_q must be at least 1, got 0"),
    "d_hidden str": (
        TypeError,
        lambda: AdditiveAttention(1, 1, TEXT),
        r"d_hidden must be an integer, got str",
    ),
    "query width": (ValueError, lambda: ADDITIVE(K, K), r"w_q.*q 3, w_q 2"),
    "key width": (ValueError, lambda: ADDITIVE(Q, Q), r"w_k.*k 2, w_k 3"),
    "key numpy": (TypeError, lambda: ADDITIVE(Q, NUMPY), r"one library, got q torch, k numpy"),
    "value rows": (ValueError, lambda: ADDITIVE(Q, K, Q), r"row of v, got scores 4, v 2"),
    "mask float": (TypeError, lambda: ADDITIVE(Q, K, mask=torch.ones(2, 4)), r"True = may attend, got torch"),
    "n_tokens_in": (ValueError, lambda: EncoderDecoder(0, 1, 1, attend), r"n_tokens_in must be at least 1"),
    "odd d_hidden": (ValueError, lambda: EncoderDecoder(1, 1, 3, attend), r"d_hidden must be even, .* got 3"),
    "attention": (TypeError, lambda: EncoderDecoder(1, 1, 2, TEXT), r"function or module, got str"),
    "source float": (
        TypeError,
        lambda: MODEL(SOURCE.float(), LENGTHS, TARGET),
        r"source must be int64 or int32",
    ),
    "source out of range": (
        ValueError,
        lambda: MODEL(SOURCE + 1, LENGTHS, TARGET),
        r"from 0 to 5, got 1 to 6",
    ),
    "target out of range": (ValueError, lambda: MODEL(SOURCE, LENGTHS, TARGET + 1), r"target .* from 0 to 4"),
    "target too short": (
        ValueError,
        lambda: MODEL(SOURCE, LENGTHS, TARGET[:, :1]),
        r"target must have the start token and one more at least, got shape \(3, 1\)",
    ),
    "target batch": (
        ValueError,
        lambda: MODEL(SOURCE, LENGTHS, TARGET[:2]),
        r"one row for each source, got source 3, target 2",
    ),
    "length 0": (ValueError, lambda: MODEL(SOURCE, LENGTHS - 1, TARGET), r"lengths must be at least 1"),
    "length above": (ValueError, lambda: MODEL(SOURCE, LENGTHS + 1, TARGET), r"from 0 to n_k = 5"),
    "lengths float": (
        TypeError,
        lambda: MODEL(SOURCE, LENGTHS.float(), TARGET),
        r"lengths must be an integer",
    ),
    "lengths shape": (
        ValueError,
        lambda: MODEL(SOURCE, LENGTHS[:2], TARGET),
        r"lengths must have shape \(3,\), got \(2,\)",
    ),
    "n_steps": (
        ValueError,
        lambda: MODEL.generate(SOURCE, LENGTHS, 0, start=0),
        r"n_steps must be at least 1",
    ),
    "start": (
        ValueError,
        lambda: MODEL.generate(SOURCE, LENGTHS, 2, start=5),
        r"start must be from 0 to 4, got 5",
    ),
    "start str": (
        TypeError,
        lambda: MODEL.generate(SOURCE, LENGTHS, 2, start=TEXT),
        r"start must be an integer",
    ),
}


@pytest.mark.parametrize(("error", "call", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_error(error: type[Exception], call: Callable[[], Any], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
