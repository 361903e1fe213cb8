"""The formats in which a finished model goes elsewhere, beside the Keras file and the SavedModel of its result.

A new one is a row here and a writer in ``trainer.result.exporting``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelFormat:
    """
    Attributes:
        ending: Of its files, without the dot.
        about: What it is good for, in a line.
        by_tensorflow: Whether TensorFlow makes it.
    """

    id: str
    title: str
    ending: str
    about: str
    by_tensorflow: bool = False


_FORMATS = (
    ModelFormat(
        "safetensors", "safetensors", "safetensors", "the weights by their names, for code of your own in any framework"
    ),
    ModelFormat(
        "litert",
        "LiteRT (TensorFlow Lite)",
        "tflite",
        "the whole model, for phones and small devices",
        by_tensorflow=True,
    ),
)
_BY_ID = {one.id: one for one in _FORMATS}
IDS = tuple(_BY_ID)


def all_formats() -> tuple[ModelFormat, ...]:
    return _FORMATS


def by_id(name: str) -> ModelFormat:
    """Raises KeyError: there is no such format."""
    return _BY_ID[name]
