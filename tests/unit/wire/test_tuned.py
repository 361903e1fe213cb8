"""The result of a fine-tuned language model as a base: its card says the network by itself, and is not believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bases import result, tuned
from tests.fakes.presets import decoder, decoders
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
