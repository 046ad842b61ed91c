"""The worked examples: every printed number is reproduced or named an erratum, and none is missing."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attention_core import worked
from attention_core.worked import (
    Example,
    Published,
    Section,
    Statement,
    agrees,
    compare,
    computed,
    load,
    parse,
)

FILES = sorted(path.stem for path in Path(worked.__file__).parent.glob("*.toml"))
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks" / "source"
SOURCES = {"S0", "S1", "S2", "S3", "S4"}

every_example = pytest.mark.parametrize("id", FILES)


# --- one test walks all files ---------------------------------------------------------------------


def problems(example: Example) -> list[str]:
    """Say everything that is wrong with an example; an empty list means that it holds."""
    values = computed(example)
    return [
        *(
            f"{row.quantity}: {row.printed} is {'an erratum but agrees' if row.erratum else 'not reproduced'}"
            for row in compare(example)
            if row.agrees == (row.erratum is not None)
        ),
        *(f"no such quantity: {name}" for s in example.statements for name in s.shows if name not in values),
        *(f"not a source: {name}" for name in sources(example) if name not in SOURCES),
        *(f"no full stop: {text}" for text in sentences(example) if not text.endswith(".")),
        *(f"number in the text without a source: {number}" for number in loose_numbers(example)),
    ]


def sources(example: Example) -> list[str]:
    named = [example.source, *(p.source for p in example.published), *(s.source for s in example.statements)]
    return [source for names in named for source in names.split(", ")]


def loose_numbers(example: Example) -> list[str]:
    """Numbers in an example's sentences that are neither printed, nor an input, nor computed."""
    printed = {text for p in example.published for text in np.ravel(p.printed)}
    numeric = [value for value in example.inputs.values() if not isinstance(value, list)]
    values = [x for value in [*numeric, *computed(example).values()] for x in np.ravel(value).tolist()]
    return [
        number
        for sentence in sentences(example)
        for number in numbers_in(sentence)
        if number not in printed and not any(agrees(number, abs(value)) for value in values)
    ]


def numbers_in(sentence: str) -> list[str]:
    """Numbers with a decimal point or at least three digits; section numbers are none."""
    text = re.sub(r"[Ss]ection \d+(\.\d+)*", "", sentence)
    found = re.findall(r"(?<![\w.])\d+(?:\.\d+)?%?(?!\w)", text)
    return [number for number in found if "." in number or "%" in number or len(number) >= 3]


def sentences(example: Example) -> list[str]:
    texts = [text for p in example.published for text in (p.erratum, p.slip, p.note) if text]
    return [*texts, *(text for s in example.statements for text in (s.says, s.why))]


@every_example
def test_every_file_holds(id: str) -> None:
    assert problems(load(id)) == []


def test_the_files_are_the_examples() -> None:
    assert sorted(worked.names()) == FILES


def test_no_row_of_the_claims_is_missing() -> None:
    """Published numbers or rows, the errata among them, and claims in words."""
    rows = {
        example.id: (
            len(example.published),
            sum(p.erratum is not None for p in example.published),
            len(example.statements),
        )
        for example in map(load, FILES)
    }
    assert rows == COUNTS


COUNTS = {
    "one-query": (10, 5, 0),
    "gpt3-width": (1, 1, 1),
    "self-dot-product": (2, 0, 1),
    "it-animal": (23, 3, 6),
    "softmax-ratios": (2, 0, 0),
    "dot-product": (1, 0, 0),
    "three-tokens": (12, 3, 1),
    "head-sizes": (4, 0, 2),
    "module-shapes": (4, 0, 0),
    "heads-in-memory": (0, 0, 1),
    "mask-with-1e9": (1, 0, 3),
    "eating-apples": (0, 0, 1),
    "in-words": (0, 0, 65),
}


def edited(example: Example, quantity: str, /, **changes: object) -> Example:
    """The example with its first published `quantity` changed."""
    at = [p.quantity for p in example.published].index(quantity)
    published = list(example.published)
    published[at] = replace(published[at], **changes)  # type: ignore[arg-type]
    return replace(example, published=tuple(published))


