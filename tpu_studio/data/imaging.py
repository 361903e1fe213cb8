"""One picture: its header, its pixels as the model gets them, and why it cannot be used.

Every picture becomes 8-bit RGB (or gray, when all are) of one square size: the middle is cut out and scaled. Cutting
the middle rather than padding or squeezing, because what a photo shows stands mostly in its middle, keeps its
proportions and gets all the pixels there are; square pictures (the hands) lose nothing. Only Pillow's decoders for
common formats are let near a file; none of them starts another program.
"""

from __future__ import annotations

import ctypes
import io
import os
import stat
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

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

from tpu_studio.data import links
from tpu_studio.data.arrays import Array, Bytes
from tpu_studio.data.imagecost import AT_ONCE, MOST_BYTES, MOST_PIXELS, decoder_bytes, loaded_bytes
from tpu_studio.data.pictureparts import has_too_many
from tpu_studio.data.quickheader import quick_header
from tpu_studio.wire import kinds
from tpu_studio.wire.plainfiles import plainly

# Named by their plugins: Pillow knows a format only once its plugin is imported. JPEG's opens MPO as well.
FORMATS = tuple(
    plugin.format
    for plugin in (
        JpegImagePlugin.JpegImageFile,
        PngImagePlugin.PngImageFile,
        GifImagePlugin.GifImageFile,
        BmpImagePlugin.BmpImageFile,
        WebPImagePlugin.WebPImageFile,
        TiffImagePlugin.TiffImageFile,
        PpmImagePlugin.PpmImageFile,
    )
)
SUFFIXES = frozenset(kinds.first(lambda kind: kind.has_picture_files).endings)
GRAY_MODES = frozenset({"1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N", "F"})
_WRONG = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    KeyError,
    IndexError,
    TypeError,
    struct.error,
    zlib.error,
    OverflowError,
    MemoryError,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)


def _without_words_of_libraries() -> None:
    """What is wrong with a picture is told as a `BrokenImage`: libtiff writes a line for each row to standard error,
    from C, and Pillow warns with a line of its own source. Where libtiff is no file of Pillow's, its lines stay."""
    warnings.filterwarnings("ignore", module=r"PIL\.")
    home = Path(Image.__file__).parent
    for path in (*home.parent.glob("pillow.libs/libtiff*"), *home.glob(".dylibs/libtiff*")):
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(str(path))  # the one that is loaded
            for handler in (library.TIFFSetErrorHandler, library.TIFFSetWarningHandler):
                handler.argtypes, handler.restype = [ctypes.c_void_p], ctypes.c_void_p
                handler(None)


_without_words_of_libraries()

DECODED = b"raw"
"""The ``image/format`` of a record that holds pixels as they are trained with."""


class BrokenImage(Exception):
    """A picture that cannot be used. ``why``: empty-file, not-an-image, truncated, too-many-pixels,
    too-many-parts, unreadable."""

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

    @property
    def work(self) -> int:
        """Pixels that decoding it comes to: a JPEG is scaled down while it is decoded."""
        return self.width * self.height // (4 if self.format in ("JPEG", "MPO") else 1)


def open_image(data: str | bytes) -> Image.Image:
    """The picture in a file (by path) or in its bytes, not yet decoded. Raises `BrokenImage`."""
    try:
        if isinstance(data, str) and not stat.S_ISREG(os.stat(data).st_mode):
            raise BrokenImage("unreadable")  # Pillow would wait for a pipe
        if has_too_many(data):
            raise BrokenImage("too-many-parts")
        source = data if isinstance(data, str) else io.BytesIO(data)
        image = Image.open(source, formats=FORMATS)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise BrokenImage("too-many-pixels") from error
    except _WRONG as error:
        raise BrokenImage(_why_not_opened(data)) from error
    need = decoder_bytes(image) + (0 if image.format in ("JPEG", "MPO") else loaded_bytes(image))
    if image.width * image.height > MOST_PIXELS or need > MOST_BYTES:
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
        noted = image.format != "PNG" or "exif" in image.info  # else Pillow unpacks a PNG to look behind its pixels
        return Header(image.width, image.height, image.mode, image.format or "", noted and _orientation(image) != 1)


