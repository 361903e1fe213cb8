"""The file of weights of a Hugging Face folder: its header and its tensors, and whatever may stand there instead."""

from __future__ import annotations

import json
import math
import os
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.presets import decoder
from tests.unit.wire.test_decoder_folders import (
    KINDS,
    ROOM,
    WEIGHTS,
    Header,
    edit_header,
    error_of,
    gpt2,
    parts_of,
    refused,
    write,
)
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.pretrained import folder as folders
from tpu_studio.wire.pretrained import huggingface, reading, tensors
from tpu_studio.wire.pretrained.decoder import describe

__all__ = ["gpt2"]


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
    found = reading.read(gpt2)
    assert found.size_bytes == size
    assert found.files_bytes == sum((gpt2 / name).stat().st_size for name in found.files) > size  # all of it travels


@pytest.mark.parametrize("kind", ["F64", "I32", "U32"])
def test_weights_in_other_numbers_are_refused_by_their_kind(gpt2: Path, kind: str) -> None:
    edit_header(gpt2 / WEIGHTS, lambda header: header["transformer.ln_f.weight"].update(dtype=kind))
    error = error_of(gpt2)
    assert (error.id, error.facts["file"]) == ("preset-unreadable", WEIGHTS)
    assert error.facts["why"] == f"“ln_f.weight” is in numbers of the kind {kind}, which are not read."


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
