"""What notebook 05 asks."""

from typing import Any

import numpy as np

from attention_core.attention import attend
from attention_core.questions import Answer, Hint, asks, exercise


@asks(
    "Somebody forgets the .T, and the query of *it* is x @ printed_Q. What does *it* then look for? "
    'Write "alive", "pronoun" or "nothing".'
)
def forgotten_transpose(X: Any, printed_Q: Any) -> Answer:
    """Alive (as in 01) or pronoun (the place of the 1)? Decided by the row that x(it) @ W reads."""
    return Answer(
        "alive" if (X[6] @ printed_Q).any() else "nothing",
        {
            "It would with .T. But *it* has its 1 at place 3, so x @ W reads row 3. What stands there?": "alive",
            "The 1 stands in column 3. But which row does *it* read?": "pronoun",
        },
    )


@asks("One of the seven scores of *it* is 1, six are 0. What is the weight of *animal*?")
def weight_of_animal(steps: Any) -> Answer:
    """All (only animal matches), a little more than half, or 0.31? Decided by e^1 and six times e^0."""
    e = np.exp(1.0)
    return Answer(
        steps.weights[6, 1],
        {
            "A score of 0 still gets a part: e⁰ is 1, and there are six of them.": 1,
            "That is e of e + 1 parts. Six tokens have the score 0, not one.": e / (e + 1),
            "That is the weight of each of the others.": 1 / (e + 6),
        },
    )


@asks("*it* looks for nothing: its query is four zeros. What is the first number of its output?")
def asks_nothing(Q: Any, K: Any, V: Any) -> Answer:
    """Nothing asked, nothing taken (0), or 2 drawers of 7? Decided by equal shares, met in 00."""
    return Answer(
        attend(0 * Q, K, V, scale=1.0).output[6, 0],
        {
            "Asking nothing gives equal weights, not none.": 0,
            "That is one drawer's share. How many drawers hold a noun?": 1 / 7,
            "That is what comes out when *it* looks for *alive*.": attend(Q, K, V, scale=1.0).output[6, 0],
        },
    )


@asks(
    "The same two matrices, and the sentence with *wide*. Compared with *street*, does *animal* now get "
    '"more", "less" or the "same"?'
)
def ratio_for_wide(X_tired: Any, X_wide: Any, A: Any, B: Any) -> Answer:
    """Less (a street can be wide) or the same? Decided by the rows from which the two scores are made."""

    def ratio(X: Any) -> Any:
        weights = attend(X @ A, X @ B, X, scale=1.0).weights[7]
        return weights[1] / weights[5]

    tired, wide = ratio(X_tired), ratio(X_wide)
    return Answer(
        "same" if np.isclose(tired, wide) else "less" if wide < tired else "more",
        {
            "A street can be wide, yes. But which rows make the score of *street*? Is *wide* one of them?": "less",
            "Which rows make the score of *animal*? Is the last word one of them?": "more",
        },
    )


@asks(
    "The five matrices were written with *tired* in mind. Now the sentence with *wide* goes through both "
    "layers. Which weight does *it* give to *street*?"
)
def street_when_wide(two_layers: Any, X_tired: Any, X_wide: Any) -> Answer:
    """As little as before (0.03), as much as animal (0.47), or 0.94? Decided by following width through."""
    return Answer(
        two_layers(X_wide)[5],
        {
            "That was so with *tired*. What does layer 1 find now, and what does *it* then look for?": two_layers(
                X_tired
            )[5],
            "Equal weights would mean that layer 2 does not hear of *wide*. What lies in its drawer?": 0.5,
        },
    )


