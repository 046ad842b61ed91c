"""The live views without a browser: what is typed, slid, ticked, set from Python, shown and kept."""

import io
import math
import re
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ipywidgets import HTML, Button, Checkbox, Dropdown, FloatLogSlider, FloatSlider, Text, Widget
from matplotlib.image import imread
from numpy.testing import assert_allclose

from attention_core import live, multi_head
from attention_core._numbers import number
from attention_core.live._shapes import SMALL, STRONGEST, text
from attention_core.live.drawings import Picked
from attention_core.live.number_controls import moved, parse
from attention_core.live.view import MY_EDIT, View

VIEWS = (
    live.AttentionView,
    live.DotProductView,
    live.ScalingView,
    live.SoftmaxView,
    live.ValuesView,
    live.ItAnimalView,
    live.HeadsView,
    live.MaskView,
    live.KernelView,
    live.LedgerView,
)
VIEW = "application/vnd.jupyter.widget-view+json"
ATTACK = '<img src=x onerror="alert(1)">'
IMPOSSIBLE = ["", "  ", "nan", "inf", "-inf", "1e308", "-1e308", "a", "1.2.3", "--1", "0x10", ATTACK]

CONTROLS = (Text, FloatSlider, FloatLogSlider, Dropdown, Checkbox, Button)

Kind = Callable[[], View]

every_view = pytest.mark.parametrize("kind", VIEWS, ids=lambda kind: kind.__name__)


def widgets_of(view: View, kind: type[Widget] | tuple[type[Widget], ...] = Widget) -> list[Any]:
    """Return every widget of a view, also those it does not show at the moment."""

    def walk(widget: Any) -> Iterator[Any]:
        yield widget
        for child in getattr(widget, "children", ()):
            yield from walk(child)

    tops = [view.box, *(c.widget for c in view.controls.values() if hasattr(c, "widget"))]
    found = {id(w): w for top in tops for w in walk(top)}
    return [widget for widget in found.values() if isinstance(widget, kind)]


def named(view: View, name: str, kind: type[Widget] = Text) -> Any:
    return next(widget for widget in widgets_of(view, kind) if widget.description == name)


def texts(drawn: str) -> list[str]:
    """Return every text that an SVG shows."""
    return [node.text or "" for node in ElementTree.fromstring(drawn).iter() if node.tag.endswith("text")]


# --- every view, whatever is done to it -------------------------------------------------------------


@every_view
def test_a_new_view_shows_its_first_example(kind: Kind) -> None:
    view = kind()
    root = ElementTree.fromstring(view.svg)
    assert view.message == "" and root.get("aria-label") == view.words
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    assert float(root.get("width", "")) <= 820, "the picture must fit into a page of 900 pixels"


def act(view: View, data: st.DataObject) -> None:
    """Do to one of the view's widgets what a learner could do."""
    widget = data.draw(st.sampled_from(widgets_of(view, CONTROLS)))
    typed = st.sampled_from(IMPOSSIBLE) | st.text(max_size=30) | st.floats(-12, 12).map(str)
    if isinstance(widget, Button):
        widget.click()
    elif isinstance(widget, Text):
        widget.value = data.draw(typed)
    elif isinstance(widget, Checkbox):
        widget.value = not widget.value
    elif isinstance(widget, Dropdown):
        widget.index = data.draw(st.integers(0, len(widget.options) - 1))
    else:
        at = data.draw(st.floats(widget.min, widget.max))
        widget.value = widget.base**at if isinstance(widget, FloatLogSlider) else at


@every_view
@given(data=st.data())
@settings(max_examples=10)
def test_nothing_is_raised_and_the_picture_keeps_its_size(kind: Kind, data: st.DataObject) -> None:
    view = kind()
    size = ElementTree.fromstring(view.svg).get("viewBox")
    for _ in range(data.draw(st.integers(1, 8))):
        act(view, data)
        root = ElementTree.fromstring(view.svg)
        assert root.get("viewBox") == size
        assert {float(n.get("font-size", SMALL)) >= SMALL for n in root.iter()} == {True}
        for shown in (*texts(view.svg), view.words):
            assert not re.search(r"\.\d{5}|\d{8}", shown), "not rounded"
        assert_same(view)
    assert live.bundle(view)


