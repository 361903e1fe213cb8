from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.fakes.waiting import PATIENCE_S
from tpu_studio.data import convert as converting
from tpu_studio.data import shards, shardwriting
from tpu_studio.data.convert import Cancelled, ConvertProgress, convert
from tpu_studio.data.look import look
from tpu_studio.data.opened import Opened
from tpu_studio.data.sources import open_data
from tpu_studio.data.tfrecord import read_records, sha256_of
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job


def same(one: Opened, other: Opened) -> None:
    assert one.description == other.description
    assert one.task == other.task
    for part, again in ((one.train, other.train), (one.validation, other.validation)):
        assert part.spec == again.spec
        assert len(part) == len(again)
        everything = np.arange(len(part))
        arrays = again.batch(everything)
        for name, array in part.batch(everything).items():
            np.testing.assert_array_equal(array, arrays[name])


@pytest.fixture
def source(request, job_of, picture_folder, tmp_path) -> Job:
    """A small data set of the kind that the test is run with."""
    match request.param:
        case "images":
            return job_of("images", picture_folder({"cats": 20, "dogs": 15}))
        case "digits":
            return job_of("digits")
        case "text":
            (tmp_path / "tale.txt").write_text("To be, or not to be, that is the question.\n" * 400)
            return job_of("text", tmp_path / "tale.txt")
    rows = "".join(f"{number},{'xyz'[number % 3]},{number * 7 % 31}\n" for number in range(5, 200))
    (tmp_path / "table.csv").write_text("a,b,points\n" + rows)
    return job_of("table", tmp_path / "table.csv", target="b" if request.param == "classes" else "points")


KINDS = ("images", "digits", "text", "numbers", "classes")


@pytest.mark.parametrize("source", KINDS, indirect=True)
def test_the_converted_data_set_gives_the_same_split_and_the_same_arrays(source, job_of, tmp_path):
    report = convert(source, tmp_path / "out")
    again = job_of("tfrecord", tmp_path / "out", model=source.model.id)

    same(open_data(source), open_data(again))
    was, now = look(source), look(again)
    assert (now.kind, now.task, now.target) == ("tfrecord", was.task, was.target)
    assert (now.train, now.validation, now.classes) == (was.train, was.validation, was.classes)
    assert (now.input_shape, now.outputs) == (was.input_shape, was.outputs)
    assert report.examples == {"train": was.train, "validation": was.validation}


@pytest.mark.parametrize("source", ["images"], indirect=True)
def test_dataset_json_tells_schema_counts_and_checksums(source, tmp_path):
    convert(source, tmp_path / "out")
    tree = json.loads((tmp_path / "out" / "dataset.json").read_text())

    assert (tree["format"], tree["kind"], tree["task"]) == (1, "images", "classification")
    assert tree["features"]["image/encoded"] == {"dtype": "bytes", "shape": [1]}
    assert tree["splits"]["train"]["classes"] == {"cats": 16, "dogs": 12}
    assert tree["description"]["classes"] == ["cats", "dogs"]
    for split in ("train", "validation"):
        for shard in tree["splits"][split]["shards"]:
            file = tmp_path / "out" / shard["name"]
            assert (file.stat().st_size, sha256_of(file)) == (shard["bytes"], shard["sha256"])
            assert len(list(read_records(file))) == shard["examples"]
    assert not list((tmp_path / "out").glob(".*"))


@pytest.mark.parametrize("source", ["images"], indirect=True)
def test_the_number_of_processes_does_not_change_the_result(source, tmp_path, monkeypatch):
    monkeypatch.setattr(converting, "_SMALL", 0)

    convert(source, tmp_path / "one", workers=1, shard_bytes=8000)
    report = convert(source, tmp_path / "two", workers=2, shard_bytes=8000)

    assert report.shards > 4
    names = sorted(item.name for item in (tmp_path / "one").iterdir())
    assert names == sorted(item.name for item in (tmp_path / "two").iterdir())
    for name in names:
        if name != "preview":
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


