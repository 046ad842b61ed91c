"""Proof that the tests see: each damaged copy of a kernel is caught by a named property."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from attention_core import attention, positions, scoring
from tests.kernels import properties as p
from tests.kernels import test_positions as places
from tests.kernels import test_scoring as s


class Mutant(NamedTuple):
    """One change of a kernel's source, and the property that must notice it."""

    change: str
    old: str
    new: str
    noticed_by: Callable[[Any], None]


ATTENTION = [
    Mutant("no √d_k", "1 / math.sqrt(q.shape[-1])", "1.0", p.attend_is_the_formula),
    Mutant("no √d_k, exactly", "1 / math.sqrt(q.shape[-1])", "1.0", p.whole_numbers_are_exact),
    Mutant("1/d_k", "1 / math.sqrt(q.shape[-1])", "1 / q.shape[-1]", p.whole_numbers_are_exact),
    Mutant("√n_q", "math.sqrt(q.shape[-1])", "math.sqrt(q.shape[-2])", p.attend_is_the_formula),
    Mutant("maximum not subtracted", "xp.exp(x - m)", "xp.exp(x)", p.softmax_of_huge_scores),
    Mutant(
        "mask flipped",
        "xp.where(mask, scores, -xp.inf)",
        "xp.where(mask, -xp.inf, scores)",
        p.rows_sum_to_one,
    ),
    Mutant("-1e9 for -inf", "scores, -xp.inf)", "scores, -1e9)", p.a_row_without_keys_is_zero),
    Mutant("0 for -inf", "scores, -xp.inf)", "scores, 0.0)", p.attend_is_the_formula),
    Mutant(
        "the next token seen",
        "<= i[:, None] + offset",
        "<= i[:, None] + offset + 1",
        p.the_future_cannot_change_the_past,
    ),
    Mutant("itself not seen", "j[None, :] <= i", "j[None, :] < i", p.masks_are_as_drawn),
    Mutant("only the future seen", "j[None, :] <= i", "j[None, :] > i", p.the_future_cannot_change_the_past),
    Mutant("offset ignored", "n_k - n_q if offset is None else offset", "0", p.masks_are_as_drawn),
    Mutant("offset for none", "n_k - n_q if offset is None", "0 if offset is None", p.masks_are_as_drawn),
    Mutant("padding one too long", "return (j < lengths", "return (j <= lengths", p.masks_are_as_drawn),
    Mutant("padding seen", "return (j < lengths", "return (j >= lengths", p.masks_are_as_drawn),
]

SCORING = [
    Mutant("no tanh", "xp.tanh(from_q + from_k)", "from_q + from_k", s.additive_is_the_formula),
    Mutant("product for sum", "from_q + from_k", "from_q * from_k", s.additive_is_the_formula),
    Mutant("hidden units not weighed", "hidden @ w_v", "xp.sum(hidden, axis=-1)", s.additive_is_the_formula),
    Mutant("q before w_q", "(q @ w_q)", "(q @ xp.flip(w_q, axis=0))", s.additive_is_the_formula),
    Mutant("no ½", "0.5 * xp.sum", "xp.sum", s.gaussian_is_the_formula),
    Mutant("farther is better", "0.0 - 0.5", "0.5", s.gaussian_is_the_formula),
    Mutant("distance not squared", "apart * apart", "abs(apart)", s.gaussian_is_the_formula),
    Mutant("width ignored", "float(width)", "1.0", s.gaussian_is_the_formula),
    Mutant(
        "width after the square",
        "apart * apart, axis=-1)",
        "(apart * width) ** 2, axis=-1) / width**2",
        s.large_distances_do_not_overflow,
    ),
    Mutant("-0.", "0.0 - 0.5 *", "-0.5 *", s.gaussian_is_the_formula),
]

POSITIONS = [
    Mutant(
        "cosine first",
        "[xp.sin(angle), xp.cos(angle)]",
        "[xp.cos(angle), xp.sin(angle)]",
        places.sinusoidal_is_the_formula,
    ),
    Mutant(
        "sines, then cosines", "axis=-1)  # (n, d_model / 2, 2)", "axis=-2)", places.sinusoidal_is_the_formula
    ),
    Mutant("base ignored", "float(base)", "10000.0", places.sinusoidal_is_the_formula),
    Mutant(
        "i for 2i",
        "xp.arange(0, d, 2, **kind) / d",
        "xp.arange(0, d, 2, **kind) / 2 / d",
        places.rotary_is_a_product_of_complex_numbers,
    ),
    Mutant(
        "turned back",
        "first * cos - second * sin, first * sin + second * cos",
        "first * cos + second * sin, second * cos - first * sin",
        places.rotary_is_a_product_of_complex_numbers,
    ),
    Mutant(
        "halves for neighbours",
        "x[..., 0::2], x[..., 1::2]",
        "x[..., : d // 2], x[..., d // 2 :]",
        places.rotary_keeps_lengths,
    ),
    Mutant(
        "mirrored",
        "first * sin + second * cos",
        "first * sin - second * cos",
        places.rotary_is_a_product_of_complex_numbers,
    ),
    Mutant(
        "one angle twice",
        "xp.arange(n, **kind)",
        "0 * xp.arange(n, **kind)",
        places.products_know_only_the_distance,
    ),
]


def damaged(module: ModuleType, mutant: Mutant) -> ModuleType:
    """Return a copy of `module` made from its source with one change."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    assert source.count(mutant.old) == 1, f"{mutant.old!r} is not in {module.__name__} once: mend this mutant"
    copy = ModuleType(module.__name__)
    exec(compile(source.replace(mutant.old, mutant.new), mutant.change, "exec"), vars(copy))
    return copy


KERNELS = [
    pytest.param(module, mutant, id=f"{module.__name__.split('.')[1]}: {mutant.change}")
    for module, mutants in [
        (attention, ATTENTION),
        (scoring, SCORING),
        (positions, POSITIONS),
    ]
    for mutant in mutants
]


@pytest.mark.parametrize(("module", "mutant"), KERNELS)
def test_damage_to_a_kernel_is_noticed(module: ModuleType, mutant: Mutant) -> None:
    copy = damaged(module, mutant)  # outside of `raises`: a change that no longer fits must fail
    with pytest.raises((AssertionError, RuntimeWarning)):
        mutant.noticed_by(copy)


def test_a_copy_without_damage_passes() -> None:
    same = Mutant("none", "import math\n", "import math\n", p.attend_is_the_formula)
    same.noticed_by(damaged(attention, same))
