"""A Hugging Face folder of a language model as a base: what is read of it, and every reason for which it is refused."""

from __future__ import annotations

import json
import os
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.presets import decoder, decoders
from tpu_studio.wire import presets
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.pretrained import folder as folders
from tpu_studio.wire.pretrained import reading
from tpu_studio.wire.sizes import RECORD_BYTES

WEIGHTS, INDEX, SHARD = "model.safetensors", "model.safetensors.index.json", "model-00002-of-00004.safetensors"
NOTE = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n"
KINDS = {
    "gemma3": ("gemma3_text", "Gemma 3"),
    "gpt2": ("gpt2", "GPT-2"),
    "llama": ("llama", "Llama"),
    "mistral": ("mistral", "Mistral"),
    "qwen2": ("qwen2", "Qwen2"),
    "qwen3": ("qwen3", "Qwen3"),
    "smollm": ("llama", "Llama"),
}
Header = dict[str, Any]
ROOM = RECORD_BYTES + 500_000  # a description is read into room for the largest; the weights here have 150,000 bytes


@pytest.fixture
def gpt2(tmp_path: Path) -> Path:
    return decoder("gpt2", tmp_path)


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    """In four files."""
    return decoder("llama", tmp_path)


def refused(folder: Path) -> tuple[str, str]:
    """Id, and the file it is about."""
    found = error_of(folder)
    return found.id, str(found.facts["file"])


def error_of(folder: Path) -> ModelError:
    with pytest.raises(ModelError) as error:
        reading.read(folder)
    return error.value


def edit(file: Path, change: Callable[[Any], object]) -> None:
    tree = json.loads(file.read_text())
    change(tree)
    file.write_text(json.dumps(tree))


def parts_of(file: Path) -> tuple[Header, bytes]:
    """Its header, and its numbers."""
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def write(file: Path, header: object, numbers: bytes = b"") -> None:
    """*header*: bytes stand as they are."""
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    file.write_bytes(len(data).to_bytes(8, "little") + data + numbers)


def edit_header(file: Path, change: Callable[[Header], object]) -> None:
    header, numbers = parts_of(file)
    change(header)
    write(file, header, numbers)


def test_every_kind_of_folder_is_there() -> None:
    assert sorted(KINDS) == decoders()


@pytest.mark.parametrize("name", KINDS)
def test_a_folder_that_transformers_wrote_is_read(tmp_path: Path, name: str) -> None:
    folder = decoder(name, tmp_path)
    found = reading.read(folder)
    assert (found.kind, found.title) == (KINDS[name][0], f"{KINDS[name][1]} “{name}”")
    assert (found.vocabulary, found.longest, found.reads_text, found.side) == (320, 64, True, 0)
    weights = sorted(folder.glob("*.safetensors"))
    assert found.size_bytes == sum(len(parts_of(file)[1]) for file in weights)
    index = {INDEX} if name == "llama" else set()
    assert set(found.files) == {"config.json", "tokenizer.json", *index, *(file.name for file in weights)}


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_any_change_of_a_file_is_another_base_and_another_place_is_not(tmp_path: Path, name: str) -> None:
    folder = decoder(name, tmp_path)
    base = reading.read(folder)
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    (other / "README.md").write_text("a card")
    (other / "generation_config.json").write_text("{}")
    assert reading.read(other).sha256 == base.sha256
    for file in base.files:
        data = (other / file).read_bytes()
        (other / file).write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if file.endswith("tensors") else data + b"\n")
        assert reading.read(other).sha256 != base.sha256, file
        (other / file).write_bytes(data)
    assert reading.read(other).sha256 == base.sha256


def test_the_file_of_weights_counts_and_not_what_an_index_beside_it_names(gpt2: Path) -> None:
    (gpt2 / INDEX).write_text(json.dumps({"weight_map": {"x": "other.safetensors"}}))
    assert reading.read(gpt2).files == ("config.json", "tokenizer.json", WEIGHTS)


