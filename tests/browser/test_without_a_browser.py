"""Without a browser the tests here are skipped aloud; under CI that is a failure."""

import os
import subprocess
import sys

import pytest

from tests.browser.lab import MISSING, ROOT, needed_chromium

ONE = "tests/browser/test_live_views.py::test_every_slider_has_the_name_of_its_label"


def test_it_is_skipped_aloud() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    only_ours = ["--noconftest", "-p", "tests.browser.conftest"]  # the others import every array library
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *only_ours, ONE],
        env={**environment, "CHROMIUM": "no-such-browser"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0 and "1 skipped" in done.stdout and f"SKIPPED: {MISSING}" in done.stdout


def test_under_ci_it_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMIUM", "no-such-browser")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="under CI a browser must be there"):
        needed_chromium()
