"""Tests of the kernels for long sequences: equal to attention where theory says so."""

from collections.abc import Callable
from itertools import permutations
from types import ModuleType
from typing import Any, NamedTuple

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from array_api_compat import device
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch.nn.functional import scaled_dot_product_attention

from attention_core import attend, causal_mask, long
from attention_core.long import (
    Partial,
    elu_plus_one,
    linear_attention,
    low_rank_attention,
    merge_partial,
    partial_attention,
    shortcuts,
    sliding_window_attention,
    streaming,
    streaming_attention,
    streaming_ledger,
    window_mask,
)
from tests.kernels.properties import BLOCKED_ROW, random
from tests.kernels.specification import loop_attend_all, loop_linear_all
from tests.libraries import Library

CLOSE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-12}


def allowed_by(mask: np.ndarray | None, causal: bool, n_q: int, n_k: int) -> np.ndarray:
    """Draw the mask that `mask` and `causal` mean together, number by number."""
    past = np.array([[j <= i + n_k - n_q or not causal for j in range(n_k)] for i in range(n_q)])
    return past if mask is None else past & mask


def drawn_window(n_q: int, n_k: int, window: int, causal: bool) -> np.ndarray:
    places = [i + n_k - n_q for i in range(n_q)]
    near = [[abs(j - place) < window and (j <= place or not causal) for j in range(n_k)] for place in places]
    return np.array(near)


# -- shapes, masks and tiles that hypothesis makes up: every kernel is its plain loops ---------------


