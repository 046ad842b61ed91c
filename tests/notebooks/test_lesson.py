"""Predictions, checks, number format, figures with words."""

from unittest.mock import patch

import numpy as np
import pytest

from attention_core import attend, softmax
from attention_core.figures import canvas, score_bars, svg
from attention_core.lesson import (
    attention_hints,
    check,
    predict,
    progress,
    show,
    show_published,
    show_rows,
    show_source,
    show_statements,
    show_table,
)
from attention_core.worked import compare, load


def shown(function, *args, **kwargs) -> list[dict]:
    """Return the bundles that a call displays, each with its metadata."""
    with patch("attention_core.lesson.display") as display:
        function(*args, **kwargs)
    return [{**call.args[0], "metadata": call.kwargs.get("metadata")} for call in display.mock_calls]


def said(function, *args, **kwargs) -> str:
    """Return the plain text that a call displays."""
    return "\n".join(bundle["text/plain"] for bundle in shown(function, *args, **kwargs))


@pytest.fixture
def qkv():
    one = load("one-query")
    return one["q"], one["k"], one["v"]


def test_progress_counts_shows_a_bar_and_ends_in_a_fixed_line() -> None:
    with patch("attention_core.lesson.display") as display:
        assert list(progress(3, "Training")) == [0, 1, 2]
    first = display.call_args.args[0]["text/plain"]
    updates = [call.args[0]["text/plain"] for call in display.return_value.update.mock_calls]
    assert first == updates[-1] == "Training: 3 steps"
    assert "Training:" in updates[0] and "0/3" in updates[0]


def test_progress_that_is_interrupted_keeps_its_bar() -> None:
    with patch("attention_core.lesson.display") as display:
        for step in progress(1000, "Training"):
            if step == 5:
                break
    assert "1000 steps" not in str(display.return_value.update.mock_calls)


def test_progress_works_without_a_notebook() -> None:
    with patch("attention_core.lesson.display", return_value=None):
        assert list(progress(3, "Training")) == [0, 1, 2]


def test_a_picture_of_a_trained_model_is_marked() -> None:
    bars = ([1.0, 2.0], ["a", "b"], "q")
    for trained in (False, True):
        picture = shown(show, score_bars, *bars, trained=trained)[0]
        assert picture["metadata"]["image/png"].get("trained", False) is trained


def test_the_canvas_is_live_beside_its_still(qkv) -> None:
    (q, k, v), steps = qkv, attend(*qkv)
    picture, below = shown(show, canvas, q, k, v, steps, stage=1)
    drawn = canvas(q, k, v, steps, stage=1)
    data, metadata = svg.still(drawn)
    about = picture.pop("metadata")
    assert picture == data | {"text/html": drawn.svg} and about == metadata
    assert about["image/png"]["alt"] == picture["text/plain"] == drawn.words
    assert drawn.words in below["text/html"]


def test_without_the_tools_that_build_the_course_the_canvas_is_live_all_the_same(qkv, monkeypatch) -> None:
    monkeypatch.setattr(svg, "find_spec", lambda _: None)
    picture, _ = shown(show, canvas, *qkv, attend(*qkv))
    assert "<svg" in picture["text/html"] and "image/png" not in picture


def test_predict_unanswered_shows_the_question_and_folds_the_answer() -> None:
    [output] = shown(predict, "Which key < 2?", ..., 1)
    assert "Your prediction?" in output["text/plain"]
    assert "Which key &lt; 2?" in output["text/html"]
    assert "<details><summary>Show the answer</summary>" in output["text/html"]


def test_predict_right_wrong_and_hint() -> None:
    assert "right" in said(predict, "?", 1, np.int64(1))
    assert "not so. Look again." in said(predict, "?", 2, 1, {2: "Look again."})
    assert "not so. Compare it" in said(predict, "?", 3, 1, {2: "Look again."})


@pytest.mark.parametrize(
    ("guess", "answer"),
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
    ],
)
def test_predict_accepts_what_means_the_same(guess, answer) -> None:
    assert ": right." in said(predict, "?", guess, answer)


@pytest.mark.parametrize(
    ("guess", "answer"),
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
    ],
)
def test_predict_refuses_what_does_not(guess, answer) -> None:
    assert ": not so." in said(predict, "?", guess, answer)


def test_predict_accepts_two_decimals() -> None:
    assert "right" in said(predict, "?", 0.39, 0.386613)
    assert "not so" in said(predict, "?", 0.38, 0.386613)
    assert "right" in said(predict, "?", 2.72, 2.718282)


def test_check_unanswered_right_and_wrong() -> None:
    assert "Not answered yet" in said(check, ..., [1.0])
    assert said(check, [0.3866, 0.267], np.array([0.386613, 0.267047])) == "Correct."
    assert "shape should be (2,), and yours is (3,)" in said(check, [1, 2, 3], [1, 2])
    assert "The numbers are right. The shape should be (1, 2)" in said(check, [1, 2], [[1, 2]])
    assert "largest difference is 0.5000 at index [1]" in said(check, [1, 2.5], [1, 2])


@pytest.mark.parametrize("answer", ["text", None, [[1], [2, 3]], object()])
def test_check_says_when_an_answer_is_no_array_of_numbers(answer) -> None:
    assert said(check, answer, [1.0]).startswith("Not yet. An array of numbers is expected")


