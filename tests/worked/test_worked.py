"""The worked examples: every printed number is reproduced or named an erratum, and none is missing."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from attention_core import worked
from attention_core.worked import (
    Example,
    Printed,
    Section,
    Statement,
    Value,
    agrees,
    compare,
    computed,
    load,
    parse,
)

FILES = sorted(Path(worked.__file__).parent.glob("*.toml"))
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks" / "source"
SOURCES = {"S0", "S1", "S2", "S3", "S4"}


# --- one test walks all files ---------------------------------------------------------------------


def problems(example: Example) -> list[str]:
    """Say everything that is wrong with an example; an empty list means that it holds."""
    values = computed(example)
    unknown = {p.quantity for p in example.published} - values.keys()
    if unknown:
        return [f"published but not computed: {sorted(unknown)}"]
    return [
        *(
            f"{row.quantity}: {row.printed} is {'an erratum but agrees' if row.erratum else 'not reproduced'}"
            for row in compare(example)
            if row.agrees == (row.erratum is not None)
        ),
        *(f"no such quantity: {name}" for s in example.statements for name in s.shows if name not in values),
        *(f"not a source: {name}" for name in sources(example) if name not in SOURCES),
        *(f"number in the text without a source: {number}" for number in loose_numbers(example)),
    ]


def sources(example: Example) -> list[str]:
    named = [example.source, *(p.source for p in example.published), *(s.source for s in example.statements)]
    return [source for names in named for source in names.split(", ")]


def loose_numbers(example: Example) -> list[str]:
    """Numbers in an example's sentences that are neither printed, nor an input, nor computed."""
    known = {text for p in example.published for text in flat(p.printed)}
    numeric = [value for value in example.inputs.values() if not isinstance(value, list)]
    values = [number for value in [*numeric, *computed(example).values()] for number in numbers(value)]
    return [
        number
        for sentence in sentences(example)
        for number in numbers_in(sentence)
        if number not in known and not any(agrees(number, abs(value)) for value in values)
    ]


def numbers_in(sentence: str) -> list[str]:
    """Numbers with a decimal point or at least three digits; section numbers are none."""
    text = re.sub(r"[Ss]ection \d+(\.\d+)*", "", sentence)
    found = re.findall(r"(?<![\w.])\d+(?:\.\d+)?%?(?!\w)", text)
    return [number for number in found if "." in number or "%" in number or len(number) >= 3]


def sentences(example: Example) -> list[str]:
    texts = [text for p in example.published for text in (p.erratum, p.slip, p.note) if text]
    return [*texts, *(text for s in example.statements for text in (s.says, s.why))]


def flat(printed: Printed) -> list[str]:
    return list(np.asarray(printed).ravel().tolist())


def numbers(value: Value) -> list[float]:
    return list(np.asarray(value, dtype=float).ravel().tolist())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_holds(path: Path) -> None:
    example = load(path.stem)
    assert example.id == path.stem
    assert example.published or example.statements
    assert problems(example) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_quantity_is_a_finite_number_or_array(path: Path) -> None:
    for name, value in computed(load(path.stem)).items():
        assert isinstance(value, np.ndarray | float | int), name
        assert not isinstance(value, np.generic), name
        assert np.isfinite(value).all(), name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_sentence_ends_and_every_reason_is_one_sentence(path: Path) -> None:
    example = load(path.stem)
    assert [text for text in sentences(example) if not text.endswith(".")] == []
    assert [p.erratum for p in example.published if p.erratum and re.search(r"[.!?] ", p.erratum)] == []


def test_the_files_are_the_examples() -> None:
    assert sorted(worked.names()) == [path.stem for path in FILES]


# --- each of these checks can fail ----------------------------------------------------------------


def edited(example: Example, quantity: str, /, **changes: object) -> Example:
    """The example with its first published `quantity` changed."""
    at = [p.quantity for p in example.published].index(quantity)
    published = list(example.published)
    published[at] = replace(published[at], **changes)  # type: ignore[arg-type]
    return replace(example, published=tuple(published))


