"""The canvas: what stands where, what each cell says, and that its PNG is the same at every run."""

import io
import re
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from attention_core import attend
from attention_core.figures import NEUTRAL, svg
from attention_core.figures.canvas import canvas, layout
from attention_core.worked import load

ONE = {name: load("one-query")[name] for name in "qkv"}
SVG = "{http://www.w3.org/2000/svg}"


def drawn(**options):
    return canvas(**ONE, steps=attend(**ONE), **options)


def cells(picture, step):
    """Return the cells of one step by row and column."""
    found = {}
    for group in ElementTree.fromstring(picture.svg).iter(f"{SVG}g"):
        names = group.get("class", "").split()
        if "cell" in names and step in names:
            found[int(names[2][1:]), int(names[3][1:])] = group
    return found


def sums(picture, step):
    return {place: group.get("aria-label") for place, group in cells(picture, step).items()}


def level(group):
    """Return the share of its cell that a weight fills, and how strong the fill is."""
    mark, cell = group.findall(f"{SVG}rect")
    return float(mark.get("height")) / float(cell.get("height")), float(mark.get("fill-opacity", 1))


def test_every_sum_is_that_of_the_kernel(rng):
    q, k, v = rng.standard_normal((2, 3)), rng.standard_normal((4, 3)), rng.standard_normal((4, 2))
    steps = attend(q, k, v)
    picture = canvas(q, k, v, steps)
    for step, values in (("scores", steps.scores), ("weights", steps.weights), ("output", steps.output)):
        said = sums(picture, step)
        assert set(said) == set(product(range(values.shape[0]), range(values.shape[1])))
        for place, text in said.items():
            result = float(text.rsplit("= ", 1)[1].replace("−", "-"))
            assert result == pytest.approx(values[place], abs=6e-4)


def test_a_score_shows_the_products():
    assert sums(drawn(stage=1), "scores")[0, 1] == "q · k1 = 1·0.2 + 0·0.9 + 0.5·0.1 + 0.2·0.4 = 0.33"
    assert sums(drawn(), "scores")[0, 1].endswith("= 0.33,  ÷ 2 = 0.165")


def test_row_meets_column():
    q, k, v = np.ones((2, 4)), np.ones((3, 4)), np.ones((3, 2))
    at = layout(q, k, v, q @ k.T, v[:2], ["a", "b"], ["c", "d", "e"], [], "÷ 2")
    assert (at.scores.y, at.scores.rows) == (at.q.y, at.q.rows) == (at.weights.y, at.weights.rows)
    assert (at.scores.x, at.scores.columns, at.scores.wide) == (at.k.x, at.k.columns, at.k.wide)
    assert (at.output.x, at.output.columns, at.output.wide) == (at.v.x, at.v.columns, at.v.wide)
    assert at.k.bottom < at.scores.y and at.v.bottom < at.output.y
    assert at.q.right < at.scores.x < at.scores.right < at.divisor.x < at.softmax.x < at.weights.x


def test_a_lesson_lights_its_parts():
    grey = {stage: drawn(stage=stage).svg.count(f'fill="{NEUTRAL}"') for stage in range(1, 5)}
    assert grey[1] > grey[4] and grey[3] > grey[4]
    assert "÷ 2" not in re.sub('aria-label="[^"]*"', "", drawn(stage=1).svg)
    assert ">02<" in drawn(stage=0).svg and ">02<" not in drawn(stage=2).svg and ">03<" not in drawn().svg


@pytest.mark.parametrize("step", ["scores", "weights", "output"])
def test_what_is_hidden_is_nowhere(step):
    picture = drawn(hide=[step])
    shown = ElementTree.fromstring(drawn().svg)
    secret = [f"{value:.3f}" for value in getattr(attend(**ONE), step)[0]]
    assert all(number in ElementTree.tostring(shown, "unicode") for number in secret)
    own = "".join(ElementTree.tostring(group, "unicode") for group in cells(picture, step).values())
    assert not any(number in own + picture.words for number in secret)


@pytest.mark.parametrize("n_more", [0, 3])  # cells with numbers, and small ones without
def test_a_larger_weight_is_plainly_larger(n_more):
    scores = np.r_[np.log([0.31, 0.11, 0.11, 0.47]), np.full(n_more, -50.0)][:, None]
    q, v = np.ones((2, 1)), np.eye(len(scores))
    picture = canvas(q, scores, v, attend(q, scores, v, scale=1.0), divisor=1.0)
    (high, strong), (low, weak) = (level(cells(picture, "weights")[0, j]) for j in (0, 1))
    assert high == pytest.approx(0.31, abs=0.01)
    assert high * strong >= 3.0 * low * weak


