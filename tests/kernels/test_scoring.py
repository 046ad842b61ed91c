"""Tests of additive_scores and gaussian_scores: the plain loops, torch's layers, every error."""

from collections.abc import Callable
from types import ModuleType
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

from attention_core import additive_scores, attention_scores, gaussian_scores, scoring, softmax, weigh
from tests.kernels.properties import random
from tests.kernels.specification import loop_additive, loop_gaussian, loop_kernel_regression
from tests.libraries import Library

Kernels = Any  # a module with additive_scores and gaussian_scores: `test_mutants.py` hands in damaged ones
SHAPES = [(3, 4), (5, 2), (4, 6), (2, 6), (6,)]  # d_q = 4 and d_k = 2, d_hidden = 6


def additive_is_the_formula(kernels: Kernels) -> None:
    arrays = random(*SHAPES)
    expected = loop_additive(*(x.tolist() for x in arrays))
    assert_allclose(kernels.additive_scores(*arrays), expected, rtol=1e-12)


def gaussian_is_the_formula(kernels: Kernels) -> None:
    q, k = random((3, 4), (5, 4))
    for width in (1.0, 0.5, 3):
        expected = loop_gaussian(q.tolist(), k.tolist(), width)
        assert_allclose(kernels.gaussian_scores(q, k, width=width), expected, rtol=1e-12)
    at_once = kernels.gaussian_scores(q, q)
    assert_array_equal(np.diag(at_once), 0)
    assert not np.any(np.signbit(np.diag(at_once))), "-0. would puzzle a reader"


def large_distances_do_not_overflow(kernels: Kernels) -> None:
    q, k = np.array([[0.0]], np.float16), np.array([[1000.0]], np.float16)  # 1000² is beyond float16
    assert_array_equal(kernels.gaussian_scores(q, k, width=10.0), [[-5000]])


PROPERTIES = [additive_is_the_formula, gaussian_is_the_formula, large_distances_do_not_overflow]


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda check: check.__name__)
def test_property(holds: Callable[[ModuleType], None]) -> None:
    with np.errstate(all="raise", under="ignore"):
        holds(scoring)


# -- the plain loops, on shapes that hypothesis makes up -----------------------------------------