def without_published(example: Example, quantity: str) -> Example:
    return replace(example, published=tuple(p for p in example.published if p.quantity != quantity))


def test_a_changed_digit_is_found() -> None:
    changed = edited(load("it-animal"), "weights_sum", printed="1.0001")
    assert problems(changed) == ["weights_sum: 1.0001 is not reproduced"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_one_more_in_the_last_digit_of_any_reproduced_number_is_found(path: Path) -> None:
    example, values = load(path.stem), computed(load(path.stem))
    for p in example.published:
        if p.erratum is None:
            for i, text in enumerate(flat(p.printed)):
                assert agrees(text, numbers(values[p.quantity])[i])
                assert not agrees(one_more(text), numbers(values[p.quantity])[i]), (p.quantity, text)


def one_more(text: str) -> str:
    number, percent = Decimal(text.removesuffix("%")), "%" * text.endswith("%")
    return f"{number + Decimal(1).scaleb(int(number.as_tuple().exponent))}{percent}"


def test_a_changed_input_is_found() -> None:
    s0 = load("one-query")
    changed = replace(s0, inputs=s0.inputs | {"q": np.array([[1.0, 0.0, 0.5, 0.3]])})
    assert "first_dot_product: 1.07 is not reproduced" in problems(changed)


def test_a_mended_erratum_is_found() -> None:
    mended = edited(load("one-query"), "dot_products", printed=("1.07", "0.33", "0.85"))
    assert "dot_products: [1.07, 0.33, 0.85] is an erratum but agrees" in problems(mended)


def test_an_erratum_that_is_not_named_is_found() -> None:
    silent = edited(load("it-animal"), "rows_output", erratum=None, slip=None)
    assert problems(silent) == ["rows_output: [0.43, 0, 0, 0] is not reproduced"]


@pytest.mark.parametrize(
    ("factor", "found"),
    [
        (2, "first_two_exp_sum: 3.028114981 is an erratum but agrees"),
        (0, "first_output: [0.802, 0.797] is not reproduced"),
    ],
)
def test_a_wrong_tolerance_is_found(factor: int, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = worked._half_a_unit
    monkeypatch.setattr(worked, "_half_a_unit", lambda number: right(number) * factor)
    assert found in problems(load("three-tokens"))


def test_a_quantity_that_nobody_computes_is_found() -> None:
    changed = edited(load("dot-product"), "dot_product", quantity="dot")
    assert problems(changed) == ["published but not computed: ['dot']"]
    with pytest.raises(ValueError, match="dot-product computes no 'dot'; it has products, dot_product"):
        compare(changed)


def test_a_statement_that_shows_nothing_is_found() -> None:
    statement = Statement("A.", ("length",), (Section("03_softmax", "Temperature"),), "true", "B.", "S9")
    changed = replace(load("dot-product"), statements=(statement,))
    assert problems(changed) == ["no such quantity: length", "not a source: S9"]


def test_a_number_in_the_text_that_nobody_computes_is_found() -> None:
    note = "Section 3.14 has 32, but neither 33.5 nor 101 nor 7%."
    changed = edited(load("dot-product"), "dot_product", note=note)
    assert loose_numbers(changed) == ["33.5", "101", "7%"]


def test_printed_numbers_that_others_are_computed_from_must_be_there() -> None:
    with pytest.raises(ValueError, match="one-query publishes no 'weights'"):
        computed(without_published(load("one-query"), "weights"))


# --- every claim in words is put to the test in a notebook -----------------------------------------


def untested(example: Example, notebooks: Path) -> list[str]:
    """Say which of an example's claims name a section that is missing or has no code."""
    return [
        problem
        for statement in example.statements
        for section in statement.tested
        if (problem := missing_test(section, notebooks / f"{section.notebook}.md"))
    ]


def missing_test(section: Section, source: Path) -> str | None:
    """Say why `section` tests nothing; None when its heading is there with a code cell below it."""
    if not source.is_file():
        return f"there is no notebook {section.notebook}"
    parts = sections(source.read_text(encoding="utf-8"))
    if section.heading not in parts:
        return f"{section.notebook} has no section {section.heading!r}; it has {', '.join(parts)}"
    return None if parts[section.heading] else f"{section.notebook} has no code in {section.heading!r}"


def sections(source: str) -> dict[str, int]:
    """Return the headings below the title of a notebook's source, and how many code cells each has."""
    found: dict[str, int] = {}
    heading, in_code = "", False
    for line in source.splitlines():
        if line.startswith("```"):
            in_code = not in_code
            if heading and line.startswith("```{code-cell}"):
                found[heading] += 1
        elif not in_code and line.startswith("## "):
            heading = line.removeprefix("## ")
            found[heading] = 0
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_claim_is_tested_by_code_in_a_notebook(path: Path) -> None:
    assert untested(load(path.stem), NOTEBOOKS) == []


def test_a_claim_that_no_code_tests_is_found(tmp_path: Path) -> None:
    cell = "```{code-cell} ipython3\n## no heading\n1 + 1\n```\n"
    text = f"# 01 Sum\n\n{cell}\n## Words\n\nOnly words.\n\n## Code\n\nLook.\n\n{cell}"
    (tmp_path / "01_sum.md").write_text(text, encoding="utf-8")

    def found(tested: str) -> list[str]:
        statement = parse(GOOD.replace("03_softmax#Temperature", tested), "small.toml").statements[0]
        return untested(replace(load("dot-product"), statements=(statement,)), tmp_path)

    assert found("01_sum#Code") == []
    assert found("01_sum#Words") == ["01_sum has no code in 'Words'"]
    assert found("01_sum#Codes") == ["01_sum has no section 'Codes'; it has Words, Code"]
    assert found("01_sum#no heading") == ["01_sum has no section 'no heading'; it has Words, Code"]
    assert found("02_product#Code") == ["there is no notebook 02_product"]


# --- half a unit of the last printed digit --------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "inside", "outside"),
    [
        ("0.4265", [0.42645, 0.426493, 0.42655], [0.426449, 0.426551]),
        ("1280", [1279.5, 1280, 1280.5], [1279, 1279.49, 1280.51, 1281, 128]),
        ("43%", [0.425, 0.426493, 0.435], [0.4249, 0.4351, 43.0]),
        ("1.0", [0.95, 1, 1.05], [0.949, 1.051]),
        ("2.028114981", [2.0281149805, 2.0281149815], [2.0281149804, 2.0281149816]),
        ("-0.50", [-0.505, -0.495], [0.5, -0.5051]),
        ("0", [0, -0.0, 0.5], [0.51, float("nan"), float("inf"), float("-inf")]),
    ],
)
def test_the_tolerance(printed: str, inside: list[float], outside: list[float]) -> None:
    assert [value for value in inside if not agrees(printed, value)] == []
    assert [value for value in outside if agrees(printed, value)] == []


def test_every_entry_of_a_list_must_agree() -> None:
    assert agrees((("1", "2.0"), ("3", "4")), np.array([[1, 2], [3, 4]]))
    assert not agrees((("1", "2.0"), ("3", "4")), np.array([[1, 2], [3, 5]]))


def test_a_list_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"printed has shape \(2,\), computed has shape \(1, 2\)"):
        agrees(("1", "2"), np.array([[1.0, 2.0]]))