CLAIM = Statement("A.", (Section("03_softmax", "Temperature"),), "true", "B", ("length",), "S9")


def test_what_is_wrong_is_found() -> None:
    s0, s1, product = load("one-query"), load("it-animal"), load("dot-product")
    changed_q = replace(s0, inputs=s0.inputs | {"q": np.array([[1.0, 0.0, 0.5, 0.3]])})
    mended = edited(s0, "dot_products", printed=("1.07", "0.33", "0.85"))
    silent = edited(s1, "rows_output", erratum=None, slip=None)
    noted = edited(product, "dot_product", note="Section 3.14 has 32, but neither 33.5 nor 101 nor 7%.")
    claimed = replace(product, statements=(CLAIM,))
    assert "first_dot_product: 1.07 is not reproduced" in problems(changed_q)
    assert "dot_products: [1.07, 0.33, 0.85] is an erratum but agrees" in problems(mended)
    assert problems(silent) == ["rows_output: [0.43, 0, 0, 0] is not reproduced"]
    assert problems(claimed) == ["no such quantity: length", "not a source: S9", "no full stop: B"]
    assert loose_numbers(noted) == ["33.5", "101", "7%"]


def test_a_quantity_that_nobody_computes_is_refused() -> None:
    changed = edited(load("dot-product"), "dot_product", quantity="dot")
    with pytest.raises(ValueError, match="dot-product computes no 'dot'; it has products, dot_product"):
        compare(changed)


def test_printed_numbers_that_others_are_computed_from_must_be_there() -> None:
    with pytest.raises(ValueError, match="one-query publishes no '"):
        computed(replace(load("one-query"), published=()))


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


@every_example
def test_every_claim_is_tested_by_code_in_a_notebook(id: str) -> None:
    assert untested(load(id), NOTEBOOKS) == []


def test_a_claim_that_no_code_tests_is_found(tmp_path: Path) -> None:
    cell = "```{code-cell} ipython3\n## no heading\n1 + 1\n```\n"
    text = f"# 01 Sum\n\n{cell}\n## Words\n\nOnly words.\n\n## Code\n\nLook.\n\n{cell}"
    (tmp_path / "01_sum.md").write_text(text, encoding="utf-8")

    def found(*section: str) -> list[str]:
        claim = replace(CLAIM, tested=(Section(*section),))
        return untested(replace(load("one-query"), statements=(claim,)), tmp_path)

    assert found("01_sum", "Code") == []
    assert found("01_sum", "Words") == ["01_sum has no code in 'Words'"]
    assert found("01_sum", "Codes") == ["01_sum has no section 'Codes'; it has Words, Code"]
    assert found("01_sum", "no heading") == ["01_sum has no section 'no heading'; it has Words, Code"]
    assert found("02_product", "Code") == ["there is no notebook 02_product"]


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
        ("0.1", [0.1 + 0.05], [0.1500001]),  # a tie agrees with both neighbours, in spite of binary fractions
        ("0.2", [0.1 + 0.05], [0.1499999]),
    ],
)
def test_the_tolerance(printed: str, inside: list[float], outside: list[float]) -> None:
    assert [value for value in inside if not agrees(printed, value)] == []
    assert [value for value in outside if agrees(printed, value)] == []


def test_every_entry_of_a_list_must_agree() -> None:
    assert agrees((("1", "2.0"), ("3", "4")), np.array([[1, 2], [3, 4]]))
    assert not agrees((("1", "2.0"), ("3", "4")), np.array([[1, 2], [3, 5]]))
    with pytest.raises(ValueError, match=r"printed has shape \(2,\), computed has shape \(1, 2\)"):
        agrees(("1", "2"), np.array([[1.0, 2.0]]))


def test_a_row_shows_both_numbers_with_the_digits_that_tell_them_apart() -> None:
    rows = {row.quantity: row for row in compare(load("three-tokens"))}
    assert (rows["first_exp_sum"].printed, rows["first_exp_sum"].computed) == ("5.056229962", "5.0562299633")
    assert rows["first_output"].computed == "[0.802224, 0.796664]"
    assert rows["first_dot_products"].computed == "[1, 0, 1]"


# --- the kernels against the same numbers worked out by other means ---------------------------------

