"""What notebook 16 asks."""

from typing import Any

import numpy as np
import torch

from attention_core import attend, attention_scores, causal_mask, softmax, split_heads
from attention_core.questions import Answer, asks, exercise


@exercise
def causal(Q: Any, K: Any, V: Any, broken_causal: Any) -> Answer:
    return Answer(
        lambda *_: attend(Q, K, V, mask=causal_mask(3)).output,
        {
            "Still the broken output.": lambda *_: broken_causal(Q, K, V),
            "Nothing is hidden now.": lambda *_: attend(Q, K, V).output,
            "Nearly: each token may see itself too.": lambda *_: (
                attend(Q, K, V, mask=causal_mask(3, offset=-1)).output
            ),
        },
        of=lambda mine: mine(Q, K, V),
    )


@asks("One query meets three keys in broken_weights. Its first weight?")
def first_weight(broken_weights: Any, Q: Any, K: Any) -> Answer:
    return Answer(
        broken_weights(Q[:1], K)[0, 0],
        {
            "That would share 1 among three keys. Among how many is it shared here?": 1 / 3,
            "That is the right weight, but the function is broken.": softmax(attention_scores(Q, K))[0, 0],
        },
    )


@exercise
def column_weights(Q: Any, K: Any, broken_weights: Any) -> Answer:
    scores2 = attention_scores(Q[:2], K)
    return Answer(
        lambda *_: softmax(scores2),
        {
            "Still the broken weights: the columns sum to 1.": lambda *_: broken_weights(Q[:2], K),
            "Transposed: one row for each query.": lambda *_: softmax(scores2).T,
            "Each row must sum to 1, not the whole table.": lambda *_: softmax(scores2.ravel()).reshape(2, 3),
        },
        of=lambda mine: mine(Q[:2], K),
    )


@asks("d_model is 64 and d_k is 4. How many times too small are the scores?")
def too_small() -> Answer:
    return Answer(
        np.sqrt(64 / 4),
        {
            "That is how many times too large the number under the root is.": 64 / 4,
            "That is √4, the right divisor. Compare it with the one used.": 2,
            "That is √64, the divisor used. Compare it with the right one.": 8,
        },
    )


@exercise
def head_scores(x: Any, w_q: Any, w_k: Any, broken_head_scores: Any) -> Answer:
    return Answer(
        lambda *_: attention_scores(x @ w_q, x @ w_k),
        {
            "Still divided by the square root of d_model.": lambda *_: broken_head_scores(x, w_q, w_k),
            "The division is missing.": lambda *_: x @ w_q @ (x @ w_k).T,
            "Divide by √d_k, not by d_k.": lambda *_: x @ w_q @ (x @ w_k).T / 4,
        },
        of=lambda mine: mine(x, w_q, w_k),
    )


@exercise
def self_attention(
    mended: Any, broken_self_attention: Any, X: Any, w_q4: Any, w_k4: Any, w_v4: Any
) -> Answer:
    return Answer(
        lambda *_: attend(*mended, scale=1.0),
        {
            "Still the weights of a query of zeros.": lambda *_: broken_self_attention(X, w_q4, w_k4, w_v4),
            "The query is right now. But the source's demo does not divide by √4.": lambda *_: attend(
                *mended
            ),
        },
        of=lambda mine: mine(X, w_q4, w_k4, w_v4).weights[6],
    )


@exercise
def split(fields: Any, broken_split: Any) -> Answer:
    return Answer(
        lambda *_: split_heads(fields, 2),
        {
            "Still the broken split.": lambda *_: broken_split(fields, 2),
            "The shape should be (batch, n_heads, n, d_head): exchange the axes.": lambda *_: fields.reshape(
                2, 3, 2, 2
            ),
            "The columns of the heads alternate.": lambda *_: fields.reshape(2, 3, 2, 2).transpose(
                0, 3, 1, 2
            ),
        },
        of=lambda mine: mine(fields, 2),
    )