def decode(data: str | bytes, side: int, channels: int) -> Bytes:
    """The picture as [side, side, channels] uint8. Raises `BrokenImage`."""
    with open_image(data) as image:
        return fit(image, side, channels)


def stored_pixels(data: bytes, height: int, width: int, shape: tuple[int, ...]) -> Bytes:
    """Pixels that were decoded once (`DECODED`), as *shape*, at another size where that asks for it.

    Raises:
        BrokenImage: they are not as many as they should be.
    """
    channels = shape[2]
    if len(data) != height * width * channels or height != width or height < 1:
        raise BrokenImage("truncated")
    pixels = np.frombuffer(data, dtype=np.uint8).reshape(height, width, channels)
    if pixels.shape == shape:
        return pixels
    image = Image.fromarray(pixels if channels == 3 else pixels[..., 0])
    return np.asarray(_square(image, shape[0])).reshape(shape)


def contents(path: str, root: str) -> str | bytes:
    """What is in a file of ordinary size below the folder *root*, to be decoded, and nothing that has taken its place;
    the path of another, or of one that Pillow shall name the trouble of. Read by Pillow piece by piece, a photo takes
    an eighth longer.

    Raises:
        BrokenImage: ``unreadable``: it is no plain file of that folder any more.
    """
    try:
        with links.opened(Path(root), Path(path)) as file:
            ordinary = os.fstat(file.fileno()).st_size <= _ORDINARY_BYTES
            return (file.read(_ORDINARY_BYTES) if ordinary else b"") or path
    except FileNotFoundError:
        return path
    except OSError as error:
        raise BrokenImage("unreadable") from error


def fit(image: Image.Image, side: int, channels: int) -> Bytes:
    """The middle of an opened picture, upright, as [side, side, channels] uint8. Raises `BrokenImage`."""
    try:
        held = decoder_bytes(image)
        if image.format in ("JPEG", "MPO"):
            image.draft(None, (2 * side, 2 * side))  # a large photo is scaled down while it is decoded
        with _loaded(image, held):
            orientation = _orientation(image)
            plain = _middle(image, side, 1 if image.mode in GRAY_MODES else channels)
        if channels == 3:
            plain = plain.convert("RGB")  # a gray one only now, when it is small
        if orientation != 1:
            plain = plain.transpose(_TURNS[orientation])
        return np.asarray(plain, dtype=np.uint8).reshape(side, side, channels)
    except _WRONG as error:
        raise BrokenImage("truncated") from error


@contextmanager
def _loaded(image: Image.Image, held: int) -> Iterator[None]:
    """Its pixels in memory, when there is room; *held*: what the decoder takes. Raises `BrokenImage`."""
    need = held + loaded_bytes(image)
    if need > MOST_BYTES:
        raise BrokenImage("too-many-pixels")
    with AT_ONCE.of(need):
        image.load()
        yield


