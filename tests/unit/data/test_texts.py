from __future__ import annotations

import json

import numpy as np
import pytest

from tpu_studio.data.look import Look, look
from tpu_studio.data.opened import Share
from tpu_studio.data.sources import open_data
from tpu_studio.wire.errors import DataError

LINE = "It was the best of times, it was the worst of times.\n"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "tale.txt"
    path.write_text("".join(f"{number}: {LINE}" for number in range(200)))
    return path


def refused(job) -> DataError:
    with pytest.raises(DataError) as by_look:
        look(job)
    with pytest.raises(DataError) as by_opening:
        open_data(job)
    assert by_look.value.id == by_opening.value.id
    return by_look.value


def test_a_text_is_counted_in_characters_bytes_tokens_and_windows(job_of, text):
    seen = look(job_of("text", text))
    size = text.stat().st_size

    assert (seen.task, seen.outputs, seen.input_shape, seen.sequence_length) == ("language-model", 256, (64,), 64)
    assert (seen.numbers["characters"], seen.numbers["bytes"], seen.numbers["lines"]) == (size, size, 200)
    assert seen.numbers["validation_tokens"] == round(size * 0.2)
    assert seen.preview["text"].startswith("0: It was the best")
    assert len(seen.preview["text"]) == 500
    assert Look.from_json(json.loads(json.dumps(seen.to_json()))) == seen


def test_training_windows_are_the_tokens_and_those_that_follow(job_of, text):
    opened = open_data(job_of("text", text, sequence_length=16))
    tokens = np.frombuffer(text.read_bytes(), dtype=np.uint8)

    batch = opened.train.batch(np.array([0, 3]))

    assert opened.train.spec == {"x": ((16,), "int32"), "y": ((16,), "int32")}
    np.testing.assert_array_equal(batch["x"], [tokens[:16], tokens[48:64]])
    np.testing.assert_array_equal(batch["y"], [tokens[1:17], tokens[49:65]])


def test_over_the_epochs_windows_start_everywhere_and_the_same_generator_gives_the_same_batch(job_of, text):
    train = open_data(job_of("text", text, sequence_length=16)).train
    everything = np.arange(len(train))

    one = train.batch(everything, rng=np.random.default_rng(5))
    again = train.batch(everything, rng=np.random.default_rng(5))
    other = train.batch(everything, rng=np.random.default_rng(6))

    np.testing.assert_array_equal(one["x"], again["x"])
    assert (one["x"] != other["x"]).any()
    np.testing.assert_array_equal(one["x"][:, 1:], one["y"][:, :-1])


def test_every_validation_token_counts_exactly_once(job_of, text):
    opened = open_data(job_of("text", text, sequence_length=64))
    tokens = np.frombuffer(text.read_bytes(), dtype=np.uint8)
    cut = len(tokens) - round(len(tokens) * 0.2)

    batch = opened.validation.batch(np.arange(len(opened.validation)))

    assert opened.validation.spec["weight"] == ((64,), "float32")
    counted = batch["weight"].astype(bool)
    np.testing.assert_array_equal(batch["x"][counted], tokens[cut:-1])
    np.testing.assert_array_equal(batch["y"][counted], tokens[cut + 1 :])


def test_no_token_of_training_is_tested_on(job_of, tmp_path):
    path = tmp_path / "halves.txt"
    path.write_text("a" * 800 + "b" * 200)
    opened = open_data(job_of("text", path))

    train = opened.train.batch(np.arange(len(opened.train)), rng=np.random.default_rng(0))
    assert set(np.unique(train["y"])) == {ord("a")}
    kept = opened.validation.batch(np.arange(len(opened.validation)))
    assert set(np.unique(kept["x"][kept["weight"] > 0])) == {ord("b")}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_any_encoding_gives_the_same_tokens(job_of, tmp_path, encoding):
    words = "Größe und süße Äpfel, naïve façade\r\n" * 40
    path = tmp_path / "words.txt"
    path.write_bytes(words.encode(encoding))

    opened = open_data(job_of("text", path))

    expected = np.frombuffer(words.replace("\r\n", "\n").encode(), dtype=np.uint8)
    np.testing.assert_array_equal(opened.train.batch(np.array([0]))["x"][0], expected[:64])


def test_the_model_decides_the_context_length_unless_the_job_does(job_of, text):
    assert look(job_of("text", text, model="gpt-mini")).sequence_length == 256
    assert look(job_of("text", text, model="gpt-mini", sequence_length=32)).sequence_length == 32


def test_a_folder_of_text_files_is_one_text(job_of, tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.txt").write_text(name * 300)
    (tmp_path / "c.txt").write_bytes(bytes(range(256)) * 4)

    seen = look(job_of("text", tmp_path))

    assert (seen.numbers["files"], seen.numbers["bytes"], seen.broken_count) == (2, 600, 1)
    assert [(item.item, item.why) for item in seen.broken] == [("c.txt", "not-text")]


def test_a_text_beyond_the_memory_budget_is_paged_from_the_disk(job_of, text):
    whole, paged = open_data(job_of("text", text)), open_data(job_of("text", text), memory_budget_bytes=100)

    np.testing.assert_array_equal(whole.train.batch(np.arange(9))["x"], paged.train.batch(np.arange(9))["x"])


def test_ten_characters_are_too_few(job_of, tmp_path):
    (tmp_path / "short.txt").write_text("0123456789")

    error = refused(job_of("text", tmp_path / "short.txt"))

    assert (error.id, error.facts["count"], error.facts["unit"]) == ("data-too-few", 10, "characters")
    assert error.facts["needed"] > 10


def test_as_many_characters_as_were_asked_for_are_enough(job_of, tmp_path):
    path = tmp_path / "short.txt"
    path.write_text("0123456789")
    needed = refused(job_of("text", path)).facts["needed"]

    path.write_text("x" * needed)

    assert look(job_of("text", path)).sequence_length == 8


def test_nuls_emptiness_and_pictures_are_no_text(job_of, tmp_path):
    (tmp_path / "nuls.txt").write_bytes(bytes(5000))
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "blank.txt").write_text(" \n \n")
    (tmp_path / "noise.txt").write_bytes(np.random.default_rng(0).bytes(5000))

    assert refused(job_of("text", tmp_path / "nuls.txt")).id == "data-not-text"
    assert refused(job_of("text", tmp_path / "empty.txt")).id == "data-empty"
    assert refused(job_of("text", tmp_path / "blank.txt")).id == "data-empty"
    assert refused(job_of("text", tmp_path / "noise.txt")).id == "data-not-text"
    assert refused(job_of("text", tmp_path / "nowhere.txt")).id == "data-missing"


@pytest.mark.samples
def test_the_plays_have_65_different_characters(job_of, samples):
    seen = look(job_of("text", samples / "tinyshakespeare.txt"))

    assert (seen.numbers["tokens"], seen.numbers["distinct"]) == (1_115_394, 65)


def test_a_share_of_a_batch_of_windows_is_what_stands_there_in_the_whole_one(job_of, text):
    opened = open_data(job_of("text", text, sequence_length=16))
    indices, share = np.array([5, 1, 3, 2, 8, 0]), Share(np.array([1, 2, 5]), 6)

    for source in (opened.train, opened.validation):
        whole = source.batch(indices, rng=np.random.default_rng(4))
        mine = source.batch(indices, rng=np.random.default_rng(4), share=share)
        for name, array in mine.items():
            np.testing.assert_array_equal(array, whole[name][share.places])