@pytest.mark.parametrize("source", ["images"], indirect=True)
def test_a_converted_data_set_can_be_opened_at_another_picture_size_or_from_the_disk(source, job_of, tmp_path):
    convert(source, tmp_path / "out")
    smaller = job_of("tfrecord", tmp_path / "out", image_size=16)

    assert look(smaller).input_shape == (16, 16, 3)
    same(open_data(smaller), open_data(smaller, memory_budget_bytes=1))


@pytest.mark.parametrize("source", ["text"], indirect=True)
def test_a_converted_text_can_be_opened_at_another_context_length(source, job_of, tmp_path):
    convert(source, tmp_path / "out")
    job = job_of("tfrecord", tmp_path / "out", sequence_length=32, model="gpt-nano")

    seen, opened = look(job), open_data(job)
    assert seen.input_shape == (32,)
    assert (len(opened.train), len(opened.validation)) == (seen.train, seen.validation)


def test_the_pieces_of_a_converted_text_are_counted_as_those_of_the_text(job_of, tmp_path):
    words = np.random.default_rng(0).zipf(1.3, 20_000)
    (tmp_path / "tale.txt").write_text("la la la\n" * 60 + " ".join(f"w{int(word) % 5_000:x}" for word in words))
    source = job_of("text", tmp_path / "tale.txt").with_values({"data.tokenizer": "bpe"})
    convert(source, tmp_path / "out")
    one, other = look(source), look(job_of("tfrecord", tmp_path / "out").with_values({"data.tokenizer": "bpe"}))
    assert one.outputs == other.outputs
    assert one.numbers["tokens"] == pytest.approx(other.numbers["tokens"], rel=0.02)


def test_pictures_of_unusual_kinds_are_stored_anew_with_nothing_lost(job_of, picture_folder, picture, tmp_path):
    root = picture_folder({"cats": 8, "dogs": 8})
    noted = Image.Exif()
    noted[0x0112] = 6
    picture(900, (40, 20)).save(root / "cats" / "turned.jpg", exif=noted)
    picture(901).convert("CMYK").save(root / "cats" / "print.jpg")
    picture(902).save(root / "cats" / "old.bmp")
    picture(903).quantize(16).save(root / "dogs" / "few.gif")
    Image.fromarray(np.arange(400, dtype=np.uint16).reshape(20, 20) * 160).save(root / "dogs" / "deep.png")
    turned = picture(904, (40, 20))
    turned.save(root / "dogs" / "turned.tif", exif=noted)
    job = job_of("images", root, max_broken_share=0.0)

    report = convert(job, tmp_path / "out")

    assert report.reencoded == 5  # the turned JPEG keeps its bytes and its note
    same(open_data(job), open_data(job_of("tfrecord", tmp_path / "out")))


def test_a_picture_too_large_for_a_record_is_stored_at_the_size_the_model_sees(
    job_of, picture_folder, picture, tmp_path, monkeypatch
):
    root = picture_folder({"cats": 8, "dogs": 8})
    picture(900, (300, 300)).save(root / "cats" / "huge.png")
    monkeypatch.setattr(shardwriting, "MOST_BYTES", 100_000)
    job = job_of("images", root)

    assert convert(job, tmp_path / "out").shrunk == 1
    same(open_data(job), open_data(job_of("tfrecord", tmp_path / "out")))


