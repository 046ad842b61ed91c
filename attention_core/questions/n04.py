"""What notebook 04 asks: why a value at all, and where a mixture of values can lie."""

from typing import Any

import numpy as np

from attention_core.attention import attend, softmax
from attention_core.questions import Answer, Hint, asks, exercise


@asks(
    "The drawer of *street* is filled: it holds 100 in place of 1. Its weight was 0.0383. "
    'Does this weight "rise", "fall" or "stay"?'
)
def heavy_value() -> Answer:
    """It rises, for it holds more and so counts more, or it stays, for no value goes into a score."""
    return Answer(
        "stay",
        {
            "Which matrices does `weights_of_it` use? Is W_V among them?": "rise",
            "The other weights cannot rise: nothing that they are made from has changed.": "fall",
        },
    )


@asks(
    "The scores are 2, −5 and 2. Where does the exact output lie, before any rounding: on the "
    '"edge" between v0 and v2, "inside" the triangle, or "outside"?'
)
def edge() -> Answer:
    """On the edge, for v1 gets practically nothing, or inside, for a little is not nothing."""
    return Answer(
        "inside",
        {
            "That needs a weight of exactly 0 for v1. Can e to the power of −5 be 0?": "edge",
            "That needs a negative weight. Can exp be negative?": "outside",
        },
    )


@asks("The query [−3, 2, 0, 5] asks the three drawers. What do the two numbers of its output sum to?")
def sum_of_output(other_q: Any, k: Any, v: Any) -> Answer:
    """Not to be known without the weights, 0.5, or 1: each value sums to 1, and so do the shares."""
    return Answer(
        attend(other_q, k, v).output.sum(),
        {
            "The three values sum to 3 together. But only a share of each is taken.": 3,
            "The output has two numbers, but each is a mixture. What does one value sum to?": 2,
            "That is one of the numbers, if the two are equal. What do both sum to?": 0.5,
            "That is the sum of the query. It decides the shares, not what is shared.": 4,
        },
    )


@asks(
    "Query 2 is [1, 1], so keys 0 and 1 match it equally well. What is the second number of its output? "
    "(The values are v0 = [1, 0], v1 = [0, 2], v2 = [1, 1].)"
)
def query_two(Q: Any, K: Any, V: Any) -> Answer:
    """2, the largest second number, 0.80 as for query 0, or 1: equal shares of 0 and 2, and a 1."""
    return Answer(
        attend(Q, K, V).output[2, 1],
        {
            "That is v1 alone. v0 gets just as large a share. What do the two give together?": 2,
            "Add shares of the values, not whole values.": 3,
            "That is the output of query 0. For query 2, what lies halfway between 0 and 2?": 0.7967,
            "v2 gets the most, but not half. And what do v0 and v1 give?": 0.5,
        },
    )


@asks("With scale=0.0, what is the first number of every output? (v0 = [1, 0], v1 = [0, 2], v2 = [1, 1].)")
def scale_zero(Q: Any, K: Any, V: Any) -> Answer:
    """0, for every score is 0, or 0.67, for equal scores make equal weights."""
    return Answer(
        attend(Q, K, V, scale=0.0).output[0, 0],
        {
            "The scores are 0. The weights are not: what does softmax make of equal scores?": 0,
            "That is the second number. What is the average of 1, 0 and 1?": 1,
            "That is the weight of each key. What lies in the drawers?": 1 / 3,
            "Two keys of three have a 1 there, and all weights are equal.": 0.5,
        },
    )