def assert_same(view: View) -> None:
    """Compare what a view holds with plain numpy."""
    if isinstance(view, live.AttentionView):
        scores = view.q @ view.k.T / (math.sqrt(view.q.shape[1]) if view.scaled else 1)
        weights = by_hand(np.where(view.blocked[: len(view.k)], -np.inf, scores))
        assert_allclose(view.weights, weights, atol=1e-12)
        assert_allclose(view.output, weights @ view.v, atol=1e-12)
    elif isinstance(view, live.DotProductView):
        assert_allclose(view.dot, view.a @ view.b, atol=1e-12)
    elif isinstance(view, live.ScalingView):
        d_k = int(view.d_k)
        q, k = np.random.default_rng(0).standard_normal((2, view.PAIRS, view.WIDEST))[..., :d_k]
        assert_allclose(view.scores, (q * k).sum(axis=1) / (math.sqrt(d_k) if view.scaled else 1), atol=1e-9)
    elif isinstance(view, live.SoftmaxView) and not view.float16:
        assert_allclose(view.weights, by_hand(view.logits / view.temperature), atol=1e-9)
    elif isinstance(view, live.ValuesView):
        assert_allclose(view.output, by_hand(view.scores) @ view.v, atol=1e-12)
    elif isinstance(view, live.ItAnimalView):
        q, k, v = (view.embeddings @ w.T for w in (view.w_q, view.w_k, view.w_v))
        weights = by_hand(q @ k.T / (2 if view.scaled else 1))
        assert_allclose(view.weights, weights, atol=1e-9)
        assert_allclose(view.output, weights @ v, atol=1e-9)
    elif isinstance(view, live.HeadsView) and not view.message:
        w = [view.w[name] for name in "qkvo"]
        steps = multi_head(view.x, view.x, *w, n_heads=int(view.n_heads))
        assert_allclose(view.weights, steps.weights, atol=1e-12)
        assert_allclose(view.output, steps.output, atol=1e-12)
    elif isinstance(view, live.MaskView):
        i, j = np.ogrid[: int(view.n_q), :5]
        allowed = ((j <= i + view.offset) | (not view.causal)) & (j < view.length)
        scores = view.x[-int(view.n_q) :] @ view.x.T / 2
        assert_allclose(view.weights, by_hand(np.where(allowed, scores, -np.inf)), atol=1e-12)
    elif isinstance(view, live.KernelView):
        closeness = np.exp(-((view.query - np.arange(6)) ** 2) / (2 * view.width**2))
        assert_allclose(view.weights, closeness / closeness.sum(), atol=1e-9)
        assert_allclose(view.output, closeness @ view.y / closeness.sum(), atol=1e-9)
    elif isinstance(view, live.LedgerView):
        allowed = np.arange(6) >= view.blocked
        weights = by_hand(np.where(allowed, view.scores, -np.inf))
        assert_allclose(view.output, weights @ view.VALUES[:, 0], atol=1e-9)
        assert [step.start for step in view.ledger] == list(range(0, 6, int(view.tile_k)))


def test_a_wrong_number_would_be_seen() -> None:
    view = live.AttentionView()
    view.steps = view.steps._replace(weights=view.weights[:, ::-1])
    with pytest.raises(AssertionError):
        assert_same(view)


def by_hand(scores: np.ndarray) -> np.ndarray:
    """Softmax of each row, the plain way; a row of -inf gives zeros."""
    finite = np.isfinite(scores)
    top = np.max(scores, axis=-1, keepdims=True, where=finite, initial=-1e9)
    powers = np.where(finite, np.exp(np.where(finite, scores - top, 0)), 0)
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


# --- bad input --------------------------------------------------------------------------------------


