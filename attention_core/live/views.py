"""The live views on small arrays: each wires its controls to one kernel and one drawing function."""

import math
from functools import cache
from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, Layout, VBox

from attention_core import figures
from attention_core.attention import Attention, attend, attention_scores, softmax
from attention_core.live import drawings
from attention_core.live._shapes import Array, Drawing
from attention_core.live.drawings import Picked
from attention_core.live.grids import Grid, Mover
from attention_core.live.number_controls import Slider, Sliders
from attention_core.live.other_controls import Choice, Tick, Ticks
from attention_core.live.view import LIMIT, SIDE, Input, View
from attention_core.worked import load


class AttentionView(View):
    """One query and three keys: QKᵀ, the scores, the weights, the output, and any number's arithmetic."""

    q = Input("The query, (1, d_k).")
    k = Input("The keys, (n_k, d_k).")
    v = Input("The values, (n_k, d_v).")
    scaled = Input("Are the scores divided by √d_k?")
    blocked = Input("Which keys are blocked, (n_k,) of True and False.")
    steps: Attention

    def __init__(self) -> None:
        keys, values = [f"key {j}" for j in range(3)], [f"value {j}" for j in range(3)]
        columns = [str(i) for i in range(4)]
        picks = [(f"score of {key}", Picked("score", j)) for j, key in enumerate(keys)]
        picks += [(f"weight of {key}", Picked("weight", j)) for j, key in enumerate(keys)]
        picks += [(f"output[{c}]", Picked("output", c)) for c in range(2)]
        controls = {
            "q": Grid("q", np.zeros((1, 4)), ["q"], columns, -LIMIT, LIMIT, label=20),
            "k": Grid("k", np.zeros((3, 4)), keys, columns, -LIMIT, LIMIT),
            "v": Grid("v", np.zeros((3, 2)), values, columns[:2], -LIMIT, LIMIT, label=58),
            "scaled": Tick("divide by √d_k", True),
            "blocked": Ticks([f"block {key}" for key in keys]),
            "explain": Choice("Explain", picks, width="240px"),
        }
        self._keys = keys
        one, three = load("one-query"), load("three-tokens")
        fixed = {"scaled": True, "blocked": [False] * 3}
        examples = {"One query (S0)": {**{name: one[name] for name in "qkv"}, **fixed}}
        for i in range(3):
            examples[f"Three tokens (S3), query {i}"] = {
                **{"q": three["q"][i : i + 1], "k": three["k"], "v": three["v"]},
                **fixed,
            }
        super().__init__(controls, examples)

    @property
    def weights(self) -> Array:
        """The weights in the picture, (1, n_k)."""
        return self.steps.weights

    @property
    def output(self) -> Array:
        """The output in the picture, (1, d_v)."""
        return self.steps.output

    def _arrange(self, picture: HTML) -> list[Any]:
        c = self.controls
        self._mover = Mover([c["q"], c["k"], c["v"]], -2.0, 2.0, 0.05)
        blocks = VBox(
            [HTML(layout=Layout(height="53px", margin="0")), *c["blocked"].widgets], layout=SIDE
        )  # K's rows
        grids = [
            _titled("Q", figures.Q, c["q"]),
            _titled("K", figures.K, c["k"]),
            blocks,
            _titled("V", figures.V, c["v"]),
        ]
        return [HBox(grids), HBox([self._mover.widget, c["explain"].widget, c["scaled"].widget]), picture]

    def _draw(self) -> Drawing:
        q, k, v = self.q, self.k, self.v
        mask = ~self.blocked[None, : len(k)]
        self.steps = attend(q, k, v, mask=mask, scale=None if self.scaled else 1.0)
        dots = attention_scores(q, k, scale=1.0)
        divisor = math.sqrt(q.shape[-1]) if self.scaled else 1.0
        one = Attention(*(step[0] for step in self.steps))
        return drawings.attention_steps(
            q[0], k, v, dots[0], one, divisor, self._keys, self.controls["explain"].value
        )

    def _figure(self) -> tuple[Any, ...]:
        if self.scaled and not self.blocked.any():
            one = [step[0] for step in (self.q, self.steps.scores, self.weights, self.output)]
            return figures.attention_flow, one[0], self.k, self.v, *one[1:], self._keys
        return figures.weights_heatmap, self.weights, ["q"], self._keys