@exercise
def attend_in_three_lines() -> Answer:
    """softmax(QKᵀ / √d_k) V, for two queries, three keys of five places and values of four."""
    rng = np.random.default_rng(4)
    q, k, v = rng.normal(size=(2, 5)), rng.normal(size=(3, 5)), rng.normal(size=(3, 4))

    def output(function: Any) -> Any:
        return function(q.copy(), k.copy(), v.copy())

    def divided_by(divisor: float) -> Any:
        return lambda q, k, v: softmax(q @ k.T / divisor) @ v

    wrong = {
        "These are the weights, and they are right. Now mix the values.": lambda q, k, v: (
            attend(q, k, v).weights
        ),
        "These are the scores. Turn them into weights, then mix the values.": lambda q, k, v: (
            attend(q, k, v).scores
        ),
        "The division by √d_k is missing.": divided_by(1),
        "Divided by d_k. Divide by its root.": divided_by(5),
        "Divided by 2. That fits four places. Take the number from the shape of K.": divided_by(2),
        "Divided by √2. That fits two places. Take the number from the shape of K.": divided_by(2**0.5),
        "Divided by the root of the number of keys. d_k is the number of places in one key.": divided_by(
            3**0.5
        ),
        "The softmax goes along the columns. Each query, each row, has its own total.": lambda q, k, v: (
            softmax(q @ k.T / 5**0.5, axis=0) @ v
        ),
        "The softmax is missing: these are scores times values.": lambda q, k, v: attend(q, k, v).scores @ v,
        "Divide each row of exponentials by its total.": lambda q, k, v: np.exp(attend(q, k, v).scores) @ v,
        "The keys are mixed, not the values.": lambda q, k, v: attend(q, k, v).weights @ k,
    }
    return Answer(lambda q, k, v: attend(q, k, v).output, wrong, of=output)


@exercise
def look_up(K: Any, V: Any) -> Answer:
    """A query whose output is v1 = [0, 2], to 0.01."""

    def found(query: Any) -> Any:
        x = np.asarray(query, dtype=float).squeeze()
        if x.shape != (2,):
            raise Hint(f"A query has two numbers here. Yours has the shape {np.shape(query)}.")
        output = attend(x[None], K, V).output[0]
        if np.linalg.norm(output - V[1]) <= 0.01:
            return V[1]
        told = {
            1: "The right key leads. Make the query longer.",
            0: "Key 0 leads. Which number does key 1 need?",
        }
        best = attend(x[None], K, V).weights[0].round(6)
        advice = (
            "Keys 1 and 2 match equally well. What does key 2 have that key 1 has not?"
            if best[1] == best[2]
            else told.get(int(best.argmax()), "Key 2 leads. What does it have that key 1 has not?")
        )
        raise Hint(f"The output is [{output[0]:.3f}, {output[1]:.3f}]. {advice}")

    wrong = {
        "A query has two numbers here.": [0, 10, 0],
        "Keys 1 and 2 match equally well.": [0, 10],
        "The right key leads. Make the query longer.": [-2, 2],
        "Key 0 leads.": [10, -10],
        "Key 2 leads.": [10, 10],
    }
    return Answer([-10, 10], wrong, of=found)


@exercise
def one_number(weights_of_it: Any, X_dog: Any, X_cat: Any) -> Answer:
    """A W_V with one column, with which *it* gets 1 beside *dog* and −1 beside *cat*."""
    wanted = np.array([1.0, -1.0])

    def outputs(matrix: Any) -> Any:
        w_v = np.asarray(matrix, dtype=float)
        if w_v.shape != (5, 1):
            raise Hint(f"Five features and one number: the shape is (5, 1). Yours is {w_v.shape}.")
        both = np.array([(weights_of_it(x) @ (x @ w_v))[0] for x in (X_dog, X_cat)])
        return wanted if np.abs(both - wanted).max() <= 0.02 else both

    share = weights_of_it(X_dog)[1]
    column = np.array([[0.0], [0.0], [1.0], [-1.0], [0.0]])
    wrong = {
        "Five features and one number: the shape is (5, 1).": np.zeros((5, 3)),
        "*it* gets 0.77 and −0.77: the signs are right. How can a drawer make up for a small share?": column,
        "Right beside *dog*, 0 beside *cat*. Let *cat* count against it.": np.maximum(column, 0) / share,
        "1 in both sentences: *alive* is the same for both. Which features differ?": np.eye(5)[:, :1] / share,
        "The signs are exchanged.": -column / share,
    }
    return Answer(column / share, wrong, of=outputs)