def test_weights_are_found_by_the_names_of_a_network_alone_and_of_one_with_answers(gpt2: Path, llama: Path) -> None:
    def renamed(header: Header) -> None:
        for name in [one for one in header if one != "__metadata__"]:
            header[name.removeprefix("transformer.")] = header.pop(name)

    edit_header(gpt2 / WEIGHTS, renamed)
    assert reading.read(gpt2).kind == "gpt2"
    for shard in llama.glob("*.safetensors"):
        edit_header(shard, lambda header: header.update({n.removeprefix("model."): header.pop(n) for n in [*header]}))
    assert reading.read(llama).kind == "llama"


def test_a_link_within_the_folder_is_followed(gpt2: Path) -> None:
    base = reading.read(gpt2).sha256
    (gpt2 / WEIGHTS).rename(gpt2 / "real.safetensors")
    (gpt2 / WEIGHTS).symlink_to("real.safetensors")
    assert reading.read(gpt2).sha256 == base


# ------------------------------------------------------------------------------------------------- files and links


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", WEIGHTS])
def test_a_link_out_of_the_folder_is_not_followed(gpt2: Path, tmp_path: Path, name: str) -> None:
    (gpt2 / name).rename(tmp_path / name)
    (gpt2 / name).symlink_to(tmp_path / name)
    assert refused(gpt2) == ("preset-links-out", name)


@pytest.mark.parametrize("name", [INDEX, SHARD])
def test_neither_is_one_of_a_part_or_of_the_index(llama: Path, tmp_path: Path, name: str) -> None:
    (llama / name).rename(tmp_path / name)
    (llama / name).symlink_to(tmp_path / name)
    assert refused(llama) == ("preset-links-out", name)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", WEIGHTS])
def test_a_pipe_is_not_waited_for(gpt2: Path, name: str) -> None:
    (gpt2 / name).unlink()
    os.mkfifo(gpt2 / name)
    assert refused(gpt2) == ("preset-unreadable", name)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", WEIGHTS])
def test_a_folder_in_the_place_of_a_file_is_none(gpt2: Path, name: str) -> None:
    (gpt2 / name).unlink()
    (gpt2 / name).mkdir()
    assert refused(gpt2) == ("preset-unreadable", name)


def test_a_folder_without_its_tokenizer_is_there_in_part(gpt2: Path) -> None:
    (gpt2 / "tokenizer.json").unlink()
    assert refused(gpt2) == ("preset-in-part", "tokenizer.json")


def test_a_folder_without_weights_is_there_in_part(gpt2: Path) -> None:
    (gpt2 / WEIGHTS).unlink()
    assert refused(gpt2) == ("preset-in-part", WEIGHTS)


def test_a_folder_without_its_description_is_unreadable(gpt2: Path) -> None:
    (gpt2 / "config.json").unlink()
    assert refused(gpt2) == ("preset-unreadable", "config.json")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "consolidated.00.pth"])
def test_weights_that_are_a_pickle_alone_are_not_opened(gpt2: Path, name: str) -> None:
    (gpt2 / WEIGHTS).rename(gpt2 / name)
    assert refused(gpt2) == ("preset-pickled", name)


