"""What must be true of the kernels, as functions of the module that holds them.

`test_attention.py` hands them the real kernels, `test_mutants.py` damaged copies.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.testing import assert_allclose, assert_array_equal

from tests.kernels.specification import loop_attend_all, loop_softmax

Kernels = Any  # a module with attend, softmax, causal_mask, ...
POISON = [1e6, 1e30, 1e308, np.inf, -np.inf, np.nan]
BLOCKED_ROW = np.array([[True, True, False], [False, False, False], [True, True, True]])


def random(*shapes: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    """Return normally distributed float64 arrays, the same in every run."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in shapes]


def assert_like_the_loops(
    kernels: Kernels,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    scale: float | None = None,
    to: Callable[[Any], Any] = np.asarray,
    back: Callable[[Any], np.ndarray] = np.asarray,
) -> None:
    """Compare every step of `attend` with the plain loops; `to` makes an array, `back` undoes it."""
    weights, output = loop_attend_all(q, k, v, mask, scale)
    ours = kernels.attend(to(q), to(k), to(v), mask=None if mask is None else to(mask), scale=scale)
    leading = np.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    assert tuple(ours.scores.shape) == (*leading, q.shape[-2], k.shape[-2])
    assert tuple(ours.output.shape) == output.shape
    assert_allclose(back(ours.output), output, rtol=1e-9, atol=1e-12)
    assert_allclose(np.broadcast_to(back(ours.weights), weights.shape), weights, rtol=1e-9, atol=1e-12)
    blocked = False if mask is None else ~mask
    masked = np.where(blocked, -np.inf, back(ours.scores))
    assert_array_equal(back(ours.masked_scores), masked)


def softmax_is_the_formula(kernels: Kernels) -> None:
    (x,) = random((4, 5))
    rows = [loop_softmax(dict(enumerate(row))) for row in x.tolist()]
    expected = [[row[j] for j in range(5)] for row in rows]
    assert_allclose(kernels.softmax(x), expected, rtol=1e-12)
    assert_allclose(kernels.softmax(x.T, axis=0), np.transpose(expected), rtol=1e-12)


def softmax_ignores_a_shift(kernels: Kernels) -> None:
    (x,) = random((4, 5))
    for shift in (1.0, -1e3, 1e3, 1e6):
        assert_allclose(kernels.softmax(x + shift), kernels.softmax(x), rtol=1e-8)


def softmax_of_rows_without_a_score(kernels: Kernels) -> None:
    inf, nan = np.inf, np.nan
    x = np.array([[-inf, -inf], [-inf, 3.0], [nan, 1.0], [nan, -inf], [0.0, 0.0]])
    expected = np.array([[0, 0], [0, 1], [nan, nan], [nan, nan], [0.5, 0.5]])
    assert_array_equal(kernels.softmax(torch.tensor(x)), expected)
    assert_array_equal(kernels.softmax(torch.tensor(x.T.copy()), axis=0), expected.T)
    with np.errstate(invalid="ignore"):
        assert_array_equal(kernels.softmax(x), expected)
    scores = torch.tensor(x[[0, 1, 4]], requires_grad=True)
    (kernels.softmax(scores) * torch.arange(6).reshape(3, 2)).sum().backward()
    assert_array_equal(np.asarray(scores.grad), [[0, 0], [0, 0], [-0.25, 0.25]])


def softmax_of_huge_scores(kernels: Kernels) -> None:
    assert_array_equal(kernels.softmax(np.array([1e4, 1e4, -1e4])), [0.5, 0.5, 0.0])
    assert_array_equal(kernels.softmax(np.array([[1e4, 1e4], [-1e4, -1e4]])), [[0.5, 0.5], [0.5, 0.5]])
    assert_array_equal(kernels.softmax(np.array([[-np.inf, -np.inf], [-np.inf, 3.0]])), [[0, 0], [0, 1]])


