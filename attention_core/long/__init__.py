"""Long sequences: exact attention in little memory, and three ways to compute less than attention.

The same conventions as in `attention`: any array library, boolean masks, True = may attend, and a
query that may attend to nothing gives 0. The loops write tile after tile into an array of their
own, so the library's arrays must be writable: numpy, torch and most others, but not JAX.
"""

from attention_core.long.shortcuts import (
    elu_plus_one,
    linear_attention,
    low_rank_attention,
    sliding_window_attention,
    window_mask,
)
from attention_core.long.streaming import (
    Partial,
    Step,
    merge_partial,
    partial_attention,
    streaming_attention,
    streaming_ledger,
)

__all__ = [
    "Partial",
    "Step",
    "elu_plus_one",
    "linear_attention",
    "low_rank_attention",
    "merge_partial",
    "partial_attention",
    "sliding_window_attention",
    "streaming_attention",
    "streaming_ledger",
    "window_mask",
]
