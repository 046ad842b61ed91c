"""The live views in a real JupyterLab: mouse, keyboard, names, themes, bad input, no jumps."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from attention_core.figures.svg import STRONGEST
from tests.benchmarks.bench_live import VIEWS, measure_all, report
from tests.browser.lab import Lab, python
from tests.live.oracles import ATTACK, contrast

NAMES = [
    *("attention", "dot product", "scaling", "softmax", "values", "it-animal", "heads"),
    *("mask", "regression", "ledger"),
]
COPY = len(NAMES)  # the second view of the first kind
FOCUSABLE = "input:visible, select:visible, button:visible, .noUi-handle:visible"

pytestmark = pytest.mark.xdist_group("browser")  # one worker, with one JupyterLab, for all of them
each_view = pytest.mark.parametrize("at", range(len(NAMES)), ids=NAMES)


@pytest.fixture(autouse=True)
def as_new(page: Page) -> Iterator[None]:
    """Leave every view as it was found, and the page at rest."""
    yield
    python(
        page, "for view in views: view.preset = list(view.presets)[1]; view.preset = next(iter(view.presets))"
    )
    said = python(page, "print(*[view.words for view in views], sep='|')").split("|")
    page.wait_for_function(SHOWN, arg=said)


SHOWN = """said => [...document.querySelectorAll('.attention-view svg')]
    .every((svg, at) => svg.getAttribute('aria-label') === said[at])"""


def view(page: Page, at: int) -> Locator:
    found = page.locator(".attention-view").nth(at)
    found.scroll_into_view_if_needed()
    return found


def words(page: Page, at: int) -> str:
    """Return what the picture on the page says."""
    return view(page, at).locator("svg").get_attribute("aria-label") or ""


def wait_for_kernel(page: Page, at: int) -> None:
    """Wait until the page shows what the kernel holds, and compare that with plain numpy."""
    before = ""
    for _ in range(50):  # moves that wait for their turn may still be under way
        said = python(page, f"print(views[{at}].words)")
        if before == said == words(page, at):
            break
        before = said
        page.wait_for_timeout(100)
    assert words(page, at) == python(page, f"assert_same(views[{at}]); print(views[{at}].words)")


def wait_for_other(page: Page, at: int, before: str) -> None:
    expect(view(page, at).locator("svg")).not_to_have_attribute("aria-label", before)
    wait_for_kernel(page, at)


# --- moving things ----------------------------------------------------------------------------------


@each_view
def test_every_slider_moves_by_keyboard(page: Page, at: int) -> None:
    sliders = view(page, at).locator(".noUi-handle:visible")
    assert sliders.count()
    for slider in sliders.all():
        before = slider.get_attribute("aria-valuetext")
        at_its_end = slider.get_attribute("aria-valuenow") == slider.get_attribute("aria-valuemax")
        slider.focus()
        for _ in range(2):
            page.keyboard.press("ArrowLeft" if at_its_end else "ArrowRight")
        assert slider.get_attribute("aria-valuetext") != before
        wait_for_kernel(page, at)


@each_view
def test_a_slider_moves_by_mouse_and_python_reads_it(page: Page, at: int) -> None:
    slider, before = view(page, at).locator(".noUi-handle:visible").first, words(page, at)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 40 if NAMES[at] in ("mask", "it-animal") else x + 40, y, steps=8)  # at their ends
    page.mouse.up()
    if NAMES[at] == "heads":  # on the way it passed 3, which does not divide 8
        python(page, f"views[{at}].n_heads = 4")
    wait_for_other(page, at, before)


def test_typing_choosing_and_ticking_move_the_picture(page: Page) -> None:
    one = view(page, 0)
    for act in (
        lambda: one.get_by_label("q[0, 1]", exact=True).fill("1.5"),
        lambda: one.get_by_label("divide by √d_k").click(),
        lambda: one.get_by_label("block k1").click(),
        lambda: one.get_by_label("Preset").select_option("Three tokens, query 2"),
        lambda: one.get_by_label("block k0").click(),
    ):
        before = words(page, 0)
        act()
        wait_for_other(page, 0, before)


def test_a_cell_of_the_mask_is_ticked_by_keyboard(page: Page) -> None:
    before, cell = words(page, 7), view(page, 7).get_by_label("may see[2, 4]", exact=True)
    cell.focus()
    page.keyboard.press("Space")
    wait_for_other(page, 7, before)
    expect(cell).to_be_checked()
    expect(cell).to_be_focused()


def test_the_numbers_on_the_page_are_those_of_the_kernel(page: Page) -> None:
    view(page, 0).get_by_label("k[1, 1]", exact=True).fill("-0.7")
    view(page, 0).get_by_label("q[0, 1]", exact=True).fill("1")
    wait_for_kernel(page, 0)
    weights = python(page, "print(*[f'{w:.3f}' for w in views[0].weights[0]], sep='|')").split("|")
    assert view(page, 0).locator(".weights > text").all_text_contents() == weights


def test_python_moves_the_picture_and_the_boxes(page: Page) -> None:
    before = words(page, 0)
    python(page, "views[0].q = [[0.25, -1.0, 2.0, 0.0]]")
    wait_for_other(page, 0, before)
    expect(view(page, 0).get_by_label("q[0, 2]", exact=True)).to_have_value("2")


def test_two_copies_do_not_disturb_each_other(page: Page) -> None:
    before = words(page, COPY)
    view(page, 0).get_by_label("q[0, 0]", exact=True).fill("-2")
    wait_for_other(page, 0, before)
    assert words(page, COPY) == before
    expect(view(page, COPY).get_by_label("q[0, 0]", exact=True)).to_have_value("1")


def test_many_values_in_a_row_end_with_the_last(page: Page) -> None:
    # Each is off the slider's steps: what the slider reports of those before must not come back.
    python(page, "import time\nfor i in range(30): views[1].a_length = 1 + i / 29; time.sleep(.02)")
    python(page, "views[1].a_length = 1.2345")
    page.wait_for_timeout(1000)
    assert python(page, "print(views[1].a_length)") == "1.2345"
    wait_for_kernel(page, 1)


def test_a_preset_is_not_changed_by_being_drawn(page: Page) -> None:
    # A slider that is drawn reports the nearest of its steps, here 2.05 for 2.0616.
    assert python(page, "print(views[1].a.round(12), views[1].preset)") == "[2.  0.5] two vectors"


# --- bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["", "abc", "nan", "1e308", ATTACK])
def test_bad_input_gives_a_message_and_the_picture_stays(page: Page, typed: str) -> None:
    one, before = view(page, 0), words(page, 0)
    place = one.bounding_box()
    one.get_by_label("q[0, 0]", exact=True).fill(typed)
    expect(one.get_by_role("alert")).to_contain_text("type a number from −10 to 10")
    assert words(page, 0) == before and one.bounding_box() == place
    one.get_by_label("q[0, 0]", exact=True).fill("1")
    expect(one.get_by_role("alert")).to_have_count(0)
    assert_nothing_ran(page)


def test_labels_in_any_language_do_not_overlap(page: Page) -> None:
    it = view(page, 5)
    for token in [
        "注意力机制很好",
        "アテンション機",
        "주의집중하기",
        "🐶🐱🐭🐹🐰🦊",
        "שלוםשלום",
        "Zwölftonmusik",
    ]:
        before = words(page, 5)
        it.get_by_label("Tokens").fill(" ".join([token] * 7))
        wait_for_other(page, 5, before)
        columns = it.locator("svg > text").filter(has_text=token[0]).evaluate_all(PLACES)[:7]
        assert len(columns) == 7
        assert all(left[1] <= right[0] + 1 for left, right in pairwise(columns)), token


# Where each text begins and ends, from left to right.
PLACES = "texts => texts.map(text => text.getBoundingClientRect()).map(box => [box.left, box.right])"


def test_a_typed_tag_is_shown_as_text(page: Page) -> None:
    it = view(page, 5)
    it.get_by_label("Tokens").fill(f"{ATTACK.replace(' ', '/')} animal didn't cross the street it")
    expect(it.locator("svg text").filter(has_text="<im").first).to_be_visible()
    it.get_by_label("Tokens").fill("The animal didn't cross the street")
    expect(it.get_by_role("alert")).to_contain_text("needs 7 tokens")
    assert_nothing_ran(page)


def assert_nothing_ran(page: Page) -> None:
    assert page.locator(".attention-view img[src=x]").count() == 0


# --- keyboard, names, contrast ----------------------------------------------------------------------


@each_view
def test_tab_reaches_every_control_and_focus_is_visible(page: Page, at: int) -> None:
    controls = view(page, at).locator(FOCUSABLE)
    expected = controls.count()
    controls.first.focus()
    reached = set()
    for _ in range(expected + 5):
        reached.add(tuple(page.evaluate(FOCUSED, at)))
        page.keyboard.press("Tab")
    assert {number for number, _ in reached} >= set(range(expected))
    outlines = {outline for number, outline in reached if number >= 0}
    assert outlines == {"solid"}, "every control shows that it has the focus"


# Which of a view's controls has the focus (-1: none), and how its outline is drawn.
FOCUSED = f"""at => {{
    const visible = element => element.getClientRects().length > 0;
    const selector = {FOCUSABLE.replace(":visible", "")!r};
    const all = [...document.querySelectorAll('.attention-view')[at].querySelectorAll(selector)];
    const focused = document.activeElement;
    return [all.filter(visible).indexOf(focused), getComputedStyle(focused).outlineStyle];
}}"""


def serious(page: Page) -> list[str]:
    """Return what axe-core finds wrong in our views, of the two worst kinds."""
    found = Axe().run(page, context=".attention-view").response["violations"]
    return [
        f"{finding['id']}: {node['html'][:150]}"
        for finding in found
        if finding["impact"] in ("serious", "critical")
        for node in finding["nodes"]
    ]


@pytest.fixture(params=["Light", "Dark"])
def themed(page: Page, request: pytest.FixtureRequest) -> Iterator[Page]:
    change = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"
    page.evaluate(change, f"JupyterLab {request.param}")
    has_changed = "theme => document.body.dataset.jpThemeName === theme"
    page.wait_for_function(has_changed, arg=f"JupyterLab {request.param}")
    yield page
    page.evaluate(change, "JupyterLab Light")
    page.wait_for_function(has_changed, arg="JupyterLab Light")


def test_axe_finds_nothing_serious(themed: Page) -> None:
    assert serious(themed) == []


def test_axe_can_find_something(page: Page) -> None:
    handle = view(page, 0).locator(".noUi-handle").first
    name = handle.get_attribute("aria-label")
    handle.evaluate("handle => handle.removeAttribute('aria-label')")
    assert any(finding.startswith("aria-input-field-name") for finding in serious(page))
    handle.evaluate("(handle, name) => handle.setAttribute('aria-label', name)", name)


def test_every_slider_has_the_name_of_its_label(page: Page) -> None:
    handles = page.locator(".attention-view .noUi-handle")
    for handle in handles.all():
        name = handle.get_attribute("aria-label")
        assert name and name == handle.evaluate(
            "handle => handle.closest('.widget-slider').querySelector('label').textContent"
        )


def test_numbers_have_contrast_on_the_real_page(themed: Page) -> None:
    ink, paper = themed.evaluate(INK_AND_PAPER)
    assert min(contrast(fill, opacity, paper, ink) for fill, opacity in STRONGEST.items()) >= 4.5


# The colour of the pictures' text, and of the nearest background that is not transparent.
INK_AND_PAPER = """() => {
    const hex = color => '#' + color.match(/[\\d.]+/g).slice(0, 3)
        .map(part => Math.round(part).toString(16).padStart(2, '0')).join('');
    const over = (color, paper) => {
        const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number);
        const below = paper.match(/[\\d.]+/g).map(Number);
        return `rgb(${[r, g, b].map((part, i) => a * part + (1 - a) * below[i]).join(',')})`;
    };
    let element = document.querySelector('.attention-view svg');
    const ink = getComputedStyle(element).color;
    const clear = color => color === 'transparent' || /, 0\\)$/.test(color);
    while (clear(getComputedStyle(element).backgroundColor)) element = element.parentElement;
    const paper = getComputedStyle(element).backgroundColor;
    return [hex(over(ink, paper)), hex(paper)];
}"""


# --- no jumps, no gaps ------------------------------------------------------------------------------

# Looks at a view in every frame: how often its place changed, and how often its picture was missing.
WATCH = """at => {
    const view = document.querySelectorAll('.attention-view')[at];
    const place = () => JSON.stringify(view.getBoundingClientRect());
    window.seen = { frames: 0, jumps: 0, gaps: 0, shifts: 0, going: true };
    new PerformanceObserver(list => { window.seen.shifts += list.getEntries().length })
        .observe({ type: 'layout-shift' });
    const first = place();
    const look = () => {
        const picture = view.querySelector('svg');
        window.seen.frames += 1;
        window.seen.jumps += place() !== first;
        window.seen.gaps += !picture || picture.getBoundingClientRect().height < 50;
        if (window.seen.going) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
}"""


# Waits until nothing has changed in any view for a while: after a reset, tables of boxes are made anew,
# box by box. On a busy machine that takes long.
REST = """() => new Promise(done => {
    let timer;
    const finish = () => { observer.disconnect(); done() };
    const wait = () => { clearTimeout(timer); timer = setTimeout(finish, 1000) };
    const observer = new MutationObserver(wait);
    for (const view of document.querySelectorAll('.attention-view'))
        observer.observe(view, { childList: true, subtree: true, attributes: true });
    setTimeout(finish, 20000);
    wait();
})"""


def watched(page: Page, at: int, moves: Any) -> dict[str, int]:
    page.evaluate(REST)
    page.evaluate(WATCH, at)
    moves()
    page.wait_for_timeout(300)
    page.evaluate("() => { window.seen.going = false }")
    return dict(page.evaluate("() => window.seen"))


@each_view
def test_nothing_jumps_and_no_frame_is_blank(page: Page, at: int) -> None:
    slider = view(page, at).locator(".noUi-handle:visible").first
    slider.focus()

    def moves() -> None:
        for key in ["ArrowRight"] * 6 + ["ArrowLeft"] * 6:
            page.keyboard.press(key)
            page.wait_for_timeout(40)

    seen = watched(page, at, moves)
    assert seen["frames"] > 10
    assert (seen["jumps"], seen["gaps"], seen["shifts"]) == (0, 0, 0)


def test_a_jump_and_a_gap_would_be_seen(page: Page) -> None:
    view(page, 0)
    svg = view(page, 0).locator("svg")

    def spoil() -> None:
        svg.evaluate("svg => { svg.style.display = 'none' }")
        page.wait_for_timeout(100)
        svg.evaluate("svg => { svg.style.display = 'block' }")

    seen = watched(page, 0, spoil)
    assert seen["jumps"] and seen["gaps"] and seen["shifts"]


def test_the_arithmetic_of_a_number_is_shown_when_it_has_the_focus(page: Page) -> None:
    cell = view(page, 0).locator(".scores.r0.c1")
    expect(cell.locator(".sum")).to_be_hidden()
    cell.focus()
    expect(cell.locator(".sum")).to_be_visible()
    assert (cell.locator(".sum").text_content() or "").startswith("q · k1 = 1·0.2 + 0·0.9")
    cell.blur()


def test_the_benchmark_measures_every_view(
    browser: Browser, lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    report(*measure_all(lab, browser, moves=2))
    table = capsys.readouterr().out
    assert [line.split()[0] for line in table.splitlines()[2:12]] == [f"{name}View" for name in VIEWS]
    assert "interact + matplotlib" in table and "times faster" in table


def test_play_turns_b_until_it_is_stopped(page: Page) -> None:
    button, before = view(page, 1).get_by_role("button", name="turn b"), words(page, 1)
    assert button.count() == 1
    button.focus()
    page.keyboard.press("Enter")
    for _ in range(3):
        expect(view(page, 1).locator("svg")).not_to_have_attribute("aria-label", before)
        before = words(page, 1)
    page.keyboard.press("Enter")
    wait_for_kernel(page, 1)
    stopped = words(page, 1)
    page.wait_for_timeout(500)
    assert words(page, 1) == stopped
    slider = view(page, 1).locator(".noUi-handle").last
    assert float(slider.get_attribute("aria-valuetext") or "") == float(
        python(page, "print(views[1].b_angle)")
    )


def test_the_sliders_of_the_softmax_stand_under_their_columns(page: Page) -> None:
    columns = (
        "texts => texts.map(text => text.getBoundingClientRect()).map(box => (box.left + box.right) / 2)"
    )
    names = view(page, 3).locator("svg > text").filter(has_text=re.compile(r"^(The|animal|street|it)$"))
    handles = view(page, 3).locator(".noUi-vertical .noUi-handle")
    shown, under = names.evaluate_all(columns), handles.evaluate_all(columns)
    assert len(under) == 7 and len(shown) == 4
    assert [under[j] for j in (0, 1, 5, 6)] == pytest.approx(shown, abs=3)
