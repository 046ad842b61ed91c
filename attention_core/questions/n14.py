"""What notebook 14 asks."""

from typing import Any

import numpy as np

from attention_core import attend
from attention_core.long import merge_partial
from attention_core.questions import Answer, asks, exercise


@asks("Twice as many tokens: how many times as many weights?")
def twice_as_long() -> Answer:
    return Answer((2 * 1000) ** 2 // 1000**2, {"The rows double, and the columns double too.": 2})


@asks("Is the mean of these two outputs the output over all six keys?")
def mean_of_outputs(halves: Any, output: Any) -> Answer:
    return Answer(
        "yes" if np.allclose(halves, output) else "no",
        {"Each half has its own softmax. Do both halves deserve the same share?": "yes"},
    )


@asks("Does the order matter: is merge_partial(b, a) the same?")
def order_of_merging(b: Any, a: Any) -> Answer:
    return Answer(
        "yes" if np.allclose(merge_partial(b, a).output, merge_partial(a, b).output) else "no",
        {"A maximum and two sums: which of them cares for the order?": "no"},
    )


@asks("Are these the weights that softmax attention gives, to two decimals?")
def same_weights(linear_weights: Any, Q: Any, K: Any, V: Any) -> Answer:
    return Answer(
        "yes" if np.allclose(linear_weights, attend(Q, K, V).weights, atol=0.005) else "no",
        {"φ(q)·φ(k) is a sum of products. exp(q·k) grows much faster.": "yes"},
    )


@exercise
def merged_output(here: Any, there: Any) -> Answer:
    wrong_side = (here.o + np.exp(-2) * there.o) / (here.l + np.exp(-2) * there.l)
    hints = {
        "Each has its own softmax: the mean of two outputs is not the output.": (here.output + there.output)
        / 2,
        "Shrink first: both must subtract the same maximum.": (here.o + there.o) / (here.l + there.l),
        "The piece with the smaller maximum shrinks: that is here.": wrong_side,
        "That is o. The output is o / l.": merge_partial(here, there).o,
    }
    return Answer(merge_partial(here, there).output, hints)


@exercise
def cache(cache_bytes: Any) -> Answer:
    right = 4096 * cache_bytes(n_layers=32, n_kv_heads=8, d_head=128)
    hints = {
        "This is half: the cache holds keys and values, and each number has 2 bytes.": right / 2,
        "A quarter: keys and values make it double, and 2 bytes for each number double again.": right / 4,
        "Query heads keep nothing: count the heads of keys and values.": 4 * right,
        "That is one token. There are 4096.": right / 4096,
    }
    return Answer(right, hints)
