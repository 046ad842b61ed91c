"""Long sequences: exact attention in little memory, and three ways to compute less than attention.

The same conventions as in `attention`: any array library, boolean masks, True = may attend, and a
query that may attend to nothing gives 0. The loops run over sizes, never over numbers, and the tiles
are put together at the end, so that any library can compile them and none has to write into an array.

What a mask hides from all queries changes no output and no gradient, whatever it holds. What some may
see and others not changes no output of these others; a NaN there does reach the gradients.
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
