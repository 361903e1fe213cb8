from __future__ import annotations

import math

import pytest

from tpu_studio.domain import figures


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.42, "0.4 s"),
        (8.2, "8 s"),
        (59.7, "1 min"),
        (102, "1 min 42 s"),
        (34 * 60, "34 min"),
        (11520, "3 h 12"),
        (7200, "2 h"),
        (187200, "2 days 4 h"),
        (None, "–"),
        (math.inf, "–"),
        (3599, "60 min"),
        (599.6, "10 min"),
    ],
)
def test_durations_read_as_people_say_them(seconds: float | None, text: str):
    assert figures.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.412345, "0.412"),
        (3184.2, "3,184"),
        (12.345, "12.3"),
        (0.0999999, "0.100"),
        (0.0000012, "1.20e-06"),
        (0, "0"),
        (math.nan, "not a number"),
        (None, "–"),
    ],
)
def test_figures_keep_three_digits(value: float | None, text: str):
    assert figures.figure(value) == text


def test_r2_is_a_figure_and_an_accuracy_a_share():
    assert [figures.metric(name, 0.9807) for name in ("val_r2", "val_accuracy", "loss")] == ["0.981", "98.1%", "0.981"]


def test_texts_that_are_classified_are_called_texts():
    assert figures.noun("text", "text-classification") == "texts"
    assert [figures.noun("text", "language-model"), figures.noun("text")] == ["sequences", "sequences"]
    assert figures.noun("images", "classification") == "pictures"


def test_values_of_data_are_not_grouped():
    told = [figures.datum(value, 4) for value in (1987.0, 1987.31, 20_241_231.0, -0.0, 0.32618, 0.2, 2.5e-7, None)]
    assert told == ["1987", "1987", "20241231", "0", "0.3262", "0.2", "2.500e-07", "–"]


def test_shares_money_and_sizes():
    assert [figures.share(x) for x in (0.5, 0.986, 1.0, None)] == ["50%", "98.6%", "100%", "–"]
    assert figures.money(1234.5) == "$1,234.50"
    assert [figures.size(x) for x in (12, 1500, 2.1e9, 999_600)] == ["12 bytes", "1.5 kB", "2.1 GB", "1.0 MB"]


@pytest.mark.parametrize(
    ("least", "most", "text"),
    [
        (0.0, 0.0, "$0.00"),
        (0.0, 0.00004, "under $0.01"),
        (0.00004, 0.00004, "under $0.01"),
        (0.0, 0.006, "$0.00–$0.01"),
        (0.05, 0.05, "$0.05"),
        (0.0512, 0.0538, "$0.05"),
        (0.046, 0.094, "$0.04–$0.10"),
        (0.29, 0.57, "$0.29–$0.57"),
        (1.0, 2.0, "$1.00–$2.00"),
    ],
)
def test_a_range_of_money_holds_both_its_ends_and_is_never_nothing_of_something(least: float, most: float, text: str):
    assert figures.money_between(least, most) == text
