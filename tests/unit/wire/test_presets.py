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

from tests.fakes.presets import names, unpacked
from tests.fakes.weights import sample
from tpu_studio.wire import presets
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.pretrained import folder as folders
from tpu_studio.wire.pretrained import reading

WEIGHTS = "model.weights.h5"


@pytest.fixture
def vit(tmp_path: Path) -> Path:
    return unpacked("vit", tmp_path)


def refused(folder: Path) -> ModelError:
    with pytest.raises(ModelError) as error:
        reading.read(folder)
    return error.value


def edit(file: Path, change: Callable[[Any], object]) -> None:
    tree = json.loads(file.read_text())
    change(tree)
    file.write_text(json.dumps(tree))


def test_a_folder_is_read_with_how_its_network_sees_pictures(tmp_path: Path) -> None:
    found = reading.read(unpacked("classifier", tmp_path))
    assert (found.kind, found.network.title, found.takes(33)) == ("ResNetBackbone", "ResNet", True)
    assert found.scale == pytest.approx((1 / 58, 1 / 57, 1 / 56)) and found.offset == (-2.125, -2.0, -1.875)
    assert (found.says_scale, found.side) == (True, 96)
    assert found.size_bytes == (tmp_path / "classifier" / WEIGHTS).stat().st_size
    assert "task.weights.h5" not in found.files  # its own answers are not used


def test_a_network_for_pictures_of_one_size_says_which(vit: Path) -> None:
    found = reading.read(vit)
    assert (found.side, found.takes(64), found.nearest(64), found.says_scale) == (32, False, 32, False)
    assert (found.scale, found.offset) == ((1 / 127.5,), (-1.0,))


def test_a_network_for_multiples_of_its_patches_takes_those(tmp_path: Path) -> None:
    found = reading.read(unpacked("dinov2", tmp_path))
    assert [side for side in range(30, 50) if found.takes(side)] == [32, 40, 48]
    assert (found.nearest(45), found.nearest(3)) == (40, 8)


def test_weights_in_several_files_are_one_base(tmp_path: Path) -> None:
    found = reading.read(unpacked("sharded", tmp_path))
    assert found.weights.name == "model.weights.json" and len(found.files) == 4


def test_the_same_content_is_the_same_base_wherever_it_is_and_another_is_not(vit: Path, tmp_path: Path) -> None:
    base = reading.read(vit)
    other = Path(shutil.copytree(vit, tmp_path / "other"))
    assert reading.read(other).sha256 == base.sha256
    (other / "README.md").write_text("a card")
    assert reading.read(other).sha256 == base.sha256
    data = bytearray((other / WEIGHTS).read_bytes())
    data[-1] ^= 1
    (other / WEIGHTS).write_bytes(data)
    assert reading.read(other).sha256 != base.sha256
    presets.check_same(base, base.sha256)
    with pytest.raises(ModelError, match="preset-changed"):
        presets.check_same(reading.read(other), base.sha256)


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
        ("hf:keras/vit", True),  # which stands for one
        ("hf:vit", False),
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


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> str:
    """The folder of an automounter, which would ask that computer at the first look, whoever looks."""

    def guarded(look: Callable[..., Any]) -> Callable[..., Any]:
        def looked(path: Any = ".", *more: Any, **how: Any) -> Any:
            assert not str(path).startswith("/net/"), f"{look.__name__}({path}) asks another computer"
            return look(path, *more, **how)

        return looked

    for name in ("lstat", "stat", "scandir", "readlink", "open"):
        monkeypatch.setattr(os, name, guarded(getattr(os, name)))
    return "/net/somewhere/vit"


@pytest.mark.parametrize("behind", ["", "x/../../net/somewhere/vit"])
def test_a_folder_that_is_a_link_to_another_computer_is_not_looked_at(
    tmp_path: Path, elsewhere: str, behind: str
) -> None:
    (tmp_path / "root").symlink_to("/")
    (tmp_path / "vit").symlink_to(tmp_path / "root" / behind if behind else elsewhere)
    assert refused(tmp_path / "vit").id == refused(tmp_path / "vit" / "inside").id == "preset-in-a-share"
    assert reading.stamp(tmp_path / "vit") is None


@pytest.mark.parametrize("name", ["config.json", WEIGHTS, "README.md", ".cache"])
def test_a_file_that_is_a_link_to_another_computer_is_not_looked_at(vit: Path, elsewhere: str, name: str) -> None:
    (vit / name).unlink(missing_ok=True)
    (vit / name).symlink_to(elsewhere)
    assert reading.stamp(vit) is not None
    if (vit / name).suffix in (".json", ".h5"):
        assert (refused(vit).id, refused(vit).facts["file"]) == ("preset-links-out", name)
    else:  # what is not read may lead anywhere
        reading.read(vit)


def test_a_shard_on_another_computer_is_not_looked_at(tmp_path: Path, elsewhere: str) -> None:
    folder = unpacked("sharded", tmp_path)
    edit(folder / "model.weights.json", lambda tree: tree["weight_map"].update({"/x": f"../../../..{elsewhere}.h5"}))
    assert refused(folder).id == "preset-links-out"


