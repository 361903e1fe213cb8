from __future__ import annotations

from pathlib import Path

import pytest

from tpu_studio.data.convert import convert
from tpu_studio.data.folders import list_images
from tpu_studio.data.guess import guess, guess_job
from tpu_studio.data.look import look
from tpu_studio.data.watching import Watch
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import DataError, RunError
from tpu_studio.workflow.bringing import bring

ROWS = "".join(f"{number * 3 % 17},{number * 7 % 13},{'ab'[number % 2]}\n" for number in range(60))


def test_a_folder_of_pretrained_weights_is_told_where_it_belongs(tmp_path: Path) -> None:
    for name in ("config.json", "model.weights.h5"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(DataError) as guessed:
        guess(tmp_path)
    with pytest.raises(DataError) as walked:
        list_images(tmp_path, Watch())
    with pytest.raises(RunError) as brought:
        bring(tmp_path, tmp_path / "runs", "install", 0.0)
    for error in (guessed.value, walked.value, brought.value):
        assert "Pretrained weights (model.preset)" in say(error).action


def refused(path) -> str:
    with pytest.raises(DataError) as caught:
        guess(path)
    return caught.value.id


def test_a_folder_of_class_folders_is_pictures(picture_folder):
    root = picture_folder({"cats": 5, "dogs": 5})

    assert guess(root) == {"data.kind": "images", "data.path": str(root)}
    assert look(guess_job(root)).examples == 10


def test_a_csv_file_is_a_table_with_its_target_and_task(tmp_path):
    path = tmp_path / "flowers.csv"
    path.write_text("x1,x2,label\n" + ROWS)

    assert guess(path) == {
        "data.kind": "table",
        "data.path": str(path),
        "data.target": "label",
        "data.task": "classification",
    }
    assert (guess_job(path).name, guess_job(path).model.id) == ("flowers", "mlp")


def test_a_table_is_known_by_its_content_when_its_name_does_not_tell(tmp_path):
    (tmp_path / "flowers.data").write_text("x1,x2,label\n" + ROWS)
    (tmp_path / "notes.log").write_text("one line\nand another, longer one\nno table at all\n" * 20)

    assert guess(tmp_path / "flowers.data")["data.kind"] == "table"
    assert guess(tmp_path / "notes.log")["data.kind"] == "text"


def test_a_text_file_and_a_folder_of_them_are_text(tmp_path):
    (tmp_path / "tale.txt").write_text("once, twice\n" * 50)

    assert guess(tmp_path / "tale.txt")["data.kind"] == "text"
    assert guess(tmp_path) == {"data.kind": "text", "data.path": str(tmp_path)}


def test_a_folder_with_one_table_in_it_is_that_table(tmp_path):
    (tmp_path / "data.csv").write_text("x1,x2,label\n" + ROWS)
    (tmp_path / "README.md").write_text("About")

    assert guess(tmp_path)["data.path"] == str(tmp_path / "data.csv")


def test_a_converted_data_set_is_known_by_its_folder_and_by_its_file(job_of, tmp_path):
    convert(job_of("digits"), tmp_path / "out")
    expected = {"data.kind": "tfrecord", "data.path": str(tmp_path / "out")}

    assert guess(tmp_path / "out") == guess(tmp_path / "out" / "dataset.json") == expected


def test_what_cannot_be_guessed_is_told(picture, tmp_path):
    assert refused(tmp_path / "nowhere") == "data-missing"
    assert refused(tmp_path) == "data-empty"
    picture(1).save(tmp_path / "one.png")
    assert refused(tmp_path / "one.png") == "data-single-picture"
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "tool.exe").write_bytes(b"MZ" + bytes(100))
    assert refused(tmp_path / "programs") == "data-unknown-kind"
    assert refused(tmp_path / "programs" / "tool.exe") == "data-not-text"
