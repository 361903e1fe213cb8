"""What the labels of pictures become: the split, what the trainer gets, what is converted and brought."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes.labelled import NAMES, mosaics, write_labels
from tests.unit.data.test_labels import LABELLED, JobOf, photos, put_picture, table
from tpu_studio.data.convert import convert
from tpu_studio.data.fingerprints import check_unchanged, stamp_of
from tpu_studio.data.listed import listing_of
from tpu_studio.data.look import look
from tpu_studio.data.looked import Look
from tpu_studio.data.opened import ArraySource
from tpu_studio.data.predicting import decode_outputs
from tpu_studio.data.readers import reader_of
from tpu_studio.data.sources import open_data
from tpu_studio.data.watching import Watch
from tpu_studio.wire.errors import DataError, RunError

__all__ = ["photos"]


@pytest.mark.parametrize("decoded", [False, True])
def test_converted_they_keep_their_labels_and_their_split(tmp_path: Path, job_of: JobOf, decoded: bool) -> None:
    mosaics(tmp_path / "photos", 40)
    job = job_of("images", tmp_path / "photos")
    convert(job, tmp_path / "new", decoded=decoded)
    converted = job_of("tfrecord", tmp_path / "new")
    was, now = look(job), look(converted)
    assert (now.task, now.classes, now.outputs) == (LABELLED, was.classes, 4)
    assert json.loads((tmp_path / "new" / "dataset.json").read_text())["format"] == 3  # which older versions refuse
    for budget in (2**30, 0):
        here, there = (open_data(one, memory_budget_bytes=budget) for one in (job, converted))
        assert there.description == here.description
        for side in ("train", "validation"):
            one, other = getattr(here, side), getattr(there, side)
            numbers = np.arange(len(one))
            assert len(other) == len(one)
            assert all((one.batch(numbers)[name] == other.batch(numbers)[name]).all() for name in ("x", "y"))
    with pytest.raises(DataError, match="data-task-unfit"):
        look(job_of("tfrecord", tmp_path / "new", task="classification"))


def test_a_thousand_labels_of_a_picture_survive_being_converted(tmp_path: Path, job_of: JobOf) -> None:
    """They are more than the begin of a record that is read for its labels."""
    for number in range(8):
        put_picture(tmp_path / "photos" / f"{number}.png", number)
    names = [f"label {number}" for number in range(1000)]
    rows = [[(number + label) % 7 != 0 for label in range(1000)] for number in range(8)]
    lines = [",".join([f"{number}.png", *("01"[mark] for mark in row)]) for number, row in enumerate(rows)]
    table(tmp_path / "photos", "\n".join([",".join(["file", *names]), *lines]))
    job = job_of("images", tmp_path / "photos")
    convert(job, tmp_path / "new")
    here, there = (open_data(one).train for one in (job, job_of("tfrecord", tmp_path / "new")))
    numbers = np.arange(len(here))
    assert (here.batch(numbers)["y"] == there.batch(numbers)["y"]).all()


def test_each_label_is_on_both_sides_of_the_split_however_rare(tmp_path: Path, job_of: JobOf) -> None:
    for number in range(100):
        put_picture(tmp_path / f"{number:03d}.png", number)
    rows = [[int(n % 2 == 0), int(n < 10), int(n % 20 == 3)] for n in range(100)]
    lines = [f"{n:03d}.png,{a},{b},{c}" for n, (a, b, c) in enumerate(rows)]
    table(tmp_path, "\n".join(["file,usual,rare,rarest", *lines]))
    listing = listing_of(job_of("images", tmp_path), Watch())
    kept = listing.validation(0, 0.2)
    assert kept.sum() == 20
    assert (listing.counts(kept) > 0).all() and (listing.counts(~kept) > 0).all()
    assert (kept == listing_of(job_of("images", tmp_path), Watch()).validation(0, 0.2)).all()


def test_a_label_that_is_on_one_side_alone_is_told(photos: Path, job_of: JobOf) -> None:
    table(photos, "file,beach,dog\n" + "".join(f"{n:02d}.png,{n % 2},{int(n == 4)}\n" for n in range(20)))
    ids = {one.id: one.facts for one in look(job_of("images", photos)).findings}
    assert ids["labels-not-tested"]["labels"] == ["dog"]


def test_the_same_picture_with_other_labels_is_told(photos: Path, job_of: JobOf) -> None:
    (photos / "01.png").write_bytes((photos / "00.png").read_bytes())
    table(photos, "file,beach,dog\n" + "".join(f"{n:02d}.png,{n % 2},{int(n < 9)}\n" for n in range(20)))
    assert "duplicates-in-two-classes" in {one.id for one in look(job_of("images", photos)).findings}


@pytest.mark.parametrize("budget", [2**30, 0], ids=["in memory", "decoded while training"])
@pytest.mark.parametrize("listed", [False, True])
def test_what_the_trainer_gets_is_what_the_table_says(tmp_path: Path, job_of: JobOf, budget: int, listed: bool) -> None:
    made = dict(mosaics(tmp_path / "photos", 60, listed=listed))
    job = job_of("images", tmp_path / "photos")
    seen = look(job)
    assert Look.from_json(seen.to_json()) == seen
    opened = open_data(job, seen, memory_budget_bytes=budget)
    assert isinstance(opened.train, ArraySource) == bool(budget)
    assert (opened.task, opened.description["outputs"], seen.outputs) == (LABELLED, 4, 4)
    listing = listing_of(job, Watch())
    kept = listing.validation(0, 0.2)
    for source, side in ((opened.train, ~kept), (opened.validation, kept)):
        names = [name for name, mine in zip(listing.names, side, strict=True) if mine]
        batch = source.batch(np.arange(len(source)))
        assert (batch["y"].dtype, source.spec["y"]) == (np.uint8, ((4,), "uint8"))
        for name, row in zip(names, batch["y"], strict=True):
            said = {opened.description["classes"][at] for at in np.flatnonzero(row)}
            assert said == set(made[name])
    assert set(opened.description["classes"]) == set(NAMES)


def test_a_change_in_the_table_alone_is_other_data(tmp_path: Path, job_of: JobOf) -> None:
    root = tmp_path / "photos"
    made = mosaics(root, 40)
    job = job_of("images", root)
    seen, stamp = look(job), stamp_of(job)
    check_unchanged(job, seen)
    name, labels = made[7]
    made[7] = (name, [one for one in NAMES if one not in labels])
    write_labels(root / "labels.csv", made)  # of the same size, to the byte
    with pytest.raises(DataError, match="data-changed"):
        check_unchanged(job, seen)
    assert stamp_of(job) != stamp


def test_a_rented_machine_is_brought_the_table_and_reads_the_same(tmp_path: Path, job_of: JobOf) -> None:
    root, there = tmp_path / "photos", tmp_path / "there"
    mosaics(root, 40)
    put_picture(root / "unlisted.png", 1)
    job = job_of("images", root)
    seen = look(job)
    for path, name in reader_of(job).files(job):
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).write_bytes(path.read_bytes())
    assert not (there / "unlisted.png").exists()
    moved = job_of("images", there, task=seen.task)
    check_unchanged(moved, seen)
    here, away = (open_data(one, seen).train.batch(np.arange(8)) for one in (job, moved))
    assert all((here[name] == away[name]).all() for name in ("x", "y"))


def test_answers_have_a_probability_for_each_label() -> None:
    description: dict[str, Any] = {"kind": "images", "task": LABELLED, "classes": ["a", "b", "c"]}
    (answer,) = decode_outputs(description, np.array([[0.0, 1000.0, -2.0]]), logits=True)
    told = {str(name): share for name, share in answer["labels"]}  # type: ignore[attr-defined]
    assert list(told) == ["b", "a", "c"]
    assert told == pytest.approx({"a": 0.5, "b": 1.0, "c": 1 / (1 + np.exp(2.0))})
    with pytest.raises(RunError, match="result-unreadable"):  # a card that somebody wrote
        decode_outputs(description, np.zeros((1, 4)), logits=True)
