"""What makes an answer right, and what a wrong one is told."""

import re
from pathlib import Path

import numpy as np
import pytest

from attention_core import attend, softmax
from attention_core.questions import (
    NOT_YET,
    Answer,
    Hint,
    asks,
    find,
    judge_exercise,
    judge_prediction,
    mistakes,
    questions,
    wanted,
)
from attention_core.worked import load

SOURCES = Path(__file__).parents[2] / "notebooks/source"
ONE = load("one-query")
QKV = ONE["q"], ONE["k"], ONE["v"]


# --- predictions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("guess", "right"),
    [
        ("Yes ", "yes"),
        (True, "yes"),
        (np.False_, "no"),
        (np.array(True), "yes"),
        ("no", np.False_),
        (True, True),
        ("3", 3),
        ([3], 3),
        (np.inf, np.inf),
        ("inf", np.inf),
        (0.39, 0.386613),
        (2.72, 2.718282),
    ],
)
def test_a_guess_that_means_the_same_is_right(guess, right) -> None:
    assert judge_prediction(guess, Answer(right)) == ""


@pytest.mark.parametrize(
    ("guess", "right"),
    [
        ("many", 3),
        (None, 3),
        ("no", "yes"),
        (True, "no"),
        (np.True_, "no"),
        ("yes", np.False_),
        ([True, False], "yes"),
        ([[1], [2, 3]], 3),
        ([1, 2], 3),
        (20500, 20480),
        (np.nan, 1.0),
        (0, 0.43),
        (0.38, 0.386613),
    ],
)
def test_a_guess_that_means_something_else_is_not(guess, right) -> None:
    assert judge_prediction(guess, Answer(right)) == "Compare it with the answer."


def test_a_wrong_guess_gets_the_thought_that_belongs_to_it() -> None:
    answer = Answer("animal", {"Its row has two 1s.": "street", "It asks nothing.": "it"})
    assert judge_prediction("Street", answer) == "Its row has two 1s."
    assert judge_prediction("it", answer) == "It asks nothing."
    assert judge_prediction("the", answer) == "Compare it with the answer."


def test_an_estimate_may_be_off_or_a_range() -> None:
    answer = Answer(51, about=10)
    assert [judge_prediction(guess, answer) == "" for guess in (41, 61, 40, 62)] == [True, True, False, False]
    assert judge_prediction((45, 60), answer) == ""
    assert judge_prediction((52, 60), answer) != ""
    assert judge_prediction((0, 100), answer) != ""  # too wide to be a guess


@pytest.mark.parametrize(
    ("right", "kind"),
    [
        ("rise", 'a word in "quotes"'),
        (np.True_, "True or False"),
        (np.int64(3), "a whole number"),
        (0.4011, "a number; two decimals are enough"),
        (np.array([10, 11]), "2 whole numbers in [brackets]"),
        ([0.5, 0.25], "2 numbers in [brackets]; two decimals are enough"),
    ],
)
def test_the_line_below_a_question_says_what_is_wanted(right, kind) -> None:
    assert wanted(Answer(right)) == kind


def test_a_prediction_may_be_a_torch_tensor() -> None:
    torch = pytest.importorskip("torch")
    assert judge_prediction(torch.tensor(True), Answer("yes")) == ""
    assert judge_prediction(torch.tensor(False), Answer("yes")) != ""
    assert judge_prediction(torch.tensor(0.39, requires_grad=True), Answer(0.386613)) == ""


# --- exercises --------------------------------------------------------------------------------


def test_an_exercise_is_open_right_or_wrong() -> None:
    assert judge_exercise(..., Answer([1.0])) == NOT_YET
    assert judge_exercise([0.3866, 0.267], Answer(np.array([0.386613, 0.267047]))) == ""
    assert "shape should be (2,), and yours is (3,)" in judge_exercise([1, 2, 3], Answer([1, 2]))
    assert "The numbers are right. The shape should be (1, 2)" in judge_exercise([1, 2], Answer([[1, 2]]))
    assert "largest difference is 0.5 at index [1]" in judge_exercise([1, 2.5], Answer([1, 2]))


@pytest.mark.parametrize("mine", ["text", None, [[1], [2, 3]], object()])
def test_an_exercise_says_when_an_answer_is_no_array_of_numbers(mine) -> None:
    assert judge_exercise(mine, Answer([1.0])).startswith("An array of numbers is expected")


def test_an_exercise_asks_for_one_step_of_an_attention() -> None:
    assert "take one of them, such as .output" in judge_exercise(attend(*QKV), Answer(attend(*QKV).output))


def test_an_exercise_may_want_a_word() -> None:
    answer = Answer("animal", {"The place, not the word.": 1})
    assert judge_exercise("animal", answer) == ""
    assert judge_exercise("street", answer) == "Yours is 'street'."
    assert judge_exercise(1, answer) == "The place, not the word."


