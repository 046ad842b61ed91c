"""Tests of the blocks: torch's own layers are the oracle, with the same parameters."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attention_core import causal_mask, padding_mask
from attention_core.nn import DecoderBlock, EncoderBlock, FeedForward

D_MODEL, N_HEADS, D_FF = 6, 3, 10
FLOAT64: dict[str, Any] = {"dtype": torch.float64, "batch_first": True, "norm_first": True, "dropout": 0.0}


def random_parameters(module: nn.Module, seed: int = 0) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        nn.init.normal_(parameter, generator=generator)


def encoder_layer(**options: Any) -> nn.TransformerEncoderLayer:
    layer = nn.TransformerEncoderLayer(D_MODEL, N_HEADS, D_FF, **(FLOAT64 | options))
    random_parameters(layer)
    return layer


def decoder_layer(**options: Any) -> nn.TransformerDecoderLayer:
    layer = nn.TransformerDecoderLayer(D_MODEL, N_HEADS, D_FF, **(FLOAT64 | options))
    random_parameters(layer)
    return layer


def inputs(*shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [
        torch.randn(shape, dtype=torch.float64, generator=generator, requires_grad=True) for shape in shapes
    ]


def same(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


def gradients(module: nn.Module, *names: str) -> list[Tensor]:
    """Return the gradients of the parameters named, of ours or of torch's."""
    found = dict(module.named_parameters())
    return [g for name in names for g in [found[name].grad] if g is not None]


LENGTHS = torch.tensor([4, 2])
PADDING = padding_mask(LENGTHS, 4)  # (batch, 1, n)
CAUSAL = causal_mask(4, like=PADDING)  # (n, n)

ENCODER: dict[str, tuple[Tensor | None, dict[str, Tensor]]] = {
    "no mask": (None, {}),
    "padding": (PADDING[:, None], {"src_key_padding_mask": ~PADDING[:, 0]}),
    "causal": (CAUSAL, {"src_mask": ~CAUSAL}),
    "both": (PADDING[:, None] & CAUSAL, {"src_mask": ~CAUSAL, "src_key_padding_mask": ~PADDING[:, 0]}),
}
ENCODER_NAMES = {
    "norm_1.weight": "norm1.weight",
    "norm_2.bias": "norm2.bias",
    "feed_forward.w_1.weight": "linear1.weight",
    "feed_forward.w_2.bias": "linear2.bias",
    "attention.w_o.weight": "self_attn.out_proj.weight",
}


@pytest.mark.parametrize(("mask", "masks"), ENCODER.values(), ids=ENCODER.keys())
def test_encoder_block_is_torchs_own(mask: Tensor | None, masks: dict[str, Tensor]) -> None:
    theirs = encoder_layer()
    ours = EncoderBlock.from_torch(theirs)
    (x,), (y,) = inputs((2, 4, D_MODEL)), inputs((2, 4, D_MODEL))
    output, expected = ours(x, mask=mask), theirs(y, **masks)
    same(output, expected)
    (output**2).sum().backward()
    (expected**2).sum().backward()
    pairs = [(x.grad, y.grad)]
    pairs += zip(gradients(ours, *ENCODER_NAMES), gradients(theirs, *ENCODER_NAMES.values()), strict=True)
    assert len(pairs) == 1 + len(ENCODER_NAMES)
    for mine, its in pairs:
        assert mine is not None and its is not None
        same(mine, its)


def test_two_encoder_blocks_are_torchs_encoder() -> None:
    theirs = nn.TransformerEncoder(
        encoder_layer(), num_layers=2, norm=nn.LayerNorm(D_MODEL).double(), enable_nested_tensor=False
    )
    random_parameters(theirs)
    (x,) = inputs((2, 4, D_MODEL))
    y = x
    for layer in theirs.layers:
        assert isinstance(layer, nn.TransformerEncoderLayer)
        y = EncoderBlock.from_torch(layer)(y, mask=PADDING[:, None])
    assert theirs.norm is not None
    same(theirs.norm(y), theirs(x, src_key_padding_mask=~PADDING[:, 0]))