@exercise
def masked_weights(scores6: Any, allowed6: Any, broken_masked_weights: Any) -> Answer:
    masked6 = scores6.masked_fill(~allowed6, -np.inf)
    expected = softmax(masked6)
    return Answer(
        lambda *_: expected.half(),
        {
            "Row 1 is uniform: all its scores are equally low.": lambda *_: broken_masked_weights(
                scores6, allowed6
            ),
            "Row 1 is nan: -inf needs a rule for a row that may see nothing.": lambda *_: torch.softmax(
                masked6, dim=-1
            ),
        },
        of=lambda mine: mine(scores6.half(), allowed6),
    )


@asks("The second call allows every key. Which weight does query 0 then give to key 2?")
def second_call(second: Any, Q: Any, K: Any) -> Answer:
    return Answer(
        second[0, 2],
        {"So it should be. But look at what the first call left.": softmax(attention_scores(Q, K))[0, 2]},
    )


@exercise
def masked_softmax(right: Any, second_call: Any, broken_masked_softmax: Any, Q: Any, K: Any) -> Answer:
    return Answer(
        lambda scores, allowed: softmax(np.where(allowed, scores, -np.inf)),
        {
            "The scores are still changed by the first call.": broken_masked_softmax,
            "The mask is missing.": lambda *_: softmax(attention_scores(Q, K)),
        },
        of=second_call,
    )


@asks(
    "Dropout sets a fifth of the weights to 0 and makes the others larger, so that the mean"
    " stays. The largest weight? (two decimals)"
)
def largest_dropped(theirs: Any, queries: Any, one_key: Any) -> Answer:
    return Answer(
        theirs.train()(queries, one_key, one_key)[1].max().item(),
        {"If four of five keep a 1, the mean is no longer 1.": 1, "Four fifths times what is 1?": 1.2},
    )


@exercise
def with_dropout(Q: Any, K: Any, V: Any, drop_last: Any, broken_with_dropout: Any) -> Answer:
    steps = attend(Q, K, V, dropout=drop_last)
    return Answer(
        lambda *_: (steps.weights, steps.output),
        {
            "Still the weights after dropout.": broken_with_dropout,
            "The output lost its dropout: training needs it.": lambda *_: (steps.weights, steps.weights @ V),
        },
        of=lambda mine: np.hstack(mine(Q, K, V, drop_last)),
    )


@asks("Does another input change the weights of broken_align: yes or no?")
def other_input(looks_at_the_input: Any, broken_align: Any) -> Answer:
    return Answer(
        "yes" if looks_at_the_input(broken_align) else "no",
        {"Which arrays are the weights made from?": "yes"},
    )


@exercise
def align(
    additive_by_loop: Any,
    state: Any,
    word: Any,
    encoder: Any,
    broken_align: Any,
    w_q9: Any,
    w_k9: Any,
    w_v9: Any,
) -> Answer:
    return Answer(
        lambda *_: additive_by_loop(state, word, encoder),
        {
            "Still no key in it.": lambda *_: broken_align(state, word, encoder),
            "tanh is missing.": lambda *_: softmax((state @ w_q9 + encoder @ w_k9) @ w_v9),
            "Those are scores. Softmax is missing.": lambda *_: np.tanh(state @ w_q9 + encoder @ w_k9) @ w_v9,
        },
        of=lambda mine: mine(state, word, encoder),
    )


@exercise
def step(q10: Any, k10: Any, v10: Any, broken_step: Any) -> Answer:
    expected = attend(q10, k10, v10, mask=causal_mask(3, like=q10)).output[1:]
    return Answer(
        lambda *_: expected,
        {
            "Still aligned at the top left: query 0 sees key 0 alone.": lambda *_: broken_step(
                q10[1:], k10, v10
            ),
            "Without a mask, the first of two new queries sees the second.": lambda *_: (
                attend(q10[1:], k10, v10).output
            ),
        },
        of=lambda mine: mine(q10[1:], k10, v10),
    )
