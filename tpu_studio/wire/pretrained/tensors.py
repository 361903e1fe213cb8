"""Tensors of a safetensors file (format 0.3: eight bytes of length, a JSON header, numbers): where each lies. No code.

The header says all; it is bounded, each tensor lies within the file and none upon another, and its bytes are as many as
its shape says. Numbers are read by who needs them (`trainer.models.decoders`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tpu_studio.wire.jsonfile import parse_json
from tpu_studio.wire.presets import SAFETENSORS, SAFETENSORS_INDEX
from tpu_studio.wire.pretrained.folder import Folder

BYTES = {"F32": 4, "F16": 2, "BF16": 2}
_HEADER = 32_000_000  # bytes; the largest of a few hundred layers has one
_SHARDS = 1000


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: bytes from *start* of *file* on."""

    file: str
    kind: str
    shape: tuple[int, ...]
    start: int

    @property
    def size(self) -> int:
        return math.prod(self.shape) * BYTES[self.kind]


def files_of(folder: Folder) -> tuple[str, ...]:
    """Names of the files of weights, their index first where there is one."""
    if folder.has(SAFETENSORS):
        return (SAFETENSORS,)
    index = folder.json(SAFETENSORS_INDEX)
    if index is None:
        folder.refuse("preset-in-part", SAFETENSORS, f"There is no {SAFETENSORS}.")
    places = index.get("weight_map")
    names = sorted({str(one) for one in places.values()}) if isinstance(places, dict) else []
    if not names or len(names) > _SHARDS or not all(name.endswith(".safetensors") for name in names):
        folder.refuse("preset-unreadable", SAFETENSORS_INDEX, "It names no files.")
    return (SAFETENSORS_INDEX, *names)


def places_of(folder: Folder, files: tuple[str, ...]) -> dict[str, Place]:
    """Each tensor of *files* by its name."""
    found: dict[str, Place] = {}
    for name in files:
        if name == SAFETENSORS_INDEX:
            continue
        if not folder.has(name):
            folder.refuse("preset-in-part", name, f"{SAFETENSORS_INDEX} names it, and it is not there.")
        folder.check_inside(name)
        for tensor, place in _in_file(folder, name).items():
            if tensor in found:
                folder.refuse("preset-unreadable", name, f"“{tensor[:80]}” is there twice.")
            found[tensor] = place
    return found


def _in_file(folder: Folder, name: str) -> dict[str, Place]:
    size = (folder.whole / name).stat().st_size
    with folder.open(name) as file:
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if start.startswith(b"version "):
            folder.refuse("preset-in-part", name, "It is a note of Git LFS about a file that was not fetched.")
        if len(start) < 8 or length > min(_HEADER, size):
            folder.refuse("preset-in-part", name, "It does not begin as a file of safetensors.")
        data = file.read(length)
    try:
        tree = parse_json(data, name)
    except ValueError as error:
        folder.refuse("preset-unreadable", name, str(error))
    if not isinstance(tree, dict):
        folder.refuse("preset-unreadable", name, "Its header is none.")
    told = {one: told for one, told in tree.items() if not one.startswith("__") and _is_of_weights(told)}
    found = {one: _place(folder, name, one, what, 8 + length, size) for one, what in told.items()}
    ends = 0
    for place in sorted(found.values(), key=lambda one: one.start):
        if place.start < ends:
            folder.refuse("preset-unreadable", name, "Tensors lie upon one another in it.")
        ends = place.start + place.size
    return found


def _is_of_weights(told: object) -> bool:
    """Masks and places that some files hold beside them are not asked for."""
    return not isinstance(told, dict) or str(told.get("dtype")) in BYTES


def _place(folder: Folder, file: str, name: str, told: Any, begin: int, size: int) -> Place:
    """*begin*: of the numbers; *size*: of the file."""
    try:
        kind, shape, (first, last) = str(told["dtype"]), tuple(told["shape"]), told["data_offsets"]
        good = all(type(one) is int and one >= 0 for one in (*shape, first, last)) and len(shape) <= 8
    except (KeyError, TypeError, ValueError):
        good = False
    if not good:
        folder.refuse("preset-unreadable", file, f"“{name[:80]}” of it is not described.")
    if begin + last > size:
        folder.refuse("preset-in-part", file, f"It has {size:,} of the {begin + last:,} bytes that its start names.")
    if last - first != math.prod(shape) * BYTES[kind]:
        folder.refuse("preset-unreadable", file, f"“{name[:80]}” of it has another size than it says.")
    return Place(file, kind, shape, begin + first)
