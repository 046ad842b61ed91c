"""What notebook 15 asks."""

from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np

from attention_core import softmax
from attention_core.questions import Answer, asks, exercise
from attention_core.worked import agrees


@asks("How many of these four texts reproduce the computed value?")
def texts_that_agree(value: Any, texts: Any) -> Answer:
    return Answer(
        sum(agrees(text, value) for text in texts),
        {"A number with two decimals promises only two.": 1, "Which way does 0.426 round?": 3},
    )


@asks("Of all these quantities, how many are wrong in print?")
def wrong_in_print(errata: Any, rows: Any) -> Answer:
    return Answer(
        len(errata), {"Notebook 01 met a wrong dot product already.": 0, "Most are right.": len(rows) // 2}
    )


@asks("Which source has the most errata: S0, S1, S2, S3 or S4?")
def most_errata(errata: Any) -> Answer:
    return Answer(
        Counter(row.source for row in errata).most_common(1)[0][0],
        {"It has the most digits. But a short example can go wrong in its first step.": "S3"},
    )


@asks("How many of S0's errata are carried over from an earlier one?")
def carried_over(heirs: Any) -> Answer:
    return Answer(
        len(heirs), {"The dot products feed the scores. Who uses the scores, and who uses those?": 1}
    )


@asks("256 entries, no division, five learning rates: does one of them succeed in half of the tries?")
def undivided_succeeds(undivided: Any) -> Answer:
    return Answer(
        "yes" if max(undivided) > 0.5 else "no",
        {"At the start one weight is nearly 1 already, mostly a wrong one. Which slope is left?": "yes"},
    )


@asks("All three keys blocked by adding. Is the first weight 0, 1/3 or as if there were no mask?")
def all_blocked(s: Any, low: Any) -> Answer:
    return Answer(
        "as if there were no mask" if np.allclose(softmax(s + low), softmax(s)) else "1/3",
        {"That is for equal scores. Which gaps are left here?": "1/3", "The weights still sum to 1.": "0"},
    )


@asks("Of these claims, how many are true without an if?")
def true_claims(claims: Any) -> Answer:
    return Answer(
        sum(claim.verdict == "true" for claim in claims),
        {"Many words are larger than what can be shown. Some are just wrong.": len(claims)},
    )


@asks("Do S0's weights give a larger gap than its scores, a smaller one, or the same?")
def gap_of_printed(w: Any, s: Any) -> Answer:
    return Answer(
        "smaller" if np.log(w[0] / w[2]) < s[0] - s[2] - 0.005 else "same",
        {
            "For small gaps the logarithm is about the difference in percent: 8 of 341.": "same",
            "The logarithm of 349 / 341 is about 8 / 341. Compare it with 0.535 − 0.500.": "larger",
        },
    )


@exercise
def verdicts(pairs: Any) -> Answer:
    hints = {
        "A whole unit is too generous: half of it.": [True, True, True, True],
        "Exactly half a unit still counts; floats cannot hold 0.1705 exactly.": [True, False, True, False],
        "This is cutting: a rounded number may also be larger than the exact one.": [
            False,
            True,
            True,
            False,
        ],
    }
    return Answer([agrees(text, value) for text, value in pairs], hints)


@exercise
def suspect(should_sum_to_1: Any) -> Answer:
    off = [float(abs(sum(map(Decimal, row), Decimal(-1)))) for row in should_sum_to_1]
    hints = {"Its seven weights sum to 1.": 0, "Add it up: 1.": 1, "It is wrong, but its sum is 1.": 2}
    return Answer(int(np.argmax(off)), hints)
