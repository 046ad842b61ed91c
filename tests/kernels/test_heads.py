"""Tests of the heads: torch's attention, and loops over the heads, are the oracles."""

import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import hypothesis.extra.numpy as hnp
import jax
import numpy as np
import pytest
import torch
from array_api_compat import device
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from attention_core import (
    Attention,
    attend,
    attend_in_heads,
    causal_mask,
    grouped_query,
    merge_heads,
    multi_head,
    split_heads,
)
from tests.kernels.specification import loop_attend_all
from tests.libraries import Library


def random(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape) for shape in shapes]


def random_mask(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(1).random(shape) < 0.7


# -- split and merge -----------------------------------------------------------------------------


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


def test_each_head_has_its_columns() -> None:
    x = np.arange(8.0).reshape(2, 4)  # position 0 has 0 1 2 3, position 1 has 4 5 6 7
    assert_array_equal(split_heads(x, 2), [[[0, 1], [4, 5]], [[2, 3], [6, 7]]])
    assert not np.array_equal(split_heads(x, 2), x.reshape(2, 2, 2))  # the bug that mixes positions


def test_splitting_is_a_view() -> None:
    x = np.zeros((3, 8))
    assert np.shares_memory(split_heads(x, 4), x)
    tensor = torch.zeros(3, 8)
    assert split_heads(tensor, 4).data_ptr() == tensor.data_ptr()


def test_number_of_heads_may_come_from_numpy() -> None:
    two: Any = np.int64(2)
    assert split_heads(np.ones((3, 4)), two).shape == (2, 3, 2)


# -- several heads -------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize(
    "shapes",
    [[(2, 3, 6), (2, 3, 6), *[(6, 6)] * 4], [(2, 3, 5), (2, 4, 7), (5, 6), (7, 6), (7, 9), (9, 2)]],
    ids=["square", "every size another"],
)
def test_several_heads_are_each_head_alone(shapes: list[tuple[int, ...]], scale: float | None) -> None:
    x_q, x_kv, w_q, w_k, w_v, w_o = random(*shapes)
    mask = random_mask((2, 3, 3, x_kv.shape[-2]))
    steps = multi_head(x_q, x_kv, w_q, w_k, w_v, w_o, n_heads=3, mask=mask, scale=scale)
    output = np.zeros(steps.output.shape)
    columns = zip(*(np.split(w, 3, axis=1) for w in (w_q, w_k, w_v)), np.split(w_o, 3), strict=True)
    for h, (q_part, k_part, v_part, o_part) in enumerate(columns):
        weights, head = loop_attend_all(x_q @ q_part, x_kv @ k_part, x_kv @ v_part, mask[:, h], scale)
        assert_allclose(steps.weights[:, h], weights, rtol=1e-9, atol=1e-12)
        output += head @ o_part
    assert_allclose(steps.output, output, rtol=1e-9, atol=1e-12)
    assert steps.scores.shape == steps.masked_scores.shape == steps.weights.shape


def test_whole_numbers_through_two_heads() -> None:
    x, eye = np.array([[4.0, 0, 0, 8], [0, 0, 0, 8]]), np.eye(4)
    steps = multi_head(x, x, eye, eye, eye, 2 * eye, n_heads=2, scale=1.0)
    assert_array_equal(steps.scores, [[[16, 0], [0, 0]], [[64, 64], [64, 64]]])
    assert_array_equal(steps.weights[1], [[0.5, 0.5], [0.5, 0.5]])
    assert_array_equal(steps.output[1], [4, 0, 0, 16])


def test_one_head_is_attend() -> None:
    q, k, v = random(*[(2, 3, 4)] * 3)
    mask = causal_mask(3)
    ours, alone = attend_in_heads(q, k, v, n_heads=1, mask=mask), attend(q, k, v, mask=mask)
    assert_allclose(ours.weights[:, 0], alone.weights, rtol=1e-12)
    assert_allclose(ours.output, alone.output, rtol=1e-12)


