"""The live views without a browser: what is typed, slid, ticked, set from Python, shown and kept."""

import io
import math
import re
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ipywidgets import HTML, Button, Checkbox, Dropdown, FloatLogSlider, FloatSlider, Play, Text, Widget
from matplotlib.image import imread

from attention_core import live
from attention_core.figures import em_width, words_below
from attention_core.figures.svg import SMALL, STRONGEST, label, text
from attention_core.live._inputs import Numbers
from attention_core.live._view import MY_EDIT, View
from tests.live.oracles import ATTACK, VIEWS, assert_same, contrast

VIEW = "application/vnd.jupyter.widget-view+json"
IMPOSSIBLE = ["", "  ", "nan", "inf", "-inf", "1e308", "-1e308", "a", "1.2.3", "--1", "0x10", "1_0", ATTACK]
CONTROLS = (Text, FloatSlider, FloatLogSlider, Dropdown, Checkbox, Play, Button)
Kind = Callable[[], Any]

every_view = pytest.mark.parametrize("kind", VIEWS, ids=lambda kind: kind.__name__)


def widgets_of(view: View, kind: type[Widget] | tuple[type[Widget], ...] = Widget) -> list[Any]:
    """Return every widget of a view, also those it does not show at the moment."""

    def walk(widget: Any) -> Iterator[Any]:
        yield widget
        for child in getattr(widget, "children", ()):
            yield from walk(child)

    tops = [view.box, *(c.widget for c in view.controls)]
    found = {id(w): w for top in tops for w in walk(top)}
    return [widget for widget in found.values() if isinstance(widget, kind)]


def named(view: View, name: str, kind: type[Widget] = Text) -> Any:
    return next(widget for widget in widgets_of(view, kind) if widget.description == name)


def number_boxes(view: View) -> list[Text]:
    return [box for box in widgets_of(view, Text) if box.description != "Tokens"]


@cache
def kept(kind: Kind) -> Any:
    return kind()


def as_new(kind: Kind) -> Any:
    """Return a view that shows its first preset: to make one takes longer than to move it."""
    view = kept(kind)
    view.preset = next(iter(view.presets))
    view.reset()
    return view


def texts(drawn: str) -> list[str]:
    """Return every text that an SVG shows."""
    return [node.text or "" for node in ElementTree.fromstring(drawn).iter() if node.tag.endswith("text")]


def state(view: View) -> str:
    """Return all that a view has and shows."""
    values = {name: getattr(view, name) for name in sorted(view.trait_names())}
    return repr((values, [widget.value for widget in widgets_of(view, (*CONTROLS[:-1], HTML))]))


# --- every view, whatever is done to it -------------------------------------------------------------


@every_view
def test_a_new_view_shows_its_first_preset(kind: Kind) -> None:
    view = kind()
    root = ElementTree.fromstring(view.svg)
    assert view.message == "" and root.get("aria-label") == view.words
    assert view.preset == next(iter(view.presets))
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
    elif isinstance(widget, Play):
        widget.value = data.draw(st.integers(widget.min, widget.max))
    else:
        at = data.draw(st.floats(widget.min, widget.max))
        widget.value = widget.base**at if isinstance(widget, FloatLogSlider) else at


@every_view
@given(data=st.data())
@settings(max_examples=10)
def test_nothing_is_raised_and_the_picture_keeps_its_size(kind: Kind, data: st.DataObject) -> None:
    view = as_new(kind)
    size = ElementTree.fromstring(view.svg).get("viewBox")
    for _ in range(data.draw(st.integers(1, 8))):
        act(view, data)
        root = ElementTree.fromstring(view.svg)
        assert root.get("viewBox") == size
        assert {float(n.get("font-size", SMALL)) >= SMALL for n in root.iter()} == {True}
        for shown in (*texts(view.svg), view.words):
            assert not re.search(r"\.\d{5}|\d{8}", shown), "not rounded"
        assert_same(view)
    assert data.draw(st.booleans()) or view.bundle()  # every second time: a bundle takes as long as 100 moves


