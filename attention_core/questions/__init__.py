"""What the notebooks ask: one module a notebook, one small function a question.

A question is a function whose parameters are names of the notebook, at the place where it is asked. It
returns an `Answer`: what is right, and for typical wrong answers the thought that leads out of each. So
no cell holds its own answer, and whoever translates a lesson finds all of its words here.

    @asks("Which key gets the lowest score: 0, 1 or 2?")
    def lowest_key(scores):
        return Answer(int(scores.argmin()), {"You have just seen its score.": 0})

    @exercise
    def score_table(q, k):
        return Answer(q @ k.T, {"Turned: one row for each query.": k @ q.T})
"""

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from attention_core.questions._judge import (
    NOT_YET,
    Answer,
    Hint,
    judge_exercise,
    judge_prediction,
    wanted,
)

__all__ = [
    "NOT_YET", "Answer", "Hint", "Question", "asks", "exercise", "find", "judge_exercise", "judge_prediction",
    "questions", "wanted",
]  # fmt: skip


class Question(NamedTuple):
    """What a notebook asks; an exercise has its words in the notebook, a prediction has them here."""

    words: str
    answer: Callable[..., Answer]

    @property
    def parameters(self) -> list[str]:
        """The names of the notebook that the answer is computed from."""
        return list(inspect.signature(self.answer).parameters)

    def answered(self, names: Mapping[str, Any]) -> Answer:
        """Compute the answer from the `names` of a notebook, or raise NameError where one is missing."""
        missing = [name for name in self.parameters if name not in names]
        if missing:
            raise NameError(f"Run the cells above first: {', '.join(missing)} is not there yet.")
        return self.answer(**{name: names[name] for name in self.parameters})


def asks(words: str) -> Callable[[Callable[..., Answer]], Question]:
    """Make a prediction of a function: what is asked in `words`, before the notebook shows it."""
    return lambda answer: Question(words, answer)


def exercise(answer: Callable[..., Answer]) -> Question:
    """Make an exercise of a function; its task stands in the notebook."""
    return Question("", answer)


def questions(notebook: str) -> dict[str, Question]:
    """Return the questions of a notebook by name; `notebook` is its number, such as "03"."""
    module = import_module(f"attention_core.questions.n{notebook}")
    return {name: thing for name, thing in vars(module).items() if isinstance(thing, Question)}


def find(notebook: str, name: str) -> Question:
    """Return one question of a notebook, or raise ValueError with the names that it has."""
    known = questions(notebook)
    if name not in known:
        raise ValueError(f"notebook {notebook} asks {', '.join(known)}; got {name!r}")
    return known[name]