DECODER: dict[str, tuple[Tensor | None, Tensor | None, dict[str, Tensor]]] = {
    "no mask": (None, None, {}),
    "causal": (causal_mask(3, like=PADDING), None, {"tgt_mask": ~causal_mask(3, like=PADDING)}),
    "padded memory": (None, PADDING[:, None], {"memory_key_padding_mask": ~PADDING[:, 0]}),
    "both": (
        causal_mask(3, like=PADDING),
        PADDING[:, None],
        {"tgt_mask": ~causal_mask(3, like=PADDING), "memory_key_padding_mask": ~PADDING[:, 0]},
    ),
}
DECODER_NAMES = ENCODER_NAMES | {
    "norm_3.weight": "norm3.weight",
    "cross_attention.w_o.bias": "multihead_attn.out_proj.bias",
}
DECODER_NAMES["self_attention.w_o.weight"] = DECODER_NAMES.pop("attention.w_o.weight")


@pytest.mark.parametrize(("mask", "memory_mask", "masks"), DECODER.values(), ids=DECODER.keys())
def test_decoder_block_is_torchs_own(
    mask: Tensor | None, memory_mask: Tensor | None, masks: dict[str, Tensor]
) -> None:
    theirs = decoder_layer()
    ours = DecoderBlock.from_torch(theirs)
    shapes = ((2, 3, D_MODEL), (2, 4, D_MODEL))
    our_inputs, their_inputs = inputs(*shapes), inputs(*shapes)
    output, expected = ours(*our_inputs, mask=mask, memory_mask=memory_mask), theirs(*their_inputs, **masks)
    same(output, expected)
    (output**2).sum().backward()
    (expected**2).sum().backward()
    pairs = [(x.grad, y.grad) for x, y in zip(our_inputs, their_inputs, strict=True)]
    pairs += zip(gradients(ours, *DECODER_NAMES), gradients(theirs, *DECODER_NAMES.values()), strict=True)
    assert len(pairs) == 2 + len(DECODER_NAMES)
    for mine, its in pairs:
        assert mine is not None and its is not None
        same(mine, its)


def test_from_torch_copies_everything() -> None:
    theirs = encoder_layer(dropout=0.25, layer_norm_eps=0.5, bias=False, activation=nn.ReLU()).eval()
    ours = EncoderBlock.from_torch(theirs)
    assert (ours.dropout.p, ours.attention.dropout.p, ours.norm_2.eps, ours.training) == (
        0.25,
        0.25,
        0.5,
        False,
    )
    (x,) = inputs((4, D_MODEL))
    same(ours(x), theirs(x))
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.parameters())
    before = ours(x)
    random_parameters(theirs, seed=5)
    same(ours(x), before)
    decoder = DecoderBlock.from_torch(decoder_layer(dropout=0.25).eval())
    assert (decoder.dropout.p, decoder.cross_attention.dropout.p, decoder.training) == (0.25, 0.25, False)


@pytest.mark.parametrize("block", [EncoderBlock(4, 2, 8, dropout=1.0), DecoderBlock(4, 2, 8, dropout=1.0)])
def test_what_the_sub_layers_add_can_be_dropped(block: nn.Module) -> None:
    x = torch.eye(4)
    memory = (x,) if isinstance(block, DecoderBlock) else ()
    assert torch.equal(block(x, *memory), x)
    assert not torch.equal(block.eval()(x, *memory), x)


