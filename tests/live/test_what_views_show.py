"""What the pictures of single views show, measured in the SVG and compared with plain numpy."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from attention_core import live
from attention_core.figures import OUTPUT, WEIGHTS, V
from attention_core.figures.svg import png
from attention_core.live._controls import Player, Table

SVG = "{http://www.w3.org/2000/svg}"


def rects(svg, fill, width=None):
    """Return x, y, width and height of every rectangle of one colour, and maybe of one width."""
    found = [
        [float(node.get(name, "nan")) for name in ("x", "y", "width", "height")]
        for node in ElementTree.fromstring(svg).iter(f"{SVG}rect")
        if node.get("fill") == fill
    ]
    return np.array([place for place in found if width in (None, place[2])])


def texts(svg):
    return ["".join(node.itertext()) for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


# --- the ledger -------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["tiles of 2", "one key at a time", "the largest score comes last"])
def test_bars_of_the_ledger_are_the_terms_of_its_sums(preset):
    view = live.LedgerView()
    view.preset = preset
    stops = range(view.tile_k, 7, view.tile_k)
    tops = [view.scores[:stop].max() for stop in stops]
    terms = [np.exp(view.scores[:stop] - top) for stop, top in zip(stops, tops, strict=True)]
    highs = rects(view.svg, WEIGHTS, 20.0)[:, 3]
    assert_allclose(highs / highs.max(), np.concatenate(terms), atol=0.01)
    grown = zip(tops[1:], tops, strict=False)
    factors = [f"= {math.exp(old - new):.3f}" for new, old in grown if new > old]
    assert factors and [text[-7:] for text in texts(view.svg) if "old × e" in text] == factors


def test_o_over_l_walks_to_the_exact_answer():
    view = live.LedgerView()
    root = ElementTree.fromstring(view.svg)
    dots = [float(node.get("cx", "nan")) for node in root.iter(f"{SVG}circle")]
    (exact,) = (node.get("d", "") for node in root.iter(f"{SVG}path") if node.get("stroke-dasharray"))
    assert dots[-1] == float(exact[1:].split()[0])
    steps = np.diff(dots) / np.diff([step.merged.output.item() for step in view.ledger])
    assert_allclose(steps, steps[0], rtol=0.01)  # one scale
    assert f"exact: {view.output:.4f}" in texts(view.svg)


# --- regression -------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [0.125, 0.5, 8.0])
def test_bars_threads_and_dots_of_a_regression(width):
    view = live.RegressionView()
    view.set({"width": width, "query": 2.3})
    assert_allclose(rects(view.svg, WEIGHTS, 26.0)[:, 3], 86 * view.weights, atol=0.06)
    root = ElementTree.fromstring(view.svg)
    threads = [float(n.get("stroke-width", "nan")) for n in root.iter(f"{SVG}path") if n.get("stroke") == V]
    assert_allclose(threads, 1 + 9 * view.weights[view.weights > 5e-4], rtol=1e-4)
    dots = [float(n.get("cy", "nan")) for n in root.iter(f"{SVG}circle") if n.get("r") == "3"]
    assert_allclose(
        (406 - np.array(dots)) / 86, np.exp(-((2.3 - np.arange(6)) ** 2) / 2 / width**2), atol=1e-3
    )


def test_play_moves_the_query():
    view = live.RegressionView()
    player = next(control for control in view.controls if isinstance(control, Player))
    player.play.value += 1
    assert view.query == pytest.approx(2.6) and view.preset == "my edit"
    view.reset()
    assert player.play.value == 35


# --- it → animal ------------------------------------------------------------------------------------


def test_a_larger_weight_is_plainly_larger():
    bars = {}  # the ink of each: its length, times how strong it is
    for node in ElementTree.fromstring(live.ItAnimalView().svg).iter(f"{SVG}rect"):
        if node.get("fill") == WEIGHTS:
            width, strength = float(node.get("width", "nan")), float(node.get("fill-opacity", 1))
            bars[width] = width * strength
    small, large = sorted(bars)
    assert_allclose([small, large], [46 * 0.1147, 46 * 0.3118], atol=0.06)
    assert bars[large] >= 3 * bars[small]


def test_arcs_are_as_thick_as_the_weights():
    view = live.ItAnimalView()
    for view.asking in (6, 0):
        paths = ElementTree.fromstring(view.svg).iter(f"{SVG}path")
        thick = [float(node.get("stroke-width", "nan")) for node in paths if node.get("stroke") == WEIGHTS]
        assert_allclose(thick, 24 * view.weights[view.asking], atol=0.01)


def test_ticks_are_0_and_1_and_the_sum_has_one_scale():
    view = live.ItAnimalView()
    ticks = next(c for c in view.controls if isinstance(c, Table) and c.name == "embeddings").entries
    ticks[5 * 4 + 1].widget.value = True  # street is alive
    assert view.embeddings[5].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert_allclose(view.weights[6, 1], view.weights[6, 5])
    (total,) = (r for r in rects(view.svg, OUTPUT) if r[3] == 25 - 8)
    assert_allclose(total[2], 92 * view.output[6, 0], atol=0.06)
    view.w_v = view.w_v / 1000
    (tiny,) = (r for r in rects(view.svg, OUTPUT) if r[3] == 25 - 8)
    assert tiny[2] < 0.1, "a tiny sum must not stand at full length"


# --- the mask ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("inputs", [{"n_q": 2, "offset": 3}, {"causal": False, "length": 3}, {"offset": -2}])
def test_rules_set_every_cell_of_the_mask(inputs):
    view = live.MaskView()
    view.set(inputs)
    i, j = np.ogrid[: view.n_q, :5]
    allowed = ((j <= i + view.offset) | (not view.causal)) & (j < view.length)
    assert_array_equal(view.mask, allowed)
    assert not view.allowed[: 5 - view.n_q].any()


def test_a_single_cell_is_ticked_and_a_rule_sets_all_anew():
    view = live.MaskView()
    cells = {cell.label: cell for cell in view.controls[-1].entries}
    cells["may see[2, 4]"].widget.value = True
    assert view.mask[2].tolist() == [True, True, True, False, True] and view.preset == "my edit"
    assert "sat asks it: allowed" in view.svg
    view.offset = 1
    assert not cells["may see[2, 4]"].widget.value and view.mask[2].tolist() == [True] * 4 + [False]


def test_rows_that_do_not_ask_are_ghosts():
    view = live.MaskView()
    view.preset = "2 new queries, a cache"
    ghosts = [cell.widget.disabled for cell in view.controls[-1].entries]
    assert ghosts == [True] * 15 + [False] * 10 and "the, cat, sat do not ask" in view.words
    assert texts(view.svg).count("–") == 3  # they have no number i
    frames = ElementTree.fromstring(view.svg).iter(f"{SVG}rect")
    assert sum(node.get("stroke-width") == "0.25" for node in frames) == 2 * 15


def test_the_staircase_ends_at_i_plus_offset():
    view = live.MaskView()
    view.set({"n_q": 3, "offset": 1})
    stairs = [
        n.get("d", "")
        for n in ElementTree.fromstring(view.svg).iter(f"{SVG}path")
        if n.get("stroke-width") == "3"
    ]
    edges = [[float(point.split()[0]) for point in path[1:].split("L")][::2] for path in stairs]
    assert_allclose(np.array(edges) - np.array([[132], [372]]), [[2 * 44, 3 * 44, 4 * 44]] * 2)
    view.causal = False
    assert 'stroke-width="3"' not in view.svg


# --- heads ------------------------------------------------------------------------------------------


def test_entries_of_heads_name_their_place():
    view = live.HeadsView()
    named = [text for text in texts(view.svg) if re.fullmatch(r"\d\d", text)]
    assert named == [f"{i}{j}" for columns in (range(4), range(4, 8)) for i in range(4) for j in columns]
    assert "Head 0 holds columns 0 to 3 of X W" in view.words


def test_without_the_transpose_one_head_holds_entries_of_both():
    view = live.HeadsView()
    view.forget = True
    named = [text for text in texts(view.svg) if re.fullmatch(r"\d\d", text)]
    assert named[:8] == ["00", "01", "02", "03", "04", "05", "06", "07"]  # rows 0 and 1 of head 0
    said = "Row 1 of head 0 holds 04: row 0 (animal), column 4, of head 1"
    assert said in view.words and said in " ".join(texts(view.svg))
    framed = [node for node in ElementTree.fromstring(view.svg).iter() if node.get("stroke-width") == "3"]
    assert len(framed) == 2 * 3 * 4  # of each head one row is right
    view.forget = False
    assert 'stroke-width="3"' not in view.svg


@pytest.mark.parametrize(
    "kind", [live.LedgerView, live.MaskView, live.RegressionView, live.ItAnimalView, live.HeadsView]
)
def test_the_still_is_the_opening_view(kind):
    view = kind()
    assert png(view.picture) == png(kind().picture) != png(as_preset(kind, 1).picture)
    assert view.bundle()[0]["text/plain"] == view.words
    assert view.picture.width <= 620, "a phone shrinks it, and its letters"


def as_preset(kind, at):
    view = kind()
    view.preset = list(view.presets)[at]
    return view
