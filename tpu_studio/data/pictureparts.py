"""How many parts a picture's file has, asked before a decoder is let near it.

Pillow walks through segments, chunks and blocks one by one, in Python, and keeps what is in them: a file of some
kilobytes in a zip holds millions of empty ones. Photos have dozens. Two old ways to write pixels are decoded in Python,
too: files of those may only be small.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from typing import BinaryIO, Literal

from tpu_studio.wire.plainfiles import plainly

JPEG_SEGMENTS = 500  # before the pixels: 32 MB of notes of a camera
JPEG_SCANS = 200  # of a progressive one, which has ten
JPEG_SCANNED = 1_000_000_000  # pixels, each as often as a scan goes through it: a second and a half
PNG_CHUNKS = 2_000  # besides those of pixels
PNG_PROFILES = 1  # each is unpacked: a megabyte at most
PNG_PIXEL_CHUNKS = 500_000  # 4 GB, as they are usually written
GIF_BLOCKS = 5_000  # before the first picture
NETPBM_NOTES = 1_000  # each is looked for from the begin of what was read so far
TIFF_FAX_ROWS = 20_000  # of a fax, four pages long: each that is damaged is told by itself
TIFF_NUMBERS = 200_000  # where the stripes are, and the like
SLOW_BYTES = 4_000_000  # of a file whose pixels are decoded in Python

_BLOCK = 2**20
_PNG = b"\x89PNG\r\n\x1a\n"
_SEQUENTIAL = (0xC0, 0xC1)
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # what says how large it is
_STANDALONE = frozenset((0x01, *range(0xD0, 0xD9)))  # markers without a length
_PLAIN_NETPBM = (b"P1", b"P2", b"P3")
_NETPBM_IN_C = (255, 65_535)  # largest values
_BYTE_TYPES = (1, 2, 6, 7)  # of TIFF: bytes, letters
_TIFF_SIZES = {3: 2, 4: 4, 16: 8}  # bytes of whole numbers, by their type
_TIFF_ROWS, _TIFF_PACKED = 257, 259
_TIFF_FAX = (2, 3, 4, 32_771)


def has_too_many(data: str | bytes) -> bool:
    """Whether reading the picture in a file (by path), or in its bytes, might take seconds or gigabytes. A damaged one
    has not: who decodes it says so. Raises OSError."""
    with open(data, "rb", opener=plainly) if isinstance(data, str) else io.BytesIO(data) as file:
        try:
            return _has_too_many(file)
        except (struct.error, IndexError):  # it ends too early
            return False


def _has_too_many(file: BinaryIO) -> bool:
    begin = file.read(8)
    file.seek(2)
    if begin.startswith(b"\xff\xd8"):
        return _in_jpeg(file)
    if begin == _PNG:
        return _in_png(file)
    if begin.startswith((b"GIF87a", b"GIF89a")):
        return _in_gif(file)
    if begin.startswith((b"II", b"MM")):
        return _in_tiff(file, "<" if begin.startswith(b"II") else ">")
    if begin.startswith(b"BM"):
        file.seek(14)
        (size,) = struct.unpack("<I", file.read(4))
        file.seek(30)
        is_packed = size >= 40 and file.read(4) in (b"\1\0\0\0", b"\2\0\0\0")
        return is_packed and _is_large(file)
    if begin.startswith(b"P") and begin[1:2].isdigit():
        if begin[:2] in _PLAIN_NETPBM:
            return _is_large(file) or _notes(file) > NETPBM_NOTES
        return _is_large(file) and not _is_in_c(file)
    return False


def _is_large(file: BinaryIO) -> bool:
    return file.seek(0, io.SEEK_END) > SLOW_BYTES


def _in_jpeg(file: BinaryIO) -> bool:
    layers, pixels = -1, 0  # *layers*: of a picture that one scan may be all of
    for _ in range(JPEG_SEGMENTS):
        mark = file.read(2)
        if len(mark) < 2 or mark[0] != 0xFF:
            return False
        if mark[1] == 0xDA:
            scans = 1 if file.read(3)[2] == layers else _scans(file)
            return scans > JPEG_SCANS or (scans > 1 and scans * pixels > JPEG_SCANNED)
        if mark[1] in _FRAMES:
            _, _, height, width, parts = struct.unpack(">HBHHB", file.read(8))
            pixels, layers = height * width, parts if mark[1] in _SEQUENTIAL else -1
            file.seek(-8, io.SEEK_CUR)
        if mark[1] == 0xFF:  # one that fills
            file.seek(-1, io.SEEK_CUR)
        elif mark[1] not in _STANDALONE:
            (size,) = struct.unpack(">H", file.read(2))
            file.seek(max(0, size - 2), io.SEEK_CUR)
    return True


def _scans(file: BinaryIO) -> int:
    """A coded picture holds no mark of a scan by chance; each is gone through with all of its blocks."""
    found, before = 1, b""
    while block := file.read(_BLOCK):
        found += (before + block).count(b"\xff\xda")
        before = block[-1:] if block[-1:] == b"\xff" else b""
    return found


def _in_png(file: BinaryIO) -> bool:
    file.seek(len(_PNG))
    pixels = others = profiles = 0
    while len(head := file.read(8)) == 8:
        if head[4:] == b"IDAT":
            pixels += 1
        elif head[4:] == b"IEND":
            return False
        else:
            others += 1
            profiles += head[4:] == b"iCCP"
        if pixels > PNG_PIXEL_CHUNKS or others > PNG_CHUNKS or profiles > PNG_PROFILES:
            return True
        file.seek(int.from_bytes(head[:4], "big") + 4, io.SEEK_CUR)
    return False


def _in_gif(file: BinaryIO) -> bool:
    file.seek(10)
    flags = file.read(3)[0]
    file.seek(3 << ((flags & 7) + 1) if flags & 0x80 else 0, io.SEEK_CUR)
    blocks = 0
    while file.read(1) == b"!":
        file.read(1)
        while size := file.read(1)[0]:
            file.seek(size, io.SEEK_CUR)
            blocks += 1
            if blocks > GIF_BLOCKS:
                return True
        blocks += 1
        if blocks > GIF_BLOCKS:
            return True
    return False


def _in_tiff(file: BinaryIO, order: str) -> bool:
    (version,) = struct.unpack(order + "H", file.read(2))
    if version == 43:  # BigTIFF
        file.seek(8)
        (at,) = struct.unpack(order + "Q", file.read(8))
        file.seek(min(at, 2**62))
        (entries,) = struct.unpack(order + "Q", file.read(8))
        entry = struct.Struct(order + "HHQ8s")
    else:
        (at,) = struct.unpack(order + "I", file.read(4))
        file.seek(at)
        (entries,) = struct.unpack(order + "H", file.read(2))
        entry = struct.Struct(order + "HHI4s")
    if entries > 65_535:
        return True
    told = [entry.unpack(file.read(entry.size)) for _ in range(entries)]
    numbers: int = sum(count for _, kind, count, _ in told if kind not in _BYTE_TYPES)
    rows, packed = (_values(told, tag, order) for tag in (_TIFF_ROWS, _TIFF_PACKED))
    is_fax = any(one in _TIFF_FAX for one in packed)
    return numbers > TIFF_NUMBERS or (is_fax and max(rows, default=0) > TIFF_FAX_ROWS)


def _values(told: Sequence[tuple[int, int, int, bytes]], tag: int, order: str) -> list[int]:
    """Of each entry of that *tag* that holds one whole number."""
    ends: Literal["little", "big"] = "little" if order == "<" else "big"
    found = ((raw, _TIFF_SIZES.get(kind)) for name, kind, _, raw in told if name == tag)
    return [int.from_bytes(raw[:size], ends) for raw, size in found if size]


def _notes(file: BinaryIO) -> int:
    file.seek(0)
    return file.read(SLOW_BYTES).count(b"#")


def _is_in_c(file: BinaryIO) -> bool:
    """Of a netpbm of bytes: whether its largest value is one that needs no scaling."""
    file.seek(2)
    words = b" ".join(line.partition(b"#")[0] for line in file.read(1_000).splitlines()).split()
    return len(words) >= 3 and words[2].isdigit() and int(words[2]) in _NETPBM_IN_C