def test_check_asks_for_one_step_of_an_attention(qkv) -> None:
    assert "take one of them, such as .output" in said(check, attend(*qkv), attend(*qkv).output)


def test_check_reads_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    assert said(check, torch.tensor([0.25, 0.75], requires_grad=True), np.array([0.25, 0.75])) == "Correct."
    assert said(check, torch.tensor([0.25], dtype=torch.bfloat16), np.array([0.25])) == "Correct."
    rows = [torch.tensor([0.25, 0.75], requires_grad=True) for _ in range(2)]
    assert said(check, rows, np.array([[0.25, 0.75]] * 2)) == "Correct."
    assert said(check, [*rows, rows[0][:1]], 1.0).startswith("Not yet. An array of numbers is expected")


def test_a_prediction_may_be_a_torch_tensor() -> None:
    torch = pytest.importorskip("torch")
    assert ": right." in said(predict, "?", torch.tensor(True), "yes")
    assert ": not so." in said(predict, "?", torch.tensor(False), "yes")
    assert ": right." in said(predict, "?", torch.tensor(0.39, requires_grad=True), 0.386613)


def test_check_finds_the_difference_beside_infinities() -> None:
    expected = np.array([[0.5, -np.inf], [1.0, 2.0]])
    assert "is 1.0000 at index [1, 0]: yours is 2.0000" in said(check, [[0.5, -np.inf], [2, 2]], expected)
    assert "is inf at index [0, 1]: yours is 0.0000" in said(check, [[0.5, 0.0], [1.5, 2.0]], expected)
    assert "is nan at index [1, 1]: yours is nan" in said(check, [[0.5, -np.inf], [9, np.nan]], expected)


def test_each_typical_mistake_has_its_hint(qkv) -> None:
    q, k, v = qkv
    mask = np.array([[True, True, False]])
    right = attend(q, k, v, mask=mask)

    def hint(answer, step, **options) -> str:
        expected = getattr(attend(q, k, v, **options), step)
        return said(check, answer, expected, attention_hints(step, q, k, v, **options))

    unscaled = attend(q, k, v, scale=1.0)
    assert "√d_k is missing" in hint(unscaled.scores, "scores")
    assert "not by d_k" in hint(unscaled.scores / 4, "scores")
    assert "not divided" in hint(attend(q, k, v).scores, "scores", scale=1.0)
    assert "Transposed" in hint(attend(q, k, v).scores.T, "scores")
    assert "√d_k is missing" in hint(unscaled.weights, "weights")
    assert "wrong axis" in hint(softmax(right.scores, axis=-2), "weights")
    assert "mask is missing" in hint(attend(q, k, v).weights, "weights", mask=mask)
    assert "wrong way round" in hint(attend(q, k, v, mask=~mask).output, "output", mask=mask)
    assert hint(right.output, "output", mask=mask) == "Correct."


def test_attention_hints_refuses_an_unknown_step(qkv) -> None:
    with pytest.raises(ValueError, match='"scores", "weights" or "output", got \'score\''):
        attention_hints("score", *qkv)


def test_show_gives_the_picture_the_words_and_their_fold() -> None:
    picture, words = shown(show, score_bars, np.array([0.0, 1.0]), ["it", "<b>"], "it")
    alt = picture["metadata"]["image/png"]["alt"]
    assert picture["text/plain"] == alt and "1 on <b>" in alt
    assert "&lt;b&gt;" in words["text/html"] and "<details>" in words["text/html"]


def test_show_source_leaves_out_the_docstring() -> None:
    code = said(show_source, attend)
    assert code.startswith("def attend(") and "return Attention(" in code and '"""' not in code


def test_show_published_marks_an_erratum() -> None:
    [table] = shown(show_published, load("one-query"))
    assert "✗ **erratum**" in table["text/markdown"] and "✓ reproduced" in table["text/markdown"]


def test_show_published_refuses_an_unknown_quantity() -> None:
    with pytest.raises(ValueError, match="expected published quantities of one-query"):
        show_published(load("one-query"), "no such quantity")


def test_rows_of_several_examples_stand_under_their_names() -> None:
    rows = [*compare(load("dot-product")), *compare(load("softmax-ratios"))]
    assert "**dot-product**" in said(show_rows, rows) and "**softmax-ratios**" in said(show_rows, rows)
    assert "**dot-product**" not in said(show_rows, rows[:1])


def test_show_statements_gives_the_verdict_and_its_numbers() -> None:
    [table] = shown(show_statements, load("heads-in-memory"), load("gpt3-width"))
    assert "**false**" in table["text/markdown"] and "strides = [5120, 64, 512, 1]" in table["text/markdown"]
    assert "d_k = 128" in table["text/plain"] and "<br>" not in table["text/plain"]
    link = "[06 A split moves nothing](06_multi_head.ipynb#A-split-moves-nothing)"
    assert f"| {link} |" in table["text/markdown"]


def test_show_statements_of_one_source() -> None:
    [table] = shown(show_statements, load("heads-in-memory"), load("gpt3-width"), source="S0")
    assert "In GPT-3" in table["text/plain"] and "strides" not in table["text/plain"]


def test_show_table_keeps_a_bar_inside_its_cell() -> None:
    [table] = shown(show_table, ("name", "size"), [("|a|", 3)])
    assert table["text/markdown"] == "| name | size |\n| --- | --- |\n| \\|a\\| | 3 |"
    assert table["text/plain"] == "name | size\n|a| | 3"
