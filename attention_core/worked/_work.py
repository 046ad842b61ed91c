"""One function for each worked example: every named quantity, from the inputs, with the kernels."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING

import numpy as np

from attention_core.attention import Attention, attend, attention_scores, softmax
from attention_core.heads import multi_head, split_heads

if TYPE_CHECKING:  # these modules import each other
    from attention_core.worked import Array, Example, Value


def _one_query(s0: Example) -> dict[str, Value]:
    q, k, v = s0["q"], s0["k"], s0["v"]
    steps = _attend_one(q[0], k, v)
    printed_weights = s0.as_printed("weights")
    return {
        "first_products": q[0] * k[0],
        "first_dot_product": _dot(q[0], k[0]),
        "dot_products": attention_scores(q, k, scale=1.0)[0],
        "sqrt_d_k": float(np.sqrt(q.shape[-1])),
        "scores": steps.scores,
        "weights": steps.weights,
        "output": steps.output,
        "output_sum": float(steps.output.sum()),
        "v_row_sums": v.sum(axis=1),
        "scores_from_printed_dot_products": s0.as_printed("dot_products") / np.sqrt(q.shape[-1]),
        "weights_from_printed_scores": softmax(s0.as_printed("scores")),
        "third_share_from_printed_weights": printed_weights[2] * v[2],
        "printed_output_sum": float(s0.as_printed("output").sum()),
    }


def _gpt3_width(s0: Example) -> dict[str, Value]:
    return {
        "d_k": _head_width(s0["d_model"], s0["n_heads"]),
        "gpt2_large_d_k": _head_width(s0["gpt2_large_d_model"], s0["gpt2_large_n_heads"]),
    }


def _dot_product(example: Example) -> dict[str, Value]:
    a, b = example["a"], example["b"]
    return {"products": a * b, "dot_product": _dot(a, b)}


def _it_animal(s1: Example) -> dict[str, Value]:
    q, k, v = _columns(s1, s1["w_v"])
    it, animal, street = (s1["tokens"].index(token) for token in ("it", "animal", "street"))
    steps = _attend_one(q[it], k, v, scale=s1["scale"])
    nouns = s1["embeddings"][:, s1["features"].index("noun")] == 1
    return {
        **{"q": q, "q_it": q[it], "q_animal": q[animal], "q_street": q[street]},
        **{"k": k, "k_it": k[it], "k_animal": k[animal], "k_street": k[street]},
        **{"v": v, "v_it": v[it], "v_animal": v[animal], "v_street": v[street]},
        "scores": steps.scores,
        "exp_animal": float(np.exp(steps.scores[animal])),
        "exp_it": float(np.exp(steps.scores[it])),
        "exp_sum": float(np.exp(steps.scores).sum()),
        "weights": steps.weights,
        "weights_sum": float(steps.weights.sum()),
        "entropy": float(-(steps.weights * np.log(steps.weights)).sum()),
        "max_entropy": float(np.log(len(s1["tokens"]))),
        "output": steps.output,
        "output_noun": float(steps.output[0]),
        "noun_weight": float(steps.weights[nouns].sum()),
        "noun_weight_if_uniform": float(softmax(np.zeros(len(nouns)))[nouns].sum()),
        **_it_animal_scaled(s1, it),
        **_it_animal_as_rows(s1, it),
        **_it_animal_other_values(s1, it, animal),
        **_it_animal_distance(s1),
    }


def _it_animal_scaled(s1: Example, it: int) -> dict[str, Value]:
    q, k, v = _columns(s1, s1["w_v"])
    steps = _attend_one(q[it], k, v)
    return {"scaled_weights": steps.weights, "scaled_output": steps.output}


def _it_animal_as_rows(s1: Example, it: int) -> dict[str, Value]:
    """The source's PyTorch version, X @ W: as it stands there, then mended in two steps."""
    x, ws = s1["embeddings"], [s1["w_q"], s1["w_k"], s1["w_v"]]
    as_written = [x @ w for w in ws]
    transposed = [x @ w.T for w in ws]
    return {
        "rows_q_it": as_written[0][it],
        "rows_weights": attend(*as_written).weights[it],
        "rows_output": attend(*as_written).output[it],
        "rows_transposed_output": attend(*transposed).output[it],
        "rows_transposed_unscaled_output": attend(*transposed, scale=1.0).output[it],
    }