def whole_numbers_are_exact(kernels: Kernels) -> None:
    q = np.array([[2.0, 0, 0, 0], [0, 0, 0, 0]])  # d_k = 4: scores are halved
    k = np.array([[3.0, 1, 0, 0], [-5, 0, 7, 0]])
    v = np.array([[10.0, 2.0, 4.0], [30.0, 4.0, -4.0]])
    mask = np.array([[False, True], [True, True]])
    steps = kernels.attend(q, k, v, mask=mask)
    assert_array_equal(steps.scores, [[3, -5], [0, 0]])
    assert_array_equal(steps.masked_scores, [[-np.inf, -5], [0, 0]])
    assert_array_equal(steps.weights, [[0, 1], [0.5, 0.5]])
    assert_array_equal(steps.output, [[30, 4, -4], [20, 3, 0]])
    assert_array_equal(kernels.attention_scores(q, k, scale=1.0), [[6, -10], [0, 0]])
    assert_array_equal(kernels.attention_scores(q, k, scale=3), [[18, -30], [0, 0]])


def attend_is_the_formula(kernels: Kernels) -> None:
    q, k, v, wide = random((2, 1, 3, 4), (3, 5, 4), (2, 3, 5, 2), (7, 4))
    for seed, mask_shape in enumerate([(3, 5), (5,), (1, 5), (3, 1), (3, 3, 5), (2, 1, 3, 5)]):
        mask = np.random.default_rng(seed).random(mask_shape) < 0.6
        assert_like_the_loops(kernels, q, k, v, mask)
    assert_like_the_loops(kernels, q, k, v)
    assert_like_the_loops(kernels, q, k, v, scale=1.0)
    assert_like_the_loops(kernels, wide, k, v, scale=-0.3)
    assert_like_the_loops(kernels, wide, wide, wide, np.ones((2, 7, 7), bool))


def rows_sum_to_one(kernels: Kernels) -> None:
    q, k, v = random((2, 6, 4), (2, 6, 4), (2, 6, 3))
    for mask in (None, kernels.causal_mask(6), kernels.padding_mask(np.array([1, 4]), 6)):
        weights = kernels.attend(10 * q, k, v, mask=mask).weights
        assert np.all(weights >= 0)
        assert_allclose(weights.sum(axis=-1), 1, rtol=1e-12)
        if mask is not None:
            assert np.all(weights[np.broadcast_to(~mask, weights.shape)] == 0)


def order_of_keys_does_not_matter(kernels: Kernels) -> None:
    q, k, v = random((3, 4), (5, 4), (5, 2))
    mask = np.array([[1, 1, 0, 0, 1], [0, 1, 1, 1, 1], [1, 0, 0, 0, 0]]) == 1
    order = [3, 0, 4, 2, 1]
    before = kernels.attend(q, k, v, mask=mask)
    after = kernels.attend(q, k[order], v[order], mask=mask[:, order])
    assert_allclose(after.output, before.output, rtol=1e-12)
    assert_allclose(after.weights, before.weights[:, order], rtol=1e-12)


def order_of_queries_is_the_order_of_outputs(kernels: Kernels) -> None:
    q, k, v = random((4, 4), (5, 4), (5, 2))
    mask = np.random.default_rng(1).random((4, 5)) < 0.7
    order = [2, 0, 3, 1]
    before = kernels.attend(q, k, v, mask=mask)
    after = kernels.attend(q[order], k, v, mask=mask[order])
    assert_allclose(after.output, before.output[order], rtol=1e-12)


def the_future_cannot_change_the_past(kernels: Kernels) -> None:
    x, other = random((6, 4), (6, 4))
    for now in range(6):
        changed = np.concatenate([x[: now + 1], 100 * other[now + 1 :]])
        before = kernels.attend(x, x, x, mask=kernels.causal_mask(6)).output
        after = kernels.attend(changed, changed, changed, mask=kernels.causal_mask(6)).output
        assert_allclose(after[: now + 1], before[: now + 1], rtol=1e-12)
        if now < 5:
            assert not np.allclose(after[now + 1 :], before[now + 1 :])


