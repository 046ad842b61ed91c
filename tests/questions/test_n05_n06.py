"""Every wrong answer of notebooks 05 and 06 is told what leads out of it, every right one is right."""

import re
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
import pytest

from attention_core.questions import Answer, Question, judge_exercise, judge_prediction, questions
from tools.build import code_cells

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
SHOWN = re.compile(r"^(?:show\w*|predict|check|in_print|start)\(.*?\)$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module", params=["05", "06"])
def asked(request: pytest.FixtureRequest) -> list[tuple[str, Question, Answer]]:
    """The questions of a notebook, answered with the names that its cells leave."""
    [path] = NOTEBOOKS.glob(f"{request.param}_*.ipynb")
    names: dict[str, Any] = {}
    with patch("attention_core.lesson.display"):
        for cell in code_cells(nbformat.read(path, as_version=4)):
            if "%" not in cell.source:  # Colab's cell
                exec(SHOWN.sub("", cell.source), names)
    return [(name, q, q.answered(names)) for name, q in questions(request.param).items()]


def test_what_is_right_is_right(asked: list[tuple[str, Question, Answer]]) -> None:
    for name, question, answer in asked:
        judge = judge_prediction if question.words else judge_exercise
        assert judge(answer.right, answer) == "", name


def test_each_mistake_meets_its_thought(asked: list[tuple[str, Question, Answer]]) -> None:
    for name, question, answer in asked:
        for thought, wrong in answer.wrong.items():
            said = (judge_prediction if question.words else judge_exercise)(wrong, answer)
            assert thought in said, f"{name}: {wrong} is told {said!r}, not {thought!r}"


def test_no_question_is_without_a_typical_mistake(asked: list[tuple[str, Question, Answer]]) -> None:
    assert [name for name, _, answer in asked if not answer.wrong] == []