def test_blocked_cells_say_so():
    mask = np.tri(2, dtype=bool)
    eye = np.eye(2)
    picture = canvas(eye, eye, eye, attend(eye, eye, eye, mask=mask))
    assert "blocked" in sums(picture, "scores")[0, 1]
    none = canvas(eye, eye, eye, attend(eye, eye, eye, mask=np.zeros((2, 2), dtype=bool)))
    assert set(sums(none, "weights").values()) == {"every key is blocked: all weights are 0"}


def test_large_scores_are_written_as_softmax_computes_them():
    q, k = np.array([[1000.0]]), np.array([[1.0], [0.999]])
    said = sums(canvas(q, k, k, attend(q, k, k, scale=1.0), divisor=1.0), "weights")[0, 0]
    assert said.startswith("weight of k0 = exp(0) ÷ (exp(0) + exp(−1)) = 1.000 ÷ 1.368 = 0.731")


def test_heads_lie_as_sheets_and_one_in_front(rng):
    q, k, v = rng.standard_normal((3, 4, 3, 2))  # four heads
    steps = attend(q, k, v)
    front = canvas(q, k, v, steps, head=2)
    alone = canvas(q[2], k[2], v[2], attend(q[2], k[2], v[2]))
    assert front.words == f"Head 2 of 4. {alone.words}"
    assert sums(front, "output") == sums(alone, "output")
    assert front.svg.count("<path") - alone.svg.count("<path") == 3 * 6  # three sheets behind six matrices
    at = layout(q[2], k[2], v[2], q[2] @ k[2].T, v[2], ["a"] * 3, ["b"] * 3, [], "÷ 2", depth=15.0)
    assert at.k.bottom < at.scores.y - at.depth and at.scores.right + at.depth < at.divisor.x


def test_tiles_are_cut_and_said():
    q, k, v = (np.ones((n, 2)) for n in (4, 6, 6))
    steps = attend(q, k, v)
    cut, whole = canvas(q, k, v, steps, tile=(2, 3)), canvas(q, k, v, steps)
    assert cut.svg.count("<path") - whole.svg.count("<path") == 4 + 4  # Q, S, w, o once; Kᵀ, S, w, V once
    assert cut.words == f"{whole.words} Cut into tiles of 2 queries by 3 keys."


def test_a_file_of_its_own_is_black_on_white():
    drawing = drawn()
    root = ElementTree.fromstring(svg.standalone(drawing))
    assert "color:#000" in root.get("style", "")
    assert root[0].get("fill") == "#fff" and root[0].get("width") == str(drawing.width)


def test_numbers_that_contradict_each_other_are_refused():
    with pytest.raises(ValueError, match="scores must equal"):
        canvas(**ONE, steps=attend(**ONE, scale=1.0))
    with pytest.raises(ValueError, match="output must equal weights"):
        canvas(ONE["q"], ONE["k"], 2 * ONE["v"], attend(**ONE))
    with pytest.raises(ValueError, match="v must have shape"):
        canvas(ONE["q"], ONE["k"], ONE["v"][:2], attend(**ONE))


def test_labels_are_escaped_and_isolated():
    keys = ["<script>", "שלום", "苹果吃我爱苹果"]
    picture = drawn(keys=keys)
    assert "<script>" not in picture.svg and "&lt;script&gt;" in picture.svg
    assert "\u2068שלום\u2069" in picture.svg
    assert {e.text for e in ElementTree.fromstring(picture.svg).iter(f"{SVG}text")} >= {keys[2]}


def test_an_edit_moves_from_the_old_numbers():
    before = attend(np.zeros((1, 4)), ONE["k"], ONE["v"])
    assert 'style="--from' not in drawn().svg
    moved = drawn(before=before)
    weight = attend(**ONE).weights[0, 0]
    assert f"--from:{before.weights[0, 0] / weight:.3f}" in moved.svg


def test_the_png_is_the_same_at_every_run_and_shows_the_picked_sum():
    once, again = svg.png(drawn(picked=("scores", 0, 1))), svg.png(drawn(picked=("scores", 0, 1)))
    assert once is not None and once == again and once.startswith(b"\x89PNG")
    assert once != svg.png(drawn(picked=None))


def test_a_still_writes_the_sum_of_the_picked_cell_in_the_colours_of_its_parts():
    pytest.importorskip("resvg_py")
    below = 250 * 2  # the sums stand under the matrices and their names
    bare, picked = (
        np.asarray(Image.open(io.BytesIO(svg.png(drawn(picked=at)) or b"")).convert("RGB"))[below:]
        for at in (None, ("weights", 0, 0))
    )
    assert bare[30:].min() == 255  # white
    red, green, blue = picked[30:].astype(int).reshape(-1, 3).T
    assert (red - green > 40).any() and (np.abs(red - blue) + np.abs(red - green) < 3).any()