@every_view
@pytest.mark.parametrize("typed", IMPOSSIBLE)
def test_an_impossible_number_gives_a_message_and_the_picture_stays(kind: Kind, typed: str) -> None:
    view = kind()
    box = next(box for box in widgets_of(view, Text) if box.description != "Tokens")
    before, good = view.svg, box.value
    box.value = typed
    assert view.message.startswith(f"{box.description}: ") and "from" in view.message
    assert view.svg == before and "<img" not in view._message.value
    assert "attention-bad" in box._dom_classes
    box.value = good
    assert view.message == "" and "attention-bad" not in box._dom_classes


@every_view
def test_reset_mends_an_impossible_number(kind: Kind) -> None:
    view = kind()
    before = view.svg
    next(box for box in widgets_of(view, Text) if box.description != "Tokens").value = "x"
    named(view, "Reset", Button).click()
    assert view.message == "" and view.svg == before


def test_other_boxes_still_work_while_one_is_impossible() -> None:
    view = live.AttentionView()
    named(view, "q[0, 0]").value = "x"
    named(view, "q[0, 1]").value = "1"
    assert view.q.tolist() == [[1.0, 1.0, 0.5, 0.2]] and view.message.startswith("q[0, 0]")


def test_a_token_is_shown_as_it_was_typed() -> None:
    view = live.ItAnimalView()
    box = named(view, "Tokens")
    box.value = f"{ATTACK.replace(' ', '/')} animal didn't cross & street it"
    assert view.message == "" and "<img" not in view.svg
    assert any(shown.startswith("<im") for shown in texts(view.svg))
    assert not any(
        "<img" in head.value for head in widgets_of(view, HTML) if "attention-view {" not in head.value
    )
    assert named(view, "Asks", Dropdown).options[4] == ("&", 4)


def test_a_deleted_token_gives_a_message_and_the_picture_stays() -> None:
    view = live.ItAnimalView()
    before = view.svg
    named(view, "Tokens").value = "The animal didn't cross the street"
    assert "needs 7 tokens" in view.message and "here are 6" in view.message and view.svg == before
    named(view, "Tokens").value = "The animal didn't cross the road it"
    assert view.message == "" and "road" in texts(view.svg)


def test_heads_that_do_not_divide_the_width_get_the_words_of_the_kernel() -> None:
    view = live.HeadsView()
    before = view.svg
    named(view, "n_heads", FloatSlider).value = 3.0
    assert view.message == "n_heads must divide d_model = 8 (one of [1, 2, 4, 8]), got 3."
    assert view.svg == before
    named(view, "n_heads", FloatSlider).value = 4.0
    assert view.message == "" and view.weights.shape == (4, 4, 4)


@pytest.mark.parametrize(("typed", "value"), [("0.5", 0.5), (" −2,5 ", -2.5), ("1e-3", 0.001), ("-0", 0.0)])
def test_parse(typed: str, value: float) -> None:
    assert parse(typed, -10, 10) == value
    assert math.copysign(1, parse("-0", -1, 1)) == 1


# --- from Python and back ---------------------------------------------------------------------------


def test_setting_a_value_moves_the_picture_and_the_boxes() -> None:
    view = live.AttentionView()
    before = view.svg
    view.q = [[0.0, 1.0, 0.25, -1.0]]
    assert view.svg != before and named(view, "q[0, 3]").value == "-1"
    view.blocked = [True, True, True]
    assert view.weights.tolist() == [[0.0, 0.0, 0.0]] and named(view, "block key 2", Checkbox).value
    view.scaled = False
    assert view.message == ""


