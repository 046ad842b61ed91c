"""The blocks of a Transformer: attention and a feed-forward part, each added to its input."""

import copy
from typing import Self

import torch
from torch import Tensor, nn

from attention_core import _checks
from attention_core.nn.attention import MultiHeadAttention

Layer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer


class FeedForward(nn.Module):
    """Change each row alone, by two linear maps with a bend between them.

    Formula: output = relu(x w_1 + b_1) w_2 + b_2.
    Shape: x (..., d_model) -> the same; inside (..., d_ff). Dtype: that of the parameters, kept.

    Raises TypeError or ValueError for sizes that are not integers of at least 1, an x of another
    dtype than the parameters', or a last axis that is not d_model.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.3, eq. 2.

    >>> FeedForward(d_model=2, d_ff=8)(torch.ones(3, 2)).shape
    torch.Size([3, 2])
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        _checks.integer("d_model", d_model, 1)
        _checks.integer("d_ff", d_ff, 1)
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return relu(x w_1 + b_1) w_2 + b_2, (..., d_model)."""
        _checks.inputs(f"x ... d_model={self.w_1.in_features}", x=x, parameters=self.w_1.weight)
        hidden: Tensor = torch.relu(self.w_1(x))  # (..., d_ff)
        output: Tensor = self.w_2(hidden)  # (..., d_model)
        return output


class EncoderBlock(nn.Module):
    """One layer of a transformer's encoder: rows look at each other, then each is changed alone.

    Formula: x + attention(norm_1(x)), then x + feed_forward(norm_2(x)); the norm comes first.
    Shape: x (batch..., n, d_model) -> the same. Dtype: that of the parameters, kept.

    `mask` as in `MultiHeadAttention`. `dropout` is the share of weights, and of numbers that a
    sub-layer adds to x, set to 0 in training.

    Raises TypeError or ValueError as `MultiHeadAttention` and `FeedForward` do.

    Source: Vaswani et al. (2017), section 3.1; the norm before each sub-layer: Xiong et al. (2020),
    On Layer Normalization in the Transformer Architecture, section 3, table 1.

    >>> EncoderBlock(d_model=4, n_heads=2, d_ff=8)(torch.ones(3, 4)).shape
    torch.Size([3, 4])
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """Return the rows of x after both sub-layers, (batch..., n, d_model)."""
        _checks.inputs(f"x ... n d_model={self.attention.d_model}", x=x, parameters=self.norm_1.weight)
        x = x + self.dropout(self.attention(self.norm_1(x), mask=mask).output)
        return x + self.dropout(self.feed_forward(self.norm_2(x)))

    @classmethod
    def from_torch(cls, layer: nn.TransformerEncoderLayer) -> Self:
        """Return a block with a copy of the parameters of torch's own, and so the same results.

        Dtype, device, dropout and training mode are copied too. torch also drops numbers inside the
        feed-forward layer, so with dropout the two agree in eval mode alone. For masks see
        `MultiHeadAttention.from_torch`.

        Raises TypeError when `layer` is not a `torch.nn.TransformerEncoderLayer`; ValueError when it
        has norm_first=False or an activation that is not relu.
        """
        ours = cls(*_sizes(layer, nn.TransformerEncoderLayer), dropout=layer.dropout1.p)
        ours.attention = MultiHeadAttention.from_torch(layer.self_attn)
        _copy_the_rest(layer, ours)
        return ours


class DecoderBlock(nn.Module):
    """One layer of a transformer's decoder: look back at x, look at the memory, change each row alone.

    Formula: x + self_attention(norm_1(x)), then x + cross_attention(norm_2(x), memory), then
    x + feed_forward(norm_3(x)); the norm comes first.
    Shapes: x (batch..., n, d_model), memory (batch..., n_memory, d_model), the encoder's output ->
    (batch..., n, d_model). Dtype: that of the parameters, kept.

    `mask` is for x and x, usually `causal_mask(n, like=x)`: without one, no position is hidden.
    `memory_mask` is for x and memory. Both as in `MultiHeadAttention`. `dropout` as in `EncoderBlock`.

    Raises TypeError or ValueError as `MultiHeadAttention` and `FeedForward` do.

    Source: Vaswani et al. (2017), section 3.1; the norm before each sub-layer: Xiong et al. (2020),
    section 3.

    >>> DecoderBlock(d_model=4, n_heads=2, d_ff=8)(torch.ones(3, 4), torch.ones(5, 4)).shape
    torch.Size([3, 4])
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.norm_3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, memory: Tensor, *, mask: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        """Return the rows of x after the three sub-layers, (batch..., n, d_model)."""
        shapes = f"x ... n d_model={self.self_attention.d_model} | memory ... n_memory d_model"
        _checks.inputs(shapes, x=x, memory=memory, parameters=self.norm_1.weight)
        x = x + self.dropout(self.self_attention(self.norm_1(x), mask=mask).output)
        x = x + self.dropout(self.cross_attention(self.norm_2(x), memory, mask=memory_mask).output)
        return x + self.dropout(self.feed_forward(self.norm_3(x)))

    @classmethod
    def from_torch(cls, layer: nn.TransformerDecoderLayer) -> Self:
        """Return a block with a copy of the parameters of torch's own; see `EncoderBlock.from_torch`.

        Raises TypeError when `layer` is not a `torch.nn.TransformerDecoderLayer`; ValueError when it
        has norm_first=False or an activation that is not relu.
        """
        ours = cls(*_sizes(layer, nn.TransformerDecoderLayer), dropout=layer.dropout1.p)
        ours.self_attention = MultiHeadAttention.from_torch(layer.self_attn)
        ours.cross_attention = MultiHeadAttention.from_torch(layer.multihead_attn)
        _copy_the_rest(layer, ours)
        return ours


def _sizes(layer: Layer, kind: type[Layer]) -> tuple[int, int, int]:
    """Return d_model, n_heads and d_ff; raise unless `layer` is of this kind, norm first, with relu."""
    if not isinstance(layer, kind):
        raise TypeError(f"layer must be a torch.nn.{kind.__name__}, got {type(layer).__name__}")
    if not layer.norm_first:
        raise ValueError("our blocks have the norm before each sub-layer, got a layer with norm_first=False")
    bend = layer.activation
    if bend is not nn.functional.relu and not isinstance(bend, nn.ReLU):
        came = getattr(bend, "__name__", type(bend).__name__)
        raise ValueError(f"our blocks have the activation relu, got a layer with {came}")
    return layer.self_attn.embed_dim, layer.self_attn.num_heads, layer.linear1.out_features


def _copy_the_rest(layer: Layer, ours: EncoderBlock | DecoderBlock) -> None:
    """Give `ours` copies of what `layer` has beside its attention, and its training mode."""
    ours.feed_forward.w_1 = copy.deepcopy(layer.linear1)
    ours.feed_forward.w_2 = copy.deepcopy(layer.linear2)
    for theirs, name in (("norm1", "norm_1"), ("norm2", "norm_2"), ("norm3", "norm_3")):
        if hasattr(ours, name):
            setattr(ours, name, copy.deepcopy(getattr(layer, theirs)))
    ours.train(layer.training)
