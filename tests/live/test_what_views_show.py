"""What the pictures of single views show, measured in the SVG and compared with plain numpy."""

import math
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose

from attention_core import live
from attention_core.figures import WEIGHTS
from attention_core.figures.svg import png

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


@pytest.mark.parametrize("kind", [live.LedgerView])
def test_the_still_is_the_opening_view(kind):
    view = kind()
    assert png(view.picture) == png(kind().picture) != png(as_preset(kind, 1).picture)
    assert view.bundle()[0]["text/plain"] == view.words
    assert view.picture.width <= 620, "a phone shrinks it, and its letters"


def as_preset(kind, at):
    view = kind()
    view.preset = list(view.presets)[at]
    return view
