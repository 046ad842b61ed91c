"""Tests of what every kernel refuses in every array it is given; each error names the array.

What one kernel alone refuses (sizes that do not fit, its options) is tested beside that kernel.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from attention_core import (
    additive_scores,
    attend,
    attend_in_heads,
    attention_scores,
    causal_mask,
    gaussian_scores,
    grouped_query,
    linear_attention,
    low_rank_attention,
    merge_heads,
    merge_partial,
    multi_head,
    padding_mask,
    partial_attention,
    rotary_positions,
    sinusoidal_positions,
    sliding_window_attention,
    softmax,
    split_heads,
    streaming_attention,
    weigh,
)
from attention_core.long import Partial, elu_plus_one, streaming_ledger, window_mask

Arrays = dict[str, Any]
X, SQUARE, ONE = np.ones((2, 4)), np.ones((4, 4)), np.ones((2, 1))
QKV: Arrays = {"q": X, "k": X, "v": X}
MASK: Arrays = {"mask": np.ones((1, 2), bool)}
HEADS: Arrays = {"x_q": X, "x_kv": X, "w_q": SQUARE, "w_k": SQUARE, "w_v": SQUARE, "w_o": SQUARE}


def merge(a: Any, b: Any) -> Partial:
    return merge_partial(Partial(ONE, ONE, a), Partial(ONE, ONE, b))


# Each kernel with arrays that it accepts.
KERNELS: dict[str, tuple[Callable[..., Any], Arrays]] = {
    "softmax": (softmax, {"x": X}),
    "attention_scores": (attention_scores, {"q": X, "k": X}),
    "weigh": (weigh, {"scores": np.ones((3, 2)), "v": X} | MASK),
    "attend": (attend, QKV | MASK),
    "padding_mask": (partial(padding_mask, n_k=3), {"lengths": np.array([1, 2])}),
    "split_heads": (partial(split_heads, n_heads=2), {"x": X}),
    "merge_heads": (merge_heads, {"x": X[:, None]}),
    "attend_in_heads": (partial(attend_in_heads, n_heads=2), QKV | MASK),
    "multi_head": (partial(multi_head, n_heads=2), HEADS | MASK),
    "grouped_query": (partial(grouped_query, n_heads=2, n_kv_heads=2), HEADS | MASK),
    "additive_scores": (additive_scores, {"q": X, "k": X, "w_q": SQUARE, "w_k": SQUARE, "w_v": X[0]}),
    "gaussian_scores": (gaussian_scores, {"q": X, "k": X}),
    "sinusoidal_positions": (partial(sinusoidal_positions, 2, 4), {"like": X}),
    "rotary_positions": (rotary_positions, {"x": X, "positions": np.arange(2)}),
    "partial_attention": (partial_attention, QKV | MASK),
    "merge_partial": (merge, {"a": X, "b": X}),
    "streaming_attention": (streaming_attention, QKV | MASK),
    "streaming_ledger": (streaming_ledger, QKV | MASK),
    "sliding_window_attention": (partial(sliding_window_attention, window=1), QKV | MASK),
    "elu_plus_one": (elu_plus_one, {"x": X}),
    "linear_attention": (partial(linear_attention, feature_map=elu_plus_one), QKV | MASK),
    "low_rank_attention": (low_rank_attention, QKV | {"w_k": np.ones((3, 2)), "w_v": np.ones((3, 2))}),
}
EVERY = [(kernel, name) for kernel, (_, arrays) in KERNELS.items() for name in arrays]
TOGETHER = [(kernel, name) for kernel, name in EVERY if len(KERNELS[kernel][1]) > 1]
# Masks and positions have a dtype of their own; some arrays may have any shape.
ONE_DTYPE = [case for case in TOGETHER if case[0] != "rotary_positions" and case[1] != "mask"]
ONE_SHAPE = [case for case in EVERY if case[0] != "elu_plus_one" and case[1] not in ("lengths", "like")]

WRONG: dict[str, tuple[Callable[[np.ndarray], Any], str]] = {
    "list": (np.ndarray.tolist, r"{} must be an array .*, got list; .*np\.asarray\({}, dtype=\w+\)"),
    "gaps": (np.ma.masked_array, r"{} must be .*, got MaskedArray; .* {}\.filled\("),
    "byte order": (
        lambda x: x.astype(x.dtype.newbyteorder()),
        r"{} must have the byte order of this machine",
    ),
    "kind": (lambda x: x.astype({"f": int, "b": float, "i": bool}[x.dtype.kind]), r"{} must be .*, got \w+"),
}


def refused(kernel: str, error: type[Exception], message: str, **changes: Any) -> None:
    function, arrays = KERNELS[kernel]
    with pytest.raises(error, match=f"^{message}"):
        function(**arrays | changes)


@pytest.mark.parametrize("kernel", KERNELS)
def test_these_arrays_are_accepted(kernel: str) -> None:
    function, arrays = KERNELS[kernel]
    function(**arrays)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(("kernel", "name"), EVERY)
def test_what_is_no_array_of_such_numbers(kernel: str, name: str, wrong: str) -> None:
    change, message = WRONG[wrong]
    x = KERNELS[kernel][1][name]
    if wrong != "byte order" or x.itemsize > 1:  # the one byte of a bool has no order
        refused(kernel, TypeError, message.format(name, name), **{name: change(x)})


@pytest.mark.parametrize(("kernel", "name"), TOGETHER)
def test_mixed_libraries_and_devices(kernel: str, name: str) -> None:
    tensors = {other: torch.tensor(x) for other, x in KERNELS[kernel][1].items()}
    message = f"all arrays must come from one library, got .*{name} torch"
    refused(kernel, TypeError, message, **{name: tensors[name]})
    message = f"all arrays must have one device, got .*{name} meta"
    refused(kernel, TypeError, message, **tensors | {name: tensors[name].to("meta")})


@pytest.mark.parametrize(("kernel", "name"), ONE_DTYPE)
def test_mixed_dtypes(kernel: str, name: str) -> None:
    x = KERNELS[kernel][1][name].astype("f4")
    refused(kernel, TypeError, f"all arrays must have one dtype, got .*{name} float32", **{name: x})


@pytest.mark.parametrize(("kernel", "name"), ONE_SHAPE)
def test_too_few_axes_and_empty_ones(kernel: str, name: str) -> None:
    x = KERNELS[kernel][1][name]
    few, none = ("at least one axis, and",) * 2 if name == "mask" else (r"shape \(.*\), got", "")
    refused(kernel, ValueError, rf"{name} must have {few} .*shape \(\)", **{name: np.array(x.flat[0])})
    empty = re.escape(str((0, *x.shape[1:])))
    refused(kernel, ValueError, rf"{name} must have {none} ?no empty .*, got shape {empty}", **{name: x[:0]})


@pytest.mark.parametrize("function", [causal_mask, partial(window_mask, window=1)])
def test_a_mask_takes_its_library_from_any_array(function: Callable[..., Any]) -> None:
    for like in ([1.0], np.ma.masked_array(X)):
        with pytest.raises(TypeError, match=r"^like must be an array .*, got (list|MaskedArray)"):
            function(2, like=like)
    assert function(2, like=torch.tensor(1)).dtype == torch.bool


def test_a_check_that_passed_is_asked_again_of_other_arrays() -> None:
    attend(X, X, X, **MASK)
    for wrong in (X.astype(int), X.tolist(), torch.tensor(X)):
        for name in QKV:
            with pytest.raises(TypeError):
                attend(**QKV | MASK | {name: wrong})
    with pytest.raises(ValueError, match="n_k"):
        attend(X, X, X[:1])
