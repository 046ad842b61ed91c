"""Proof that the tests see: each damaged copy of a kernel is caught by a named property."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from attention_core import attention, heads, modules
from tests import properties as p
from tests import test_modules as t


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
    Mutant("scale ignored", "else float(scale)", "else 1.0", p.whole_numbers_are_exact),
    Mutant(
        "scaled after the product",
        "xp.matmul(scaled_q, xp.matrix_transpose(k))",
        "xp.matmul(q, xp.matrix_transpose(k)) * scale",
        p.float16_holds_large_inputs,
    ),
    Mutant("maximum not subtracted", "xp.exp(x - m)", "xp.exp(x)", p.softmax_of_huge_scores),
    Mutant(
        "maximum of everything",
        "xp.max(x, axis=axis, keepdims=True)",
        "xp.max(x)",
        p.softmax_of_huge_scores,
    ),
    Mutant("row of -inf not foreseen", "xp.where(m == -xp.inf, 0.0, m)", "m", p.a_row_without_keys_is_zero),
    Mutant("division by 0", "xp.where(total == 0, 1.0, total)", "total", p.a_row_without_keys_is_zero),
    Mutant(
        "wrong axis", "softmax(masked_scores)", "softmax(masked_scores, axis=-2)", p.attend_is_the_formula
    ),
    Mutant("rows not normalised", "return e / xp.where", "return e  # xp.where", p.rows_sum_to_one),
    Mutant(
        "mask flipped",
        "xp.where(mask, scores, -xp.inf)",
        "xp.where(mask, -xp.inf, scores)",
        p.rows_sum_to_one,
    ),
    Mutant("-1e9 for -inf", "scores, -xp.inf)", "scores, -1e9)", p.a_row_without_keys_is_zero),
    Mutant("0 for -inf", "scores, -xp.inf)", "scores, 0.0)", p.attend_is_the_formula),
    Mutant(
        "mask after softmax",
        "weights = softmax(masked_scores)",
        "weights = softmax(scores) if mask is None else softmax(scores) * mask",
        p.rows_sum_to_one,
    ),
    Mutant(
        "a blocked NaN let through",
        "if mask is not None and _blocked_may_leak(k, v, mask, xp)",
        "if False",
        p.a_blocked_key_or_value_changes_nothing,
    ),
    Mutant(
        "only keys looked at", "bad = k_bad | v_bad", "bad = k_bad", p.a_blocked_key_or_value_changes_nothing
    ),
    Mutant(
        "only values looked at",
        "bad = k_bad | v_bad",
        "bad = v_bad",
        p.a_blocked_key_or_value_changes_no_gradient,
    ),
    Mutant(
        "only NaN and infinity looked at",
        "math.sqrt(xp.finfo(k.dtype).max)",
        "xp.finfo(k.dtype).max",
        p.a_blocked_key_or_value_changes_no_gradient,
    ),
    Mutant(
        "allowed NaN hidden",
        "xp.where(allowed, v[..., None, :, :], 0.0)",
        "xp.where(xp.isfinite(v[..., None, :, :]), v[..., None, :, :], 0.0)",
        p.a_key_blocked_for_some_changes_only_the_others,
    ),
    Mutant(
        "dropout ignored",
        "weights if dropout is None else dropout(weights)",
        "weights",
        p.dropout_meets_the_values_alone,
    ),
    Mutant(
        "dropout returned",
        "softmax(masked_scores)  #",
        "(dropout or (lambda w: w))(softmax(masked_scores))  #",
        p.dropout_meets_the_values_alone,
    ),
    Mutant(
        "dropout by query",
        "lambda w: dropout(w[..., 0, :])[..., None, :]",
        "dropout",
        p.dropout_meets_the_values_alone,
    ),
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
    Mutant("padding one too long", "(j < lengths", "(j <= lengths", p.masks_are_as_drawn),
    Mutant("padding seen", "(j < lengths", "(j >= lengths", p.masks_are_as_drawn),
    Mutant(
        "inputs overwritten",
        "scaled_q = q * scale",
        "scaled_q = q; scaled_q *= scale",
        p.inputs_stay_as_they_are,
    ),
]

HEADS = [
    Mutant(
        "split without moving axes",
        "xp.moveaxis(heads, -2, -3)",
        "xp.reshape(x, (*x.shape[:-2], n_heads, x.shape[-2], d_head))",
        p.split_gives_each_head_its_columns,
    ),
    Mutant("merge without moving axes", "xp.moveaxis(x, -3, -2)", "x", p.split_gives_each_head_its_columns),
    Mutant(
        "√d_model",
        "mask=mask, scale=scale)",
        "mask=mask, scale=w_q.shape[1] ** -0.5)",
        p.multi_head_is_each_head_alone,
    ),
    Mutant(
        "keys for values", "xp.matmul(x_kv, w_v)", "xp.matmul(x_kv, w_k)", p.multi_head_is_each_head_alone
    ),
    Mutant(
        "keys of the queries", "xp.matmul(x_kv, w_k)", "xp.matmul(x_q, w_k)", p.multi_head_is_each_head_alone
    ),
    Mutant(
        "w_o transposed",
        "merge_heads(heads.output), w_o)",
        "merge_heads(heads.output), w_o.T)",
        p.multi_head_is_each_head_alone,
    ),
    Mutant("mask lost", "mask=mask, scale=scale)", "scale=scale)", p.a_mask_knows_its_heads),
    Mutant("batch taken for heads", "_checks.heads_mask(mask, q, k, xp)", "pass", p.a_mask_knows_its_heads),
]


def equal_to_torch(case: str) -> Callable[[Any], None]:
    shapes, mask, masks = t.CASES[case]
    return lambda _: t.test_equal_to_torchs_own(shapes, mask, masks, bias=True)


MODULES = [
    Mutant("projections swapped", '("w_q", "w_k", "w_v")', '("w_k", "w_q", "w_v")', equal_to_torch("cross")),
    Mutant("w_q for w_v", "self.w_v(value)", "self.w_q(value)", equal_to_torch("self")),
    Mutant("w_v for w_k", "self.w_k(key)", "self.w_v(key)", equal_to_torch("self")),
    Mutant("w_o transposed", "mha.out_proj.weight", "mha.out_proj.weight.T", equal_to_torch("self")),
    Mutant("mask lost", "mask=mask, dropout", "dropout", equal_to_torch("causal")),
    Mutant(
        "dropout outside training",
        "dropout=self.dropout)",
        "dropout=lambda w: nn.functional.dropout(w, self.dropout.p))",
        lambda _: t.test_dropout_meets_the_values_in_training_alone(),
    ),
    Mutant(
        "no dropout",
        "dropout=self.dropout)",
        "dropout=None)",
        lambda _: t.test_dropout_meets_the_values_in_training_alone(),
    ),
]


def damaged(module: ModuleType, mutant: Mutant) -> ModuleType:
    """Return a copy of `module` made from its source with one change."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    assert source.count(mutant.old) == 1, f"{mutant.old!r} is not in {module.__name__} once: mend this mutant"
    copy = ModuleType(module.__name__)
    exec(compile(source.replace(mutant.old, mutant.new), mutant.change, "exec"), vars(copy))
    return copy


@pytest.mark.parametrize("mutant", ATTENTION, ids=lambda mutant: mutant.change)
def test_damage_to_attention_is_noticed(mutant: Mutant) -> None:
    with pytest.raises((AssertionError, RuntimeWarning)):
        mutant.noticed_by(damaged(attention, mutant))


@pytest.mark.parametrize("mutant", HEADS, ids=lambda mutant: mutant.change)
def test_damage_to_heads_is_noticed(mutant: Mutant) -> None:
    with pytest.raises((AssertionError, RuntimeWarning)):
        mutant.noticed_by(damaged(heads, mutant))


@pytest.mark.parametrize("mutant", MODULES, ids=lambda mutant: mutant.change)
def test_damage_to_modules_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = damaged(modules, mutant)
    monkeypatch.setattr(t, "MultiHeadAttention", copy.MultiHeadAttention)
    with pytest.raises((AssertionError, RuntimeWarning)):
        mutant.noticed_by(copy)


def test_a_copy_without_damage_passes() -> None:
    same = Mutant("none", "import math\n", "import math\n", p.attend_is_the_formula)
    same.noticed_by(damaged(attention, same))
