"""What must be true of multi-head attention, as functions of the module that holds it."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from tests.kernels.properties import Kernels, random
from tests.kernels.specification import loop_attend_all


def split_gives_each_head_its_columns(kernels: Kernels) -> None:
    (x,) = random((2, 3, 6))
    for n_heads in (1, 2, 3, 6):
        heads = kernels.split_heads(x, n_heads)
        size = 6 // n_heads
        assert heads.shape == (2, n_heads, 3, size)
        for h in range(n_heads):
            assert_array_equal(heads[:, h], x[:, :, h * size : (h + 1) * size])
        assert_array_equal(kernels.merge_heads(heads), x)


def multi_head_is_each_head_alone(kernels: Kernels) -> None:
    square = random((2, 3, 6), (2, 3, 6), *[(6, 6)] * 4)
    cross = random((2, 3, 5), (2, 4, 7), (5, 6), (7, 6), (7, 9), (9, 2))
    for arrays, scale in [(square, None), (cross, None), (cross, 1.0)]:
        n_k = arrays[1].shape[-2]
        mask = np.random.default_rng(1).random((2, 3, 3, n_k)) < 0.7
        steps = kernels.multi_head(*arrays, n_heads=3, mask=mask, scale=scale)
        weights, output = each_head_alone(mask, scale, *arrays)
        assert_allclose(steps.weights, weights, rtol=1e-9, atol=1e-12)
        assert_allclose(steps.output, output, rtol=1e-9, atol=1e-12)
        assert steps.scores.shape == steps.masked_scores.shape == weights.shape


def each_head_alone(
    mask: np.ndarray,
    scale: float | None,
    x_q: np.ndarray,
    x_kv: np.ndarray,
    w_q: np.ndarray,
    w_k: np.ndarray,
    w_v: np.ndarray,
    w_o: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and output of 3 heads, each made from its own columns of the weight matrices."""
    all_weights, output = [], 0.0
    for q_part, k_part, v_part, o_part, h in zip(
        *(np.split(w, 3, axis=1) for w in (w_q, w_k, w_v)), np.split(w_o, 3), range(3), strict=True
    ):
        weights, head = loop_attend_all(x_q @ q_part, x_kv @ k_part, x_kv @ v_part, mask[:, h], scale)
        all_weights.append(weights)
        output = output + head @ o_part
    return np.stack(all_weights, axis=1), np.asarray(output)


def shared_keys_are_repeated_keys(kernels: Kernels) -> None:
    for n_kv_heads in (1, 2, 3, 6):
        d_kv = 2 * n_kv_heads
        shapes = [(2, 3, 5), (2, 4, 7), (5, 12), (7, d_kv), (7, 3 * n_kv_heads), (18, 2)]
        x_q, x_kv, w_q, w_k, w_v, w_o = random(*shapes)
        repeat = lambda w, n=n_kv_heads: np.repeat(w.reshape(7, n, -1), 6 // n, axis=1).reshape(7, -1)  # noqa: E731
        for mask_shape in [(3, 4), (4,), (3, 1), (2, 1, 1, 4), (2, 6, 3, 4), (1, 6, 1, 4)]:
            mask = np.random.default_rng(1).random(mask_shape) < 0.7
            ours = kernels.multi_head(
                x_q, x_kv, w_q, w_k, w_v, w_o, n_heads=6, n_kv_heads=n_kv_heads, mask=mask
            )
            full = kernels.multi_head(x_q, x_kv, w_q, repeat(w_k), repeat(w_v), w_o, n_heads=6, mask=mask)
            for x, y in zip(ours, full, strict=True):
                assert_allclose(x, y, rtol=1e-9, atol=1e-12)


def whole_numbers_through_two_heads(kernels: Kernels) -> None:
    x, eye = np.array([[4.0, 0, 0, 8], [0, 0, 0, 8]]), np.eye(4)
    steps = kernels.multi_head(x, x, eye, eye, eye, 2 * eye, n_heads=2, scale=1.0)
    assert_array_equal(steps.scores, [[[16, 0], [0, 0]], [[64, 64], [64, 64]]])
    assert_array_equal(steps.weights[1], [[0.5, 0.5], [0.5, 0.5]])
    assert_array_equal(steps.output[1], [4, 0, 0, 16])


def a_mask_knows_its_heads(kernels: Kernels) -> None:
    x, *w = random((2, 3, 4), *[(4, 4)] * 4)
    padding = np.array([[True, True, False], [True, False, False]])  # (batch, n_k)
    steps = kernels.multi_head(x, x, *w, n_heads=2, mask=padding[:, None, None, :])
    assert np.all(steps.weights[0, :, :, 2] == 0)
    assert np.all(steps.weights[1, :, :, 1:] == 0)
    assert np.all(steps.weights[0, :, :, :2] > 0)
    for mask in (np.ones((2, 3, 3), bool), padding[:, None, :], np.ones((2, 5, 3, 3), bool)):
        try:
            kernels.multi_head(x, x, *w, n_heads=2, mask=mask)
        except ValueError as error:
            assert str(mask.shape) in str(error)
        else:
            raise AssertionError(f"a mask {mask.shape} was taken for one of two heads")


HEADS = [
    split_gives_each_head_its_columns,
    multi_head_is_each_head_alone,
    shared_keys_are_repeated_keys,
    whole_numbers_through_two_heads,
    a_mask_knows_its_heads,
]
