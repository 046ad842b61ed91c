"""What notebook 08 asks."""

from typing import Any

import numpy as np

from attention_core import additive_scores, attention_scores, gaussian_scores, softmax, weigh
from attention_core.questions import Answer, asks, exercise


@asks("Turn the signs of the query and of all keys. Which score stays as it is: dot or additive?")
def flipped_signs(q: Any, k: Any) -> Answer:
    return Answer(
        "dot" if np.allclose(attention_scores(-q, -k), attention_scores(q, k)) else "additive",
        {"tanh(-x) is -tanh(x). And what is minus times minus in a product?": "additive"},
    )


@asks("short_q has 2 entries, each key has 4. Which shape must W have in short_q @ W @ k.T?")
def shape_of_w() -> Answer:
    return Answer(
        np.array([2, 4]),
        {"Row convention: rows of W belong to what comes in.": (4, 2), "Two numbers: (rows, columns).": 2},
    )


@asks("All queries and keys become 1000 times as large. How large can an additive score be at most?")
def largest_additive() -> Answer:
    w_v16 = np.full(16, 0.25)
    return Answer(
        np.abs(w_v16).sum(),
        {
            "The factor is inside tanh, not outside.": 4000,
            "That is the most that one tanh gives. There are 16 of them, each times 0.25.": 1,
            "Each hidden unit is multiplied by its entry of w_v.": 16,
        },
    )


@asks("How many numbers does the array hidden hold?")
def hidden_numbers(hidden: Any, n_q: Any, n_k: Any, d_hidden: Any) -> Answer:
    return Answer(
        hidden.size,
        {
            "That is one number for each pair. Each pair has a hidden row.": n_q * n_k,
            "That is before the addition. Every query then meets every key.": (n_q + n_k) * d_hidden,
        },
    )


@asks("Which key gets the larger weight from the query [1, 0]: 0 or 1?")
def which_key(east: Any, two_keys: Any) -> Answer:
    return Answer(
        int(attention_scores(east, two_keys).argmax()),
        {"Its direction fits better. But what is the dot product?": 0},
    )


@asks("Width 0.2 hours. Which temperature is the output at 12 (to one decimal)?")
def narrow_output(noon: Any, hours: Any, degrees: Any) -> Answer:
    narrow = weigh(gaussian_scores(noon, hours, width=0.2), degrees)
    return Answer(
        narrow.output[0, 0].round(1),
        {"Equal parts of the neighbors? One of them is nearer.": 19, "That hour is further away.": 21},
    )


@asks("Width 1000 hours. The output at 12?")
def wide_output(wide: Any) -> Answer:
    return Answer(
        wide.output[0, 0],
        {"That was the narrow width.": 17, "The scores are near 0. The weights are not.": 0},
    )


@asks("For which width do the Gaussian weights equal those of attend, with d_k = 4?")
def same_width() -> Answer:
    return Answer(
        4**0.25,
        {
            "That is √d_k, so it is the square of the width.": 2,
            "That is d_k. The scores are divided by its square root, and by width².": 4,
            "Then nothing would be divided.": 1,
        },
    )


@asks("Does key 0 gain or lose weight under the Gaussian score: gain or lose?")
def longer_key(q: Any, unit: Any, long: Any) -> Answer:
    before, after = (softmax(gaussian_scores(q, unit))[0, 0], softmax(gaussian_scores(q, long))[0, 0])
    return Answer(
        "gain" if after > before else "lose",
        {"That is the dot product. How far is the query from a key that reaches far beyond it?": "gain"},
    )


@exercise
def additive_function(Q: Any, K: Any, A: Any, B: Any, c: Any) -> Answer:
    hints = {
        "tanh is missing.": ((Q @ A)[:, None] + (K @ B)[None]) @ c,
        "Transposed: one row for each query, one column for each key.": additive_scores(Q, K, A, B, c).T,
        "tanh comes after the addition.": (np.tanh(Q @ A)[:, None] + np.tanh(K @ B)[None]) @ c,
        "tanh comes before the step with c.": np.tanh(((Q @ A)[:, None] + (K @ B)[None]) @ c),
        "The last step is c, not a plain sum.": additive_scores(Q, K, A, B, np.ones(2)),
    }
    return Answer(additive_scores(Q, K, A, B, c), hints)


@exercise
def degrees(hours: Any, degrees: Any, asked: Any) -> Answer:
    return Answer(
        weigh(gaussian_scores(asked, hours, width=3.0), degrees).output,
        {
            "The width must be squared.": softmax(-((asked - hours.T) ** 2) / (2 * 3.0)) @ degrees,
            "The 2 in 2·width² is missing.": softmax(-((asked - hours.T) ** 2) / 3.0**2) @ degrees,
            "The distance must be squared.": softmax(-np.abs(asked - hours.T) / (2 * 3.0**2)) @ degrees,
            "The far hours count more: a minus is missing.": softmax((asked - hours.T) ** 2 / 18.0) @ degrees,
        },
    )


@exercise
def width() -> Answer:
    return Answer(
        64**0.25,
        {
            "That is √d_k, the square of the width.": 64**0.5,
            "That is d_k. Its square root is the square of the width.": 64,
        },
    )