MASKS: list[tuple[int, ...] | None]
MASKS = [None, (3, 5), (5,), (3, 1), (1, 5), (2, 1, 1, 5), (2, 4, 3, 5), (1, 4, 1, 5), (6, 2, 1, 3, 5)]


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("shape", MASKS, ids=str)
def test_shared_keys_are_torchs_grouped_queries(shape: tuple[int, ...] | None, n_kv_heads: int) -> None:
    arrays = random((2, 3, 8), (2, 5, 8), (8, 8), (8, 2 * n_kv_heads), (8, 3 * n_kv_heads), (12, 7))
    mask = None if shape is None else random_mask(shape)
    ours = grouped_query(*arrays, n_heads=4, n_kv_heads=n_kv_heads, mask=mask)
    full = np.broadcast_shapes(shape or (), (2, 4, 3, 5))  # torch's own wants every axis
    w_q, w_k, w_v, w_o = (torch.tensor(w) for w in arrays[2:])
    x_q, x_kv = (torch.tensor(x).expand(*full[:-4], *x.shape) for x in arrays[:2])
    q = (x_q @ w_q).unflatten(-1, (4, 2)).transpose(-2, -3)
    k, v = ((x_kv @ w).unflatten(-1, (n_kv_heads, -1)).transpose(-2, -3) for w in (w_k, w_v))
    options: Any = {
        "attn_mask": None if mask is None else torch.tensor(np.broadcast_to(mask, full)),
        "enable_gqa": True,
    }
    output = scaled_dot_product_attention(q, k, v, **options).transpose(-2, -3).flatten(-2) @ w_o
    one = torch.eye(5, dtype=torch.float64).expand(*k.shape[:-1], 5)  # with these values, outputs are weights
    weights = scaled_dot_product_attention(q, k, one, **options)
    assert_allclose(ours.output, output, rtol=1e-9, atol=1e-12)
    assert_allclose(ours.weights, weights, rtol=1e-9, atol=1e-12)
    blocked = np.broadcast_to(False if mask is None else ~mask, ours.weights.shape)
    assert_array_equal(ours.masked_scores, np.where(blocked, -np.inf, ours.scores))


