"""``model.keras``: as Keras writes it, or its weights alone where a person's own classes do not say how they are made.

A result with a model file is begun by that file and takes the weights only (``loading``), so nothing is missing there.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import keras

from tpu_studio.trainer.frameworks import without_tensorflow
from tpu_studio.trainer.result.inspected import CONFIG, WEIGHTS

METADATA = "metadata.json"


def save(model: keras.Model, path: Path, *, own: bool) -> None:
    """*own*: it is built by a person's own file. Raises OSError, and what Keras raises of others."""
    with without_tensorflow():
        try:
            model.save(path)
        except (NotImplementedError, TypeError, ValueError):  # a class without get_config, or with an odd one
            if not own:
                raise
            _save_weights(model, path)


def _save_weights(model: keras.Model, path: Path) -> None:
    """An archive of the same parts, whose config names the class and no more."""
    weights = path.with_name(WEIGHTS)
    model.save_weights(weights)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(METADATA, json.dumps({"keras_version": keras.__version__}))
        archive.writestr(CONFIG, json.dumps({"class_name": type(model).__name__, "config": {}}))
        archive.write(weights, WEIGHTS)
    weights.unlink()
