"""`dataset.json` as an editor may leave it: every field that is used is looked at where it is read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fuzz.data import Shards
from tpu_studio.data.described import NAME, read_dataset
from tpu_studio.data.look import look
from tpu_studio.data.looked import Look
from tpu_studio.data.sources import open_data
from tpu_studio.domain.sentences import say_finding
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job, parse


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    """Files of converted pictures, kinds in a table, numbers in a table, and text."""
    return Shards(tmp_path_factory.mktemp("whole")).whole


def put(folder: Path, files: dict[str, bytes], tree: Any) -> Job:
    for name, data in {**files, NAME: json.dumps(tree).encode() if tree is not None else files[NAME]}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return parse({"format": 1, "model": {"name": "mlp"}, "data": {"kind": "tfrecord", "path": str(folder)}})


Edit = Callable[[dict[str, Any]], None]
PICTURES, KINDS, NUMBERS, TEXT = range(4)
EDITS: dict[str, tuple[int, Edit]] = {
    "no size": (PICTURES, lambda tree: tree["description"].pop("image_size")),
    "a size beyond any job's": (PICTURES, lambda tree: tree["description"].update(image_size=10**9)),
    "a list for a kind": (PICTURES, lambda tree: tree.update(kind=[1])),
    "a shape of one side": (PICTURES, lambda tree: tree["look"].update(input_shape=[8])),
    "a sum that is a list": (PICTURES, lambda tree: tree["splits"]["train"]["shards"][0].update(sha256=[1])),
    "fewer classes than the shards hold": (
        PICTURES,
        lambda tree: tree["description"].update(outputs=1, classes=["a"]),
    ),
    "columns of another width": (KINDS, lambda tree: tree["description"]["columns"][0].update(width=7)),
    "a category that is a number": (
        KINDS,
        lambda tree: tree["description"]["columns"][-1].update(kind="category", categories=[1]),
    ),
    "a scale of nothing": (NUMBERS, lambda tree: tree["description"]["target_transform"].update(std=0)),
    "no target": (NUMBERS, lambda tree: tree["description"].pop("target_transform")),
    "no length": (TEXT, lambda tree: tree["description"].pop("sequence_length")),
    "a length of text that is a text": (TEXT, lambda tree: tree["splits"]["train"].update(bytes_of_text="x")),
    "no text to test on": (TEXT, lambda tree: tree["splits"]["validation"].update(bytes_of_text=0)),
    "no text to train on": (TEXT, lambda tree: tree["splits"]["train"].update(bytes_of_text=0)),
    "no shards to train on": (TEXT, lambda tree: tree["splits"]["train"].update(shards=[])),
    "another length of text": (TEXT, lambda tree: tree["splits"]["train"].update(bytes_of_text=9)),
    "a look without a task": (TEXT, lambda tree: tree["look"].pop("task")),
    "labels without end": (
        PICTURES,
        lambda tree: (
            tree.update(task="multi-label", format=3),
            tree["look"].update(task="multi-label"),
            tree["description"].update(task="multi-label", outputs=1001, classes=[f"l{n}" for n in range(1001)]),
        ),
    ),
    "half a letter in a preview's name": (
        PICTURES,
        lambda tree: tree["look"]["preview"]["pictures"][0].update(path="preview/\ud800.png"),
    ),
    "one file named again": (
        TEXT,
        lambda tree: tree["splits"]["train"]["shards"].append(tree["splits"]["train"]["shards"][0]),
    ),
    "previews without end": (PICTURES, lambda tree: tree["look"]["preview"].update(pictures=[{"path": "a"}] * 1001)),
    "findings that are no findings": (TEXT, lambda tree: tree["look"].update(findings=[{"id": 1}])),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_that_makes_no_data_set_is_told_as_that(
    whole: list[dict[str, bytes]], tmp_path: Path, name: str
) -> None:
    which, edit = EDITS[name]
    tree = json.loads(whole[which][NAME])
    edit(tree)
    job = put(tmp_path, whole[which], tree)
    with pytest.raises(DataError) as caught:
        look(job)
        open_data(job)
    assert caught.value.id in ("data-not-a-dataset", "data-shard-damaged")


def test_a_file_that_is_another_one_by_a_link_is_not_read_again(whole: list[dict[str, bytes]], tmp_path: Path) -> None:
    """A megabyte that was named three thousand times took six gigabytes."""
    tree = json.loads(whole[TEXT][NAME])
    shard = tree["splits"]["train"]["shards"][0]
    for number, link in enumerate((os.link, os.symlink)):
        name = f"again-{number}{Path(shard['name']).suffix}"
        changed = json.loads(json.dumps(tree))
        changed["splits"]["train"]["shards"].append({**shard, "name": name})
        job = put(tmp_path / str(number), whole[TEXT], changed)
        link(tmp_path / str(number) / shard["name"], tmp_path / str(number) / name)
        for open_it in (look, open_data):
            with pytest.raises(DataError) as caught:
                open_it(job)
            assert (caught.value.id, caught.value.facts["why"]) == ("data-shard-damaged", "twice")


@pytest.mark.parametrize("text", ["[" * 200_000, '{"format":1,"splits":' * 50_000, "{}", "[]", "null", '"x"', "1e999"])
def test_what_is_no_object_or_nested_for_ever_is_no_data_set(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    with pytest.raises(DataError) as caught:
        read_dataset(tmp_path)
    assert caught.value.id == "data-not-a-dataset"


def test_a_file_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / NAME, "wb") as file:
        file.truncate(6 << 30)
    with pytest.raises(DataError) as caught:
        read_dataset(tmp_path)
    assert caught.value.id == "data-not-a-dataset"


def test_findings_with_other_facts_are_still_told() -> None:
    said = say_finding("class-imbalance", {"most": [], "most_count": "nan", "least": {}, "least_count": float("inf")})
    assert said.title
    assert say_finding("duplicates", {"count": float("inf"), "first": 1}).title


def test_a_look_that_was_written_is_read_as_it_was(whole: list[dict[str, bytes]], tmp_path: Path) -> None:
    for number, files in enumerate(whole):
        found = look(put(tmp_path / str(number), files, None))
        assert Look.from_json(json.loads(json.dumps(found.to_json()))) == found
