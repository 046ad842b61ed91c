"""Tests of split_heads, merge_heads and multi_head."""

from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from array_api_compat import device
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch.nn.functional import scaled_dot_product_attention

from attention_core import Attention, attend, causal_mask, heads, merge_heads, multi_head, split_heads
from tests.kernels import properties_of_heads
from tests.kernels.properties import random
from tests.libraries import Library


@pytest.mark.parametrize("holds", properties_of_heads.HEADS, ids=lambda check: check.__name__)
def test_property(holds: Callable[[Any], None]) -> None:
    with np.errstate(all="raise", under="ignore"):
        holds(heads)


@given(leading=hnp.array_shapes(min_dims=0, max_dims=3), sizes=st.tuples(*[st.integers(1, 4)] * 3))
def test_merging_undoes_splitting(
    xp64: Library, leading: tuple[int, ...], sizes: tuple[int, int, int]
) -> None:
    n, n_heads, d_head = sizes
    shape = (*leading, n, n_heads * d_head)
    x = xp64.array(np.arange(np.prod(shape)).reshape(shape))
    split = split_heads(x, n_heads)
    assert tuple(split.shape) == (*leading, n_heads, n, d_head)
    assert_array_equal(xp64.numpy(merge_heads(split)), xp64.numpy(x))


def test_splitting_is_not_the_reshape_that_mixes_positions() -> None:
    x = np.arange(8.0).reshape(2, 4)  # position 0 has 0 1 2 3, position 1 has 4 5 6 7
    assert_array_equal(split_heads(x, 2), [[[0, 1], [4, 5]], [[2, 3], [6, 7]]])
    assert not np.array_equal(split_heads(x, 2), x.reshape(2, 2, 2))


def test_splitting_is_a_view() -> None:
    x = np.zeros((3, 8))
    assert np.shares_memory(split_heads(x, 4), x)
    tensor = torch.zeros(3, 8)
    assert split_heads(tensor, 4).data_ptr() == tensor.data_ptr()


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("masked", [False, True])
def test_shared_keys_are_torchs_grouped_queries(n_kv_heads: int, masked: bool) -> None:
    arrays = random((2, 3, 8), (2, 5, 8), (8, 8), (8, 2 * n_kv_heads), (8, 2 * n_kv_heads), (8, 8))
    mask = np.random.default_rng(1).random((2, 4, 3, 5)) < 0.7 if masked else None
    ours = multi_head(*arrays, n_heads=4, n_kv_heads=n_kv_heads, mask=mask)
    x_q, x_kv, w_q, w_k, w_v, w_o = (torch.tensor(x) for x in arrays)
    q = (x_q @ w_q).unflatten(-1, (4, 2)).transpose(1, 2)
    k, v = ((x_kv @ w).unflatten(-1, (n_kv_heads, 2)).transpose(1, 2) for w in (w_k, w_v))
    attn_mask = None if mask is None else torch.tensor(mask)
    theirs = scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, enable_gqa=True)
    assert_allclose(ours.output, theirs.transpose(1, 2).flatten(2) @ w_o, rtol=1e-9, atol=1e-12)
    assert ours.scores.shape == ours.masked_scores.shape == ours.weights.shape == (2, 4, 3, 5)


def test_as_many_heads_of_keys_as_of_queries_is_the_default() -> None:
    x, *w = random((2, 3, 4), *[(4, 4)] * 4)
    for mask in (None, causal_mask(3)):
        ours = multi_head(x, x, *w, n_heads=2, n_kv_heads=2, mask=mask)
        for step, expected in zip(ours, multi_head(x, x, *w, n_heads=2, mask=mask), strict=True):
            assert_array_equal(step, expected)


def test_one_head_is_attend() -> None:
    x, *w = random((2, 3, 4), *[(4, 4)] * 4)
    ours = multi_head(x, x, *w, n_heads=1, mask=causal_mask(3))
    alone = attend(x @ w[0], x @ w[1], x @ w[2], mask=causal_mask(3))
    assert_allclose(ours.weights[:, 0], alone.weights, rtol=1e-12)
    assert_allclose(ours.output, alone.output @ w[3], rtol=1e-12)


@pytest.mark.parametrize(
    "shape", [(3, 3), (3,), (1, 3), (1, 3, 3), (4, 1, 1, 3), (4, 2, 3, 3), (1, 2, 3, 1), (5, 1, 2, 3, 3)]
)
def test_masks_for_all_and_masks_for_each_head(shape: tuple[int, ...]) -> None:
    leading = (5, 4) if len(shape) == 5 else (4,) if len(shape) == 4 else ()
    x, *w = random((*leading[-1:], 3, 4), *[(4, 4)] * 4)
    mask = np.random.default_rng(1).random(shape) < 0.7
    weights = multi_head(x, x, *w, n_heads=2, mask=mask).weights
    assert weights.shape == (*leading, 2, 3, 3)
    blocked = np.broadcast_to(~mask, weights.shape)
    assert np.all((weights == 0) == blocked)


