"""The canvas answers in a browser: to the mouse, to the keyboard, on wide and narrow pages."""

import re
from hashlib import sha256

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page

from attention_core import attend
from attention_core.figures import gallery, svg
from attention_core.figures.canvas import canvas
from attention_core.worked import load
from tests.browser.lab import Lab, python

pytestmark = pytest.mark.xdist_group("browser")
ONE = {name: load("one-query")[name] for name in "qkv"}
PRODUCTS = "q · k1 = 1·0.2 + 0·0.9 + 0.5·0.1 + 0.2·0.4 = 0.33"


@pytest.fixture(scope="module")
def page(browser: Browser) -> Page:
    """Return a page with two copies of one canvas, which must not disturb each other."""
    opened = browser.new_page(viewport={"width": 900, "height": 900})
    one = canvas(**ONE, steps=attend(**ONE), stage=1, picked=("scores", 0, 0))
    opened.set_content(f"<div id=a>{one.svg}</div><div id=b>{one.svg}</div>")
    return opened


def visible(picture: Locator) -> list[str]:
    seen = "s => getComputedStyle(s).visibility === 'visible'"
    return [s.text_content() or "" for s in picture.locator(".sum").all() if s.evaluate(seen)]


def visible_sums(page: Page, copy: str) -> list[str]:
    return visible(page.locator(f"#{copy}"))


def outlined(page: Page, copy: str) -> set[str]:
    """Return the classes of all groups whose rectangle has a thick edge."""
    thick = "e => [...e.querySelectorAll('rect')].some(r => parseFloat(getComputedStyle(r).strokeWidth) > 2)"
    groups = page.locator(f"#{copy} g[class]:has(> rect)").all()
    return {group.get_attribute("class") or "" for group in groups if group.evaluate(thick)}


def test_at_rest_the_picked_cell_is_written_out(page: Page) -> None:
    page.mouse.move(0, 0)
    assert len(visible_sums(page, "a")) == 1
    assert {"q0", "k0"} < outlined(page, "a")


@pytest.mark.parametrize("how", ["hover", "focus"])
def test_a_cell_shows_its_products_and_what_meets_in_it(page: Page, how: str) -> None:
    cell = page.locator("#a .scores.r0.c1")
    cell.locator("> rect").hover(position={"x": 5, "y": 5}) if how == "hover" else cell.focus()
    dot = (ONE["q"] @ ONE["k"].T)[0, 1]
    (said,) = visible_sums(page, "a")
    assert said == PRODUCTS and float(said.rsplit("= ")[-1]) == pytest.approx(dot)
    assert {name.split()[0] for name in outlined(page, "a")} == {"cell", "q0", "k1"}
    assert visible_sums(page, "b") != [said]  # the other copy is at rest
    cell.blur()


def test_tab_goes_from_cell_to_cell(page: Page) -> None:
    page.mouse.move(0, 0)
    page.locator("#a .scores.r0.c0").focus()
    page.keyboard.press("Tab")
    assert visible_sums(page, "a") == [PRODUCTS]


LABELLED = ["苹果吃我爱苹果", "שלום", "👩‍🚀 word"]
CANVASES = {
    **gallery.CANVASES,
    "canvas_of_labels": lambda: canvas(**ONE, steps=attend(**ONE), keys=LABELLED, picked=("weights", 0, 1)),
}


@pytest.mark.parametrize("width", [1280, 900, 600, 390])
@pytest.mark.parametrize("name", CANVASES)
def test_nothing_is_cut_and_nothing_scrolls_sideways(browser: Browser, width: int, name: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_content(CANVASES[name]().svg)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    cut = """() => {
        const svg = document.querySelector('svg').getBoundingClientRect()
        return [...document.querySelectorAll('svg text')].filter(t => {
            const box = t.getBoundingClientRect()
            const wide = box.left < svg.left - 1 || box.right > svg.right + 1
            return wide || box.top < svg.top - 1 || box.bottom > svg.bottom + 1
        }).map(t => t.textContent)
    }"""
    assert page.evaluate(cut) == []
    page.close()


def test_numbers_keep_their_order_beside_a_label_from_right_to_left(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content(canvas(**ONE, steps=attend(**ONE), stage=1, keys=["שלום", "b", "c"]).svg)
    where = "t => [...'0123'].map((_, i) => t.getExtentOfChar(t.textContent.indexOf('·0.') + 1 + i).x)"
    x = page.locator(".scores.r0.c0 .sum text").evaluate(where)
    assert x == sorted(x) and len(set(x)) > 2
    page.close()


def test_the_tests_see_a_cut_label(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    svg = canvas(**ONE, steps=attend(**ONE)).svg
    page.set_content(re.sub('style="max-width:100%;height:auto"', "", svg))
    assert not page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


def test_in_jupyterlab_it_is_live_and_its_still_is_the_same_picture(browser: Browser, lab: Lab) -> None:
    setup = """
from base64 import b64decode
from hashlib import sha256
from attention_core import attend
from attention_core.figures import canvas
from attention_core.lesson import show
from attention_core.live import AttentionView, show_live
from attention_core.worked import load
one = load("one-query")
q, k, v = one["q"], one["k"], one["v"]
view = AttentionView()
"""
    page = lab.open(browser, [setup, "show(canvas, q, k, v, attend(q, k, v), stage=1)", "show_live(view)"])
    shown = page.locator(".jp-OutputArea svg.canvas")
    shown.nth(1).wait_for()
    shown.first.locator(".scores.r0.c1 > rect").hover(position={"x": 5, "y": 5})
    assert visible(shown.first) == [PRODUCTS]
    opening = shown.nth(1).evaluate("e => new XMLSerializer().serializeToString(e)")
    data = python(page, "print(sha256(b64decode(view.bundle()[0]['image/png'])).hexdigest())")
    drawn = svg.png(svg.Picture(opening, "", 0, 0))
    assert drawn is not None and sha256(drawn).hexdigest() == data
    page.close()


def test_many_cells_are_drawn_in_time_for_a_reader(browser: Browser) -> None:
    """Seven tokens: 126 cells that answer, and each says its own sum."""
    x = np.eye(7)
    page = browser.new_page()
    page.set_content(canvas(x, x, x, attend(x, x, x)).svg)
    assert page.locator(".cell").count() == 3 * 49
    page.locator(".weights.r3.c5 > rect").last.hover(position={"x": 5, "y": 5})
    assert page.locator(".weights.r3.c5 .sum").is_visible()
    page.close()