def test_a_row_shows_both_numbers_with_the_digits_that_tell_them_apart() -> None:
    rows = {row.quantity: row for row in compare(load("three-tokens"))}
    assert (rows["first_exp_sum"].printed, rows["first_exp_sum"].computed) == ("5.056229962", "5.0562299633")
    assert rows["first_output"].computed == "[0.802224, 0.796664]"
    assert rows["first_dot_products"].computed == "[1, 0, 1]"
    width = compare(load("gpt3-width"))[0]
    assert (width.printed, width.computed, width.agrees) == ("1280", "128", False)
    assert width.erratum is not None
    assert width.slip is not None


# --- no row of the list of claims is missing ------------------------------------------------------

ERRATUM = "erratum"
PUBLISHED: list[tuple[str, str, str, str]] = [
    ("one-query", "first_products", "0.8 0 0.15 0.12", ""),
    ("one-query", "first_dot_product", "1.07", ""),
    ("one-query", "dot_products", "1.07 0.82 1.0", ERRATUM),
    ("one-query", "scores", "0.535 0.410 0.500", ERRATUM),
    ("one-query", "weights", "0.349 0.310 0.341", ERRATUM),
    ("one-query", "weights_from_printed_scores", "0.349 0.310 0.341", ERRATUM),
    ("one-query", "output", "0.520 0.481", ERRATUM),
    ("gpt3-width", "d_k", "1280", ERRATUM),
    ("self-dot-product", "dot_product", "0.30", ""),
    ("head-sizes", "d_k", "64", ""),
    ("head-sizes", "larger_d_k", "64", ""),
    ("dot-product", "dot_product", "32", ""),
    ("it-animal", "q_it", "0 1 0 0", ""),
    ("it-animal", "k_animal", "1 1 1 0", ""),
    ("it-animal", "k_street", "1 0 0 0", ""),
    ("it-animal", "v_animal", "1 0 0 0", ""),
    ("it-animal", "v_street", "1 0 0 0", ""),
    ("it-animal", "scores", "0.00 1.00 0.00 0.00 0.00 0.00 0.00", ""),
    ("it-animal", "weights", "0.1147 0.3118 0.1147 0.1147 0.1147 0.1147 0.1147", ""),
    ("it-animal", "output_noun", "0.4265", ""),
    ("it-animal", "output", "0.43 0 0 0", ""),
    ("softmax-ratios", "small_gap_ratio", "2.7", ""),
    ("softmax-ratios", "large_gap_ratio", "148", ""),
    ("it-animal", "rows_output", "0.43 0 0 0", ERRATUM),
    ("it-animal", "pronoun_v_it", "0", ERRATUM),
    ("it-animal", "words_between", "6", ERRATUM),
    ("it-animal", "noun_weight", "43%", ""),
    ("three-tokens", "first_dot_products", "1 0 1", ""),
    ("three-tokens", "sqrt_d_k", "1.414213562", ""),
    ("three-tokens", "first_scores", "0.7071 0 0.7071", ""),
    ("three-tokens", "first_exp_scores", "2.028114981 1.000000000 2.028114981", ERRATUM),
    ("three-tokens", "first_exp_sum", "5.056229962", ERRATUM),
    ("three-tokens", "first_weights", "0.401 0.198 0.401", ""),
    ("three-tokens", "first_output", "0.802 0.797", ""),
    ("module-shapes", "head_axes", "8 64", ""),
    ("module-shapes", "s2_output_shape", "2 10 512", ""),
    ("module-shapes", "s4_output_shape", "4 10 512", ""),
    ("module-shapes", "s4_weights_shape", "4 8 10 10", ""),
    ("mask-with-1e9", "exp_of_blocked_score", "0", ""),
]