# What a notebook may set: some of it fits, most does not.
sizes = st.sampled_from(
    [(), (1,), (2,), (3,), (6,), (7,), (3, 1), (3, 2), (2, 2), (2, 4), (3, 4), (7, 4), (0, 4)]
)
entries = st.sampled_from([0.0, 1.0, -2.5, 3, 10.0, 11.0, 1e308, math.nan, math.inf])
arrays = st.tuples(sizes, entries).map(lambda drawn: np.full(*drawn))
anything = (
    arrays | entries | st.sampled_from([None, True, "1", "a b", ["x"] * 7, ["x y"] * 7, [[1], [1, 2]], 1j])
)


@every_view
@given(data=st.data())
@settings(max_examples=30)
def test_what_is_set_is_drawn_or_refused_in_words(kind: Kind, data: st.DataObject) -> None:
    view = as_new(kind)
    inputs = data.draw(
        st.dictionaries(st.sampled_from(list(view.presets[view.preset])), anything, min_size=1)
    )
    before = state(view)
    try:
        view.set(inputs)
    except ValueError as refused:
        assert str(refused) and state(view) == before
    else:
        assert view.message == "" and ElementTree.fromstring(view.svg) is not None
        assert_same(view)


def test_fewer_keys_and_values_are_drawn() -> None:
    view = live.AttentionView()
    view.set({"k": np.eye(2, 4), "v": np.eye(2)})
    assert view.weights.shape == (1, 2) and "k2" not in view.words
    assert named(view, "block k2", Checkbox).layout.visibility == "hidden"
    view.reset()
    assert view.k.shape == (3, 4) and "k2" in view.words
    assert named(view, "block k2", Checkbox).layout.visibility == "visible"


def test_before_its_lesson_a_step_is_closed() -> None:
    early, late = live.AttentionView(stage=0, hide=["output"]), live.AttentionView()
    assert "k0 1.07," in early.words and "output" not in early.words
    assert "k0 0.535," in late.words and "output" in late.words
    assert [len(list(widgets_of(view, Checkbox))) for view in (early, late)] == [0, 4]


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        (live.AttentionView, "q", [[1, 2, 3, math.nan]], "q[0, 3] must be a number from −10 to 10, got nan"),
        (live.AttentionView, "q", [1.0, 2.0], "q must have shape (1, 4) or smaller, got (2,)"),
        (live.AttentionView, "k", np.zeros((4, 4)), "k must have shape (3, 4) or smaller, got (4, 4)"),
        (live.AttentionView, "v", "text", "v must be numbers, got 'text'"),
        (live.AttentionView, "v", np.eye(2), "got k (3, 4)"),
        (live.AttentionView, "scaled", 1, "scaled must be True or False, got 1"),
        (live.AttentionView, "blocked", [True], "blocked must have shape (3,), got (1,)"),
        (live.AttentionView, "preset", "S0", "preset must be one of ['One query'"),
        (live.DotProductView, "a", [1.0, 2.0, 3.0], "a must have two numbers"),
        (live.DotProductView, "b_length", 5, "b_length must be a number from 0 to 3, got 5"),
        (live.ScalingView, "d_k", 2.5, "d_k must be a whole number from 1 to 1024, got 2.5"),
        (live.SoftmaxView, "logits", [0.0], "logits must have shape (7,), got (1,)"),
        (live.SoftmaxView, "temperature", 0.0, "temperature must be a number from 0.1 to 10, got 0"),
        (live.ValuesView, "v", np.zeros((3, 1)), "v must have shape (3, 2), got (3, 1)"),
        (live.ItAnimalView, "embeddings", np.zeros((3, 4)), "embeddings must have shape (7, 4), got (3, 4)"),
        (live.ItAnimalView, "tokens", ["a b"] * 7, "tokens must be 7 tokens without blanks"),
        (live.ItAnimalView, "asking", 7, "asking must be a whole number from 0 to 6, got 7"),
        (live.HeadsView, "head", "two", "head must be a whole number from 0 to 7, got 'two'"),
        (live.HeadsView, "head", 2, "the picked head must be from 0 to n_heads − 1 = 1, got 2"),
        (live.HeadsView, "n_heads", 3, "n_heads must divide d_model = 8 (one of [1, 2, 4, 8]), got 3"),
    ],
)
def test_python_is_told_what_was_expected_and_the_view_stays(kind, name, value, message) -> None:
    view = kind()
    before = state(view)
    with pytest.raises(ValueError, match=re.escape(message)):
        setattr(view, name, value)
    assert state(view) == before


