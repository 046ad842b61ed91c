"""Proof that the tests see: each damaged copy of a kernel is caught by a named property."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from attention_core import attention, scoring
from tests.kernels import properties as p
from tests.kernels import test_scoring as s


class Mutant(NamedTuple):
    """One change of a kernel's source, and the property that must notice it."""

    change: str
    old: str
    new: str
    noticed_by: Callable[[Any], None]


# These change nothing that torch, ONNX or the plain loops would notice on ordinary numbers, or stand in
# lines for which there is no oracle. What an oracle sees is proven by the oracle, and not here again.
UNEQUAL = p.a_key_blocked_for_some_changes_only_the_others
ATTENTION = [
    Mutant("maximum not subtracted", "xp.exp(x - m)", "xp.exp(x)", p.softmax_of_huge_scores),
    Mutant("-1e9 for -inf", "scores, -xp.inf)", "scores, -1e9)", p.a_row_without_keys_is_zero),
    Mutant(
        "the next token seen",
        "<= i[:, None] + offset",
        "<= i[:, None] + offset + 1",
        p.the_future_cannot_change_the_past,
    ),
    Mutant("itself not seen", "j[None, :] <= i", "j[None, :] < i", p.masks_are_as_drawn),
    Mutant("offset ignored", "n_k - n_q if offset is None else offset", "0", p.masks_are_as_drawn),
    Mutant("offset for none", "n_k - n_q if offset is None", "0 if offset is None", p.masks_are_as_drawn),
    Mutant("padding one too long", "return (j < lengths", "return (j <= lengths", p.masks_are_as_drawn),
    Mutant("padding kept", "k = unseen_as_0(k, mask, xp)", "", p.a_blocked_key_or_value_changes_no_gradient),
    Mutant("large padding kept", ".max ** 0.5", ".max", p.a_blocked_key_or_value_changes_nothing),
    Mutant("NaN hidden", "harmless | _seen(mask, k, xp)", "harmless", UNEQUAL),
    Mutant("NaN left out", "met, xp.nan, product[..., :-1]", "met, 0.0, product[..., :-1]", UNEQUAL),
    Mutant("NaN in every column", "& ~xp.all(finite, axis=-2, keepdims=True)", "", UNEQUAL),
    Mutant(
        "large values kept",
        "finite & _seen(mask, v, xp)",
        "finite",
        p.a_blocked_key_or_value_changes_no_gradient,
    ),
    Mutant(
        "NaN where all is blocked",
        "xp.where(xp.any(mask, axis=-1, keepdims=True), weights, 0.0)",
        "weights",
        p.a_row_without_keys_is_zero,
    ),
]

SCORING = [
    Mutant(
        "width after the square",
        "apart * apart, axis=-1)",
        "(apart * width) ** 2, axis=-1) / width**2",
        s.large_distances_do_not_overflow,
    ),
    Mutant("-0.", "0.0 - 0.5 *", "-0.5 *", s.gaussian_is_the_formula),
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
