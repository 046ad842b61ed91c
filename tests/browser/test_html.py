"""An exported page on a phone and on a wide screen, light and dark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from tools import html

pytestmark = pytest.mark.xdist_group("browser")
FIRST = "tr:first-child > td:first-child"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return html.write(["15"], tmp_path_factory.mktemp("html"))[0]  # code, pictures and wide tables


@pytest.fixture(params=[(390, "light"), (1280, "dark")], ids=["phone, light", "wide, dark"])
def page(request: pytest.FixtureRequest, browser: Browser, file: Path) -> Iterator[Page]:
    width, scheme = request.param
    opened = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened.goto(file.as_uri())
    yield opened
    opened.close()


def test_the_page_does_not_scroll_sideways(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_long_code_scrolls(page: Page) -> None:
    page.evaluate("document.querySelector('.highlight pre').textContent = 'x = 1 + '.repeat(99)")
    code = page.locator(".highlight pre").first
    assert code.evaluate("e => { e.scrollLeft = 500; return e.scrollLeft }") == 500


def test_tables_stack_on_a_phone(page: Page) -> None:
    narrow = page.viewport_size is not None and page.viewport_size["width"] < 640
    places = "r => [...r.cells].map(c => c.getBoundingClientRect().left)"
    lefts = page.locator("tbody tr").first.evaluate(places)
    assert (len(set(lefts)) == 1) is narrow
    label = page.locator(FIRST).first.evaluate("c => getComputedStyle(c, '::before').content")
    assert (label == 'attr(data-label) ": "' or ": " in label) is narrow


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_code_can_be_read(browser: Browser, file: Path, scheme: Literal["light", "dark"]) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.goto(file.as_uri())
    faint = page.evaluate("""() => {
        const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
        const on = (color, below) => {
            canvas.fillStyle = below; canvas.fillRect(0, 0, 1, 1)
            canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1)
            const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(c =>
                (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
            return 0.2126 * r + 0.7152 * g + 0.0722 * b
        }
        const dark = matchMedia('(prefers-color-scheme: dark)').matches
        const back = dark ? '#121212' : '#ffffff'
        return [...document.querySelectorAll('p, td, .highlight span, pre')].filter(e => e.textContent.trim())
            .map(e => [on(getComputedStyle(e).color, back), on(back, back), e.textContent])
            .filter(([a, b]) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5)
            .map(([, , text]) => text)
    }""")
    assert faint == []
    page.close()
