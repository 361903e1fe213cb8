"""Which model is recommended, and why: by how much data there is, what it is, and where it trains."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes.looks import DIAMONDS, DIGITS, HANDS, PLAYS
from tpu_studio.data.looked import ImageSizes, Look
from tpu_studio.planner.recommended import recommended
from tpu_studio.wire import kinds, places

HERE, COLAB, CLOUD = places.default(), places.lending(), places.charging()
FEW = replace(HANDS, examples=480)
SPEECHES = Look("text", "text-classification", examples=1_327, classes=tuple((str(n), 147) for n in range(9)))
CHATS = Look("text", "instruction", examples=500)


def photographs(count: int, classes: int, side: int = 300) -> Look:
    sizes = ImageSizes(side, side, side, side, side, side)
    return replace(HANDS, examples=count, classes=tuple((str(n), 1) for n in range(classes)), image_sizes=sizes)


def test_few_photographs_go_to_a_network_that_has_seen_a_million():
    told = recommended(photographs(300, 2), HERE)
    assert told is not None and told.model == "efficientnet-lite0"
    assert told.why == (
        "300 pictures are few for a network that begins from nothing; "
        "it has seen 1.3 million photographs of 1,000 kinds (ImageNet)."
    )


def test_some_thousand_photographs_are_enough_to_begin_from_nothing():
    told = recommended(HANDS, HERE)
    assert told is not None and (told.model, told.why) == (
        "small-cnn",
        "2,062 pictures are enough to learn from nothing.",
    )


def test_of_many_classes_each_needs_its_examples():
    few_of_each, many_of_each = recommended(photographs(5_000, 500), HERE), recommended(photographs(50_000, 500), HERE)
    assert few_of_each is not None and few_of_each.model == "efficientnet-lite0"
    assert many_of_each is not None and many_of_each.model == "small-cnn"


def test_tiny_pictures_go_to_the_small_network_however_few_they_are():
    told = recommended(DIGITS, HERE)
    assert told is not None and told.model == "small-cnn" and "tiny (8 pixels)" in told.why


def test_a_notebook_begins_from_nothing():
    told = recommended(FEW, COLAB)
    assert told is not None and told.model == "small-cnn" and "Colab" in told.why
    there = recommended(FEW, CLOUD)
    assert there is not None and there.model == "efficientnet-lite0"


def test_a_table_goes_to_the_simple_network():
    told = recommended(DIAMONDS, HERE)
    assert told is not None and (told.model, told.why) == ("mlp", "The first choice for tables.")


def test_few_texts_go_to_a_network_that_has_read_english_ones():
    told = recommended(SPEECHES, HERE)
    assert told is not None and told.model == "all-minilm-l6-v2"
    assert told.why.startswith("1,327 texts are few") and told.why.endswith("if they are in English.")
    many = recommended(replace(SPEECHES, examples=40_000), HERE)
    assert many is not None and many.model == "text-classifier"


@pytest.mark.parametrize(
    ("characters", "place", "model"),
    [
        (1_115_394, HERE, "gpt-nano"),  # 2 h 50 for the next larger one, on two cores
        (1_115_394, CLOUD, "gpt-mini"),  # 40 × 1.1 million < the 86 million weights of the largest
        (100_000_000, COLAB, "gpt-124m"),
        (5_000, CLOUD, "gpt-nano"),  # fills none of them: the smallest
    ],
)
def test_a_text_to_write_like_goes_to_the_largest_that_it_fills_and_the_place_trains(characters, place, model):
    look = replace(PLAYS, numbers={"characters": characters, "tokens": characters})
    told = recommended(look, place)
    assert told is not None and told.model == model
    assert f"{characters:,} characters" in told.why or "million characters" in told.why


def test_questions_and_answers_go_to_a_language_model_of_ones_own():
    told = recommended(CHATS, HERE)
    assert told is not None and told.model == "pretrained-lm" and "folder" in told.why


def test_converted_pictures_are_told_by_their_shape():
    kind = kinds.first(lambda one: one.is_converted).id
    tiny, row = recommended(replace(DIGITS, kind=kind), HERE), recommended(replace(DIAMONDS, kind=kind), HERE)
    assert tiny is not None and tiny.model == "small-cnn"
    assert row is not None and row.model == "mlp"


def test_data_that_nothing_learns_from_has_none():
    assert recommended(replace(DIAMONDS, task="language-model"), HERE) is None