STATED: list[tuple[str, str, str]] = [
    ("gpt3-width", "d_k", "false"),
    ("self-dot-product", "dot_product", "half true"),
    ("it-animal", "entropy", "overstated"),
    ("it-animal", "scaled_weights", "false"),
    ("it-animal", "rows_transposed_unscaled_output", "false"),
    ("it-animal", "identity_output", "half true"),
    ("it-animal", "pronoun_output", "false"),
    ("it-animal", "noun_weight_if_uniform", "overstated"),
    ("heads-in-memory", "contiguous", "false"),
    ("mask-with-1e9", "exp_of_blocked_score", "true"),
    ("mask-with-1e9", "all_blocked_weights", "half true"),
    ("mask-with-1e9", "float16_lowest", "half true"),
    ("eating-apples", "fruit_weights_of_apple", "true"),
]

# Worked out once more, by other means than the kernels.
COMPUTED: list[tuple[str, str, str]] = [
    ("one-query", "dot_products", "1.07 0.33 0.85"),
    ("one-query", "scores", "0.535 0.165 0.425"),
    ("one-query", "weights", "0.386613 0.267047 0.346341"),
    ("one-query", "weights_from_printed_scores", "0.351111 0.309854 0.339035"),
    ("one-query", "output", "0.559783 0.440217"),
    ("one-query", "output_sum", "1.000000"),
    ("one-query", "v_row_sums", "1.000000 1.000000 1.000000"),
    ("one-query", "printed_output_sum", "1.001"),
    ("gpt3-width", "d_k", "128"),
    ("it-animal", "q_it", "0.000000 1.000000 0.000000 0.000000"),
    ("it-animal", "k_animal", "1.000000 1.000000 1.000000 0.000000"),
    ("it-animal", "weights", "0.114701 0.311791 0.114701 0.114701 0.114701 0.114701 0.114701"),
    ("it-animal", "output", "0.426493 0.000000 0.000000 0.000000"),
    ("softmax-ratios", "small_gap_ratio", "2.718"),
    ("softmax-ratios", "large_gap_ratio", "148.41"),
    ("it-animal", "entropy", "1.8536"),
    ("it-animal", "max_entropy", "1.9459"),
    ("it-animal", "scaled_weights", "0.130741 0.215555 0.130741 0.130741 0.130741 0.130741 0.130741"),
    ("it-animal", "scaled_output", "0.346296 0.000000 0.000000 0.000000"),
    ("it-animal", "rows_q_it", "0.000000 0.000000 0.000000 0.000000"),
    ("it-animal", "rows_weights", " ".join(7 * ["0.142857"])),
    ("it-animal", "rows_output", "0.285714 0.000000 0.000000 0.000000"),
    ("it-animal", "rows_transposed_output", "0.346296 0.000000 0.000000 0.000000"),
    ("it-animal", "rows_transposed_unscaled_output", "0.426493 0.000000 0.000000 0.000000"),
    ("it-animal", "identity_output", "0.426493 0.311791 0.311791 0.114701"),
    ("it-animal", "identity_cosine", "0.971443"),
    ("it-animal", "identity_length", "0.62"),
    ("it-animal", "identity_v_animal_length", "1.73"),
    ("it-animal", "pronoun_output", "0.114701"),
    ("it-animal", "words_between", "5"),
    ("it-animal", "places_apart", "6"),
    ("it-animal", "noun_weight", "0.426493"),
    ("it-animal", "noun_weight_if_uniform", "0.285714"),
    ("three-tokens", "first_scores", "0.707107 0.000000 0.707107"),
    ("three-tokens", "first_exp_scores", "2.0281149816 1.0000000000 2.0281149816"),
    ("three-tokens", "first_exp_sum", "5.0562299633"),
    (
        "three-tokens",
        "weights",
        "0.401112 0.197776 0.401112 0.197776 0.401112 0.401112 0.248255 0.248255 0.503490",
    ),
    ("three-tokens", "output", "0.802224 0.796664 0.598888 1.203336 0.751745 1.000000"),
    ("heads-in-memory", "strides", "5120 64 512 1"),
    ("heads-in-memory", "numbers_from_row_to_row", "512"),
    ("heads-in-memory", "copied_numbers_from_row_to_row", "64"),
    ("mask-with-1e9", "exp_of_blocked_score", "0.000000"),
    ("mask-with-1e9", "all_blocked_weights", "0.333333 0.333333 0.333333"),
    ("mask-with-1e9", "all_blocked_weights_with_inf", "0.000000 0.000000 0.000000"),
    ("mask-with-1e9", "float16_lowest", "-65504"),
    ("eating-apples", "fruit_weights_of_apple", "0.043317 0.043317 0.870049 0.043317"),
    ("eating-apples", "phone_output_of_apple", "0.000000 0.021659 0.891707 0.000000"),
]


