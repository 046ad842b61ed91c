"""Predictions, checks, number format, figures with words."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

from attention_core import attend
from attention_core.figures import canvas, score_bars, svg
from attention_core.lesson import (
    check,
    in_print,
    predict,
    progress,
    show,
    show_rows,
    show_source,
    show_statements,
    show_table,
    start,
)
from attention_core.questions import NOT_YET, Answer, asks, exercise
from attention_core.worked import compare, load


@pytest.fixture(autouse=True)
def number_format():
    """Give numpy its own format back: `start` sets the course's for the whole process."""
    with np.printoptions():
        yield


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
    steps = attend(*qkv)
    picture, below = shown(show, canvas, *qkv, steps, stage=1)
    q, k, v = qkv
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


Q = np.array([[1.0, 0.0]])
K = np.array([[0.0, 1.0], [1.0, 0.0]])


@asks("Which key does *q* find?")
def found(Q, K):
    return Answer(int((Q @ K.T).argmax()), {"Key 0 has a 0 where `q` has a 1.": 0})


@exercise
def table(Q, K):
    return Answer(Q @ K.T, {"Turned.": K @ Q.T})


@pytest.fixture
def asking():
    """Let notebook 99 ask the two questions above."""
    module = SimpleNamespace(found=found, table=table)
    with patch.dict("sys.modules", {"attention_core.questions.n99": module}):
        start("99")
        yield
    start("")


@pytest.mark.usefixtures("asking")
def test_a_prediction_shows_the_question_what_is_wanted_and_folds_the_answer() -> None:
    [output] = shown(predict, "found", guess=...)
    assert "Write it in place of ... and run the cell again: a whole number." in output["text/plain"]
    assert "Which key does <i>q</i> find?" in output["text/html"]
    assert "<details><summary>Show the answer</summary><pre>1</pre>" in output["text/html"]


@pytest.mark.usefixtures("asking")
def test_a_prediction_is_right_or_gets_its_hint() -> None:
    assert "You guessed 1: right." in said(predict, "found", guess=1)
    [output] = shown(predict, "found", guess=0)
    assert "not so. Key 0 has a 0 where <code>q</code> has a 1." in output["text/html"]
    assert "not so. Compare it with the answer." in said(predict, "found", guess=7)


@pytest.mark.usefixtures("asking")
def test_an_exercise_is_open_wrong_or_right() -> None:
    assert said(check, "table", ...) == NOT_YET
    assert said(check, "table", K @ Q.T) == "Not yet. Turned."
    assert said(check, "table", Q @ K.T) == "Correct."


@pytest.mark.usefixtures("asking")
def test_an_unknown_question_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="notebook 99 asks found, table; got 'lost'"):
        predict("lost", guess=...)


def test_in_print_folds_what_is_printed_beside_what_is_computed() -> None:
    [output] = shown(in_print, "dot-product")
    assert output["text/html"].count("<details><summary>In print</summary><table>") == 1
    assert "<tr><td>dot product</td><td>32</td><td>32</td></tr>" in output["text/html"]
    assert output["text/plain"].endswith("dot product | 32 | 32")
    assert "erratum" not in said(in_print, "one-query")


def test_in_print_refuses_an_unknown_quantity() -> None:
    with pytest.raises(ValueError, match="expected published quantities of one-query"):
        in_print("one-query", "no such quantity")


def test_show_gives_the_picture_the_words_and_their_fold() -> None:
    picture, words = shown(show, score_bars, np.array([0.0, 1.0]), ["it", "<b>"], "it")
    alt = picture["metadata"]["image/png"]["alt"]
    assert picture["text/plain"] == alt and "1 on <b>" in alt
    assert "&lt;b&gt;" in words["text/html"] and "<details>" in words["text/html"]


def test_show_source_leaves_out_the_docstring() -> None:
    code = said(show_source, attend)
    assert code.startswith("def attend(") and "return Attention(" in code and '"""' not in code


def test_rows_of_several_examples_stand_under_their_names() -> None:
    rows = [*compare(load("dot-product")), *compare(load("softmax-ratios"))]
    assert "**dot-product**" in said(show_rows, rows) and "**softmax-ratios**" in said(show_rows, rows)
    assert "**dot-product**" not in said(show_rows, rows[:1])


def test_show_statements_gives_the_verdict_and_its_numbers() -> None:
    [table] = shown(show_statements, load("heads-in-memory"), load("gpt3-width"))
    assert "**false**" in table["text/markdown"] and "strides = [5120, 64, 512, 1]" in table["text/markdown"]
    assert "d_k = 128" in table["text/plain"] and "<br>" not in table["text/plain"]
    link = "[06 From small matrices to one](06_multi_head.ipynb#From-small-matrices-to-one)"
    assert f"| {link} |" in table["text/markdown"]


def test_show_statements_of_one_source() -> None:
    [table] = shown(show_statements, load("heads-in-memory"), load("gpt3-width"), source="S0")
    assert "In GPT-3" in table["text/plain"] and "strides" not in table["text/plain"]


def test_show_table_keeps_a_bar_inside_its_cell() -> None:
    [table] = shown(show_table, ("name", "size"), [("|a|", 3)])
    assert table["text/markdown"] == "| name | size |\n| --- | --- |\n| \\|a\\| | 3 |"
    assert table["text/plain"] == "name | size\n|a| | 3"


def test_arrays_read_as_they_are_meant() -> None:
    shell = InteractiveShell.instance()
    with patch("attention_core.lesson.get_ipython", return_value=shell):
        start("99", digits=3)
    try:
        formatter: Any = shell.display_formatter
        [data, _] = formatter.format((np.array([0.1 + 0.2, -1e-17]), np.array([2 / 3]), 1.0))
        assert data["text/plain"] == "(array([0.3, 0.0]), array([0.667]), 1.0)"
    finally:
        InteractiveShell.clear_instance()
        start("")