def test_links_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    assert refused(tmp_path / "one").id == "preset-unreadable" and reading.stamp(tmp_path / "one") is None


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


@pytest.mark.parametrize("name", ["packed", "linked", "circular", "latest"])
def test_weights_that_keras_did_not_write(vit: Path, name: str) -> None:
    (vit / WEIGHTS).write_bytes(sample(name))
    error = refused(vit)
    assert (error.id, error.facts["file"]) == ("preset-unreadable", WEIGHTS)
    assert "not as Keras writes its weights" in str(error.facts["why"])


def test_no_weights_at_all(vit: Path) -> None:
    (vit / WEIGHTS).unlink()
    assert refused(vit).id == "preset-in-part"


def test_a_shard_that_is_missing_or_smaller_than_the_index_says(tmp_path: Path) -> None:
    folder = unpacked("sharded", tmp_path)
    edit(folder / "model.weights.json", lambda tree: tree["metadata"].update(total_size=10**9))
    assert refused(folder).facts["file"] == "model.weights.json"
    for odd in (1, 10**400, -(10**400)):
        edit(folder / "model.weights.json", lambda tree, odd=odd: tree["metadata"].update(total_size=odd))
        reading.read(folder)
    (folder / "model_00001.weights.h5").unlink()
    error = refused(folder)
    assert (error.id, error.facts["file"]) == ("preset-in-part", "model_00001.weights.h5")


def test_the_index_names_what_keras_opens_first(tmp_path: Path) -> None:
    """Else it would be read unlooked at: a link out of the folder, a pipe, weights that no hash covers."""
    folder, first = unpacked("sharded", tmp_path), "model_00000.weights.h5"
    (folder / first).rename(folder / "other.weights.h5")
    (folder / first).symlink_to(tmp_path / "mine.h5")
    index = folder / "model.weights.json"
    index.write_text(index.read_text().replace(first, "other.weights.h5"))
    error = refused(folder)
    assert (error.id, error.facts["file"]) == ("preset-in-part", index.name) and first in str(error.facts["why"])


def test_another_order_of_the_same_shards_is_another_base(tmp_path: Path) -> None:
    folder = unpacked("sharded", tmp_path)
    before = reading.read(folder).sha256
    edit(
        folder / "model.weights.json",
        lambda tree: tree["weight_map"].update({"/layers/conv2d/vars": "model_00001.weights.h5"}),
    )
    assert reading.read(folder).sha256 != before


def test_an_index_of_lists_in_lists_names_no_files(tmp_path: Path) -> None:
    """They were gone through level by level: 18 s for four megabytes."""
    folder = unpacked("sharded", tmp_path)
    index = folder / "model.weights.json"
    for value in ([["model_00000.weights.h5"]], [7], {"a": 1}, None):
        edit(index, lambda tree, value=value: tree["weight_map"].update({"/x": value}))
        error = refused(folder)
        assert (error.id, error.facts["file"]) == ("preset-unreadable", index.name)
        assert "names no files" in str(error.facts["why"])
    edit(index, lambda tree: tree["weight_map"].update({"/x": ["model_00000.weights.h5", "model_00001.weights.h5"]}))
    assert reading.read(folder)


def test_values_in_lists_without_end_are_gone_through_once() -> None:
    deep: object = 7
    for _ in range(50_000):
        deep = [deep]
    assert list(folders.flat([1, [2, [], [3]], deep, "x"])) == [1, 2, 3, 7, "x"]


def test_weights_larger_than_any_network_s_are_not_read(vit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "sha256_of", lambda path: pytest.fail(f"{path} was read"))
    os.truncate(vit / WEIGHTS, folders.MOST_READ + 1)  # nothing of it takes room on the disk
    error = refused(vit)
    assert (error.id, error.facts["file"]) == ("preset-unreadable", WEIGHTS)
    assert "8,589,934,593 bytes" in str(error.facts["why"])


