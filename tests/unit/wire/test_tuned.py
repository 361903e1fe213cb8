"""The result of a network that began from a folder, as a base: its card says the network, and is not believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bases import pictured, result, tuned
from tests.fakes.presets import decoder, decoders, names, unpacked
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.pretrained import decoder as networks
from tpu_studio.wire.pretrained import reading
from tpu_studio.wire.pretrained.template import UNKNOWN


def refused(folder: Path) -> tuple[str, str]:
    with pytest.raises(ModelError) as error:
        reading.read(folder)
    return error.value.id, str(error.value.facts.get("file"))


@pytest.mark.parametrize("name", decoders())
def test_it_is_what_the_folder_was(tmp_path: Path, name: str) -> None:
    wanted = reading.read(decoder(name, tmp_path / "folder"))
    seen = reading.read(result(tmp_path / "kept", *tuned(name, tmp_path)))
    assert networks.describe(seen.config) == networks.describe(wanted.config)
    assert (seen.kind, seen.vocabulary, seen.longest) == (wanted.kind, wanted.vocabulary, wanted.longest)
    assert (seen.template, seen.templates) == (wanted.template, wanted.templates)
    assert seen.is_decoder and seen.base is not None and seen.base.tokenizer == "preset"
    assert seen.files == ("model.json", "model.keras", "tokenizer.json") and seen.network == wanted.network


def test_what_it_has_answered_in_is_its_template(tmp_path: Path) -> None:
    """Whatever the folder's was; and one that its tokens cannot write, or that nobody knows, is none that is known."""
    said = {"plain": "plain", "llama3": UNKNOWN, "{{ evil }}": UNKNOWN, "": ""}
    for told, wanted in said.items():
        tree, files = tuned("gpt2", tmp_path, template=told)
        assert reading.read(result(tmp_path / "kept" / (wanted or "none"), tree, files)).template == wanted


def test_an_older_result_does_not_say_its_network(tmp_path: Path) -> None:
    tree, files = tuned("qwen2", tmp_path)
    del tree["network"]
    kept = result(tmp_path / "runs" / "tale-ab12" / "result", tree, files)
    assert refused(kept)[0] == "base-not-begun-from"
    with pytest.raises(ModelError) as error:
        reading.read(kept)
    told = say(error.value)
    assert "“tale-ab12”" in told.title and "export RUN --as huggingface" in told.action


@pytest.mark.parametrize(
    ("network", "file"),
    [
        ({"config": {}}, "model.json"),
        ({"config": []}, "model.json"),
        ({"config": {"model_type": "phi"}}, "model.json"),
        ({"config": {"model_type": "gpt2", "n_embd": 10**9}}, "model.json"),
        ({"larger": {"hidden_size": 4096}}, "model.keras"),
        ({"larger": {"vocab_size": 321}}, "model.json"),
        ({"larger": {"num_hidden_layers": 399}}, "model.keras"),
    ],
)
def test_a_network_that_makes_no_sense_or_is_larger_than_its_file_is_refused(
    tmp_path: Path, network: dict[str, Any], file: str
) -> None:
    tree, files = tuned("qwen2", tmp_path)
    larger = network.pop("larger", None)
    tree["network"] |= network if larger is None else {"config": tree["network"]["config"] | larger}
    assert refused(result(tmp_path / "kept", tree, files)) == ("base-damaged", file)


@pytest.mark.parametrize("file", [b"{}", b"\xff", b"[" * 100_000])
def test_a_tokenizer_that_is_none_is_refused(tmp_path: Path, file: bytes) -> None:
    tree, files = tuned("qwen2", tmp_path)
    assert refused(result(tmp_path / "kept", tree, files | {"tokenizer.json": file})) == (
        "base-damaged",
        "tokenizer.json",
    )


