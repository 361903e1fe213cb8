"""How a script reads pictures: the digits that come with the program, and folders of pictures, one a class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tpu_studio.data.digits import FILE, SIDE
from tpu_studio.data.folders import Listing, list_images
from tpu_studio.data.imagecost import MOST_PIXELS
from tpu_studio.data.imaging import FORMATS, SUFFIXES
from tpu_studio.data.links import links_below
from tpu_studio.data.looked import Look
from tpu_studio.data.paths import data_path
from tpu_studio.data.predicting import example_shape
from tpu_studio.data.watching import Watch
from tpu_studio.trainer.script import splitting
from tpu_studio.trainer.script.parts import Constant, Part
from tpu_studio.trainer.script.refusing import MOST_BYTES, refusal
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.resources import resource_path

_DEEP = ("I", "F")  # begin the names of Pillow's modes of more than 8 bits


def digits(plan: Plan, card: Mapping[str, Any]) -> Part:
    side = int(card["data"]["image_size"])
    resized = side != SIDE
    constants = (
        Constant("DIGITS", str(resource_path(*FILE)), "64 pixels and the digit a line"),
        Constant("CLASSES", list(card["classes"])),
        *([Constant("SIDE", side, "pixels")] if resized else []),
        *splitting.constants(plan),
    )
    code = splitting.ROWS + splitting.KEPT + (_DIGITS_RESIZED if resized else _DIGITS)
    return Part(constants, code, frozenset({"from PIL import Image"} if resized else ()))


def folder(plan: Plan, card: Mapping[str, Any], look: Look) -> Part:
    """Raises RunError of `refusal`; DataError of the folder."""
    data = card["data"]
    if any(mode.startswith(_DEEP) for mode in (look.image_sizes.modes if look.image_sizes else ())):
        raise refusal("deep-pictures")
    if look.examples * math.prod(example_shape(data)) > MOST_BYTES:
        raise refusal("large-data")
    path = data_path(plan.job)
    folders, kept = folders_of(list_images(path, Watch()))
    constants = (
        Constant("DATA", str(path), "one folder a class"),
        Constant("CLASSES", list(card["classes"])),
        Constant("FOLDERS", folders, "each folder of pictures and the number of its class"),
        *([Constant("KEPT_FOLDER", kept, "its pictures are never trained on")] if kept else splitting.constants(plan)),
        Constant("ENDINGS", sorted(SUFFIXES)),
        links_of(path),
        Constant("SIDE", int(data["image_size"]), "pixels"),
        Constant("CHANNELS", int(data["channels"]), "red, green and blue, or gray alone"),
        Constant("FORMATS", list(FORMATS), "what Pillow may open: none of these starts another program"),
        Constant("MOST_PIXELS", MOST_PIXELS),
    )
    imports = {"os", "from PIL import Image"} | (set() if kept else {"hashlib"})
    split = "" if kept else splitting.NAMES + splitting.KEPT
    mask = _MASK_BY_FOLDER if kept else _MASK_BY_NAME
    return Part(constants, split + FILES + _READ + _LOAD.replace(_MASK_BY_NAME, mask), frozenset(imports))


def links_of(path: Path) -> Constant:
    return Constant("LINKS", [str(one.relative_to(path)) for one in links_below(path)], "to files that are data, too")


def folders_of(listing: Listing) -> tuple[dict[str, int], str]:
    """Each folder that holds a class, with the number of that; and the one at the top that is kept aside, or ""."""
    folders: dict[str, int] = {}
    for name, label in zip(listing.names, listing.labels.tolist(), strict=True):
        first, *inner = name.split("/")
        folders[first if first == listing.classes[label] else f"{first}/{inner[0]}"] = label
    kept = {name.split("/")[0] for name, mine in zip(listing.names, listing.parts.tolist(), strict=True) if mine == 1}
    return dict(sorted(folders.items())), "".join(kept)


_DIGITS = '''
def load_data():
    """scikit-learn's 1,797 handwritten digits, values from 0 to 16: ((x, y) to learn from, (x, y) kept aside)."""
    table = np.loadtxt(DIGITS, delimiter=",", dtype=np.uint8)
    x, y = table[:, :-1].reshape(-1, 8, 8, 1), table[:, -1].astype(np.int32)
    kept = kept_aside(row_keys(len(y)), y)
    return (x[~kept], y[~kept]), (x[kept], y[kept])