def test_a_file_that_grows_while_it_is_read_has_an_end(vit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (vit / WEIGHTS).read_bytes()
    size = os.stat_result((*os.stat(vit / WEIGHTS)[:6], len(data) - 7, 0, 0, 0))
    monkeypatch.setattr(os, "fstat", lambda *_: size)
    assert folders.sha256_of(folders.Folder(vit, vit), WEIGHTS) == hashlib.sha256(data[:-7]).hexdigest()


def test_what_differs_from_the_hash_that_came_with_it(vit: Path) -> None:
    notes = vit / ".cache" / "huggingface" / "download"
    notes.mkdir(parents=True)
    whole = hashlib.sha256((vit / WEIGHTS).read_bytes()).hexdigest()
    note = notes / f"{WEIGHTS}.metadata"
    note.write_text(f"{'a' * 40}\n{whole}\n1.0\n")
    reading.read(vit)
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
    assert reading.read(vit).size_bytes == (vit / "real.h5").stat().st_size


def test_what_a_link_within_the_folder_leads_to_is_read_again_once_it_is_another_file(vit: Path) -> None:
    (vit / "config.json").rename(vit / "real.json")
    (vit / "config.json").symlink_to("real.json")
    before = reading.stamp(vit)
    first = reading.read(vit).sha256
    edit(vit / "real.json", lambda tree: tree["config"].update(dropout=0.25))
    assert reading.stamp(vit) != before and reading.read(vit).sha256 != first


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


_LAYER = {"module": "keras.layers", "class_name": "Dense", "config": {"units": 7}, "registered_name": None}
_FUNCTION = {"module": "keras.config", "class_name": "function", "config": "set_image_data_format"}


@pytest.mark.parametrize("odd", [_LAYER, _FUNCTION, [_LAYER], ["relu"], "set_image_data_format", "../relu", 7], ids=str)
@pytest.mark.parametrize(
    ("network", "name"),
    [
        ("efficientnet", "activation"),
        ("efficientnet", "projection_activation"),
        ("mobilenet", "input_activation"),
        ("mobilenet", "stackwise_activation"),
    ],
)
def test_an_activation_is_a_word_that_is_known(tmp_path: Path, network: str, name: str, odd: object) -> None:
    folder = unpacked(network, tmp_path)
    wanted = [["relu", "relu"], ["relu6", odd]] if name.startswith("stackwise") else odd
    edit(folder / "config.json", lambda tree: tree["config"].update({name: wanted}))
    error = refused(folder)
    assert (error.id, error.facts["file"]) == ("preset-unreadable", "config.json") and name in str(error.facts["why"])


@pytest.mark.parametrize(
    "odd", [{"num_layers": {}}, {"hidden_dim": [16]}, {"image_shape": [32, 32, {}]}, {"patch_size": [[8, 8]]}], ids=str
)
def test_nothing_else_is_an_object_or_a_list_where_none_belongs(vit: Path, odd: dict[str, object]) -> None:
    edit(vit / "config.json", lambda tree: tree["config"].update(odd))
    error = refused(vit)
    assert error.id == "preset-unreadable" and next(iter(odd)) in str(error.facts["why"])


@pytest.mark.parametrize("name", names())
def test_what_keras_hub_writes_is_taken(tmp_path: Path, name: str) -> None:
    assert reading.read(unpacked(name, tmp_path)).kind in presets.NETWORKS


# As `keras_hub.src.utils.timm` of KerasHub 0.32 has them: EfficientNet B5 and Lite0, MobileNetV3 large.
_B5 = {
    "stackwise_width_coefficients": [1.6] * 7,
    "stackwise_depth_coefficients": [2.2] * 7,
    "stackwise_num_repeats": [1, 2, 2, 3, 3, 4, 1],
    "stackwise_force_input_filters": [0] * 7,
    "min_depth": None,
    "dropout": 0,
}
_LITE = {"activation": "relu6", "stackwise_squeeze_and_excite_ratios": [0] * 7}
_LARGE = {
    "stackwise_num_blocks": [2, 3, 4, 2, 3],
    "stackwise_expansion": [[64, 72], [72, 120, 120], [240, 200, 184, 184], [480, 672], [672, 960, 960]],
    "stackwise_se_ratio": [[None, None], [0.25] * 3, [None] * 4, [0.25, 0.25], [0.25] * 3],
    "stackwise_activation": [["relu"] * 2, ["relu"] * 3, ["hard_swish"] * 4, ["hard_swish"] * 2, ["hard_swish"] * 3],
    "squeeze_and_excite": None,
}
_GIANT = {"num_layers": 40, "hidden_dim": 1536, "num_heads": 24, "intermediate_dim": 6144, "use_swiglu_ffn": True}


@pytest.mark.parametrize(
    ("network", "change"),
    [("efficientnet", _B5), ("efficientnet", _LITE), ("mobilenet", _LARGE), ("dinov2", _GIANT)],
    ids=["b5", "lite0", "large", "giant"],
)
def test_what_its_published_networks_say_is_taken(tmp_path: Path, network: str, change: dict[str, object]) -> None:
    folder = unpacked(network, tmp_path)
    edit(folder / "config.json", lambda tree: tree["config"].update(change))
    reading.read(folder)


@pytest.mark.parametrize(
    ("network", "change"),
    [
        ("efficientnet", {"stackwise_depth_coefficients": [100_000.0] * 3}),
        ("efficientnet", {"stackwise_num_repeats": [-2, 2, 2], "stackwise_depth_coefficients": [-150.0, 50.0, 50.0]}),
        ("resnet", {"stackwise_num_blocks": [90_000, -90_000]}),
        ("resnet", {"input_conv_filters": [8] * 401}),
    ],
    ids=str,
)
def test_layers_are_counted_as_they_would_be_made(tmp_path: Path, network: str, change: dict[str, object]) -> None:
    folder = unpacked(network, tmp_path)
    edit(folder / "config.json", lambda tree: tree["config"].update(change))
    error = refused(folder)
    assert (error.id, error.facts["why"]) == ("preset-unreadable", "It has more than 400 layers.")


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
