"""What notebook 03 asks: how scores become weights."""

from typing import Any

import numpy as np

from attention_core.attention import softmax
from attention_core.questions import Answer, Hint, asks, exercise


@asks(
    "The scores 0.7071, 0, 0.7071 have the weights 0.4011, 0.1978, 0.4011. Now 100 is added to each score. "
    "What is the first weight then?"
)
def add_hundred(scores: Any) -> Answer:
    """0.33, for 100.7 and 100 are nearly the same, or 0.4011: every exponential grows e¹⁰⁰ times."""
    return Answer(
        softmax(scores + 100)[0],
        {
            "100.7 is nearly 100. But it is the exponentials that share: how much larger is each of them?": 1
            / 3,
            "The exponentials become huge, but so does their total.": 1,
            "The second key keeps its share: its exponential grows as much as the others.": 0.5,
        },
    )


@asks(
    "Now the scores are 2, 0 and −5, and the first gap is 2. The first weight is how many times the second?"
)
def gap_of_two() -> Answer:
    """5.44, twice the ratio at a gap of 1, or 7.39, e times e."""
    weights = softmax(np.array([2.0, 0.0, -5.0]))
    return Answer(
        weights[0] / weights[1],
        {
            "Twice 2.7183. But a second step of 1 multiplies once more.": 2 * np.e,
            "That is the ratio at a gap of 1.": np.e,
            "That is the gap. The ratio is e to the power of the gap.": 2,
            "The base is e, 2.7183, not 2.": 4,
            "That is the first weight beside the third. The second score is 0.": np.exp(7),
        },
    )


@asks("The scores are 1, 0 and 1, and T is 0.01. What is the first weight?")
def very_cold() -> Answer:
    """1, for cold gives all to the largest, or 0.5, for two are largest."""
    tie = np.array([1.0, 0.0, 1.0])
    return Answer(
        softmax(tie / 0.01)[0],
        {
            "The largest takes all. But how many are largest here?": 1,
            "That is what a very large T gives.": 1 / 3,
            "That is T = 1. Here it is much colder.": softmax(tie)[0],
            "That is the second weight.": 0,
        },
    )


@asks(
    "The weights are 0.6652, 0.2447, 0.0900. Score 0 rises a little, and so does weight 0. Whose weight falls "
    'by the larger number: that of "key 1", that of "key 2", or do both fall by the "same" number?'
)
def who_pays(ladder: Any) -> Answer:
    """Both the same, for both lose to the same rival, or key 1, for the ratio of 1 and 2 must stay."""
    paid = softmax(ladder) - softmax(ladder + np.array([0.01, 0.0, 0.0]))
    return Answer(
        "key 1" if paid[1] > paid[2] else "key 2",
        {
            "Then their ratio would change. But the gap between their scores is what it was.": "same",
            "Then key 2 would fall behind key 1 even more. What does the gap between them say?": "key 2",
            "Weight 0 rises. Who pays for it?": "key 0",
        },
    )


@asks("All three scores are −1e9. What is the first weight?")
def all_blocked(low: Any) -> Answer:
    """0, for the key is blocked, or 0.33, for the scores are equal."""
    return Answer(
        softmax(np.full(3, low))[0],
        {
            "A blocked key gets 0 beside keys that are not. What are the gaps between these scores?": 0,
            "The three weights together are 1.": 1,
        },
    )


TABLE = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 3.0]])
HUGE = np.array([[1000.0, 999.0, 998.0], [2.0, 1.0, 0.0]])


@exercise
def softmax_of_rows() -> Answer:
    """Softmax of a table of scores, row by row; scores of 1000 must not harm it."""

    def both(function: Any) -> Any:
        with np.errstate(all="ignore"):
            first = function(TABLE.copy())
            return first if first is ... else np.array([first, function(HUGE.copy())])  # (2, 2, 3)

    def of_rows(table: Any) -> Any:
        return softmax(table)

    def exp_share(table: Any) -> Any:
        return np.exp(table) / np.exp(table).sum(axis=1, keepdims=True)

    def largest_of_all(table: Any) -> Any:
        return exp_share(table - table.max())

    wrong = {
        "Right for small scores, nan for scores of 1000. Subtract each row's largest score.": exp_share,
        "nan for a row far below the other one. Subtract each row's own largest.": largest_of_all,
        "Each column sums to 1. It should be each row: axis=1.": lambda table: softmax(table, axis=0),
        "The whole table sums to 1. Every query has its own total: axis=1, keepdims=True.": lambda table: (
            np.exp(table - table.max()) / np.exp(table - table.max()).sum()
        ),
        "These are the exponentials. Divide each row by its total.": lambda table: np.exp(
            table - table.max(axis=1, keepdims=True)
        ),
        "That is score divided by total, the first attempt. exp is missing.": lambda table: (
            table / table.sum(axis=1, keepdims=True)
        ),
    }
    return Answer(of_rows, wrong, of=both)


@exercise
def temperature() -> Answer:
    """The temperature at which the score 1 beside six scores of 0 gets the weight 0.9."""

    def weight_of_animal(T: Any) -> Any:
        if np.shape(T) != ():
            raise Hint("One number is wanted.")
        if not T > 0:
            raise Hint("T must be above 0: at 0 every score would be divided by 0.")
        return softmax(np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]) / T)[1]

    wrong = {
        "One number is wanted.": [0.25, 0.25],
        "T must be above 0: at 0 every score would be divided by 0.": 0,
        "That is 1/T.": np.log(54),
        "That fits one other token. There are six, and x must be nine times all of them.": 1 / np.log(9),
        "Very near. With T = 0.25 *animal* gets 0.9010. A little warmer.": 0.25,
        "That leaves the scores as they are, and *animal* has less than half. Go colder.": 1,
    }
    return Answer(1 / np.log(54), wrong, of=weight_of_animal)
