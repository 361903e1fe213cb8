"""Tensors of a safetensors file (format 0.3: eight bytes of length, a JSON header, numbers): where each lies. No code.

The header says all; it is bounded, tensors lie one behind the other up to the file's end (as the format asks for), and
the bytes of each are as many as its shape says. Numbers are read by who needs them (`trainer.models.decoders`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tpu_studio.wire.jsonfile import parse_json
from tpu_studio.wire.presets import SAFETENSORS, SAFETENSORS_INDEX
from tpu_studio.wire.pretrained.folder import MOST_READ, Folder, shards_of

BYTES = {"F32": 4, "F16": 2, "BF16": 2}
"""Of a number, by what weights are in; other tensors may lie beside them."""
_HEADER, _HEADERS = 10_000_000, 20_000_000  # bytes; the largest of a few hundred layers has one million in all
_TENSORS = 100_000  # in all files; 400 layers have some 5,000
_AXES, _HUGE = 8, 1 << 63
_ABOUT = "__metadata__"  # the one entry that is no tensor


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: *size* bytes from *start* of *file* on."""

    file: str
    kind: str
    shape: tuple[int, ...]
    start: int
    size: int

    @property
    def is_of_weights(self) -> bool:
        return self.kind in BYTES


def files_of(folder: Folder) -> tuple[str, ...]:
    """Names of the files of weights, their index first where there is one."""
    return shards_of(folder, SAFETENSORS, SAFETENSORS_INDEX)


def places_of(folder: Folder, files: tuple[str, ...]) -> dict[str, Place]:
    """Each tensor of *files* by its name, in whatever numbers it is."""
    found: dict[str, Place] = {}
    total, headers = 0, 0
    for name in files:
        if name == SAFETENSORS_INDEX:
            continue
        if not folder.has(name):
            folder.refuse("preset-in-part", name, f"{SAFETENSORS_INDEX} names it, and it is not there.")
        folder.check_inside(name)
        size = (folder.whole / name).stat().st_size
        total += size
        if total > MOST_READ:
            why = f"Its weights have {total:,} bytes or more; {MOST_READ:,} are read at most."
            folder.refuse("preset-unreadable", name, why)
        tensors, header = _in_file(folder, name, size)
        headers += header
        if headers > _HEADERS:
            folder.refuse("preset-unreadable", name, "Its files say more of themselves than any model's.")
        for tensor, place in tensors.items():
            if tensor in found:
                folder.refuse("preset-unreadable", name, f"“{tensor[:80]}” is there twice.")
            found[tensor] = place
        if len(found) > _TENSORS:
            folder.refuse("preset-unreadable", name, f"There are more than {_TENSORS:,} tensors.")
    return found


def _in_file(folder: Folder, name: str, size: int) -> tuple[dict[str, Place], int]:
    """Its tensors, and the bytes of its header."""
    with folder.open(name) as file:
        start = file.read(8)
        length = int.from_bytes(start, "little")
        refuse_note(folder, name, start)
        if len(start) < 8 or length > min(_HEADER, size - len(start)):
            folder.refuse("preset-in-part", name, "It does not begin as a file of safetensors.")
        data = file.read(length)
    try:
        tree = parse_json(data, name)
    except ValueError as error:
        folder.refuse("preset-unreadable", name, str(error))
    if not isinstance(tree, dict):
        folder.refuse("preset-unreadable", name, "Its header is none.")
    told = {one: told for one, told in tree.items() if one != _ABOUT}
    if len(told) > _TENSORS:
        folder.refuse("preset-unreadable", name, f"There are more than {_TENSORS:,} tensors.")
    found = {one: _place(folder, name, one, what, 8 + length, size) for one, what in told.items()}
    ends = 8 + length
    for place in sorted(found.values(), key=lambda one: (one.start, one.size)):
        if place.start != ends:
            why = "Tensors lie upon one another" if place.start < ends else "Between tensors is something else"
            folder.refuse("preset-unreadable", name, f"{why} in it.")
        ends = place.start + place.size
    if ends != size:
        folder.refuse("preset-unreadable", name, f"Behind its last tensor are {size - ends:,} bytes.")
    return found, length


def refuse_note(folder: Folder, name: str, start: bytes) -> None:
    """*start*: eight bytes."""
    if start == b"version ":
        folder.refuse("preset-in-part", name, "It is a note of Git LFS about a file that was not fetched.")


def _place(folder: Folder, file: str, name: str, told: Any, begin: int, size: int) -> Place:
    """*begin*: of the numbers; *size*: of the file."""
    try:
        kind, shape, (first, last) = told["dtype"], told["shape"], told["data_offsets"]
        good = isinstance(kind, str) and isinstance(shape, list) and len(shape) <= _AXES
        good = good and all(type(one) is int and 0 <= one < _HUGE for one in (*shape, first, last)) and first <= last
    except (KeyError, TypeError, ValueError):
        good = False
    if not good:
        folder.refuse("preset-unreadable", file, f"“{name[:80]}” of it is not described.")
    if begin + last > size:
        folder.refuse("preset-in-part", file, f"It has {size:,} of the {begin + last:,} bytes that its start names.")
    if kind in BYTES and last - first != math.prod(shape) * BYTES[kind]:
        folder.refuse("preset-unreadable", file, f"“{name[:80]}” of it has another size than it says.")
    return Place(file, kind, tuple(shape), begin + first, last - first)
