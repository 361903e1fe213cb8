"""Pictures of millions of empty parts are not opened: a few kilobytes of a zip took seconds and a gigabyte."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tpu_studio.data import pictureparts
from tpu_studio.data.imaging import BrokenImage, decode, probe
from tpu_studio.data.pictureparts import has_too_many
from tpu_studio.domain.sentences.data import WHY_BROKEN


def saved(format: str, mode: str = "RGB", size: tuple[int, int] = (40, 30), **how: object) -> bytes:
    stored = io.BytesIO()
    Image.new(mode, size, 7).save(stored, format, **how)
    return stored.getvalue()


def chunk(name: bytes, data: bytes = b"") -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def jpeg(part: bytes) -> bytes:
    whole = saved("JPEG")
    return whole[:2] + part * 600 + whole[2:]


def png(part: bytes, count: int, before: bytes = b"IDAT") -> bytes:
    whole = saved("PNG")
    at = whole.index(before) - 4
    return whole[:at] + part * count + whole[at:]


def gif(part: bytes) -> bytes:
    whole = saved("GIF", "P")
    at = whole.index(b",", 13 + (3 << ((whole[10] & 7) + 1)))
    return whole[:at] + part + whole[at:]


def tiff(order: str, big: bool) -> bytes:
    """A stripe of one byte for each row, all the same one."""
    count = 200_001
    tags = [(256, 1), (257, count), (258, 8), (259, 1), (262, 1), (277, 1), (278, 1)]
    entry = struct.Struct(order + ("HHQQ" if big else "HHII"))
    kind = 16 if big else 4
    head = struct.pack(order + "2sHHHQ", b"", 43, 8, 0, 16) if big else struct.pack(order + "2sHI", b"", 42, 8)
    data_at = len(head) + (8 if big else 2) + (len(tags) + 2) * entry.size + 8
    told = [entry.pack(tag, kind, 1, value) for tag, value in tags]
    told += [entry.pack(273, kind, count, data_at), entry.pack(279, kind, count, data_at)]
    begin = (b"II" if order == "<" else b"MM") + head[2:]
    return begin + struct.pack(order + ("Q" if big else "H"), len(told)) + b"".join(told) + bytes(8 + 8 * count)


def fax(order: str, big: bool, rows: int) -> bytes:
    """Rows of eight pixels, all damaged: a line was written to the terminal for each."""
    data = b"\x5a" * 50_000
    tags = [(256, 8), (257, rows), (258, 1), (259, 3), (262, 0), (273, 0), (277, 1), (278, rows), (279, len(data))]
    entry = struct.Struct(order + ("HHQQ" if big else "HHII"))
    head = struct.pack(order + "2sHHHQ", b"", 43, 8, 0, 16) if big else struct.pack(order + "2sHI", b"", 42, 8)
    data_at = len(head) + (8 if big else 2) + len(tags) * entry.size + 8
    told = [entry.pack(tag, 16 if big else 4, 1, value or data_at) for tag, value in tags if tag != 262]
    told.insert(4, entry.pack(262, 16 if big else 4, 1, 0))
    begin = (b"II" if order == "<" else b"MM") + head[2:]
    return begin + struct.pack(order + ("Q" if big else "H"), len(told)) + b"".join(told) + bytes(8) + data


def bmp() -> bytes:
    whole = bytearray(saved("BMP", "P"))
    whole[30:34] = struct.pack("<I", 1)  # in runs
    return bytes(whole) + b"\x01\x00" * 2_000_000


def many_scans(width: int, height: int, scans: int) -> bytes:
    """The size it says is not that of its pixels, which nobody comes to."""
    whole = saved("JPEG", progressive=True)
    at = whole.index(b"\xff\xc2") + 5
    assert whole[at : at + 4] == struct.pack(">HH", 30, 40)
    return whole[:at] + struct.pack(">HH", height, width) + whole[at + 4 : -2] + SCAN * scans + whole[-2:]


SCAN = b"\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x00\x7f"
HOSTILE: dict[str, Callable[[], bytes]] = {
    "a JPEG of empty segments": lambda: jpeg(b"\xff\xe3\x00\x02"),
    "a JPEG of bytes that fill": lambda: jpeg(b"\xff"),
    "a JPEG of scans that say nothing": lambda: saved("JPEG", progressive=True)[:-2] + SCAN * 300 + b"\xff\xd9",
    "a large JPEG of some scans": lambda: many_scans(65_000, 1_200, 14),
    "a PNG of profiles": lambda: png(chunk(b"iCCP", b"k\0\0" + zlib.compress(bytes(1_000_000))), 2),
    "a PNG of empty chunks": lambda: png(chunk(b"prVt"), 2_001),
    "a PNG of them behind its pixels": lambda: png(chunk(b"prVt"), 2_001, b"IEND"),
    "a PNG of empty pixels": lambda: png(chunk(b"IDAT"), 500_001),
    "a GIF of a comment in letters": lambda: gif(b"!\xfe" + b"\x01a" * 5_001 + b"\0"),
    "a GIF of empty comments": lambda: gif(b"!\xfe\0" * 5_001),
    "a TIFF of stripes": lambda: tiff("<", False),
    "a TIFF of the other order": lambda: tiff(">", False),
    "a BigTIFF": lambda: tiff("<", True),
    "a BMP in runs": bmp,
    "a netpbm in words": lambda: b"P2\n1000 2000\n255\n" + b"7 " * 2_000_001,
    "a netpbm of notes": lambda: b"P2\n" + b"#\n" * 200_000 + b"4 4\n255\n" + b"7 " * 16,
    "a TIFF of a fax without end": lambda: fax("<", False, 4_000_000),
    "a BigTIFF of one, in the other order": lambda: fax(">", True, 4_000_000),
    "a netpbm to be scaled": lambda: b"P5\n# 255\n2000 2001\n100\n" + b"a" * 4_002_000,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_it_is_refused_before_a_decoder_opens_it(what: str) -> None:
    data = HOSTILE[what]()
    assert has_too_many(data)
    with pytest.raises(BrokenImage) as caught:
        decode(data, 8, 3)
    assert caught.value.why == "too-many-parts" and caught.value.why in WHY_BROKEN


def test_of_a_damaged_picture_no_library_speaks(tmp_path: Path) -> None:
    """libtiff wrote a line for each row, from C: 250 MB of one file. Pillow warned with a line of its own source."""
    scan, photo = fax("<", False, 3_000), bytearray(saved("JPEG"))
    assert not has_too_many(scan)
    photo[2:2] = b"\xff\xe2\x00\x20MPF\0II*\0\x08\0\0\0" + bytes(18)
    (tmp_path / "scan.tif").write_bytes(scan)
    (tmp_path / "photo.jpg").write_bytes(photo)
    program = """
