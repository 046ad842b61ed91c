"""What must be true of attention.py where no other library can be asked: blocked numbers, empty rows, digits.

Functions of the module that holds the kernels: `test_attention.py` hands them the real one, `test_mutants.py`
damaged copies.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.testing import assert_allclose, assert_array_equal

from tests.libraries import Library

Kernels = Any  # a module with attend, softmax, causal_mask, ...
POISON = [1e6, 1e30, 1e308, np.inf, -np.inf, np.nan]
BLOCKED_ROW = np.array([[True, True, False], [False, False, False], [True, True, True]])
NUMPY = Library("numpy")


def random(*shapes: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    """Return normally distributed float64 arrays, the same in every run."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in shapes]


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
    assert_array_equal(kernels.padding_mask(np.array([-1, 9]), 3), [[[0, 0, 0]], [[1, 1, 1]]])
    assert_array_equal(kernels.padding_mask(np.array([1, 100], np.int8), 300).sum(axis=-1), [[1], [100]])
    assert kernels.causal_mask(2).dtype == kernels.padding_mask(lengths, 3).dtype == bool


# -- what is blocked changes nothing ---------------------------------------------------------------


def blocked_cases(kernels: Kernels) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield a mask (2 sequences, 3 queries, 5 keys) and the keys (2, 5) that it hides from every query."""
    lengths = np.array([4, 2])
    yield kernels.padding_mask(lengths, 5), np.arange(5) >= lengths[:, None]
    yield kernels.causal_mask(3, 5, offset=1), np.array([[False] * 4 + [True]] * 2)


def a_blocked_key_or_value_changes_nothing(kernels: Kernels, xp: Library = NUMPY) -> None:
    q, k, v = random((2, 3, 4), (2, 5, 4), (2, 5, 2))
    tolerance = {"rtol": 8 * xp.eps, "atol": 8 * xp.eps}
    for mask, hidden in blocked_cases(kernels):
        clean = kernels.attend(*map(xp.array, (q, k, v)), mask=xp.booleans(mask))
        for poison in [x for x in [*POISON, xp.largest] if not abs(x) > xp.largest or np.isinf(x)]:
            bad_k, bad_v = (np.where(hidden[..., None], poison, x) for x in (k, v))
            for keys, values in [(bad_k, v), (k, bad_v), (bad_k, bad_v)]:
                steps = kernels.attend(*map(xp.array, (q, keys, values)), mask=xp.booleans(mask))
                assert_allclose(xp.numpy(steps.weights), xp.numpy(clean.weights), **tolerance)
                assert_allclose(xp.numpy(steps.output), xp.numpy(clean.output), **tolerance)
                masked_scores = xp.numpy(steps.masked_scores)
                assert_array_equal(np.isneginf(masked_scores), np.broadcast_to(~mask, masked_scores.shape))
                if keys is bad_k and not np.isfinite(poison):
                    blocked = np.broadcast_to(hidden[:, None, :], masked_scores.shape)
                    assert_array_equal(xp.numpy(steps.scores)[blocked], 0)  # it counts as 0


def other_blocked_scores_stay(kernels: Kernels) -> None:
    q, k, v = random((2, 3, 4), (2, 5, 4), (2, 5, 2))
    for mask, _ in blocked_cases(kernels):
        assert_allclose(kernels.attend(q, k, v, mask=mask).scores, kernels.attend(q, k, v).scores, rtol=1e-12)
        bad_k = k.copy()
        bad_k[1, 4] = np.nan
        scores = kernels.attend(q, bad_k, v, mask=mask).scores
        assert_allclose(scores[..., :4], kernels.attend(q, k, v).scores[..., :4], rtol=1e-12)


def a_blocked_score_changes_nothing(kernels: Kernels) -> None:
    q, k, v = random((2, 3, 4), (2, 5, 4), (2, 5, 2))
    clean = q @ np.swapaxes(k, -2, -1)
    everything = np.zeros((3, 5), bool)
    for mask in [*(mask for mask, _ in blocked_cases(kernels)), everything]:
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


def what_is_blocked_for_some_changes_only_the_others(kernels: Kernels, xp: Library = NUMPY) -> None:
    q, k, v = random((3, 4), (3, 4), (3, 2))
    tolerance = {"rtol": 8 * xp.eps, "atol": 8 * xp.eps}
    mask = xp.booleans(np.tri(3))
    clean = kernels.attend(*map(xp.array, (q, k, v)), mask=mask)
    for poison in (np.nan, np.inf, -np.inf):
        bad_k, bad_v = k.copy(), v.copy()
        bad_k[1, 0], bad_v[1, 0] = poison, poison
        with np.errstate(invalid="ignore"):  # the second query may see it
            steps = kernels.attend(*map(xp.array, (q, bad_k, bad_v)), mask=mask)
        assert_allclose(xp.numpy(steps.output)[0], xp.numpy(clean.output)[0], **tolerance)
        steps = kernels.attend(*map(xp.array, (q, k, bad_v)), mask=mask)
        assert_allclose(xp.numpy(steps.weights), xp.numpy(clean.weights), **tolerance)
        assert np.all(np.isnan(xp.numpy(steps.output)[1:])), "an allowed NaN or infinity must stay visible"
    bad_k[1, 0] = np.nan
    weights = xp.numpy(kernels.attend(*map(xp.array, (q, bad_k, v)), mask=mask).weights)
    assert np.all(np.isnan(weights[1:, :2])), "an allowed NaN must stay visible"


def a_hidden_key_or_value_changes_no_gradient(kernels: Kernels) -> None:
    arrays = random((2, 3, 4), (2, 5, 4), (2, 5, 2))
    precise = [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.float16, 1e-2), (torch.bfloat16, 0.05)]
    for dtype, tolerance in precise:
        for mask, hidden in blocked_cases(kernels):
            clean = gradients(kernels, arrays, mask, dtype)
            for poison in [*POISON, float(torch.finfo(dtype).max)]:
                for poisoned in [(1,), (2,), (1, 2)]:  # keys, values, both
                    bad = [
                        np.where(hidden[..., None], poison, x) if i in poisoned else x
                        for i, x in enumerate(arrays)
                    ]
                    steps = gradients(kernels, bad, mask, dtype)
                    for ours, expected in zip(steps, clean, strict=True):
                        assert_allclose(ours, expected, rtol=tolerance, atol=tolerance)
                    assert np.all(steps[2][hidden] == 0)
                    assert np.all(steps[3][hidden] == 0)


def a_value_that_others_may_see_changes_only_their_gradients(kernels: Kernels) -> None:
    """As the docstring of `attend` says: a NaN in a value does not reach the gradients, one in a key does."""
    arrays, mask = random((3, 4), (3, 4), (3, 2)), np.tri(3, dtype=bool)
    _, *clean = gradients(kernels, arrays, mask, torch.float64, rows=slice(2))
    for poison in (np.nan, np.inf, -np.inf):
        bad = [x.copy() for x in arrays]
        bad[2][2] = poison  # the third query alone may see the third value
        _, *ours = gradients(kernels, bad, mask, torch.float64, rows=slice(2))
        for x, y in zip(ours, clean, strict=True):
            assert_allclose(x, y, rtol=1e-12, atol=1e-12)
        _, *ours = gradients(kernels, bad, mask, torch.float64)
        assert all(np.all(np.isfinite(x)) for x in ours)
    bad[1][2] = np.nan
    _, of_q, *_ = gradients(kernels, bad, mask, torch.float64, rows=slice(2))
    assert np.all(np.isnan(of_q))


def gradients(
    kernels: Kernels, arrays: list[np.ndarray], mask: np.ndarray, dtype: torch.dtype, rows: slice = slice(None)
) -> list[np.ndarray]:
    """Return the output of attend and the gradients of q, k and v, for a loss that weighs every number."""
    q, k, v = (torch.tensor(x).to(dtype).requires_grad_() for x in arrays)
    output = kernels.attend(q, k, v, mask=torch.tensor(mask)).output
    (output * torch.arange(1, 1 + output.numel()).reshape(output.shape))[..., rows, :].sum().backward()
    by_input = [x.grad for x in (q, k, v) if x.grad is not None]
    assert len(by_input) == 3
    return [x.detach().double().numpy() for x in (output, *by_input)]


def a_row_without_keys_is_zero(kernels: Kernels) -> None:
    q, k, v = random((3, 4), (3, 4), (3, 2))
    for array in (np.asarray, torch.tensor):
        steps = kernels.attend(*map(array, (q, k, v)), mask=array(BLOCKED_ROW))
        assert np.all(np.isneginf(np.asarray(steps.masked_scores)[1]))
        assert_array_equal(steps.weights[1], 0)
        assert_array_equal(steps.output[1], 0)
        assert_allclose(np.asarray(steps.weights)[[0, 2]].sum(axis=-1), 1)
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


# -- digits ----------------------------------------------------------------------------------------


def float16_holds_large_scores(kernels: Kernels) -> None:
    x = np.full((2, 64), 60, dtype=np.float16)  # x·x = 230400 is beyond float16, 230400 / 8 is not
    assert_array_equal(kernels.attention_scores(x, x), 28800)
    q, k, v = (torch.tensor(x, dtype=torch.float16) for x in ([[300.0]], [[300.0], [400.0]], [[300.0], [1.0]]))
    assert_array_equal(kernels.attend(q, q, q).output, 300)  # the score is 90000
    assert_array_equal(kernels.attend(q, k, v).output, 1)  # 90000 and 120000
    assert_array_equal(kernels.attend(q, k, v).scores, np.inf)


def dropout_meets_the_values_alone(kernels: Kernels) -> None:
    q, k, v = random((3, 4), (4, 4), (4, 2))
    kept = np.array([[2.0, 0, 2, 0], [0, 2, 2, 0], [2, 2, 0, 0]])
    padding = np.array([True, True, True, False])
    two_do_not_see_it = np.array([padding, padding, [True] * 4])  # the third query does
    bad = v.copy()
    bad[3] = np.nan
    for values, mask in ((v, None), (v, padding), (bad, padding), (bad, two_do_not_see_it)):
        steps = kernels.attend(q, k, values, mask=mask, dropout=lambda weights: weights * kept)
        assert_allclose(steps.weights.sum(axis=-1), 1)
        assert_allclose(steps.output, (steps.weights * kept) @ v, rtol=1e-12)  # the third drops it


ATTENTION = [
    softmax_of_huge_scores,
    softmax_of_rows_without_a_score,
    whole_numbers_are_exact,
    masks_are_as_drawn,
    a_blocked_key_or_value_changes_nothing,
    other_blocked_scores_stay,
    a_blocked_score_changes_nothing,
    what_is_blocked_for_some_changes_only_the_others,
    a_hidden_key_or_value_changes_no_gradient,
    a_value_that_others_may_see_changes_only_their_gradients,
    a_row_without_keys_is_zero,
    gradients_are_the_slopes,
    float16_holds_large_scores,
    dropout_meets_the_values_alone,
]
