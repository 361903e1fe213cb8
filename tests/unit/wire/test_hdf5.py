"""Weights are held to what Keras writes before the HDF5 library sees them."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.weights import names, sample
from tpu_studio.wire import hdf5
from tpu_studio.wire.hdf5 import Hdf5Error, check_bytes

WRITTEN = ("h5py-3.14.0", "keras.weights", "empty")
NOT_OURS = {
    "packed": "part of kind 5",
    "growing": "may grow",
    "linked": "link to another place",
    "elsewhere": "part of kind 2",
    "beside": "part of kind 7",  # numbers in another file
    "circular": "two ways lead to one place",
    "compound": "numbers of a type",
    "texts": "numbers of a type",
    "latest": "does not begin",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_h5py_and_keras_write_passes(name: str, tmp_path: Path) -> None:
    data = sample(name)
    check_bytes(data)
    (tmp_path / "w.h5").write_bytes(b"before" + data + b"behind")
    with open(tmp_path / "w.h5", "rb") as file:
        hdf5.check(file, 6, len(data))
        with pytest.raises(Hdf5Error, match="does not begin"):
            hdf5.check(file)


@pytest.mark.parametrize("name", NOT_OURS)
def test_what_keras_never_writes_is_refused(name: str) -> None:
    with pytest.raises(Hdf5Error, match=NOT_OURS[name]):
        check_bytes(sample(name))


def test_every_sample_is_looked_at() -> None:
    assert sorted(names()) == sorted([*WRITTEN, *NOT_OURS])


def changed(name: str, mark: bytes, offset: int, value: int, size: int = 8) -> bytes:
    """That file, with another number *offset* bytes behind the first *mark*."""
    data = bytearray(sample(name))
    at = data.index(mark) + offset
    data[at : at + size] = value.to_bytes(size, "little")
    return bytes(data)


HEAP, TREE, LEAF, TEXTS = b"HEAP", b"TREE", b"SNOD", b"GCOL\1"


def test_free_places_that_go_in_circles_are_refused() -> None:
    """The look that found it: HDF5 1.14 follows them until memory ends."""
    data = bytearray(sample("keras.weights"))
    at = data.index(HEAP)
    free, names_at = (struct.unpack_from("<Q", data, at + where)[0] for where in (16, 24))
    struct.pack_into("<Q", data, names_at + free, free)  # the next one is itself
    with pytest.raises(Hdf5Error, match="circles"):
        check_bytes(bytes(data))


def test_a_list_of_texts_without_an_end_is_refused() -> None:
    """A rest of no bytes, which HDF5 1.14 looks behind for ever."""
    data = bytearray(sample("keras.weights"))
    here = data.index(TEXTS) + 16
    while struct.unpack_from("<H", data, here)[0]:
        here += 16 + -(-struct.unpack_from("<Q", data, here + 8)[0] // 8) * 8
    struct.pack_into("<Q", data, here + 8, 0)
    with pytest.raises(Hdf5Error, match="no end"):
        check_bytes(bytes(data))


@pytest.mark.parametrize(
    ("mark", "offset", "value", "size", "why"),
    [
        (HEAP, 8, 2**40, 8, "leads out of the file"),
        (HEAP, 16, 2**40, 8, "circles, or out"),
        (HEAP, 24, 0, 8, "one place"),
        (HEAP, 4, 1, 1, "no names"),
        (TREE, 4, 1, 1, "no list"),
        (TREE, 5, 21, 1, "no list"),
        (TREE, 6, 33, 2, "no list"),
        (TREE, 32, 96, 8, "one place"),
        (TREE, 8, 96, 8, "goes on elsewhere"),
        (TREE, 24, 2**40, 8, "name without an end"),
        (TREE, 40, 2**40, 8, "name without an end"),
        (TREE, 16, 96, 8, "goes on elsewhere"),
        (LEAF, 6, 9, 2, "no links"),
        (LEAF, 8, 2**30, 8, "name without an end"),
        (LEAF, 16, 2**63, 8, "leads out"),
        (TEXTS, 8, 2**62, 8, "leads out"),
        (TEXTS, 24, 2**62, 8, "no end"),
        (b"dtype\0", 40, 9999, 4, "text is not there"),
        (b"dtype\0", 40, 3, 4, "text is not there"),
        (b"dtype\0", 40, 0, 4, "text is not there"),
        (b"dtype\0", 44, 2**40, 8, "leads out"),
        (b"dtype\0", 52, 999, 4, "text is not there"),
        (b"\2\2\2\1\0\0\0\0", 0, 0, 1, "part of kind 5"),
        (b"\3\1", 2, 0, 8, "one place"),
        (b"\3\1", 10, 2**40, 8, "leads out"),
        (b"\3\1", 10, 3, 8, "numbers in 3 bytes"),
    ],
)
def test_what_leads_elsewhere_is_refused(mark: bytes, offset: int, value: int, size: int, why: str) -> None:
    with pytest.raises(Hdf5Error, match=why):
        check_bytes(changed("keras.weights", mark, offset, value, size))


def test_parts_without_number_end() -> None:
    head = sample("empty")
    at = struct.unpack_from("<Q", head, 64)[0]  # the outermost group, with nothing but parts that mean nothing
    many = bytearray(head[: at + 16] + bytes(8) * 600_000)
    struct.pack_into("<I", many, at + 8, 8 * 600_000)
    struct.pack_into("<Q", many, 40, len(many))
    with pytest.raises(Hdf5Error, match="more parts than any"):
        check_bytes(bytes(many))


def test_a_text_of_no_bytes_is_looked_for_as_others_are() -> None:
    """The library reads the list at its address, which was any place: a look found one without an end there."""
    data = bytearray(sample("h5py-3.14.0"))
    at = data.index(b"note_0\0")
    where = at + 8 + 24 + 8 + 4
    assert data[where - 4 : where] == bytes(4)
    data[where : where + 8] = (96).to_bytes(8, "little")
    with pytest.raises(Hdf5Error, match="no texts"):
        check_bytes(bytes(data))


def test_links_without_number_end() -> None:
    """Leaves of a list were counted, the eight links in each were not: 480,000 of them took 21 seconds."""
    head = bytearray(sample("empty"))
    (header,) = struct.unpack_from("<Q", head, 64)
    names, leaf, tree, heap = len(head), len(head) + 64, 24 + 16 * 32 + 8, 8 + 40 * 8
    leaves, children = 70_000, []
    link = struct.pack("<QQII16x", 8, header, 0, 0)
    body = bytearray(64) + (b"SNOD\1\0" + struct.pack("<H", 8) + link * 8) * leaves
    body[:32] = b"HEAP\0\0\0\0" + struct.pack("<QQQ", 32, 1, names + 32)
    body[32:44] = bytes(8) + b"abc\0"
    children, height = [leaf + heap * number for number in range(leaves)], 0
    while height == 0 or len(children) > 1:
        parts = [children[at : at + 32] for at in range(0, len(children), 32)]
        places = [len(head) + len(body) + tree * number for number in range(len(parts))]
        beside = zip([2**64 - 1, *places], [*places[1:], 2**64 - 1], strict=False)
        for part, (before, after) in zip(parts, beside, strict=True):
            node = b"TREE\0" + bytes([height]) + struct.pack("<HQQ", len(part), before, after)
            node += b"".join(struct.pack("<QQ", 8, child) for child in part) + struct.pack("<Q", 8)
            body += node.ljust(tree, b"\0")
        children, height = places, height + 1
    at = head.index(struct.pack("<HH", 0x11, 16), header) + 8
    struct.pack_into("<QQ", head, at, children[0], names)
    struct.pack_into("<QQ", head, 80, children[0], names)
    struct.pack_into("<Q", head, 40, len(head) + len(body))
    with pytest.raises(Hdf5Error, match="more parts than any"):
        check_bytes(bytes(head + body))


def test_files_have_so_many_parts_together(tmp_path: Path) -> None:
    (tmp_path / "w.h5").write_bytes(sample("h5py-3.14.0"))
    with open(tmp_path / "w.h5", "rb") as file:
        hdf5.check(file, bound=hdf5.Bound(2000))
        bound = hdf5.Bound(2000)
        with pytest.raises(Hdf5Error, match="more parts than any"):
            for _ in range(3):
                hdf5.check(file, bound=bound)


def test_a_file_that_is_cut_short_meanwhile_is_refused(tmp_path: Path) -> None:
    (tmp_path / "w.h5").write_bytes(sample("h5py-3.14.0"))
    size = (tmp_path / "w.h5").stat().st_size
    with open(tmp_path / "w.h5", "rb") as file, pytest.raises(Hdf5Error, match="cut short"):
        os.truncate(tmp_path / "w.h5", 4000)
        hdf5._File(lambda at, count: (file.seek(at), file.read(count))[1], size, hdf5.Bound()).check()


def test_an_empty_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "w.h5").touch()
    with open(tmp_path / "w.h5", "rb") as file, pytest.raises(Hdf5Error, match="does not begin"):
        hdf5.check(file)


@given(st.sampled_from(WRITTEN), st.data())
def test_whatever_is_changed_it_passes_or_is_refused(name: str, data: st.DataObject) -> None:
    file = bytearray(sample(name))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(file) // 8 - 1)) * 8
        there = data.draw(st.integers(0, len(file) // 8 - 1)) * 8
        value = data.draw(st.sampled_from([file[there : there + 8], there.to_bytes(8, "little"), b"\xff" * 8]))
        file[at : at + 8] = value
    cut = data.draw(st.sampled_from([None, None, len(file) // 2, 100, 10]))
    try:
        check_bytes(bytes(file[:cut]))
    except Hdf5Error:
        pass
