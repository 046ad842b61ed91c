"""The numeric kernels of the course: attention, one equation a line, for any array library."""

from attention_core.attention import (
    Attention,
    attend,
    attention_scores,
    causal_mask,
    padding_mask,
    softmax,
    weigh,
)
from attention_core.heads import merge_heads, multi_head, split_heads
from attention_core.positions import rotary_positions, sinusoidal_positions
from attention_core.scoring import additive_scores, gaussian_scores

__all__ = [
    "Attention",
    "additive_scores",
    "attend",
    "attention_scores",
    "causal_mask",
    "gaussian_scores",
    "merge_heads",
    "multi_head",
    "padding_mask",
    "rotary_positions",
    "sinusoidal_positions",
    "softmax",
    "split_heads",
    "weigh",
]
