"""Input checks for arrays of tokens."""

import torch
from torch import Tensor

from attention_core import _checks


def check_tokens(name: str, x: Tensor, n_tokens: int) -> None:
    """Raise unless `x` (batch, n) holds token numbers from 0 to n_tokens - 1."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a torch tensor of integers, got {type(x).__name__}")
    if x.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name} must be int64 or int32, got {x.dtype}")
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(f"{name} must have shape (batch, n), none of them 0, got {tuple(x.shape)}")
    low, high = int(x.min()), int(x.max())
    if low < 0 or high >= n_tokens:
        raise ValueError(f"{name} must hold tokens from 0 to {n_tokens - 1}, got {low} to {high}")


def check_token(name: str, x: int, n_tokens: int) -> None:
    """Raise unless `x` is one token number from 0 to n_tokens - 1."""
    _checks.integer(name, x, 0, n_tokens - 1)
