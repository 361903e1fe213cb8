from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from tpu_studio.data.look import Cancelled, Look, look
from tpu_studio.data.sources import open_data
from tpu_studio.wire.errors import DataError


def findings(seen: Look) -> dict[str, str]:
    return {finding.id: finding.level for finding in seen.findings}


def test_a_folder_of_pictures_is_counted_by_class_and_split(job_of, picture_folder):
    seen = look(job_of("images", picture_folder({"cats": 20, "dogs": 10})))

    assert (seen.task, seen.outputs) == ("classification", 2)
    assert seen.classes == (("cats", 20), ("dogs", 10))
    assert (seen.examples, seen.train, seen.validation) == (30, 24, 6)
    assert seen.input_shape == (20, 20, 3)
    assert seen.image_sizes is not None
    assert seen.image_sizes.modes == {"RGB": 30}
    assert len(seen.preview["pictures"]) == 24
    assert {item["class"] for item in seen.preview["pictures"]} == {"cats", "dogs"}
    assert not seen.sampled


def test_a_look_survives_the_way_through_json(job_of, picture_folder):
    seen = look(job_of("images", picture_folder({"cats": 6, "dogs": 6})))

    assert Look.from_json(json.loads(json.dumps(seen.to_json()))) == seen


def test_class_folders_named_by_numbers_are_in_the_order_of_the_numbers(job_of, picture_folder):
    seen = look(job_of("images", picture_folder({"10": 4, "2": 4, "1": 4})))

    assert [name for name, _ in seen.classes] == ["1", "2", "10"]


def test_train_and_validation_folders_fix_the_split(job_of, picture_folder, tmp_path):
    picture_folder({"cats": 8, "dogs": 8}, name="both/train")
    picture_folder({"cats": 2, "dogs": 3}, name="both/val")

    seen = look(job_of("images", tmp_path / "both"))
    opened = open_data(job_of("images", tmp_path / "both"))

    assert (seen.train, seen.validation, seen.classes) == (16, 5, (("cats", 10), ("dogs", 11)))
    assert (len(opened.train), len(opened.validation)) == (16, 5)
    assert findings(seen)["fixed-split"] == "info"


@pytest.mark.parametrize("beside", ["annotations/a.xml", "notes/readme.txt", "more/e.jpg"])
def test_what_lies_beside_train_and_validation_folders_makes_no_classes_of_them(
    job_of, picture_folder, tmp_path, beside
):
    picture_folder({"cats": 6, "dogs": 6}, name="both/train")
    root = picture_folder({"cats": 2, "dogs": 3}, name="both/val").parent
    (root / beside).parent.mkdir()
    if beside.endswith(".jpg"):
        shutil.copy(next((root / "train" / "cats").iterdir()), root / beside)
    else:
        (root / beside).write_text("x")
    seen = look(job_of("images", root))
    assert (seen.train, seen.validation, [name for name, _ in seen.classes]) == (12, 5, ["cats", "dogs"])
    assert ("unused-folder" in findings(seen)) == beside.endswith(".jpg")


def test_a_train_folder_alone_is_split_as_usual(job_of, picture_folder, tmp_path):
    picture_folder({"cats": 10, "dogs": 10}, name="one/train")

    assert look(job_of("images", tmp_path / "one")).validation == 4


def test_imbalance_small_classes_empty_folders_and_loose_pictures_are_told(job_of, picture_folder):
    root = picture_folder({"cats": 40, "dogs": 4})
    (root / "birds").mkdir()
    shutil.copy(root / "cats" / "0.png", root / "loose.png")

    seen = look(job_of("images", root))

    assert findings(seen)["class-imbalance"] == "warning"
    assert {"near-empty-class", "empty-class", "loose-pictures", "tiny-data"} <= findings(seen).keys()


def test_a_copy_of_a_picture_is_found_also_across_the_split_and_in_two_classes(job_of, picture_folder):
    root = picture_folder({"cats": 10, "dogs": 10})
    for number in range(10):
        shutil.copy(root / "cats" / f"{number}.png", root / "dogs" / f"copy{number}.png")

    seen = look(job_of("images", root))

    assert seen.duplicates == 10
    assert ("cats/0.png", "dogs/copy0.png") in seen.duplicate_examples
    assert {"duplicates", "duplicates-across-split", "duplicates-in-two-classes"} <= findings(seen).keys()