def test_an_unknown_input_is_refused_before_anything_is_set() -> None:
    view = live.ScalingView()
    before = state(view)
    with pytest.raises(ValueError, match="the inputs are d_k, got 'd_v'"):
        view.set({"d_k": 2, "d_v": 2})
    assert state(view) == before


def test_a_wrong_number_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    view = live.AttentionView()
    backwards = view.weights[:, ::-1]
    monkeypatch.setattr(live.AttentionView, "weights", backwards)
    with pytest.raises(AssertionError):
        assert_same(view)


# --- bad input --------------------------------------------------------------------------------------


@every_view
@pytest.mark.parametrize("typed", IMPOSSIBLE)
def test_an_impossible_number_gives_a_message_and_the_picture_stays(kind: Kind, typed: str) -> None:
    view = as_new(kind)
    box = number_boxes(view)[0]
    before, good = view.svg, box.value
    box.value = typed
    assert view.message.startswith(f"{box.description}: ") and "from" in view.message
    assert view.svg == before and not any("<img src=x" in html.value for html in widgets_of(view, HTML))
    assert "attention-bad" in box._dom_classes
    box.value = good
    assert view.message == "" and "attention-bad" not in box._dom_classes


@every_view
def test_reset_and_python_mend_an_impossible_number(kind: Kind) -> None:
    view = as_new(kind)
    before = state(view)
    for mend in (named(view, "Reset", Button).click, lambda: view.set(view.presets[view.preset])):
        number_boxes(view)[0].value = "x"
        assert state(view) != before
        mend()
        assert state(view) == before


def test_other_boxes_still_work_while_one_is_impossible() -> None:
    view = live.AttentionView()
    named(view, "q[0, 0]").value = "x"
    named(view, "q[0, 1]").value = "1"
    view.v = np.ones((3, 2))
    assert view.q.tolist() == [[1.0, 1.0, 0.5, 0.2]] and view.message.startswith("q[0, 0]")
    assert named(view, "q[0, 0]").value == "x"


def test_what_is_typed_stays_as_it_was_typed() -> None:
    view = live.AttentionView()
    named(view, "q[0, 0]").value = "0.50"
    named(view, "q[0, 1]").value = "1."
    view.k = np.ones((3, 4))
    assert view.q.tolist() == [[0.5, 1.0, 0.5, 0.2]]
    assert [named(view, f"q[0, {i}]").value for i in (0, 1)] == ["0.50", "1."]


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
    assert view.svg == before and view.n_heads == 2
    named(view, "n_heads", FloatSlider).value = 2.0
    assert view.message == "" and named(view, "n_heads, typed").value == "2"
    named(view, "n_heads", FloatSlider).value = 7.0
    view.reset()
    assert view.message == "" and named(view, "n_heads", FloatSlider).value == 2.0
    view.set({"n_heads": 8, "head": 7})
    named(view, "n_heads", FloatSlider).value = 4.0
    assert view.message == "" and view.head == 3 and named(view, "picked head", FloatSlider).value == 3.0


any_number, whole = Numbers(-10, 10, help=""), Numbers(-10, 1000, whole=True, help="")


@pytest.mark.parametrize(("typed", "value"), [("0.5", 0.5), (" −2,5 ", -2.5), ("1e-3", 0.001), ("-0", 0.0)])
def test_a_number_is_read_as_people_write_it(typed: str, value: float) -> None:
    assert any_number.read(typed) == value
    assert math.copysign(1, any_number.read("-0")) == 1


