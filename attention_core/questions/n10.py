"""What notebook 10 asks."""

from typing import Any

import numpy as np
import torch

from attention_core import attend, rotary_positions
from attention_core.questions import Answer, asks, exercise


@asks("Which token gets the largest weight from 苹果: 我, 爱, 吃 or 苹果?")
def largest_from_apple(tokens: Any, Q: Any, K: Any, V: Any) -> Answer:
    return Answer(
        tokens[int(attend(Q, K, V).weights[3].argmax())], {"Its own key is empty. Whose key is not?": "苹果"}
    )


@asks("With the same matrices: what does 苹果 say in this sentence, food or company?")
def food_or_company(phone: Any) -> Answer:
    return Answer(
        ["person", "food", "company", "two senses"][int(phone.output[2].argmax())],
        {"Which word in this sentence has a key at place 1 or 2?": "food"},
    )


@asks("Two queries, four keys, values of four entries. Which shape has the table of weights?")
def table_shape(cross: Any) -> Answer:
    return Answer(
        cross.weights.shape,
        {
            "Rows are queries, columns are keys.": (4, 2),
            "That is self-attention of the English words.": (2, 2),
        },
    )


@asks("Is module(x, x) equal to module(x), digit for digit: yes or no?")
def same_module(module: Any, x: Any) -> Answer:
    return Answer(
        "yes" if torch.equal(module(x, x).output, module(x).output) else "no",
        {"What does the module do with a key that is not given?": "no"},
    )


@asks("Shape of the weights of large(queries, memory)?")
def large_shape(large: Any, queries: Any, memory: Any) -> Answer:
    return Answer(
        tuple(large(queries, memory).weights.shape),
        {
            "Each of the eight heads has its own table.": (2, 3, 7),
            "Rows are queries, columns are keys.": (2, 8, 7, 3),
            "That is self-attention of the queries.": (2, 8, 3, 3),
        },
    )


@asks("Does 苹果 give 吃 a larger weight when they are neighbors: yes or no?")
def neighbors_matter(weight_of_eat: Any, near: Any, far: Any) -> Answer:
    return Answer(
        "no" if np.isclose(weight_of_eat(near), weight_of_eat(far)) else "yes",
        {"The score is a dot product of two vectors. Does it know where they stand?": "yes"},
    )


@asks("Is the output of 苹果 different in this sentence: yes or no?")
def order_matters(shuffled: Any, steps: Any) -> Answer:
    return Answer(
        "no" if np.allclose(shuffled.output[0], steps.output[3]) else "yes",
        {"Which pairs of query and key are new? The sum over keys has no order.": "yes"},
    )


@asks("Which position gets the largest weight from position 3?")
def previous_place(previous: Any) -> Answer:
    return Answer(
        int(previous.weights[3].argmax()),
        {"That would be the query without the turn.": 3, "Turned back by one step, not by three.": 0},
    )


@asks("Do the weights change when Q and K are both turned by R: yes or no?")
def both_turned(Q: Any, R: Any, K: Any, V: Any, steps: Any) -> Answer:
    return Answer(
        "no" if np.allclose(attend(Q @ R, K @ R, V).weights, steps.weights) else "yes",
        {"What does a turn of two vectors do to their lengths, and to the angle between them?": "yes"},
    )


@asks("What is the length of q after the turn by 2?")
def length_after_turn(turn: Any, q: Any) -> Answer:
    return Answer(np.linalg.norm(turn(2) @ q), {"Turned, not stretched.": 2 * np.linalg.norm(q)})


@asks("q at position 4 and k at position 6: the score?")
def relative_score(turn: Any, q: Any, k: Any) -> Answer:
    return Answer(
        turn(4) @ q @ (turn(6) @ k),
        {"That is the score without any turn: they stand at the same place.": q @ k},
    )


@exercise
def other_sentence(phone: Any, cross: Any, Y: Any, W_Q: Any, W_K: Any, W_V: Any, X_phone: Any) -> Answer:
    hints = {
        "The queries come from Y, the keys and values from X_phone.": phone.output,
        "That is the other sentence.": cross.output,
        "That is self-attention: Y asks Y.": attend(Y @ W_Q, Y @ W_K, Y @ W_V).output,
        "The three matrices are missing.": attend(Y, X_phone, X_phone).output,
        "These are the weights.": attend(Y @ W_Q, X_phone @ W_K, X_phone @ W_V).weights,
    }
    return Answer(attend(Y @ W_Q, X_phone @ W_K, X_phone @ W_V).output, hints)


@exercise
def back_in_order(mixed: Any, new_order: Any, steps: Any) -> Answer:
    hints = {
        "That shuffles once more. Which row of mixed holds word 0?": mixed[new_order],
        "These rows are still in the new order.": mixed,
    }
    return Answer(steps.output + np.arange(4)[:, None], hints)


@exercise
def turned_pair(turn: Any, pair: Any) -> Answer:
    hints = {
        "Turned the other way: check the signs of the sines.": turn(-2) @ pair,
        "That is position 1.": turn(1) @ pair,
        "numpy takes the angle as it is, not in degrees.": turn(np.radians(2)) @ pair,
    }
    return Answer(rotary_positions(np.array([pair]), positions=np.array([2]))[0], hints)
