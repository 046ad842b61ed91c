"""What notebook 13 asks."""

from typing import Any

import numpy as np

from attention_core.nn.tasks import accuracy
from attention_core.questions import Answer, asks, exercise


@asks("Both have two heads. Does one layer learn the rule as well as two: yes or no?")
def one_layer_learns(one_layer: Any, exam: Any) -> Answer:
    return Answer(
        "yes" if accuracy(one_layer, exam) > 0.9 else "no",
        {"A key says which letter stands at its place. But which letter stood one place before?": "yes"},
    )


@asks("The first letter comes again, at place 8 (places count from 0). To which place does layer 2 look?")
def place_of_match(weights_2: Any) -> Answer:
    return Answer(
        int(weights_2[0, 8].argmax()),
        {
            "There stands the same letter. Which letter must be said next, and where does it stand?": 0,
            "That is the letter just before.": 7,
        },
    )


@asks("In how many of the 72 heads does every token look most at [CLS]?")
def heads_on_cls(sinks: Any) -> Answer:
    return Answer(
        int(sinks.sum()),
        {"A token that finds nothing must still give its weights away.": 0, "Head 1.3 does not.": 72},
    )


@asks("More heads flip the right way than the wrong way: yes or no?")
def right_way(flips: Any, wrong_way: Any) -> Answer:
    return Answer(
        "yes" if flips.sum() > wrong_way.sum() else "no",
        {"With 72 heads, some will do anything. Count both ways.": "yes"},
    )


@asks("With the mask, what is the largest difference between both sentences in the row of 'it'?")
def masked_difference(difference: Any, row_of_it: Any, tired: Any, wide: Any) -> Answer:
    return Answer(difference, {"That is without the mask.": np.abs(row_of_it(tired) - row_of_it(wide)).max()})


@asks("In how many of 8 pairs is the luckiest of 72 coins right in both sentences (median)?")
def luckiest_coin(luckiest: Any) -> Answer:
    return Answer(int(np.median(luckiest)), {"That is one coin on average. This is the luckiest of 72.": 2})


@asks("Is it on a comma or a space in more than half of these dates, in the first model: yes or no?")
def first_model_on_comma(on_a_mark: Any, one_way: Any) -> Answer:
    return Answer(
        "yes" if on_a_mark(one_way) > 0.5 else "no",
        {("The encoder has read the day before it comes to the comma. What may its state there hold?"): "no"},
    )


@asks("Can a model with equal weights learn to write the dates (accuracy above 0.9): yes or no?")
def equal_weights_learn(equal: Any, exam: Any) -> Answer:
    return Answer(
        "yes" if accuracy(equal, exam) > 0.9 else "no",
        {"Dates are short, and the average of all states still holds much.": "no"},
    )


@exercise
def previous_places() -> Answer:
    hints = {
        "There stands the same letter. The next letter stands one place later.": np.arange(8),
        "That is one place back: the previous-token head.": np.arange(8, 16),
    }
    return Answer(np.arange(1, 9), hints)


@exercise
def period_head(ranked: Any, weights: Any, period: Any) -> Answer:
    best = ranked(weights[..., period].mean(axis=-1))[0]
    hints = {
        "Count from 0, as Python does.": (best[0] + 1, best[1] + 1),
        "That head has the largest single weight. Take the mean.": ranked(weights[..., period].max(axis=-1))[
            0
        ],
    }
    return Answer(best, hints)


@exercise
def carried(weights: Any, tired: Any, it: Any) -> Answer:
    w, v = (weights[4, 5], tired.v[4, 5])
    hints = {
        "Those are the weights alone.": w[it],
        "Those are the lengths of the values alone.": np.linalg.norm(v, axis=-1),
        "That is the column of it: who looks at it. Take its row.": w[:, it] * np.linalg.norm(v, axis=-1),
    }
    return Answer(w[it] * np.linalg.norm(v, axis=-1), hints)
