"""Small pictures of the data for the preview: read and scaled away from the window, as bytes any toolkit can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SIDE = 112  # pixels; sharp at twice the size they are shown in
AT_MOST = 12


@dataclass(frozen=True)
class Thumbnail:
    """*rgb* holds height × width × 3 bytes, row after row; *name* is the picture's kind."""

    name: str
    width: int
    height: int
    rgb: bytes


def spread(pictures: Sequence[Mapping[str, Any]], at_most: int = AT_MOST) -> list[Mapping[str, Any]]:
    """Up to *at_most* of the pictures, one of each kind before the second of any."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for picture in pictures:
        by_kind.setdefault(str(picture.get("class", "")), []).append(picture)
    chosen: list[Mapping[str, Any]] = []
    while by_kind and len(chosen) < at_most:
        for kind in list(by_kind):
            chosen.append(by_kind[kind].pop(0))
            if not by_kind[kind]:
                del by_kind[kind]
    return chosen[:at_most]


def load(pictures: Sequence[Mapping[str, Any]]) -> tuple[Thumbnail, ...]:
    """The thumbnails of *pictures* ({"path", "class"}); one that cannot be read is left out."""
    from PIL import Image, ImageOps

    made = []
    for picture in spread(pictures):
        try:
            with Image.open(picture["path"]) as opened:
                opened.draft("RGB", (SIDE, SIDE))
                square = ImageOps.fit(_plain(opened), (SIDE, SIDE), _method(opened.size))
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            continue
        made.append(Thumbnail(str(picture.get("class", "")), SIDE, SIDE, square.tobytes()))
    return tuple(made)


def _plain(image: Any) -> Any:
    if image.mode in ("I", "I;16", "I;16B", "F"):  # 16 bits a pixel: keep the upper eight
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    return image.convert("RGB")


def _method(size: tuple[int, int]) -> Any:
    from PIL import Image

    return Image.Resampling.NEAREST if min(size) <= 32 else Image.Resampling.LANCZOS
