"""Tests of what attention.py refuses: every error says what was expected and what came."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from attention_core import attend, attention_scores, causal_mask, padding_mask, softmax, weigh

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
    "mask list": (
        lambda: attend(X, X, X, mask=[[True]]),
        r"mask must be an array .*got list; .*np\.asarray\(mask, dtype=bool",
    ),
    "mask float": (lambda: attend(X, X, X, mask=ON * 1.0), r"boolean with True = may attend, got float64"),
    "mask int": (lambda: attend(X, X, X, mask=ON * 1), r"True = may attend, got int64; write mask == 1"),
    "mask library": (
        lambda: attend(X, X, X, mask=torch.ones(2, 2, dtype=torch.bool)),
        r"one library, got q numpy, k numpy, v numpy, mask torch",
    ),
    "mask device": (
        lambda: attend(T, T, T, mask=torch.ones(2, 2, dtype=torch.bool, device="meta")),
        r"one device, got q cpu, k cpu, v cpu, mask meta",
    ),
    "weigh list": (lambda: weigh([[1.0]], X), r"scores must be an array .*got list"),
    "weigh dtypes": (lambda: weigh(X, X.astype("f4")), r"one dtype, got scores float64, v float32"),
    "weigh mask library": (
        lambda: weigh(X.T, X, mask=torch.ones(3, 2, dtype=torch.bool)),
        r"one library, got scores numpy, v numpy, mask torch",
    ),
    "weigh mask": (lambda: weigh(X.T, X, mask=X), r"boolean with True = may attend, got float64"),
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
    "lengths list": (lambda: padding_mask([1, 2], 3), r"lengths must be an array .*got list; .*dtype=int"),
    "lengths float": (
        lambda: padding_mask(np.array([1.0]), 3),
        r"lengths must be an array of integers, got float64",
    ),
    "padding n_k": (lambda: padding_mask(np.array([1]), True), r"n_k must be an integer, got bool"),
}

VALUE_ERRORS = {
    "one axis": (lambda: attend(X[0], X, X), r"q must have shape \(\.\.\., n_q, d_k\), got shape \(3,\)"),
    "no axis": (lambda: softmax(np.array(1.0)), r"x must have shape \(\.\.\., n\), got shape \(\)"),
    "v one axis": (lambda: attend(X, X, X[0]), r"v must have shape \(\.\.\., n_k, d_v\), got shape \(3,\)"),
    "empty q": (lambda: attend(X[:0], X, X), r"q must have no empty axis, got shape \(0, 3\)"),
    "empty k": (lambda: attend(X, X[:0], X[:0]), r"k must have no empty axis, got shape \(0, 3\)"),
    "empty v": (lambda: attend(X, X, X[:, :0]), r"v must have no empty axis, got shape \(2, 0\)"),
    "empty x": (lambda: softmax(X[:0]), r"x must have no empty axis, got shape \(0, 3\)"),
    "empty mask": (
        lambda: attend(X, X, X, mask=ON[:0]),
        r"mask must have at least one axis, and no empty one, got shape \(0, 2\)",
    ),
    "no mask axis": (
        lambda: attend(X, X, X, mask=np.array(True)),
        r"mask must have at least one axis, .*got shape \(\)",
    ),
    "d_k": (
        lambda: attend(X, X[:, :2], X),
        r"d_k must be the same in q \(\.\.\., n_q, d_k\) and k .*, got q \(2, 3\), k \(2, 2\)",
    ),
    "n_k": (
        lambda: attend(X, X, X[:1]),
        r"n_k must be the same in k .* and v \(\.\.\., n_k, d_v\), got k \(2, 3\), v \(1, 3\)",
    ),
    "leading": (
        lambda: attend(np.ones((2, 2, 3)), np.ones((3, 2, 3)), X),
        r"leading axes of q, k and v must broadcast, got q \(2, 2, 3\), k \(3, 2, 3\), v \(2, 3\)",
    ),
    "leading v": (
        lambda: attend(np.ones((2, 2, 3)), X, np.ones((3, 2, 3))),
        r"leading axes of q, k and v must broadcast, got q \(2, 2, 3\), k \(2, 3\), v \(3, 2, 3\)",
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
    "weigh n_k": (
        lambda: weigh(X, X),
        r"n_k must be the same in scores .* and v .*, got scores \(2, 3\), v \(2, 3\)",
    ),
    "weigh axes": (lambda: weigh(X[0], X), r"scores must have shape \(\.\.\., n_q, n_k\), got shape \(3,\)"),
    "weigh v": (lambda: weigh(X, X[0]), r"v must have shape \(\.\.\., n_k, d_v\), got shape \(3,\)"),
    "weigh leading": (
        lambda: weigh(np.ones((2, 3, 2)), np.ones((3, 2, 2))),
        r"leading axes of scores and v must broadcast, got scores \(2, 3, 2\), v \(3, 2, 2\)",
    ),
    "weigh mask shape": (
        lambda: weigh(X.T, X, mask=ON),
        r"mask must broadcast to the scores' shape \(3, 2\), got \(2, 2\)$",
    ),
    "scale nan": (lambda: attend(X, X, X, scale=float("nan")), r"scale must be finite, got nan"),
    "scale inf": (lambda: attend(X, X, X, scale=-np.inf), r"scale must be finite, got -inf"),
    "axis": (lambda: softmax(X, axis=2), r"axis must be from -2 to 1, got 2"),
    "axis below": (lambda: softmax(X, axis=-3), r"axis must be from -2 to 1, got -3"),
    "n_q": (lambda: causal_mask(0), r"n_q must be at least 1, got 0"),
    "causal n_k": (lambda: causal_mask(2, -1), r"n_k must be at least 1, got -1"),
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


def test_a_check_that_passed_is_asked_again_of_other_arrays() -> None:
    attend(X, X, X, mask=ON)
    for wrong in (X.astype(int), X.tolist(), T):
        for arrays in ((wrong, X, X), (X, wrong, X), (X, X, wrong)):
            with pytest.raises(TypeError):
                attend(*arrays, mask=ON)
    for mask in (ON * 1, ON.tolist(), torch.tensor(ON)):
        with pytest.raises(TypeError):
            attend(X, X, X, mask=mask)
    with pytest.raises(ValueError, match="n_k"):
        attend(X, X, X[:1])
    with pytest.raises(ValueError, match="mask"):
        attend(X, X, X, mask=np.ones((3, 2), bool))


def test_lengths_of_a_small_integer_type() -> None:
    assert padding_mask(np.array([1, 100], dtype=np.int8), 300).sum() == 101