def test_the_memory_is_seen_and_the_future_is_not() -> None:
    block = DecoderBlock(D_MODEL, N_HEADS, D_FF).double()
    x, memory = (z.detach() for z in inputs((4, D_MODEL), (3, D_MODEL)))
    later = x.clone()
    later[2:] = 9.0
    a, b = block(x, memory, mask=CAUSAL), block(later, memory, mask=CAUSAL)
    same(a[:2], b[:2])
    assert not torch.allclose(a[2:], b[2:])
    assert not torch.allclose(block(x, memory + 1, mask=CAUSAL), a)


def test_feed_forward_by_hand() -> None:
    layer = FeedForward(2, 3)
    with torch.no_grad():
        layer.w_1.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]))
        layer.w_1.bias.zero_()
        layer.w_2.weight.copy_(torch.tensor([[1.0, 1.0, 1.0], [0.0, 2.0, 0.0]]))
        layer.w_2.bias.copy_(torch.tensor([0.0, 0.5]))
    assert layer(torch.tensor([[3.0, -4.0], [-3.0, 4.0]])).tolist() == [[3.0, 0.5], [7.0, 8.5]]


TEXT: Any = "2"
NUMPY: Any = torch.ones(3, 4).numpy()
BLOCK, DECODING = EncoderBlock(4, 2, 8), DecoderBlock(4, 2, 8)
X = torch.ones(3, 4)


def of_encoder(**options: Any) -> EncoderBlock:
    return EncoderBlock.from_torch(encoder_layer(**options))


def of_decoder(**options: Any) -> DecoderBlock:
    return DecoderBlock.from_torch(decoder_layer(**options))


ERRORS: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "d_ff": (ValueError, lambda: EncoderBlock(4, 2, 0), r"d_ff must be at least 1, got 0"),
    "d_model str": (TypeError, lambda: FeedForward(TEXT, 2), r"d_model must be an integer, got str"),
    "n_heads": (ValueError, lambda: DecoderBlock(4, 3, 8), r"n_heads must divide d_model = 4 .*got 3"),
    "dropout": (ValueError, lambda: EncoderBlock(4, 2, 8, dropout=2.0), r"from 0 to 1, got 2\.0"),
    "width": (ValueError, lambda: BLOCK(X[:, :3]), r"x must .* d_model=4\), got shape \(3, 3\)"),
    "numpy": (TypeError, lambda: BLOCK(NUMPY), r"one library, got x numpy, parameters torch"),
    "double": (TypeError, lambda: BLOCK(X.double()), r"one dtype, got x torch\.float64"),
    "feed forward": (ValueError, lambda: FeedForward(3, 8)(X), r"x must .* d_model=3\), got shape \(3, 4\)"),
    "memory": (ValueError, lambda: DECODING(X, X[:, :2]), r"d_model must .* got x \(3, 4\), memory \(3, 2\)"),
    "mask": (TypeError, lambda: BLOCK(X, mask=torch.ones(3, 3)), r"True = may attend, got torch\.float32"),
    "memory mask": (ValueError, lambda: DECODING(X, X, memory_mask=X[:2] == 1), r"\(2, 3, 3\), got \(2, 4\)"),
    "norm last": (ValueError, lambda: of_encoder(norm_first=False), r"before each .* norm_first=False"),
    "decoder's norm": (ValueError, lambda: of_decoder(norm_first=False), r"before each .* norm_first=False"),
    "gelu": (ValueError, lambda: of_encoder(activation="gelu"), r"activation relu, got a layer with gelu"),
    "GELU": (ValueError, lambda: of_decoder(activation=nn.GELU()), r"activation relu, got a layer with GELU"),
    "no layer": (TypeError, lambda: EncoderBlock.from_torch(TEXT), r"nn\.TransformerEncoderLayer, got str"),
    "decoder's layer": (
        TypeError,
        lambda: EncoderBlock.from_torch(decoder_layer()),  # type: ignore[arg-type]
        r"a torch\.nn\.TransformerEncoderLayer, got TransformerDecoderLayer",
    ),
}


@pytest.mark.parametrize(("error", "call", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_error(error: type[Exception], call: Callable[[], Any], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
