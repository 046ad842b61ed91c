"""What notebook 02 asks."""

import numpy as np

from attention_core.questions import Answer, asks, exercise
from attention_core.worked import load


@asks("What is the variance of the score with three places?")
def three_places() -> Answer:
    """Is it 4 (1, 2, then doubled again) or 3 (one more each time)? Decided by squaring eight scores."""
    scores = np.array([-3, -1, -1, -1, 1, 1, 1, 3])
    return Answer(
        scores.var(),
        {
            "It does not double. The scores are 3 once, −3 once, and 1 or −1 six times. Square them.": 4,
            "A score of 3 has the square 9. But only two of the eight scores are 3 or −3.": 9,
            "That is the number of keys. Square their scores and take the average.": 8,
            "That was for two places. Square the scores of the eight keys.": 2,
        },
    )


@asks(
    "From 16 places to 64: four times as many. How many times as large is the typical size of a score (its "
    "standard deviation)?"
)
def four_times() -> Answer:
    """Is it 4 (as the variance) or 2 (its root)? Decided by Var(q·k) = d_k."""
    return Answer(
        np.sqrt(64) / np.sqrt(16),
        {
            "The variance is four times as large. The standard deviation is its root.": 4,
            "That is the typical size itself. How many times the size at 16 places is it?": 8,
            "Start from the variances, 16 and 64, and take the root of each.": 16,
            "The products do not cancel completely. The variance is 16, then 64.": 1,
        },
    )


@asks("A key is equal to the query at all 64 places (1 or −1). Its score is divided by √64. What comes out?")
def perfect_match() -> Answer:
    """Is it 1 (divided scores have the size 1) or 8? Decided by agreements minus disagreements."""
    return Answer(
        64 / np.sqrt(64),
        {
            "The size 1 belongs to chance. Here nothing disagrees: how many places agree? Then divide.": 1,
            "That is the score before the division.": 64,
            "That needs as many places that disagree as agree. Here none disagrees.": 0,
        },
    )


@asks("By which number does one head of GPT-3 divide its scores?")
def gpt3_divisor() -> Answer:
    """The root of the whole row (110.85) or of the share of one head (11.31)? Decided by who meets whom."""
    gpt3 = load("gpt3-width")
    d_k = gpt3["d_model"] // gpt3["n_heads"]
    return Answer(
        float(np.sqrt(d_k)),
        {
            "That is d_k, the places of one head. The divisor is its root.": d_k,
            "That is the root of the whole row. One head has only its share of it.": np.sqrt(gpt3["d_model"]),
            "That is the whole row. One head has only its share of it.": gpt3["d_model"],
            "That is the root of the number of heads.": np.sqrt(gpt3["n_heads"]),
        },
    )


@exercise
def scaled_scores() -> Answer:
    """Divide for two queries and three keys of five places, so that no two sizes are the same."""
    Q, K = np.random.default_rng(1).normal(size=(2, 5)), np.random.default_rng(2).normal(size=(3, 5))
    return Answer(
        lambda Q, K: Q @ K.T / np.sqrt(K.shape[1]),
        {
            "The scores are not divided yet.": lambda Q, K: Q @ K.T,
            "Divided by d_k. Divide by its root.": lambda Q, K: Q @ K.T / K.shape[1],
            "Divided by 2. That fits four places; take the number from the shape of K.": lambda Q, K: (
                Q @ K.T / 2
            ),
            "Divided by the root of the number of keys. d_k counts the places of one key.": lambda Q, K: (
                Q @ K.T / np.sqrt(len(K))
            ),
            "Divided by the root of the number of queries. d_k counts places.": lambda Q, K: (
                Q @ K.T / np.sqrt(len(Q))
            ),
            "The numbers are right, but turned: one row for each query.": lambda Q, K: (
                K @ Q.T / np.sqrt(K.shape[1])
            ),
        },
        of=lambda mine: mine(Q, K),
    )


@exercise
def divisor() -> Answer:
    """Go through the steps with entries of 2 and -2, and nine places."""
    product = 2 * 2  # or -4
    return Answer(
        np.sqrt(9 * product**2),
        {
            "That is √9, for entries of 1 and −1. What is one product here, and its square?": 3,
            "That is the number of places.": 9,
            "Only the query or only the key has larger entries then. Here both have.": np.sqrt(9 * 2**2),
            "One product is 4 or −4, but its variance is made of squares: 16. And you need a root.": 9 * 4,
            "That is the variance of the score. Divide by its root.": 9 * product**2,
            "One product is 4 or −4, and its square is 16. How large is the sum of nine squares?": 4,
        },
    )
