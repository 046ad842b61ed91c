"""Tests of sinusoidal_positions and rotary_positions: the formula, complex numbers, every error."""

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

from attention_core import attend, positions, rotary_positions, sinusoidal_positions
from tests.kernels.properties import random
from tests.kernels.specification import loop_sinusoidal
from tests.libraries import Library

Kernels = Any  # a module with both functions: `test_mutants.py` hands in damaged ones


def sinusoidal_is_the_formula(kernels: Kernels) -> None:
    for n, d_model, base in [(5, 6, 10000.0), (1, 2, 10000.0), (7, 4, 50)]:
        expected = loop_sinusoidal(n, d_model, base)
        assert_allclose(kernels.sinusoidal_positions(n, d_model, base=base), expected, rtol=1e-9, atol=1e-12)
    assert_allclose(kernels.sinusoidal_positions(3, 8), loop_sinusoidal(3, 8, 10000.0), rtol=1e-9)


def as_complex(x: np.ndarray) -> np.ndarray:
    """Read each pair of neighbours (a, b) as the number a + bi."""
    return x[..., 0::2] + 1j * x[..., 1::2]


def turned(x: np.ndarray, at: np.ndarray, base: float) -> np.ndarray:
    """Return x, as complex numbers, times e^(i · position · base^(-2i/d))."""
    frequency = base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    return as_complex(x) * np.exp(1j * np.multiply.outer(at, frequency))


def rotary_is_a_product_of_complex_numbers(kernels: Kernels) -> None:
    (x,) = random((2, 3, 5, 6))
    everywhere = np.arange(5)
    assert_allclose(as_complex(kernels.rotary_positions(x)), turned(x, everywhere, 10000.0), rtol=1e-9)
    for at in (np.array([7, 7, 0, 100, 3]), np.array([0.5, -1.0, 2.0, 3.0, 1e4])):
        ours = kernels.rotary_positions(x, positions=at, base=50.0)
        assert_allclose(as_complex(ours), turned(x, at, 50.0), rtol=1e-9)


def products_know_only_the_distance(kernels: Kernels) -> None:
    q, k = (np.broadcast_to(x, (6, 8)) for x in random((1, 8), (1, 8)))  # one query, one key, everywhere
    products = kernels.rotary_positions(q) @ kernels.rotary_positions(k).T  # (6, 6)
    for distance in range(-5, 6):
        assert_allclose(np.ptp(np.diagonal(products, distance)), 0, atol=1e-12)
    by_distance = [products[0, j] for j in range(6)] + [products[i, 0] for i in range(1, 6)]
    assert len(np.unique(np.round(by_distance, 6))) == 11, "each distance must have a product of its own"


def rotary_keeps_lengths(kernels: Kernels) -> None:
    (x,) = random((3, 5, 6))
    ours = kernels.rotary_positions(x)
    assert_allclose(np.linalg.norm(ours, axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-12)
    assert_allclose(abs(as_complex(ours)), abs(as_complex(x)), rtol=1e-12)
    assert_array_equal(ours[:, 0], x[:, 0])


PROPERTIES = [
    sinusoidal_is_the_formula,
    rotary_is_a_product_of_complex_numbers,
    products_know_only_the_distance,
    rotary_keeps_lengths,
]


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda check: check.__name__)
def test_property(holds: Callable[[ModuleType], None]) -> None:
    with np.errstate(all="raise", under="ignore"):
        holds(positions)


@pytest.mark.parametrize("step", [1, 2, 7])
def test_a_later_code_is_a_fixed_rotation_of_an_earlier_one(step: int) -> None:
    codes = sinusoidal_positions(20, 8)
    rotation = np.zeros((8, 8))
    for i in range(0, 8, 2):
        angle = step / 10000 ** (i / 8)
        rotation[i : i + 2, i : i + 2] = [
            [np.cos(angle), -np.sin(angle)],
            [np.sin(angle), np.cos(angle)],
        ]
    assert_allclose(rotation @ rotation.T, np.eye(8), atol=1e-12)
    assert_allclose(codes[:-step] @ rotation, codes[step:], atol=1e-12)


def test_both_codes_turn_at_the_same_speed() -> None:
    up = np.tile([0.0, 1.0], 4)  # (sin 0, cos 0) in each pair
    turned_back = rotary_positions(np.tile(up, (6, 1)), positions=-np.arange(6.0))
    assert_allclose(turned_back, sinusoidal_positions(6, 8), atol=1e-12)


@given(
    shape=hnp.array_shapes(min_dims=1, max_dims=4, max_side=4),
    half=st.integers(1, 4),
    base=st.floats(1.5, 1e5),
)
def test_rotary_on_any_shape(xp64: Library, shape: tuple[int, ...], half: int, base: float) -> None:
    (x,) = random((*shape, 2 * half))
    ours = xp64.numpy(rotary_positions(xp64.array(x), base=base))
    assert ours.shape == x.shape
    assert_allclose(as_complex(ours), turned(x, np.arange(shape[-1]), base), rtol=1e-9, atol=1e-12)


def test_attention_knows_only_the_distance() -> None:
    q, k, v = random((2, 4, 6), (2, 4, 6), (2, 4, 3))
    now, later = np.arange(4), np.arange(4) + 9
    here, there = (
        attend(rotary_positions(q, positions=at), rotary_positions(k, positions=at), v).output
        for at in (now, later)
    )
    assert_allclose(here, there, rtol=1e-9)
    assert not np.allclose(here, attend(q, k, v).output)