def _middle(image: Image.Image, side: int, channels: int) -> Image.Image:
    """The square in the middle of a loaded picture, as [side, side] of 8 bits."""
    short = min(image.size)
    left, top = (image.width - short) / 2, (image.height - short) / 2
    if image.width * image.height <= _LARGE_PIXELS:
        plain = eight_bit(image, channels)
        box = (left, top, left + short, top + short)
        return _square(plain, side, box)
    factor = max(1, short // (4 * side))  # as much is left as makes no difference to the eye (Pillow: reducing_gap)
    edge = -(-short // factor)
    smaller = Image.new("RGB" if channels == 3 else "L", (edge, edge))
    brightest = _brightest(image)
    rows = factor * max(1, _STRIP_PIXELS // (short * factor))
    for start in range(0, short, rows):
        box = (int(left), int(top) + start, int(left) + short, int(top) + min(short, start + rows))
        smaller.paste(eight_bit(image.crop(box), channels, brightest).reduce(factor), (0, start // factor))
    exact = short / factor
    return smaller.resize((side, side), Image.Resampling.BICUBIC, box=(0, 0, exact, exact))


def _square(image: Image.Image, side: int, box: tuple[float, float, float, float] | None = None) -> Image.Image:
    """The square *box* of a picture, the whole one if None, as [side, side].

    Shrunk to between two thirds and a quarter, as photos are (a large JPEG is shrunk while it is decoded), a pixel is
    the mean of those that fall into it: half the time of BICUBIC (docs/decisions/0042-pictures-in.md).
    """
    if image.size == (side, side):
        return image
    short = image.width if box is None else box[2] - box[0]
    by_mean = _SHRUNK[0] * side <= short <= _SHRUNK[1] * side
    method = Image.Resampling.BOX if by_mean else Image.Resampling.BICUBIC
    return image.resize((side, side), method, box=box)


def _whole(image: Image.Image, channels: int) -> Image.Image:
    """All of a loaded picture in 8 bits, without the notes of the source."""
    plain, brightest = Image.new("RGB" if channels == 3 else "L", image.size), _brightest(image)
    for box in _strips(image):
        plain.paste(eight_bit(image.crop(box), channels, brightest), box[:2])
    return plain


def eight_bit(image: Image.Image, channels: int, brightest: float | None = None) -> Image.Image:
    """A loaded picture as RGB (3) or L (1): transparency on white, 16 bits scaled, the first frame of several.

    *brightest*: the largest value of the picture that *image* is a strip of; None: it is the whole one.
    """
    mode = image.mode
    if mode in ("RGB", "L"):
        plain = image
    elif mode.startswith("I") or mode == "F":
        plain = _from_deep(image, _brightest(image) if brightest is None else brightest)
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
            with _loaded(image, decoder_bytes(image)):
                orientation = _orientation(image)
                plain = _whole(image, 1 if image.mode in GRAY_MODES else 3)
            noted = Image.Exif()
            noted[0x0112] = orientation
            stored = io.BytesIO()
            plain.save(stored, "PNG", compress_level=3, **({"exif": noted} if orientation != 1 else {}))
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


_SHRUNK = (1.5, 4.0)
_ORDINARY_BYTES = 16 * 2**20
_STRIP_PIXELS = 1 << 20
_LARGE_PIXELS = 16_000_000  # a larger picture is never held twice
_SIXTEEN_BITS: Bytes = np.rint(np.arange(1 << 16) / 257.0).astype(np.uint8)


def _from_deep(image: Image.Image, brightest: float) -> Image.Image:
    """Gray values of more than 8 bits → 8 bits: 16-bit ones by their range, floating ones from 0…1 or as they are.

    In strips: a picture of 180 KB may unpack to 180 MB, and copies of that as floating numbers to ten times as much.
    """
    sixteen = image.mode.startswith("I;16")
    plain = Image.new("L", image.size)
    for box in _strips(image):
        strip = image.crop(box)
        scaled = _SIXTEEN_BITS[np.asarray(strip)] if sixteen else _scaled(_numbers(strip), brightest, image.mode == "F")
        plain.paste(Image.fromarray(scaled), box[:2])
    return plain


def _brightest(image: Image.Image) -> float:
    """The largest value in a loaded picture of numbers; 0 of others, and of 16 bits, whose range is known."""
    if image.mode not in ("I", "F"):
        return 0.0
    return max(float(_numbers(image.crop(box)).max(initial=0.0)) for box in _strips(image))


def _strips(image: Image.Image) -> list[tuple[int, int, int, int]]:
    rows = max(1, _STRIP_PIXELS // max(1, image.width))
    return [(0, top, image.width, min(image.height, top + rows)) for top in range(0, image.height, rows)]


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
        with open(path, "rb", buffering=0, opener=plainly) as file:
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
        with open(data, "rb", opener=plainly) as file:
            return "not-an-image" if file.read(1) else "empty-file"
    except OSError:
        return "unreadable"


_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