def test_a_pickle_beside_the_weights_is_left_where_it_is(gpt2: Path) -> None:
    (gpt2 / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    assert "pytorch_model.bin" not in reading.read(gpt2).files


@pytest.mark.parametrize("name", ["tokenizer.json", WEIGHTS])
def test_a_note_of_git_lfs_is_no_file(gpt2: Path, name: str) -> None:
    (gpt2 / name).write_bytes(NOTE)
    assert refused(gpt2) == ("preset-in-part", name)
    assert "Git LFS" in str(error_of(gpt2).facts["why"])


def test_a_tokenizer_larger_than_any_is_not_read(gpt2: Path) -> None:
    os.truncate(gpt2 / "tokenizer.json", 64_000_001)  # nothing of it takes room on the disk
    assert refused(gpt2) == ("preset-unreadable", "tokenizer.json")


def test_a_file_that_was_fetched_otherwise_differs(gpt2: Path) -> None:
    notes = gpt2 / ".cache" / "huggingface" / "download"
    notes.mkdir(parents=True)
    (notes / f"{WEIGHTS}.metadata").write_text(f"{'a' * 40}\n{'0' * 64}\n1.0\n")
    assert refused(gpt2) == ("preset-differs", WEIGHTS)


# ---------------------------------------------------------------------------------------------- weights in several


def test_a_part_that_is_not_there(llama: Path) -> None:
    (llama / SHARD).unlink()
    assert refused(llama) == ("preset-in-part", SHARD)


@pytest.mark.parametrize("name", ["../x.safetensors", "/tmp/x.safetensors", "deep/x.safetensors"])
def test_a_part_outside_the_folder_is_not_read(llama: Path, name: str) -> None:
    edit(llama / INDEX, lambda tree: tree["weight_map"].update(x=name))
    assert refused(llama) == ("preset-links-out", name)


@pytest.mark.parametrize(
    "name",
    ["model.bin", "", 7, None, "x\0.safetensors", "\ud800.safetensors", "x" * 300 + ".safetensors"],
)
def test_an_index_that_names_no_file(llama: Path, name: object) -> None:
    edit(llama / INDEX, lambda tree: tree["weight_map"].update(x=name))
    assert refused(llama) == ("preset-unreadable", INDEX)


@pytest.mark.parametrize(
    "content", ["", "[]", "{", "{}", '{"weight_map": []}', '{"weight_map": {}}', "[" * 200 + "]" * 200]
)
def test_an_index_that_is_none(llama: Path, content: str) -> None:
    (llama / INDEX).write_text(content)
    assert refused(llama) == ("preset-unreadable", INDEX)


def test_an_index_of_more_files_than_any(llama: Path) -> None:
    edit(llama / INDEX, lambda tree: tree["weight_map"].update({str(n): f"{n}.safetensors" for n in range(1000)}))
    assert refused(llama) == ("preset-unreadable", INDEX)


def test_a_tensor_that_two_parts_have(llama: Path) -> None:
    shutil.copy(llama / SHARD, llama / "model-00005.safetensors")
    edit(llama / INDEX, lambda tree: tree["weight_map"].update(x="model-00005.safetensors"))
    assert refused(llama) == ("preset-unreadable", "model-00005.safetensors")


def test_weights_larger_than_are_read(llama: Path) -> None:
    os.truncate(llama / SHARD, folders.MOST_READ)
    error = error_of(llama)
    assert (error.id, error.facts["file"]) == ("preset-unreadable", SHARD)
    assert "8,589,934,592 are read at most" in str(error.facts["why"])


# ---------------------------------------------------------------------------------------------------- descriptions


@pytest.mark.parametrize("content", ["", "[]", "{", "[" * 200 + "]" * 200])
def test_a_description_that_is_none(gpt2: Path, content: str) -> None:
    (gpt2 / "config.json").write_text(content)
    assert refused(gpt2) == ("preset-unreadable", "config.json")


@pytest.mark.parametrize("kind", ["gemma2", "bert", "gemma3", "GPT2", "", None, 7, ["gpt2"], "ResNetBackbone"])
def test_a_kind_of_network_that_is_not_known(gpt2: Path, kind: object) -> None:
    edit(gpt2 / "config.json", lambda tree: tree.update(model_type=kind))
    error = error_of(gpt2)
    assert (error.id, error.facts["network"]) == ("preset-other-network", str(kind))


def test_quantised_weights(gpt2: Path) -> None:
    edit(gpt2 / "config.json", lambda tree: tree.update(quantization_config={"quant_method": "awq"}))
    assert error_of(gpt2).facts["why"] == "quantised weights" and error_of(gpt2).id == "preset-other-format"


def test_code_of_its_own(gpt2: Path) -> None:
    edit(gpt2 / "config.json", lambda tree: tree.update(auto_map={"AutoModel": "modeling.Mine"}))
    assert refused(gpt2) == ("preset-foreign", "config.json")


@pytest.mark.parametrize(
    "change",
    [{"n_embd": 10**9}, {"activation_function": "relu"}, {"activation_function": ["relu"]}, {"n_layer": True}],
    ids=str,
)
def test_a_trait_that_is_not_known_is_said_in_a_sentence(gpt2: Path, change: Header) -> None:
    edit(gpt2 / "config.json", lambda tree: tree.update(change))
    error = error_of(gpt2)
    assert (error.id, error.facts["file"]) == ("preset-unreadable", "config.json")
    assert str(error.facts["why"]).endswith("."), error.facts


@pytest.mark.parametrize(
    "change", [{"vocab_size": 10**6}, {"n_positions": 10**6}, {"n_inner": 10**6}, {"n_layer": 400}], ids=str
)
def test_nothing_is_made_of_sizes_that_the_files_do_not_hold(gpt2: Path, change: Header) -> None:
    edit(gpt2 / "config.json", lambda tree: tree.update(change))
    tracemalloc.start()
    try:
        assert error_of(gpt2).id in ("preset-unfit", "preset-in-part")
        assert tracemalloc.get_traced_memory()[1] < ROOM
    finally:
        tracemalloc.stop()


def test_lies_in_knows_such_a_folder(gpt2: Path, llama: Path) -> None:
    assert presets.lies_in(gpt2) and presets.lies_in(llama)
    (gpt2 / WEIGHTS).unlink()
    assert not presets.lies_in(gpt2)


def test_files_that_say_endlessly_much_of_themselves(llama: Path) -> None:
    """A thousand links to one file whose header has six megabytes: each was read anew."""
    write(llama / "large.safetensors", {"__metadata__": {str(number): "x" * 90 for number in range(60_000)}})
    names = ["large.safetensors", *(f"l{number}.safetensors" for number in range(50))]
    for name in names[1:]:
        (llama / name).symlink_to("large.safetensors")
    edit(
        llama / "model.safetensors.index.json",
        lambda tree: tree["weight_map"].update({f"x{number}": name for number, name in enumerate(names)}),
    )
    assert error_of(llama).facts["why"] == "Its files say more of themselves than any model's."


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": {"type": "WordPiece", "vocab": {"a": 0}, "merges": []}}, "Its model is no BPE."),
        ({"pre_tokenizer": {"type": "Metaspace"}}, "Its pieces are not of bytes."),
        ({"normalizer": {"type": "Lowercase"}}, "It changes texts by “Lowercase”."),
        ({"model": None}, "It is no tokenizer that is known"),
    ],
)
def test_a_tokenizer_of_a_kind_that_is_not_known_is_refused_where_the_folder_is_read(
    gpt2: Path, change: dict[str, object], why: str
) -> None:
    path = gpt2 / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | change), "utf-8")
    with pytest.raises(ModelError) as caught:
        reading.read(gpt2)
    assert (caught.value.id, caught.value.facts["file"]) == ("preset-unreadable", "tokenizer.json")
    assert str(caught.value.facts["why"]).startswith(why)


def test_a_tokenizer_with_more_tokens_than_the_network_is_refused_there_too(gpt2: Path) -> None:
    path = gpt2 / "tokenizer.json"
    tree = json.loads(path.read_text("utf-8"))
    tree["added_tokens"].append({"id": 320, "content": "<|new|>", "special": True, "lstrip": False, "rstrip": False})
    path.write_text(json.dumps(tree), "utf-8")
    assert refused(gpt2) == ("preset-unfit", "tokenizer.json")