class DotProductView(View):
    """Two vectors by length and angle, and both ways to their dot product."""

    a_length = Input("The length of a.")
    a_angle = Input("The angle of a, in degrees.")
    b_length = Input("The length of b.")
    b_angle = Input("The angle of b, in degrees.")
    REACH = 3

    def __init__(self) -> None:
        controls = {
            f"{name}_{what}": Slider(f"{what} of {name}", 0.0, low, high, step, label="80px", width="300px")
            for name in "ab"
            for what, low, high, step in (("length", 0.0, 3.0, 0.05), ("angle", -180.0, 180.0, 1.0))
        }
        s1 = load("it-animal")
        x, seen = s1["embeddings"], s1["tokens"].index
        q, k = x @ s1["w_q"].T, x @ s1["w_k"].T  # the source's convention: q = W_Q x
        examples = {
            "two vectors": self._polar(np.array([2.0, 0.5]), np.array([1.0, 2.0])),
            **{
                f"q of it, k of {token} (S1)": self._polar(q[seen("it"), :2], k[seen(token), :2])
                for token in ("animal", "street")
            },
            "opposite": self._polar(np.array([2.0, 1.0]), np.array([-2.0, -1.0])),
        }
        super().__init__(controls, examples)

    @property
    def a(self) -> Array:
        """The vector a, (2,)."""
        return _cartesian(self.a_length, self.a_angle)

    @a.setter
    def a(self, value: Any) -> None:
        polar = self._polar(np.asarray(value, dtype=float), self.b)
        self.set({name: polar[name] for name in ("a_length", "a_angle")})

    @property
    def b(self) -> Array:
        """The vector b, (2,)."""
        return _cartesian(self.b_length, self.b_angle)

    @b.setter
    def b(self, value: Any) -> None:
        polar = self._polar(self.a, np.asarray(value, dtype=float))
        self.set({name: polar[name] for name in ("b_length", "b_angle")})

    @staticmethod
    def _polar(a: Array, b: Array) -> dict[str, float]:
        if a.shape != (2,) or b.shape != (2,):
            raise ValueError(f"a and b must have shape (2,), got {a.shape} and {b.shape}")
        return {
            f"{name}_{what}": value
            for name, x in (("a", a), ("b", b))
            for what, value in (("length", math.hypot(*x)), ("angle", math.degrees(math.atan2(x[1], x[0]))))
        }

    def _arrange(self, picture: HTML) -> list[Any]:
        c = self.controls
        rows = [HBox([c[f"{name}_length"].widget, c[f"{name}_angle"].widget]) for name in "ab"]
        return [*rows, picture]

    def _draw(self) -> Drawing:
        self.dot = float(attention_scores(self.a[None], self.b[None], scale=1.0)[0, 0])
        between = abs((self.a_angle - self.b_angle + 180) % 360 - 180)
        return drawings.dot_product(
            self.a, self.b, self.dot, (self.a_length, self.b_length), between, self.REACH
        )

    def _figure(self) -> tuple[Any, ...]:
        return figures.vectors_plane, self.a[None], self.b[None], ["a"], ["b"]


class ScalingView(View):
    """Random queries and keys of any width: the spread of scores, 8 weights, the softmax's gradient."""

    d_k = Input("The width of queries and keys.")
    scaled = Input("Are the scores divided by √d_k?")
    PAIRS, KEYS, WIDEST, EDGE, BINS = 400, 8, 1024, 100, 50

    def __init__(self) -> None:
        controls = {
            "d_k": Slider("d_k", 64, 1, self.WIDEST, 0.5, log=True, whole=True, label="30px", width="360px"),
            "scaled": Tick("divide by √d_k", False),
        }
        examples = {
            "d_k = 64, not divided": {"d_k": 64, "scaled": False},
            "d_k = 64, divided": {"d_k": 64, "scaled": True},
            "d_k = 1024, not divided": {"d_k": 1024, "scaled": False},
        }
        super().__init__(controls, examples)

    def _arrange(self, picture: HTML) -> list[Any]:
        return [HBox([self.controls["d_k"].widget, self.controls["scaled"].widget]), picture]

    def _draw(self) -> Drawing:
        q, k = _random(self.PAIRS, self.WIDEST)[..., : int(self.d_k)]
        scale = None if self.scaled else 1.0
        self.scores = attention_scores(q[:, None], k[:, None], scale=scale).ravel()
        self.weights = attend(q[:1], k[: self.KEYS], k[: self.KEYS], scale=scale).weights
        w = self.weights[0]
        self.jacobian = np.diag(w) - np.outer(w, w)  # ∂w_i/∂s_j = w_i (1[i = j] − w_j)
        counts, _ = np.histogram(self.scores, bins=self.BINS, range=(-self.EDGE, self.EDGE))
        expected = 1.0 if self.scaled else math.sqrt(self.d_k)
        size = float(np.linalg.norm(self.jacobian))
        return drawings.scaling(
            counts, self.EDGE, self.scores.std(), expected, w, np.diag(self.jacobian), size
        )

    def _figure(self) -> tuple[Any, ...]:
        return figures.weight_bars, self.weights[0], [f"k{j}" for j in range(self.KEYS)], "q"


