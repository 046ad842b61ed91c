"""How long from a slider's move to a changed picture? Prints a table; no test, since machines differ.

    python -m tests.benchmarks.bench_live

Every live view, and `interact` with matplotlib on the job of the first one, in one JupyterLab and
browser: 50 moves by arrow key each, from the key to the changed page (median and 95th percentile).
"""

import os
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from playwright.sync_api import Browser, Locator, Page

from tests.browser.lab import Lab, chromium, find_chromium, jupyterlab, python

MOVES = 50
MEDIAN, P95, FASTER = 55, 100, 4  # milliseconds, milliseconds, times: what the views must hold
VIEWS = ["Attention", "DotProduct", "Scaling", "Softmax", "Values", "ItAnimal", "Heads", "Mask", "Regression"]
VIEWS += ["Ledger"]
SECOND = ("Heads", "Mask")  # here the second slider has room for every move

SETUP = f"""
from attention_core.live import *
views = [{", ".join(f"{name}View()" for name in VIEWS)}]
views[5].asking = 0
views[6].n_heads = 8  # then every move of the second slider picks another head
views[7].offset = -5  # and every move of this one allows more keys
views[9].tile_k = 1
"""
INTERACT = """
%matplotlib inline
import matplotlib.pyplot as plt
from ipywidgets import FloatSlider, interact
from attention_core import attend, attention_scores
from attention_core.worked import load

example = load("one-query")

def show(q0):
    q = example["q"].copy()
    q[0, 0] = q0
    steps = attend(q, example["k"], example["v"])
    dots = attention_scores(q, example["k"], scale=1.0)
    figure, axes = plt.subplots(1, 4, figsize=(8, 1.6))
    named = {"QKᵀ": dots, "scores": steps.scores, "weights": steps.weights, "output": steps.output}
    for ax, (name, values) in zip(axes, named.items()):
        ax.imshow(values, cmap="Purples")
        ax.set_title(name)
        for j, value in enumerate(values[0]):
            ax.text(j, 0, f"{value:.4f}", ha="center", va="center")
    plt.show()

interact(show, q0=FloatSlider(1.0, min=-2, max=2, step=0.05));
"""

# Notes when a key goes down, and when the picture (its words, or the image's data) has changed.
WATCH = """([cell, picture]) => {
    const area = document.querySelectorAll('.jp-CodeCell')[cell];
    const look = () => {
        const found = area.querySelector(picture);
        return found && (found.getAttribute('aria-label') || found.src);
    };
    window.watched = { down: null, took: null, before: look() };
    window.addEventListener('keydown', () => { window.watched.down = performance.now() }, true);
    new MutationObserver(() => {
        const now = look();
        if (window.watched.down === null || !now || now === window.watched.before) return;
        window.watched.took = performance.now() - window.watched.down;
        window.watched.before = now;
        window.watched.down = null;
    }).observe(area, { childList: true, subtree: true, attributes: true });
}"""


class Timing(NamedTuple):
    """Milliseconds of one kind of view."""

    name: str
    median: float
    p95: float

    @classmethod
    def of(cls, name: str, times: list[float]) -> "Timing":
        return cls(name, median(times), quantiles(times, n=20)[-1])


def measure(page: Page, cell: int, picture: str, slider: Locator, moves: int) -> list[float]:
    """Press an arrow key again and again, each time when the picture has changed."""
    slider.scroll_into_view_if_needed()
    page.evaluate(WATCH, [cell, picture])
    slider.focus()
    times = []
    for move in range(moves):
        page.evaluate("() => { window.watched.took = null }")
        page.keyboard.press("ArrowRight" if move % 10 < 5 else "ArrowLeft")
        page.wait_for_function("() => window.watched.took !== null", polling=10)
        times.append(float(page.evaluate("() => window.watched.took")))
        page.wait_for_timeout(50)
    return times


def measure_all(lab: Lab, browser: Browser, moves: int = MOVES) -> tuple[list[Timing], Timing, str]:
    """Return the timing of each view and that of `interact`, and the versions of ipywidgets and IPython."""
    page = lab.open(browser, [SETUP, *(f"show_live(views[{i}])" for i in range(len(VIEWS))), INTERACT])
    page.wait_for_function(f"() => document.querySelectorAll('.attention-view svg').length === {len(VIEWS)}")
    timings = []
    for i, name in enumerate(VIEWS):
        sliders = page.locator(".attention-view").nth(i).locator(".noUi-handle:visible")
        times = measure(page, i + 1, ".attention-view svg", sliders.nth(int(name in SECOND)), moves)
        timings.append(Timing.of(f"{name}View", times))
    slider = page.locator(".jp-CodeCell").nth(len(VIEWS) + 1).locator(".noUi-handle")
    times = measure(page, len(VIEWS) + 1, "img", slider, moves)
    versions = python(page, "import ipywidgets, IPython; print(ipywidgets.__version__, IPython.__version__)")
    return timings, Timing.of("interact + matplotlib", times), versions


def main() -> int:
    path = find_chromium()
    if path is None:
        print("No Chromium, Chrome or Edge was found; install one, or set CHROMIUM to its path.")
        return 1
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        jupyterlab(Path(folder)) as lab,
        chromium(path) as browser,
    ):
        report(*measure_all(lab, browser))
    return 0


def report(timings: list[Timing], rival: Timing, versions: str) -> None:
    ipywidgets, ipython = versions.split()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"ipywidgets {ipywidgets}, IPython {ipython}, {os.cpu_count()} CPUs{load}")
    print(f"{'':<22} {'median':>8} {'p95':>8}")
    for timing in [*timings, rival]:
        held = "" if timing is rival or (timing.median <= MEDIAN and timing.p95 <= P95) else "  too slow"
        print(f"{timing.name:<22} {timing.median:>5.0f} ms {timing.p95:>5.0f} ms{held}")
    print(f"wanted: at most {MEDIAN} ms and {P95} ms, and at least {FASTER} times faster than interact")
    print(f"the first view is {rival.median / timings[0].median:.1f} times faster than interact")


if __name__ == "__main__":
    sys.exit(main())