def missing(expected: Iterable[tuple[str, ...]], found: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return sorted(set(expected) - set(found))


def published_rows(loaded: list[Example]) -> list[tuple[str, ...]]:
    return [
        (example.id, p.quantity, " ".join(flat(p.printed)), ERRATUM if p.erratum else "")
        for example in loaded
        for p in example.published
    ]


def stated_rows(loaded: list[Example]) -> list[tuple[str, ...]]:
    return [
        (example.id, name, s.verdict) for example in loaded for s in example.statements for name in s.shows
    ]


def test_every_published_number_of_the_claims_is_there() -> None:
    assert missing(PUBLISHED, published_rows([load(path.stem) for path in FILES])) == []


def test_every_claim_in_words_is_there() -> None:
    assert missing(STATED, stated_rows([load(path.stem) for path in FILES])) == []


def test_a_missing_claim_is_found() -> None:
    softer = edited(load("gpt3-width"), "d_k", erratum=None, slip=None)
    assert ("gpt3-width", "d_k", "1280", ERRATUM) in missing(PUBLISHED, published_rows([softer]))
    assert missing(STATED[:1], stated_rows([replace(softer, statements=())])) == STATED[:1]


@pytest.mark.parametrize(("id", "quantity", "expected"), COMPUTED, ids=lambda text: text)
def test_the_kernels_give_what_was_worked_out_by_other_means(id: str, quantity: str, expected: str) -> None:
    assert agrees(tuple(expected.split()), np.ravel(computed(load(id))[quantity]))


def test_a_transpose_moves_nothing_in_memory_and_a_copy_does() -> None:
    values = computed(load("heads-in-memory"))
    assert (values["shares_memory"], values["contiguous"]) == (True, False)
    assert (values["copied_shares_memory"], values["copied_contiguous"]) == (False, True)


# --- reading --------------------------------------------------------------------------------------

GOOD = """
id = "small"
title = "T"
source = "S0"
place = "P"
[inputs]
q = [[1, 2]]
words = ["a", "b"]
n = 3
scale = 1.0
[[published]]
quantity = "dot_product"
printed = ["0.43", "43%"]
[[statements]]
says = "A."
shows = ["dot_product"]
tested = ["03_softmax#Temperature"]
verdict = "true"
why = "B."
source = "S1"
"""


def test_a_file_is_read_as_it_stands() -> None:
    small = parse(GOOD, "small.toml")
    assert (small.id, small.title, small.source, small.place) == ("small", "T", "S0", "P")
    assert small["q"].dtype == np.float64
    assert small["q"].tolist() == [[1.0, 2.0]]
    assert (small["words"], small["n"], small["scale"]) == (["a", "b"], 3, 1.0)
    assert (type(small["n"]), type(small["scale"])) == (int, float)
    published, statement = small.published[0], small.statements[0]
    assert published == worked.Published(quantity="dot_product", printed=("0.43", "43%"), source="S0")
    tested = (Section("03_softmax", "Temperature"),)
    assert statement == Statement("A.", ("dot_product",), tested, "true", "B.", "S1")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "small"', 'id = "small', "small.toml: this is not valid TOML: "),
        ('id = "small"', 'id = "large"', "small.toml: id must be the file's name without .toml, got 'large'"),
        ('title = "T"', "", "small.toml: title must be a text, got nothing"),
        ('title = "T"', "title = 7", "small.toml: title must be a text, got 7"),
        ('title = "T"', 'title = " "', "small.toml: title must be a text, got ' '"),
        (
            'title = "T"',
            'title = "T"\nplaces = "P"',
            "small.toml: places is not a field; the fields are id, ",
        ),
        ("n = 3", "n = true", "small.toml: inputs.n must be a finite number, numbers or texts in a list"),
        ("n = 3", "n = nan", "small.toml: inputs.n must be a finite number, numbers or texts in a list"),
        ("n = 3", "n = []", "small.toml: inputs.n must be a finite number, numbers or texts in a list"),
        ("n = 3", 'n = [1, "a"]', "small.toml: inputs.n must be a finite number, numbers or texts in a list"),
        ("[[1, 2]]", "[[1, 2], [3]]", "small.toml: inputs.q must have rows of one length"),
        ('"0.43"', "0.43", "small.toml: published[0].printed[0] must be the printed number in quotes"),
        ('"0.43"', '"about 1"', "small.toml: published[0].printed[0] must be the printed number in quotes"),
        ('"0.43"', '["1", "2"]', "small.toml: published[0].printed must have rows of one length"),
        ('printed = ["0.43", "43%"]', "", "small.toml: published[0].printed must be the printed number"),
        ('quantity = "dot_product"', "", "small.toml: published[0].quantity must be a text, got nothing"),
        ("printed =", 'eratum = "R."\nprinted =', "small.toml: published[0].eratum is not a field"),
        (
            "printed =",
            'erratum = "R."\nprinted =',
            "small.toml: published[0].erratum and slip belong together",
        ),
        ("printed =", 'slip = "R."\nprinted =', "small.toml: published[0].erratum and slip belong together"),
        ("printed =", 'erratum = ""\nprinted =', "small.toml: published[0].erratum must be a text, got ''"),
        ('"true"', '"maybe"', "small.toml: statements[0].verdict must be one of true, overstated, half true"),
        ('shows = ["dot_product"]', "shows = []", "small.toml: statements[0].shows must be a list of names"),
        ('shows = ["dot_product"]', 'shows = "q"', "small.toml: statements[0].shows must be a list of names"),
        ('["03_softmax#Temperature"]', "[]", "small.toml: statements[0].tested must be a list of sections"),
        ("03_softmax#T", "T", "small.toml: statements[0].tested must hold texts such as "),
        ('tested = ["03_softmax#Temperature"]', "", "small.toml: statements[0].tested must be a list of sec"),
        ('why = "B."', "", "small.toml: statements[0].why must be a text, got nothing"),
        (
            "[[statements]]",
            "[statements]",
            "small.toml: statements must be written as tables, [[statements]]",
        ),
    ],
)
def test_a_mistake_in_a_file_is_named(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(ValueError, match=re.escape(message)):
        parse(GOOD.replace(old, new, 1), "small.toml")


def test_a_file_without_inputs_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^small.toml: inputs must be a table"):
        parse(re.sub(r"\[inputs\].*(?=\[\[published)", "", GOOD, flags=re.DOTALL), "small.toml")


def test_claims_in_words_alone_need_no_inputs() -> None:
    head, claim = GOOD.partition("[inputs]")[0], GOOD.partition("[[statements]]")[2]
    words = parse(f"{head}[[statements]]{claim}".replace('shows = ["dot_product"]', ""), "small.toml")
    assert (words.inputs, words.published, words.statements[0].shows) == ({}, (), ())


def test_an_unknown_id_names_the_ones_there_are() -> None:
    with pytest.raises(ValueError, match="no worked example 'two-queries'; there are one-query, gpt3-width"):
        load("two-queries")


def test_an_unknown_input_names_the_ones_there_are() -> None:
    with pytest.raises(KeyError, match="one-query has no input 'x'; it has q, k, v"):
        load("one-query")["x"]


def test_an_example_cannot_be_changed_by_accident() -> None:
    s0 = load("one-query")
    with pytest.raises(ValueError, match="read-only"):
        s0["q"][0, 0] = 2.0
    with pytest.raises(AttributeError):
        s0.id = "other"  # type: ignore[misc]


# --- examples stand on the kernels alone ----------------------------------------------------------

WALK = """
import sys
import attention_core.worked as worked
for name in worked.names():
    worked.compare(worked.load(name))
print(*sorted({"torch", "matplotlib", "ipywidgets", "IPython"} & set(sys.modules)))
"""


def loaded_modules(code: str, path: Path) -> list[str]:
    """Which of the heavy modules `code` loads, in a process of its own with `path` on its path."""
    python_path = os.pathsep.join([str(Path(worked.__file__).parents[2]), str(path)])
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": python_path},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.split()


def test_examples_load_neither_torch_nor_matplotlib(tmp_path: Path) -> None:
    assert loaded_modules(WALK, tmp_path) == []


def test_a_loaded_module_is_found(tmp_path: Path) -> None:
    (tmp_path / "ipywidgets.py").write_text("")
    assert "ipywidgets" in loaded_modules(f"import ipywidgets\n{WALK}", tmp_path)


def test_a_tie_agrees_with_both_neighbors_in_spite_of_binary_fractions():
    assert agrees("0.1", 0.1 + 0.05) and agrees("0.2", 0.1 + 0.05)
    assert not agrees("0.1", 0.1500001)
