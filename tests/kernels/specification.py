"""Attention as its formula says it, one number at a time: slow, and too plain to be wrong.

It shares no line, no library and no trick with the kernels. What is blocked is never looked at.
"""

import math
from decimal import Decimal
from typing import Any

import numpy as np

Rows = list[list[float]]
Row = list[float]


def loop_attend(q: Rows, k: Rows, v: Rows, allowed: list[list[bool]], scale: float) -> tuple[Rows, Rows]:
    """Return the weights (n_q, n_k) and the output (n_q, d_v) of one head."""
    weights, output = [], []
    for i in range(len(q)):
        scores = {}
        for j in range(len(k)):
            if allowed[i][j]:
                scores[j] = scale * sum(q[i][c] * k[j][c] for c in range(len(q[i])))
        row = loop_softmax(scores)
        weights.append([row.get(j, 0.0) for j in range(len(k))])
        output.append([sum(row[j] * v[j][c] for j in row) for c in range(len(v[0]))])
    return weights, output


def loop_softmax(scores: dict[int, float]) -> dict[int, float]:
    """Return the weight of each allowed key: exp(score) over the sum of all."""
    largest = max(scores.values(), default=0.0)
    exponentials = {j: math.exp(score - largest) for j, score in scores.items()}
    total = sum(exponentials.values())
    return {j: e / total for j, e in exponentials.items()}


def loop_attend_all(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None, scale: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and output for every leading index, one head after the other."""
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    leading, heads = _heads(q, k, v, mask)
    both = [loop_attend(*rows, scale) for rows in heads]
    weights, output = (np.array([each[i] for each in both]) for i in range(2))
    return weights.reshape(*leading, *weights.shape[1:]), output.reshape(*leading, *output.shape[1:])


def loop_linear_all(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    """Return linear attention for every leading index, one head after the other."""
    leading, heads = _heads(q, k, v, mask)
    output = np.array([loop_linear(*head) for head in heads])
    return output.reshape(*leading, *output.shape[1:])


def _heads(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None
) -> tuple[tuple[int, ...], list[tuple[Rows, Rows, Rows, Any]]]:
    """Return the leading axes of all, and for each leading index the rows of q, k, v and the mask."""
    sizes = q.shape[-2], k.shape[-2]
    mask = np.broadcast_to(
        True if mask is None else mask, np.broadcast_shapes(() if mask is None else mask.shape, sizes)
    )
    leading = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v, mask)))
    full = [np.broadcast_to(x, (*leading, *x.shape[-2:])) for x in (q, k, v, mask)]
    rows = [[x[index].tolist() for index in np.ndindex(*leading)] for x in full]
    return leading, list(zip(*rows, strict=True))


def loop_additive(q: Rows, k: Rows, w_q: Rows, w_k: Rows, w_v: Row) -> Rows:
    """Return the scores tanh(q_i w_q + k_j w_k) · w_v of one head."""
    scores = []
    for q_i in q:
        row = []
        for k_j in k:
            total = 0.0
            for h in range(len(w_v)):
                inside = sum(q_i[c] * w_q[c][h] for c in range(len(q_i)))
                inside += sum(k_j[c] * w_k[c][h] for c in range(len(k_j)))
                total += math.tanh(inside) * w_v[h]
            row.append(total)
        scores.append(row)
    return scores


def loop_gaussian(q: Rows, k: Rows, width: float) -> Rows:
    """Return the scores -|q_i - k_j|² / (2 width²) of one head."""
    return [
        [-sum((a - b) ** 2 for a, b in zip(q_i, k_j, strict=True)) / (2 * width**2) for k_j in k] for q_i in q
    ]


def loop_kernel_regression(q: Rows, k: Rows, v: Row, width: float) -> Row:
    """Return the average of v at each place in q, by the density of a normal law around it."""
    averages = []
    for q_i in q:
        kernel = [math.exp(-(math.dist(q_i, k_j) ** 2) / (2 * width**2)) for k_j in k]
        averages.append(sum(a * b for a, b in zip(kernel, v, strict=True)) / sum(kernel))
    return averages


def loop_sinusoidal(n: int, d_model: int, base: float) -> Rows:
    """Return the codes of section 3.5: a sine in each even column, a cosine in each odd one."""
    codes = []
    for position in range(n):
        row = []
        for column in range(d_model):
            angle = position / base ** ((column - column % 2) / d_model)
            row.append(math.cos(angle) if column % 2 else math.sin(angle))
        codes.append(row)
    return codes


def loop_linear(q: Rows, k: Rows, v: Rows, allowed: list[list[bool]]) -> Rows:
    """Return linear attention with the features elu + 1; decimals, since these do not underflow."""
    output = []
    for i in range(len(q)):
        weights = {}
        for j in range(len(k)):
            if allowed[i][j]:
                pairs = zip(q[i], k[j], strict=True)
                weights[j] = sum((_elu_plus_one(a) * _elu_plus_one(b) for a, b in pairs), Decimal(0))
        total = sum(weights.values(), Decimal(0))
        shares = {j: float(weight / total) for j, weight in weights.items()}
        output.append([sum(share * v[j][c] for j, share in shares.items()) for c in range(len(v[0]))])
    return output


def _elu_plus_one(x: float) -> Decimal:
    return Decimal(x) + 1 if x > 0 else Decimal(x).exp()
