"""Proof that the tests see: each damaged copy of a kernel for long sequences is caught by a property."""

from types import ModuleType

import numpy as np
import pytest

from attention_core.long import shortcuts, streaming
from tests.kernels import properties_of_long as p
from tests.kernels.test_mutants import Mutant, damaged

STREAMING_MUTANTS = [
    Mutant("the tile's maximum alone", "xp.maximum(a.m, b.m)", "b.m", p.parts_merge_in_any_order),
    Mutant("sums not shrunk", "shrink_a * a.l + shrink_b * b.l", "a.l + b.l", p.parts_merge_in_any_order),
    Mutant("first sum not shrunk", "shrink_a * a.o", "a.o", p.streaming_is_attention),
    Mutant("second sum not shrunk", "shrink_b * b.o", "b.o", p.streaming_is_attention),
    Mutant("-inf + inf", "return xp.where(m == -xp.inf, 0.0, m)", "return m", p.streaming_is_attention),
    Mutant("no maximum", "scores -= _or_0(m, xp)", "m = 0 * m", p.huge_scores_stay_finite),
    Mutant("division by 0", "xp.where(self.l == 0, 1.0, self.l)", "self.l", p.streaming_is_attention),
    Mutant("not divided", "self.o / xp", "self.o + 0 * xp", p.streaming_is_attention),
    Mutant("mask lost", "scores = masked(scores, mask, xp)", "pass", p.a_part_is_its_definition),
    Mutant("rows of the mask mixed up", "cut(one_mask, rows)", "one_mask", p.streaming_is_attention),
    Mutant("keys of the mask mixed up", "cut(mask, keys=keys)", "cut(mask)", p.streaming_is_attention),
    Mutant(
        "a blocked NaN let through",
        "gather(e, v, mask, xp)",
        "e @ v",
        p.blocked_numbers_change_nothing,
    ),
    Mutant("aligned at the first query", "start + n_k - n_q if", "start if", p.streaming_is_attention),
    Mutant(
        "a tile's own position forgotten", "offset=offset - start", "offset=offset", p.streaming_is_attention
    ),
    Mutant("diagonal taken for past", "keys.stop > offset + 1", "start > offset", p.streaming_is_attention),
    Mutant(
        "future computed too",
        "min(max(n_q + offset, 1), n_k)",
        "n_k",
        p.causal_tiles_of_the_future_are_left_out,
    ),
    Mutant("no key at all", "max(n_q + offset, 1)", "n_q + offset", p.streaming_is_attention),
    Mutant("last keys lost", "range(0, n_k, tile_k)", "range(0, n_k - 1, tile_k)", p.the_ledger_adds_up),
    Mutant(
        "the tile for the sum",
        "yield Step(start, keys.stop, tile, merged)",
        "yield Step(start, keys.stop, tile, tile)",
        p.the_ledger_adds_up,
    ),
    Mutant(
        "gradient through the maximum",
        'm.detach() if hasattr(m, "detach") else m',
        "m",
        p.gradients_are_those_of_attention,
    ),
]

SHORTCUT_MUTANTS = [
    Mutant(
        "window one too wide",
        "offset=offset - window,",
        "offset=offset - window - 1,",
        p.windows_are_as_drawn,
    ),
    Mutant("window one too far", "offset + window - 1", "offset + window", p.windows_are_as_drawn),
    Mutant(
        "tile's place forgotten",
        "offset=first - keys.start",
        "offset=first",
        p.sliding_is_attention_in_a_window,
    ),
    Mutant(
        "oldest key lost",
        "max(first - window + 1, 0)",
        "max(first - window + 2, 0)",
        p.sliding_is_attention_in_a_window,
    ),
    Mutant(
        "newest key lost",
        "max(last + ahead, 0)",
        "max(last + ahead - 1, 0)",
        p.sliding_is_attention_in_a_window,
    ),
    Mutant(
        "mask lost", "allowed = allowed & cut(mask, rows, keys)", "pass", p.sliding_is_attention_in_a_window
    ),
    Mutant("scale lost", "mask=allowed, scale=scale", "mask=allowed", p.sliding_is_attention_in_a_window),
    Mutant("the future summed", "xp.tril(", "(", p.linear_is_its_own_square_form),
    Mutant(
        "the past forgotten",
        "            state = state + ",
        "            state = ",
        p.linear_is_its_own_square_form,
    ),
    Mutant(
        "older keys forgotten",
        "before = max(n_k - n_q, 0) if",
        "before = 0 if",
        p.linear_is_its_own_square_form,
    ),
    Mutant(
        "blind queries left empty",
        "output[..., :blind, :] = 0.0",
        "output[..., :blind, :] = 1.0",
        p.linear_is_its_own_square_form,
    ),
    Mutant("weights not summed", "xp.ones((*some_v", "xp.zeros((*some_v", p.linear_is_its_own_square_form),
    Mutant(
        "padding counted",
        "phi_k, v_1 = xp.where(seen, phi_k, 0.0), xp.where(seen, v_1, 0.0)",
        "pass",
        p.linear_is_its_own_square_form,
    ),
    Mutant(
        "a blocked NaN let through",
        "gather(weights, v_1, past, xp)",
        "xp.matmul(weights, v_1)",
        p.linear_hides_what_is_blocked,
    ),
    Mutant("exp of everything", "-xp.abs(x)", "x", p.features_are_elu_plus_one),
    Mutant("elu alone", "x + 1, xp.exp", "x, xp.exp", p.features_are_elu_plus_one),
    Mutant(
        "keys' mix for values", "xp.matmul(w_v, v)", "xp.matmul(w_k, v)", p.low_rank_attends_to_mixed_keys
    ),
    Mutant("scale ignored", "mixed_v, scale=scale", "mixed_v", p.full_rank_is_attention),
]


@pytest.mark.parametrize("mutant", STREAMING_MUTANTS, ids=lambda mutant: mutant.change)
def test_damage_to_streaming_is_noticed(mutant: Mutant) -> None:
    assert_noticed(streaming, mutant)


@pytest.mark.parametrize("mutant", SHORTCUT_MUTANTS, ids=lambda mutant: mutant.change)
def test_damage_to_a_shortcut_is_noticed(mutant: Mutant) -> None:
    assert_noticed(shortcuts, mutant)


def assert_noticed(module: ModuleType, mutant: Mutant) -> None:
    copy = damaged(module, mutant)  # outside: a mutant that no longer fits the source must not count
    errors = (AssertionError, FloatingPointError, RuntimeError, ValueError, UnboundLocalError)
    with pytest.raises(errors), np.errstate(all="raise", under="ignore"):
        mutant.noticed_by(copy)


@pytest.mark.parametrize("module", [streaming, shortcuts], ids=lambda module: module.__name__)
def test_a_copy_without_damage_passes(module: ModuleType) -> None:
    same = Mutant(
        "none", "from attention_core import _checks\n", "from attention_core import _checks\n", print
    )
    copy = damaged(module, same)
    with np.errstate(all="raise", under="ignore"):
        for holds in p.STREAMING if module is streaming else p.SHORTCUTS:
            holds(copy)
