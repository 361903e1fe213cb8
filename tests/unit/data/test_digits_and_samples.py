"""What is shipped: the digits, the other samples with their licences, and the example jobs."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tpu_studio.data.look import look
from tpu_studio.data.sources import open_data
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job, parse, set_values
from tpu_studio.wire.resources import resource_path

EXAMPLES = (
    "digits",
    "sign-digits",
    "few-photos",
    "which-play",
    "diamonds",
    "shakespeare",
    "gpt-124m",
    "your-own-model",
)


def example(name: str) -> Job:
    path = resource_path("examples", f"{name}.tpujob")
    return parse(tomllib.loads(path.read_text(encoding="utf-8")), base=str(path.parent))


def test_the_digits_are_1797_pictures_of_8_by_8_with_values_up_to_16(job_of):
    seen, opened = look(job_of("digits")), open_data(job_of("digits"))
    both = [source.batch(np.arange(len(source))) for source in (opened.train, opened.validation)]
    pixels = np.concatenate([part["x"] for part in both])

    assert (seen.train, seen.validation) == (len(opened.train), len(opened.validation)) == (1438, 359)
    assert pixels.shape == (1797, 8, 8, 1)
    # Sums over scikit-learn's load_digits(): data.sum() is 561718, and there are 178 zeros, 182 ones …
    assert int(pixels.sum()) == 561_718
    assert [count for _, count in seen.classes] == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert opened.description["value_max"] == 16


def test_the_digits_have_pictures_to_show(job_of):
    pictures = look(job_of("digits")).preview["pictures"]

    assert len(pictures) == 24
    assert all(Path(item["path"]).is_file() for item in pictures)


def test_pictures_that_are_called_kept_aside_really_are(job_of):
    opened = open_data(job_of("digits"))
    aside = opened.validation.batch(np.arange(len(opened.validation)))["x"][..., 0].astype(float)
    shown = [item for item in look(job_of("digits")).preview["pictures"] if item["kept"]]

    assert len(shown) >= 8
    for item in shown:
        pixels = np.asarray(Image.open(item["path"]))
        assert (np.round(aside * 255 / 16) == pixels).all(axis=(1, 2)).any(), item["path"]


def test_the_digits_can_be_enlarged(job_of):
    assert open_data(job_of("digits", image_size=16)).train.spec["x"] == ((16, 16, 1), "uint8")


def test_digits_are_told_apart_and_nothing_else(job_of):
    with pytest.raises(DataError) as caught:
        look(job_of("digits", task="regression"))

    assert caught.value.id == "data-task-unfit"


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_finds_its_data_and_fixes_nothing_that_is_chosen_by_itself(name):
    job = example(name)
    if job.model.id == "all-minilm-l6-v2":  # its tokens are in the engine, not in the app
        job = set_values(job, {"model.preset": "none", "data.tokenizer": "bytes"})
    seen, opened = look(job), open_data(job)

    assert (seen.train, seen.validation) == (len(opened.train), len(opened.validation))
    assert opened.description["input_shape"] == list(seen.input_shape)
    assert seen.broken_count == 0
    assert not {finding.id for finding in seen.findings if finding.level != "info"}
    free = {"training.global_batch", "data.task", "data.columns", "training.learning_rate", "data.image_size"}
    assert not job.given & free


def test_the_examples_say_epochs_where_they_are_meant_to_be_extended():
    for name in ("digits", "sign-digits", "diamonds"):
        assert "training.epochs" in example(name).given
    big = example("gpt-124m")
    assert (big["where.place"], big["training.framework"]) == ("cloud", "jax")


def test_each_sample_carries_its_licence_and_origin_and_all_are_small():
    folders = [item for item in resource_path("samples").iterdir() if item.is_dir()]
    files = [item for item in resource_path("samples").rglob("*") if item.is_file()]

    assert {folder.name for folder in folders} == {"digits", "sign-digits", "diamonds", "shakespeare", "plays"}
    for folder in folders:
        assert (folder / "LICENSE").is_file()
        assert "Licence:" in (folder / "ORIGIN.md").read_text(encoding="utf-8")
    assert sum(item.stat().st_size for item in files) < 5_000_000


def test_the_hands_are_60_a_class_at_64_pixels():
    seen = look(example("sign-digits"))

    assert seen.classes == tuple((str(digit), 60) for digit in range(10))
    assert seen.image_sizes is not None
    assert (seen.image_sizes.min_width, seen.image_sizes.max_width, seen.image_size) == (64, 64, 64)