def masks_are_as_drawn(kernels: Kernels) -> None:
    decoding = [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert_array_equal(kernels.causal_mask(2, 4), decoding)
    assert_array_equal(kernels.causal_mask(2, 4, offset=2), decoding)
    assert_array_equal(kernels.causal_mask(2, 4, offset=0), [[1, 0, 0, 0], [1, 1, 0, 0]])
    assert_array_equal(kernels.causal_mask(3), [[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    assert_array_equal(kernels.causal_mask(3, 2), [[0, 0], [1, 0], [1, 1]])
    assert_array_equal(kernels.causal_mask(2, 2, offset=-1), [[0, 0], [1, 0]])
    lengths = np.array([[0, 1], [2, 3]])
    rows = [[[[0, 0, 0]], [[1, 0, 0]]], [[[1, 1, 0]], [[1, 1, 1]]]]
    assert_array_equal(kernels.padding_mask(lengths, 3), rows)
    assert_array_equal(kernels.padding_mask(np.array(2), 3), [[1, 1, 0]])
    assert kernels.causal_mask(2).dtype == kernels.padding_mask(lengths, 3).dtype == bool


def blocked_cases(kernels: Kernels) -> Iterator[tuple[np.ndarray, list[int]]]:
    """Yield a mask (2 sequences, 3 queries, 5 keys) and the keys that it hides from every query."""
    yield kernels.padding_mask(np.array([3, 3]), 5), [3, 4]
    yield kernels.causal_mask(3, 5, offset=1), [4]


def a_blocked_key_or_value_changes_nothing(kernels: Kernels) -> None:
    q, k, v = random((2, 3, 4), (2, 5, 4), (2, 5, 2))
    for mask, hidden in blocked_cases(kernels):
        clean = kernels.attend(q, k, v, mask=mask)
        for poison in POISON:
            bad_k, bad_v = k.copy(), v.copy()
            bad_k[:, hidden], bad_v[:, hidden] = poison, poison
            for keys, values in [(bad_k, v), (k, bad_v), (bad_k, bad_v)]:
                steps = kernels.attend(q, keys, values, mask=mask)
                assert_allclose(steps.weights, clean.weights, rtol=1e-12)
                assert_allclose(steps.output, clean.output, rtol=1e-12)
                assert_array_equal(np.isneginf(steps.masked_scores), np.isneginf(clean.masked_scores))
                if keys is bad_k and not np.isfinite(poison):
                    assert_array_equal(steps.scores[..., hidden], 0)  # it counts as 0


def weigh_is_the_second_half_of_attend(kernels: Kernels) -> None:
    q, k, v = random((2, 3, 4), (2, 5, 4), (2, 5, 2))
    scores = kernels.attention_scores(q, k, scale=1.0)
    twice = lambda weights: 2 * weights  # noqa: E731
    for mask in (None, *(mask for mask, _ in blocked_cases(kernels))):
        ours = kernels.weigh(scores, v, mask=mask, dropout=twice)
        whole = kernels.attend(q, k, v, mask=mask, scale=1.0, dropout=twice)
        for x, y in zip(ours, whole, strict=True):
            assert_allclose(x, y, rtol=1e-12)
        assert_allclose(ours.output, 2 * ours.weights @ v, rtol=1e-12)
        assert_array_equal(ours.scores, scores)


def a_blocked_score_changes_nothing(kernels: Kernels) -> None:
    q, k, v = random((2, 3, 4), (2, 5, 4), (2, 5, 2))
    clean = q @ np.swapaxes(k, -2, -1)
    everything = np.zeros((3, 5), bool)
    for mask, _ in [*blocked_cases(kernels), (everything, [])]:
        expected = weighed(kernels, clean, v, mask)
        for poison in POISON:
            for ours, wanted in zip(
                weighed(kernels, np.where(mask, clean, poison), v, mask), expected, strict=True
            ):
                assert_allclose(ours, wanted, rtol=1e-12, atol=1e-12)
        assert np.all(expected[2][np.broadcast_to(~mask, clean.shape)] == 0)


def weighed(kernels: Kernels, scores: np.ndarray, v: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
    """Return weights and output, by numpy, and the gradients of the scores and of v, by torch."""
    tensors = [torch.tensor(x, requires_grad=True) for x in (scores, v)]
    steps = kernels.weigh(scores, v, mask=mask)
    output = kernels.weigh(*tensors, mask=torch.tensor(mask)).output
    (output * torch.arange(1, 1 + output.numel()).reshape(output.shape)).sum().backward()
    by_input = [x.grad.numpy() for x in tensors if x.grad is not None]
    return [steps.weights, steps.output, *by_input]


def a_key_blocked_for_some_changes_only_the_others(kernels: Kernels) -> None:
    q, k, v = random((3, 4), (3, 4), (3, 2))
    clean = kernels.attend(q, k, v, mask=kernels.causal_mask(3))
    bad_k, bad_v = k.copy(), v.copy()
    bad_k[1, 0], bad_v[1, 0] = np.nan, np.nan
    steps = kernels.attend(q, bad_k, bad_v, mask=kernels.causal_mask(3))
    assert_allclose(steps.output[0], clean.output[0], rtol=1e-12)
    assert np.all(np.isnan(steps.weights[1:, :2])), "an allowed NaN must stay visible"
    steps = kernels.attend(q, k, bad_v, mask=kernels.causal_mask(3))
    assert_allclose(steps.weights, clean.weights, rtol=1e-12)
    assert np.all(np.isnan(steps.output[1:, 0])), "an allowed NaN must stay visible"
    assert_allclose(steps.output[:, 1], clean.output[:, 1], rtol=1e-12)


def a_blocked_key_or_value_changes_no_gradient(kernels: Kernels) -> None:
    arrays = random((2, 3, 4), (2, 5, 4), (2, 5, 2))
    for dtype, tolerance in [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.float16, 1e-2)]:
        for mask, hidden in blocked_cases(kernels):
            clean = gradients(kernels, arrays, mask, dtype)
            for poison in [*POISON, float(torch.finfo(dtype).max)]:
                for poisoned in [(1,), (2,), (1, 2)]:  # keys, values, both
                    bad = [x.copy() for x in arrays]
                    for x in poisoned:
                        bad[x][:, hidden] = poison
                    steps = gradients(kernels, bad, mask, dtype)
                    for ours, expected in zip(steps, clean, strict=True):
                        assert_allclose(ours, expected, rtol=tolerance, atol=tolerance)
                    assert np.all(steps[2][:, hidden] == 0)
                    assert np.all(steps[3][:, hidden] == 0)


def gradients(
    kernels: Kernels, arrays: list[np.ndarray], mask: np.ndarray, dtype: torch.dtype
) -> list[np.ndarray]:
    """Return the output of attend and the gradients of q, k and v, for a loss that weighs every number."""
    q, k, v = (torch.tensor(x).to(dtype).requires_grad_() for x in arrays)
    output = kernels.attend(q, k, v, mask=torch.tensor(mask)).output
    (output * torch.arange(1, 1 + output.numel()).reshape(output.shape)).sum().backward()
    by_input = [x.grad for x in (q, k, v) if x.grad is not None]
    assert len(by_input) == 3
    return [x.detach().double().numpy() for x in (output, *by_input)]


def a_row_without_keys_is_zero(kernels: Kernels) -> None:
    q, k, v = random((3, 4), (3, 4), (3, 2))
    steps = kernels.attend(q, k, v, mask=BLOCKED_ROW)
    assert np.all(np.isneginf(steps.masked_scores[1]))
    assert_array_equal(steps.weights[1], 0)
    assert_array_equal(steps.output[1], 0)
    assert_allclose(steps.weights[[0, 2]].sum(axis=-1), 1)
    _, *by_input = gradients(kernels, [q, k, v], BLOCKED_ROW, torch.float64)
    assert all(np.all(np.isfinite(gradient)) for gradient in by_input)
    assert_array_equal(by_input[0][1], 0)
    _, *by_input = gradients(kernels, [q, k, v], np.zeros((3, 3), bool), torch.float64)
    assert all(np.all(gradient == 0) for gradient in by_input)


def gradients_are_the_slopes(kernels: Kernels) -> None:
    q, k, v = (torch.tensor(x, requires_grad=True) for x in random((2, 3, 4), (3, 4), (3, 2)))
    for mask in (None, torch.tensor(BLOCKED_ROW), kernels.causal_mask(3, like=q)):

        def steps(q: Any, k: Any, v: Any, mask: Any = mask) -> tuple[Any, ...]:
            attention = kernels.attend(q, k, v, mask=mask)
            return attention.scores, attention.weights, attention.output

        assert torch.autograd.gradcheck(steps, (q, k, v))
    assert torch.autograd.gradcheck(kernels.softmax, (q,))
    ties = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(kernels.softmax, (ties,))


def float16_holds_large_inputs(kernels: Kernels) -> None:
    x = np.full((2, 64), 60, dtype=np.float16)  # x·x = 230400 is beyond float16, 230400 / 8 is not
    steps = kernels.attend(x, x, x)
    assert_array_equal(steps.scores, 28800)
    assert_array_equal(steps.weights, 0.5)
    assert_array_equal(steps.output, 60)


def dropout_meets_the_values_alone(kernels: Kernels) -> None:
    q, k, v = random((3, 4), (4, 4), (4, 2))
    kept = np.array([[2.0, 0, 2, 0], [0, 2, 2, 0], [2, 2, 0, 0]])
    padding = np.array([True, True, True, False])
    two_do_not_see_it = np.array([padding, padding, [True] * 4])  # the third query does
    bad = v.copy()
    bad[3] = np.nan
    for values, mask in ((v, padding), (bad, padding), (bad, two_do_not_see_it)):
        steps = kernels.attend(q, k, values, mask=mask, dropout=lambda weights: weights * kept)
        assert_allclose(steps.weights.sum(axis=-1), 1)
        blind = slice(2) if mask is two_do_not_see_it else slice(3)
        assert_allclose(steps.output[blind], ((steps.weights * kept) @ v)[blind], rtol=1e-12)


def inputs_stay_as_they_are(kernels: Kernels) -> None:
    q, k, v = before = random((3, 4), (3, 4), (3, 2))
    mask = BLOCKED_ROW.copy()
    kernels.attend(q, k, v, mask=mask)
    kernels.softmax(q)
    for x, y in zip([*before, mask], [*random((3, 4), (3, 4), (3, 2)), BLOCKED_ROW], strict=True):
        assert_array_equal(x, y)


ATTENTION = [
    softmax_is_the_formula,
    softmax_ignores_a_shift,
    softmax_of_huge_scores,
    softmax_of_rows_without_a_score,
    whole_numbers_are_exact,
    attend_is_the_formula,
    rows_sum_to_one,
    order_of_keys_does_not_matter,
    order_of_queries_is_the_order_of_outputs,
    the_future_cannot_change_the_past,
    masks_are_as_drawn,
    a_blocked_key_or_value_changes_nothing,
    weigh_is_the_second_half_of_attend,
    a_blocked_score_changes_nothing,
    a_key_blocked_for_some_changes_only_the_others,
    a_blocked_key_or_value_changes_no_gradient,
    a_row_without_keys_is_zero,
    gradients_are_the_slopes,
    float16_holds_large_inputs,
    dropout_meets_the_values_alone,
    inputs_stay_as_they_are,
]