@pytest.mark.parametrize(
    ("kind", "name"),
    [(live.AttentionView, "k"), (live.SoftmaxView, "logits"), (live.ItAnimalView, "w_q")],
)
def test_writing_into_what_was_read_is_refused(kind: Kind, name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(kind(), name)[0] = 1.0  # it would not reach the view


def test_a_slider_sets_what_python_reads() -> None:
    view = live.AttentionView()
    named(view, "Slide", Dropdown).index = 2  # q[0, 2]
    named(view, "value", FloatSlider).value = -0.30000000000000004
    assert view.q.tolist() == [[1.0, 0.0, -0.3, 0.2]] and named(view, "q[0, 2]").value == "-0.3"
    wide = live.ScalingView()
    named(wide, "d_k", FloatLogSlider).value = 512.0
    assert wide.d_k == 512


def test_a_slider_that_only_snaps_to_its_steps_changes_nothing() -> None:
    view = live.DotProductView()
    before = view.svg
    named(view, "length of a", FloatSlider).value = 2.05  # what a browser sends for 2.0616
    assert view.svg == before and view.a == pytest.approx([2.0, 0.5])
    named(view, "length of a", FloatSlider).value = 2.1
    assert view.a_length == 2.1
    assert not moved(0.1, 0.1, 0.05) and moved(0.1, 0.15, 0.05)


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        (
            live.AttentionView,
            "q",
            [[1.0, 2.0, 3.0, math.nan]],
            r"q\[0, 3\] must be a number from −10 to 10, got nan",
        ),
        (live.AttentionView, "q", [1.0, 2.0], r"q must have shape \(1, 4\) or smaller, got \(2,\)"),
        (live.AttentionView, "k", np.zeros((4, 4)), r"k must have shape \(3, 4\) or smaller, got \(4, 4\)"),
        (live.AttentionView, "v", "text", "v must be numbers"),
        (live.AttentionView, "scaled", 1, "must be True or False, got 1"),
        (live.AttentionView, "blocked", [True], "expected 3 of True or False"),
        (live.DotProductView, "a", [1.0, 2.0, 3.0], r"must have shape \(2,\)"),
        (live.DotProductView, "b_length", 5, "length of b, typed must be a number from 0 to 3, got 5"),
        (live.ScalingView, "d_k", 2.5, "must be a whole number from 1 to 1024, got 2.5"),
        (live.SoftmaxView, "logits", [0.0], "expected 7 numbers, got 1"),
        (live.SoftmaxView, "temperature", 0.0, "must be a number from 0.1 to 10, got 0"),
        (live.ItAnimalView, "tokens", ["a b"] * 7, "expected 7 tokens without spaces"),
        (live.ItAnimalView, "asking", 7, "Asks must be one of"),
        (live.HeadsView, "head", "two", "picked head, typed must be a whole number from 0 to 7, got 'two'"),
    ],
)
def test_python_is_told_what_was_expected_and_the_picture_stays(kind, name, value, message) -> None:
    view = kind()
    before, inputs = view.svg, repr(getattr(view, name))
    with pytest.raises(ValueError, match=message):
        setattr(view, name, value)
    assert view.svg == before and view.message == "" and repr(getattr(view, name)) == inputs


