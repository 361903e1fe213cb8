"""What a typed number means: a decimal comma is one, and where it may be either, both are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.wire.numerals import readings, spelled

ONE = {
    "2,50": 2.5,
    "0,5": 0.5,
    "0,002": 0.002,
    "0.002": 0.002,
    ",5": 0.5,
    ".500": 0.5,
    "2,": 2,
    "12,5000": 12.5,
    "1234,567": 1234.567,
    "1,234,567": 1_234_567,
    "1.234.567": 1_234_567,
    "1,234.5": 1234.5,
    "1.234,5": 1234.5,
    "1,234.567": 1234.567,
    "1 234,5": 1234.5,
    "1 234,567": 1234.567,
    "1\u202f234": 1234,
    "1\u00a0234\u00a0567": 1_234_567,
    "1'000": 1000,
    "1\u2019000.25": 1000.25,
    "1_000": 1000,
    "012,345": 12.345,
    " 7 ": 7,
    "-3,5": -3.5,
    "1e-4": 1e-4,
    "1,5e-4": 1.5e-4,
    "1.125e-05": 1.125e-5,
}
NONE = ("", " ", ",", ".", "-", "e5", "1,23,4", "1,2,345", "12 34", "1 2345", "1.5,000.1", "1,234.5,6", "1'234 567")
NONE += ("1..5", "1,,5", "two", "2,50 $", "nan", "inf", "1e999", "٢,٥", "1e5e5", "--1", "1 234.5.6", "1.234,567,8")


@pytest.mark.parametrize("text", ONE)
def test_a_text_with_one_meaning_is_that_number(text: str):
    assert readings(text) == (pytest.approx(ONE[text], rel=1e-12),)


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_number_has_no_reading(text: str):
    assert readings(text) == ()


@pytest.mark.parametrize(
    ("text", "small", "large"),
    [("2,500", 2.5, 2500), ("1.000", 1, 1000), ("999,999", 999.999, 999_999), ("-1,250", -1250, -1.25)],
)
def test_a_mark_before_three_digits_has_two_readings_and_none_is_taken(text: str, small: float, large: float):
    assert readings(text) == (small, large)


def test_a_whole_number_has_no_decimals_so_three_digits_are_its_thousands():
    assert readings("1,000", whole=True) == readings("1.000", whole=True) == (1000,)
    assert readings("2,50", whole=True) == (2.5,)  # and is then refused as no whole number, never made 250


@given(st.integers(0, 10**9), st.integers(1, 9), st.sampled_from(",."), st.booleans())
def test_a_mark_before_other_than_three_digits_is_a_decimal_mark(before: int, digits: int, mark: str, zeros: bool):
    after = "0" * digits if zeros else str(7 * 10**digits)[:digits]
    if digits == 3:
        after += "5"
    assert readings(f"{before}{mark}{after}") == (pytest.approx(float(f"{before}.{after}"), rel=1e-12),)


@given(
    st.integers(0, 10**12),
    st.integers(0, 10**6),
    st.sampled_from([(",", "."), (".", ","), (" ", ","), ("\u202f", "."), ("'", ","), ("_", ".")]),
)
def test_a_number_grouped_and_with_decimals_is_read_as_it_was_meant(
    whole: int, millionths: int, marks: tuple[str, str]
):
    group, decimal = marks
    decimals = f"{millionths:06d}"
    text = f"{whole:,}".replace(",", group) + decimal + decimals
    assert readings(text) == (pytest.approx(float(f"{whole}.{decimals}"), rel=1e-12),)


@given(st.text(alphabet="0123456789,. '\u202f_-+eE", max_size=14))
def test_of_two_readings_one_is_a_thousand_times_the_other_and_no_text_has_three(text: str):
    found = readings(text)
    assert len(found) <= 2
    if len(found) == 2:
        small, large = sorted(found, key=abs)
        assert large == pytest.approx(1000 * small)


@given(st.floats(-1e14, 1e14, allow_nan=False, allow_subnormal=False))
def test_what_a_field_shows_has_one_reading_the_number_itself(number: float):
    number = float(f"{number:.10g}")
    assert readings(spelled(number)) == (pytest.approx(number, rel=1e-9, abs=1e-300),)
