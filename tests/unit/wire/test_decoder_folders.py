"""A Hugging Face folder of a language model as a base: what is read of it, and every reason for which it is refused."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.presets import decoder, decoders
from tpu_studio.wire import presets
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.pretrained import folder as folders
from tpu_studio.wire.pretrained import huggingface, reading, tensors
from tpu_studio.wire.pretrained.decoder import describe
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
    assert "8,000,000,000 are read at most" in str(error.facts["why"])


# ------------------------------------------------------------------------------------------- the file of weights


@pytest.mark.parametrize("kept", [0, 7, 8, 100, -1], ids=str)
def test_a_file_that_ends_early_is_there_in_part(gpt2: Path, kept: int) -> None:
    (gpt2 / WEIGHTS).write_bytes((gpt2 / WEIGHTS).read_bytes()[:kept])
    assert refused(gpt2) == ("preset-in-part", WEIGHTS)


def test_a_file_with_more_behind_its_tensors_is_none(gpt2: Path) -> None:
    with open(gpt2 / WEIGHTS, "ab") as file:
        file.write(b"more")
    assert refused(gpt2) == ("preset-unreadable", WEIGHTS)


@pytest.mark.parametrize("length", [1 << 60, (1 << 64) - 1, 10_000_001, 200], ids=str)
def test_a_header_longer_than_the_file_or_than_any_is_not_read(gpt2: Path, length: int) -> None:
    (gpt2 / WEIGHTS).write_bytes(length.to_bytes(8, "little") + b"{}")
    if length == 10_000_001:
        os.truncate(gpt2 / WEIGHTS, 2 * length)
    tracemalloc.start()
    try:
        assert refused(gpt2) == ("preset-in-part", WEIGHTS)
        assert tracemalloc.get_traced_memory()[1] < ROOM
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "header",
    [b"", b"{", b"\xff\xfe", b"[]", b"7", b"null", b"[" * 5000 + b"]" * 5000, b'{"a":' * 150 + b"1" + b"}" * 150],
    ids=["none", "open", "no letters", "list", "number", "null", "deep lists", "deep objects"],
)
def test_a_header_that_is_none(gpt2: Path, header: bytes) -> None:
    write(gpt2 / WEIGHTS, header)
    assert refused(gpt2) == ("preset-unreadable", WEIGHTS)


def test_a_header_of_more_tensors_than_any(gpt2: Path) -> None:
    told = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    write(gpt2 / WEIGHTS, {str(number): told for number in range(100_001)})
    error = error_of(gpt2)
    assert (error.id, error.facts["why"]) == ("preset-unreadable", "There are more than 100,000 tensors.")


ONE = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
TWO = {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}


@pytest.mark.parametrize(
    "change",
    [
        {"data_offsets": [-8, 0]},
        {"data_offsets": [8, 0]},
        {"data_offsets": [0, 4]},
        {"data_offsets": [0]},
        {"data_offsets": [0, 8, 16]},
        {"data_offsets": [0.0, 8.0]},
        {"data_offsets": [False, 8]},
        {"data_offsets": "08"},
        {"data_offsets": None},
        {"data_offsets": [0, 1 << 70]},
        {"data_offsets": [0, 10**4299]},
        {"shape": [3]},
        {"shape": [-2]},
        {"shape": [-1, -2]},
        {"shape": [True, 2]},
        {"shape": ["2"]},
        {"shape": "2"},
        {"shape": {}},
        {"shape": [1] * 9},
        {"shape": [1 << 62, 1 << 62]},
        {"shape": [0, 10**4299]},
        {"dtype": "F16"},
        {"dtype": ["F32"]},
        {"dtype": None},
    ],
    ids=lambda change: str(change)[:60],
)
def test_a_tensor_that_is_described_as_none_is(gpt2: Path, change: Header) -> None:
    write(gpt2 / WEIGHTS, {"a": {**ONE, **change}, "b": TWO}, bytes(16))
    error = error_of(gpt2)
    assert (error.id, error.facts["file"]) == ("preset-unreadable", WEIGHTS)
    assert len(str(error.facts["why"])) < 300


@pytest.mark.parametrize("told", [None, 7, "F32", [], [ONE], {}, True], ids=str)
def test_a_tensor_that_is_not_described(gpt2: Path, told: object) -> None:
    write(gpt2 / WEIGHTS, {"a": told, "b": ONE}, bytes(8))
    assert refused(gpt2) == ("preset-unreadable", WEIGHTS)


@pytest.mark.parametrize(
    ("offsets", "why"),
    [
        ([0, 8], "upon one another"),
        ([4, 12], "upon one another"),
        ([12, 20], "something else"),
    ],
)
def test_tensors_upon_one_another_or_with_room_between_them(gpt2: Path, offsets: list[int], why: str) -> None:
    write(gpt2 / WEIGHTS, {"a": ONE, "b": {**TWO, "data_offsets": offsets}}, bytes(offsets[1]))
    error = error_of(gpt2)
    assert error.id == "preset-unreadable" and why in str(error.facts["why"])


def test_a_name_that_is_there_twice_leaves_a_hole(gpt2: Path) -> None:
    write(gpt2 / WEIGHTS, f'{{"a": {json.dumps(ONE)}, "a": {json.dumps(TWO)}}}'.encode(), bytes(16))
    assert refused(gpt2) == ("preset-unreadable", WEIGHTS)


def test_a_tensor_beyond_the_end_of_its_file(gpt2: Path) -> None:
    write(gpt2 / WEIGHTS, {"a": ONE, "b": TWO}, bytes(12))
    error = error_of(gpt2)
    assert error.id == "preset-in-part" and "bytes that its start names" in str(error.facts["why"])


def test_a_tensor_of_another_shape_than_the_network_s(gpt2: Path) -> None:
    def turned(header: Header) -> None:
        header["transformer.wpe.weight"]["shape"].reverse()

    edit_header(gpt2 / WEIGHTS, turned)
    error = error_of(gpt2)
    assert (error.id, error.facts["file"]) == ("preset-unfit", WEIGHTS)
    assert error.facts["why"] == "“wpe.weight” has the shape (32, 64), and (64, 32) by its description."


@pytest.mark.parametrize("name", KINDS)
def test_each_tensor_of_the_network_is_looked_for(tmp_path: Path, name: str) -> None:
    folder = decoder(name, tmp_path)
    files = sorted(folder.glob("*.safetensors"))
    network = describe(json.loads((folder / "config.json").read_text()))
    there = {tensor for file in files for tensor in parts_of(file)[0] if tensor != "__metadata__"}
    wanted = {one.name for one in network.tensors()}
    assert len(there) == len(wanted)
    for tensor in sorted(there)[:: max(1, len(there) // 8)]:
        (file,) = [file for file in files if tensor in parts_of(file)[0]]
        before = file.read_bytes()
        edit_header(file, lambda header, tensor=tensor: header.update(other=header.pop(tensor)))  # type: ignore[misc]
        error = error_of(folder)
        assert error.id == "preset-in-part" and tensor.split(".")[-2] in str(error.facts["why"])
        file.write_bytes(before)


def test_tensors_in_other_numbers_beside_the_weights_are_not_asked_for(gpt2: Path) -> None:
    header, numbers = parts_of(gpt2 / WEIGHTS)
    end = len(numbers)
    header["h.0.attn.bias"] = {"dtype": "BOOL", "shape": [64], "data_offsets": [end, end + 64]}
    header["odd"] = {"dtype": "F4", "shape": [3], "data_offsets": [end + 64, end + 66]}
    size = reading.read(gpt2).size_bytes
    write(gpt2 / WEIGHTS, header, numbers + bytes(66))
    assert reading.read(gpt2).size_bytes == size


@pytest.mark.parametrize("kind", ["F64", "I32", "U32"])
def test_weights_in_other_numbers_are_refused_by_their_kind(gpt2: Path, kind: str) -> None:
    edit_header(gpt2 / WEIGHTS, lambda header: header["transformer.ln_f.weight"].update(dtype=kind))
    error = error_of(gpt2)
    assert (error.id, error.facts["file"]) == ("preset-unreadable", WEIGHTS)
    assert error.facts["why"] == f"“ln_f.weight” is in numbers of the kind {kind}, which are not read."


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


# ---------------------------------------------------------------------------------------------- whatever stands there

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 66), 1 << 66) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
counts = st.integers(-1, 70) | st.sampled_from([1 << 31, 1 << 62, 1 << 64])
described = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(["F32", "F16", "BF16", "I8", "BOOL", ""]) | anything,
        "shape": st.lists(counts, max_size=3) | anything,
        "data_offsets": st.lists(counts, min_size=2, max_size=2) | anything,
    },
)
headers = st.dictionaries(st.text(max_size=4) | st.just("__metadata__"), described | anything, max_size=4)


@given(header=headers | anything, numbers=st.binary(max_size=64))
def test_whatever_a_header_says_it_is_refused_or_each_tensor_lies_within_the_file(
    header: object, numbers: bytes
) -> None:
    with tempfile.TemporaryDirectory() as root:
        check_header(Path(root), header, numbers)


def check_header(root: Path, header: object, numbers: bytes) -> None:
    write(root / WEIGHTS, header, numbers)
    size = (root / WEIGHTS).stat().st_size
    try:
        found = tensors.places_of(folders.Folder(root, root), (WEIGHTS,))
    except ModelError as error:
        assert error.id in ("preset-unreadable", "preset-in-part") and error.facts["file"] == WEIGHTS
        assert len(str(error.facts["why"])) < 400
        return
    places = sorted((place.start, place.start + place.size) for place in found.values())
    ends = size - len(numbers)
    for begin, end in places:
        assert begin == ends <= end
        ends = end
    assert ends == size
    for place in found.values():
        if place.is_of_weights:
            assert place.size == math.prod(place.shape) * tensors.BYTES[place.kind]


@given(data=st.binary(max_size=200), length=st.integers(0, 200) | st.integers(0, (1 << 64) - 1))
def test_whatever_bytes_a_file_has(data: bytes, length: int) -> None:
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / WEIGHTS).write_bytes(length.to_bytes(8, "little") + data)
        with pytest.raises(ModelError):
            found = tensors.places_of(folders.Folder(Path(root), Path(root)), (WEIGHTS,))
            huggingface.check_whole(folders.Folder(Path(root), Path(root)), smallest(), found)


def smallest() -> Any:
    small = dict.fromkeys(("n_embd", "n_head", "n_layer", "n_positions", "vocab_size", "n_inner"), 2)
    return describe({"model_type": "gpt2", **small, "n_head": 1})


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