def test_broken_pictures_are_left_out_and_named(job_of, picture_folder, picture, tmp_path):
    root = picture_folder({"cats": 30, "dogs": 30})
    picture(900, (64, 64)).save(root / "cats" / "cut.jpg")
    whole = (root / "cats" / "cut.jpg").read_bytes()
    (root / "cats" / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (root / "dogs" / "empty.png").write_bytes(b"")
    job = job_of("images", root)

    report = convert(job, tmp_path / "out")

    assert sorted((item.item, item.why) for item in report.broken) == [
        ("cats/cut.jpg", "truncated"),
        ("dogs/empty.png", "empty-file"),
    ]
    same(open_data(job), open_data(job_of("tfrecord", tmp_path / "out")))


def test_too_many_broken_pictures_stop_it(job_of, picture_folder, tmp_path):
    root = picture_folder({"cats": 10, "dogs": 10})
    for number in range(5):
        (root / "cats" / f"{number}.png").write_bytes(b"")

    with pytest.raises(DataError) as caught:
        convert(job_of("images", root), tmp_path / "out")

    assert caught.value.id == "data-too-broken"
    assert not (tmp_path / "out" / "dataset.json").exists()


@pytest.mark.parametrize("source", ["images"], indirect=True)
def test_progress_rises_to_the_end(source, tmp_path):
    told: list[ConvertProgress] = []

    convert(source, tmp_path / "out", progress=told.append, shard_bytes=8000)

    assert [item.phase for item in (told[0], told[-1])] == ["looking", "done"]
    done = [item.bytes_done for item in told]
    assert done == sorted(done)
    assert told[-1].bytes_done == told[-1].bytes_total > 0
    assert told[-1].shards_done == told[-1].shards


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("source", ["images"], indirect=True)
def test_a_cancelled_conversion_goes_on_where_it_was(source, job_of, tmp_path, monkeypatch, workers):
    monkeypatch.setattr(converting, "_SMALL", 0)
    shards_done = 0

    def follow(progress: ConvertProgress) -> None:
        nonlocal shards_done
        shards_done = progress.shards_done

    with pytest.raises(Cancelled):
        convert(
            source,
            tmp_path / "out",
            workers=workers,
            shard_bytes=8000,
            progress=follow,
            cancelled=lambda: shards_done >= 2,
        )
    assert not (tmp_path / "out" / "dataset.json").exists()
    assert not list((tmp_path / "out").glob("*.part"))

    report = convert(source, tmp_path / "out", shard_bytes=8000)

    assert 2 <= report.resumed <= report.shards - (workers == 1)  # two may be through all before they are heard
    same(open_data(source), open_data(job_of("tfrecord", tmp_path / "out")))


def cancelled_after_three(source: Job, out: Path) -> None:
    """A conversion that ends with three of its shards written."""
    done = 0

    def follow(progress: ConvertProgress) -> None:
        nonlocal done
        done = progress.shards_done

    with pytest.raises(Cancelled):
        convert(source, out, shard_bytes=8000, workers=1, progress=follow, cancelled=lambda: done >= 3)


@pytest.mark.parametrize("source", ["images"], indirect=True)
def test_a_finished_shard_that_was_damaged_is_written_again(source, job_of, tmp_path):
    convert(source, tmp_path / "whole", shard_bytes=8000)
    cancelled_after_three(source, tmp_path / "out")
    shard = sorted((tmp_path / "out").glob("*.tfrecord"))[0]
    data = bytearray(shard.read_bytes())
    data[100] ^= 1
    shard.write_bytes(data)

    report = convert(source, tmp_path / "out", shard_bytes=8000)

    assert report.resumed == 2
    assert shard.read_bytes() == (tmp_path / "whole" / shard.name).read_bytes()


@pytest.mark.parametrize("source", ["images"], indirect=True)
def test_an_unfinished_conversion_of_other_data_is_started_anew(source, job_of, tmp_path, picture):
    cancelled_after_three(source, tmp_path / "out")
    picture(999).save(Path(source["data.path"]) / "cats" / "another.png")

    assert convert(source, tmp_path / "out", shard_bytes=8000).resumed == 0
    same(open_data(source), open_data(job_of("tfrecord", tmp_path / "out")))


@pytest.mark.parametrize(
    "odd", [[], {}, {"examples": "many"}, {"broken": [1]}, {"classes": {"0": None}}, {"split": []}]
)
@pytest.mark.parametrize("source", ["digits"], indirect=True)
def test_what_is_noted_of_a_shard_and_makes_no_sense_counts_for_nothing(source, tmp_path, odd):
    cancelled_after_three(source, tmp_path / "out")
    file = tmp_path / "out" / converting.STATE
    state = json.loads(file.read_text())
    first = next(iter(state["shards"]))
    state["shards"][first] = {**state["shards"][first], **odd} if odd else odd
    file.write_text(json.dumps(state))
    assert convert(source, tmp_path / "out", shard_bytes=8000, workers=1).resumed == len(state["shards"]) - 1


@pytest.mark.parametrize("source", ["digits"], indirect=True)
def test_a_folder_with_something_else_in_it_is_never_touched(source, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to-mother.txt").write_text("dear")

    with pytest.raises(DataError) as caught:
        convert(source, tmp_path / "letters")

    assert (caught.value.id, caught.value.facts["first"]) == ("data-destination-taken", "to-mother.txt")
    assert [item.name for item in (tmp_path / "letters").iterdir()] == ["to-mother.txt"]


@pytest.mark.parametrize("name", ["train-00000-of-00001.tfrecord.part", ".dataset.json.tmp", "..converting.json.tmp"])
@pytest.mark.parametrize("source", ["digits"], indirect=True)
def test_a_link_in_what_looks_like_an_unfinished_conversion_leads_no_write_to_a_file_of_mine(source, tmp_path, name):
    thesis, out = tmp_path / "thesis.txt", tmp_path / "out"
    thesis.write_text("all my work")
    out.mkdir()
    (out / converting.STATE).write_text("{}")
    (out / name).symlink_to(thesis)
    with pytest.raises(DataError) as caught:
        convert(source, out)
    assert (caught.value.id, caught.value.facts["first"]) == ("data-destination-taken", f"the link {name}")
    assert thesis.read_text() == "all my work"


@pytest.mark.parametrize("source", ["digits"], indirect=True)
def test_a_linked_folder_of_previews_is_not_filled(source, tmp_path):
    mine, out = tmp_path / "mine", tmp_path / "out"
    mine.mkdir()
    out.mkdir()
    (out / converting.STATE).write_text("{}")
    (out / "preview").symlink_to(mine)
    with pytest.raises(DataError, match="data-destination-taken"):
        convert(source, out)
    assert list(mine.iterdir()) == []


@pytest.mark.parametrize("source", ["digits"], indirect=True)
@pytest.mark.parametrize("when", ["looked at", "begun"])
@pytest.mark.parametrize("harm", ["links in it", "a link in its place"])
def test_somebody_else_who_may_write_there_leads_no_write_to_a_file_of_mine(source, tmp_path, monkeypatch, when, harm):
    """Links were laid between the look at the folder and the first shard: a .bashrc was one then."""
    mine, out = tmp_path / "mine", tmp_path / "out"
    mine.mkdir()
    names = ["train-00000-of-00001.tfrecord.part", ".dataset.json.tmp", "dataset.json"]
    names += [converting.STATE] if harm == "links in it" else []  # else it is one's own unfinished conversion
    for name in names:
        (mine / name).write_text("all my work")

    def change(*_):
        if harm == "links in it":
            out.mkdir(exist_ok=True)
            for name in names:
                if not (out / name).exists():
                    (out / name).symlink_to(mine / name)
        else:
            if out.exists():
                out.rename(tmp_path / "aside")
            out.symlink_to(mine)

    at = {"looked at": (converting, "_check_space"), "begun": (converting, "_write_all")}[when]
    then = getattr(*at)
    monkeypatch.setattr(*at, lambda *arguments: (change(), then(*arguments))[1])
    with suppress(DataError):
        convert(source, out)
    assert {name: (mine / name).read_text() for name in names} == dict.fromkeys(names, "all my work")
    assert sorted(os.listdir(mine)) == sorted(names)


@pytest.mark.parametrize("source", ["digits"], indirect=True)
def test_a_destination_that_cannot_be_written(source, tmp_path):
    (tmp_path / "file").write_text("x")

    with pytest.raises(DataError) as caught:
        convert(source, tmp_path / "file" / "below")
    assert caught.value.id == "data-destination-unwritable"
    with pytest.raises(DataError) as caught:
        convert(source, tmp_path / "file")
    assert caught.value.id == "data-destination-taken"


@pytest.mark.parametrize("source", ["digits"], indirect=True)
def test_a_disk_that_is_full_or_fills_up(source, job_of, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(DataError) as caught:
        convert(source, tmp_path / "out")
    assert (caught.value.id, caught.value.facts["free"]) == ("data-disk-full", 1000)
    monkeypatch.undo()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError) as caught:
        convert(source, tmp_path / "out")
    assert caught.value.id == "data-disk-full"
    monkeypatch.undo()

    convert(source, tmp_path / "out")
    same(open_data(source), open_data(job_of("tfrecord", tmp_path / "out", model="small-cnn")))


@pytest.mark.parametrize("source", ["digits"], indirect=True)
def test_converted_data_is_not_converted_again(source, job_of, tmp_path):
    convert(source, tmp_path / "out")

    with pytest.raises(DataError) as caught:
        convert(job_of("tfrecord", tmp_path / "out"), tmp_path / "again")
    assert caught.value.id == "data-already-converted"


@pytest.mark.parametrize("source", ["numbers"], indirect=True)
def test_a_damaged_missing_or_foreign_data_set_is_refused(source, job_of, tmp_path):
    out = tmp_path / "out"
    convert(source, out)
    job = job_of("tfrecord", out)
    shard, told = next(out.glob("train-*")), out / "dataset.json"
    good, tree = shard.read_bytes(), json.loads(told.read_text())

    def refused() -> str:
        with pytest.raises(DataError) as caught:
            open_data(job)
        return caught.value.id

    shard.write_bytes(good[:-40])
    assert refused() == "data-shard-damaged"
    shard.write_bytes(good[:50] + bytes([good[50] ^ 1]) + good[51:])
    assert refused() == "data-shard-damaged"
    shard.unlink()
    assert refused() == "data-missing"
    told.write_text(json.dumps(tree | {"format": 99}))
    assert refused() == "data-dataset-newer"
    tree["splits"]["train"]["shards"][0]["name"] = "../table.csv"
    told.write_text(json.dumps(tree))
    assert refused() == "data-not-a-dataset"
    told.write_text("nonsense")
    assert refused() == "data-not-a-dataset"
    told.unlink()
    assert refused() == "data-not-a-dataset"


@pytest.mark.parametrize("source", ["numbers"], indirect=True)
def test_a_job_that_asks_for_another_target_or_task_is_refused(source, job_of, tmp_path):
    convert(source, tmp_path / "out")

    with pytest.raises(DataError) as caught:
        look(job_of("tfrecord", tmp_path / "out", target="a"))
    assert caught.value.id == "data-target-missing"
    with pytest.raises(DataError) as caught:
        look(job_of("tfrecord", tmp_path / "out", task="classification"))
    assert caught.value.id == "data-task-unfit"


READ_BY_TENSORFLOW = """
import json, sys
import tensorflow as tf
kinds = {"bytes": tf.string, "int64": tf.int64, "float32": tf.float32}
for folder in sys.argv[1:]:
    tree = json.load(open(folder + "/dataset.json"))
    features = {name: tf.io.FixedLenFeature(told["shape"], kinds[told["dtype"]])
                for name, told in tree["features"].items()}
    answer = {}
    for split in ("train", "validation"):
        names = [folder + "/" + shard["name"] for shard in tree["splits"][split]["shards"]]
        rows = tf.data.TFRecordDataset(names).map(lambda record: tf.io.parse_single_example(record, features))
        count, total = 0, 0.0
        for row in rows:
            count += 1
            if "x" in row:
                total += float(tf.reduce_sum(row["x"])) + float(tf.cast(row["y"][0], tf.float32))
            else:
                pixels = tf.io.decode_image(row["image/encoded"][0])
                total += float(tf.reduce_sum(tf.cast(pixels, tf.float64))) + float(row["image/class/label"][0])
        answer[split] = [count, total]
    print("TOLD", json.dumps(answer))
"""


@pytest.mark.engine
def test_tensorflow_reads_it_with_the_features_that_dataset_json_tells(job_of, picture_folder, tmp_path, engine_python):
    rows = "".join(f"{number},{'xyz'[number % 3]},{number * 7 % 31}\n" for number in range(5, 200))
    (tmp_path / "table.csv").write_text("a,b,points\n" + rows)
    jobs = {
        "pictures": job_of("images", picture_folder({"cats": 20, "dogs": 15})),
        "rows": job_of("table", tmp_path / "table.csv", target="b"),
    }
    for name, job in jobs.items():
        convert(job, tmp_path / name)

    command = [str(engine_python), "-c", READ_BY_TENSORFLOW, *(str(tmp_path / name) for name in jobs)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)

    told = [json.loads(line[5:]) for line in answer.stdout.splitlines() if line.startswith("TOLD ")]
    for job, splits in zip(jobs.values(), told, strict=True):
        opened = open_data(job)
        for split, part in (("train", opened.train), ("validation", opened.validation)):
            arrays = part.batch(np.arange(len(part)))
            expected = arrays["x"].sum(dtype=np.float64) + arrays["y"].sum(dtype=np.float64)
            assert splits[split] == [len(part), pytest.approx(expected, rel=1e-5)]


@pytest.mark.parametrize("source", ["images"], indirect=True)
def test_pictures_stored_decoded_give_the_very_pixels_that_the_files_give(source, job_of, tmp_path):
    report = convert(source, tmp_path / "out", decoded=True)
    again = job_of("tfrecord", tmp_path / "out", model=source.model.id)

    same(open_data(source), open_data(again))
    same(open_data(source), open_data(again, memory_budget_bytes=0))
    side = look(source).image_size
    assert report.bytes > 35 * side * side * 3
    assert (
        json.loads((tmp_path / "out" / "dataset.json").read_text())["format"] == 2
    )  # older versions refuse it by name


@pytest.mark.parametrize("source", ["images"], indirect=True)
def test_pictures_stored_decoded_can_be_opened_smaller(source, job_of, tmp_path):
    convert(source, tmp_path / "out", decoded=True)
    smaller = job_of("tfrecord", tmp_path / "out", image_size=16)

    pixels = open_data(smaller, memory_budget_bytes=0).train.batch(np.arange(3))["x"]
    assert pixels.shape == (3, 16, 16, 3)
    whole = open_data(source).train.batch(np.arange(3))["x"]
    assert np.abs(pixels.mean(axis=(1, 2)) - whole.mean(axis=(1, 2))).max() < 3


@pytest.mark.parametrize("source", ["images"], indirect=True)
def test_stored_pixels_that_are_not_as_many_as_told_are_a_broken_picture(source, job_of, tmp_path, monkeypatch):
    monkeypatch.setattr(shardwriting, "decode", lambda data, side, channels: np.zeros((side, side - 1, 3), np.uint8))
    convert(source, tmp_path / "out", decoded=True)

    with pytest.raises(DataError) as told:
        open_data(job_of("tfrecord", tmp_path / "out", model=source.model.id))
    assert told.value.id == "data-too-broken"


@pytest.mark.parametrize("source", ["text"], indirect=True)
def test_what_holds_no_pictures_is_not_stored_decoded(source, tmp_path):
    with pytest.raises(DataError) as told:
        convert(source, tmp_path / "out", decoded=True)
    assert told.value.id == "data-not-decodable"


@pytest.mark.parametrize("source", ["images"], indirect=True)
def test_a_set_too_large_for_memory_is_opened_without_reading_its_pictures(source, job_of, tmp_path, monkeypatch):
    convert(source, tmp_path / "out")
    wanted = open_data(source)
    monkeypatch.setattr(shards, "read_record", lambda *_: pytest.fail("a whole record was read"))

    opened = open_data(job_of("tfrecord", tmp_path / "out", model=source.model.id), memory_budget_bytes=0)
    everything = np.arange(len(wanted.train))
    np.testing.assert_array_equal(opened.train.targets(everything), wanted.train.batch(everything)["y"])
