"""Small tasks to learn in seconds: words to reverse, dates to rewrite, a block of tokens that comes twice."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from attention_core import _checks

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ALPHABET = f"_^{LETTERS}0123456789 -,"  # the tokens of words and dates, in their order
N_TOKENS = len(ALPHABET)
END, START = 0, 1  # "_" ends a target and is the padding; "^" starts a target
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


class Pairs(NamedTuple):
    """A batch of texts and what to write for each: int64 tokens, what an `EncoderDecoder` takes.

    Shapes: source (n, n_s), padded with END; lengths (n,) of the sources; target (n, 1 + n_t): START,
    the tokens, END at least once.
    """

    source: Tensor
    lengths: Tensor
    target: Tensor


class Curve(NamedTuple):
    """How a training went: at some of its steps, the loss, and the accuracy on the exam; each (n,)."""

    step: np.ndarray
    loss: np.ndarray
    accuracy: np.ndarray


def reversed_words(n: int, rng: np.random.Generator) -> Pairs:
    """Return n words of 5 to 12 random letters, to be written backwards.

    Raises TypeError when n is not an integer, ValueError when it is below 1.

    >>> words = reversed_words(2, np.random.default_rng(0))
    >>> text(words.source[0]), text(words.target[0])
    ('nhibbaevqxn', 'nxqveabbihn')
    """
    _checks.integer("n", n, 1)
    sizes = rng.integers(5, 13, size=n)
    words = ["".join(rng.choice(list(LETTERS), size=size)) for size in sizes]
    return as_pairs(words, [word[::-1] for word in words])


def dates(n: int, rng: np.random.Generator) -> Pairs:
    """Return n dates of the years 1950 to 2049 as people write them, to be written year-month-day.

    Three ways to write a date come equally often: "12 march 2024", "12 mar 2024", "march 12, 2024".
    Raises TypeError when n is not an integer, ValueError when it is below 1.

    >>> days = dates(2, np.random.default_rng(0))
    >>> text(days.source[0]), text(days.target[0])
    ('24 jan 2035', '2035-01-24')
    """
    _checks.integer("n", n, 1)
    days = np.datetime64("1950-01-01") + rng.integers(0, 36525, size=n)
    forms = rng.integers(0, 3, size=n)
    written = [str(day) for day in days]
    return as_pairs([_spoken(*pair) for pair in zip(written, forms, strict=True)], written)


def repeated_tokens(n: int, length: int, n_tokens: int, rng: np.random.Generator) -> Tensor:
    """Return n rows in which a random block comes twice, int64 (n, 2·length).

    A token comes once in a block at most, so whoever finds it again knows what follows. Let `length`
    change from batch to batch: at a fixed one, "look back length - 1 places" would do, without a look
    at the tokens.

    Raises TypeError for sizes that are not integers; ValueError when n is below 1, or length not from 2
    to n_tokens.

    >>> repeated_tokens(1, 3, 9, np.random.default_rng(0))
    tensor([[4, 5, 2, 4, 5, 2]])
    """
    _checks.integer("n", n, 1)
    _checks.integer("n_tokens", n_tokens, 2)
    _checks.integer("length", length, 2, n_tokens)
    shuffled = rng.permuted(np.tile(np.arange(n_tokens), (n, 1)), axis=1)  # (n, n_tokens)
    block = torch.from_numpy(shuffled[:, :length])  # (n, length)
    return torch.cat([block, block], dim=1)  # (n, 2·length)


def as_pairs(sources: list[str], targets: list[str]) -> Pairs:
    """Return texts as tokens, to try a text of your own; every letter must be in ALPHABET.

    Raises ValueError for a letter that is not, an empty source, or lists of different lengths.

    >>> text(as_pairs(["12 may 2024"], ["2024-05-12"]).source[0])
    '12 may 2024'
    """
    _checks.equal("each source needs its target", sources=len(sources), targets=len(targets))
    unknown = set("".join(sources + targets)) - set(ALPHABET[2:])
    if unknown:
        raise ValueError(f"texts must have letters of {ALPHABET[2:]!r}, got {sorted(unknown)}")
    if not sources or not all(sources):
        raise ValueError(f"there must be one source at least, each with at least one letter, got {sources}")
    lengths = torch.tensor([len(source) for source in sources])
    answers = [ALPHABET[START] + target + ALPHABET[END] for target in targets]
    return Pairs(_padded(sources), lengths, _padded(answers))


def text(tokens: Iterable[int] | Tensor) -> str:
    """Return a row of tokens as letters, without the start, and without the end and what follows it.

    >>> text([1, 2, 3, 4, 0, 0])
    'abc'
    """
    letters = "".join(ALPHABET[int(token)] for token in tokens)
    return letters.removeprefix(ALPHABET[START]).split(ALPHABET[END])[0]


def answers(model: nn.Module, batch: Pairs | Tensor) -> tuple[Tensor, Tensor]:
    """Return the model's logits (n, m, n_tokens) wherever a token can be known, and those tokens (n, m)."""
    if isinstance(batch, Pairs):
        return model(*batch)[0], batch.target[:, 1:]
    again = batch.shape[1] // 2  # here the block starts again: from now on a look back tells the next
    return model(batch)[0][:, again:-1], batch[:, again + 1 :]