def test_every_library_and_dtype_gives_the_same_digits(xp: Library) -> None:
    arrays = [xp.array(x) for x in random((2, 3, 4), (2, 5, 3), (4, 4), (3, 4), (3, 4), (4, 2))]
    shared = [*arrays[:3], *(w[:, :2] for w in arrays[3:5]), arrays[5]]
    mask = xp.booleans(np.random.default_rng(1).random((3, 5)) < 0.7)
    for inputs, n_kv_heads in [(arrays, None), (shared, 1)]:
        steps = multi_head(*inputs, n_heads=2, n_kv_heads=n_kv_heads, mask=mask)
        exact = [xp.numpy(x).astype(float) for x in inputs]
        expected = multi_head(*exact, n_heads=2, n_kv_heads=n_kv_heads, mask=xp.numpy(mask))
        assert_same_digits(steps, expected, arrays[0], 32 * xp.eps, xp)


def assert_same_digits(
    steps: Attention, expected: Attention, like: Any, tolerance: float, xp: Library
) -> None:
    for name, x, y in zip(Attention._fields, steps, expected, strict=True):
        assert (type(x), x.dtype, device(x)) == (type(like), like.dtype, device(like)), name
        assert_allclose(xp.numpy(x), y, rtol=tolerance, atol=tolerance, err_msg=name)


def test_inputs_are_never_changed(xp64: Library) -> None:
    arrays = [xp64.array(x) for x in random((3, 4), *[(4, 4)] * 4)]
    before = [xp64.numpy(x) for x in arrays]
    multi_head(arrays[0], *arrays, n_heads=2)
    merge_heads(split_heads(arrays[0], 2))
    for x, y in zip(arrays, before, strict=True):
        assert_array_equal(xp64.numpy(x), y)


def test_gradients_are_the_slopes() -> None:
    inputs = [torch.tensor(x, requires_grad=True) for x in random((3, 4), (2, 4), *[(4, 4)] * 3, (4, 2))]
    mask = torch.tensor([[True, False], [False, False], [True, True]])
    assert torch.autograd.gradcheck(lambda *a: multi_head(*a, n_heads=2, mask=mask).output, inputs)
    shared = [x.detach()[:, :2].requires_grad_() if i in (3, 4) else x for i, x in enumerate(inputs)]
    assert torch.autograd.gradcheck(
        lambda *a: multi_head(*a, n_heads=2, n_kv_heads=1, mask=mask).output, shared
    )


def test_number_of_heads_may_come_from_numpy() -> None:
    two: Any = np.int64(2)
    assert split_heads(np.ones((3, 4)), two).shape == (2, 3, 2)


HALF: Any = 0.5  # Any: wrong on purpose
X, W = np.ones((3, 4)), np.ones((4, 4))
B = np.ones((2, 3, 4))

