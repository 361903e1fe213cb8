"""The tensors of a Hugging Face folder, as a causal model's weights want them (`wire.pretrained.decoder`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tpu_studio.trainer.models.kerashub.stored import Array
from tpu_studio.wire import owncode
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.pretrained import huggingface, tensors
from tpu_studio.wire.pretrained.decoder import Decoder, Tensor
from tpu_studio.wire.pretrained.folder import Folder

_FLOATS: dict[str, Any] = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}


def opened(preset: Preset) -> Folder:
    """Raises ModelError ``preset-in-a-share``."""
    whole = owncode.located(preset.folder)
    if whole is None:
        raise ModelError("preset-in-a-share", path=str(preset.folder))
    return Folder(preset.folder, whole)


def places_of(preset: Preset) -> dict[str, tensors.Place]:
    """Raises ModelError: as `read`."""
    folder = opened(preset)
    return tensors.places_of(folder, tensors.files_of(folder))


def by_name(network: Decoder) -> dict[str, list[Tensor]]:
    """Of each tensor of the folder the weights that lie in it, in the order of their parts."""
    found: dict[str, list[Tensor]] = {}
    for wanted in network.tensors():
        found.setdefault(wanted.name, []).append(wanted)
    return found


def located(placed: Mapping[str, tensors.Place], name: str) -> tensors.Place:
    """Where a tensor is that was found to be there."""
    place = huggingface.located(placed, name)
    assert place is not None
    return place


def read(preset: Preset, network: Decoder) -> Iterator[tuple[str, Array]]:
    """Path of each weight of *network*, and its numbers in float32.

    Raises:
        ModelError: ``preset-in-a-share``, ``preset-in-part``, ``preset-unfit``, ``preset-unreadable``.
    """
    folder, placed = opened(preset), places_of(preset)
    huggingface.check_whole(folder, network, placed)
    for wanted in network.tensors():
        yield wanted.path, cut(wanted, numbers(folder, located(placed, wanted.name)))


def numbers(folder: Folder, place: tensors.Place) -> Array:
    """A tensor as it stands there, in float32.

    Raises:
        ModelError: ``preset-in-part``, ``preset-links-out``.
    """
    with folder.open(place.file) as file:
        file.seek(place.start)
        data = file.read(place.size)
    if len(data) < place.size:
        folder.refuse("preset-in-part", place.file, "It ends before its last tensor.")
    values = np.frombuffer(data, _FLOATS[place.kind])
    if place.kind == "BF16":  # the upper half of a float32
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32).reshape(place.shape)


def rounded(values: Array, kind: str) -> Array:
    """float32 as numbers of that *kind*, to the nearest, of two the even one."""
    if kind != "BF16":
        return np.ascontiguousarray(values, _FLOATS[kind])
    bits = np.ascontiguousarray(values, "<f4").view("<u4").astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def cut(wanted: Tensor, values: Array) -> Array:
    """A weight, of the numbers of the tensor that it lies in."""
    if wanted.part is not None:
        values = values[..., slice(*wanted.part)]
    return (values.T if wanted.turned else values) + np.float32(wanted.plus)


def put(wanted: Tensor, values: Array, weight: Array) -> None:
    """`cut` the other way: *weight* into *values*, those of its tensor."""
    stored = weight - np.float32(wanted.plus)
    values[..., slice(*(wanted.part or (None,)))] = stored.T if wanted.turned else stored
