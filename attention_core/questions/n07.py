"""What notebook 07 asks."""

from typing import Any

import numpy as np
import torch

from attention_core import causal_mask, padding_mask, softmax
from attention_core.questions import Answer, asks, exercise


@asks("Five tokens: how many of the 25 pairs does a causal mask allow?")
def allowed_pairs() -> Answer:
    return Answer(
        int(causal_mask(5).sum()),
        {
            "Those are the pairs with an earlier token. Each token sees itself too.": 10,
            "Not half: the diagonal belongs to one side.": 12,
            "Those are all pairs but the diagonal. Count row by row: 1, 2, ...": 20,
            "Those are all pairs. Query 0 may see one key.": 25,
        },
    )


@asks("Query 0 may see key 0 alone. Its weight for key 0?")
def first_row(masked_scores: Any, scores: Any) -> Answer:
    return Answer(
        softmax(masked_scores)[0, 0],
        {
            "That is the weight without a mask. A row of weights still sums to 1.": softmax(scores)[0, 0],
            "The two other keys are blocked. Nothing is left to share with.": 1 / 3,
        },
    )


@asks("What does row 1 of these cut weights sum to? (two decimals)")
def cut_sum(cut: Any) -> Answer:
    return Answer(cut[1].sum(), {"It did before the cut. Add the two numbers that are left.": 1})


@asks(
    "Nothing in the short text asks a question, so all its scores are 0. Without a mask, "
    "how much weight does 'cross' give to the three fillers?"
)
def fillers_share(no_mask: Any) -> Answer:
    return Answer(
        no_mask.weights[1, 3, 4:].sum(),
        {"A filler's score is 0 too, like all others in this row. Equal scores, equal weights.": 0},
    )


@asks("The value of t2 is nan. In how many of the three outputs by hand is nan?")
def nan_outputs(by_hand: Any, Q: Any, K: Any, V_nan: Any) -> Answer:
    return Answer(
        int(np.isnan(by_hand(Q, K, V_nan, causal_mask(3), -np.inf)).any(axis=1).sum()),
        {"The weight of t2 is 0 for the others. But what is 0 times nan?": 1},
    )


@asks("One of three rows is nan after one layer. How many are after a second?")
def nan_rows(second: Any) -> Answer:
    return Answer(
        int(np.isnan(second).any(axis=1).sum()),
        {"The nan is a value now, with weight 0. You have met that product before.": 1},
    )


@asks("Keys are masked, and only real tokens count in the loss. The largest gradient at the filler?")
def gradient_at_filler(loss_and_gradient: Any, keys: Any, real: Any) -> Answer:
    return Answer(
        loss_and_gradient(keys, real)[1],
        {"Its output does not count, and nobody reads its key or value. What could pull at it?": 1},
    )


@asks("causal_mask(1, 3, offset=0): of three keys, how many does the newest token see?")
def newest_sees() -> Answer:
    return Answer(
        int(causal_mask(1, 3, offset=0).sum()),
        {"So it should be. But offset=0 puts query 0 beside key 0.": 3},
    )


@exercise
def window() -> Answer:
    i, j = (np.arange(4)[:, None], np.arange(4))
    hints = {
        "The wrong way round: True means may attend.": (j > i) | (j < i - 1),
        "That is the whole past. One token before, no more.": causal_mask(4),
        "It should see itself too.": j == i - 1,
        "That is the token after it: rows are queries, columns are keys.": (j == i) | (j == i + 1),
    }
    return Answer(causal_mask(4) & (j >= i - 1), hints)


@exercise
def padded_causal() -> Answer:
    past, real_4 = (causal_mask(4), padding_mask(np.array([4, 2]), 4)[:, None])
    hints = {
        "The axis for the heads is missing: index with [:, None].": (past & real_4)[:, 0],
        "That axis stands in the wrong place: (batch, heads, queries, keys).": (past & real_4)[:, 0][None],
        "With | a pair needs only one of the two masks. Both must allow it.": past | real_4,
        "The wrong way round: True means may attend.": ~(past & real_4),
    }
    return Answer(past & real_4, hints)


@exercise
def torch_mask(a: Any, module_output: Any) -> Answer:
    causal_2 = causal_mask(2, like=a)
    hints = {
        "That is our mask. There, True means blocked: token 0 sees only the future.": causal_2,
        "Nothing is hidden there: token 0 sees the future.": torch.zeros(2, 2).bool(),
    }
    return Answer(~causal_2, hints, of=module_output)