class Case(NamedTuple):
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    mask: np.ndarray | None
    causal: bool
    tile_q: int
    tile_k: int

    def allowed(self, mask: np.ndarray | None) -> np.ndarray:
        return allowed_by(mask, self.causal, self.q.shape[-2], self.k.shape[-2])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any sizes, leading axes and tiles, with or without a mask."""
    n_q, n_k = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    d_k, d_v = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    leading = draw(hnp.mutually_broadcastable_shapes(num_shapes=4, max_dims=2, max_side=2)).input_shapes
    q, k, v = (
        draw(hnp.arrays(float, (*lead, *size), elements=st.floats(-4, 4)))
        for lead, size in zip(leading[:3], [(n_q, d_k), (n_k, d_k), (n_k, d_v)], strict=True)
    )
    row, column = draw(st.sampled_from([1, n_q])), draw(st.sampled_from([1, n_k]))
    mask = draw(st.none() | hnp.arrays(bool, draw(st.sampled_from([(*leading[3], row, column), (column,)]))))
    return Case(q, k, v, mask, draw(st.booleans()), draw(st.integers(1, 7)), draw(st.integers(1, 7)))


def called(
    kernel: Callable[..., Any], xp: Library, case: Case, mask: np.ndarray | None, **options: Any
) -> np.ndarray:
    """Return kernel(q, k, v, mask) of a library as an array of numpy."""
    q, k, v = (xp.array(x) for x in case[:3])
    mask = None if mask is None else xp.booleans(mask)
    return xp.numpy(kernel(q, k, v, mask=mask, causal=case.causal, **options))


@given(case=cases(), scale=st.sampled_from([None, -0.3]))
def test_streaming_is_the_plain_loops(xp64: Library, case: Case, scale: float | None) -> None:
    tiles = {"tile_q": case.tile_q, "tile_k": case.tile_k}
    ours = called(streaming_attention, xp64, case, case.mask, scale=scale, **tiles)
    _, output = loop_attend_all(case.q, case.k, case.v, case.allowed(case.mask), scale)
    assert ours.shape == output.shape
    assert_allclose(ours, output, **CLOSE)


@given(case=cases())
def test_streaming_is_torchs_own_attention(case: Case) -> None:
    q, k, v, mask, causal, tile_q, tile_k = case
    allowed = case.allowed(mask)
    leading = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v, allowed)))
    full = (torch.tensor(np.broadcast_to(x, (*leading, *x.shape[-2:]))) for x in (q, k, v, allowed))
    full_q, full_k, full_v, attn_mask = full
    theirs = scaled_dot_product_attention(full_q, full_k, full_v, attn_mask=attn_mask)
    ours = streaming_attention(q, k, v, mask=mask, causal=causal, tile_q=tile_q, tile_k=tile_k)
    assert_allclose(ours, theirs.numpy(), **CLOSE)


@given(case=cases(), window=st.integers(1, 7), scale=st.sampled_from([None, -0.3]))
def test_a_sliding_window_is_the_plain_loops(
    xp64: Library, case: Case, window: int, scale: float | None
) -> None:
    options = {"window": window, "scale": scale, "tile": case.tile_q}
    ours = called(sliding_window_attention, xp64, case, case.mask, **options)
    near = drawn_window(case.q.shape[-2], case.k.shape[-2], window, case.causal)
    _, output = loop_attend_all(
        case.q, case.k, case.v, near if case.mask is None else near & case.mask, scale
    )
    assert_allclose(ours, output, **CLOSE)


@given(case=cases())
def test_linear_attention_is_the_plain_loops(xp64: Library, case: Case) -> None:
    mask = case.mask if case.mask is None or case.mask.ndim == 1 else case.mask[..., :1, :]
    ours = called(linear_attention, xp64, case, mask, feature_map=elu_plus_one, tile=case.tile_q)
    assert_allclose(ours, loop_linear_all(case.q, case.k, case.v, case.allowed(mask)), **CLOSE)


def test_low_rank_attends_to_mixed_keys() -> None:
    q, k, v, w_k, w_v = random((3, 4), (5, 4), (5, 2), (2, 5), (2, 5))
    _, output = loop_attend_all(q, w_k @ k, w_v @ v)
    assert_allclose(low_rank_attention(q, k, v, w_k, w_v), output, **CLOSE)
    order = np.eye(5)[[3, 0, 4, 1, 2]]  # all keys and values, in another order
    ours = low_rank_attention(q, k, v, order, order, scale=0.7)
    assert_allclose(ours, attend(q, k, v, scale=0.7).output, **CLOSE)


# -- parts, and the ledger -------------------------------------------------------------------------


def test_a_part_is_its_definition() -> None:
    q, k, v = random((3, 4), (3, 4), (3, 2))
    m, l, o = partial_attention(q, k, v, mask=BLOCKED_ROW)  # noqa: E741
    scores = np.where(BLOCKED_ROW, q @ k.T / 2, -np.inf)
    assert_array_equal(m[:, 0], scores.max(axis=1))
    assert m[1] == -np.inf
    e = np.where(BLOCKED_ROW, np.exp(q @ k.T / 2 - np.where(np.isfinite(m), m, 0)), 0)
    assert_allclose(l[:, 0], e.sum(axis=1), **CLOSE)
    assert_allclose(o, e @ v, **CLOSE)
    assert (l[1], *o[1]) == (0, 0, 0)


def test_parts_merge_in_any_order() -> None:
    q, k, v = random((2, 3, 4), (2, 6, 4), (2, 6, 2))
    mask = np.array([[0, 0, 1, 1, 0, 1], [0] * 6, [0, 0, 1, 1, 1, 0]], bool)  # a group and a query blocked
    parts = [
        partial_attention(3 * q, k[:, keys], v[:, keys], mask=mask[:, keys])
        for keys in ([0, 1], [2, 5], [3, 4])
    ]
    expected = attend(3 * q, k, v, mask=mask).output
    for a, b, c in permutations(parts):
        left, right = merge_partial(merge_partial(a, b), c), merge_partial(a, merge_partial(b, c))
        assert_allclose(left.output, expected, **CLOSE)
        for x, y in zip(left, right, strict=True):
            assert_allclose(x, y, **CLOSE)
    assert_array_equal(merge_partial(parts[1], parts[2]).m, np.maximum(parts[1].m, parts[2].m))


def test_the_ledger_adds_up() -> None:
    q, k, v = random((2, 3, 4), (2, 5, 4), (2, 5, 2))
    for causal in (False, True):
        steps = list(streaming_ledger(q, k, v, causal=causal, tile_k=2))
        assert [(step.start, step.stop) for step in steps] == [(0, 2), (2, 4), (4, 5)]
        mask = allowed_by(None, causal, 3, 5)
        for step in steps:
            keys, own = slice(0, step.stop), slice(step.start, step.stop)
            seen = attend(q, k[:, keys], v[:, keys], mask=mask[:, keys]).output
            assert_allclose(step.merged.output, seen, **CLOSE)
            alone = attend(q, k[:, own], v[:, own], mask=mask[:, own]).output
            assert_allclose(step.tile.output, alone, **CLOSE)


def test_huge_scores_stay_finite() -> None:
    scores = np.array([-1e4, 1e4, -1e4, 1e4, 0.0, -1e4])
    for order in (slice(None), slice(None, None, -1)):
        q, k = np.array([[1.0], [-1.0]]), scores[order, None]
        v = np.arange(6.0)[order, None]
        ours = streaming_attention(q, k, v, scale=1.0, tile_q=1, tile_k=1)
        assert_allclose(ours, [[2.0], [7 / 3]], rtol=1e-12)


# -- windows and features --------------------------------------------------------------------------


def test_windows_are_as_drawn() -> None:
    assert_array_equal(window_mask(3, window=1), np.eye(3))
    assert_array_equal(window_mask(2, 4, window=2), [[0, 1, 1, 1], [0, 0, 1, 1]])
    assert_array_equal(window_mask(2, 4, window=2, causal=True), [[0, 1, 1, 0], [0, 0, 1, 1]])
    assert_array_equal(window_mask(2, 4, window=2, offset=0), [[1, 1, 0, 0], [1, 1, 1, 0]])
    for n_q, n_k in [(5, 5), (2, 6), (6, 2)]:
        for window in (1, 2, 3, 9):
            for causal in (False, True):
                ours = window_mask(n_q, n_k, window=window, causal=causal)
                assert_array_equal(ours, drawn_window(n_q, n_k, window, causal))


def test_features_are_elu_plus_one() -> None:
    x = torch.tensor([-1e30, -2.0, -1e-9, 0.0, 1e-9, 3.0, 1e30], dtype=torch.float64, requires_grad=True)
    ours, theirs = elu_plus_one(x), torch.nn.functional.elu(x) + 1
    assert_allclose(ours.detach(), theirs.detach(), rtol=1e-9)
    for y, z in zip(torch.autograd.grad(ours.sum(), x), torch.autograd.grad(theirs.sum(), x), strict=True):
        assert_allclose(y, z, rtol=1e-9)


@pytest.mark.parametrize(
    ("dtype", "q", "k", "rtol"),
    [
        ("float16", [-20.0, -20.0], [[0.5, 0.5], [1.5, 0.5]], 1e-3),  # 15 / 7
        ("float16", [-80.0, -60.0], [[-80.0, -70.0], [-79.0, -72.0]], 1e-3),
        ("float32", [-87.0, -86.0], [[-86.0, -87.0], [-87.0, -85.0]], 1e-5),
        ("float64", [-708.0, 5.0], [[-707.0, -708.0], [-706.0, -708.0]], 1e-12),
    ],
)
@pytest.mark.parametrize("causal", [False, True])
def test_small_features_do_not_underflow(
    dtype: str, q: list[float], k: list[list[float]], rtol: float, causal: bool
) -> None:
    queries, keys, values = arrays = np.array([q, q]), np.array(k), np.array([[1.0], [3.0]])
    ours = linear_attention(*(x.astype(dtype) for x in arrays), feature_map=elu_plus_one, causal=causal)
    expected = loop_linear_all(queries, keys, values, allowed_by(None, causal, 2, 2))
    assert_allclose(ours, expected, rtol=rtol)


def test_weights_that_are_lost_are_not_0() -> None:
    """Where all products are 0 nobody knows the weights; a query that sees no key still gets 0."""
    q, v = np.array([[-2000.0], [1.0]]), np.array([[2.0], [4.0]])
    options: dict[str, Any] = {"feature_map": elu_plus_one, "causal": True}
    assert_array_equal(linear_attention(q, q, v, **options), [[np.nan], [4.0]])
    assert_array_equal(linear_attention(q, q[::-1], v, **options), [[np.nan], [2.0]])
    assert_array_equal(linear_attention(q, q, v, mask=np.array([False, False]), **options), [[0.0], [0.0]])
    assert_array_equal(linear_attention(q, q[1:], v[1:], **options), [[0.0], [4.0]])
    assert_array_equal(linear_attention(q, q, v, mask=np.array([False, True]), **options), [[0.0], [4.0]])


# -- every library and dtype ----------------------------------------------------------------------


def test_every_library_and_dtype_gives_the_same_digits(xp: Library) -> None:
    arrays = random((2, 5, 4), (2, 5, 4), (2, 5, 3))
    q, k, v = (xp.array(x) for x in arrays)
    exact_q, exact_k, exact_v = (xp.numpy(x).astype(float) for x in (q, k, v))
    mask = np.array([[1, 0, 1, 0, 0], [0, 1, 1, 0, 1], [1, 0, 1, 0, 0], [0] * 5, [1] * 5], bool)
    near = window_mask(5, window=2, causal=True)
    eye = xp.array(np.eye(5))
    options: dict[str, Any] = {"mask": xp.booleans(mask), "tile_q": 2, "tile_k": 2}
    pairs = [
        (streaming_attention(q, k, v, **options), attend(exact_q, exact_k, exact_v, mask=mask).output),
        (
            sliding_window_attention(q, k, v, window=2, causal=True, tile=2),
            attend(exact_q, exact_k, exact_v, mask=near).output,
        ),
        (
            linear_attention(q, k, v, feature_map=elu_plus_one, causal=True, tile=2),
            loop_linear_all(exact_q, exact_k, exact_v, causal_mask(5)),
        ),
        (low_rank_attention(q, k, v, eye, eye), attend(exact_q, exact_k, exact_v).output),
    ]
    for ours, expected in pairs:
        assert (type(ours), ours.dtype, device(ours)) == (type(q), q.dtype, device(q))
        assert_allclose(xp.numpy(ours), expected, rtol=8 * xp.eps, atol=8 * xp.eps)
    assert type(window_mask(2, window=1, like=q)) is type(options["mask"])


def test_parts_have_at_least_float32(xp: Library) -> None:
    """A long sum in float16 would stop growing: 4096 weights of 1 are 2048 there."""
    ones = xp.array(np.ones((4096, 1)))
    part = partial_attention(ones[:1, :], ones, ones)
    assert xp.numpy(part.l)[0, 0] == 4096
    assert xp.numpy(streaming_attention(ones[:1, :], ones, ones, tile_k=1000))[0, 0] == 1
    linear = linear_attention(ones[:1, :], ones, ones, feature_map=lambda x: x, tile=1000)
    assert xp.numpy(linear)[0, 0] == 1


def test_large_inputs_stay_finite(xp: Library) -> None:
    """In float16 the scores, 720,000, would overflow; torch's own attention gives the value, too."""
    x = xp.array(np.full((3, 64), 300))
    eye = xp.array(np.eye(3))
    with np.errstate(over="ignore"):  # the scores that attend shows are infinite
        outputs = [attend(x, x, x).output]
    outputs += [
        streaming_attention(x, x, x, tile_k=2),
        sliding_window_attention(x, x, x, window=2, tile=2),
        linear_attention(x, x, x, feature_map=elu_plus_one, tile=2),
        low_rank_attention(x, x, x, eye, eye),
    ]
    for output in outputs:
        assert_allclose(xp.numpy(output), 300, rtol=xp.eps)
    half = torch.full((1, 3, 64), 300, dtype=torch.float16)
    assert torch.all(scaled_dot_product_attention(half, half, half) == 300)


