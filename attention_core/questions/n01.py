"""What notebook 01 asks."""

from typing import Any

import numpy as np

from attention_core.questions import Answer, asks, exercise


@asks(
    "Suppose that each word's own row is its query and also its label. Which of the seven words does *it* "
    "then match best?"
)
def own_row(X: Any, tokens: Any) -> Answer:
    """Is it animal (what we want) or it (its own row)? Decided by the single 1 in the row of it."""
    reads = "*It* has a single 1, at *pronoun*. Which rows have a 1 there?"
    return Answer(
        tokens[int((X @ X[6]).argmax())],
        {f"We would like that. But look at the rows. {reads}": "animal", reads: "street"},
    )


@asks(
    "In W_K alone, columns 0 and 1 are exchanged. W_Q stays. Which of the two nouns has a score above 0 now: "
    '"animal", "street", "both" or "neither"?'
)
def one_swapped(animal: Any, street: Any, it: Any, W_Q: Any, W_K: Any) -> Answer:
    """Is the match lost (neither), turned round (street) or both? Decided by what stands at place 1 now."""
    found = tuple((it @ W_Q) @ (x @ W_K[:, [1, 0, 2, 3]]) > 0 for x in (animal, street))
    names = {(True, True): "both", (True, False): "animal", (False, True): "street"}
    return Answer(
        names.get(found, "neither"),
        {
            "*It* still looks at place 1. Which feature stands there now, and who has it?": "neither",
            "*Street* is found now, because *noun* has moved to place 1. Who else is a noun?": "street",
            "*Animal* is found, and now as a noun. Who else is one?": "animal",
        },
    )


@asks("*It* gives *animal* the score 1. Which score does *animal* give *it*?")
def asked_back(animal: Any, it: Any, W_Q: Any, W_K: Any) -> Answer:
    """A match sounds mutual, and the last table was symmetric (1), or 0. Decided by what animal looks for."""
    return Answer(
        float((animal @ W_Q) @ (it @ W_K)),
        {"What does *animal* look for? Which rows of W_Q does it read?": 1},
    )


@asks(
    "Two keys point in the same direction, at more than a right angle to the query. One is twice as long. "
    'Which one gets the larger score: "short", "long" or "same"?'
)
def longer_key() -> Answer:
    """Length makes scores large (long), or a mismatch gets worse (short). Decided by the sign of cos θ."""
    query, key = np.array([1.0, 0.0]), np.array([-0.5, 0.8])
    return Answer(
        "short" if query @ key > query @ (2 * key) else "long",
        {
            "Twice as long makes the product twice as large. But which sign does it have?": "long",
            "The directions are the same. But a score is |a| |b| cos θ.": "same",
        },
    )


@exercise
def score_table() -> Answer:
    """Fill a table for three queries and two keys, so that no shape is another one by accident."""
    Q = np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 1.0, 3.0, -1.0], [2.0, 0.0, 1.0, 1.0]])
    K = np.array([[1.0, 0.0, 2.0, 1.0], [4.0, 1.0, 0.0, 2.0]])
    return Answer(
        lambda Q, K: Q @ K.T,
        {
            "The numbers are right, but turned: one row for each query.": lambda Q, K: K @ Q.T,
            "Each product is there. Add up those of one query and one key.": lambda Q, K: (
                Q[:, None] * K[None]
            ),
            "That is the first query alone. Each query has a row of its own.": lambda Q, K: Q[0] @ K.T,
        },
        of=lambda mine: mine(Q, K),
    )


@exercise
def wide_query(X: Any, W_K: Any) -> Answer:
    """Let it find the street, and nobody else."""

    def rules(*entries: tuple[int, int, float]) -> Any:
        W_Q = np.zeros((4, 4))
        for row, column, value in entries:
            W_Q[row, column] = value
        return W_Q

    def scores_of_it(mine: Any) -> Any:
        return X[6] @ np.asarray(mine, dtype=float) @ (X @ W_K).T

    return Answer(
        rules((3, 0, 1), (3, 1, -1)),
        {
            "That still asks for something alive.": rules((3, 1, 1)),
            "Both nouns match. How can *alive* count against a key?": rules((3, 0, 1)),
            "*Animal* is sent away. Now let nouns be wanted.": rules((3, 1, -1)),
            "*It* looks for nothing. It reads the row *pronoun*, row 3.": rules((0, 3, 1), (1, 3, -1)),
            "*Street* is right. *Animal* should get 0, not less: one place for it, one against it.": rules(
                (3, 0, 1), (3, 1, -1), (3, 2, -1)
            ),
        },
        of=scores_of_it,
    )
