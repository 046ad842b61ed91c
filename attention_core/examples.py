"""The worked examples of the course: inputs and printed numbers from the sources, checked by the kernels.

`load("one-query")` reads one example, `computed(example)` works it with the kernels, and
`compare(example)` sets what the source printed beside what its own inputs give.
The text files are in the folder `examples` beside this module.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import ROUND_DOWN, Decimal
from importlib.resources import files
from re import fullmatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_core.attention import Attention, attend, attention_scores, softmax
from attention_core.heads import multi_head, split_heads

Array = NDArray[Any]
Input = Array | list[str] | float | int
Value = Array | float | int
Printed = str | tuple["Printed", ...]

VERDICTS = ("true", "overstated", "half true", "false")


@dataclass(frozen=True)
class Published:
    """A number that a source printed.

    `quantity` names the value in `computed(example)`; `printed` is a text, or a nested tuple of texts,
    exactly as printed; `unit` says what is counted ("" for a plain number). `erratum` is the reason
    why the number is wrong, `slip` where the source slipped: both None when it is right. `source` is
    the example's unless the file says otherwise.
    """

    quantity: str
    printed: Printed
    unit: str = ""
    erratum: str | None = None
    slip: str | None = None
    note: str | None = None
    source: str = ""


@dataclass(frozen=True)
class Statement:
    """A claim in words, the computed quantities that decide it, the verdict and the reason."""

    says: str
    shows: tuple[str, ...]
    verdict: str
    why: str
    source: str


@dataclass(frozen=True, eq=False)
class Example:
    """One worked example; `example["q"]` is short for `example.inputs["q"]`."""

    id: str
    title: str
    source: str
    place: str
    inputs: dict[str, Input]
    published: tuple[Published, ...]
    statements: tuple[Statement, ...]

    def __getitem__(self, name: str) -> Any:
        """Return one input, or raise KeyError naming the inputs there are."""
        if name not in self.inputs:
            raise KeyError(f"{self.id} has no input {name!r}; it has {', '.join(self.inputs)}")
        return self.inputs[name]


@dataclass(frozen=True)
class Row:
    """One printed number beside the computed one."""

    example_id: str
    source: str
    quantity: str
    printed: str
    computed: str
    agrees: bool
    erratum: str | None
    slip: str | None
    note: str | None


# --- the four things to call ----------------------------------------------------------------------


def names() -> list[str]:
    """Return the ids of all worked examples, in the order of the sources."""
    return list(_WORK)


def load(id: str) -> Example:
    """Read one worked example; its arrays are read-only.

    Raises ValueError for an id that does not exist and for a file with a mistake in it.

    >>> load("dot-product")["a"]
    array([1., 2., 3.])
    """
    if id not in _WORK:
        raise ValueError(f"there is no worked example {id!r}; there are {', '.join(_WORK)}")
    file = files("attention_core") / "examples" / f"{id}.toml"
    return parse(file.read_text(encoding="utf-8"), file.name)


def computed(example: Example) -> dict[str, Value]:
    """Compute every named quantity of an example from its inputs, with the kernels.

    >>> computed(load("dot-product"))["dot_product"]
    32.0
    """
    return _WORK[example.id](example)


def compare(example: Example) -> list[Row]:
    """Set every printed number beside the computed one.

    >>> row, = compare(load("dot-product"))
    >>> row.printed, row.computed, row.agrees
    ('32', '32', True)
    """
    values = computed(example)
    return [_row(example.id, published, values) for published in example.published]


# --- printed against computed ---------------------------------------------------------------------


def agrees(printed: Printed, value: Value) -> bool:
    """Does `value` equal what was printed, to half a unit of the last printed digit?

    Raises ValueError when the shapes differ.

    >>> agrees("0.43", 0.4265), agrees("0.42", 0.4265), agrees("43%", 0.4265)
    (True, False, True)
    """
    texts, numbers = np.asarray(printed), np.asarray(value)
    if texts.shape != numbers.shape:
        raise ValueError(f"printed has shape {texts.shape}, computed has shape {numbers.shape}")
    return all(map(_one_agrees, texts.ravel().tolist(), numbers.ravel().tolist()))


def _one_agrees(printed: str, value: float | int) -> bool:
    number, exact = _decimal(printed), Decimal(str(value))
    return exact.is_finite() and abs(number - exact) <= _half_a_unit(number)


def _half_a_unit(number: Decimal) -> Decimal:
    """Return half a unit of the last digit: 0.005 for 0.43, 0.5 for 1280."""
    return Decimal(5).scaleb(_exponent(number) - 1)


def _decimal(printed: str) -> Decimal:
    """Return the printed number, with its last digit's place kept: "43%" is 0.43, "1.0" is 1.0."""
    return Decimal(printed.removesuffix("%")).scaleb(-2 if printed.endswith("%") else 0)