COMPUTED: list[tuple[str, str, str]] = [
    ("one-query", "dot_products", "1.07 0.33 0.85"),
    ("one-query", "scores", "0.535 0.165 0.425"),
    ("one-query", "weights", "0.386613 0.267047 0.346341"),
    ("one-query", "weights_from_printed_scores", "0.351111 0.309854 0.339035"),
    ("one-query", "output", "0.559783 0.440217"),
    ("one-query", "printed_output_sum", "1.001"),
    ("gpt3-width", "d_k", "128"),
    ("it-animal", "output", "0.426493 0.000000 0.000000 0.000000"),
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
    ("it-animal", "noun_weight_if_uniform", "0.285714"),
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
    ("mask-with-1e9", "all_blocked_weights", "0.333333 0.333333 0.333333"),
    ("mask-with-1e9", "all_blocked_weights_with_inf", "0.000000 0.000000 0.000000"),
    ("mask-with-1e9", "float16_lowest", "-65504"),
    ("eating-apples", "fruit_weights_of_apple", "0.043317 0.043317 0.870049 0.043317"),
    ("eating-apples", "phone_output_of_apple", "0.000000 0.021659 0.891707 0.000000"),
]


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
    assert small.published == (Published("dot_product", ("0.43", "43%"), source="S0"),)
    assert small.statements == (replace(CLAIM, why="B.", shows=("dot_product",), source="S1"),)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "small"', 'id = "small', "this is not valid TOML: "),
        ('id = "small"', 'id = "large"', "id must be the file's name without .toml, got 'large'"),
        ('title = "T"', "", "title is missing"),
        ('title = "T"', 'title = " "', "title must be a text, got ' '"),
        ('title = "T"', 'title = "T"\nplaces = "P"', "places is not a field; the fields are id, "),
        ("n = 3", "n = true", "inputs.n must be a finite number, numbers or texts in a list"),
        ("n = 3", "n = nan", "inputs.n must be a finite number, numbers or texts in a list"),
        ("n = 3", "n = []", "inputs.n must be a finite number, numbers or texts in a list"),
        ("n = 3", 'n = [1, "a"]', "inputs.n must be a finite number, numbers or texts in a list"),
        ("[[1, 2]]", "[[1, 2], [3]]", "inputs.q must have rows of one length"),
        ("[inputs]", "[[inputs]]", "inputs must be a table"),
        ('"0.43"', "0.43", "published[0].printed[0] must be the printed number in quotes"),
        ('"0.43"', '"about 1"', "published[0].printed[0] must be the printed number in quotes"),
        ('quantity = "dot_product"', "", "published[0].quantity is missing"),
        ("printed =", 'eratum = "R."\nprinted =', "published[0].eratum is not a field"),
        ("printed =", 'erratum = "R."\nprinted =', "dot_product: erratum and slip belong together"),
        ('"true"', '"maybe"', "statements[0].verdict must be one of true, overstated, half true"),
        ('shows = ["dot_product"]', 'shows = "q"', "statements[0].shows must be a list of texts"),
        ('["03_softmax#Temperature"]', "[]", "statements[0].tested must be a list of texts"),
        ("03_softmax#T", "T", "statements[0].tested must hold texts such as "),
        ("[[statements]]", "[statements]", "statements must be written as tables, [[statements]]"),
    ],
)
def test_a_mistake_in_a_file_is_named(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(ValueError, match=re.escape(f"small.toml: {message}")):
        parse(GOOD.replace(old, new, 1), "small.toml")


def test_an_unknown_name_is_answered_by_the_ones_there_are() -> None:
    with pytest.raises(ValueError, match="no worked example 'two-queries'; there are one-query, gpt3-width"):
        load("two-queries")
    with pytest.raises(KeyError, match="one-query has no input 'x'; it has q, k, v"):
        load("one-query")["x"]


def test_an_example_cannot_be_changed_by_accident() -> None:
    s0 = load("one-query")
    with pytest.raises(ValueError, match="read-only"):
        s0["q"][0, 0] = 2.0
    with pytest.raises(AttributeError):
        s0.id = "other"  # type: ignore[misc]