ERRORS = {
    "list": (TypeError, lambda: split_heads([[1.0]], 1), r"x must be an array .*got list"),
    "integers": (TypeError, lambda: merge_heads(np.ones((2, 3, 4), int)), r"x must be floating .*got int64"),
    "libraries": (
        TypeError,
        lambda: multi_head(X, X, W, W, torch.ones(4, 4), W, n_heads=2),
        r"one library, got x_q numpy, .*w_v torch",
    ),
    "dtypes": (
        TypeError,
        lambda: multi_head(X, X, W, W, W, W.astype("f4"), n_heads=2),
        r"one dtype, got .*w_v float64, w_o float32",
    ),
    "n_heads float": (TypeError, lambda: split_heads(X, HALF), r"n_heads must be an integer, got float"),
    "n_heads bool": (TypeError, lambda: split_heads(X, True), r"n_heads must be an integer, got bool"),
    "n_heads 0": (ValueError, lambda: split_heads(X, 0), r"n_heads must be at least 1, got 0"),
    "n_heads 3": (
        ValueError,
        lambda: split_heads(X, 3),
        r"n_heads must divide d_model = 4 \(one of \[1, 2, 4\]\), got 3",
    ),
    "split one axis": (
        ValueError,
        lambda: split_heads(X[0], 2),
        r"shape \(\.\.\., n, d_model\), got shape \(4,\)",
    ),
    "merge two axes": (
        ValueError,
        lambda: merge_heads(X),
        r"shape \(\.\.\., n_heads, n, d_head\), got shape \(3, 4\)",
    ),
    "empty": (ValueError, lambda: merge_heads(B[:0]), r"no empty axis, got shape \(0, 3, 4\)"),
    "x_q axes": (
        ValueError,
        lambda: multi_head(X[0], X, W, W, W, W, n_heads=2),
        r"x_q must have shape \(\.\.\., n_q, d_in\), got shape \(4,\)",
    ),
    "x_kv empty": (
        ValueError,
        lambda: multi_head(X, X[:0], W, W, W, W, n_heads=2),
        r"x_kv must have no empty axis, got shape \(0, 4\)",
    ),
    "w_q axes": (
        ValueError,
        lambda: multi_head(X, X, B, W, W, W, n_heads=2),
        r"w_q must have 2 axes .*\(2, 3, 4\)",
    ),
    "w_q": (ValueError, lambda: multi_head(X, X, W[:3], W, W, W, n_heads=2), r"w_q needs .*got x_q 4, w_q 3"),
    "w_k": (
        ValueError,
        lambda: multi_head(X, X, W, W[:3], W, W, n_heads=2),
        r"w_k needs .*got x_kv 4, w_k 3",
    ),
    "w_v": (
        ValueError,
        lambda: multi_head(X, X, W, W, W[:3], W, n_heads=2),
        r"w_v needs .*got x_kv 4, w_v 3",
    ),
    "w_o": (
        ValueError,
        lambda: multi_head(X, X, W, W, W, W[:3], n_heads=2),
        r"w_o needs .*got columns 4, w_o 3",
    ),
    "d_k": (
        ValueError,
        lambda: multi_head(X, X, W, W[:, :2], W, W, n_heads=2),
        r"w_k must have n_kv_heads · d_head = 2 · 2 columns, got 2",
    ),
    "n_kv_heads 3": (
        ValueError,
        lambda: multi_head(X, X, W, W, W, W, n_heads=4, n_kv_heads=3),
        r"n_kv_heads must divide n_heads = 4 \(one of \[1, 2, 4\]\), got 3",
    ),
    "n_kv_heads float": (
        TypeError,
        lambda: multi_head(X, X, W, W, W, W, n_heads=4, n_kv_heads=HALF),
        r"n_kv_heads must be an integer, got float",
    ),
    "all keys kept": (
        ValueError,
        lambda: multi_head(X, X, W, W, W, W, n_heads=4, n_kv_heads=2),
        r"w_k must have n_kv_heads · d_head = 2 · 1 columns, got 4",
    ),
    "w_v columns": (
        ValueError,
        lambda: multi_head(X, X, W, W[:, :2], W[:, :3], W, n_heads=4, n_kv_heads=2),
        r"n_kv_heads = 2 must divide the columns of w_v, got 3",
    ),
    "w_o for shared values": (
        ValueError,
        lambda: multi_head(X, X, W, W[:, :2], W[:, :2], W[:2], n_heads=4, n_kv_heads=2),
        r"w_o needs a row .*got columns 4, w_o 2",
    ),
    "mask of other sizes": (
        ValueError,
        lambda: multi_head(X, X, W, W, W, W, n_heads=2, mask=np.ones((5, 5), bool)),
        r"mask must broadcast to the scores' shape \(2, 3, 3\), got \(5, 5\)",
    ),
    "batches": (
        ValueError,
        lambda: multi_head(B, np.ones((3, 3, 4)), W, W, W, W, n_heads=2),
        r"leading axes of q and k must broadcast, got \(2, 2\) and \(3, 2\)",
    ),
    "mask list": (
        TypeError,
        lambda: multi_head(X, X, W, W, W, W, n_heads=2, mask=[[True]]),
        r"boolean.*got list",
    ),
    "mask int": (
        TypeError,
        lambda: multi_head(X, X, W, W, W, W, n_heads=2, mask=X * 1),
        r"boolean.*got float64",
    ),
    "mask without heads": (
        ValueError,
        lambda: multi_head(B, B, W, W, W, W, n_heads=2, mask=np.ones((2, 3, 3), bool)),
        r"4 axes with 1 or n_heads = 2 third .*got \(2, 3, 3\); if it is .*, write mask\[:, None\]",
    ),
    "mask of one head": (
        ValueError,
        lambda: multi_head(B, B, W, W, W, W, n_heads=1, mask=np.ones((2, 3, 3), bool)),
        r"4 axes with 1 or n_heads = 1 third .*got \(2, 3, 3\)",
    ),
    "mask of other heads": (
        ValueError,
        lambda: multi_head(X, X, W, W, W, W, n_heads=2, mask=np.ones((4, 3, 3), bool)),
        r"3 axes with 1 or n_heads = 2 third .*got \(4, 3, 3\)",
    ),
}


@pytest.mark.parametrize(("error", "call", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_error(error: type[Exception], call: Callable[[], Any], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
