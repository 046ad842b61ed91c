"""Tests of softmax, the masks and attend: the plain loops, three independent oracles, every error."""

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import hypothesis.extra.numpy as hnp
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

from attention_core import Attention, attend, attention, attention_scores, causal_mask, padding_mask, softmax
from tests import properties
from tests.libraries import Library
from tests.properties import BLOCKED_ROW, random
from tests.specification import loop_attend_all


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
    for x, y in zip((*arrays, mask, lengths), before, strict=True):
        assert_array_equal(xp64.numpy(x), y)


# -- every error says what was expected and what came --------------------------------------------

X = np.ones((2, 3))
T = torch.ones(2, 3, dtype=torch.float64)
META = torch.ones(2, 3, dtype=torch.float64, device="meta")
ON = np.ones((2, 2), bool)
HALF: Any = 0.5  # Any: wrong on purpose
TEXT: Any = "2"
TENSOR: Any = torch.tensor(2)

TYPE_ERRORS = {
    "list": (lambda: attend([[1.0]], X, X), r"q must be an array .*got list; .*np\.asarray\(q"),
    "number": (lambda: softmax(1.0), r"x must be an array .*got float"),
    "integers": (lambda: attend(X, X.astype(int), X), r"k must be floating point .*got int64"),
    "booleans": (lambda: softmax(ON), r"x must be floating point .*got bool"),
    "complex": (lambda: attend(X, X, X * 1j), r"v must be floating point .*got complex128"),
    "libraries": (lambda: attend(X, T, X), r"one library, got q numpy, k torch, v numpy"),
    "dtypes": (lambda: attend(X, X, X.astype("f4")), r"one dtype, got q float64, k float64, v float32"),
    "devices": (lambda: attend(T, META, T), r"one device, got q cpu, k meta, v cpu"),
    "mask list": (lambda: attend(X, X, X, mask=[[True]]), r"mask must be a boolean array, got list"),
    "mask float": (lambda: attend(X, X, X, mask=ON * 1.0), r"boolean with True = may attend, got float64"),
    "mask int": (lambda: attend(X, X, X, mask=ON * 1), r"True = may attend, got int64; write mask == 1"),
    "mask library": (
        lambda: attend(X, X, X, mask=torch.ones(2, 2, dtype=torch.bool)),
        r"one library, got q numpy, mask torch",
    ),
    "mask device": (
        lambda: attend(T, T, T, mask=torch.ones(2, 2, dtype=torch.bool, device="meta")),
        r"one device, got q cpu, mask meta",
    ),
    "scale str": (lambda: attention_scores(X, X, scale=TEXT), r"scale must be a number, got str"),
    "scale bool": (lambda: attend(X, X, X, scale=True), r"scale must be a number, got bool"),
    "scale array": (lambda: attend(X, X, X, scale=TENSOR), r"scale must be a number, got Tensor"),
    "axis float": (lambda: softmax(X, axis=HALF), r"axis must be an integer, got float"),
    "axis bool": (lambda: softmax(X, axis=True), r"axis must be an integer, got bool"),
    "n_q float": (lambda: causal_mask(HALF), r"n_q must be an integer, got float"),
    "n_q tensor": (lambda: causal_mask(TENSOR), r"n_q must be an integer, got Tensor"),
    "n_k str": (lambda: causal_mask(2, TEXT), r"n_k must be an integer, got str"),
    "offset float": (lambda: causal_mask(2, offset=HALF), r"offset must be an integer, got float"),
    "like list": (lambda: causal_mask(2, like=[1.0]), r"like must be an array .*got list"),
    "lengths list": (lambda: padding_mask([1, 2], 3), r"lengths must be an integer array, got list"),
    "lengths float": (
        lambda: padding_mask(np.array([1.0]), 3),
        r"lengths must be .*integer array, got float64",
    ),
    "padding n_k": (lambda: padding_mask(np.array([1]), True), r"n_k must be an integer, got bool"),
}

