"""Tests of the kernels for long sequences: equal to attention where theory says so, and small in memory."""

import tracemalloc
import weakref
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from array_api_compat import device
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode

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
from tests.kernels.properties import random
from tests.kernels.properties_of_long import CLOSE, SHORTCUTS, STREAMING, allowed_by, full_linear
from tests.libraries import Library


@pytest.mark.parametrize("holds", STREAMING, ids=lambda check: check.__name__)
def test_property_of_streaming(holds: Callable[[Any], None]) -> None:
    with np.errstate(all="raise", under="ignore"):
        holds(streaming)


@pytest.mark.parametrize("holds", SHORTCUTS, ids=lambda check: check.__name__)
def test_property_of_a_shortcut(holds: Callable[[Any], None]) -> None:
    with np.errstate(all="raise", under="ignore"):
        holds(shortcuts)


# -- shapes, masks and tiles that hypothesis makes up --------------------------------------------


class Case(NamedTuple):
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    mask: np.ndarray | None
    causal: bool
    tile_q: int
    tile_k: int


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


@settings(max_examples=40)
@given(case=cases())
def test_streaming_is_attention_in_every_library(xp64: Library, case: Case) -> None:
    q, k, v, mask, causal, tile_q, tile_k = case
    ours = streaming_attention(
        *(xp64.array(x) for x in (q, k, v)),
        mask=None if mask is None else xp64.booleans(mask),
        causal=causal,
        tile_q=tile_q,
        tile_k=tile_k,
    )
    expected = attend(q, k, v, mask=allowed_by(mask, causal, q.shape[-2], k.shape[-2])).output
    assert tuple(ours.shape) == expected.shape
    assert_allclose(xp64.numpy(ours), expected, **CLOSE)


@settings(max_examples=40)
@given(case=cases())
def test_streaming_is_torchs_own_attention(case: Case) -> None:
    q, k, v, mask, causal, tile_q, tile_k = case
    allowed = allowed_by(mask, causal, q.shape[-2], k.shape[-2])
    leading = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v, allowed)))
    full = (torch.tensor(np.broadcast_to(x, (*leading, *x.shape[-2:]))) for x in (q, k, v, allowed))
    full_q, full_k, full_v, attn_mask = full
    theirs = scaled_dot_product_attention(full_q, full_k, full_v, attn_mask=attn_mask)
    ours = streaming_attention(q, k, v, mask=mask, causal=causal, tile_q=tile_q, tile_k=tile_k)
    assert_allclose(ours, theirs.numpy(), **CLOSE)


@settings(max_examples=40)
@given(case=cases(), window=st.integers(1, 7))
def test_a_sliding_window_is_attention_with_its_mask(xp64: Library, case: Case, window: int) -> None:
    q, k, v, mask, causal, tile, _ = case
    ours = sliding_window_attention(
        *(xp64.array(x) for x in (q, k, v)),
        window=window,
        mask=None if mask is None else xp64.booleans(mask),
        causal=causal,
        tile=tile,
    )
    near = window_mask(q.shape[-2], k.shape[-2], window=window, causal=causal)
    expected = attend(q, k, v, mask=near if mask is None else near & mask).output
    assert_allclose(xp64.numpy(ours), expected, **CLOSE)


@settings(max_examples=40)
@given(case=cases())
def test_linear_attention_is_its_square_form_in_every_library(xp64: Library, case: Case) -> None:
    q, k, v, mask, causal, tile, _ = case
    mask = None if mask is None or mask.ndim == 1 else mask[..., :1, :]
    ours = linear_attention(
        *(xp64.array(x) for x in (q, k, v)),
        feature_map=elu_plus_one,
        mask=None if mask is None else xp64.booleans(mask),
        causal=causal,
        tile=tile,
    )
    allowed = allowed_by(mask, causal, q.shape[-2], k.shape[-2])
    assert_allclose(xp64.numpy(ours), full_linear(q, k, v, allowed), **CLOSE)


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
            full_linear(exact_q, exact_k, exact_v, causal_mask(5)),
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
    x = xp.array(np.full((3, 64), 60))
    assert_array_equal(xp.numpy(streaming_attention(x, x, x, tile_k=2)), 60)


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