def test_a_cell_and_the_browser_may_set_values_at_the_same_time() -> None:
    view = live.AttentionView()

    def type_into(box: Text) -> None:
        for i in range(40):
            box.value = str(i % 7)

    threads = [threading.Thread(target=type_into, args=(named(view, f"q[0, {i}]"),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for i in range(40):
        view.v = np.full((3, 2), i / 10)
    for thread in threads:
        thread.join()
    assert view.q.tolist() == [[4.0] * 4] and f"Output [{number(3.9)}, {number(3.9)}]" in view.words
    assert_same(view)


@every_view
def test_two_copies_do_not_disturb_each_other(kind: Kind) -> None:
    one, other = kind(), kind()
    before = other.svg
    assert not set(map(id, widgets_of(one))) & set(map(id, widgets_of(other)))
    for box in widgets_of(one, Text):
        box.value = "1"
    for slider in widgets_of(one, FloatSlider):
        slider.value = slider.max
    assert other.svg == before and other.message == ""
    assert not re.search(r'\bid="|url\(#', one.svg), "ids would be the same in both copies"


# --- examples, resets, edits ------------------------------------------------------------------------


def test_the_worked_examples_give_their_published_numbers() -> None:
    view = live.AttentionView()
    assert np.round(view.weights, 4).tolist() == [[0.3866, 0.267, 0.3463]]
    for i, weights in enumerate(
        ([0.4011, 0.1978, 0.4011], [0.1978, 0.4011, 0.4011], [0.2483, 0.2483, 0.5035])
    ):
        named(view, "Example", Dropdown).value = f"Three tokens (S3), query {i}"
        assert view.q.shape == (1, 2) and np.round(view.weights[0], 4).tolist() == weights
    assert np.round(live.SoftmaxView().weights, 4).max() == 0.3118
    assert np.round(live.ItAnimalView().output[6], 4).tolist() == [0.4265, 0.0, 0.0, 0.0]


@every_view
def test_every_example_can_be_chosen(kind: Kind) -> None:
    view = kind()
    example = named(view, "Example", Dropdown)
    for name in example.options:
        example.value = name
        assert view.message == "" and example.value == name


def test_an_edit_is_kept_while_examples_are_looked_at() -> None:
    view = live.AttentionView()
    example = named(view, "Example", Dropdown)
    first = view.svg
    named(view, "q[0, 0]").value = "2"
    assert example.value == MY_EDIT
    edited = view.svg
    example.value = "Three tokens (S3), query 0"
    example.value = MY_EDIT
    assert view.svg == edited and view.q[0, 0] == 2.0
    named(view, "Reset", Button).click()
    assert example.value == "Three tokens (S3), query 0" and view.q.tolist() == [[1.0, 0.0]]
    example.value = "One query (S0)"
    assert view.svg == first
    example.value = MY_EDIT
    assert view.svg == edited


def test_what_is_explained_is_no_edit() -> None:
    view = live.AttentionView()
    named(view, "Explain", Dropdown).index = 4
    assert named(view, "Example", Dropdown).value == "One query (S0)"


# --- the arithmetic written out ---------------------------------------------------------------------


def evaluated(words: str) -> float:
    """Compute what an arithmetic of the views says on the left of its last equals sign."""
    left = words.replace("−", "-").replace("·", "*").replace("÷", "/").replace("\n", " ")
    left = left.rpartition(":")[2].rpartition("=")[0]
    left = left.rpartition("=")[2]
    return float(eval(left, {"exp": math.exp}))  # our own text: numbers, operators and exp


def test_wrong_arithmetic_would_be_seen() -> None:
    assert evaluated("score of key 0: (−1.0)·2.0 + 3.0 ÷ 2 = 7.0") == -0.5
    assert evaluated("weight: exp(0.0) ÷ (exp(0.0))\n= 1.0 ÷ 4.0 = 7.0") == 0.25


@pytest.mark.parametrize("example", ["One query (S0)", *(f"Three tokens (S3), query {i}" for i in range(3))])
def test_the_arithmetic_gives_the_number_shown(example: str) -> None:
    view = live.AttentionView()
    named(view, "Example", Dropdown).value = example
    explain = named(view, "Explain", Dropdown)
    for name, picked in explain.options:
        explain.value = picked
        shown = texts(view.svg)[-2:]
        assert shown[1].startswith(("score", "=")), name
        result = shown[1].rpartition("= ")[2].replace("−", "-")
        assert evaluated("\n".join(shown)) == pytest.approx(float(result), abs=2e-4), name


def test_the_first_score_is_written_term_by_term() -> None:
    shown = texts(live.AttentionView().svg)
    assert "q·k of key 0: 1.0·0.8 + 0.0·0.1 + 0.5·0.3 + 0.2·0.6 = 1.0700" in shown
    assert "score of key 0: 1.0700 ÷ 2 = 0.5350" in shown


def test_a_blocked_key_is_explained() -> None:
    view = live.AttentionView()
    view.blocked = [True, False, False]
    assert "key 0 is blocked: its score is −∞" in texts(view.svg)
    named(view, "Explain", Dropdown).value = Picked("weight", 0)
    view.blocked = [True, True, True]
    assert "all weights are 0" in texts(view.svg)


def test_a_negative_factor_stands_in_parentheses() -> None:
    view = live.AttentionView()
    view.q = [[1.0, 0.0, -0.5, 0.2]]
    assert any("(−0.5)·0.3" in shown for shown in texts(view.svg))


def test_float16_shows_what_goes_wrong() -> None:
    view = live.SoftmaxView()
    view.constant = 1000.0
    assert "the constant c has moved a weight by 0.0000 at most" in texts(view.svg)
    view.float16 = True
    view.logits = [0.3, 0.1, 0.0, 0.0, 0.0, 0.0, 0.2]
    assert "the constant c has moved a weight by 0.0000 at most" not in texts(view.svg)
    assert any("float16: ∞, so it is subtracted" in shown for shown in texts(view.svg))


# --- what is displayed ------------------------------------------------------------------------------


@every_view
def test_one_bundle_holds_words_picture_and_view(kind: Kind) -> None:
    view = kind()
    data, metadata = live.bundle(view)
    assert set(data) == {"text/plain", "image/png", VIEW}
    assert data["text/plain"] == metadata["image/png"]["alt"] == view.words
    height, width = imread(io.BytesIO(b64decode(data["image/png"]))).shape[:2]
    assert (width, height) == (2 * metadata["image/png"]["width"], 2 * metadata["image/png"]["height"])
    assert data[VIEW]["model_id"] == view.box.model_id


def test_show_live_displays_that_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(live, "display", lambda *args, **options: shown.append((args, options)))
    view = live.ValuesView()
    assert live.show_live(view) is None  # type: ignore[func-returns-value]
    data, metadata = live.bundle(view)
    assert shown == [((data,), {"metadata": metadata, "raw": True})]


@every_view
def test_every_control_has_a_name_of_its_own(kind: Kind) -> None:
    controls = widgets_of(kind(), CONTROLS)
    names = [(type(widget), widget.description) for widget in controls]
    assert all(name for _, name in names)
    doubled = {name for name in names if names.count(name) > 1}
    assert {name for _, name in doubled} <= {"Slide", "value"}, "only one table is shown at a time"


# --- numbers and contrast ---------------------------------------------------------------------------


@given(st.floats(-1e300, 1e300))
def test_a_number_is_short_and_right(x: float) -> None:
    shown = number(x)
    assert len(shown) <= 8 or "e" in shown
    assert float(shown.replace("−", "-")) == pytest.approx(x, rel=0.06, abs=5.1e-5)


@given(st.text())
def test_any_text_is_escaped(content: str) -> None:
    assert text(0, 0, content).count("<") == 2


PAGES = {
    "light": ("#FFFFFF", "#212121"),
    "dark": ("#111111", "#DEDEDE"),
    "Colab, dark": ("#383838", "#D5D5D5"),
}


def contrast(fill: str, opacity: float, page: str, ink: str) -> float:
    """Return the contrast of `ink` on a fill that lets the page shine through (WCAG 2, 1.4.3)."""

    def luminance(color: np.ndarray) -> float:
        linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    rgb = {name: np.array([int(name[i : i + 2], 16) / 255 for i in (1, 3, 5)]) for name in (fill, page, ink)}
    one, other = luminance(opacity * rgb[fill] + (1 - opacity) * rgb[page]), luminance(rgb[ink])
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


@pytest.mark.parametrize("page", PAGES)
def test_numbers_keep_their_contrast_on_the_strongest_fill(page: str) -> None:
    assert min(contrast(fill, opacity, *PAGES[page]) for fill, opacity in STRONGEST.items()) >= 4.5


def test_the_contrast_can_fail() -> None:
    check: Callable[..., float] = contrast
    assert check("#F0E442", 1.0, *PAGES["dark"]) < 4.5
    assert check("#000000", 0.0, "#FFFFFF", "#000000") == pytest.approx(21)
