"""Small pictures of the data for the preview: read and scaled away from the window, as bytes any toolkit can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tpu_studio.wire.owncode import in_a_share

SIDE = 112  # pixels; sharp at twice the size they are shown in
AT_MOST = 12
CRISP = 32  # pixels: a smaller picture is shown pixel by pixel
WORK_PIXELS = 100_000_000  # of all of them, about a second


@dataclass(frozen=True)
class Thumbnail:
    """*rgb* holds height × width × 3 bytes, row after row; *name* is the picture's kind."""

    name: str
    width: int
    height: int
    rgb: bytes


def spread(pictures: Sequence[Mapping[str, object]], at_most: int = AT_MOST) -> list[Mapping[str, object]]:
    """Up to *at_most* of the pictures, one of each kind before the second of any."""
    by_kind: dict[str, list[Mapping[str, object]]] = {}
    for picture in pictures:
        by_kind.setdefault(str(picture.get("class", "")), []).append(picture)
    chosen: list[Mapping[str, object]] = []
    while by_kind and len(chosen) < at_most:
        for kind in list(by_kind):
            chosen.append(by_kind[kind].pop(0))
            if not by_kind[kind]:
                del by_kind[kind]
    return chosen[:at_most]


def is_called_a_picture(path: Path) -> bool:
    """On this computer, and by its name alone."""
    from tpu_studio.data.imaging import SUFFIXES

    return path.suffix.lower() in SUFFIXES and not in_a_share(path)


def may_be_picture(path: Path) -> bool:
    """A file of such a name: what is dragged over the window is not read before it is dropped."""
    try:
        return is_called_a_picture(path) and path.is_file()
    except OSError:
        return False  # a name longer than any, or a folder that may not be looked into


def read(path: str, side: int) -> Thumbnail | None:
    """The middle of one picture, at most *side* pixels wide, within Pillow's limits and ours; None: it is no picture
    that can be shown."""
    from tpu_studio.data.imaging import BrokenImage, decode, probe

    if not Path(path).is_file():  # a pipe would be waited for
        return None
    try:
        header = probe(path)
        square = decode(path, min(side, header.width, header.height), 3)
    except BrokenImage:
        return None
    return Thumbnail(Path(path).name, len(square), len(square), square.tobytes())


def load(pictures: Sequence[Mapping[str, object]]) -> tuple[Thumbnail, ...]:
    """The thumbnails of *pictures* ({"path", "class"}); one that cannot be read is left out."""
    import numpy as np

    from tpu_studio.data.imaging import BrokenImage, decode, probe

    made: list[Thumbnail] = []
    left = WORK_PIXELS
    for picture in spread(pictures):
        path = str(picture["path"])
        try:
            header = probe(path)
            left -= header.work
            if left < 0 and made:
                break
            short = min(header.width, header.height)
            square = decode(path, short if short <= CRISP else SIDE, 3)
        except BrokenImage:
            continue
        nearest = np.arange(SIDE) * len(square) // SIDE
        shown = square[nearest][:, nearest]
        made.append(Thumbnail(str(picture.get("class", "")), SIDE, SIDE, shown.tobytes()))
    return tuple(made)