def test_sizes_of_pictures_decide_the_proposed_size(job_of, picture_folder):
    small = look(job_of("images", picture_folder({"a": 4, "b": 4}, size=(12, 14), name="small")))
    medium = look(job_of("images", picture_folder({"a": 4, "b": 4}, size=(100, 100), name="medium")))
    large = look(job_of("images", picture_folder({"a": 4, "b": 4}, size=(500, 400), name="large")))

    assert (small.image_size, medium.image_size, large.image_size) == (12, 64, 128)


def test_the_job_may_choose_the_size(job_of, picture_folder):
    seen = look(job_of("images", picture_folder({"a": 4, "b": 4}), image_size=32))

    assert seen.input_shape == (32, 32, 3)


def test_gray_pictures_keep_one_channel_and_one_coloured_one_makes_three(job_of, picture_folder, picture):
    root = picture_folder({"a": 4, "b": 4}, mode="L")
    assert look(job_of("images", root)).input_shape == (20, 20, 1)

    picture(99).save(root / "a" / "coloured.png")
    assert look(job_of("images", root)).input_shape == (20, 20, 3)


def test_the_fingerprint_changes_with_the_data_and_with_nothing_else(job_of, picture_folder, picture, tmp_path):
    root = picture_folder({"a": 4, "b": 4})
    before = look(job_of("images", root)).fingerprint
    moved = tmp_path / "elsewhere"
    shutil.copytree(root, moved)
    assert look(job_of("images", moved)).fingerprint == before

    picture(99).save(root / "a" / "new.png")
    assert look(job_of("images", root)).fingerprint != before


def test_opening_twice_gives_the_same_arrays_and_agrees_with_the_look(job_of, picture_folder):
    job = job_of("images", picture_folder({"cats": 20, "dogs": 10}))

    one, other, seen = open_data(job), open_data(job), look(job)

    assert (len(one.train), len(one.validation)) == (seen.train, seen.validation)
    assert one.train.spec == {"x": ((20, 20, 3), "uint8"), "y": ((), "int32")}
    everything = np.arange(len(one.train))
    for name, array in one.train.batch(everything).items():
        np.testing.assert_array_equal(array, other.train.batch(everything)[name])


def test_another_seed_gives_another_split(job_of, picture_folder):
    job = job_of("images", picture_folder({"cats": 20, "dogs": 20}))
    reseeded = job.with_values({"training.seed": 1})

    one, other = open_data(job).validation, open_data(reseeded).validation

    assert not np.array_equal(one.batch(np.arange(8))["x"], other.batch(np.arange(8))["x"])


def test_pictures_beyond_the_memory_budget_are_decoded_batch_by_batch_to_the_same_arrays(job_of, picture_folder):
    job = job_of("images", picture_folder({"cats": 20, "dogs": 10}))
    in_memory, from_disk = open_data(job), open_data(job, memory_budget_bytes=1000)

    assert in_memory.train.in_memory
    assert not from_disk.train.in_memory
    numbers = np.array([3, 1, 4, 1, 5])
    for name, array in in_memory.train.batch(numbers).items():
        np.testing.assert_array_equal(array, from_disk.train.batch(numbers)[name])


def test_a_look_through_folders_without_anything_in_them_can_be_cancelled(job_of, tmp_path):
    for number in range(2_100):
        (tmp_path / "cats" / f"{number}").mkdir(parents=True)
    asked = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 1

    with pytest.raises(Cancelled):
        look(job_of("images", tmp_path), cancelled=cancelled)


def test_a_look_can_be_cancelled_and_tells_how_far_it_is(job_of, picture_folder):
    job = job_of("images", picture_folder({"cats": 20, "dogs": 10}))
    told: list[tuple[int, int]] = []

    look(job, progress=lambda done, total: told.append((done, total)))
    assert told
    assert all(done <= total for done, total in told)
    with pytest.raises(Cancelled):
        look(job, cancelled=lambda: True)
    with pytest.raises(Cancelled):
        open_data(job, cancelled=lambda: True)


def test_what_was_looked_at_is_what_is_opened_although_the_pictures_no_longer_say_so(job_of, picture_folder):
    job = job_of("images", picture_folder({"a": 4, "b": 4}))
    seen = look(job)
    planned = Look.from_json({**seen.to_json(), "image_size": 16})

    assert open_data(job, planned).train.spec["x"] == ((16, 16, 3), "uint8")


def test_a_task_that_pictures_cannot_have_is_refused(job_of, picture_folder):
    with pytest.raises(DataError) as caught:
        look(job_of("images", picture_folder({"a": 4, "b": 4}), task="regression"))

    assert caught.value.id == "data-task-unfit"
