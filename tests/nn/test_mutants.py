"""Proof that the tests of the modules see: each damaged copy is caught by a named test."""

from collections.abc import Callable
from functools import partial
from types import ModuleType

import numpy as np
import pytest

from attention_core.nn import attention, blocks, recurrent, tasks
from tests.kernels.test_mutants import Mutant, damaged
from tests.nn import test_blocks as b
from tests.nn import test_recurrent as r
from tests.nn import test_tasks as t


def encoder(case: str) -> Callable[[object], None]:
    return lambda _: b.test_encoder_block_is_torchs_own(*b.ENCODER[case])


def decoder(case: str) -> Callable[[object], None]:
    return lambda _: b.test_decoder_block_is_torchs_own(*b.DECODER[case])


def recurrent_test(test: Callable[..., None]) -> Callable[[object], None]:
    return lambda _: test(r.ATTENTIONS["additive"])


SELF = "self.attention(self.norm_1(x), mask=mask)"
CROSS = "self.cross_attention(self.norm_2(x), memory, mask=memory_mask)"
BLOCKS = [
    Mutant(
        "norm last", f"{SELF}.output", "self.norm_1(self.attention(x, mask=mask).output)", encoder("no mask")
    ),
    Mutant("no residual", f"x = x + self.dropout({SELF}", f"x = self.dropout({SELF}", encoder("no mask")),
    Mutant("mask lost", SELF, "self.attention(self.norm_1(x))", encoder("causal")),
    Mutant("no relu", "torch.relu(self.w_1(x))", "self.w_1(x)", encoder("no mask")),
    Mutant(
        "norms swapped",
        "ours.norm_2 = copy.deepcopy(layer.norm2)\n        ours.feed",
        "ours.feed",
        encoder("no mask"),
    ),
    Mutant("memory not seen", CROSS, "self.cross_attention(self.norm_2(x))", decoder("no mask")),
    Mutant("memory's mask lost", CROSS, "self.cross_attention(self.norm_2(x), memory)", decoder("both")),
    Mutant(
        "memory normed", "self.norm_2(x), memory", "self.norm_2(x), self.norm_2(memory)", decoder("no mask")
    ),
    Mutant(
        "future seen", "layer(x, mask=mask)", "layer(x)", lambda _: b.test_attention_only_sees_no_future()
    ),
    Mutant(
        "no positions",
        "self.embed(tokens) + self.positions.weight[:n]",
        "self.embed(tokens)",
        lambda _: b.test_attention_only_step_by_step(),
    ),
]
RECURRENT = [
    Mutant(
        "padding attended to",
        "h, h, mask=mask)",
        "h, h)",
        recurrent_test(r.test_padding_changes_nothing),
    ),
    Mutant(
        "padding read",
        'lengths.to("cpu", torch.int64)',
        "torch.full_like(lengths, n_s)",
        recurrent_test(r.test_padding_changes_nothing),
    ),
    Mutant(
        "the encoder is never looked at",
        "self.embed_target(y), c]",
        "self.embed_target(y), 0 * c]",
        recurrent_test(partial(r.test_encoder_decoder_step_by_step, bidirectional=True)),
    ),
    Mutant(
        "the next token given away",
        "target[:, :-1]",
        "target[:, 1:]",
        recurrent_test(partial(r.test_encoder_decoder_step_by_step, bidirectional=True)),
    ),
    Mutant(
        "first token written for ever",
        "y = logits_t.argmax(dim=-1)",
        "logits_t.argmax(dim=-1)",
        recurrent_test(r.test_generate_writes_what_the_logits_say),
    ),
]
ADDITIVE = [
    Mutant("mask lost", "weigh(scores, value, mask=mask)", "weigh(scores, value)", lambda _: pair_by_pair()),
    Mutant("keys for values", "weigh(scores, value,", "weigh(scores, key,", lambda _: pair_by_pair()),
    Mutant("not uniform", "scale=0.0", "scale=1.0", lambda _: r.test_uniform_attention_is_the_mean()),
]
TASKS = [
    Mutant("not reversed", "word[::-1] for", "word for", lambda _: reversed_words()),
    Mutant(
        "chance counted",
        "batch.shape[1] // 2",
        "0",
        lambda _: t.test_accuracy_of_blocks_counts_what_can_be_known(),
    ),
    Mutant("letters counted", ".all(dim=1)", "", lambda _: t.test_accuracy_of_texts_counts_whole_texts()),
    Mutant("nothing learned", "loss.backward()", "pass", lambda _: t.test_the_loss_falls()),
]


def pair_by_pair() -> None:
    r.test_additive_attention_pair_by_pair(r.MASK)


def reversed_words() -> None:
    t.test_reversed_words(np.random.default_rng(0))


CASES: list[tuple[ModuleType, ModuleType, Mutant]] = [
    *((blocks, b, mutant) for mutant in BLOCKS),
    *((recurrent, r, mutant) for mutant in RECURRENT),
    *((attention, r, mutant) for mutant in ADDITIVE),
    *((tasks, t, mutant) for mutant in TASKS),
]


@pytest.mark.parametrize(("module", "tests", "mutant"), CASES, ids=[case[-1].change for case in CASES])
def test_damage_is_noticed(
    module: ModuleType, tests: ModuleType, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = damaged(module, mutant)
    for name in vars(tests).keys() & vars(copy).keys():
        if getattr(vars(copy)[name], "__module__", "") == module.__name__:
            monkeypatch.setattr(tests, name, vars(copy)[name])
    with pytest.raises((AssertionError, RuntimeError)):
        mutant.noticed_by(copy)
