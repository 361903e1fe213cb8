"""A result of ours that a model begins from: how it is spelled, what is read of its card, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bases import PICTURES, card, result
from tpu_studio.wire import bases, models, presets
from tpu_studio.wire.errors import JobError, ModelError
from tpu_studio.wire.pretrained import reading

TEXT: dict[str, Any] = {"kind": "text", "task": "language-model", "input_shape": [32], "vocabulary": 256}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    return tmp_path


def test_a_run_is_named_by_its_id_and_a_file_by_its_path(home: Path) -> None:
    assert presets.folder_of("run:hands-ab12", "/jobs") == home / "runs" / "hands-ab12" / "result"
    assert presets.folder_of("./kept/model.keras", "/jobs") == Path("/jobs/kept")
    assert models.preset("small-cnn", "run:hands-ab12") == "run:hands-ab12"
    assert not bases.is_one("./resnet_50") and not bases.is_one("model.keras")  # a name is never looked for on the disk


@pytest.mark.parametrize("value", ["run:", "run:../../etc", "run:a/b", "run:Ä", "run:a b"])
def test_what_cannot_be_an_id_is_refused_and_leads_nowhere(home: Path, value: str) -> None:
    with pytest.raises(JobError) as refused:
        models.preset("small-cnn", value)
    assert refused.value.id == "job-no-run-id"
    assert presets.folder_of(value, "").is_relative_to(home / "runs")


def test_the_card_says_what_it_is_and_the_hash_is_of_all_that_is_read(home: Path) -> None:
    seen = reading.read(result(home / "kept"))
    assert seen.base is not None and (seen.base.model, seen.base.classes[:2]) == ("small-cnn", ("0", "1"))
    assert (seen.side, seen.files, seen.network.reads) == (64, ("model.json", "model.keras"), "picture")
    other = reading.read(result(home / "other", files={"model.keras": b"others"}))
    assert other.sha256 != seen.sha256
    assert reading.read(result(home / "again")).sha256 == seen.sha256


def test_blocks_are_those_that_its_pictures_had_room_for(home: Path) -> None:
    small = PICTURES | {"input_shape": [8, 8, 1], "image_size": 8}
    base = reading.read(result(home / "kept", card(data=small))).base
    assert base is not None and base.options["blocks"] == 3 and base.least == 8
    assert base.takes(8) and base.takes(64) and not base.takes(4)


def test_one_that_looks_at_each_pixel_sees_one_size_alone(home: Path) -> None:
    base = reading.read(result(home / "kept", card("mlp"))).base
    assert base is not None and base.takes(64) and not base.takes(32)


def test_options_are_the_runs_and_another_one_is_refused_by_name(home: Path) -> None:
    base = reading.read(result(home / "kept", card(options={"width": 16}))).base
    assert base is not None
    assert models.options_from(base, {})["width"] == 16
    assert models.options_from(base, {"dropout": 0.5})["dropout"] == 0.5  # it changes no weight
    with pytest.raises(JobError) as refused:
        models.options_from(base, {"width": 32})
    assert (refused.value.id, refused.value.facts["key"]) == ("job-option-of-base", "model.options.width")


@pytest.mark.parametrize(
    ("tree", "id"),
    [
        (card("no-such-model"), "base-damaged"),
        (card(own={"sha256": "0" * 64}), "base-of-your-code"),
        (card("pretrained-lm"), "base-not-begun-from"),
        (card("kerashub-backbone"), "base-not-begun-from"),
        (card(task="none"), "base-damaged"),
        (card(options={}) | {"options": {"width": 10**9}}, "base-damaged"),
        (card(input={"shape": [None, 10**9, 10**9, 3]}), "base-damaged"),
        (card(input={}), "base-damaged"),
        (card("gpt-nano", {**TEXT, "vocabulary": 10**9}), "base-damaged"),
        (card("gpt-nano", {**TEXT, "input_shape": [10**6]}), "base-damaged"),
        (card(data=PICTURES) | {"data": []}, "base-damaged"),
    ],
)
def test_a_card_that_makes_no_sense_is_refused(home: Path, tree: dict[str, Any], id: str) -> None:
    with pytest.raises(ModelError) as refused:
        reading.read(result(home / "kept", tree))
    assert refused.value.id == id


@pytest.mark.parametrize("shape", [[9] * 100_000, [1] * 100_000, [10**4000] * 3, [2**26 + 1]])
def test_an_example_of_more_axes_or_numbers_than_any_is_refused_before_they_are_multiplied(
    home: Path, monkeypatch: pytest.MonkeyPatch, shape: list[int]
) -> None:
    """A card of 1.2 MB held every thread of the window for 13 seconds."""
    monkeypatch.setattr(math, "prod", lambda given: pytest.fail(f"{len(given)} axes were multiplied"))
    with pytest.raises(ModelError) as refused:
        reading.read(result(home / "kept", card(input={"shape": [None, *shape]})))
    assert refused.value.id == "base-damaged"


def test_a_file_that_is_not_the_one_that_the_run_wrote_is_refused(home: Path) -> None:
    kept = result(home / "kept")
    (kept / "model.keras").write_bytes(b"something else")
    with pytest.raises(ModelError) as refused:
        reading.read(kept)
    assert (refused.value.id, refused.value.facts["file"]) == ("base-damaged", "model.keras")


def test_a_link_out_of_the_folder_is_not_followed(home: Path) -> None:
    kept = result(home / "kept")
    (home / "outside").write_bytes(b"weights")
    (kept / "model.keras").unlink()
    (kept / "model.keras").symlink_to(home / "outside")
    with pytest.raises(ModelError) as refused:
        reading.read(kept)
    assert refused.value.id == "preset-links-out"


def test_a_tokenizer_belongs_to_what_is_hashed(home: Path) -> None:
    text = {"kind": "text", "task": "text-classification", "input_shape": [64], "vocabulary": 600}
    text |= {"classes": ["a", "b"], "tokenizer": "bpe", "tokenizer_sha256": "1" * 64}
    kept = result(home / "kept", card("text-classifier", text), {"tokenizer.json": b"{}"})
    seen = reading.read(kept)
    assert seen.base is not None and seen.base.tokenizer == "preset"
    assert "tokenizer.json" in seen.files and (seen.vocabulary, seen.longest) == (600, 64)
    (kept / "tokenizer.json").unlink()
    with pytest.raises(ModelError) as refused:
        reading.read(kept)
    assert refused.value.facts["file"] == "tokenizer.json"
    assert json.loads((kept / "model.json").read_text())["run"] == seen.base.run
