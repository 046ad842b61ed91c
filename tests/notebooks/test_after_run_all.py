"""A notebook with one fault in each cell: nbval and what comes behind it tell them all."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.notebooks import after_run_all
from tests.pins import why_pictures_may_differ
from tools import build

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "-m pytest -p tests.notebooks.after_run_all --nbval --nbval-current-env -p no:cacheprovider -rfp"
SOURCE = """---
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
# 01 Faults

```{code-cell} ipython3
from IPython.display import display
import sys
from types import SimpleNamespace
from attention_core.questions import Answer, asks

sys.modules["torch"] = SimpleNamespace(Tensor=())
sys.modules["attention_core.questions.n01"] = SimpleNamespace(
    refused=asks("?")(lambda: Answer(float("nan"))),
    fair=asks("?")(lambda: Answer(1, {"one too many": 2})),
    spoiled=asks("?")(lambda: Answer(1, {"one too few": 1})),
)
asked = total = 0

def check(mine, right):
    display({"text/plain": "Correct." if mine == right else "Not yet."}, raw=True)

predict = check
```
```{code-cell} ipython3
1 + 2  # stored as 4
```

## Questions

```{code-cell} ipython3
predict(asked, 0); asked += 1  # not the same when asked again
```
```{code-cell} ipython3
mine = ...
check(mine, 3)  # the solution says 4
```

<details><summary>One solution</summary>

```python
mine = 4
```

</details>

```{code-cell} ipython3
mine = ...
check(mine, 4)
```

<details><summary>One solution</summary>

```python
mine = 4
```

</details>

## Pictures

```{code-cell} ipython3
display({"image/png": "AAAA"}, metadata={}, raw=True)  # stored with other pixels
```
```{code-cell} ipython3
display({"image/png": "AAAA"}, metadata={"image/png": {"trained": True}}, raw=True)  # so is this
```

## A name that changes

```{code-cell} ipython3
total
```
```{code-cell} ipython3
total = 1
```
"""


def shown(kind: str, data: str, **metadata: object) -> list[nbformat.NotebookNode]:
    return [nbformat.v4.new_output("display_data", data={kind: data}, metadata=metadata)]


STORED = [
    [],  # Colab's cell
    [],
    [nbformat.v4.new_output("execute_result", data={"text/plain": "4"})],
    shown("text/plain", "Correct."),
    shown("text/plain", "Not yet."),
    shown("text/plain", "Not yet."),
    shown("image/png", "BBBB"),
    shown("image/png", "BBBB", **{"image/png": {"trained": True}}),
    [nbformat.v4.new_output("execute_result", data={"text/plain": "0"})],
    [],
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the run of that notebook prints."""
    folder = tmp_path_factory.mktemp("notebooks")
    source = folder / "source" / "01_faults.md"
    source.parent.mkdir()
    source.write_text(SOURCE, encoding="utf-8")
    (folder / "01_faults.ipynb").write_text(build.written(source, STORED), encoding="utf-8")
    command = [sys.executable, *COMMAND.split(), str(folder / "01_faults.ipynb")]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout


def names(verdict: str, told: str) -> set[str]:
    return set(re.findall(rf"^{verdict} .*01_faults\.ipynb::(.*?)(?: - .*)?$", told, re.MULTILINE))


def test_each_fault_is_told(told: str) -> None:
    outdated = {"Cell 2", "Cell 2 in section 0"}
    again = {"Cell 3 asked again", "Cell 3 in section 1", "Cell 8 in section 3"}
    pixels = set() if why_pictures_may_differ() else {"as built"}
    assert names("FAILED", told) == outdated | again | pixels | {"Cell 4 solved", "fair", "without torch"}


def test_an_unfair_question_is_told_and_a_fair_one_is_not(told: str) -> None:
    assert "refused: the right answer is told 'Compare it with the answer.'" in told
    assert "spoiled: 'one too few' is wanted, 'Correct.' is said" in told
    assert "one too many' is wanted" not in told


def test_what_is_right_passes(told: str) -> None:
    right = {"Cell 3", "Cell 4", "Cell 4 asked again", "Cell 5 solved", "Cell 6", "Cell 7", "Cell 8"}
    assert right <= names("PASSED", told)


def test_pixels_are_compared_unless_a_model_has_learned_them(told: str) -> None:
    if reason := why_pictures_may_differ():
        pytest.skip(reason)
    assert "['Cell 2', 'Cell 6'] == []" in told


def test_a_test_that_is_gone_may_not_be_expected_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(after_run_all.NOT_YET, "01_faults", ["Cell 9 asked again"])
    with pytest.raises(pytest.UsageError, match="Cell 9 asked again"):
        after_run_all.expect_failures("01_faults", [])


def test_an_exercise_without_a_solution_stays_open() -> None:
    exercise = nbformat.v4.new_code_cell("mine = ...\ncheck(mine, 4)")
    assert after_run_all.solved(exercise, "No solution.").source == exercise.source
