"""The live views on tokens: "it → animal", and several heads."""

from typing import Any

import numpy as np
from ipywidgets import HTML, HBox, Layout, VBox

from attention_core import figures
from attention_core.attention import Attention, attend
from attention_core.heads import merge_heads, split_heads
from attention_core.live import token_drawings
from attention_core.live._shapes import Array, Drawing
from attention_core.live.grids import Grid, Mover
from attention_core.live.number_controls import Slider
from attention_core.live.other_controls import Choice, Tick, Words
from attention_core.live.token_drawings import HeadSteps
from attention_core.live.view import LIMIT, SIDE, Input, View
from attention_core.worked import load


class ItAnimalView(View):
    """The seven tokens of "it → animal": embeddings and projections to edit, all weights, one waterfall."""

    embeddings = Input("The embeddings, (7, 4).")
    w_q = Input("W_Q in the source's convention, q = W_Q x, (4, 4).")
    w_k = Input("W_K, (4, 4).")
    w_v = Input("W_V, (4, 4).")
    tokens = Input("The seven tokens.")
    asking = Input("The number of the token that asks.")
    entry = Input("Which number of the output the waterfall shows.")
    scaled = Input("Are the scores divided by √d_k?")
    steps: Attention

    def __init__(self) -> None:
        s1 = load("it-animal")
        tokens, self._features = s1["tokens"], s1["features"]
        columns, rows = ["noun", "alive", "tire", "pron."], [f"row {i}" for i in range(4)]
        sizes = {"label": 50, "cell": 42}
        controls = {
            "tokens": Words("Tokens", tokens, width="420px"),
            "embeddings": Grid("x", np.zeros((7, 4)), tokens, columns, -LIMIT, LIMIT, **sizes),
            **{
                name: Grid(label, np.zeros((4, 4)), rows, columns, -LIMIT, LIMIT, **sizes)
                for name, label in (("w_q", "W_Q"), ("w_k", "W_K"), ("w_v", "W_V"))
            },
            "asking": Choice(
                "Asks", [(token, i) for i, token in enumerate(tokens)], label="40px", width="150px"
            ),
            "entry": Choice(
                "Waterfall of", [(f, i) for i, f in enumerate(self._features)], label="80px", width="190px"
            ),
            "scaled": Tick("divide by √d_k", False),
        }
        same = {name: s1[name] for name in ("tokens", "embeddings", "w_q", "w_k", "w_v")}
        same |= {"asking": tokens.index("it"), "entry": 0, "scaled": False}
        pronoun = np.diag([0.0, 0.0, 0.0, 1.0])
        examples = {
            "it → animal (S1)": same,
            "W_V = I": {**same, "w_v": np.eye(4)},
            "W_V keeps the pronoun only": {**same, "w_v": pronoun, "entry": 3},
        }
        super().__init__(controls, examples)

    @property
    def weights(self) -> Array:
        """All weights, (7, 7): rows ask."""
        return self.steps.weights

    @property
    def output(self) -> Array:
        """The output of every token, (7, 4)."""
        return self.steps.output

    def _arrange(self, picture: HTML) -> list[Any]:
        c, names = self.controls, {"embeddings X": "embeddings", "W_Q": "w_q", "W_K": "w_k", "W_V": "w_v"}
        panels = {
            name: VBox([c[name].widget, Mover([c[name]], -2.0, 2.0, 0.1, upright=True).widget])
            for name in names.values()
        }
        edit = Choice("Edit", list(names.items()), label="40px", width="200px")
        panel = VBox([panels["embeddings"]], layout=Layout(height="310px", width="240px"))
        edit.listen(lambda: setattr(panel, "children", [panels[edit.value]]))
        top = HBox([c["tokens"].widget, c["asking"].widget, c["entry"].widget])
        left = VBox([HBox([edit.widget]), c["scaled"].widget, panel], layout=SIDE)
        return [top, HBox([left, picture])]

    def _draw(self) -> Drawing:
        tokens, asking, entry = self.tokens, self.asking, self.entry
        self.controls["embeddings"].rename_rows(tokens)
        self.controls["asking"].offer([(token, i) for i, token in enumerate(tokens)])
        q, k, v = (self.embeddings @ w.T for w in (self.w_q, self.w_k, self.w_v))
        self.steps = attend(q, k, v, scale=None if self.scaled else 1.0)
        scores, _, weights, output = self.steps
        return token_drawings.it_animal(
            scores, weights, v[:, entry], output[asking], tokens, asking, entry, self._features[entry]
        )

    def _figure(self) -> tuple[Any, ...]:
        return figures.weights_heatmap, self.weights, self.tokens, self.tokens


class HeadsView(View):
    """Four tokens, d_model = 8: split into heads, each head's weights, merged again."""

    n_heads = Input("The number of heads.")
    head = Input("The head that is picked out.")
    D_MODEL = 8

    def __init__(self) -> None:
        s1 = load("it-animal")["tokens"]
        self.tokens = [s1[1], s1[3], s1[5], s1[6]]
        rng = np.random.default_rng(0)
        self.x = rng.standard_normal((len(self.tokens), self.D_MODEL)).round(2)
        self.w = dict(
            zip("qkvo", rng.standard_normal((4, self.D_MODEL, self.D_MODEL)).round(2) / 2, strict=True)
        )
        wide: dict[str, Any] = {"whole": True, "label": "90px", "width": "300px"}
        controls = {
            "n_heads": Slider("n_heads", 2, 1, self.D_MODEL, 1, **wide),
            "head": Slider("picked head", 0, 0, self.D_MODEL - 1, 1, **wide),
        }
        controls["n_heads"].listen(self._keep_head)
        examples = {f"{h} head{'s' * (h > 1)}": {"n_heads": h, "head": 0} for h in (2, 1, 4, 8)}
        super().__init__(controls, examples)

    @property
    def weights(self) -> Array:
        """The weights of all heads, (n_heads, 4, 4)."""
        return self.steps.weights

    @property
    def output(self) -> Array:
        """The output, (4, 8)."""
        return self.steps.output

    def _keep_head(self) -> None:
        """With fewer heads, pick the last one that is left."""
        if self.head >= self.n_heads:
            with self._pause.raised():
                self.head = self.n_heads - 1

    def _arrange(self, picture: HTML) -> list[Any]:
        return [HBox([self.controls["n_heads"].widget, self.controls["head"].widget]), picture]

    def _draw(self) -> Drawing:
        n_heads, head = int(self.n_heads), int(self.head)
        q, k, v = (self.x @ self.w[name] for name in "qkv")
        each = attend(*(split_heads(x, n_heads) for x in (q, k, v)))
        if head >= n_heads:
            raise ValueError(f"the picked head must be from 0 to n_heads − 1 = {n_heads - 1}, got {head}")
        merged = merge_heads(each.output)
        self.steps = HeadSteps(self.x, q, k, v, each.weights, merged, merged @ self.w["o"])
        return token_drawings.heads(self.steps, self.tokens, head)

    def _figure(self) -> tuple[Any, ...]:
        names = [f"head {h}" for h in range(len(self.weights))]
        return figures.head_maps, self.weights, self.tokens, self.tokens, names