'''
_DIGITS_RESIZED = _DIGITS.replace(
    "    kept = ",
    """    resized = [Image.fromarray(one[..., 0]).resize((SIDE, SIDE), Image.Resampling.BICUBIC) for one in x]
    x = np.stack([np.asarray(one) for one in resized])[..., None]
    kept = """,
)

FILES = (
    splitting.BELOW
    + '''
def files():
    """Below DATA the files of each class, sorted by name: [(name, number of the class)]."""
    found = []
    for top, number in FOLDERS.items():
        for path in below(os.path.join(DATA, top)):
            name = os.path.relpath(path, DATA).replace(os.sep, "/")
            hidden = any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
            if not hidden and os.path.splitext(name)[1].lower() in ENDINGS:
                found.append((name, number))
    return sorted(found)

'''
)

_READ = '''
# What a camera notes of how it was held (EXIF, 1 to 8), and how such a picture is turned upright.
TURNS = (
    None,
    None,
    Image.Transpose.FLIP_LEFT_RIGHT,
    Image.Transpose.ROTATE_180,
    Image.Transpose.FLIP_TOP_BOTTOM,
    Image.Transpose.TRANSPOSE,
    Image.Transpose.ROTATE_270,
    Image.Transpose.TRANSVERSE,
    Image.Transpose.ROTATE_90,
)


def read_picture(path):
    """The middle of a picture, upright, as [SIDE, SIDE, CHANNELS] of 0 to 255."""
    with Image.open(path, formats=FORMATS) as picture:
        if picture.width * picture.height > MOST_PIXELS:
            raise ValueError("it has too many pixels")
        picture.draft(None, (2 * SIDE, 2 * SIDE))  # a large JPEG is scaled down while it is decoded
        picture.load()
        held = picture.getexif().get(0x0112, 1)
        if picture.mode not in ("RGB", "L") and ("A" in picture.getbands() or "transparency" in picture.info):
            layered = picture.convert("RGBA")
            picture = Image.new("RGB", layered.size, "white")  # what is transparent becomes white
            picture.paste(layered, mask=layered.getchannel("A"))
        picture = picture.convert("RGB" if CHANNELS == 3 else "L")
    short = min(picture.size)
    left, top = (picture.width - short) / 2, (picture.height - short) / 2
    # Shrunk a little, a pixel is the mean of those that fall into it; else a curve goes through them (bicubic).
    method = Image.Resampling.BOX if 1.5 * SIDE <= short <= 4 * SIDE else Image.Resampling.BICUBIC
    picture = picture.resize((SIDE, SIDE), method, box=(left, top, left + short, top + short))
    turn = TURNS[held] if isinstance(held, int) and 1 <= held <= 8 else None
    picture = picture if turn is None else picture.transpose(turn)
    return np.asarray(picture, np.uint8).reshape(SIDE, SIDE, CHANNELS)

'''

_MASK_BY_NAME = "    kept = kept_aside(name_keys(names), y)\n"
_MASK_BY_FOLDER = '    kept = np.array([name.startswith(KEPT_FOLDER + "/") for name in names])\n'
_LOAD = '''
def load_data():
    """All pictures: ((x, y) to learn from, (x, y) kept aside), y the numbers of the classes."""
    names, y = zip(*files())
    y = np.array(y, np.int32)
    kept = kept_aside(name_keys(names), y)
    x, usable = np.zeros((len(names), SIDE, SIDE, CHANNELS), np.uint8), np.ones(len(names), bool)
    for number, name in enumerate(names):
        try:
            x[number] = read_picture(os.path.join(DATA, name))
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            print(f"Left out, as it cannot be read: {name!r} ({error})")
            usable[number] = False
    train, unseen = usable & ~kept, usable & kept
    return (x[train], y[train]), (x[unseen], y[unseen])

'''