@pytest.mark.parametrize(
    ("trait", "typed", "words"),
    [
        (whole, "1,000", "could be a fraction or thousands"),
        (any_number, "1,000", "could be a fraction or thousands"),
        (whole, "1,0", "is not a number"),
        (whole, "1_0", "is not a number"),
        (any_number, "1_0", "is not a number"),
        (whole, "1.5", "does not fit; type a whole number from −10 to 1000"),
    ],
)
def test_what_could_mean_two_numbers_is_refused_in_words(trait: Numbers, typed: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        trait.read(typed)


# --- from Python and back ---------------------------------------------------------------------------


def test_setting_a_value_moves_the_picture_and_the_boxes() -> None:
    view = live.AttentionView()
    before = view.svg
    view.q = [[0.0, 1.0, 0.25, -1.0]]
    assert view.svg != before and named(view, "q[0, 3]").value == "-1"
    view.blocked = [True, True, True]
    assert view.weights.tolist() == [[0.0, 0.0, 0.0]] and named(view, "block k2", Checkbox).value
    view.scaled = False
    assert not named(view, "divide by √d_k", Checkbox).value and view.message == ""


def test_ticks_set_what_python_reads() -> None:
    view = live.AttentionView()
    named(view, "block k1", Checkbox).value = True
    named(view, "divide by √d_k", Checkbox).value = False
    assert view.blocked.tolist() == [False, True, False] and view.scaled is False


@pytest.mark.parametrize(
    ("kind", "name"),
    [(live.AttentionView, "k"), (live.SoftmaxView, "logits"), (live.AttentionView, "blocked")],
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
    named(wide, "d_k", FloatLogSlider).value = 2**6.5
    assert wide.d_k == 91 and named(wide, "d_k, typed").value == "91"


def test_a_slider_that_only_snaps_to_its_steps_changes_nothing() -> None:
    view = live.DotProductView()
    before = view.svg
    named(view, "length of a", FloatSlider).value = 2.05  # what a browser sends for 2.0616
    assert view.svg == before and view.a == pytest.approx([2.0, 0.5])
    named(view, "length of a", FloatSlider).value = 2.1
    assert view.a_length == 2.1


def test_a_slider_that_cannot_reach_a_number_leaves_it_alone() -> None:
    view = live.AttentionView()
    view.q = [[-10.0, 10.0, 0.0, 0.0]]
    for i in (1, 0):
        named(view, "Slide", Dropdown).index = i
    assert view.q.tolist() == [[-10.0, 10.0, 0.0, 0.0]]


def test_vectors_are_set_as_vectors() -> None:
    view = live.DotProductView()
    view.a = [0.0, 2.0]
    view.set({"a": (1.0, 0.0), "b": np.array([0.0, 2.0])})
    assert view.dot == pytest.approx(0) and view.a_angle == 0.0 and view.b_length == 2.0


def test_a_vector_of_length_0_has_no_angle() -> None:
    view = live.DotProductView()
    view.b_length = 0.0
    assert view.words.endswith("a·b = 0.0000, a vector of length 0 has no direction: 0.")
    assert "right angle" not in view.words and "°  " not in view.svg and "degrees apart" not in view.words
    view.set({"a": (1.0, 0.0), "b": (0.0, 1e-3)})
    assert view.words.endswith("right angle: 0.")
    view.b = (1e-3, 1e-3)
    assert view.words.endswith("a·b = 0.0010, same side: above 0.")


def test_play_turns_b_from_where_it_is() -> None:
    view = live.DotProductView()
    (play,) = widgets_of(view, Play)
    view.set({"b_length": 2.0, "b_angle": 88.0})
    play.value += 1
    assert view.b_angle == 92.0 and view.b_length == 2.0 and named(view, "angle of b, typed").value == "92"
    view.b_angle = 45.3
    assert view.b_angle == 45.3 and play.value == round((180 + 45.3) / 4)
    play.value = play.max
    assert view.b_angle == 180.0


def test_the_curve_is_the_dot_product_at_every_angle() -> None:
    view = live.DotProductView()
    expected = view.a_length * view.b_length * np.cos(np.radians(view.turned[:, 0]))
    assert view.turned[:, 1] == pytest.approx(expected)


def test_undivided_scores_saturate_on_average_and_divided_ones_do_not() -> None:
    view = live.ScalingView()
    largest = []
    for d_k in (1, 4, 16, 64, 256, 1024):
        view.d_k = d_k
        largest.append(view.weights.max(axis=-1).mean(axis=-1))
        plain, divided = (float(x) for x in re.findall(r"slope (\d\.\d+)", view.words))
        assert plain < divided or d_k == 1
    plain, divided = np.transpose(largest)
    assert (np.diff(plain) > 0).all() and np.ptp(divided[1:]) < 0.03


def test_the_strip_stands_still_when_c_moves_and_shrinks_when_another_rises() -> None:
    view = live.SoftmaxView()
    first = strip(view)
    assert sum(first) == pytest.approx(7 * 72, abs=0.5)
    view.constant = -1230.0
    assert strip(view) == first
    view.logits = [*view.logits[:6], 2.0]
    assert all(now < before for now, before in zip(strip(view)[:6], first, strict=False))


def strip(view: live.SoftmaxView) -> list[float]:
    """Return how wide the parts of the strip are."""
    return [float(wide) for wide in re.findall(r'</title><rect x="\S+" y="118.0" width="([\d.]+)"', view.svg)]


def test_the_values_lead_head_to_tail_to_the_output() -> None:
    view = live.ValuesView()
    assert abs(np.linalg.det(view.v[1:] - view.v[0])) > 1, "it opens on a triangle"
    tips = re.findall(r'L([\d.]+ [\d.]+)L[\d.]+ [\d.]+Z" fill="#CC79A7"', view.svg)
    x, y = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', view.svg)[0]
    assert len(tips) == 3 and tips[-1] == f"{x} {y}"


def test_observers_are_told_once_and_after_the_picture() -> None:
    view = live.AttentionView()
    seen: list[Any] = []
    view.observe(lambda change: seen.append((change.name, view.words)), ["k", "v", "svg"])
    with view.hold_trait_notifications():
        view.k = np.eye(2, 4)  # one by one they would not fit
        view.v = np.eye(2)
    assert sorted(name for name, _ in seen) == ["k", "svg", "v"]
    assert {words for _, words in seen} == {view.words}


def test_an_observer_may_set_another_input() -> None:
    view = live.AttentionView()
    view.observe(lambda _: view.set({"v": view.k[:, :2]}), "k")
    view.k = np.eye(3, 4)
    assert view.v.tolist() == np.eye(3, 2).tolist() and named(view, "v[1, 1]").value == "1"
    assert_same(view)


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
    assert view.q.tolist() == [[4.0] * 4] and "output: [3.900, 3.900]" in view.words
    assert_same(view)


@every_view
def test_two_copies_do_not_disturb_each_other(kind: Kind) -> None:
    one, other = kind(), kind()
    before = state(other)
    assert not set(map(id, widgets_of(one))) & set(map(id, widgets_of(other)))
    for box in widgets_of(one, Text):
        box.value = "1"
    for slider in widgets_of(one, FloatSlider):
        slider.value = slider.max
    assert state(other) == before
    assert not re.search(r'\bid="|url\(#', one.svg), "ids would be the same in both copies"


# --- presets, resets, edits -------------------------------------------------------------------------


def test_the_worked_examples_give_their_published_numbers() -> None:
    view = live.AttentionView()
    assert np.round(view.weights, 4).tolist() == [[0.3866, 0.267, 0.3463]]
    published = ([0.4011, 0.1978, 0.4011], [0.1978, 0.4011, 0.4011], [0.2483, 0.2483, 0.5035])
    for i, weights in enumerate(published):
        view.preset = f"Three tokens, query {i}"
        assert view.q.shape == (1, 2) and np.round(view.weights[0], 4).tolist() == weights
    assert np.round(live.SoftmaxView().weights, 4).max() == 0.3118
    assert np.round(live.ItAnimalView().output[6], 4).tolist() == [0.4265, 0.0, 0.0, 0.0]


@every_view
def test_every_preset_can_be_chosen(kind: Kind) -> None:
    view = as_new(kind)
    chosen = named(view, "Preset", Dropdown)
    for name in chosen.options:
        chosen.value = name
        assert view.message == "" and chosen.value == view.preset == name
        assert_same(view)


def at_rest(svg: str) -> str:
    """Return a picture without the movement that leads to it."""
    return re.sub(r' class="(grow|fade)" style="--from:[^"]*"', "", svg)


def test_an_edit_is_kept_while_presets_are_looked_at() -> None:
    view = live.AttentionView()
    preset = named(view, "Preset", Dropdown)
    first = at_rest(view.svg)
    named(view, "q[0, 0]").value = "2"
    assert preset.value == MY_EDIT
    edited = at_rest(view.svg)
    preset.value = "Three tokens, query 0"
    preset.value = MY_EDIT
    assert at_rest(view.svg) == edited and view.q[0, 0] == 2.0
    named(view, "Reset", Button).click()
    assert preset.value == "Three tokens, query 0" and view.q.tolist() == [[1.0, 0.0]]
    preset.value = "One query"
    assert at_rest(view.svg) == first
    preset.value = MY_EDIT
    assert at_rest(view.svg) == edited


# --- the arithmetic written out ---------------------------------------------------------------------


def evaluated(words: str) -> float:
    """Compute what an arithmetic of the views says on the left of its last equals sign."""
    left = words.replace("−", "-").replace("·", "*").replace("÷", "/").replace("\n", " ")
    left = left.rpartition(":")[2].rpartition("=")[0]
    left = left.rpartition("=")[2]
    return float(eval(left, {"exp": math.exp}))  # our own text: numbers, operators and exp


def test_wrong_arithmetic_would_be_seen() -> None:
    assert evaluated("q · k0 = (−1.0)·2.0 + 3.0 ÷ 2 = 7.0") == -0.5
    assert evaluated("weight of k0 = exp(0.0) ÷ (exp(0.0)) = 1.0 ÷ 4.0 = 7.0") == 0.25


@pytest.mark.parametrize("preset", ["One query", *(f"Three tokens, query {i}" for i in range(3))])
@pytest.mark.parametrize("q", [None, -0.5])
def test_the_arithmetic_gives_the_number_shown(preset: str, q: float | None) -> None:
    view = live.AttentionView()
    view.preset = preset
    if q is not None:
        view.q = np.full(view.q.shape, q)
    said = re.findall(r'class="cell [^"]*" tabindex="0" role="img" aria-label="([^"]*)"', view.svg)
    assert len(said) == 2 * len(view.k) + view.v.shape[1]
    for sum_ in said:
        of_dot = sum_.partition(",  ÷")[0]  # what stands behind it divides the result
        result = of_dot.rpartition("= ")[2].replace("−", "-")
        assert evaluated(of_dot) == pytest.approx(float(result), abs=2e-3), sum_


def test_a_blocked_key_is_explained() -> None:
    view = live.AttentionView()
    view.blocked = [True, False, False]
    assert "blocked: the score becomes −∞, and the weight 0" in view.svg
    view.blocked = [True, True, True]
    assert "all weights are 0" in view.svg


def test_float16_shows_what_goes_wrong() -> None:
    view = live.SoftmaxView()
    view.constant = 1000.0
    assert "the constant c has moved a weight by 0.0000 at most" in texts(view.svg)
    view.set({"float16": True, "logits": [0.3, 0.1, 0.0, 0.0, 0.0, 0.0, 0.2]})
    assert "the constant c has moved a weight by 0.0000 at most" not in texts(view.svg)
    assert any("float16: ∞, so it is subtracted" in shown for shown in texts(view.svg))


# --- labels in any language -------------------------------------------------------------------------


def with_tokens(*first: str) -> live.ItAnimalView:
    """Return the view with these tokens before its own."""
    view = live.ItAnimalView()
    named(view, "Tokens").value = " ".join([*first, *view.tokens][:7])
    assert view.message == ""
    return view


def test_a_token_is_shown_as_it_was_typed() -> None:
    view = with_tokens(ATTACK.replace(" ", "/"), "&")
    assert "<img" not in view.svg and "&lt;img" in view.svg
    assert any(shown.startswith("<") for shown in texts(view.svg))
    assert not any("<img/" in html.value for html in widgets_of(view, HTML))


@pytest.mark.parametrize(
    "token", ["注意力机制很好", "アテンション", "주의집중", "🐶🐱🐭🐹🐰", "Aufmerksamkeit", "abc"]
)
def test_a_label_stays_in_its_room(token: str) -> None:
    for room in (40, 60):
        shown = label(token, room)
        assert em_width(shown) * SMALL <= room
        assert shown == token or (shown.endswith("…") and token.startswith(shown[:-1]))
    assert label("abc", 60) == "abc"
    assert token in with_tokens(token).words


def test_a_hebrew_label_does_not_turn_round_what_stands_beside_it() -> None:
    hebrew, isolated = "שלום", "\u2068שלום\u2069"
    view = with_tokens(hebrew)
    view.asking = 0
    for shown in (view.words, *texts(view.svg), *(html.value for html in widgets_of(view, HTML))):
        assert hebrew not in shown.replace(isolated, ""), shown
    assert f"output({isolated})" in view.svg
    assert "\u2068" not in live.ItAnimalView().svg


@given(st.text())
def test_any_text_is_escaped_and_any_label_has_an_end(content: str) -> None:
    assert text(0, 0, content).count("<") == 2
    assert len(label(content, 40).replace("\u2068", "").replace("\u2069", "")) <= 99


# --- what is displayed ------------------------------------------------------------------------------


@every_view
def test_one_bundle_holds_words_picture_and_view(kind: Kind) -> None:
    view = as_new(kind)
    data, metadata = view.bundle()
    assert set(data) == {"text/plain", "image/png", VIEW}
    assert data["text/plain"] == metadata["image/png"]["alt"] == view.words
    height, width = imread(io.BytesIO(b64decode(data["image/png"]))).shape[:2]
    assert (width, height) == (2 * metadata["image/png"]["width"], 2 * metadata["image/png"]["height"])
    assert data[VIEW]["model_id"] == view.box.model_id


def test_show_live_displays_that_bundle_a_caption_and_the_words_folded_below_it() -> None:
    view = live.ValuesView()
    with patch("attention_core.live.display") as display, patch("attention_core.live.HTML") as html:
        live.show_live(view)
    picture, below = display.mock_calls
    data, metadata = view.bundle()
    assert picture.args == (data,) and picture.kwargs == {"metadata": metadata, "raw": True}
    (said,) = below.args
    assert said["text/html"] == f"<p>{live.MOVES}</p>{words_below(view.words)}"
    assert said["text/plain"] == live.MOVES and below.kwargs == {"raw": True}
    assert said[VIEW]["model_id"] is html.return_value.model_id
    assert html.call_args.kwargs["layout"].display == "none", "a live page needs no second text"


@every_view
def test_every_control_has_a_name_of_its_own(kind: Kind) -> None:
    with_own_names = [control for control in CONTROLS if control is not Play]  # that one: in the browser
    names = [(type(widget), widget.description) for widget in widgets_of(as_new(kind), tuple(with_own_names))]
    assert all(name for _, name in names)
    doubled = {name for name in names if names.count(name) > 1}
    assert {name for _, name in doubled} <= {"Slide", "value"}, "only one table is shown at a time"


# --- contrast ---------------------------------------------------------------------------------------

PAGES = {
    "light": ("#FFFFFF", "#212121"),
    "dark": ("#111111", "#DEDEDE"),
    "Colab, dark": ("#383838", "#D5D5D5"),
}


@pytest.mark.parametrize("page", PAGES)
def test_numbers_keep_their_contrast_on_the_strongest_fill(page: str) -> None:
    assert min(contrast(fill, opacity, *PAGES[page]) for fill, opacity in STRONGEST.items()) >= 4.5


def test_the_contrast_can_fail() -> None:
    assert contrast("#F0E442", 1.0, *PAGES["dark"]) < 4.5
    assert contrast("#000000", 0.0, "#FFFFFF", "#000000") == pytest.approx(21)
