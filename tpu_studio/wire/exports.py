"""The formats in which a finished model goes elsewhere, beside the Keras file and the SavedModel of its result; and the
run itself as code.

A new one is a row here and a writer in ``trainer.result.exporting``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tpu_studio.wire import families, models


@dataclass(frozen=True)
class ModelFormat:
    """
    Attributes:
        ending: Of its files, without the dot; "": it is a folder.
        about: What it is good for, in a line.
        by_tensorflow: Whether TensorFlow makes it.
        packages: The environment beside the engine that has what writes it (`local.engine.spec.EXTRAS`); "": none.
        runs_own_code: Whether a model of a person's own is built for it, by their file.
        of_folders: Whether only what began from a folder of Hugging Face Transformers can be one again.
        note: What else whoever gives it away should know, in a sentence.
    """

    id: str
    title: str
    ending: str
    about: str
    by_tensorflow: bool = False
    packages: str = ""
    runs_own_code: bool = True
    of_folders: bool = False
    note: str = ""

    @property
    def is_folder(self) -> bool:
        return not self.ending


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
    ModelFormat(
        "onnx",
        "ONNX",
        "onnx",
        "the whole model, for ONNX Runtime and whatever reads that format, on any system and in most languages",
        by_tensorflow=True,
        packages="onnx-exporter",
    ),
    ModelFormat(
        "huggingface",
        "Hugging Face folder",
        "",
        "the whole model with its tokenizer, for Transformers, vLLM, llama.cpp and what else reads such a folder",
        runs_own_code=False,
        of_folders=True,
        note="The licence of the model that it began from goes on for it.",
    ),
    ModelFormat(
        "keras-script",
        "Keras script",
        "py",
        "a short program in plain Keras that trains the same model on the same data, to read and to change",
        runs_own_code=False,
        note="It names your folders and files, and the classes and columns in them.",
    ),
)
_BY_ID = {one.id: one for one in _FORMATS}
IDS = tuple(_BY_ID)


def all_formats() -> tuple[ModelFormat, ...]:
    return _FORMATS


def offered(model: str) -> tuple[ModelFormat, ...]:
    """Those in which a run of the *model* of that name (`wire.models`) can go elsewhere, as far as it tells."""
    spec = models.BY_NAME.get(model)
    back = spec is not None and spec.from_folder and families.by_id(spec.family).back_into_folder
    return tuple(one for one in _FORMATS if back or not one.of_folders)


def by_id(name: str) -> ModelFormat:
    """Raises KeyError: there is no such format."""
    return _BY_ID[name]