def peak_memory(call: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_shared_keys_are_not_repeated_in_memory() -> None:
    x_q, x_kv, w_q, w_k, w_o = random((1, 64), (4096, 8), (64, 512), (8, 64), (512, 4))
    shared = 8 * 4096 * 64  # bytes of one head of keys
    copies = np.tile(w_k, 8)
    mask = np.ones((1, 4096), dtype=bool)
    one = peak_memory(
        lambda: grouped_query(x_q, x_kv, w_q, w_k, w_k, w_o, n_heads=8, n_kv_heads=1, mask=mask)
    )
    eight = peak_memory(lambda: multi_head(x_q, x_kv, w_q, copies, copies, w_o, n_heads=8, mask=mask))
    assert one < 8 * shared < 16 * shared < eight


@pytest.mark.parametrize(
    "shape", [(3, 3), (3,), (1, 3), (1, 3, 3), (4, 1, 1, 3), (4, 2, 3, 3), (1, 2, 3, 1), (5, 1, 2, 3, 3)]
)
def test_masks_for_all_and_masks_for_each_head(shape: tuple[int, ...]) -> None:
    leading = (5, 4) if len(shape) == 5 else (4,) if len(shape) == 4 else ()
    (x,) = random((*leading[-1:], 3, 4))
    mask = random_mask(shape)
    weights = attend_in_heads(x, x, x, n_heads=2, mask=mask).weights
    assert weights.shape == (*leading, 2, 3, 3)
    assert_array_equal(weights == 0, np.broadcast_to(~mask, weights.shape))


# -- libraries, dtypes, gradients ----------------------------------------------------------------


def test_every_library_and_dtype_gives_the_same_digits(xp: Library) -> None:
    arrays = [xp.array(x) for x in random((2, 3, 4), (2, 5, 3), (4, 4), (3, 4), (3, 4), (4, 2))]
    shared = [*arrays[:3], *(w[:, :2] for w in arrays[3:5]), arrays[5]]
    exact, exact_shared = ([xp.numpy(x).astype(float) for x in inputs] for inputs in (arrays, shared))
    mask = random_mask((3, 5))
    ours = multi_head(*arrays, n_heads=2, mask=xp.booleans(mask))
    assert_same_digits(ours, multi_head(*exact, n_heads=2, mask=mask), arrays[0], xp)
    options = {"n_heads": 2, "n_kv_heads": 1}
    ours = grouped_query(*shared, **options, mask=xp.booleans(mask))
    assert_same_digits(ours, grouped_query(*exact_shared, **options, mask=mask), arrays[0], xp)
    for x, before in zip(arrays, exact, strict=True):
        assert_array_equal(xp.numpy(x), before)  # inputs stay as they are


def assert_same_digits(steps: Attention, expected: Attention, like: Any, xp: Library) -> None:
    for name, x, y in zip(Attention._fields, steps, expected, strict=True):
        assert (type(x), x.dtype, device(x)) == (type(like), like.dtype, device(like)), name
        assert_allclose(xp.numpy(x), y, rtol=32 * xp.eps, atol=32 * xp.eps, err_msg=name)


def test_gradients_are_the_slopes() -> None:
    inputs = [torch.tensor(x, requires_grad=True) for x in random((3, 4), (2, 4), *[(4, 4)] * 3, (4, 2))]
    mask = torch.tensor([[True, False], [False, False], [True, True]])
    assert torch.autograd.gradcheck(lambda *a: multi_head(*a, n_heads=2, mask=mask).output, inputs)
    shared = [x.detach()[:, :2].requires_grad_() if i in (3, 4) else x for i, x in enumerate(inputs)]
    assert torch.autograd.gradcheck(
        lambda *a: grouped_query(*a, n_heads=2, n_kv_heads=1, mask=mask).output, shared
    )


def test_a_blocked_row_that_is_not_a_number_reaches_two_gradients_alone() -> None:
    arrays, mask = random((3, 4), (4, 4), *[(4, 4)] * 4), torch.tensor([True, True, True, False])
    results = []
    for last in (arrays[1][3], np.nan):
        arrays[1][3] = last
        inputs = [torch.tensor(x, requires_grad=True) for x in arrays]
        output = multi_head(*inputs, n_heads=2, mask=mask).output
        results.append([output, *torch.autograd.grad(output.pow(3).sum(), inputs)])
    for i, (clean, bad) in enumerate(zip(*results, strict=True)):
        if i in (4, 5):  # the gradients of w_k and w_v
            assert bad.isnan().any()
        else:
            assert_close(bad, clean)


# -- transforms: no branch looks at the numbers ----------------------------------------------------

Call = Callable[..., Attention]
CALLS: dict[str, Call] = {
    "multi_head": partial(multi_head, n_heads=4),
    "grouped_query": partial(grouped_query, n_heads=4, n_kv_heads=2),
}
each_call = pytest.mark.parametrize("name", CALLS)


def transformable(name: str) -> tuple[Call, list[np.ndarray], np.ndarray]:
    """Return a function of heads, its arrays with 3 samples, and a mask for each sample."""
    d_kv = 8 if name == "multi_head" else 4
    arrays = random((3, 4, 8), (3, 5, 8), (8, 8), (8, d_kv), (8, d_kv), (8, 8))
    return CALLS[name], arrays, random_mask((3, 4, 5))


@each_call
def test_torch_transforms(name: str) -> None:
    call, arrays, masks = transformable(name)
    inputs, mask = [torch.tensor(x) for x in arrays], torch.tensor(masks)
    expected = call(*inputs, mask=mask[:, None])
    axes = (0, 0, None, None, None, None, 0)
    of_one = lambda *x: call(*x[:-1], mask=x[-1])  # noqa: E731
    assert_close(torch.vmap(of_one, in_dims=axes)(*inputs, mask), expected)

    loss = lambda *x: of_one(*x).output.pow(3).sum()  # noqa: E731
    of_each = torch.vmap(torch.func.grad(loss, argnums=(2, 3)), in_dims=axes)(*inputs, mask)
    for i in range(3):
        one = (*(x[i] for x in inputs[:2]), *inputs[2:], mask[i])
        assert_close(tuple(g[i] for g in of_each), torch.func.grad(loss, argnums=(2, 3))(*one))

    meta = call(*(x.to("meta") for x in inputs), mask=mask[:, None].to("meta"))
    assert [x.shape for x in meta] == [x.shape for x in expected]
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert [x.shape for x in call(*inputs, mask=mask[:, None])] == [x.shape for x in expected]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`")  # array_api_compat's
@each_call
def test_torch_graphs(name: str) -> None:
    call, arrays, masks = transformable(name)
    inputs = (*(torch.tensor(x) for x in arrays), torch.tensor(masks[:, None]))

    class Module(torch.nn.Module):
        def forward(self, *x: torch.Tensor) -> Attention:
            return call(*x[:-1], mask=x[-1])

    expected = Module()(*inputs)
    assert_close(torch.compile(Module(), fullgraph=True, backend="eager")(*inputs), expected)
    assert_close(torch.export.export(Module(), inputs).module()(*inputs), expected)


@pytest.mark.slow
@each_call
def test_jax_transforms(name: str) -> None:
    call, arrays, masks = transformable(name)
    with jax.enable_x64(True):
        inputs, mask = [jax.numpy.asarray(x) for x in arrays], jax.numpy.asarray(masks)
        expected = call(*arrays, mask=masks[:, None])
        together = jax.jit(lambda *x: call(*x[:-1], mask=x[-1][:, None]))(*inputs, mask)
        axes = (0, 0, None, None, None, None, 0)
        of_each = jax.vmap(lambda *x: call(*x[:-1], mask=x[-1]), in_axes=axes)(*inputs, mask)
        for ours in (together, of_each):
            for x, y in zip(ours, expected, strict=True):
                assert_allclose(x, y, rtol=1e-9, atol=1e-12)


# -- errors --------------------------------------------------------------------------------------

HALF: Any = 0.5  # Any: wrong on purpose
X, W = np.ones((3, 4)), np.ones((4, 4))
B = np.ones((2, 3, 4))


def heads(*changes: Any, **options: Any) -> Attention:
    """Call multi_head with ones that fit, but for the first arguments, given as `changes`."""
    arguments = [*changes, *(X, X, W, W, W, W)[len(changes) :]]
    return multi_head(*arguments, **{"n_heads": 2, **options})


def shared(*changes: Any, **options: Any) -> Attention:
    """Call grouped_query in the same way: 4 heads of 1 column each, 2 heads of keys."""
    arguments = [*changes, *(X, X, W, W[:, :2], W[:, :2], W)[len(changes) :]]
    return grouped_query(*arguments, **{"n_heads": 4, "n_kv_heads": 2, **options})


ERRORS: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "n_heads float": (TypeError, lambda: split_heads(X, HALF), r"n_heads must be an integer, got float"),
    "n_heads 0": (ValueError, lambda: split_heads(X, 0), r"n_heads must be at least 1, got 0"),
    "n_heads 3": (ValueError, lambda: split_heads(X, 3), r"divide d_model = 4 \(one of \[1, 2, 4\]\), got 3"),
    "split 1 axis": (ValueError, lambda: split_heads(X[0], 2), r"\(\.\.\., n, d_model\), got shape \(4,\)"),
    "merge 2 axes": (
        ValueError,
        lambda: merge_heads(X),
        r"\(\.\.\., n_heads, n, d_head\), got shape \(3, 4\)",
    ),
    "q and k": (ValueError, lambda: attend_in_heads(X, X[:, :2], X, n_heads=2), r"q \(3, 4\), k \(3, 2\)"),
    "batches": (ValueError, lambda: heads(B, np.ones((3, 3, 4))), r"x_q \(2, 3, 4\), x_kv \(3, 3, 4\)"),
    "w_q axes": (
        ValueError,
        lambda: heads(X, X, B),
        r"w_q must have shape \(d_in, d_model\), got .*\(2, 3, 4\)",
    ),
    "w_q": (ValueError, lambda: heads(X, X, W[:3]), r"d_in must be .*got x_q \(3, 4\), w_q \(3, 4\)"),
    "w_k": (ValueError, lambda: heads(X, X, W, W[:, :2]), r"d_model .*got w_q \(4, 4\), w_k \(4, 2\)"),
    "w_o": (ValueError, lambda: heads(X, X, W, W, W, W[:3]), r"d_values .*w_v \(4, 4\), w_o \(3, 4\)"),
    "mask sizes": (ValueError, lambda: heads(mask=np.ones((5, 5), bool)), r"shape \(2, 3, 3\), got \(5, 5\)"),
    "mask of batch": (
        ValueError,
        lambda: heads(B, B, mask=np.ones((2, 3, 3), bool)),
        r"4 axes with 1 or n_heads = 2 third .*got \(2, 3, 3\); if it is .*, write mask\[:, None\]",
    ),
    "mask of batch, one head": (
        ValueError,
        lambda: heads(B, B, n_heads=1, mask=np.ones((2, 3, 3), bool)),
        r"4 axes with 1 or n_heads = 1 third .*got \(2, 3, 3\)",
    ),
    "mask of other heads": (
        ValueError,
        lambda: heads(mask=np.ones((4, 3, 3), bool)),
        r"3 axes with 1 or n_heads = 2 third .*got \(4, 3, 3\)",
    ),
    "n_kv_heads 3": (
        ValueError,
        lambda: shared(n_kv_heads=3),
        r"n_kv_heads must divide n_heads = 4 \(one of \[1, 2, 4\]\), got 3",
    ),
    "n_kv_heads float": (TypeError, lambda: shared(n_kv_heads=HALF), r"n_kv_heads must be an integer"),
    "all keys": (
        ValueError,
        lambda: shared(X, X, W, W),
        r"\(d_kv, n_kv_heads·d_head=2\), got shape \(4, 4\)",
    ),
    "w_v columns": (
        ValueError,
        lambda: shared(X, X, W, W[:, :2], W[:, :3]),
        r"n_kv_heads must divide the columns of w_v = 3 \(one of \[1, 3\]\), got 2",
    ),
    "w_o rows": (
        ValueError,
        lambda: shared(X, X, W, W[:, :2], W[:, :2], W[:2]),
        r"w_o must have shape \(n_heads·d_v=4, d_out\), got shape \(2, 4\)",
    ),
    "shared mask of batch": (ValueError, lambda: shared(B, B, mask=B == 1), r"4 axes with 1 or n_heads = 4"),
    "shared mask sizes": (ValueError, lambda: shared(mask=W == 1), r"shape \(4, 3, 3\), got \(4, 4\)"),
}


@pytest.mark.parametrize(("error", "call", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_error(error: type[Exception], call: Callable[[], Any], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
