"""Opens a result's model in Keras's safe mode, so that nothing hidden in a file runs, and no link in it is followed.

A model of the user's own is made by the user's own file, after consent to its bytes, and only its weights are read.
"""

from __future__ import annotations

import math
from pathlib import Path

import keras

from tpu_studio.trainer import leaving
from tpu_studio.trainer.linkless import linkless
from tpu_studio.trainer.models import initial
from tpu_studio.trainer.models.bounded import weights_at_most
from tpu_studio.trainer.models.own import OwnJob
from tpu_studio.trainer.models.own import build as build_own
from tpu_studio.trainer.result import inspected
from tpu_studio.trainer.result.files import MODEL, OWN_MODEL, read_card
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.secrets import short
from tpu_studio.wire.sums import damaged_file

_DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    OSError,
    AttributeError,
    ImportError,
    RecursionError,
    MemoryError,
    RuntimeError,
    AssertionError,
    NotImplementedError,
    *inspected.REFUSED,
)
"""What Keras, h5py and JAX (RuntimeError: more memory than there is) raise of a damaged file."""
SMALLEST = 2  # bytes of a weight, in float16
SPARE = 16_000_000  # weights, and numbers of an example inside of a model, of whatever small file


def load(result: Path, *, consent: str = "") -> keras.Model:
    """The model with its trained weights.

    Args:
        consent: sha256 of the user's own model file that was agreed to; matters only when the model is made by one.

    Raises:
        ModelError: As ``models.own.build``.
        RunError: ``result-unreadable`` when a file is damaged or holds what safe mode refuses.
    """
    leaving.loaded()
    own = read_card(result).get("own")
    if (damaged := damaged_file(result)) is not None:
        raise RunError("result-unreadable", path=str(result / damaged), raw="its sha256 is not the one in model.json")
    try:
        held = inspected.check(result / MODEL, own=bool(own)) // SMALLEST
        if not own:
            with (
                linkless(held + SPARE),
                initial.to_fill(),
                weights_at_most(held + SPARE),
            ):  # none is drawn: all are there
                loaded = keras.models.load_model(result / MODEL, compile=False, safe_mode=True)
            _check_outputs(loaded, held)
            return loaded
        told = own["job"]
        shapes = {"input_shape": tuple(told["input_shape"]), "class_names": tuple(told["class_names"])}
        job = OwnJob(**{**told, **shapes})
    except _DAMAGE as error:
        raise RunError("result-unreadable", path=str(result / MODEL), raw=short(str(error), 500)) from error
    model = build_own(result / OWN_MODEL, consent, job)
    try:
        with linkless(held + SPARE):
            model.load_weights(result / MODEL)
    except _DAMAGE as error:
        raise RunError("result-unreadable", path=str(result / MODEL), raw=short(str(error), 500)) from error
    return model


def _check_outputs(model: keras.Model, weights: int) -> None:
    """Raises ValueError: a layer would make more numbers of one example than a model of so many *weights* can want."""
    most = SPARE * SMALLEST**2 + 8 * weights
    for inner in (one for one in model._flatten_layers() if isinstance(one, keras.Model)):
        for node in (node for operation in inner.operations for node in operation._inbound_nodes):
            for tensor in node.outputs:
                if (count := math.prod(size or 1 for size in tensor.shape)) > most:
                    raise ValueError(f"a layer of it makes {count:,} numbers of one example")
