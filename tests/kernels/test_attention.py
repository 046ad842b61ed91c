"""Tests of softmax, the masks and attend: the plain loops, three independent oracles, every error."""

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import hypothesis.extra.numpy as hnp
import jax
import numpy as np
import onnx
import pytest
import torch
from array_api_compat import device
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from torch.nn.functional import scaled_dot_product_attention

from attention_core import (
    Attention,
    attend,
    attention,
    attention_scores,
    causal_mask,
    padding_mask,
    softmax,
    weigh,
)
from tests.kernels import properties
from tests.kernels.properties import BLOCKED_ROW, random
from tests.kernels.specification import loop_attend_all
from tests.libraries import Library


@pytest.mark.parametrize("holds", properties.ATTENTION, ids=lambda check: check.__name__)
def test_property(holds: Callable[[Any], None]) -> None:
    with np.errstate(all="raise", under="ignore"):
        holds(attention)


# -- the plain loops, on shapes that hypothesis makes up -----------------------------------------


class Case(NamedTuple):
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    mask: np.ndarray | None
    scale: float | None


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any sizes and leading axes, with or without a mask and a scale."""
    n_q, n_k, d_k, d_v = (draw(st.integers(1, 4)) for _ in range(4))
    leading = draw(hnp.mutually_broadcastable_shapes(num_shapes=4, max_dims=3, max_side=3)).input_shapes
    numbers = st.floats(-4, 4)
    q, k, v = (
        draw(hnp.arrays(float, (*lead, *size), elements=numbers))
        for lead, size in zip(leading[:3], [(n_q, d_k), (n_k, d_k), (n_k, d_v)], strict=True)
    )
    row, column = draw(st.sampled_from([1, n_q])), draw(st.sampled_from([1, n_k]))
    shape = draw(st.sampled_from([(*leading[3], row, column), (row, column), (column,)]))
    mask = draw(st.none() | hnp.arrays(bool, shape))
    return Case(q, k, v, mask, draw(st.none() | st.floats(-2, 2)))


@given(case=cases())
def test_attend_is_the_plain_loops(xp64: Library, case: Case) -> None:
    def to(x: np.ndarray) -> Any:
        return xp64.booleans(x) if x.dtype == bool else xp64.array(x)

    properties.assert_like_the_loops(attention, *case, to=to, back=xp64.numpy)


@given(case=cases())
def test_attend_is_torchs_own_attention(case: Case) -> None:
    q, k, v, mask, scale = case
    allowed = np.ones((1, 1), bool) if mask is None else np.atleast_2d(mask)
    leading = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v, allowed)))
    full_q, full_k, full_v = (torch.tensor(np.broadcast_to(x, (*leading, *x.shape[-2:]))) for x in (q, k, v))
    attn_mask = torch.tensor(np.broadcast_to(allowed, (*leading, q.shape[-2], k.shape[-2])))
    theirs = scaled_dot_product_attention(full_q, full_k, full_v, attn_mask=attn_mask, scale=scale)
    ours = attend(q, k, v, mask=mask, scale=scale).output
    assert_allclose(ours, theirs.numpy(), rtol=1e-9, atol=1e-12)


@given(case=cases())
def test_weigh_takes_scores_of_any_kind(xp64: Library, case: Case) -> None:
    q, k, v, mask, scale = case
    whole = attend(q, k, v, mask=mask, scale=scale)
    steps = weigh(xp64.array(whole.scores), xp64.array(v), mask=None if mask is None else xp64.booleans(mask))
    for x, y in zip(steps, whole, strict=True):
        assert_allclose(xp64.numpy(x), y, rtol=1e-9, atol=1e-12)


@given(case=cases(), bad=st.tuples(*[st.sets(st.integers(0, 3))] * 2))
def test_nan_reaches_only_those_who_may_see_it(case: Case, bad: tuple[set[int], set[int]]) -> None:
    q, k, v, mask, scale = case
    for x, rows in zip((k, v), bad, strict=True):
        x[..., sorted(row for row in rows if row < x.shape[-2]), -1] = np.nan
    _, output = loop_attend_all(q, k, v, mask, scale)
    assert_allclose(attend(q, k, v, mask=mask, scale=scale).output, output, rtol=1e-9, atol=1e-12)


# -- independent oracles -------------------------------------------------------------------------


def test_gradients_are_those_of_torchs_own_attention() -> None:
    def run(function: Callable[..., Any]) -> list[torch.Tensor]:
        q, k, v = (torch.tensor(x, requires_grad=True) for x in random((2, 3, 4), (2, 3, 4), (2, 3, 2)))
        output = function(q, k, v, torch.tensor(BLOCKED_ROW))
        (output**3).sum().backward()
        gradients = [q.grad, k.grad, v.grad]
        return [output.detach(), *(x for x in gradients if x is not None)]

    ours = run(lambda q, k, v, mask: attend(q, k, v, mask=mask).output)
    theirs = run(lambda q, k, v, mask: scaled_dot_product_attention(q, k, v, attn_mask=mask))
    assert len(ours) == len(theirs) == 4
    for x, y in zip(ours, theirs, strict=True):
        assert_allclose(x, y, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("n_q", "n_k"), [(3, 3), (2, 4), (4, 2)])
def test_offset_0_is_torchs_is_causal(n_q: int, n_k: int) -> None:
    q, k, v = (torch.tensor(x) for x in random((n_q, 4), (n_k, 4), (n_k, 2)))
    theirs = scaled_dot_product_attention(q, k, v, is_causal=True)
    ours = attend(q, k, v, mask=causal_mask(n_q, n_k, offset=0, like=q)).output
    assert_allclose(ours, theirs, rtol=1e-9)


def onnx_attend(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None, **options: Any
) -> Attention:
    """Return what ONNX's reference implementation of its operator Attention computes."""
    assert helper.make_opsetid("", 23).version <= onnx.defs.onnx_opset_version(), (
        f"onnx {onnx.__version__} has no operator Attention: it needs opset 23"
    )
    inputs = {"q": q, "k": k, "v": v} | ({} if mask is None else {"mask": mask})
    steps = []
    for mode in (0, 2, 3):  # which step the fourth output holds: scores, masked scores, weights
        node = helper.make_node(
            "Attention", list(inputs), ["y", "", "", "step"], qk_matmul_output_mode=mode, **options
        )
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in inputs.items()
        ]
        outputs = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, None) for name in ("y", "step")]
        graph = helper.make_graph([node], "attention", infos, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
        y, step = ReferenceEvaluator(model).run(None, inputs)
        steps.append(step)
    scores, masked_scores, weights = steps
    return Attention(scores, masked_scores, weights, y)


@pytest.mark.parametrize(
    ("mask", "options"),
    [
        (None, {}),
        (None, {"scale": 0.25}),
        (np.array([[True, True, False, True], [False, True, True, True], [False] * 4]), {}),
        (padding_mask(np.array([1, 4]), 4)[:, None], {}),
    ],
    ids=["plain", "scale", "blocked row", "padding"],
)
def test_attend_is_onnx_attention(mask: np.ndarray | None, options: dict[str, Any]) -> None:
    q, k, v = random((2, 3, 3, 5), (2, 3, 4, 5), (2, 3, 4, 2))
    full = None if mask is None else np.broadcast_to(mask, (2, 3, 3, 4))
    theirs = onnx_attend(q, k, v, full, **options)
    ours = attend(q, k, v, mask=mask, **options)
    for name, x, y in zip(Attention._fields, ours, theirs, strict=True):
        assert_allclose(x, y, rtol=1e-9, atol=1e-12, err_msg=name)


def test_offset_0_is_onnx_is_causal() -> None:
    q, k, v = random((1, 1, 2, 5), (1, 1, 4, 5), (1, 1, 4, 2))
    theirs = onnx_attend(q, k, v, None, is_causal=1)
    ours = attend(q, k, v, mask=causal_mask(2, 4, offset=0))
    assert_allclose(ours.weights, theirs.weights, rtol=1e-9)
    assert_allclose(ours.output, theirs.output, rtol=1e-9)


# -- every library and dtype ---------------------------------------------------------------------


def test_every_library_and_dtype_gives_the_same_digits(xp: Library) -> None:
    q, k, v = (xp.array(x) for x in random((2, 3, 4), (2, 5, 4), (2, 5, 3)))
    mask = np.array([[1, 0, 1, 0, 0], [0, 1, 1, 0, 1], [1, 0, 1, 0, 0]], bool)
    steps = attend(q, k, v, mask=xp.booleans(mask))
    expected = attend(*(xp.numpy(x).astype(float) for x in (q, k, v)), mask=mask)
    for name, x, y in zip(Attention._fields, steps, expected, strict=True):
        assert (type(x), x.dtype, device(x)) == (type(q), q.dtype, device(q)), name
        assert_allclose(xp.numpy(x), y, rtol=8 * xp.eps, atol=8 * xp.eps, err_msg=name)
    bad = xp.numpy(v)
    bad[:, 3] = np.nan
    assert attend(q, k, xp.array(bad), mask=xp.booleans(mask)).output.dtype == q.dtype


def test_softmax_is_torchs_own() -> None:
    (x,) = (torch.tensor(x) for x in random((4, 5)))
    x[0, 2] = -torch.inf
    assert_array_equal(softmax(x), torch.softmax(x, dim=-1))
    assert_array_equal(softmax(x, axis=0), torch.softmax(x, dim=0))
    assert_allclose(softmax(x.numpy()), torch.softmax(x, dim=-1), rtol=1e-12)


def test_every_library_and_dtype_has_rows_without_a_score(xp: Library) -> None:
    inf, nan = np.inf, np.nan
    rows = xp.array([[-inf, -inf], [-inf, 3.0], [0.0, 0.0]])
    assert_array_equal(xp.numpy(softmax(rows)), [[0, 0], [0, 1], [0.5, 0.5]])
    with np.errstate(invalid="ignore"):
        visible = softmax(xp.array([[-inf, -inf], [nan, 1.0], [nan, -inf]]))
    assert_array_equal(xp.numpy(visible), [[0, 0], [nan, nan], [nan, nan]])


@pytest.mark.slow
def test_jax_gives_the_same_digits_and_can_compile() -> None:
    arrays = [x.astype(np.float32) for x in random((2, 3, 4), (2, 3, 4), (2, 3, 2))]
    q, k, v = (jax.numpy.asarray(x) for x in arrays)
    for run in (attend, jax.jit(attend)):
        for name, x, y in zip(Attention._fields, run(q, k, v), attend(*arrays), strict=True):
            assert isinstance(x, jax.Array)
            assert_allclose(x, y, rtol=1e-5, atol=1e-6, err_msg=name)
    mask = jax.numpy.asarray(BLOCKED_ROW)
    steps = attend(q, k, v, mask=mask)
    for x, y in zip(steps, attend(*arrays, mask=BLOCKED_ROW), strict=True):
        assert_allclose(x, y, rtol=1e-5, atol=1e-6)
    assert_array_equal(steps.weights[:, 1], 0)
    slopes = jax.grad(lambda q: (attend(q, k, v, mask=mask).output ** 2).sum())(q)
    assert np.all(np.isfinite(slopes))
    assert_array_equal(slopes[:, 1], 0)


def test_large_inputs_stay_finite(xp: Library) -> None:
    x = xp.array(np.full((2, 64), 60))
    for step in attend(x, x, x):
        assert np.all(np.isfinite(xp.numpy(step)))


def test_every_library_and_dtype_blocks_a_whole_row(xp: Library) -> None:
    x = xp.array(np.eye(3))
    steps = attend(x, x, x, mask=xp.booleans(BLOCKED_ROW))
    assert_array_equal(xp.numpy(steps.weights)[1], 0)
    assert_array_equal(xp.numpy(steps.output)[1], 0)


def test_every_library_and_dtype_blocks_its_largest_number(xp: Library) -> None:
    largest = {"bfloat16": 3.38e38, "float16": 65504.0, "float32": 3.4e38, "float64": 1.7e308}[xp.dtype]
    x = xp.array([[1, 2], [3, 4], [largest, -largest]])
    steps = attend(x[:2, :], x, x, mask=xp.booleans([True, False, False]))
    assert_array_equal(xp.numpy(steps.weights), [[1, 0, 0]] * 2)
    assert_array_equal(xp.numpy(steps.output), [[1, 2]] * 2)


def test_masks_have_the_library_of_like(xp: Library) -> None:
    mask = causal_mask(2, 3, like=xp.array([1.0]))
    assert type(mask) is type(xp.booleans([True]))
    assert_array_equal(xp.numpy(mask), [[1, 1, 0], [1, 1, 1]])
    padding = padding_mask(xp.integers([0, 2]), 3)
    assert type(padding) is type(mask)
    assert_array_equal(xp.numpy(padding), [[[0, 0, 0]], [[1, 1, 0]]])
    assert causal_mask(2, like=torch.ones(1, device="meta")).device.type == "meta"
    assert type(causal_mask(2)) is np.ndarray


@pytest.mark.parametrize("scale", [0.5, np.float64(0.5), np.float32(0.5), Fraction(1, 2)])
def test_any_kind_of_scale_keeps_the_dtype(xp: Library, scale: float) -> None:
    x = xp.array(np.eye(2))
    scores = attention_scores(x, x, scale=scale)
    assert scores.dtype == x.dtype
    assert_array_equal(xp.numpy(scores), 0.5 * np.eye(2))


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    two: Any = np.int64(2)
    assert_array_equal(causal_mask(two, two, offset=two), [[1, 1], [1, 1]])
    assert softmax(np.eye(2), axis=two - 1).shape == (2, 2)


def test_inputs_are_never_changed(xp64: Library) -> None:
    arrays = [xp64.array(x) for x in random((3, 4), (3, 4), (3, 2))]
    arrays[2] = xp64.array(np.where(np.arange(3)[:, None] == 2, np.nan, xp64.numpy(arrays[2])))
    mask, lengths = xp64.booleans(np.tri(3)), xp64.integers([1, 2])
    before = [xp64.numpy(x).copy() for x in (*arrays, mask, lengths)]
    attend(*arrays, mask=mask)
    softmax(arrays[0])
    padding_mask(lengths, 3)
    weigh(arrays[0][:, :3], arrays[2], mask=mask)
    for x, y in zip((*arrays, mask, lengths), before, strict=True):
        assert_array_equal(xp64.numpy(x), y)


def test_options_are_given_by_name() -> None:
    for function in (softmax, attention_scores, weigh, attend):
        parameters = inspect.signature(function).parameters.values()
        options = [p for p in parameters if p.default is not p.empty]
        assert options
        assert all(p.kind is p.KEYWORD_ONLY for p in options), function.__name__


def test_a_row_longer_than_float16_can_count_still_sums_to_one(xp: Library) -> None:
    weights = softmax(xp.array(np.zeros(70_000)))
    assert_allclose(xp.numpy(weights).astype(float).sum(), 1, rtol=5e-3)  # float16 holds three digits


def test_lengths_of_a_small_integer_type() -> None:
    assert padding_mask(np.array([1, 100], dtype=np.int8), 300).sum() == 101


# -- every error says what was expected and what came; wrong arrays: test_inputs.py ----------------

X = np.ones((2, 3))
ON = np.ones((2, 2), bool)
HALF: Any = 0.5  # Any: wrong on purpose
TEXT: Any = "2"
TENSOR: Any = torch.tensor(2)

ERRORS: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "complex": (TypeError, lambda: attend(X, X, X * 1j), r"v must be floating point .*got complex128"),
    "mask int": (
        TypeError,
        lambda: attend(X, X, X, mask=ON * 1),
        r"True = may attend, got int64; write mask == 1",
    ),
    "scale str": (TypeError, lambda: attention_scores(X, X, scale=TEXT), r"scale must be a number, got str"),
    "scale bool": (TypeError, lambda: attend(X, X, X, scale=True), r"scale must be a number, got bool"),
    "scale array": (TypeError, lambda: attend(X, X, X, scale=TENSOR), r"scale must be a number, got Tensor"),
    "axis float": (TypeError, lambda: softmax(X, axis=HALF), r"axis must be an integer, got float"),
    "axis bool": (TypeError, lambda: softmax(X, axis=True), r"axis must be an integer, got bool"),
    "n_q float": (TypeError, lambda: causal_mask(HALF), r"n_q must be an integer, got float"),
    "n_q tensor": (TypeError, lambda: causal_mask(TENSOR), r"n_q must be an integer, got Tensor"),
    "n_k str": (TypeError, lambda: causal_mask(2, TEXT), r"n_k must be an integer, got str"),
    "offset float": (TypeError, lambda: causal_mask(2, offset=HALF), r"offset must be an integer, got float"),
    "padding n_k": (
        TypeError,
        lambda: padding_mask(np.array([1]), True),
        r"n_k must be an integer, got bool",
    ),
    "d_k": (
        ValueError,
        lambda: attend(X, X[:, :2], X),
        r"d_k must be the same in q \(\.\.\., n_q, d_k\) and k .*, got q \(2, 3\), k \(2, 2\)",
    ),
    "n_k": (
        ValueError,
        lambda: attend(X, X, X[:1]),
        r"n_k must be the same in k .* and v \(\.\.\., n_k, d_v\), got k \(2, 3\), v \(1, 3\)",
    ),
    "leading": (
        ValueError,
        lambda: attend(np.ones((2, 2, 3)), np.ones((3, 2, 3)), X),
        r"leading axes of q, k and v must broadcast, got q \(2, 2, 3\), k \(3, 2, 3\), v \(2, 3\)",
    ),
    "leading v": (
        ValueError,
        lambda: attend(np.ones((2, 2, 3)), X, np.ones((3, 2, 3))),
        r"leading axes of q, k and v must broadcast, got q \(2, 2, 3\), k \(2, 3\), v \(3, 2, 3\)",
    ),
    "mask": (
        ValueError,
        lambda: attend(X, X, X, mask=np.ones((3, 2), bool)),
        r"mask must broadcast to the scores' shape \(2, 2\), got \(3, 2\)$",
    ),
    "mask leading": (
        ValueError,
        lambda: attend(np.ones((4, 2, 3)), X, X, mask=np.ones((3, 2, 2), bool)),
        r"mask must broadcast to the scores' shape \(4, 2, 2\), got \(3, 2, 2\)$",
    ),
    "mask adds queries": (
        ValueError,
        lambda: attend(X[:1], X, X, mask=ON),
        r"mask must broadcast to the scores' shape \(1, 2\), got \(2, 2\)$",
    ),
    "mask adds keys": (
        ValueError,
        lambda: attend(X, X[:1], X[:1], mask=ON),
        r"mask must broadcast to the scores' shape \(2, 1\), got \(2, 2\)$",
    ),
    "weigh n_k": (
        ValueError,
        lambda: weigh(X, X),
        r"n_k must be the same in scores .* and v .*, got scores \(2, 3\), v \(2, 3\)",
    ),
    "weigh leading": (
        ValueError,
        lambda: weigh(np.ones((2, 3, 2)), np.ones((3, 2, 2))),
        r"leading axes of scores and v must broadcast, got scores \(2, 3, 2\), v \(3, 2, 2\)",
    ),
    "weigh mask shape": (
        ValueError,
        lambda: weigh(X.T, X, mask=ON),
        r"mask must broadcast to the scores' shape \(3, 2\), got \(2, 2\)$",
    ),
    "scale nan": (ValueError, lambda: attend(X, X, X, scale=float("nan")), r"scale must be finite, got nan"),
    "scale inf": (ValueError, lambda: attend(X, X, X, scale=-np.inf), r"scale must be finite, got -inf"),
    "axis": (ValueError, lambda: softmax(X, axis=2), r"axis must be from -2 to 1, got 2"),
    "axis below": (ValueError, lambda: softmax(X, axis=-3), r"axis must be from -2 to 1, got -3"),
    "n_q": (ValueError, lambda: causal_mask(0), r"n_q must be at least 1, got 0"),
    "causal n_k": (ValueError, lambda: causal_mask(2, -1), r"n_k must be at least 1, got -1"),
    "padding n_k 0": (ValueError, lambda: padding_mask(np.array([0]), 0), r"n_k must be at least 1, got 0"),
}


@pytest.mark.parametrize(("error", "call", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_error(error: type[Exception], call: Callable[[], Any], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
