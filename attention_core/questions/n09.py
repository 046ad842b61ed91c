"""What notebook 09 asks."""

from typing import Any

import numpy as np

from attention_core import additive_scores, softmax, weigh
from attention_core.nn import AdditiveAttention
from attention_core.nn.tasks import accuracy
from attention_core.questions import Answer, asks, exercise


@asks("How many numbers does the last state hold after 12 letters?")
def last_state_numbers(long_last: Any) -> Answer:
    return Answer(
        long_last.numel(), {"That is what all states together hold.": 12 * 64, "That is the input.": 12 * 8}
    )


@asks("Places 2 and 4 are equally far from 3. Do they get the same score: yes or no?")
def equally_far(e: Any) -> Answer:
    return Answer(
        "yes" if np.isclose(e[1], e[3]) else "no",
        {"tanh(−x) = −tanh(x). Compare the two lines of hidden units.": "no"},
    )


@asks("The context has two numbers. Which whole number is the second one closest to?")
def second_number(e: Any, H: Any) -> Answer:
    return Answer(
        int(np.round(softmax(np.array(e)) @ H[:, 1])),
        {"That is the first number, the place.": 3, "That is near the plain mean of all letters.": 18},
    )


@asks("How many different contexts do the four steps get?")
def different_contexts(equal: Any) -> Answer:
    return Answer(
        len(np.unique(equal.output, axis=0)), {"Every step takes the same mean of the same states.": 4}
    )


@asks("Is the largest weight on the needed letter in more than 8 of 10 cases: yes or no?")
def on_needed_letter(weights: Any, needed: Any) -> Answer:
    largest = weights.argmax(axis=-1)
    hits = (largest == needed).mean()
    return Answer(
        "yes" if hits > 0.8 else "no", {"It writes the right letters. Where does it get them from?": "no"}
    )


@asks("Does it still write t: yes or no?")
def still_t(letter_blocked: Any) -> Answer:
    return Answer(
        "yes" if letter_blocked == "t" else "no",
        {"The other states have met t too. But do they hold it clearly enough?": "yes"},
    )


@asks("Are more than one in ten of the words with 12 letters right without attention: yes or no?")
def long_words_without(accuracy_at: Any, fixed: Any) -> Answer:
    return Answer(
        "yes" if accuracy_at(fixed, 12) > 0.1 else "no",
        {"Twelve letters must be right at once, all from the same 64 numbers.": "yes"},
    )


@asks("Without the division by √d_k: does it learn better or worse in the same time?")
def undivided(plain: Any, exam: Any, scaled: Any) -> Answer:
    return Answer(
        "better" if accuracy(plain, exam) > accuracy(scaled, exam) else "worse",
        {"Are the products too large for softmax here, or too small?": "worse"},
    )


@asks("A word of 12 letters, 12 steps: how many tanh do the additive scores take?")
def tanh_count() -> Answer:
    return Answer(12 * 12 * 64, {"That is the number of pairs.": 144, "That is one step.": 12 * 64})


@exercise
def context(W_q: Any, H: Any, W_k: Any, w_v: Any, c: Any, s_half: Any) -> Answer:
    half_scores = np.tanh(s_half @ W_q + H @ W_k) @ w_v
    hints = {
        "Those are the scores. Softmax and the weighted sum are missing.": half_scores,
        "Those are the weights. Take the weighted sum of the states.": softmax(half_scores),
        "The softmax is missing.": half_scores @ H,
        "That is the context for place 3.": c,
        "That is the dot product. Use the small network with tanh.": softmax(s_half @ H.T) @ H,
    }
    return Answer(softmax(half_scores) @ H, hints)


@exercise
def queries(queries: Any, H: Any, W_q: Any, W_k: Any, w_v: Any) -> Answer:
    def contexts(mine: Any) -> Any:
        return weigh(additive_scores(mine, H, W_q, W_k, w_v), H).output

    return Answer(
        queries[::-1],
        {
            "That is backwards.": queries,
            "The constant 1 is missing in each query.": queries[::-1] * [1, 0],
        },
        of=contexts,
    )


@exercise
def count() -> Answer:
    hints = {
        "The last vector, w_v, is missing.": 3 * 7 + 5 * 7,
        "Queries and keys are both projected to d_hidden, not to each other.": 3 * 5 + 7,
        "w_v is a vector: one number for each hidden unit.": 3 * 7 + 5 * 7 + 7 * 7,
    }
    return Answer(sum(p.numel() for p in AdditiveAttention(d_q=3, d_k=5, d_hidden=7).parameters()), hints)