def _exponent(number: Decimal) -> int:
    """Return the place of the last digit: -2 for 0.43, 0 for 1280."""
    return int(number.as_tuple().exponent)


def _row(id: str, published: Published, values: dict[str, Value]) -> Row:
    if published.quantity not in values:
        raise ValueError(f"{id} computes no {published.quantity!r}; it has {', '.join(values)}")
    value = values[published.quantity]
    last = min(_exponent(_decimal(text)) for text in np.ravel(published.printed).tolist())
    return Row(
        example_id=id,
        source=published.source,
        quantity=published.quantity,
        printed=_shown(np.asarray(published.printed).tolist(), 0),
        computed=_shown(np.asarray(value).tolist(), max(6, 1 - last)),  # one digit more than printed
        agrees=agrees(published.printed, value),
        erratum=published.erratum,
        slip=published.slip,
        note=published.note,
    )


def _shown(value: Any, decimals: int) -> str:
    """Write lists in brackets, texts and integers as they are, other numbers with fixed decimals."""
    if isinstance(value, list):
        return f"[{', '.join(_shown(entry, decimals) for entry in value)}]"
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.{decimals}f}"
    return str(int(float(text))) if float(text).is_integer() else text  # 1 and not 1.000000


def _as_printed(example: Example, quantity: str) -> Array:
    """Return what the source printed for `quantity`, as numbers to compute on with."""
    for published in example.published:
        if published.quantity == quantity:
            texts = np.asarray(published.printed)
            return np.array([float(_decimal(text)) for text in texts.ravel().tolist()]).reshape(texts.shape)
    raise ValueError(f"{example.id} publishes no {quantity!r}, which other quantities are computed from")


# --- one function an example ----------------------------------------------------------------------


def _one_query(s0: Example) -> dict[str, Value]:
    q, k, v = s0["q"], s0["k"], s0["v"]
    steps = _attend_one(q[0], k, v)
    printed_weights = _as_printed(s0, "weights")
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
        "scores_from_printed_dot_products": _as_printed(s0, "dot_products") / np.sqrt(q.shape[-1]),
        "weights_from_printed_scores": softmax(_as_printed(s0, "scores")),
        "third_share_from_printed_weights": printed_weights[2] * v[2],
        "output_from_printed_weights": printed_weights @ v,
        "printed_output_sum": float(_as_printed(s0, "output").sum()),
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
    demo_apart = s1["tokens"].index("it") - s1["tokens"].index("animal")
    return {
        "words_between": apart - 1,
        "places_apart": apart,
        "demo_words_between": demo_apart - 1,
        "demo_places_apart": demo_apart,
    }


def _softmax_ratios(s1: Example) -> dict[str, Value]:
    small, large = (softmax(np.array([0.0, s1[gap]])) for gap in ("small_gap", "large_gap"))
    return {"small_gap_ratio": float(small[1] / small[0]), "large_gap_ratio": float(large[1] / large[0])}


def _three_tokens(s3: Example) -> dict[str, Value]:
    q, k, v = s3["q"], s3["k"], s3["v"]
    dot_products = attention_scores(q, k, scale=1.0)
    steps = attend(q, k, v)
    exp = np.exp(steps.scores)
    return {
        "sqrt_d_k": float(np.sqrt(q.shape[-1])),
        **{"dot_products": dot_products, "first_dot_products": dot_products[0]},
        **{"scores": steps.scores, "first_scores": steps.scores[0]},
        **{"exp_scores": exp, "first_exp_scores": exp[0]},
        **{"exp_sums": exp.sum(axis=1), "first_exp_sum": float(exp[0].sum())},
        "first_two_exp_sum": float(exp[0, :2].sum()),
        **{"weights": steps.weights, "first_weights": steps.weights[0]},
        "first_weights_sum": float(steps.weights[0].sum()),
        "first_shares_y": steps.weights[0] * v[:, 1],
        **{"output": steps.output, "first_output": steps.output[0]},
        **_three_tokens_slips(s3, exp[0]),
    }


def _three_tokens_slips(s3: Example, exp: Array) -> dict[str, Value]:
    """How the source came to its last digits: it cut them off, then added what was left."""
    printed = _as_printed(s3, "first_exp_scores")
    last_digit = Decimal(str(printed[0].item()))
    cut_off = Decimal(str(exp[0].item())).quantize(last_digit, rounding=ROUND_DOWN)
    return {
        "first_exp_score_cut_off": float(cut_off),
        "printed_exp_sum": float(printed.sum()),
        "exp_of_printed_score": float(np.exp(_as_printed(s3, "first_scores")[0])),
    }


