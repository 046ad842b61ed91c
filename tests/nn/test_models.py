"""Tests of the models: the same steps, written out token by token, are the oracles."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_core import Attention, attend, causal_mask
from attention_core.nn import (
    AdditiveAttention,
    AttentionOnly,
    EncoderDecoder,
    MultiHeadAttention,
    uniform_attention,
)


def same(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-10)


# -- attention alone -----------------------------------------------------------------------------


def test_attention_only_step_by_step() -> None:
    model = AttentionOnly(n_tokens=5, d_model=6, n_heads=2, n_layers=2, n_positions=7).double()
    tokens = torch.tensor([[0, 4, 2, 2], [1, 1, 3, 0]])
    logits, weights = model(tokens)
    x = model.embed.weight[tokens] + model.positions.weight[:4]
    for layer, given in zip(model.layers, weights, strict=True):
        assert isinstance(layer, MultiHeadAttention)
        q, k, v = (w(x).unflatten(-1, (2, 3)).transpose(1, 2) for w in (layer.w_q, layer.w_k, layer.w_v))
        heads = attend(q, k, v, mask=causal_mask(4, like=x))
        same(given, heads.weights)
        x = x + layer.w_o(heads.output.transpose(1, 2).flatten(-2))
    same(logits, x @ model.w_o.weight.T)


def test_attention_only_sees_no_future() -> None:
    model = AttentionOnly(5, 6, 2, 2, 4)
    a, b = (model(torch.tensor([row]))[0] for row in ([0, 1, 2, 3], [0, 1, 4, 4]))
    torch.testing.assert_close(a[:, :2], b[:, :2])
    assert not torch.allclose(a[:, 2:], b[:, 2:])


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
TOKENS, ONLY = torch.tensor([[0, 1]]), AttentionOnly(3, 4, 2, 1, 2)
MODEL = EncoderDecoder(N_IN, N_OUT, D, attend)

ERRORS: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "n_layers": (ValueError, lambda: AttentionOnly(3, 4, 2, 0, 2), r"n_layers must be at least 1, got 0"),
    "n_positions": (ValueError, lambda: ONLY(TOKENS.repeat(1, 2)), r"1 to n_positions = 2 .*, got 4"),
    "no tokens": (ValueError, lambda: ONLY(TOKENS[:, :0]), r"1 to n_positions = 2 .*, got 0"),
    "token": (ValueError, lambda: ONLY(TOKENS + 2), r"tokens must be from 0 to 2, got 2 to 3"),
    "token below": (ValueError, lambda: ONLY(TOKENS - 1), r"tokens must be from 0 to 2, got -1 to 0"),
    "tokens float": (TypeError, lambda: ONLY(TOKENS.float()), r"int64 or int32, got torch\.float32"),
    "tokens list": (TypeError, lambda: ONLY([[0]]), r"torch tensor of int64 or int32, got list"),
    "n_tokens_in": (ValueError, lambda: EncoderDecoder(0, 1, 1, attend), r"n_tokens_in must be at least 1"),
    "odd d_hidden": (ValueError, lambda: EncoderDecoder(1, 1, 3, attend), r"d_hidden must be even, .* got 3"),
    "attention": (TypeError, lambda: EncoderDecoder(1, 1, 2, TEXT), r"function or module, got str"),
    "source": (ValueError, lambda: MODEL(SOURCE + 1, LENGTHS, TARGET), r"from 0 to 5, got 1 to 6"),
    "target": (ValueError, lambda: MODEL(SOURCE, LENGTHS, TARGET + 1), r"from 0 to 4, got 2 to 5"),
    "short": (ValueError, lambda: MODEL(SOURCE, LENGTHS, TARGET[:, :1]), r"at least 1, got \(3, 1\)"),
    "target rows": (ValueError, lambda: MODEL(SOURCE, LENGTHS, TARGET[:2]), r"batch = 3 .*, got \(2, 4\)"),
    "lengths": (ValueError, lambda: MODEL(SOURCE, LENGTHS[:2], TARGET), r"the 2 lengths, got \(3, 5\)"),
    "length 0": (ValueError, lambda: MODEL(SOURCE, LENGTHS - 1, TARGET), r"1 to n_s = 5, got \[4, 2, 0\]"),
    "length 6": (ValueError, lambda: MODEL(SOURCE, LENGTHS + 1, TARGET), r"1 to n_s = 5, got \[6, 4, 2\]"),
    "lengths float": (TypeError, lambda: MODEL(SOURCE, LENGTHS.float(), TARGET), r"lengths .* of integers"),
    "n_steps": (
        ValueError,
        lambda: MODEL.generate(SOURCE, LENGTHS, 0, start=0),
        r"n_steps must be at least 1",
    ),
    "start": (ValueError, lambda: MODEL.generate(SOURCE, LENGTHS, 2, start=5), r"from 0 to 4, got 5 to 5"),
    "start str": (TypeError, lambda: MODEL.generate(SOURCE, LENGTHS, 2, start=TEXT), r"start .* an integer"),
}


@pytest.mark.parametrize(("error", "call", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_error(error: type[Exception], call: Callable[[], Any], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
