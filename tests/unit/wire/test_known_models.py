"""Models of the Hub that are planned with before they are asked for: what stands of them adds up."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.fakes import presets
from tpu_studio.wire import hub
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.pretrained import decoder, known, template
from tpu_studio.wire.pretrained.known import Known
from tpu_studio.wire.pretrained.reading import read


@pytest.mark.parametrize("one", known.all_known(), ids=lambda one: one.name)
def test_its_description_has_as_many_weights_as_are_published(one: Known) -> None:
    """Its sizes come from one artefact and the count from another: a size that is wrong shows."""
    shapes = {tensor.name: tensor.shape for tensor in decoder.describe(one.config).tensors()}
    assert sum(map(math.prod, shapes.values())) == one.parameters
    assert hub.is_name(one.preset) and one.sources and one.licence
    assert one.size_bytes in (2 * one.parameters, 4 * one.parameters) or one.size_bytes > 2 * one.parameters
    assert one.template in ("", *(each.id for each in template.TEMPLATES))


def test_there_are_forty_and_each_is_there_once() -> None:
    names = [one.name for one in known.all_known()]
    assert len(names) == len(set(names)) >= 40


def test_one_is_a_preset_of_which_nothing_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    first, second = (read(hub.folder(f"hf:Qwen/Qwen2.5-{size}B")) for size in ("0.5", "1.5"))
    assert first.absent == first.files_bytes == 2 * 494_032_768 and first.longest == 32_768
    assert first.sha256 != second.sha256 and first.reads_text


def test_one_that_is_too_large_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    with pytest.raises(ModelError) as raised:
        read(hub.folder("hf:Qwen/Qwen3-8B"))
    assert raised.value.id == "preset-too-large" and raised.value.facts["size"] == 16_381_470_720


def test_one_that_answers_in_a_template_that_is_not_known_says_so_before_it_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    chat = read(hub.folder("hf:TinyLlama/TinyLlama-1.1B-Chat-v1.0"))
    assert (chat.template, chat.templates) == (template.UNKNOWN, (template.PLAIN,))
    assert read(hub.folder("hf:meta-llama/Llama-3.2-1B")).template == ""


@pytest.mark.parametrize("name", ["legacy", "first", "written-true"])
def test_a_folder_of_mistral_s_or_llama_2_s_kind_has_a_tokenizer_that_is_read(tmp_path: Path, name: str) -> None:
    """So a model that is named here is not refused once it is downloaded (TinyLlama was)."""
    folder = presets.decoder("mistral", tmp_path)
    (folder / "tokenizer.json").write_bytes(presets.blank(name)[0])
    (folder / "tokenizer_config.json").write_text('{"chat_template": "<|user|>"}')
    found = read(folder)
    assert found.template == template.UNKNOWN and found.templates == ("mistral", "mistral-nemo", "plain")
