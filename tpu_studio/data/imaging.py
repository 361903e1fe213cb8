"""One picture: its header, its pixels as the model gets them, and why it cannot be used.

Every picture becomes 8-bit RGB (or gray, when all are) of one square size: the middle is cut out and scaled. Cutting
the middle rather than padding or squeezing, because what a photo shows stands mostly in its middle, keeps its
proportions and gets all the pixels there are; square pictures (the hands) lose nothing. Only Pillow's decoders for
common formats are let near a file; none of them starts another program.
"""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass

import numpy as np
from PIL import (
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    JpegImagePlugin,
    PngImagePlugin,
    PpmImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from tpu_studio.data.arrays import Array, Bytes
from tpu_studio.data.quickheader import quick_header

# Named by their plugins: Pillow knows a format only once its plugin is imported. JPEG's opens MPO as well.
FORMATS = tuple(plugin.format for plugin in (
    JpegImagePlugin.JpegImageFile, PngImagePlugin.PngImageFile, GifImagePlugin.GifImageFile,
    BmpImagePlugin.BmpImageFile, WebPImagePlugin.WebPImageFile, TiffImagePlugin.TiffImageFile,
    PpmImagePlugin.PpmImageFile,
))
SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}
)
MOST_PIXELS = 89_478_485  # Pillow's own line before it suspects a decompression bomb
GRAY_MODES = frozenset({"1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N", "F"})
_WRONG = (OSError, SyntaxError, ValueError, EOFError, KeyError, IndexError, TypeError, struct.error, zlib.error,
          OverflowError, MemoryError, Image.DecompressionBombError, Image.DecompressionBombWarning)