def _it_animal_other_values(s1: Example, it: int, animal: int) -> dict[str, Value]:
    """W_V that keeps every feature, and W_V that keeps only the pronoun feature."""
    n = len(s1["features"])
    pronoun = s1["features"].index("pronoun")
    q, k, everything = _columns(s1, np.eye(n))
    _, _, only_pronoun = _columns(s1, np.diag(np.eye(n)[pronoun]))
    output = _attend_one(q[it], k, everything, scale=s1["scale"]).output
    length, animal_length = np.linalg.norm(output), np.linalg.norm(everything[animal])
    return {
        "identity_output": output,
        "identity_v_animal": everything[animal],
        "identity_cosine": _dot(output, everything[animal]) / float(length * animal_length),
        "identity_length": float(length),
        "identity_v_animal_length": float(animal_length),
        "pronoun_v_it": float(only_pronoun[it, pronoun]),
        "pronoun_output": float(_attend_one(q[it], k, only_pronoun, scale=s1["scale"]).output[pronoun]),
    }


def _it_animal_distance(s1: Example) -> dict[str, Value]:
    apart = s1["sentence"].index("it") - s1["sentence"].index("animal")
    return {"words_between": apart - 1, "places_apart": apart}


def _softmax_ratios(s1: Example) -> dict[str, Value]:
    small, large = (softmax(np.array([0.0, s1[gap]])) for gap in ("small_gap", "large_gap"))
    return {"small_gap_ratio": float(small[1] / small[0]), "large_gap_ratio": float(large[1] / large[0])}


def _three_tokens(s3: Example) -> dict[str, Value]:
    q, k, v = s3["q"], s3["k"], s3["v"]
    dot_products = attention_scores(q, k, scale=1.0)
    steps = attend(q, k, v)
    exp = np.exp(steps.scores[0])
    return {
        "sqrt_d_k": float(np.sqrt(q.shape[-1])),
        **{"dot_products": dot_products, "first_dot_products": dot_products[0]},
        **{"scores": steps.scores, "first_scores": steps.scores[0]},
        **{"first_exp_scores": exp, "first_exp_sum": float(exp.sum())},
        "first_two_exp_sum": float(exp[:2].sum()),
        **{"weights": steps.weights, "first_weights": steps.weights[0]},
        "first_weights_sum": float(steps.weights[0].sum()),
        "first_shares_y": steps.weights[0] * v[:, 1],
        **{"output": steps.output, "first_output": steps.output[0]},
        **_three_tokens_slips(s3, exp),
    }


def _three_tokens_slips(s3: Example, exp: Array) -> dict[str, Value]:
    """How the source came to its last digits: it cut them off, then added what was left."""
    printed = s3.as_printed("first_exp_scores")
    last_digit = Decimal(str(printed[0].item()))
    cut_off = Decimal(str(exp[0].item())).quantize(last_digit, rounding=ROUND_DOWN)
    return {
        "first_exp_score_cut_off": float(cut_off),
        "printed_exp_sum": float(printed.sum()),
        "exp_of_printed_score": float(np.exp(s3.as_printed("first_scores")[0])),
    }


def _head_sizes(example: Example) -> dict[str, Value]:
    w = np.zeros((example["d_model"], example["d_model"]))  # w_q, w_k, w_v and w_o have this shape
    return {
        "parameters_of_one_head": 4 * w.size,
        "parameters_of_all_heads": 4 * split_heads(w, example["n_heads"]).size,
        "d_k": _head_width(example["d_model"], example["n_heads"]),
        "larger_d_k": _head_width(example["larger_d_model"], example["larger_n_heads"]),
    }


