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


def gradient(x: Any) -> Tensor:
    assert x.grad is not None
    return x.grad


def same(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


PADDING = padding_mask(torch.tensor([4, 2]), 4)  # (batch, 1, n)
CAUSAL = causal_mask(4, like=PADDING)  # (n, n)
OURS = {  # torch's names of the parameters in our words
    "linear": "feed_forward.w_",
    "norm": "norm_",
    "multihead_attn.out_proj": "cross_attention.w_o",
    "self_attn.out_proj": "self_attention.w_o",
}

Layer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer
Masks = dict[str, Tensor]
CASES: dict[str, tuple[Layer, Masks, Masks]] = {
    "encoder": (encoder_layer(), {}, {}),
    "encoder, masks": (
        encoder_layer(),
        {"mask": PADDING[:, None] & CAUSAL},
        {"src_mask": ~CAUSAL, "src_key_padding_mask": ~PADDING[:, 0]},
    ),
    "decoder": (decoder_layer(), {}, {}),
    "decoder, masks": (
        decoder_layer(),
        {"mask": CAUSAL, "memory_mask": PADDING[:, None]},
        {"tgt_mask": ~CAUSAL, "memory_key_padding_mask": ~PADDING[:, 0]},
    ),
}


@pytest.mark.parametrize(("theirs", "masks", "their_masks"), CASES.values(), ids=CASES.keys())
def test_blocks_are_torchs_own(theirs: Layer, masks: Masks, their_masks: Masks) -> None:
    ours: EncoderBlock | DecoderBlock
    if isinstance(theirs, nn.TransformerEncoderLayer):
        ours, shapes = EncoderBlock.from_torch(theirs), [(2, 4, D_MODEL)]
    else:
        ours, shapes = DecoderBlock.from_torch(theirs), [(2, 4, D_MODEL)] * 2
    our_inputs, their_inputs = inputs(*shapes), inputs(*shapes)
    output, expected = ours(*our_inputs, **masks), theirs(*their_inputs, **their_masks)
    same(output, expected)
    (output**2).sum().backward()
    (expected**2).sum().backward()
    for x, y in zip(our_inputs, their_inputs, strict=True):
        same(gradient(x), gradient(y))
    for name, parameter in theirs.named_parameters():
        if "in_proj" not in name:  # test_attention.py compares these
            for old, new in OURS.items():
                name = name.replace(old, new)
            if isinstance(ours, EncoderBlock):
                name = name.replace("self_attention", "attention")
            same(gradient(ours.get_parameter(name)), gradient(parameter))


def test_from_torch_copies_everything() -> None:
    theirs = encoder_layer(dropout=0.25, layer_norm_eps=0.5, bias=False, activation=nn.ReLU()).eval()
    ours = EncoderBlock.from_torch(theirs)
    assert (ours.dropout.p, ours.attention.dropout.p, ours.norm_2.eps) == (0.25, 0.25, 0.5)
    assert not ours.training
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
