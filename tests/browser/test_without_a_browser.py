"""Without a browser the tests here are skipped aloud; under CI that is a failure."""

import os
import subprocess
import sys

from tests.browser.lab import MISSING, ROOT

ONE = "tests/browser/test_live_views.py::test_every_slider_has_the_name_of_its_label"


def outcome(**variables: str) -> tuple[int, str]:
    """Run one browser test where no browser is to be found; return the exit status and what is said."""
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", ONE],
        env={**environment, "CHROMIUM": "no-such-browser", **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return done.returncode, done.stdout


def test_it_is_skipped_aloud() -> None:
    status, said = outcome()
    assert status == 0 and "1 skipped" in said and f"SKIPPED: {MISSING}" in said


def test_under_ci_it_is_a_failure() -> None:
    status, said = outcome(CI="true")
    assert status != 0 and "under CI a browser must be there" in said and "skipped" not in said.lower()