def _module_shapes(example: Example) -> dict[str, Value]:
    n, d_model, n_heads = example["n"], example["d_model"], example["n_heads"]
    w = np.eye(d_model)
    shapes: dict[str, Value] = {}
    for source in ("s2", "s4"):
        x = np.zeros((example[f"{source}_batch_size"], n, d_model))
        steps = multi_head(x, x, w, w, w, w, n_heads=n_heads)
        shapes[f"{source}_output_shape"] = np.array(steps.output.shape)
    heads = split_heads(np.zeros((n, d_model)), n_heads)
    return {
        **shapes,
        "s4_weights_shape": np.array(steps.weights.shape),
        "head_axes": np.array(heads.shape)[[0, 2]],
    }


def _heads_in_memory(s4: Example) -> dict[str, Value]:
    x = np.zeros((s4["batch_size"], s4["n"], s4["d_model"]))
    heads = split_heads(x, s4["n_heads"])
    copied = np.ascontiguousarray(heads)
    strides, copied_strides = (np.array(a.strides) // a.itemsize for a in (heads, copied))
    return {
        "shares_memory": np.shares_memory(x, heads),
        "contiguous": heads.flags.c_contiguous,
        "strides": strides,
        "numbers_from_row_to_row": int(strides[-2]),
        "copied_shares_memory": np.shares_memory(x, copied),
        "copied_contiguous": copied.flags.c_contiguous,
        "copied_strides": copied_strides,
        "copied_numbers_from_row_to_row": int(copied_strides[-2]),
    }


def _mask_with_1e9(example: Example) -> dict[str, Value]:
    scores, blocked = example["scores"], example["blocked_score"]
    last = np.arange(len(scores)) == len(scores) - 1
    return {
        "exp_of_blocked_score": float(np.exp(blocked)),
        "last_blocked_weights": softmax(np.where(last, blocked, scores)),
        "all_blocked_weights": softmax(np.full_like(scores, blocked)),
        "all_blocked_weights_with_inf": softmax(np.full_like(scores, -np.inf)),
        "float16_lowest": float(np.finfo(np.float16).min),
    }


def _eating_apples(s2: Example) -> dict[str, Value]:
    """Hand-made matrices, X @ W: one word with two senses in two sentences."""
    found: dict[str, Value] = {}
    for name, tokens in (("fruit", s2["tokens"]), ("phone", s2["phone_tokens"])):
        x = s2["embeddings" if name == "fruit" else "phone_embeddings"]
        steps = attend(x @ s2["w_q"], x @ s2["w_k"], x @ s2["w_v"])
        apple = tokens.index("苹果")
        found[f"{name}_weights_of_apple"] = steps.weights[apple]
        found[f"{name}_output_of_apple"] = steps.output[apple]
    return found


def _in_words(_: Example) -> dict[str, Value]:
    """Nothing to compute here: these claims are put to the test in the notebooks."""
    return {}


WORK: dict[str, Callable[[Example], dict[str, Value]]] = {
    "one-query": _one_query,
    "gpt3-width": _gpt3_width,
    "self-dot-product": _dot_product,
    "it-animal": _it_animal,
    "softmax-ratios": _softmax_ratios,
    "dot-product": _dot_product,
    "three-tokens": _three_tokens,
    "head-sizes": _head_sizes,
    "module-shapes": _module_shapes,
    "heads-in-memory": _heads_in_memory,
    "mask-with-1e9": _mask_with_1e9,
    "eating-apples": _eating_apples,
    "in-words": _in_words,
}


def _attend_one(query: Array, k: Array, v: Array, scale: float | None = None) -> Attention:
    """Return the steps of one query, without the axis of queries."""
    return Attention(*(step[0] for step in attend(query[None], k, v, scale=scale)))


def _dot(a: Array, b: Array) -> float:
    return float(attention_scores(a[None], b[None], scale=1.0)[0, 0])


def _head_width(d_model: int, n_heads: int) -> int:
    return int(split_heads(np.zeros((1, d_model)), n_heads).shape[-1])


def _columns(s1: Example, w_v: Array) -> list[Array]:
    """Return q, k, v of all tokens in the source's column convention, q = W x."""
    return [s1["embeddings"] @ w.T for w in (s1["w_q"], s1["w_k"], w_v)]