@exercise
def who(embed: Any, two_layers: Any, X_tired: Any) -> Answer:
    """Tried with *tired*, *wide* and *late*, a word that says nothing about either noun."""

    def said(function: Any) -> Any:
        words = [function(last) for last in ("tired", "wide", "late")]
        if any(word is ... for word in words):
            return ...
        if not all(isinstance(word, str) for word in words):
            raise Hint('Return a word: "animal", "street" or "unknown".')
        return ", ".join(words)

    def weights(last: str) -> Any:
        return two_layers(embed(last))

    def noun(w: Any) -> str:
        return "animal" if w[1] > w[5] else "street"

    return Answer(
        lambda last: "unknown" if np.isclose(*weights(last)[[1, 5]]) else noun(weights(last)),
        {
            "With *late* both nouns get the same weight: compare the two with np.isclose.": lambda last: noun(
                weights(last)
            ),
            "With *late* both nouns get the same weight, and argmax takes the first.": lambda last: (
                "animal" if weights(last).argmax() == 1 else "street"
            ),
            "The same noun for each word. Embed the sentence with this last word.": lambda last: noun(
                two_layers(X_tired)
            ),
            "Return a word": lambda last: int(weights(last).argmax()),
        },
        of=said,
    )


@exercise
def busy(X_tired: Any, two_layers: Any, W_Q1: Any, W_K1: Any, W_V1: Any) -> Answer:
    """Any row with a property that has to do with both nouns alike is right."""

    def tried(row: Any) -> Any:
        row = np.asarray(row, dtype=float)
        if row.shape != (5,):
            raise Hint(f"A row has five numbers, one for each feature. Yours has shape {row.shape}.")
        X = np.vstack([X_tired[:9], row])
        if attend(4 * X @ W_Q1, X @ W_K1, X @ W_V1, scale=1.0).weights[7, 9] < 0.5:
            raise Hint("Layer 1 does not find *busy*. Which feature does a pronoun look for there?")
        animal, street = two_layers(X)[[1, 5]]
        if abs(animal - street) > 0.001:
            raise Hint(f"*animal* gets {animal:.3f} and *street* {street:.3f}. Both can be busy.")
        if animal < 0.4:
            raise Hint(f"The nouns are equal, but each gets only {animal:.3f}. Is *busy* a noun itself?")
        return 0.0

    return Answer(
        [0, 0, 1, 1, 1],
        {
            "A row has five numbers": [0, 0, 1, 1],
            "Layer 1 does not find *busy*": [0, 0, 0, 1, 1],
            "Both can be busy": [0, 0, 1, 1, 0],
            "Is *busy* a noun itself?": [1, 0, 1, 1, 1],
        },
        of=tried,
    )


@exercise
def does_not_fit(X_tired: Any, X_wide: Any, W_Q1: Any, W_K1: Any, W_V1: Any, W_Q2: Any, W_K2: Any) -> Answer:
    """Any query matrix of layer 2 that chooses the other noun clearly, in both sentences."""

    def chosen(mine: Any) -> Any:
        mine = np.asarray(mine, dtype=float)
        if mine.shape != (5, 3):
            raise Hint(f"W_Q2 has five rows and three columns. Yours has shape {mine.shape}.")
        for X, last, noun, place in ((X_tired, "tired", "street", 5), (X_wide, "wide", "animal", 1)):
            X1 = X + attend(4 * X @ W_Q1, X @ W_K1, X @ W_V1, scale=1.0).output
            weights = attend(4 * X1 @ mine, X1 @ W_K2, X1, scale=1.0).weights[7]
            if weights[place] < 0.8:
                raise Hint(f"In the sentence with *{last}*, *{noun}* gets {weights[place]:.3f}.")
        return 0.0

    right, no_noun, tired_only = W_Q2.copy(), -W_Q2, W_Q2.copy()
    right[3, 1] = right[4, 2] = tired_only[3, 1] = -1
    return Answer(
        right,
        {
            "five rows and three columns": W_Q2.T,
            "In the sentence with *tired*, *street* gets 0.030": W_Q2,
            "In the sentence with *tired*, *street* gets 0.0": no_noun,
            "In the sentence with *wide*, *animal* gets": tired_only,
        },
        of=chosen,
    )