class BrokenImage(Exception):
    """A picture that cannot be used. ``why``: empty-file, not-an-image, truncated, too-many-pixels, unreadable."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True)
class Header:
    width: int
    height: int
    mode: str
    format: str
    turned: bool
    """True when the camera noted that the picture lies on its side or is mirrored."""


def open_image(data: str | bytes) -> Image.Image:
    """The picture in a file (by path) or in its bytes, not yet decoded. Raises `BrokenImage`."""
    try:
        source = data if isinstance(data, str) else io.BytesIO(data)
        image = Image.open(source, formats=FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise BrokenImage("too-many-pixels") from error
    except _WRONG as error:
        raise BrokenImage(_why_not_opened(data)) from error
    if image.width * image.height > MOST_PIXELS:
        image.close()
        raise BrokenImage("too-many-pixels")
    if image.width < 1 or image.height < 1:
        image.close()
        raise BrokenImage("not-an-image")
    return image


def probe(data: str | bytes) -> Header:
    """Size, mode and format, from the first bytes of the file. Raises `BrokenImage`."""
    quick = quick_header(data if isinstance(data, bytes) else _first_bytes(data), whole=False)
    if quick is not None and quick.width * quick.height <= MOST_PIXELS:
        return Header(quick.width, quick.height, quick.mode, quick.format, False)
    with open_image(data) as image:
        return Header(image.width, image.height, image.mode, image.format or "", _orientation(image) != 1)


def decode(data: str | bytes, side: int, channels: int) -> Bytes:
    """The picture as [side, side, channels] uint8. Raises `BrokenImage`."""
    with open_image(data) as image:
        return fit(image, side, channels)


def fit(image: Image.Image, side: int, channels: int) -> Bytes:
    """The middle of an opened picture, upright, as [side, side, channels] uint8. Raises `BrokenImage`."""
    try:
        if image.format in ("JPEG", "MPO") and image.mode in ("RGB", "L"):
            image.draft(None, (2 * side, 2 * side))  # a large photo is scaled down while it is decoded
        image.load()
        orientation = _orientation(image)
        plain = eight_bit(image, 1 if image.mode in GRAY_MODES else channels)
        short = min(plain.size)
        left, top = (plain.width - short) / 2, (plain.height - short) / 2
        if plain.size != (side, side):
            box = (left, top, left + short, top + short)
            plain = plain.resize((side, side), Image.Resampling.BICUBIC, box=box)
        if channels == 3:
            plain = plain.convert("RGB")  # a gray one only now, when it is small
        if orientation != 1:
            plain = plain.transpose(_TURNS[orientation])
        return np.asarray(plain, dtype=np.uint8).reshape(side, side, channels)
    except _WRONG as error:
        raise BrokenImage("truncated") from error


def eight_bit(image: Image.Image, channels: int) -> Image.Image:
    """A loaded picture as RGB (3) or L (1): transparency on white, 16 bits scaled, the first frame of several."""
    mode = image.mode
    if mode in ("RGB", "L"):
        plain = image
    elif mode.startswith("I") or mode == "F":
        plain = _from_deep(image)
    elif mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        layered = image.convert("RGBA")
        plain = Image.new("RGB", image.size, (255, 255, 255))
        plain.paste(layered, mask=layered.getchannel("A"))
    else:
        plain = image.convert("L" if mode == "1" else "RGB")
    wanted = "RGB" if channels == 3 else "L"
    return plain if plain.mode == wanted else plain.convert(wanted)


def as_png(data: bytes) -> bytes:
    """The whole picture as a PNG of 8 bits, RGB or L, its orientation noted: `fit` makes the same of both.

    Raises:
        BrokenImage: as `decode`.
    """
    with open_image(data) as image:
        try:
            image.load()
            orientation = _orientation(image)
            plain = eight_bit(image, 1 if image.mode in GRAY_MODES else 3)
            noted = Image.Exif()
            noted[0x0112] = orientation
            stored = io.BytesIO()
            clean = Image.fromarray(np.asarray(plain))  # without the notes of the source
            clean.save(stored, "PNG", compress_level=3, **({"exif": noted} if orientation != 1 else {}))
            return stored.getvalue()
        except _WRONG as error:
            raise BrokenImage("truncated") from error


def png_of(pixels_HxWxC: Bytes) -> bytes:
    """A PNG of these pixels, exactly."""
    stored = io.BytesIO()
    gray = pixels_HxWxC.shape[2] == 1
    Image.fromarray(pixels_HxWxC[..., 0] if gray else pixels_HxWxC).save(stored, "PNG", compress_level=3)
    return stored.getvalue()


def resize_square(gray_HxW: Bytes, side: int) -> Bytes:
    """A gray square array at another size."""
    image = Image.fromarray(gray_HxW)
    return np.asarray(image.resize((side, side), Image.Resampling.BICUBIC), dtype=np.uint8)


_STRIP_PIXELS = 1 << 20
_SIXTEEN_BITS: Bytes = np.rint(np.arange(1 << 16) / 257.0).astype(np.uint8)


def _from_deep(image: Image.Image) -> Image.Image:
    """Gray values of more than 8 bits → 8 bits: 16-bit ones by their range, floating ones from 0…1 or as they are.

    In strips: a picture of 180 KB may unpack to 180 MB, and copies of that as floating numbers to ten times as much.
    """
    rows = max(1, _STRIP_PIXELS // max(1, image.width))
    boxes = [(0, top, image.width, min(image.height, top + rows)) for top in range(0, image.height, rows)]
    sixteen = image.mode.startswith("I;16")
    top = 65535.0 if sixteen else max(float(_numbers(image.crop(box)).max(initial=0.0)) for box in boxes)
    plain = Image.new("L", image.size)
    for box in boxes:
        strip = image.crop(box)
        scaled = _SIXTEEN_BITS[np.asarray(strip)] if sixteen else _scaled(_numbers(strip), top, image.mode == "F")
        plain.paste(Image.fromarray(scaled), box[:2])
    return plain


def _numbers(image: Image.Image) -> Array:
    with np.errstate(invalid="ignore"):  # bytes of a damaged file that are no number at all
        return np.nan_to_num(np.asarray(image).astype(np.float64))


def _scaled(numbers: Array, top: float, floating: bool) -> Bytes:
    """A strip of a picture whose largest value is *top*."""
    if floating:
        numbers = numbers * 255.0 if top <= 1.0 else numbers
    elif top > 255:
        numbers = numbers / 257.0
    return np.clip(np.rint(numbers), 0, 255).astype(np.uint8)


def _first_bytes(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(4096)
    except OSError:
        return b""  # Pillow meets the same and says why


def _orientation(image: Image.Image) -> int:
    try:
        value = image.getexif().get(0x0112, 1)
    except _WRONG:
        return 1  # a damaged note of the camera does not spoil the picture
    return int(value) if value in _TURNS else 1


def _why_not_opened(data: str | bytes) -> str:
    if isinstance(data, bytes):
        return "not-an-image" if data else "empty-file"
    try:
        with open(data, "rb") as file:
            return "not-an-image" if file.read(1) else "empty-file"
    except OSError:
        return "unreadable"


_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_270, 7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
