"""One JupyterLab and one browser for all tests here; skipped aloud where there is no browser."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.lab import MISSING, Lab, chromium, find_chromium, jupyterlab, needed_chromium

SETUP = """
import warnings
from attention_core.live import show_live
from tests.live.oracles import VIEWS, assert_same
views = [kind() for kind in [*VIEWS, VIEWS[0]]]  # the first one twice
"""
COUNT = 11


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if find_chromium() is None and not os.environ.get("CI"):
        terminalreporter.write_line(f"SKIPPED: {MISSING}.", yellow=True, bold=True)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium(needed_chromium()) as started:
        yield started


@pytest.fixture(scope="session")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with jupyterlab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="session")
def page(browser: Browser, lab: Lab) -> Page:
    """Return a page with all views, each below its own cell."""
    opened = lab.open(browser, [SETUP, *(f"show_live(views[{i}])" for i in range(COUNT))])
    opened.wait_for_function(f"() => document.querySelectorAll('.attention-view svg').length === {COUNT}")
    return opened
