"""Numbers as text: what the doctests of attention_core/_numbers.py do not show."""

import numpy as np
import pytest

from attention_core._numbers import counted, in_line, number, numbers, plain, printed, three_digits, typed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-2.5, "-2.5"),
        (1 / 3, "0.3333"),
        (np.float32(0.5), "0.5"),
        (np.inf, "inf"),
        (np.nan, "nan"),
        (-2e6, "-2000000"),
        (2e6 + 0.5, "2.000e+06"),
        (np.array([1e-9, 2.0]), "[0. 2.]"),
        (np.array([0.1 + 0.2, -1e-17]), "[0.3 0.0]"),
        (np.array([1 / 3, 0.5]), "[0.3333 0.5000]"),
        (np.int64(3), "3"),
        ("no", "no"),
    ],
)
def test_printed(value, text):
    assert printed(value) == text


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1, 0, -1], ["1", "0", "−1"]),
        ([0.535, 0.165], ["0.535", "0.165"]),
        ([1 / 3, 0.5], ["0.33", "0.50"]),
        ([-0.0, -1e-12], ["0", "0"]),
        ([-0.004, 1 / 3], ["0.00", "0.33"]),
        ([np.inf, -np.inf, np.nan, 0.5], ["∞", "−∞", "NaN", "0.5"]),
        ([[0.25, 1.0]], ["0.25", "1.00"]),
        ([], []),
    ],
)
def test_numbers_share_their_decimals(values, texts):
    assert numbers(values) == texts


def test_a_number_fits_into_its_room():
    texts = [number(x) for x in (np.inf, np.nan, -0.00001, 12.34567, -12345.6, 123456.7, -1e-300, 1e-8)]
    assert texts == ["∞", "NaN", "0.0000", "12.3457", "−12346", "123457", "0.0000", "0.0000"]
    assert [number(1 / 3, 2), number(-10.123, 2, 4)] == ["0.33", "−10"]


def test_plain_leaves_out_zeros_and_typed_uses_the_keyboard():
    assert [plain(x) for x in (-0.0, -1e-9, 10.0, -np.inf)] == ["0", "0", "10", "−∞"]
    assert plain(np.inf, least=1) == "∞"
    assert typed(-0.25) == "-0.25"


def test_in_line_keeps_texts_and_whole_numbers():
    assert in_line((("1.0", "2%"), ("3", "4"))) == "[[1.0, 2%], [3, 4]]"
    assert in_line(np.array([5120, 64])) == "[5120, 64]"
    assert in_line(2.0281149816, 10) == "2.0281149816"


@pytest.mark.parametrize(
    ("value", "text"), [(0.98912, "0.989"), (1.0, "1.00"), (255.2, "255"), (1027.6, "1028")]
)
def test_three_digits(value, text):
    assert three_digits(value) == text


def test_counted():
    assert [counted(n) for n in (0, 12, 13)] == ["no", "twelve", "13"]
