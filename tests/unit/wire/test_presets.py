"""A KerasHub folder that a model begins from: what is read of it, and every reason for which it is refused by name."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.presets import unpacked
from tpu_studio.wire import presets
from tpu_studio.wire.errors import ModelError

WEIGHTS = "model.weights.h5"


@pytest.fixture
def vit(tmp_path: Path) -> Path:
    return unpacked("vit", tmp_path)


def refused(folder: Path) -> ModelError:
    with pytest.raises(ModelError) as error:
        presets.read(folder)
    return error.value


def edit(file: Path, change: Callable[[Any], object]) -> None:
    tree = json.loads(file.read_text())
    change(tree)
    file.write_text(json.dumps(tree))


def test_a_folder_is_read_with_how_its_network_sees_pictures(tmp_path: Path) -> None:
    found = presets.read(unpacked("classifier", tmp_path))
    assert (found.kind, found.network.title, found.takes(33)) == ("ResNetBackbone", "ResNet", True)
    assert found.scale == pytest.approx((1 / 58, 1 / 57, 1 / 56)) and found.offset == (-2.125, -2.0, -1.875)
    assert (found.says_scale, found.side) == (True, 96)
    assert found.size_bytes == (tmp_path / "classifier" / WEIGHTS).stat().st_size
    assert "task.weights.h5" not in found.files  # its own answers are not used


def test_a_network_for_pictures_of_one_size_says_which(vit: Path) -> None:
    found = presets.read(vit)
    assert (found.side, found.takes(64), found.nearest(64), found.says_scale) == (32, False, 32, False)
    assert (found.scale, found.offset) == ((1 / 127.5,), (-1.0,))


def test_a_network_for_multiples_of_its_patches_takes_those(tmp_path: Path) -> None:
    found = presets.read(unpacked("dinov2", tmp_path))
    assert [side for side in range(30, 50) if found.takes(side)] == [32, 40, 48]
    assert (found.nearest(45), found.nearest(3)) == (40, 8)


def test_weights_in_several_files_are_one_base(tmp_path: Path) -> None:
    found = presets.read(unpacked("sharded", tmp_path))
    assert found.weights.name == "model.weights.json" and len(found.files) == 4


def test_the_same_content_is_the_same_base_wherever_it_is_and_another_is_not(vit: Path, tmp_path: Path) -> None:
    base = presets.read(vit)
    other = Path(shutil.copytree(vit, tmp_path / "other"))
    assert presets.read(other).sha256 == base.sha256
    (other / "README.md").write_text("a card")
    assert presets.read(other).sha256 == base.sha256
    data = bytearray((other / WEIGHTS).read_bytes())
    data[-1] ^= 1
    (other / WEIGHTS).write_bytes(data)
    assert presets.read(other).sha256 != base.sha256
    presets.check_same(base, base.sha256)
    with pytest.raises(ModelError, match="preset-changed"):
        presets.check_same(presets.read(other), base.sha256)


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("./vit", True),
        ("~/vit", True),
        ("/data/vit", True),
        (r"C:\models\vit", True),
        ("models/vit", True),
        ("//host/share/vit", True),
        ("starter:efficientnet-lite0", False),
        ("hf:keras/vit", False),
        ("hf://keras/vit", False),
        ("none", False),
        ("auto", False),
        ("resnet_50", False),
    ],
)
def test_a_path_is_told_from_a_name(value: str, is_one: bool) -> None:
    assert presets.is_folder(value) == is_one


@pytest.mark.parametrize("path", ["//host/share/vit", "\\\\host\\share", "smb://host/vit"])
def test_a_folder_of_another_computer_is_not_looked_at(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "resolve", lambda *_: pytest.fail("it was looked at"))
    assert refused(Path(path)).id == "preset-in-a-share"


def test_a_link_to_another_computer_is_one_too(vit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "resolve", lambda *_: Path("//host/share/vit"))
    assert refused(vit).id == "preset-in-a-share"


def test_what_is_not_there_or_no_folder(tmp_path: Path) -> None:
    assert refused(tmp_path / "nothing").id == "preset-missing"
    (tmp_path / "file").write_text("")
    assert refused(tmp_path / "file").id == "preset-missing"


def test_a_model_for_texts(tmp_path: Path) -> None:
    error = refused(unpacked("text", tmp_path))
    assert (error.id, error.facts["network"]) == ("preset-other-network", "BertBackbone")


@pytest.mark.parametrize(
    ("config", "format"), [({"model_type": "vit"}, "Hugging Face Transformers"), ({"architecture": "vit_b"}, "timm")]
)
def test_a_folder_of_another_library(tmp_path: Path, config: dict[str, str], format: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(b"")
    error = refused(tmp_path)
    assert (error.id, error.facts["why"]) == ("preset-other-format", format)


def test_quantised_weights_are_another_format(vit: Path) -> None:
    edit(vit / "config.json", lambda tree: tree["config"].update(dtype={"class_name": "DTypePolicyMap", "config": {}}))
    assert refused(vit).id == "preset-other-format"


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pth", "weights.ckpt"])
def test_a_pickle_alone_is_not_opened(vit: Path, name: str) -> None:
    (vit / WEIGHTS).rename(vit / name)
    error = refused(vit)
    assert (error.id, error.facts["file"]) == ("preset-pickled", name)


@pytest.mark.parametrize(
    "named",
    [
        {"module": "os.path"},
        {"module": "keras_evil.layers"},
        {"module": "builtins"},
        {"registered_name": "Custom>Layer"},
        {"class_name": "Lambda"},
        {"class_name": "__lambda__"},
    ],
    ids=lambda named: "-".join(map(str, named.values())),
)
@pytest.mark.parametrize("file", ["config.json", "image_converter.json", "task.json"])
def test_code_that_is_not_keras_s_is_refused_wherever_it_is_named(
    tmp_path: Path, file: str, named: dict[str, str]
) -> None:
    folder = unpacked("classifier", tmp_path)
    edit(folder / file, lambda tree: tree["config"].update(inner=[{"layer": named}]))
    error = refused(folder)
    assert (error.id, error.facts["file"]) == ("preset-foreign", file)


def test_weights_that_came_in_part_are_told_by_their_own_beginning(vit: Path) -> None:
    size = (vit / WEIGHTS).stat().st_size
    os.truncate(vit / WEIGHTS, size - 1)
    error = refused(vit)
    assert (error.id, error.facts["file"]) == ("preset-in-part", WEIGHTS)
    assert f"{size - 1:,} of the {size:,} bytes" in str(error.facts["why"])


@pytest.mark.parametrize(
    "content",
    [b"", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", b"<html>" * 20, b"\x89HDF\r\n\x1a\n"],
)
def test_something_else_in_place_of_weights(vit: Path, content: bytes) -> None:
    (vit / WEIGHTS).write_bytes(content)
    assert refused(vit).id == "preset-in-part"


def test_no_weights_at_all(vit: Path) -> None:
    (vit / WEIGHTS).unlink()
    assert refused(vit).id == "preset-in-part"


def test_a_shard_that_is_missing_or_smaller_than_the_index_says(tmp_path: Path) -> None:
    folder = unpacked("sharded", tmp_path)
    edit(folder / "model.weights.json", lambda tree: tree["metadata"].update(total_size=10**9))
    assert refused(folder).facts["file"] == "model.weights.json"
    edit(folder / "model.weights.json", lambda tree: tree["metadata"].update(total_size=1))
    presets.read(folder)
    (folder / "model_00001.weights.h5").unlink()
    error = refused(folder)
    assert (error.id, error.facts["file"]) == ("preset-in-part", "model_00001.weights.h5")


def test_what_differs_from_the_hash_that_came_with_it(vit: Path) -> None:
    notes = vit / ".cache" / "huggingface" / "download"
    notes.mkdir(parents=True)
    whole = hashlib.sha256((vit / WEIGHTS).read_bytes()).hexdigest()
    note = notes / f"{WEIGHTS}.metadata"
    note.write_text(f"{'a' * 40}\n{whole}\n1.0\n")
    presets.read(vit)
    note.write_text(f"{'a' * 40}\n{'0' * 64}\n1.0\n")
    os.utime(vit / WEIGHTS)
    error = refused(vit)
    assert (error.id, error.facts["file"]) == ("preset-differs", WEIGHTS)


@pytest.mark.parametrize("name", ["config.json", WEIGHTS])
def test_a_link_out_of_the_folder_is_not_followed(vit: Path, tmp_path: Path, name: str) -> None:
    (vit / name).rename(tmp_path / name)
    (vit / name).symlink_to(tmp_path / name)
    error = refused(vit)
    assert (error.id, error.facts["file"]) == ("preset-links-out", name)


def test_a_shard_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    folder = unpacked("sharded", tmp_path)
    (folder / "model_00001.weights.h5").rename(tmp_path / "elsewhere.h5")
    edit(folder / "model.weights.json", lambda tree: tree["weight_map"].update({"/x": "../elsewhere.h5"}))
    (folder / "model_00001.weights.h5").write_bytes((folder / "model_00000.weights.h5").read_bytes())
    assert refused(folder).id == "preset-links-out"


def test_a_link_within_the_folder_is(vit: Path) -> None:
    (vit / WEIGHTS).rename(vit / "real.h5")
    (vit / WEIGHTS).symlink_to("real.h5")
    assert presets.read(vit).size_bytes == (vit / "real.h5").stat().st_size


@pytest.mark.parametrize(
    "change",
    [
        {"num_layers": 10**6},
        {"hidden_dim": 10**9},
        {"image_shape": [32, 48, 3]},
        {"image_shape": [None, None, 3]},
        {"image_shape": [2, 2, 3]},
        {"image_shape": "large"},
    ],
    ids=str,
)
def test_sizes_that_no_network_has(vit: Path, change: dict[str, object]) -> None:
    edit(vit / "config.json", lambda tree: tree["config"].update(change))
    assert refused(vit).id == "preset-unreadable"


@pytest.mark.parametrize("content", ["", "[]", "{", "[" * 200 + "]" * 200])
def test_a_description_that_is_none(vit: Path, content: str) -> None:
    (vit / "config.json").write_text(content)
    assert (refused(vit).id, refused(vit).facts["file"]) == ("preset-unreadable", "config.json")


@pytest.mark.parametrize("scale", [[1.0, 2.0], "much", [1.0, None, 1.0], [1e9] * 3])
def test_a_scale_of_pixels_that_is_none(tmp_path: Path, scale: object) -> None:
    folder = unpacked("classifier", tmp_path)
    edit(folder / "image_converter.json", lambda tree: tree["config"].update(scale=scale))
    assert refused(folder).id == "preset-unreadable"


def test_a_pipe_in_place_of_a_description_is_not_waited_for(vit: Path) -> None:
    (vit / "config.json").unlink()
    os.mkfifo(vit / "config.json")
    assert refused(vit).id == "preset-unreadable"
