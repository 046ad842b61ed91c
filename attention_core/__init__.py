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
from attention_core.heads import attend_in_heads, grouped_query, merge_heads, multi_head, split_heads
from attention_core.long import (
    linear_attention,
    low_rank_attention,
    merge_partial,
    partial_attention,
    sliding_window_attention,
    streaming_attention,
)
from attention_core.positions import rotary_positions, sinusoidal_positions
from attention_core.scoring import additive_scores, gaussian_scores

__all__ = [
    "Attention",
    "additive_scores",
    "attend",
    "attend_in_heads",
    "attention_scores",
    "causal_mask",
    "gaussian_scores",
    "grouped_query",
    "linear_attention",
    "low_rank_attention",
    "merge_heads",
    "merge_partial",
    "multi_head",
    "padding_mask",
    "partial_attention",
    "rotary_positions",
    "sinusoidal_positions",
    "sliding_window_attention",
    "softmax",
    "split_heads",
    "streaming_attention",
    "weigh",
]
