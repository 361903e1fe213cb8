"""The Plan page's figures and small pictures: one unit, no false precision, every kind of picture file."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from tests.fakes.looks import DIGITS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tpu_studio.viewmodels import thumbnails
from tpu_studio.viewmodels.planwords import count_range, fix_words, limit_of, nice_top, time_range, weights
from tpu_studio.wire.plan import Range


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (50, 80, "50 – 80 s"),
        (90, 150, "1.5 – 2.5 min"),
        (27 * 60, 34 * 60, "27 – 34 min"),
        (20, 150, "20 s – 2.5 min"),
        (3 * 3600, 4.4 * 3600, "3 – 4.5 h"),
        (600, 3 * 3600, "10 min – 3 h"),
        (5 * 86_400, 12 * 86_400, "5 – 12 days"),
        (61.0, 61.4, "about 61 s"),
    ],
)
def test_a_range_of_time_has_one_unit_where_it_can(low: float, high: float, words: str):
    assert time_range(Range(low, (low + high) / 2, high)) == words


def test_speeds_have_two_figures():
    assert count_range(Range(2_912, 3_200, 3_583)) == "2,900 – 3,600"
    assert count_range(Range(0.41, 0.5, 0.68)) == "0.41 – 0.68"


def test_weights_are_said_as_people_say_large_numbers():
    assert [weights(n) for n in (94, 391_466, 1_500_000, 124_439_808)] == [
        "94",
        "391 thousand",
        "1.5 million",
        "124 million",
    ]


def test_the_right_end_of_a_slider_is_a_round_number():
    assert [nice_top(value) for value in (0.03, 0.11, 3.7, 5.0, 61)] == pytest.approx([0.05, 0.2, 5, 5, 100])


def test_a_repair_says_what_it_does():
    assert fix_words({"training.global_batch": 1024}) == "Use 1,024"
    assert fix_words({"training.framework": "tensorflow"}) == "Use TensorFlow"
    assert fix_words({"model.name": "small-cnn"}) == "Use Small CNN"
    assert fix_words({"data.columns": {"id": "ignore"}}) == "Leave it out"
    assert fix_words({"limits.hours": "auto"}) == "Use recommended"


def test_thumbnails_show_each_kind_before_the_second_of_any():
    pictures = [{"path": f"{kind}{number}", "class": kind} for kind in ("a", "b") for number in range(9)]
    assert [one["path"] for one in thumbnails.spread(pictures, 4)] == ["a0", "b0", "a1", "b1"]


def test_thumbnails_of_odd_pictures_and_without_broken_ones(tmp_path: Path):
    Image.new("CMYK", (40, 20), (0, 255, 255, 0)).save(tmp_path / "cmyk.jpg")
    Image.new("I;16", (30, 50), 65_535).save(tmp_path / "deep.png")
    Image.new("LA", (8, 8), (10, 0)).save(tmp_path / "small.png")
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 and no more")
    names = ("cmyk.jpg", "deep.png", "small.png", "broken.jpg", "gone.jpg")
    loaded = thumbnails.load([{"path": str(tmp_path / name), "class": name} for name in names])
    assert [one.name for one in loaded] == ["cmyk.jpg", "deep.png", "small.png"]
    assert all(len(one.rgb) == thumbnails.SIDE**2 * 3 for one in loaded)
    assert loaded[1].rgb[:3] == b"\xff\xff\xff"


@pytest.mark.parametrize("epochs", [2, 400, 40_000])
@pytest.mark.parametrize("priced", [{}, {"usd_per_hour": 3.6}])
def test_a_limit_that_is_recommended_leaves_room_for_more(epochs: int, priced: dict[str, object]):
    asked = job("mlp", "digits", training={"epochs": epochs}, where=priced)
    limit = limit_of(make_plan(asked, DIGITS, now=NOW, computer=LAPTOP))
    assert limit is not None and limit.recommended
    assert 0 < limit.value <= 0.8 * limit.top and limit.band[1] <= limit.value