def test_an_exercise_may_want_a_function() -> None:
    rows = np.array([[1.0, 2.0, 3.0], [0.0, 4.0, 0.0]])

    def called(function):
        return function(rows)

    answer = Answer(lambda x: x.sum(axis=1), {"Along each row.": lambda x: x.sum(axis=0)}, of=called)
    assert judge_exercise(lambda x: x @ np.ones(3), answer) == ""
    assert judge_exercise(lambda x: x[0] + x[1], answer) == "Along each row."
    assert judge_exercise(lambda x: ..., answer) == NOT_YET
    assert judge_exercise(lambda x: x @ np.ones(2), answer).startswith("It stops: ")
    assert judge_exercise(3, answer) == "It stops: 'int' object is not callable"


def test_an_exercise_may_have_many_right_answers_and_rules() -> None:
    def mixed(weights):
        if abs(sum(weights) - 1) > 0.001:
            raise Hint(f"The weights must sum to 1. Yours sum to {sum(weights):.3f}.")
        return np.asarray(weights) @ [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]

    answer = Answer([0.7, 0.3, 0.0], {"sum to 1.100": [0.7, 0.3, 0.1], "All of it.": [1, 0, 0]}, of=mixed)
    assert judge_exercise([0.4, 0.0, 0.6], answer) == ""
    assert judge_exercise([0.7, 0.3, 0.1], answer) == "The weights must sum to 1. Yours sum to 1.100."
    assert judge_exercise([1.0, 0.0, 0.0], answer) == "All of it."


def test_an_exercise_reads_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    quarter = Answer(np.array([0.25, 0.75]))
    assert judge_exercise(torch.tensor([0.25, 0.75], requires_grad=True), quarter) == ""
    assert judge_exercise(torch.tensor([0.25, 0.75], dtype=torch.bfloat16), quarter) == ""
    rows = [torch.tensor([0.25, 0.75], requires_grad=True) for _ in range(2)]
    assert judge_exercise(rows, Answer(np.array([[0.25, 0.75]] * 2))) == ""
    assert judge_exercise([*rows, rows[0][:1]], Answer(1.0)).startswith("An array of numbers is expected")


def test_the_difference_is_found_beside_infinities() -> None:
    answer = Answer(np.array([[0.5, -np.inf], [1.0, 2.0]]))
    assert "is 1.0 at index [1, 0]: yours is 2.0" in judge_exercise([[0.5, -np.inf], [2, 2]], answer)
    assert "is inf at index [0, 1]: yours is 0.0" in judge_exercise([[0.5, 0.0], [1.5, 2.0]], answer)
    assert "is nan at index [1, 1]: yours is nan" in judge_exercise([[0.5, -np.inf], [9, np.nan]], answer)


# --- where they stand -------------------------------------------------------------------------


def test_a_question_names_what_it_still_needs() -> None:
    @asks("?")
    def sum_of(a, b):
        return Answer(a + b)

    assert sum_of.answered({"a": 1, "b": 2, "c": 3}).right == 3
    with pytest.raises(NameError, match="Run the cells above first: b is not there yet"):
        sum_of.answered({"a": 1})


def test_a_notebook_without_questions_is_no_silent_success() -> None:
    with pytest.raises(ModuleNotFoundError):
        find("98", "any")


@pytest.mark.parametrize("source", sorted(SOURCES.glob("*.md")), ids=lambda path: path.stem)
def test_every_question_is_asked_once_and_every_asked_one_is_known(source) -> None:
    asked = re.findall(r'^(predict|check)\("(\w+)"', source.read_text(encoding="utf-8"), re.MULTILINE)
    kinds = {name: "predict" if q.words else "check" for name, q in questions(source.name[:2]).items()}
    assert sorted(asked) == sorted((kind, name) for name, kind in kinds.items())


def test_each_typical_mistake_with_attention_has_its_thought() -> None:
    q, k, v = QKV
    mask = np.array([[True, True, False]])
    right = attend(q, k, v, mask=mask)

    def told(mine, step, **options) -> str:
        expected = getattr(attend(q, k, v, **options), step)
        return judge_exercise(mine, Answer(expected, mistakes.of_attention(step, q, k, v, **options)))

    unscaled = attend(q, k, v, scale=1.0)
    assert "√d_k is missing" in told(unscaled.scores, "scores")
    assert "not by d_k" in told(unscaled.scores / 4, "scores")
    assert "not divided" in told(attend(q, k, v).scores, "scores", scale=1.0)
    assert "Transposed" in told(attend(q, k, v).scores.T, "scores")
    assert "√d_k is missing" in told(unscaled.weights, "weights")
    assert "wrong axis" in told(softmax(right.scores, axis=-2), "weights")
    assert "mask is missing" in told(attend(q, k, v).weights, "weights", mask=mask)
    assert "wrong way round" in told(attend(q, k, v, mask=~mask).output, "output", mask=mask)
    assert told(right.output, "output", mask=mask) == ""


def test_mistakes_of_an_unknown_step_are_refused() -> None:
    with pytest.raises(ValueError, match='"scores", "weights" or "output", got \'score\''):
        mistakes.of_attention("score", *QKV)