def test_gradients_are_the_slopes() -> None:
    (x,) = random((2, 3, 4))
    assert torch.autograd.gradcheck(rotary_positions, torch.tensor(x, requires_grad=True))


# -- every library and dtype ---------------------------------------------------------------------


def test_every_library_and_dtype_gives_the_same_digits(xp: Library) -> None:
    (values,) = random((2, 5, 6))
    x = xp.array(values)
    exact = xp.numpy(x).astype(float)
    for at in (None, [0, 3, 9, 2, 1]):
        ours = rotary_positions(x, positions=None if at is None else xp.integers(at))
        expected = rotary_positions(exact, positions=None if at is None else np.array(at))
        assert (type(ours), ours.dtype, device(ours)) == (type(x), x.dtype, device(x))
        assert_allclose(xp.numpy(ours), expected, rtol=4 * xp.eps, atol=max(4 * xp.eps, 1e-12))
    codes = sinusoidal_positions(4, 6, like=x)
    assert (type(codes), codes.dtype, device(codes)) == (type(x), x.dtype, device(x))
    assert_allclose(xp.numpy(codes), sinusoidal_positions(4, 6), atol=xp.eps)


def test_16_bits_can_stand_at_any_position() -> None:
    far = 4099  # float16 counts to 2048, bfloat16 to 256
    for dtype in (torch.float16, torch.bfloat16):
        codes = sinusoidal_positions(far + 1, 2, like=torch.ones(1, dtype=dtype))
        assert_allclose(codes[far].double(), [np.sin(far), np.cos(far)], atol=5e-3)
        x = torch.tensor([[1.0, 0.0]], dtype=dtype)
        ours = rotary_positions(x, positions=torch.tensor([far]))
        assert_allclose(ours[0].double(), [np.cos(far), np.sin(far)], atol=5e-3)


def test_codes_have_the_device_of_like() -> None:
    assert sinusoidal_positions(2, 4, like=torch.ones(1, device="meta")).device.type == "meta"
    assert type(sinusoidal_positions(2, 4)) is np.ndarray
    assert sinusoidal_positions(2, 4).dtype == np.float64


@pytest.mark.slow
def test_jax_gives_the_same_digits_and_can_compile() -> None:
    x = random((2, 5, 6))[0].astype(np.float32)
    of_jax = jax.numpy.asarray(x)
    for run in (rotary_positions, jax.jit(rotary_positions)):
        ours = run(of_jax)
        assert isinstance(ours, jax.Array)
        assert_allclose(ours, rotary_positions(x), rtol=1e-5, atol=1e-6)
    codes = sinusoidal_positions(4, 6, like=of_jax)
    assert isinstance(codes, jax.Array)
    assert_allclose(codes, sinusoidal_positions(4, 6), atol=1e-6)


def test_inputs_are_never_changed(xp64: Library) -> None:
    x, at = xp64.array(random((3, 4))[0]), xp64.integers([2, 1, 0])
    rotary_positions(x, positions=at)
    assert_array_equal(xp64.numpy(x), random((3, 4))[0])
    assert_array_equal(xp64.numpy(at), [2, 1, 0])


# -- every error says what was expected and what came --------------------------------------------

X = np.ones((3, 4))
HALF: Any = 0.5  # Any: wrong on purpose
TEXT: Any = "1"

ERRORS = {
    "n float": (TypeError, lambda: sinusoidal_positions(HALF, 4), r"n must be an integer, got float"),
    "n 0": (ValueError, lambda: sinusoidal_positions(0, 4), r"n must be at least 1, got 0"),
    "d_model str": (TypeError, lambda: sinusoidal_positions(3, TEXT), r"d_model must be an integer, got str"),
    "d_model 5": (ValueError, lambda: sinusoidal_positions(3, 5), r"d_model must be even.*got 5"),
    "d_model 0": (ValueError, lambda: sinusoidal_positions(3, 0), r"d_model must be at least 1, got 0"),
    "base text": (
        TypeError,
        lambda: sinusoidal_positions(3, 4, base=TEXT),
        r"base must be a number, got str",
    ),
    "base 0": (ValueError, lambda: sinusoidal_positions(3, 4, base=0), r"base must be above 0, got 0"),
    "base nan": (ValueError, lambda: rotary_positions(X, base=np.nan), r"base must be finite, got nan"),
    "base -1": (ValueError, lambda: rotary_positions(X, base=-1.0), r"base must be above 0, got -1.0"),
    "one axis": (
        ValueError,
        lambda: rotary_positions(X[0]),
        r"x must have shape \(\.\.\., n, d\), got shape \(4,\)",
    ),
    "odd": (
        ValueError,
        lambda: rotary_positions(X[:, :3]),
        r"d, the last axis of x, must be even, because its columns are taken in pairs, got 3",
    ),
    "positions shape": (
        ValueError,
        lambda: rotary_positions(X, positions=np.arange(4)),
        r"n must be the same in x .* and positions \(n,\), got x \(3, 4\), positions \(4,\)",
    ),
}


@pytest.mark.parametrize(("error", "call", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_error(error: type[Exception], call: Callable[[], Any], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
