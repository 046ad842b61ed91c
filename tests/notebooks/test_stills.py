"""nbval compares what a build stores, and no less."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat

from tools.stored import WIDGET_VIEW, keep_stills

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "-m pytest -p tests.notebooks.stills --nbval --nbval-current-env -p no:cacheprovider -rfp"
CELLS = {  # what a cell shows, and what is stored of it
    'display({"image/png": "AAAA", "text/html": "<svg/>", "text/plain": "0.31"}, raw=True)': {
        "image/png": "AAAA",
        "text/plain": "0.31",
    },
    'display({"image/png": "AAAA", "text/plain": "0.31"}, raw=True)': {
        "image/png": "AAAA",
        "text/plain": "0.32",
    },
    'display({"text/html": "0.31"}, raw=True)': {"text/html": "0.32"},
}


def test_a_live_svg_is_no_difference_and_other_numbers_are(tmp_path: Path) -> None:
    cells = [
        nbformat.v4.new_code_cell(
            f"from IPython.display import display\n{code}",
            execution_count=n,
            outputs=[nbformat.v4.new_output("display_data", data=stored)],
        )
        for n, (code, stored) in enumerate(CELLS.items(), start=1)
    ]
    path = tmp_path / "stills.ipynb"
    path.write_text(nbformat.writes(nbformat.v4.new_notebook(cells=cells)), encoding="utf-8")
    command = [sys.executable, *COMMAND.split(), str(path)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    verdicts = re.findall(r"^(PASSED|FAILED) .*::Cell (\d)", told, re.MULTILINE)
    assert sorted(verdicts, key=lambda verdict: verdict[1]) == [
        ("PASSED", "0"),
        ("FAILED", "1"),
        ("FAILED", "2"),
    ]


def test_only_what_is_live_goes() -> None:
    words, picture = {"text/html": "<b>", "text/plain": "x"}, {"image/png": "AAAA", "text/plain": "x"}
    for kept, live in ((words, WIDGET_VIEW), (picture, WIDGET_VIEW), (picture, "text/html")):
        data = kept | {live: "live"}
        keep_stills(data)
        assert data == kept
