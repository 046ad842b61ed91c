"""What must be true of the kernels for long sequences, as functions of the module that holds them.

`test_long.py` hands them the real kernels, `test_long_mutants.py` damaged copies.
"""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import torch
from numpy.testing import assert_allclose, assert_array_equal

from attention_core import attend, padding_mask
from attention_core.long import Partial, partial_attention
from tests.kernels.properties import BLOCKED_ROW, POISON, random
from tests.kernels.specification import loop_attend_all

Kernels = Any  # a module with some of the functions of attention_core.long
CLOSE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-12}


def allowed_by(mask: np.ndarray | None, causal: bool, n_q: int, n_k: int) -> np.ndarray:
    """Draw the mask that `mask` and `causal` mean together, number by number."""
    past = np.array([[j <= i + n_k - n_q or not causal for j in range(n_k)] for i in range(n_q)])
    return past if mask is None else past & mask


def some_masks(n_q: int, n_k: int) -> list[np.ndarray | None]:
    """Nothing masked, masks of every rank, a first tile and a whole row without keys, nothing allowed."""
    mask = np.random.default_rng(1).random((2, n_q, n_k)) < 0.6
    late, row = np.ones((n_q, n_k), bool), np.ones((n_q, n_k), bool)
    late[:, : n_k // 2], row[n_q // 2] = False, False
    return [None, mask, mask[0], mask[0, 0], mask[0, :, :1], late, row, np.zeros((n_q, n_k), bool)]


def streaming_is_attention(kernels: Kernels) -> None:
    for n_q, n_k in [(5, 5), (2, 7), (7, 2), (1, 1)]:
        q, k, v = random((2, n_q, 4), (n_k, 4), (2, n_k, 3))
        for mask in some_masks(n_q, n_k):
            for causal in (False, True):
                _, output = loop_attend_all(q, k, v, allowed_by(mask, causal, n_q, n_k))
                for tile_q, tile_k in [(1, 1), (2, 3), (3, 2), (256, 512)]:
                    ours = kernels.streaming_attention(
                        q, k, v, mask=mask, causal=causal, tile_q=tile_q, tile_k=tile_k
                    )
                    assert_allclose(ours, output, **CLOSE)
    q, k, v = random((3, 4), (5, 4), (5, 2))
    _, output = loop_attend_all(q, k, v, None, -0.3)
    assert_allclose(kernels.streaming_attention(q, k, v, scale=-0.3, tile_k=2), output, **CLOSE)


def a_part_is_its_definition(kernels: Kernels) -> None:
    q, k, v = random((3, 4), (3, 4), (3, 2))
    m, l, o = kernels.partial_attention(q, k, v, mask=BLOCKED_ROW)  # noqa: E741
    scores = np.where(BLOCKED_ROW, q @ k.T / 2, -np.inf)
    assert_array_equal(m[:, 0], scores.max(axis=1))
    assert m[1] == -np.inf
    e = np.where(BLOCKED_ROW, np.exp(q @ k.T / 2 - np.where(np.isfinite(m), m, 0)), 0)
    assert_allclose(l[:, 0], e.sum(axis=1), **CLOSE)
    assert_allclose(o, e @ v, **CLOSE)
    assert (l[1], *o[1]) == (0, 0, 0)


def parts_merge_in_any_order(kernels: Kernels) -> None:
    q, k, v = random((2, 3, 4), (2, 6, 4), (2, 6, 2))
    mask = np.array([[0, 0, 1, 1, 0, 1], [0] * 6, [0, 0, 1, 1, 1, 0]], bool)  # a group and a query blocked
    parts = [
        kernels.partial_attention(3 * q, k[:, keys], v[:, keys], mask=mask[:, keys])
        for keys in ([0, 1], [2, 5], [3, 4])
    ]
    merge, expected = kernels.merge_partial, attend(3 * q, k, v, mask=mask).output
    for a, b, c in permutations(parts):
        left, right = merge(merge(a, b), c), merge(a, merge(b, c))
        assert_allclose(left.output, expected, **CLOSE)
        for x, y in zip(left, right, strict=True):
            assert_allclose(x, y, **CLOSE)
    two = merge(parts[1], parts[2])
    assert_array_equal(two.m, np.maximum(parts[1].m, parts[2].m))


def huge_scores_stay_finite(kernels: Kernels) -> None:
    scores = np.array([-1e4, 1e4, -1e4, 1e4, 0.0, -1e4])
    for order in (slice(None), slice(None, None, -1)):
        q, k = np.array([[1.0], [-1.0]]), scores[order, None]
        v = np.arange(6.0)[order, None]
        ours = kernels.streaming_attention(q, k, v, scale=1.0, tile_q=1, tile_k=1)
        assert_allclose(ours, [[2.0], [7 / 3]], rtol=1e-12)


def blocked_numbers_change_nothing(kernels: Kernels) -> None:
    q, k, v = random((2, 4, 3), (2, 4, 3), (2, 4, 2))
    options = {"causal": True, "tile_q": 2, "tile_k": 3}
    hidden = padding_mask(np.array([3, 3]), 4)
    clean = kernels.streaming_attention(q, k, v, mask=hidden, **options)
    for poison in POISON:
        bad_k, bad_v = k.copy(), v.copy()
        bad_k[:, 3], bad_v[:, 3] = poison, poison
        for mask, blind in [(hidden, slice(None)), (None, slice(3))]:
            with np.errstate(invalid="ignore", over="ignore"):  # whoever may see them may fail
                ours = kernels.streaming_attention(q, bad_k, bad_v, mask=mask, **options)
            assert_allclose(ours[:, blind], clean[:, blind], rtol=1e-12)
    bad_v[:, 3] = np.nan
    ours = kernels.streaming_attention(q, k, bad_v, **options)
    assert np.all(np.isnan(ours[:, 3])), "an allowed NaN must stay visible"


def the_ledger_adds_up(kernels: Kernels) -> None:
    q, k, v = random((2, 3, 4), (2, 5, 4), (2, 5, 2))
    for causal in (False, True):
        steps = list(kernels.streaming_ledger(q, k, v, causal=causal, tile_k=2))
        assert [(step.start, step.stop) for step in steps] == [(0, 2), (2, 4), (4, 5)]
        mask = allowed_by(None, causal, 3, 5)
        for step in steps:
            keys, own = slice(0, step.stop), slice(step.start, step.stop)
            seen = attend(q, k[:, keys], v[:, keys], mask=mask[:, keys]).output
            assert_allclose(step.merged.output, seen, **CLOSE)
            alone = attend(q, k[:, own], v[:, own], mask=mask[:, own]).output
            assert_allclose(step.tile.output, alone, **CLOSE)


def gradients_are_those_of_attention(kernels: Kernels) -> None:
    def gradients(function: Callable[..., torch.Tensor]) -> list[torch.Tensor]:
        inputs = [torch.tensor(x, requires_grad=True) for x in random((2, 3, 4), (2, 3, 4), (2, 3, 2))]
        output = function(*inputs)
        return [output, *torch.autograd.grad((output**3).sum(), inputs)]

    for mask in (None, torch.tensor(BLOCKED_ROW), torch.zeros(3, 3, dtype=torch.bool)):
        options = {"mask": mask, "tile_q": 2, "tile_k": 2}
        ours = gradients(lambda q, k, v, o=options: kernels.streaming_attention(q, k, v, **o))
        expected = gradients(lambda q, k, v, m=mask: attend(q, k, v, mask=m).output)
        for x, y in zip(ours, expected, strict=True):
            assert_allclose(x.detach(), y.detach(), **CLOSE)


def causal_tiles_of_the_future_are_left_out(kernels: Kernels) -> None:
    tiles = []

    def count(q: Any, k: Any, v: Any, **options: Any) -> Partial:
        tiles.append((q.shape[-2], k.shape[-2], options["mask"] is None))
        return partial_attention(q, k, v, **options)

    known: dict[str, Any] = kernels.__dict__
    before = known["partial_attention"]
    known["partial_attention"] = count
    try:
        (x,) = random((8, 2))
        kernels.streaming_attention(x, x, x, causal=True, tile_q=2, tile_k=2)
    finally:
        known["partial_attention"] = before
    assert len(tiles) == 1 + 2 + 3 + 4, "one tile for each group of keys that is not in the future"
    assert sum(whole for *_, whole in tiles) == 6, "a tile in the past of all its queries needs no mask"


STREAMING = [
    streaming_is_attention,
    a_part_is_its_definition,
    parts_merge_in_any_order,
    huge_scores_stay_finite,
    blocked_numbers_change_nothing,
    the_ledger_adds_up,
    gradients_are_those_of_attention,
    causal_tiles_of_the_future_are_left_out,
]


def drawn_window(n_q: int, n_k: int, window: int, causal: bool) -> np.ndarray:
    places = [i + n_k - n_q for i in range(n_q)]
    near = [[abs(j - place) < window and (j <= place or not causal) for j in range(n_k)] for place in places]
    return np.array(near)


def windows_are_as_drawn(kernels: Kernels) -> None:
    assert_array_equal(kernels.window_mask(3, window=1), np.eye(3))
    assert_array_equal(kernels.window_mask(2, 4, window=2), [[0, 1, 1, 1], [0, 0, 1, 1]])
    assert_array_equal(kernels.window_mask(2, 4, window=2, causal=True), [[0, 1, 1, 0], [0, 0, 1, 1]])
    assert_array_equal(kernels.window_mask(2, 4, window=2, offset=0), [[1, 1, 0, 0], [1, 1, 1, 0]])
    for n_q, n_k in [(5, 5), (2, 6), (6, 2)]:
        for window in (1, 2, 3, 9):
            for causal in (False, True):
                ours = kernels.window_mask(n_q, n_k, window=window, causal=causal)
                assert_array_equal(ours, drawn_window(n_q, n_k, window, causal))


def sliding_is_attention_in_a_window(kernels: Kernels) -> None:
    for n_q, n_k in [(5, 5), (2, 7), (7, 2)]:
        q, k, v = random((2, n_q, 4), (n_k, 4), (2, n_k, 3))
        for mask in some_masks(n_q, n_k):
            for causal in (False, True):
                for window, tile in [(1, 2), (2, 3), (3, 1), (3, 128)]:
                    near = drawn_window(n_q, n_k, window, causal)
                    allowed = near if mask is None else near & mask
                    _, output = loop_attend_all(q, k, v, allowed, -0.3)
                    ours = kernels.sliding_window_attention(
                        q, k, v, window=window, mask=mask, causal=causal, scale=-0.3, tile=tile
                    )
                    assert_allclose(ours, output, **CLOSE)


def a_wide_window_is_attention(kernels: Kernels) -> None:
    q, k, v = random((4, 3), (5, 3), (5, 2))
    for causal in (False, True):
        expected = attend(q, k, v, mask=allowed_by(None, causal, 4, 5)).output
        ours = kernels.sliding_window_attention(q, k, v, window=5, causal=causal, tile=2)
        assert_allclose(ours, expected, **CLOSE)


def full_linear(q: np.ndarray, k: np.ndarray, v: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Linear attention with all its n_q × n_k weights, from the formula alone; features elu + 1."""

    def features(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))

    weights = np.where(allowed, np.einsum("...id,...jd->...ij", features(q), features(k)), 0)
    sums = weights.sum(axis=-1, keepdims=True)
    return np.where(allowed, weights / np.where(sums == 0, 1, sums), 0) @ v


def linear_is_its_own_square_form(kernels: Kernels) -> None:
    for n_q, n_k in [(5, 5), (2, 7), (7, 2), (1, 1)]:
        q, k, v = random((2, n_q, 4), (n_k, 4), (2, n_k, 3))
        padding = np.arange(n_k) < n_k - 1
        for mask in (None, padding, padding_mask(np.array([1, n_k]), n_k), np.zeros((1, 1), bool)):
            for causal in (False, True):
                allowed = allowed_by(mask, causal, n_q, n_k)
                for tile in (1, 2, 3, 128):
                    ours = kernels.linear_attention(
                        q, k, v, feature_map=kernels.elu_plus_one, mask=mask, causal=causal, tile=tile
                    )
                    assert_allclose(ours, full_linear(q, k, v, allowed), **CLOSE)


def linear_hides_what_is_blocked(kernels: Kernels) -> None:
    q, k, v = random((4, 3), (4, 3), (4, 2))
    options = {"feature_map": kernels.elu_plus_one, "causal": True, "tile": 3}
    clean = kernels.linear_attention(q, k, v, **options)
    bad_k, bad_v = k.copy(), v.copy()
    bad_k[2], bad_v[2] = np.nan, np.nan
    ours = kernels.linear_attention(q, bad_k, bad_v, **options)
    assert_allclose(ours[:2], clean[:2], **CLOSE)
    assert np.all(np.isnan(ours[2:])), "an allowed NaN must stay visible"
    mask = np.array([True, True, False, True])
    expected = kernels.linear_attention(q, k, v, mask=mask, **options)
    assert_allclose(kernels.linear_attention(q, bad_k, bad_v, mask=mask, **options), expected, **CLOSE)


def features_are_elu_plus_one(kernels: Kernels) -> None:
    x = torch.tensor([-1e30, -2.0, -1e-9, 0.0, 1e-9, 3.0, 1e30], dtype=torch.float64, requires_grad=True)
    ours, theirs = kernels.elu_plus_one(x), torch.nn.functional.elu(x) + 1
    assert_allclose(ours.detach(), theirs.detach(), rtol=1e-9)
    for y, z in zip(torch.autograd.grad(ours.sum(), x), torch.autograd.grad(theirs.sum(), x), strict=True):
        assert_allclose(y, z, rtol=1e-9)


def full_rank_is_attention(kernels: Kernels) -> None:
    q, k, v = random((2, 3, 4), (5, 4), (2, 5, 2))
    order = np.eye(5)[[3, 0, 4, 1, 2]]
    for w in (np.eye(5), order):
        ours = kernels.low_rank_attention(q, k, v, w, w, scale=0.7)
        assert_allclose(ours, attend(q, k, v, scale=0.7).output, **CLOSE)


def low_rank_attends_to_mixed_keys(kernels: Kernels) -> None:
    q, k, v, w_k, w_v = random((3, 4), (5, 4), (5, 2), (2, 5), (2, 5))
    _, output = loop_attend_all(q, w_k @ k, w_v @ v)
    assert_allclose(kernels.low_rank_attention(q, k, v, w_k, w_v), output, **CLOSE)


SHORTCUTS = [
    windows_are_as_drawn,
    sliding_is_attention_in_a_window,
    a_wide_window_is_attention,
    linear_is_its_own_square_form,
    linear_hides_what_is_blocked,
    features_are_elu_plus_one,
    full_rank_is_attention,
    low_rank_attends_to_mixed_keys,
]
