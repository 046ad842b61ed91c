"""On a wide page and on a narrow one every view is whole: nothing cut, nothing that scrolls sideways."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import python

pytestmark = pytest.mark.xdist_group("browser")
WIDTHS = [1280, 900, 600, 390]


@pytest.fixture(autouse=True)
def as_wide_as_before(page: Page) -> Iterator[None]:
    before = page.viewport_size
    yield
    assert before is not None
    page.set_viewport_size(before)
    python(page, "for view in views: view.preset = next(iter(view.presets))")


# What is wrong with the layout of the page's views, in words.
WRONG = """() => {
    const wrong = [];
    const pen = document.createElement('canvas').getContext('2d');
    const inside = (box, frame) => box.left >= frame.left - 1 && box.right <= frame.right + 1;
    document.querySelectorAll('.attention-view').forEach((view, at) => {
        const say = (what, element) => wrong.push(
            `${what}: view ${at}, ${element.tagName} ${(element.getAttribute('class') || '').slice(0, 60)} ` +
            `${element.value || element.textContent.slice(0, 40)}`);
        const frame = view.getBoundingClientRect();
        for (let up = view; up !== document.documentElement; up = up.parentElement)
            if (up.scrollWidth > up.clientWidth + 1 && getComputedStyle(up).overflowX !== 'visible'
                && !up.matches('.attention-view *'))
                say('scrolls sideways', up);
        for (const element of view.querySelectorAll('div, svg, button, label, input, select')) {
            const box = element.getBoundingClientRect(), style = getComputedStyle(element);
            if (!box.width || style.clipPath !== 'none') continue;
            if (!inside(box, frame)) say('cut by the page', element);
            if (/auto|scroll/.test(style.overflowX + style.overflowY)
                && (element.scrollWidth > element.clientWidth + 1
                    || element.scrollHeight > element.clientHeight + 1)) say('scrolls', element);
        }
        for (const control of view.querySelectorAll('.attention-quiet input:not([type=checkbox]), select')) {
            const style = getComputedStyle(control);
            pen.font = style.font;
            const said = control.matches('input') ? control.value : control.selectedOptions[0].textContent;
            const room = control.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
            if (control.getClientRects().length && pen.measureText(said).width > room + 1)
                say(control.matches('input') ? 'hides digits' : 'cuts its choice', control);
        }
        const svg = view.querySelector('svg').getBoundingClientRect();
        for (const text of view.querySelectorAll('svg text')) {
            const box = text.getBoundingClientRect();
            const tall = box.top >= svg.top - 1 && box.bottom <= svg.bottom + 1;
            if (!inside(box, svg) || !tall) say('cut by its picture', text);
        }
    });
    return wrong;
}"""


def show(page: Page, width: int, preset: int = 0) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    python(
        page, f"for view in views: view.preset = [*view.presets, *view.presets][{preset} % len(view.presets)]"
    )
    said = python(page, "print(*[view.words for view in views], sep='|')").split("|")
    page.wait_for_function(SHOWN, arg=said)
    page.wait_for_timeout(300)


SHOWN = """said => [...document.querySelectorAll('.attention-view svg')]
    .every((svg, at) => svg.getAttribute('aria-label') === said[at])"""


@pytest.mark.parametrize("width", WIDTHS)
def test_every_view_is_whole(page: Page, width: int) -> None:
    show(page, width)
    assert page.evaluate(WRONG) == []


@pytest.mark.parametrize("preset", [1, 2, 3])
def test_every_preset_is_whole_on_a_phone(page: Page, preset: int) -> None:
    show(page, WIDTHS[-1], preset)
    assert page.evaluate(WRONG) == []


@pytest.mark.parametrize(
    ("style", "what"),
    [
        (".attention-view .widget-hbox { flex-wrap: nowrap !important }", "cut by the page"),
        (".attention-view .widget-box { overflow: auto !important; height: 90px !important }", "scrolls"),
        (".attention-view input { max-width: 12px !important }", "hides digits"),
        (".attention-view select { max-width: 60px }", "cuts its choice"),
        (".attention-view svg text { transform: translate(0, -60px) }", "cut by its picture"),
        (".attention-view svg { width: 2000px; max-width: none !important }", "scrolls sideways"),
    ],
)
def test_a_fault_would_be_seen(page: Page, style: str, what: str) -> None:
    show(page, WIDTHS[-1])
    spoiled = page.add_style_tag(content=style)
    assert any(found.startswith(what) for found in page.evaluate(WRONG))
    spoiled.evaluate("style => style.remove()")


def test_a_bad_box_is_outlined(page: Page) -> None:
    show(page, WIDTHS[0])
    box = page.locator(".attention-view").first.get_by_label("q[0, 0]", exact=True)
    edge = "box => getComputedStyle(box).borderStyle + getComputedStyle(box).borderWidth"
    assert box.evaluate(edge) == "solid1px"
    box.fill("x")
    expect(page.locator(".attention-view").first.get_by_role("alert")).to_be_visible()
    assert box.evaluate(edge) == "dashed2px"
    box.fill("1")