VALUE_ERRORS = {
    "one axis": (lambda: attend(X[0], X, X), r"q must have shape \(\.\.\., n_q, d_k\), got shape \(3,\)"),
    "no axis": (lambda: softmax(np.array(1.0)), r"x must have at least one axis, got shape \(\)"),
    "v one axis": (lambda: attend(X, X, X[0]), r"v must have shape \(\.\.\., n_k, d_v\), got shape \(3,\)"),
    "empty q": (lambda: attend(X[:0], X, X), r"q must have no empty axis, got shape \(0, 3\)"),
    "empty k": (lambda: attend(X, X[:0], X[:0]), r"k must have no empty axis, got shape \(0, 3\)"),
    "empty v": (lambda: attend(X, X, X[:, :0]), r"v must have no empty axis, got shape \(2, 0\)"),
    "empty x": (lambda: softmax(X[:0]), r"x must have no empty axis, got shape \(0, 3\)"),
    "empty mask": (lambda: attend(X, X, X, mask=ON[:0]), r"mask must have no empty axis, got shape \(0, 2\)"),
    "no mask axis": (
        lambda: attend(X, X, X, mask=np.array(True)),
        r"mask must have at least one axis, .*\(\)",
    ),
    "d_k": (lambda: attend(X, X[:, :2], X), r"same last axis d_k, got q 3, k 2"),
    "n_k": (lambda: attend(X, X, X[:1]), r"same number of rows n_k, got k 2, v 1"),
    "leading": (
        lambda: attend(np.ones((2, 2, 3)), np.ones((3, 2, 3)), X),
        r"leading axes of q and k must broadcast, got \(2,\) and \(3,\)",
    ),
    "leading v": (
        lambda: attend(np.ones((2, 2, 3)), X, np.ones((3, 2, 3))),
        r"leading axes of q, k and v must broadcast, got \(2,\) and \(\) and \(3,\)",
    ),
    "mask": (
        lambda: attend(X, X, X, mask=np.ones((3, 2), bool)),
        r"mask must broadcast to the scores' shape \(2, 2\), got \(3, 2\)$",
    ),
    "mask leading": (
        lambda: attend(np.ones((4, 2, 3)), X, X, mask=np.ones((3, 2, 2), bool)),
        r"mask must broadcast to the scores' shape \(4, 2, 2\), got \(3, 2, 2\)$",
    ),
    "mask adds queries": (
        lambda: attend(X[:1], X, X, mask=ON),
        r"mask must broadcast to the scores' shape \(1, 2\), got \(2, 2\)$",
    ),
    "mask adds keys": (
        lambda: attend(X, X[:1], X[:1], mask=ON),
        r"mask must broadcast to the scores' shape \(2, 1\), got \(2, 2\)$",
    ),
    "scale nan": (lambda: attend(X, X, X, scale=float("nan")), r"scale must be finite, got nan"),
    "scale inf": (lambda: attend(X, X, X, scale=-np.inf), r"scale must be finite, got -inf"),
    "axis": (lambda: softmax(X, axis=2), r"axis must be from -2 to 1, got 2"),
    "axis below": (lambda: softmax(X, axis=-3), r"axis must be from -2 to 1, got -3"),
    "n_q": (lambda: causal_mask(0), r"n_q must be at least 1, got 0"),
    "causal n_k": (lambda: causal_mask(2, -1), r"n_k must be at least 1, got -1"),
    "length below": (
        lambda: padding_mask(np.array([-1, 2]), 3),
        r"lengths must be from 0 to n_k = 3, got \[-1",
    ),
    "length above": (lambda: padding_mask(np.array([4]), 3), r"lengths must be from 0 to n_k = 3, got \[4\]"),
    "padding n_k 0": (lambda: padding_mask(np.array([0]), 0), r"n_k must be at least 1, got 0"),
}


@pytest.mark.parametrize(("call", "message"), TYPE_ERRORS.values(), ids=TYPE_ERRORS.keys())
def test_type_error(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(("call", "message"), VALUE_ERRORS.values(), ids=VALUE_ERRORS.keys())
def test_value_error(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_options_are_given_by_name() -> None:
    for function in (softmax, attention_scores, attend):
        parameters = inspect.signature(function).parameters.values()
        options = [p for p in parameters if p.default is not p.empty]
        assert options
        assert all(p.kind is p.KEYWORD_ONLY for p in options), function.__name__


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_row_longer_than_float16_can_count_still_sums_to_one(dtype) -> None:
    weights = softmax(np.zeros(70_000, dtype=dtype))
    assert weights.dtype == dtype
    assert_allclose(weights.astype(float).sum(), 1, rtol=5e-3)  # float16 holds 1/70000 to three digits


def test_lengths_of_a_small_integer_type() -> None:
    assert padding_mask(np.array([1, 100], dtype=np.int8), 300).sum() == 101
