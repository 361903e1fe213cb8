from __future__ import annotations

import io
import struct
import tracemalloc
from pathlib import Path

import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_studio.data.shards import Records
from tpu_studio.data.tfrecord import (
    RecordWriter,
    frame,
    index_records,
    masked_crc,
    read_record,
    read_records,
    sha256_of,
)
from tpu_studio.wire.errors import DataError


def written(path: Path, records: list[bytes]) -> RecordWriter:
    with open(path, "wb") as file:
        writer = RecordWriter(file)
        for record in records:
            writer.write(record)
        writer.flush()
    return writer


@given(st.lists(st.binary(max_size=300), max_size=20))
@settings(max_examples=60)
def test_what_was_written_is_what_is_read(tmp_path: Path, records):
    path = tmp_path / "some.tfrecord"
    writer = written(path, records)

    assert list(read_records(path)) == records
    assert [read_record(path, *place) for place in index_records(path)] == records
    assert (writer.records, writer.bytes, writer.sha256) == (len(records), path.stat().st_size, sha256_of(path))


def test_records_without_end_take_no_more_room_than_their_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.tfrecord"
    path.write_bytes(frame(b"") * 100_000)
    tracemalloc.start()
    try:
        assert len(Records.of([path, path], (8, 8, 3), 2)) == 200_000
        assert tracemalloc.get_traced_memory()[1] < 25_000_000
    finally:
        tracemalloc.stop()


def test_the_checksum_is_the_masked_one_of_tensorflow():
    # The check value of CRC-32C ("123456789" gives 0xE3069283), rotated right by 15 and shifted by 0xa282ead8.
    assert google_crc32c.value(b"123456789") == 0xE3069283
    rotated = (0xE3069283 >> 15 | 0xE3069283 << 17) & 0xFFFFFFFF
    assert masked_crc(b"123456789") == (rotated + 0xA282EAD8) & 0xFFFFFFFF


def test_a_frame_is_length_checksum_bytes_checksum():
    framed = frame(b"abc")

    assert struct.unpack_from("<Q", framed)[0] == 3
    assert framed[12:15] == b"abc"
    assert len(framed) == 16 + 3


@given(st.integers(0, 10_000), st.integers(0, 255))
@settings(max_examples=80)
def test_a_changed_byte_anywhere_is_noticed(tmp_path: Path, place, value):
    path = tmp_path / "some.tfrecord"
    written(path, [b"first record", b"second record"])
    data = bytearray(path.read_bytes())
    place %= len(data)
    if data[place] == value:
        return
    data[place] = value
    path.write_bytes(data)

    with pytest.raises(DataError) as caught:
        list(read_records(path))
    assert caught.value.id == "data-shard-damaged"


@pytest.mark.parametrize("kept", [1, 11, 13, 20, 27])
def test_a_torn_end_is_noticed(tmp_path, kept):
    path = tmp_path / "some.tfrecord"
    written(path, [b"first record"])
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(DataError) as caught:
        list(read_records(path))
    assert (caught.value.id, caught.value.facts["why"]) == ("data-shard-damaged", "cut-off")


def test_a_missing_file_is_data_missing(tmp_path):
    with pytest.raises(DataError) as caught:
        list(read_records(tmp_path / "none.tfrecord"))
    assert caught.value.id == "data-missing"


def test_the_writer_writes_large_pieces_not_small_ones():
    class Counting(io.BytesIO):
        writes = 0

        def write(self, data):
            self.writes += 1
            return super().write(data)

    file = Counting()
    writer = RecordWriter(file)
    for _ in range(3000):
        writer.write(b"x" * 1000)
    writer.flush()

    assert file.writes <= 35  # 3 MB