def accuracy(model: nn.Module, batch: Pairs | Tensor) -> float:
    """Return the share of texts without a single wrong letter, or of right guesses in repeated blocks.

    The letters before are given; a text without a wrong letter is then what `generate` writes too.
    """
    with torch.no_grad():
        logits, tokens = answers(model, batch)
    right = logits.argmax(dim=-1) == tokens  # (n, m)
    return float((right.all(dim=1) if isinstance(batch, Pairs) else right).double().mean())


def train(
    model: nn.Module,
    batches: Iterable[Pairs | Tensor],
    exam: Pairs | Tensor,
    *,
    n_steps: int,
    learning_rate: float,
    every: int = 50,
) -> Curve:
    """Teach `model` one of the n_steps batches after the other, with an exam after every so many.

    The learning rate falls evenly to 0: with steps of one size the last exams still jump.
    The result depends on the model's first parameters (`torch.manual_seed` before it is made), on the
    batches, and on the number of threads and the processor; nothing else is random here.
    Raises TypeError or ValueError when learning_rate is not a number above 0, or n_steps or every not an
    integer of at least 1.

    Source: Kingma & Ba (2015), Adam; gradients of norm above 1 shortened to 1: Pascanu et al. (2013),
    On the Difficulty of Training Recurrent Neural Networks, section 3.2.
    """
    _checks.number("learning_rate", learning_rate, above=0)
    _checks.integer("n_steps", n_steps, 1)
    _checks.integer("every", every, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    slower = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(1 - step / n_steps, 0.0))
    points = []
    for step, batch in enumerate(batches, start=1):
        logits, tokens = answers(model, batch)  # (n, m, n_tokens), (n, m)
        loss = cross_entropy(logits.flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        slower.step()
        if step % every == 0:
            points.append((step, loss.item(), accuracy(model, exam)))
    return Curve(*np.array(points).reshape(-1, 3).T)


def _spoken(date: str, form: int) -> str:
    """Return 2024-03-12 as "12 march 2024", "12 mar 2024" or "march 12, 2024"."""
    year, month, day = date.split("-")
    day, name = day.removeprefix("0"), MONTHS[int(month) - 1]
    return (f"{day} {name} {year}", f"{day} {name[:3]} {year}", f"{name} {day}, {year}")[form]


def _padded(texts: list[str]) -> Tensor:
    longest = max(map(len, texts))
    return torch.tensor([[ALPHABET.index(c) for c in t.ljust(longest, ALPHABET[END])] for t in texts])