class SoftmaxView(View):
    """Seven logits, a temperature and a constant: weights, ratio and entropy; in float64 or float16."""

    logits = Input("The logits, (7,).")
    temperature = Input("What the logits are divided by.")
    constant = Input("What is added to every logit.")
    float16 = Input("Is the softmax computed in float16?")

    def __init__(self) -> None:
        s1 = load("it-animal")
        self._tokens = s1["tokens"]
        wide: dict[str, Any] = {"label": "80px", "width": "230px"}
        controls = {
            "logits": Sliders(self._tokens, -5.0, 5.0, 0.1, **wide),
            "temperature": Slider("T", 1.0, 0.1, 10.0, 0.1, **wide),
            "constant": Slider("c", 0.0, -2000.0, 2000.0, 10.0, **wide),
            "float16": Tick("compute in float16", False),
        }
        x = s1["embeddings"]
        scores = attention_scores(x @ s1["w_q"].T, x @ s1["w_k"].T, scale=s1["scale"])
        plain = {"temperature": 1.0, "constant": 0.0, "float16": False}
        examples = {
            "scores of it (S1)": {"logits": scores[self._tokens.index("it")], **plain},
            "all equal": {"logits": np.zeros(7), **plain},
            "a staircase": {"logits": np.arange(7) / 2, **plain},
        }
        super().__init__(controls, examples)

    def _arrange(self, picture: HTML) -> list[Any]:
        c = self.controls
        rows = [*c["logits"].widgets, c["temperature"].widget, c["constant"].widget, c["float16"].widget]
        return [HBox([VBox(rows, layout=SIDE), picture])]

    def _draw(self) -> Drawing:
        dtype = np.float16 if self.float16 else np.float64
        logits, t = self.logits.astype(dtype), dtype(self.temperature)
        inputs = (logits + dtype(self.constant)) / t
        self.weights = softmax(inputs)
        moved = np.abs(self.weights - softmax(logits / t)).max()
        w = self.weights.astype(float)
        ratio = w.max() / w.min() if w.min() > 0 else math.inf
        self.entropy = float(-(w[w > 0] * np.log(w[w > 0])).sum())
        naive = float(np.exp(inputs.max()))
        name = np.dtype(dtype).name
        return drawings.softmax_bars(inputs, w, self._tokens, ratio, self.entropy, float(moved), naive, name)

    def _figure(self) -> tuple[Any, ...]:
        return figures.weight_bars, self.weights.astype(float), self._tokens, "it"


class ValuesView(View):
    """Three values in the plane, three scores: the output is their mixture, inside their triangle."""

    v = Input("The values, (3, 2).")
    scores = Input("The scores, (3,).")
    LOW, HIGH = -1, 3

    def __init__(self) -> None:
        self._names = [f"v{j}" for j in range(3)]
        controls = {
            "v": Grid("v", np.zeros((3, 2)), self._names, ["x", "y"], self.LOW, self.HIGH, label=30, cell=60),
            "scores": Sliders([f"score {j}" for j in range(3)], -5.0, 5.0, 0.05, label="60px", width="230px"),
        }
        one, three = load("one-query"), load("three-tokens")
        examples = {"One query (S0)": {"v": one["v"], "scores": attention_scores(one["q"], one["k"])[0]}}
        for i in range(3):
            scores = attention_scores(three["q"][i : i + 1], three["k"])[0]
            examples[f"Three tokens (S3), query {i}"] = {"v": three["v"], "scores": scores}
        examples["a wide triangle"] = {"v": [[-0.5, -0.5], [2.5, 0.0], [1.0, 2.5]], "scores": np.zeros(3)}
        super().__init__(controls, examples)

    @property
    def weights(self) -> Array:
        """The weights in the picture, (3,)."""
        return self.steps.weights[0]

    @property
    def output(self) -> Array:
        """The output in the picture, (2,)."""
        return self.steps.output[0]

    def _arrange(self, picture: HTML) -> list[Any]:
        c = self.controls
        self._mover = Mover([c["v"]], self.LOW, self.HIGH, 0.05, upright=True)
        rows = [*c["scores"].widgets, _titled("V", figures.V, c["v"]), self._mover.widget]
        return [HBox([VBox(rows, layout=SIDE), picture])]

    def _draw(self) -> Drawing:
        # With q = 1 and a key of one entry, q·k is the score itself.
        self.steps = attend(np.ones((1, 1)), self.scores[:, None], self.v, scale=1.0)
        return drawings.weighted_values(self.v, self.weights, self.output, self._names, self.LOW, self.HIGH)

    def _figure(self) -> tuple[Any, ...]:
        return figures.hull, self.v, self.output[None], self._names, ["output"]


def _titled(name: str, color: str, grid: Any) -> VBox:
    """Put a grid below its name, marked with its colour."""
    mark = (
        f'<span style="display:inline-block;width:12px;height:12px;background:{color}"></span> <b>{name}</b>'
    )
    return VBox([HTML(mark, layout=Layout(margin="0", height="24px")), grid.widget], layout=SIDE)


@cache
def _random(pairs: int, width: int) -> Array:
    """Return as many queries and keys, the same in every view."""
    return np.random.default_rng(0).standard_normal((2, pairs, width))


def _cartesian(length: float, angle: float) -> Array:
    return length * np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
