"""The numeric kernels of the course: attention, one equation a line, for any array library."""

from attention_core.attention import (
    Attention,
    attend,
    attention_scores,
    causal_mask,
    padding_mask,
    softmax,
)
from attention_core.heads import merge_heads, multi_head, split_heads

__all__ = [
    "Attention",
    "attend",
    "attention_scores",
    "causal_mask",
    "merge_heads",
    "multi_head",
    "padding_mask",
    "softmax",
    "split_heads",
]
