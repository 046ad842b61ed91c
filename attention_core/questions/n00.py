"""What notebook 00 asks."""

from typing import Any

import numpy as np

from attention_core.attention import attend
from attention_core.questions import Answer, Hint, asks, exercise


@asks(
    "The drawer of *animal* gets the largest weight. Which row of the values will the output be nearest to: "
    'that of "animal", "street" or "cross"?'
)
def nearest_drawer(query: Any, keys: Any, values: Any, words: Any) -> Answer:
    """Does the largest share win (animal), or do all shares mix (cross)? Decided by mixing in the head."""
    gaps = np.linalg.norm(values - attend(query, keys, values).output, axis=1)
    return Answer(
        words[gaps.argmin()],
        {
            "It gives most, but not half. What do the other two add to the second number?": "animal",
            "It gives the smallest share. Add up the first numbers, then the second numbers.": "street",
        },
    )


@asks(
    "The label of *street* is replaced by zeros, and its score falls from 0.33 to 0. The scores of *animal* "
    'and *cross* stay. What do the weights of these two do: "rise", "fall" or "stay"?'
)
def other_weights(query: Any, keys: Any, values: Any) -> Answer:
    """Their labels stay (stay), or all weights share a total of 1 (rise). Decided by the three rules."""
    blank = keys * np.array([[1.0], [0.0], [1.0]])
    before, after = (attend(query, k, values).weights[0, [0, 2]] for k in (keys, blank))
    return Answer(
        "rise" if (after > before).all() else "no such word",
        {
            "Their scores stay. But the weights still sum to 1, and *street* now takes less.": "stay",
            "*Street* now takes less. Together the three weights are still 1.": "fall",
        },
    )


@asks("The query is four zeros now. What is the first number of the output?")
def asks_nothing(query: Any, keys: Any, values: Any) -> Answer:
    """Nothing asked, nothing taken (0), or equal shares (0.5). Decided by the rule of equal matches."""
    nothing = attend(np.zeros_like(query), keys, values)
    return Answer(
        nothing.output[0, 0],
        {
            "All three match equally well, so the weights are equal. But they still sum to 1.": 0,
            "That is the weight of each drawer. What lies in the drawers?": nothing.weights[0, 0],
            "That is the output of the old query.": attend(query, keys, values).output[0, 0],
        },
    )


@exercise
def mixture() -> Answer:
    """Mix any number of drawers: tried with four of them."""
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    values = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [3.0, 5.0, 1.0], [0.0, 2.0, 7.0]])
    return Answer(
        lambda w, v: w @ v,
        {
            "That is the plain average: the weights are not used.": lambda w, v: v.mean(axis=0),
            "Each row times its weight is right. Now add the rows.": lambda w, v: w[:, None] * v,
            "You added along each row. Add the rows to each other: one sum for each column.": lambda w, v: (
                w[:, None] * v
            ).sum(axis=1),
            "That is the drawer with the largest weight alone. All drawers give their share.": lambda w, v: v[
                w.argmax()
            ],
            "The check has four drawers. Do all of them give their share?": lambda w, v: w[:3] @ v[:3],
        },
        of=lambda mine: mine(weights, values),
    )


@exercise
def weights_for(values: Any, target: Any) -> Answer:
    """Find weights of the output [0.7, 0.3]; there are many."""

    def mixed(mine: Any) -> Any:
        weights = np.asarray(mine, dtype=float).ravel()
        if len(weights) != len(values):
            raise Hint(f"Three numbers are wanted, one for each drawer. You gave {len(weights)}.")
        if weights.min() < 0:
            raise Hint("A weight is never negative.")
        if abs(weights.sum() - 1) > 0.0005:
            raise Hint(f"Together the weights must be 1. Yours are {weights.sum():.3f}.")
        return weights @ values

    return Answer(
        [*target, 0.0],
        {
            "Three numbers are wanted": [0.7, 0.3],
            "A weight is never negative": [0.9, 0.5, -0.4],
            "Together the weights must be 1. Yours are 1.100.": [0.7, 0.3, 0.1],
            "These weights give [0.6, 0.4]: a little more from *animal*.": [0.5, 0.3, 0.2],
        },
        of=mixed,
    )
