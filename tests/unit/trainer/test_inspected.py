"""What a `.keras` file asks for is looked at before Keras makes it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.weights import of_size, sample
from tpu_studio.trainer.result.files import read_card
from tpu_studio.trainer.result.inspected import check
from tpu_studio.wire.errors import RunError

FUNCTIONAL = {
    "module": "keras.src.models.functional",
    "class_name": "Functional",
    "config": {"layers": []},
    "registered_name": "Functional",
}


def model(path: Path, config: Any, weights: int = 2000) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", config if isinstance(config, str) else json.dumps(config))
        archive.writestr("model.weights.h5", of_size(weights))
    return path


def test_a_model_as_keras_saves_it_passes(tmp_path: Path) -> None:
    assert check(model(tmp_path / "m.keras", FUNCTIONAL)) == 2000


def test_weights_that_the_library_would_go_through_without_end_are_not_left_to_it(tmp_path: Path) -> None:
    """As they lie in the file, and packed by the archive."""
    for packing in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "m.keras", "w", packing) as archive:
            archive.writestr("config.json", json.dumps(FUNCTIONAL))
            archive.writestr("model.weights.h5", sample("circular"))
        with pytest.raises(ValueError, match="two ways lead to one place"):
            check(tmp_path / "m.keras")


def test_a_file_of_another_format_is_not_left_to_keras(tmp_path: Path) -> None:
    (tmp_path / "m.keras").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(400))
    with pytest.raises(zipfile.BadZipFile):
        check(tmp_path / "m.keras")


def test_of_a_model_of_ones_own_only_the_weights_are_read(tmp_path: Path) -> None:
    sequential = {"class_name": "Sequential", "config": {"layers": []}}
    assert check(model(tmp_path / "m.keras", sequential), own=True) == 2000
    with pytest.raises(ValueError, match="layers that are known"):
        check(model(tmp_path / "m.keras", sequential))


@pytest.mark.parametrize(
    "config",
    [
        "[" * 200_000,
        json.loads("[" * 200 + "]" * 200),
        {"layers": [{"class_name": "Dense", "config": {"units": 10**12}}]},
        {"layers": [{"class_name": "Embedding", "config": {"input_dim": 10**9, "output_dim": 4}}]},
        "no JSON",
    ],
    ids=["brackets", "nested", "units", "vocabulary", "text"],
)
def test_what_no_file_of_that_size_can_hold_is_refused(tmp_path: Path, config: Any) -> None:
    with pytest.raises((ValueError, RecursionError)):
        check(model(tmp_path / "m.keras", config))


def test_a_config_that_unpacks_to_gigabytes_is_not_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "m.keras", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", b" " * 40_000_000)
        archive.writestr("model.weights.h5", b"")
    with pytest.raises(ValueError, match="larger than any"):
        check(tmp_path / "m.keras")


@pytest.mark.parametrize("name", ["assets/big", "config.json ", "model.weights.h5/x"])
def test_what_keras_would_unpack_besides_is_refused(tmp_path: Path, name: str) -> None:
    file = model(tmp_path / "m.keras", FUNCTIONAL)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(name, b"x")
    with pytest.raises(ValueError, match="other files"):
        check(file)


def test_a_model_of_ones_own_may_have_words_that_a_layer_looks_up(tmp_path: Path) -> None:
    file = model(tmp_path / "m.keras", FUNCTIONAL)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("assets/layers/integer_lookup/vocabulary.txt", b"1\n2")
    assert check(file, own=True) == 2000
    with pytest.raises(ValueError, match="other files"):
        check(file)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    file = model(tmp_path / "m.keras", FUNCTIONAL)
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("config.json", b"{}")
    with pytest.raises(ValueError, match="other files"):
        check(file)


@pytest.mark.parametrize("name", ["metadata.json", "model.weights.h5"])
def test_a_file_that_unpacks_to_far_more_than_it_holds_is_not_unpacked(tmp_path: Path, name: str) -> None:
    files = {"config.json": b"{}", "model.weights.h5": b"", name: bytes(80_000_000)}
    with zipfile.ZipFile(tmp_path / "m.keras", "w", zipfile.ZIP_DEFLATED) as archive:
        for one, data in files.items():
            archive.writestr(one, data)
    with pytest.raises(ValueError, match="unpack"):
        check(tmp_path / "m.keras")


@pytest.mark.parametrize(
    "change",
    [
        {"input": [1]},
        {"input": {"shape": 3, "dtype": "uint8"}},
        {"input": {"shape": [None, 3], "dtype": "V2000000000"}},
        {"input": {"shape": [None, 3], "dtype": {"a": 1}}},
        {"data": {"kind": "digits", "classes": 7}},
        {"data": {"kind": "digits", "classes": ["0", "1" * 1_021]}},
        {"data": {"kind": "table", "columns": [{"name": "x" * 12_000}]}},
        {"data": {"kind": "table", "target": "t" * 1_000_000}},
        {"trained": {"framework": "torch"}},
        {"trained": ["jax"]},
        {"trained": None},
        {"input": None},
    ],
    ids=lambda one: str(one)[:40],
)
def test_a_card_that_does_not_say_what_its_model_takes_is_none(tmp_path: Path, change: dict[str, Any]) -> None:
    takes = {"shape": [None, 8, 8, 1], "dtype": "uint8"}
    card = {"format": 1, "task": "classification", "data": {"kind": "digits", "classes": ["0", "1"]}, "input": takes}
    (tmp_path / "model.json").write_text(json.dumps(card))
    assert read_card(tmp_path) == card
    (tmp_path / "model.json").write_text(json.dumps({**card, **change}))
    with pytest.raises(RunError, match="result-unreadable"):
        read_card(tmp_path)
