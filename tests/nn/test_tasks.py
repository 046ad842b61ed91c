"""Tests of the small tasks: what the data is, what counts as right, and that training learns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attention_core import attend
from attention_core.nn import AttentionOnly, EncoderDecoder, tasks
from attention_core.nn.tasks import (
    END,
    N_TOKENS,
    START,
    Curve,
    Pairs,
    accuracy,
    answers,
    as_pairs,
    dates,
    repeated_tokens,
    reversed_words,
    text,
    train,
)


def check_pairs(pairs: Pairs) -> list[tuple[str, str]]:
    """Return the texts of a batch whose padding, starts and ends are where they belong."""
    n = len(pairs.source)
    assert {x.dtype for x in pairs} == {torch.int64}
    assert pairs.lengths.shape == (n,) and len(pairs.target) == n
    assert pairs.source.shape[1] == pairs.lengths.max()
    assert bool((pairs.target[:, 0] == START).all()) and bool((pairs.target[:, -1] == END).all())
    behind = torch.arange(pairs.source.shape[1]) >= pairs.lengths[:, None]
    assert torch.equal(pairs.source == END, behind)
    for source, target in zip(pairs.source, pairs.target, strict=True):
        assert START not in source and START not in target[1:]
        assert bool((target[len(text(target)) + 1 :] == END).all())
    return [(text(s), text(t)) for s, t in zip(pairs.source, pairs.target, strict=True)]


def test_reversed_words(rng: np.random.Generator) -> None:
    words = check_pairs(reversed_words(400, rng))
    assert all(backwards == word[::-1] for word, backwards in words)
    assert {len(word) for word, _ in words} == set(range(5, 13))
    assert set("".join(word for word, _ in words)) == set(tasks.LETTERS)


def test_dates(rng: np.random.Generator) -> None:
    rows = check_pairs(dates(400, rng))
    for spoken, written in rows:
        year, month, day = written.split("-")
        name = tasks.MONTHS[int(month) - 1]
        day = str(int(day))
        assert spoken in {f"{day} {name} {year}", f"{day} {name[:3]} {year}", f"{name} {day}, {year}"}
        assert np.datetime64(written).astype(str) == written
    assert {len(written) for _, written in rows} == {10}
    assert {int(written[:4]) // 10 for _, written in rows} == set(range(195, 205))
    long = [spoken for spoken, _ in rows if not any(f" {name[:3]} " in spoken for name in tasks.MONTHS)]
    first = sum(spoken[0].isalpha() for spoken in long)
    assert 100 < first < 170 and 220 < len(long) < 310


def test_repeated_tokens(rng: np.random.Generator) -> None:
    tokens = repeated_tokens(50, 7, 9, rng)
    assert tokens.shape == (50, 14) and tokens.dtype == torch.int64
    assert torch.equal(tokens[:, :7], tokens[:, 7:])
    assert all(len(set(row)) == 7 for row in tokens[:, :7].tolist())
    assert set(tokens.flatten().tolist()) == set(range(9))
    assert len({tuple(row) for row in tokens.tolist()}) == 50


@pytest.mark.parametrize("make", [reversed_words, dates, lambda n, rng: (repeated_tokens(n, 4, 9, rng),)])
def test_the_same_seed_gives_the_same_data(make: Callable[..., tuple[Tensor, ...]]) -> None:
    one, same, other = (make(8, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert all(torch.equal(a, b) for a, b in zip(one, same, strict=True))
    assert not all(a.shape == b.shape and torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_texts_of_your_own() -> None:
    pairs = as_pairs(["abc", "12 may"], ["cba", "x"])
    assert check_pairs(pairs) == [("abc", "cba"), ("12 may", "x")]
    assert pairs.target.tolist() == [[1, 4, 3, 2, 0], [1, 25, 0, 0, 0]]


class Parrot(nn.Module):
    """Stands in for a model: gives one logit to the token it is told to say."""

    def __init__(self, says: Tensor) -> None:
        super().__init__()
        self.says = says

    def forward(self, *_: Tensor) -> tuple[Tensor, None]:
        return nn.functional.one_hot(self.says, N_TOKENS).double(), None


def test_accuracy_of_texts_counts_whole_texts() -> None:
    batch = as_pairs(["abc", "de"], ["cba", "ed"])
    right = batch.target[:, 1:]
    assert accuracy(Parrot(right), batch) == 1.0
    wrong = right.clone()
    wrong[0, 1] = 9
    assert accuracy(Parrot(wrong), batch) == 0.5
    wrong[1, -1] = 9
    assert accuracy(Parrot(wrong), batch) == 0.0


def test_accuracy_of_blocks_counts_what_can_be_known() -> None:
    batch = torch.tensor([[3, 5, 4, 3, 5, 4]])
    says = torch.tensor([[9, 9, 9, 5, 4, 9]])  # nobody can know the first block, or what comes behind
    assert accuracy(Parrot(says), batch) == 1.0
    says[0, 3] = 9
    assert accuracy(Parrot(says), batch) == 0.5
    logits, tokens = answers(Parrot(says), batch)
    assert logits.shape == (1, 2, N_TOKENS) and tokens.tolist() == [[5, 4]]


# -- training ------------------------------------------------------------------------------------


def learn_a_block(seed: int, n_steps: int, every: int = 50) -> tuple[AttentionOnly, Tensor, Curve]:
    """Train one layer on blocks of 4: at a fixed length it is enough to look back 3 places."""
    torch.manual_seed(seed)
    model = AttentionOnly(n_tokens=4, d_model=16, n_heads=1, n_layers=1, n_positions=8)
    rng = np.random.default_rng(seed)
    batches, exam = (repeated_tokens(32, 4, 4, rng) for _ in range(n_steps)), repeated_tokens(50, 4, 4, rng)
    return model, exam, train(model, batches, exam, n_steps=n_steps, learning_rate=0.02, every=every)


def test_a_block_is_learned() -> None:
    model, exam, curve = learn_a_block(0, 60, every=20)
    assert curve.step.tolist() == [20, 40, 60]
    assert curve.loss[0] > curve.loss[-1] + 0.3
    assert curve.accuracy[-1] == accuracy(model, exam) > 0.9


def test_the_same_seed_gives_the_same_curve() -> None:
    one, same, other = (learn_a_block(seed, 2, every=1)[-1] for seed in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not np.array_equal(one.loss, other.loss)


def test_a_training_shorter_than_its_first_exam() -> None:
    assert [x.shape for x in learn_a_block(0, 3)[-1]] == [(0,), (0,), (0,)]


def words_model() -> EncoderDecoder:
    torch.manual_seed(0)
    return EncoderDecoder(N_TOKENS, N_TOKENS, 8, attend)


def test_accuracy_of_texts_is_that_of_generated_texts() -> None:
    model, exam = words_model(), as_pairs(["ab", "abb", "ba", "bba"], ["ba", "bba", "ab", "abb"])
    train(model, [exam] * 30, exam, n_steps=30, learning_rate=0.05)
    tokens, _ = model.generate(exam.source, exam.lengths, exam.target.shape[1] - 1, start=START)
    share = (tokens == exam.target[:, 1:]).all(dim=1).double().mean()
    assert 0 < accuracy(model, exam) == float(share)


RNG = np.random.default_rng(0)
TEXT: Any = "2"


def learn_nothing(**options: Any) -> Curve:
    return train(words_model(), [], as_pairs(["a"], ["a"]), **{"n_steps": 1, "learning_rate": 0.1, **options})


ERRORS: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "no words": (ValueError, lambda: reversed_words(0, RNG), r"n must be at least 1, got 0"),
    "dates str": (TypeError, lambda: dates(TEXT, RNG), r"n must be an integer, got str"),
    "block of 1": (ValueError, lambda: repeated_tokens(1, 1, 9, RNG), r"length must be from 2 to 9, got 1"),
    "long block": (ValueError, lambda: repeated_tokens(1, 10, 9, RNG), r"length must be from 2 to 9, got 10"),
    "n_tokens": (
        TypeError,
        lambda: repeated_tokens(1, 2, TEXT, RNG),
        r"n_tokens must be an integer, got str",
    ),
    "letter": (ValueError, lambda: as_pairs(["aB?"], ["a"]), r"must have letters of 'abc.*got \['\?', 'B'\]"),
    "start as a letter": (ValueError, lambda: as_pairs(["a"], ["^"]), r"got \['\^'\]"),
    "empty source": (ValueError, lambda: as_pairs(["a", ""], ["a", "b"]), r"at least one letter"),
    "targets": (ValueError, lambda: as_pairs(["a"], []), r"its target, got sources 1, targets 0"),
    "no texts": (ValueError, lambda: as_pairs([], []), r"at least one"),
    "every": (ValueError, lambda: learn_nothing(every=0), r"every must be at least 1, got 0"),
    "learning rate": (ValueError, lambda: learn_nothing(learning_rate=0.0), r"learning_rate must be above 0"),
}


@pytest.mark.parametrize(("error", "call", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_error(error: type[Exception], call: Callable[[], Any], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
