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
            "It would with .T. But *it* has its 1 at place 3: x @ W reads row 3. And there?": "alive",
            "The 1 stands in column 3. But which row does *it* read?": "pronoun",
        },
    )


@asks("The query of *it* becomes twice as long. What is then the first number of its output, now 0.4265?")
def asked_twice(Q: Any, K: Any, V: Any) -> Answer:
    """As before (the same question), twice as much, or 0.63? Decided by e to the doubled score."""

    def noun(gain: float) -> Any:
        return attend(gain * Q, K, V, scale=1.0).output[6, 0]

    return Answer(
        noun(2),
        {
            "The same question, yes. But the dot product with the key of *animal* doubles.": noun(1),
            "The score doubles, not the share: e² of e² + 6 parts, and *street* has one more.": 2 * noun(1),
            "That is the weight of *animal*. *street* has a noun in its drawer too.": np.exp(2)
            / (np.exp(2) + 6),
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
            "A street can be wide, yes. But which rows make its score? Is *wide* one of them?": "less",
            "Which rows make the score of *animal*? Is the last word one of them?": "more",
        },
    )


@asks(
    "The row of *animal* is zeros, the last word is *tired*. Which word gets the largest weight in layer 2: "
    '"street", "tired" or "it"?'
)
def no_animal(two_layers: Any, without_animal: Any, sentence: Any) -> Answer:
    """Tired (the only tiredness left in the text) or street (a noun)? Decided by adding up two scores."""
    words = [*sentence[:9], "tired"]
    return Answer(
        words[two_layers(without_animal).argmax()],
        {
            "It has tiredness. But which score is larger: 4 for a noun, or a little less for this?": "tired",
            "Layer 1 gave it tiredness. But the last word has more of it, and is *it* a noun?": "it",
            "Its row is zeros: it is no noun any more. Which noun is left?": "animal",
        },
    )


@exercise
def who(rows: Any, embed: Any, two_layers: Any, X_tired: Any) -> Answer:
    """Tried with *tired*, *wide*, *late*, which is about neither noun, and a word with a new row."""

    def said(function: Any) -> Any:
        rows["sleepy"] = rows["tired"]
        try:
            words = [function(last) for last in ("tired", "wide", "late", "sleepy")]
        finally:
            del rows["sleepy"]
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
            "A new word, *sleepy*, has the row of *tired*. Ask the two layers, not the word.": {
                "tired": "animal",
                "wide": "street",
                "late": "unknown",
                "sleepy": "unknown",
            }.get,
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
        if animal < 0.2:
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
