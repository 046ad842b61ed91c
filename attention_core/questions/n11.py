"""What notebook 11 asks."""

from typing import Any

import numpy as np

from attention_core import attend
from attention_core.questions import Answer, asks, exercise


@asks("Which share of the outputs' shadows lies outside?")
def share_outside(share_outside: Any, steps: Any, V: Any) -> Answer:
    return Answer(share_outside(steps.output, V), {"Each output is an average of the values.": 0.5})


@asks("Do the results lie inside the hull of the moved values V @ W_O: yes or no?")
def inside_moved_hull(share_outside: Any, after: Any, V: Any, W_O: Any) -> Answer:
    return Answer(
        "yes" if share_outside(after, V @ W_O) == 0 else "no",
        {"(A V) W_O = A (V W_O). What are the values on the right side?": "no"},
    )


@asks("One head's table of what is handed over has 8 rows and 8 columns. Its rank?")
def rank_handed_over(handed: Any) -> Answer:
    return Answer(
        int(np.linalg.matrix_rank(handed[0])),
        {"It is a product (8, 2) @ (2, 8). How many numbers pass through the middle?": 8},
    )


@asks("And the rank of the weights?")
def rank_of_weights(round_table: Any) -> Answer:
    return Answer(
        int(np.linalg.matrix_rank(round_table.weights)),
        {"That is the rank of the scores. Which key is nearest to each query?": 2},
    )


@asks("How many of the ten keys are the best key of some query?")
def winners(winners: Any) -> Answer:
    return Answer(
        len(np.unique(winners)),
        {"A query is one number times each key. Which keys can give the largest product?": 10},
    )


@asks("How many arrows has the graph of five tokens?")
def arrows(edges: Any) -> Answer:
    return Answer(
        len(edges), {"A token also sends a message to itself.": 20, "Each pair has an arrow both ways.": 10}
    )


@asks("How many of the 25 weights change?")
def changed_weights(A_dog: Any, A: Any) -> Answer:
    return Answer(
        int((np.abs(A_dog - A) > 1e-09).sum()),
        {
            "The new token has a new query: that is its row. And its key?": 5,
            "Its row and its column have new scores. But each row must still sum to 1.": 9,
        },
    )


@asks("How many different keys are the favorite of some query?")
def favorites(favorites: Any) -> Answer:
    return Answer(
        len(np.unique(favorites)),
        {"The query adds one number to its whole row. Can that change which key is best?": 5},
    )


@asks("The second node has three arrows. What does attention on this path give it, if all values are 1?")
def second_node(X: Any, W_Q: Any, W_K: Any, ones: Any, path: Any) -> Answer:
    return Answer(
        attend(X @ W_Q, X @ W_K, ones, mask=path).output[1, 0],
        {"That is the sum. What is an average of ones, whatever the weights?": 3},
    )


@asks("After how many layers has node 3 heard anything of node 0?")
def after_layers(layers: Any) -> Answer:
    return Answer(
        1 + int(np.argmax(np.array(layers)[:, 3, 0] > 0)),
        {"In one layer node 3 hears its neighbors only.": 1, "Count the arrows on the way from 0 to 3.": 4},
    )


@exercise
def ring(ring: Any, path: Any) -> Answer:
    return Answer(
        ring,
        {
            "That is the path: its two ends are not joined yet.": path,
            "Each token also hears itself.": ring & ~np.eye(5, dtype=bool),
            "One arrow only: the ends need one in each direction.": path | np.eye(5, k=4, dtype=bool),
            "The other way round: True means that there is an arrow.": ~ring,
        },
    )


@exercise
def layers(ring: Any) -> Answer:
    return Answer(
        1 + int(np.argmax([(np.linalg.matrix_power(ring.astype(int), t) > 0).all() for t in range(1, 6)])),
        {
            "That is the path. On a ring there are two ways to each node.": 4,
            "In one layer a node hears only its neighbors.": 1,
        },
    )


@exercise
def piece(handed: Any, compared: Any, W_V8: Any, W_O8: Any) -> Answer:
    return Answer(
        handed[3],
        {
            "That is head 2: heads count from 0.": handed[2],
            "Those are all heads together.": W_V8 @ W_O8,
            "A head owns columns of W_V, and rows of W_O.": W_V8[:, 6:] @ W_O8[:, 6:].T,
            "That is what the head compares: W_Q and W_K.": compared[3],
        },
    )