import sys
from tpu_studio.data.imaging import BrokenImage, decode
for path in sys.argv[1:]:
    try:
        decode(path, 8, 3)
    except BrokenImage:
        pass
"""
    argv = [sys.executable, "-c", program, str(tmp_path / "scan.tif"), str(tmp_path / "photo.jpg")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_file_is_looked_at_as_its_bytes_are(tmp_path: object) -> None:
    path = f"{tmp_path}/x.jpg"
    with open(path, "wb") as file:
        file.write(jpeg(b"\xff\xe3\x00\x02"))
    with pytest.raises(BrokenImage, match="too-many-parts"):
        decode(path, 8, 3)


PHOTO = {
    "exif": Image.Exif(),
    "icc_profile": bytes(3_000_000),
    "comment": b"of a camera",
}


@pytest.mark.parametrize(
    "data",
    [
        saved("JPEG", progressive=True),
        saved("JPEG", **PHOTO),
        saved("PNG", "RGBA", (900, 900), icc_profile=bytes(100_000)),
        saved("GIF", "P", comment=b"a" * 60_000),
        saved("TIFF", compression="tiff_lzw"),
        saved("TIFF", "I;16", (20, 3_000)),
        saved("BMP"),
        saved("PPM", "RGB", (2_000, 1_000)),
        saved("WEBP"),
        b"P2\n2 1\n9\n1 2",
        b"P5 2 1 100 ab",
        tiff("<", False)[:60],
    ],
)
def test_photos_as_cameras_and_programs_save_them_have_few(data: bytes) -> None:
    assert not has_too_many(data)


@pytest.mark.filterwarnings("ignore")  # Pillow's, of damaged TIFF
@given(
    st.sampled_from([b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"II*\0", b"MM\0+", b"BM", b"P5 "]),
    st.binary(max_size=80),
)
def test_what_is_damaged_is_left_to_the_decoder(begin: bytes, rest: bytes) -> None:
    assert has_too_many(begin + rest) in (False, True)
    for act in (probe, lambda data: decode(data, 8, 3)):
        try:
            act(begin + rest)
        except BrokenImage as error:
            assert error.why in WHY_BROKEN


def test_the_bounds_are_far_from_what_is_saved() -> None:
    assert pictureparts.JPEG_SEGMENTS * 65_533 > 30_000_000