def _head_sizes(example: Example) -> dict[str, Value]:
    return {
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
        shapes[f"{source}_weights_shape"] = np.array(steps.weights.shape)
    heads = split_heads(np.zeros((n, d_model)), n_heads)
    return shapes | {"split_shape": np.array(heads.shape), "head_axes": np.array(heads.shape)[[0, 2]]}


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


_WORK: dict[str, Callable[[Example], dict[str, Value]]] = {
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


# --- reading the files ----------------------------------------------------------------------------


def parse(text: str, file: str) -> Example:
    """Read an example from TOML text; raise ValueError naming `file` and the field that is wrong."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: this is not valid TOML: {error}") from None
    where = f"{file}: "
    _check_fields(table, where, Example)
    id, source = _text(table, "id", where), _text(table, "source", where)
    if f"{id}.toml" != file:
        raise ValueError(f"{where}id must be the file's name without .toml, got {id!r}")
    return Example(
        id=id,
        title=_text(table, "title", where),
        source=source,
        place=_text(table, "place", where),
        inputs=_inputs(table, where),
        published=tuple(_published(t, at, source) for at, t in _tables(table, "published", where)),
        statements=tuple(_statement(t, at, source) for at, t in _tables(table, "statements", where)),
    )


def _published(table: dict[str, Any], where: str, source: str) -> Published:
    _check_fields(table, where, Published)
    published = Published(
        quantity=_text(table, "quantity", where),
        printed=_printed(table.get("printed"), f"{where}printed"),
        source=_text(table, "source", where) if "source" in table else source,
        **{name: _text(table, name, where) for name in ("unit", "erratum", "slip", "note") if name in table},
    )
    if (published.erratum is None) != (published.slip is None):
        raise ValueError(f"{where}erratum and slip belong together: give both or neither")
    return published


def _statement(table: dict[str, Any], where: str, source: str) -> Statement:
    _check_fields(table, where, Statement)
    verdict, shows = _text(table, "verdict", where), table.get("shows")
    if verdict not in VERDICTS:
        raise ValueError(f"{where}verdict must be one of {', '.join(VERDICTS)}, got {verdict!r}")
    if not isinstance(shows, list) or not shows or not _all_texts(shows):
        raise ValueError(f"{where}shows must be a list of names of quantities, got {shows!r}")
    return Statement(
        says=_text(table, "says", where),
        shows=tuple(shows),
        verdict=verdict,
        why=_text(table, "why", where),
        source=_text(table, "source", where) if "source" in table else source,
    )


def _printed(value: Any, where: str) -> Printed:
    if isinstance(value, list) and value:
        entries = tuple(_printed(entry, f"{where}[{i}]") for i, entry in enumerate(value))
        if len({np.shape(entry) for entry in entries}) > 1:
            raise ValueError(f"{where} must have rows of one length, got {value!r}")
        return entries
    if not isinstance(value, str) or not fullmatch(r"-?[0-9]+(\.[0-9]+)?%?", value):
        raise ValueError(
            f'{where} must be the printed number in quotes, such as "0.43" or "43%", '
            f"or a list of them, got {value!r}"
        )
    return value


def _inputs(table: dict[str, Any], where: str) -> dict[str, Input]:
    inputs = table.get("inputs")
    if not isinstance(inputs, dict) or not inputs:
        raise ValueError(f"{where}inputs must be a table with at least one entry, got {inputs!r}")
    return {name: _input(value, f"{where}inputs.{name}") for name, value in inputs.items()}


def _input(value: Any, where: str) -> Input:
    if isinstance(value, list) and value and _all_texts(value):
        return list(value)
    try:
        array = np.array(value)
    except ValueError:
        raise ValueError(f"{where} must have rows of one length, got {value!r}") from None
    if array.dtype.kind not in "if" or array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"{where} must be a finite number, numbers or texts in a list, got {value!r}")
    if isinstance(value, int | float):
        return value
    array = array.astype(np.float64)
    array.setflags(write=False)  # a notebook cannot change an example by accident
    return array


def _tables(table: dict[str, Any], name: str, where: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the tables [[name]] of a file, each with the words that say where it stands."""
    tables = table.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(entry, dict) for entry in tables):
        raise ValueError(f"{where}{name} must be written as tables, [[{name}]], got {tables!r}")
    return [(f"{where}{name}[{i}].", entry) for i, entry in enumerate(tables)]


def _text(table: dict[str, Any], name: str, where: str) -> str:
    if not isinstance(table.get(name), str) or not table[name].strip():
        came = repr(table[name]) if name in table else "nothing"
        raise ValueError(f"{where}{name} must be a text, got {came}")
    return str(table[name])


def _all_texts(entries: list[Any]) -> bool:
    return all(isinstance(entry, str) for entry in entries)


def _check_fields(table: dict[str, Any], where: str, kind: type[Any]) -> None:
    """Refuse a field that does not exist: a mistyped "erratum" must not pass as "no erratum"."""
    known = [field.name for field in fields(kind)]
    for name in table:
        if name not in known:
            raise ValueError(f"{where}{name} is not a field; the fields are {', '.join(known)}")
