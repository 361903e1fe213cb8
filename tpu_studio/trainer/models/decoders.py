"""The tensors of a Hugging Face folder, as a causal model's weights want them (`wire.pretrained.decoder`)."""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader
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


def read(preset: Preset, network: Decoder) -> Iterator[tuple[str, Array]]:
    """Path of each weight of *network*, and its numbers in float32.

    Raises:
        ModelError: ``preset-in-a-share``, ``preset-in-part``, ``preset-unfit``, ``preset-unreadable``.
    """
    whole = owncode.located(preset.folder)
    if whole is None:
        raise ModelError("preset-in-a-share", path=str(preset.folder))
    folder = Folder(preset.folder, whole)
    placed = tensors.places_of(folder, tensors.files_of(folder))
    huggingface.check_whole(folder, network, placed)
    for wanted in network.tensors():
        place = huggingface.located(placed, wanted.name)
        assert place is not None  # it was looked for
        with folder.open(place.file) as file:
            yield wanted.path, _cut(wanted, _numbers(folder, file, place))


def _numbers(folder: Folder, file: BufferedReader, place: tensors.Place) -> Array:
    file.seek(place.start)
    data = file.read(place.size)
    if len(data) < place.size:
        folder.refuse("preset-in-part", place.file, "It ends before its last tensor.")
    values = np.frombuffer(data, _FLOATS[place.kind])
    if place.kind == "BF16":  # the upper half of a float32
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32, copy=False).reshape(place.shape)


def _cut(wanted: Tensor, values: Array) -> Array:
    if wanted.part is not None:
        values = values[..., slice(*wanted.part)]
    return (values.T if wanted.turned else values) + np.float32(wanted.plus)