def test_inputs_are_never_changed(xp64: Library) -> None:
    q, k, v = arrays = [xp64.array(x) for x in random((3, 4), (3, 4), (3, 2))]
    mask, w = xp64.booleans(np.tri(3)), xp64.array(np.eye(3))
    before = [xp64.numpy(x).copy() for x in (*arrays, mask, w)]
    streaming_attention(*arrays, mask=mask, tile_q=2, tile_k=2)
    sliding_window_attention(*arrays, window=2, mask=mask, tile=2)
    linear_attention(*arrays, feature_map=lambda x: x, causal=True, tile=2)
    low_rank_attention(q, k, v, w, w)
    steps = list(streaming_ledger(*arrays, tile_k=1))
    before += [xp64.numpy(x).copy() for x in (*steps[0].tile, *steps[1].merged)]
    merge_partial(steps[0].tile, steps[1].merged)
    after = (*arrays, mask, w, *steps[0].tile, *steps[1].merged)
    for x, y in zip(after, before, strict=True):
        assert_array_equal(xp64.numpy(x), y)


def test_the_package_holds_every_name() -> None:
    assert set(long.__all__) == {*public_names(streaming), *public_names(shortcuts)}


def public_names(module: ModuleType) -> list[str]:
    """Return the public names that `module` itself defines."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


# -- every error says what was expected and what came ----------------------------------------------

X = np.ones((2, 3))
PART = Partial(np.ones((2, 1)), np.ones((2, 1)), X)
HALF: Any = 0.5
SUMS: dict[str, Any] = {"feature_map": lambda x: x}

ERRORS: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "list": (TypeError, lambda: streaming_attention([[1.0]], X, X), r"q must be an array .*got list"),
    "shapes": (
        ValueError,
        lambda: streaming_ledger(X, X, X[:1]),
        r"n_k must be the same in k .* and v .*, got k \(2, 3\), v \(1, 3\)",
    ),
    "part": (
        ValueError,
        lambda: partial_attention(X, X[:, :2], X),
        r"d_k must be the same in q .* and k .*, got q \(2, 3\), k \(2, 2\)",
    ),
    "mask": (
        TypeError,
        lambda: sliding_window_attention(X, X, X, window=1, mask=np.ones((2, 2))),
        r"mask must be boolean with True = may attend, got float64",
    ),
    "scale": (
        TypeError,
        lambda: streaming_attention(X, X, X, scale=True),
        r"scale must be a number, got bool",
    ),
    "tile_q": (ValueError, lambda: streaming_attention(X, X, X, tile_q=0), r"tile_q must be at least 1"),
    "tile_k": (TypeError, lambda: streaming_attention(X, X, X, tile_k=HALF), r"tile_k must be an integer"),
    "ledger": (
        ValueError,
        lambda: streaming_ledger(X, X, X, tile_k=0),
        r"tile_k must be at least 1, got 0",
    ),
    "window": (ValueError, lambda: window_mask(2, window=0), r"window must be at least 1, got 0"),
    "sliding": (
        TypeError,
        lambda: sliding_window_attention(X, X, X, window=HALF),
        r"window must be an integer",
    ),
    "tile": (
        ValueError,
        lambda: sliding_window_attention(X, X, X, window=1, tile=0),
        r"tile must be at least 1",
    ),
    "offset": (TypeError, lambda: window_mask(2, window=1, offset=HALF), r"offset must be an integer"),
    "n_q": (TypeError, lambda: window_mask(HALF, window=1), r"n_q must be an integer, got float"),
    "linear tile": (
        ValueError,
        lambda: linear_attention(X, X, X, tile=0, **SUMS),
        r"tile must be at least",
    ),
    "linear mask": (
        ValueError,
        lambda: linear_attention(X, X, X, mask=np.ones((2, 2), bool), **SUMS),
        r"mask must be the same for all queries, .*got \(2, 2\); .*causal=True",
    ),
    "features": (
        ValueError,
        lambda: linear_attention(X, X, X, feature_map=lambda x: x.T),
        r"feature_map must keep every axis but the last: it made shape \(3, 1\) of \(1, 3\)",
    ),
    "w_k": (
        ValueError,
        lambda: low_rank_attention(X, X, X, np.ones((1, 3)), np.ones((1, 2))),
        r"n_k must be the same in .*w_k \(r, n_k\).*, got .*w_k \(1, 3\)",
    ),
    "w_v": (
        ValueError,
        lambda: low_rank_attention(X, X, X, np.ones((1, 2)), np.ones((1, 1, 2))),
        r"w_v must have shape \(r, n_k\), got shape \(1, 1, 2\)",
    ),
    "ranks": (
        ValueError,
        lambda: low_rank_attention(X, X, X, np.ones((1, 2)), np.ones((2, 2))),
        r"r must be the same in .*, got w_k \(1, 2\), w_v \(2, 2\)",
    ),
    "queries": (
        ValueError,
        lambda: merge_partial(PART, Partial(*(x[:1] for x in PART))),
        r"n_q must be the same in a .* and b .*, got a \(2, 3\), b \(1, 3\)",
    ),
    "d_v": (
        ValueError,
        lambda: merge_partial(PART, PART._replace(o=X[:, :2])),
        r"d_v must be the same in a .* and b .*, got a \(2, 3\), b \(2, 2\)",
    ),
    "leading": (
        ValueError,
        lambda: merge_partial(
            Partial(*(np.stack([x] * 2) for x in PART)), Partial(*(np.stack([x] * 3) for x in PART))
        ),
        r"leading axes of a and b must broadcast, got a \(2, 2, 3\), b \(3, 2, 3\)",
    ),
    "libraries": (
        TypeError,
        lambda: merge_partial(PART, Partial(*map(torch.tensor, PART))),
        r"one library, got a numpy, b torch",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_say_what_came(case: str) -> None:
    error, call, message = ERRORS[case]
    with pytest.raises(error, match=message):
        call()
