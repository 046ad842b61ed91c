"""The torch modules of the course: the kernels, with parameters that can be trained."""

from attention_core.nn.attention import AdditiveAttention, MultiHeadAttention, uniform_attention
from attention_core.nn.blocks import DecoderBlock, EncoderBlock, FeedForward
from attention_core.nn.models import AttentionOnly, EncoderDecoder

__all__ = [
    "AdditiveAttention",
    "AttentionOnly",
    "DecoderBlock",
    "EncoderBlock",
    "EncoderDecoder",
    "FeedForward",
    "MultiHeadAttention",
    "uniform_attention",
]