def test_without_its_tokenizer_it_is_no_base(tmp_path: Path) -> None:
    tree, files = tuned("qwen2", tmp_path)
    bytes_alone = json.loads(json.dumps(tree))
    del bytes_alone["data"]["tokenizer_sha256"], files["tokenizer.json"]
    assert refused(result(tmp_path / "bytes", bytes_alone, files)) == ("base-damaged", "model.json")
    assert refused(result(tmp_path / "gone", tree, files)) == ("base-damaged", "tokenizer.json")


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    kept = result(tmp_path / "kept", *tuned("qwen2", tmp_path))
    (kept / "tokenizer.json").rename(tmp_path / "outside")
    (kept / "tokenizer.json").symlink_to(tmp_path / "outside")
    assert refused(kept)[0] == "preset-links-out"


# ------------------------------------------------------------------------------------------------------ of pictures


def side_of(name: str, to: Path) -> int:
    """A size that the network sees."""
    return reading.read(unpacked(name, to)).nearest(32)


@pytest.mark.parametrize("name", names())
def test_a_network_of_pictures_is_what_the_folder_was(tmp_path: Path, name: str) -> None:
    wanted, side = reading.read(unpacked(name, tmp_path / "folder")), side_of(name, tmp_path / "again")
    seen = reading.read(result(tmp_path / "kept", pictured(name, tmp_path, side)))
    assert (seen.kind, seen.network, seen.scale, seen.offset) == (
        *(wanted.kind, wanted.network),
        *(wanted.scale, wanted.offset),
    )
    assert seen.config.items() <= wanted.config.items() and not {"name", "dtype"} & seen.config.keys()
    assert seen.base is not None and seen.files == ("model.json", "model.keras")
    assert seen.takes(side) and seen.nearest(side) == side
    assert seen.takes(side + 14) is (wanted.network.sizes == "any")  # its places are those of that size


@pytest.mark.parametrize(
    "network",
    [
        {"kind": "qwen2"},
        {"kind": "os.system"},
        {"config": {}, "kind": "ViTBackbone"},
        {"config": {"patch_size": 5}, "kind": "DINOV2Backbone"},
        {"config": {"image_shape": [64, 64, 3]}, "kind": "ViTBackbone"},
        {"config": {"input_conv_filters": [10**9]}},
        {"config": {"stackwise_num_blocks": [401]}},
        {"config": {"activation": "evil.Layer"}},
        {"config": {"input_conv_filters": {"class_name": "Lambda"}}},
        {"config": {"dtype": "int8"}},
        {"scale": None},
        {"offset": []},
        {"scale": [1.0, 2.0]},
        {"scale": ["1"]},
        {"offset": [1e9]},
    ],
    ids=str,
)
def test_a_network_of_pictures_that_makes_no_sense_is_refused(tmp_path: Path, network: dict[str, Any]) -> None:
    kept = result(tmp_path / "kept", pictured("resnet", tmp_path, **network))
    assert refused(kept) == ("base-damaged", "model.json")


def test_a_model_of_texts_has_no_network_of_pictures_and_the_other_way_round(tmp_path: Path) -> None:
    tree = pictured("resnet", tmp_path)
    assert refused(result(tmp_path / "one", tree | {"model": "pretrained-lm", "options": {}}))[0] == "base-damaged"
    text, files = tuned("qwen2", tmp_path)
    other = text | {"model": "kerashub-backbone", "options": {}}
    assert refused(result(tmp_path / "two", other, files))[0] == "base-damaged"


def test_names_and_paths_of_a_folder_go_into_no_card(tmp_path: Path) -> None:
    told = json.dumps(pictured("resnet", tmp_path))
    assert str(tmp_path) not in told and "backbone" not in told.replace("kerashub-backbone", "").replace(
        "ResNetBackbone", ""
    )


def test_an_older_result_of_pictures_says_what_to_do(tmp_path: Path) -> None:
    tree = pictured("resnet", tmp_path)
    del tree["network"]
    kept = result(tmp_path / "runs" / "hands-ab12" / "result", tree)
    with pytest.raises(ModelError) as error:
        reading.read(kept)
    told = say(error.value)
    assert error.value.id == "base-not-begun-from" and "KerasHub folder" in told.meaning and "Extend" in told.action