@st.composite
def queries_and_keys(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Any sizes and leading axes; d_q and d_k may differ."""
    leading = draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)).input_shapes
    numbers = st.floats(-4, 4)
    sizes = st.tuples(st.integers(1, 4), st.integers(1, 4))
    q, k = (draw(hnp.arrays(float, (*lead, *draw(sizes)), elements=numbers)) for lead in leading)
    return q, k


def assert_head_by_head(
    scores: np.ndarray, q: np.ndarray, k: np.ndarray, loop: Callable[..., list[list[float]]]
) -> None:
    """Compare scores (..., n_q, n_k) with what `loop` says of each leading index."""
    leading = np.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    assert scores.shape == (*leading, q.shape[-2], k.shape[-2])
    full_q, full_k = (np.broadcast_to(x, (*leading, *x.shape[-2:])) for x in (q, k))
    for index in np.ndindex(*leading):
        expected = loop(full_q[index].tolist(), full_k[index].tolist())
        assert_allclose(scores[index], expected, rtol=1e-9, atol=1e-12)


@given(inputs=queries_and_keys(), d_hidden=st.integers(1, 4))
def test_additive_is_the_plain_loops(
    xp64: Library, inputs: tuple[np.ndarray, np.ndarray], d_hidden: int
) -> None:
    q, k = inputs
    w = random((q.shape[-1], d_hidden), (k.shape[-1], d_hidden), (d_hidden,))
    scores = xp64.numpy(additive_scores(*(xp64.array(x) for x in (q, k, *w))))
    parameters = [x.tolist() for x in w]
    assert_head_by_head(scores, q, k, lambda one_q, one_k: loop_additive(one_q, one_k, *parameters))


@given(inputs=queries_and_keys(), width=st.floats(0.25, 4))
def test_gaussian_is_the_plain_loops(
    xp64: Library, inputs: tuple[np.ndarray, np.ndarray], width: float
) -> None:
    q, k = inputs
    d = min(q.shape[-1], k.shape[-1])
    q, k = q[..., :d], k[..., :d]
    scores = xp64.numpy(gaussian_scores(xp64.array(q), xp64.array(k), width=width))
    assert_head_by_head(scores, q, k, lambda one_q, one_k: loop_gaussian(one_q, one_k, width))


# -- independent oracles -------------------------------------------------------------------------


def test_additive_is_a_network_of_torchs_layers() -> None:
    q, k, *_ = (torch.tensor(x) for x in random((2, 3, 4), (2, 5, 2)))
    of_q, of_k, to_score = (
        torch.nn.Linear(n_in, n_out, bias=False, dtype=torch.float64)
        for n_in, n_out in [(4, 6), (2, 6), (6, 1)]
    )
    pairs = [of_q(q)[:, i, None] + of_k(k) for i in range(3)]  # each query with all keys
    theirs = torch.stack([to_score(torch.tanh(pair))[..., 0] for pair in pairs], dim=1)
    ours = additive_scores(q, k, of_q.weight.T, of_k.weight.T, to_score.weight[0])
    assert_allclose(ours.detach(), theirs.detach(), rtol=1e-12)


def test_gaussian_is_torchs_distance() -> None:
    q, k = (torch.tensor(x) for x in random((2, 3, 4), (2, 5, 4)))
    theirs = -(torch.cdist(q, k, compute_mode="donot_use_mm_for_euclid_dist") ** 2) / (2 * 1.5**2)
    assert_allclose(gaussian_scores(q, k, width=1.5), theirs, rtol=1e-12)


def test_weighing_by_gaussian_scores_is_kernel_regression() -> None:
    q, k, v = random((4, 1), (9, 1), (9,))
    expected = loop_kernel_regression(q.tolist(), k.tolist(), v.tolist(), 0.5)
    ours = weigh(gaussian_scores(q, k, width=0.5), v[:, None]).output[:, 0]
    assert_allclose(ours, expected, rtol=1e-12)


def test_keys_of_one_length_are_weighed_by_their_dot_products() -> None:
    q, k = random((3, 4), (5, 4))
    k /= np.linalg.norm(k, axis=-1, keepdims=True)
    by_distance, by_product = gaussian_scores(q, k), attention_scores(q, k, scale=1.0)
    assert_allclose(softmax(by_distance), softmax(by_product), rtol=1e-12)


def test_gradients_are_the_slopes() -> None:
    arrays = [torch.tensor(x, requires_grad=True) for x in random(*SHAPES)]
    assert torch.autograd.gradcheck(additive_scores, arrays)
    q, k = (torch.tensor(x, requires_grad=True) for x in random((3, 4), (5, 4)))
    assert torch.autograd.gradcheck(lambda q, k: gaussian_scores(q, k, width=0.7), (q, k))


# -- every library and dtype ---------------------------------------------------------------------


def test_every_library_and_dtype_gives_the_same_digits(xp: Library) -> None:
    arrays = [xp.array(x) for x in random((2, 3, 4), *SHAPES[1:])]
    ours = additive_scores(*arrays)
    expected = additive_scores(*(xp.numpy(x).astype(float) for x in arrays))
    assert (type(ours), ours.dtype, device(ours)) == (type(arrays[0]), arrays[0].dtype, device(arrays[0]))
    assert_allclose(xp.numpy(ours), expected, rtol=8 * xp.eps, atol=8 * xp.eps)
    q, k = (xp.array(x) for x in random((2, 3, 4), (5, 4)))
    ours = gaussian_scores(q, k, width=1.5)
    expected = gaussian_scores(xp.numpy(q).astype(float), xp.numpy(k).astype(float), width=1.5)
    assert (type(ours), ours.dtype, device(ours)) == (type(q), q.dtype, device(q))
    assert_allclose(xp.numpy(ours), expected, rtol=8 * xp.eps, atol=8 * xp.eps)


@pytest.mark.slow
def test_jax_gives_the_same_digits_and_can_compile() -> None:
    arrays = [x.astype(np.float32) for x in random(*SHAPES)]
    of_jax = [jax.numpy.asarray(x) for x in arrays]
    q, qx = arrays[0], of_jax[0]
    pairs: list[tuple[Callable[..., Any], list[Any], list[Any]]] = [
        (additive_scores, arrays, of_jax),
        (gaussian_scores, [q, 2 * q], [qx, 2 * qx]),
    ]
    for function, inputs, inputs_of_jax in pairs:
        for run in (function, jax.jit(function)):
            scores = run(*inputs_of_jax)
            assert isinstance(scores, jax.Array)
            assert_allclose(scores, function(*inputs), rtol=1e-5, atol=1e-6)


def test_inputs_are_never_changed(xp64: Library) -> None:
    arrays = [xp64.array(x) for x in random(*SHAPES)]
    additive_scores(*arrays)
    gaussian_scores(arrays[0], arrays[0])
    for x, y in zip(arrays, random(*SHAPES), strict=True):
        assert_array_equal(xp64.numpy(x), y)


# -- every error says what was expected and what came --------------------------------------------

Q, K, W_Q, W_K, W_V = random(*SHAPES)
TEXT: Any = "1"  # Any: wrong on purpose

ERRORS = {
    "q axes": (
        ValueError,
        lambda: additive_scores(Q[0], K, W_Q, W_K, W_V),
        r"q must have shape \(\.\.\., n_q, d_q\), got shape \(4,\)",
    ),
    "leading": (
        ValueError,
        lambda: additive_scores(np.stack([Q] * 2), np.stack([K] * 3), W_Q, W_K, W_V),
        r"leading axes of q and k must broadcast, got q \(2, 3, 4\), k \(3, 5, 2\)",
    ),
    "w_q axes": (
        ValueError,
        lambda: additive_scores(Q, K, W_Q[0], W_K, W_V),
        r"w_q must have shape \(d_q, d_hidden\), got shape \(6,\)",
    ),
    "w_v axes": (
        ValueError,
        lambda: additive_scores(Q, K, W_Q, W_K, W_V[:, None]),
        r"w_v must have shape \(d_hidden,\), got shape \(6, 1\)",
    ),
    "w_q": (
        ValueError,
        lambda: additive_scores(Q, K, W_K, W_K, W_V),
        r"d_q must be the same in q .* and w_q .*, got q \(3, 4\), w_q \(2, 6\)",
    ),
    "w_k": (
        ValueError,
        lambda: additive_scores(Q, K, W_Q, W_Q, W_V),
        r"d_k must be the same in k .* and w_k .*, got k \(5, 2\), w_k \(4, 6\)",
    ),
    "d_hidden": (
        ValueError,
        lambda: additive_scores(Q, K, W_Q, W_K[:, :5], W_V),
        r"d_hidden must be the same in .*, got w_q \(4, 6\), w_k \(2, 5\), w_v \(6,\)",
    ),
    "d": (
        ValueError,
        lambda: gaussian_scores(Q, K),
        r"d must be the same in q .* and k .*, got q \(3, 4\), k \(5, 2\)",
    ),
    "width text": (TypeError, lambda: gaussian_scores(Q, Q, width=TEXT), r"width must be a number, got str"),
    "width 0": (ValueError, lambda: gaussian_scores(Q, Q, width=0), r"width must be above 0, got 0"),
    "width -1": (ValueError, lambda: gaussian_scores(Q, Q, width=-1.0), r"width must be above 0, got -1.0"),
    "width inf": (ValueError, lambda: gaussian_scores(Q, Q, width=np.inf), r"width must be finite, got inf"),
}


@pytest.mark.parametrize(("error", "call", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_error(error: type[Exception], call: Callable[[], Any], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