def test_gradcheck() -> None:
    q, k, v = (torch.tensor(x, requires_grad=True) for x in random((2, 3, 2), (4, 2), (4, 2)))
    mask = torch.tensor([[True, True, False, True], [False] * 4, [True] * 4])
    w = torch.tensor(random((2, 4))[0], requires_grad=True)
    padding = torch.tensor([True, True, False, True])
    sums: dict[str, Any] = {"feature_map": elu_plus_one, "tile": 2}
    functions: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (lambda q, k, v: streaming_attention(q, k, v, tile_q=2, tile_k=2), (q, k, v)),
        (lambda q, k, v: streaming_attention(q, k, v, mask=mask, tile_q=2, tile_k=2), (q, k, v)),
        (lambda q, k, v: streaming_attention(q, k, v, causal=True, tile_q=2, tile_k=3), (q, k, v)),
        (lambda q, k, v: sliding_window_attention(q, k, v, window=2, mask=mask, tile=2), (q, k, v)),
        (lambda q, k, v: linear_attention(q, k, v, mask=padding, **sums), (q, k, v)),
        (lambda q, k, v: linear_attention(q, k, v, causal=True, **sums), (q, k, v)),
        (low_rank_attention, (q, k, v, w, w)),
    ]
    for function, inputs in functions:
        assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(functions[1][0], (q, k, v))


def test_the_package_holds_every_name() -> None:
    assert set(long.__all__) == {*public_names(streaming), *public_names(shortcuts)}


def public_names(module: ModuleType) -> list[str]:
    """Return the public names that `module` itself defines."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


# -- memory: what is allocated beyond inputs and output --------------------------------------------


def numpy_extra(function: Callable[..., Any], arrays: Sequence[np.ndarray]) -> int:
    """Return the bytes that `function` holds at its worst, without inputs and output."""
    peaks = []
    for _ in range(3):  # the least of three: Python itself keeps a few objects more or less
        tracemalloc.start()
        try:
            output = function(*arrays)
            peaks.append(tracemalloc.get_traced_memory()[1] - output.nbytes)
        finally:
            tracemalloc.stop()
    return min(peaks)


class Living(TorchDispatchMode):
    """Count the bytes of all tensors that torch makes and that are still alive."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self.views: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for x in made if isinstance(made, tuple | list) else [made]:
            if isinstance(x, torch.Tensor) and not func.is_view and not any(x is arg for arg in args):
                self.now += x.nbytes
                self.peak = max(self.peak, self.now)
                weakref.finalize(x, self.release, x.nbytes)
        return made

    def release(self, n_bytes: int) -> None:
        self.now -= n_bytes


def torch_extra(function: Callable[..., Any], arrays: Sequence[np.ndarray]) -> int:
    """Return the bytes that `function` holds at its worst, without inputs and output."""
    inputs = [torch.tensor(x) for x in arrays]
    with Living() as living:
        output = function(*inputs)
    return int(living.peak - output.nbytes)


EXTRA = {"numpy": numpy_extra, "torch": torch_extra}
FLAT: dict[str, Callable[..., Any]] = {
    "streaming": lambda q, k, v: streaming_attention(q, k, v, tile_q=64, tile_k=128),
    "causal": lambda q, k, v: streaming_attention(q, k, v, causal=True, tile_q=64, tile_k=128),
    "window": lambda q, k, v: sliding_window_attention(q, k, v, window=32, causal=True, tile=32),
    "linear": lambda q, k, v: linear_attention(q, k, v, feature_map=elu_plus_one, tile=32),
    "causal linear": lambda q, k, v: linear_attention(
        q, k, v, feature_map=elu_plus_one, causal=True, tile=32
    ),
}
GROWING: dict[str, Callable[..., Any]] = {
    "all scores": lambda q, k, v: attend(q, k, v).output,
    "one tile": lambda q, k, v: streaming_attention(q, k, v, tile_q=64, tile_k=k.shape[-2]),
    "all parts kept": lambda q, k, v: list(streaming_ledger(q, k, v, tile_k=128))[-1].merged.output,
}


def is_flat(function: Callable[..., Any], extra: Callable[..., int]) -> None:
    """Check that twice as long a sequence needs no more memory beyond inputs and output."""
    short, twice = (extra(function, random(*[(2, n, 8)] * 3)) for n in (512, 1024))
    assert short > 0
    assert twice <= 1.1 * short, f"{short} bytes for n = 512, {twice} for n = 1024"


@pytest.mark.parametrize("library", EXTRA)
@pytest.mark.parametrize("kernel", FLAT)
def test_memory_is_flat_as_n_doubles(kernel: str, library: str) -> None:
    is_flat(FLAT[kernel], EXTRA[library])


@pytest.mark.parametrize("library", EXTRA)
@pytest.mark.parametrize("kernel", GROWING)
def test_growing_memory_is_seen(kernel: str, library: str) -> None:
    with pytest.raises(AssertionError, match="bytes for n = 512"):
        is_flat(GROWING[kernel], EXTRA[library])


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
        r"feature_map must keep the dtype of q .*it made \(3, 1\) float64 of \(1, 3\) float64",
    ),
    "feature dtype": (
        ValueError,
        lambda: linear_attention(X, X, X, feature_map=lambda x: x.astype("f4")),
        r"it made \(1, 3\) float32 of \(1, 3\) float64",
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
