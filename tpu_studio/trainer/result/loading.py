"""Opens a result's model in Keras's safe mode, so that nothing hidden in a file runs, and no link in it is followed.

A model of the user's own is made by the user's own file, after consent to its bytes, and only its weights are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from tpu_studio.trainer import leaving, memory
from tpu_studio.trainer.linkless import linkless
from tpu_studio.trainer.models import bounded, initial
from tpu_studio.trainer.models.bounded import Budget, weights_at_most, within
from tpu_studio.trainer.models.own import OwnJob
from tpu_studio.trainer.models.own import build as build_own
from tpu_studio.trainer.result import inspected
from tpu_studio.trainer.result.files import MODEL, OWN_MODEL, read_card
from tpu_studio.wire import tasks
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
LONGEST = 8192  # tokens of a text, as `data.sequence_length` allows
ALIVE = 64  # bytes for each pair of tokens: some layers' scores at once
SPARE = 1_000_000  # weights that a small file has, at most: random states, statistics


def load_base(result: Path) -> keras.Model:
    """Of a result whose files were hashed, the model that another training begins from. It is made of layers that are
    known: a result of a person's own file is none.

    Raises:
        RunError: as `load`.
    """
    card = read_card(result)
    try:
        held = inspected.check(result / MODEL) // SMALLEST
        with memory.held(*_memory(result, card)):
            return _closed(result, card, held)
    except _DAMAGE as error:
        raise RunError("result-unreadable", path=str(result / MODEL), raw=short(str(error), 500)) from error


def load(result: Path, *, consent: str = "") -> keras.Model:
    """The model with its trained weights.

    Args:
        consent: sha256 of the user's own model file that was agreed to; matters only when the model is made by one.

    Raises:
        ModelError: As ``models.own.build``.
        RunError: ``result-unreadable`` when a file is damaged or holds what safe mode refuses.
    """
    leaving.loaded()
    card = read_card(result)
    own = card.get("own")
    if (damaged := damaged_file(result)) is not None:
        raise RunError("result-unreadable", path=str(result / damaged), raw="its sha256 is not the one in model.json")
    try:
        held = inspected.check(result / MODEL, own=bool(own)) // SMALLEST
        if not own:
            memory.hold(*_memory(result, card))
            return _closed(result, card, held)
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


def _closed(result: Path, card: Mapping[str, Any], held: int) -> keras.Model:
    """Of layers that are known, with no more weights than the *held* ones, and no more work than such a model has."""
    with (
        linkless(held + SPARE),
        initial.to_fill(),  # no weight is drawn: all are there
        weights_at_most(held + SPARE),
        within(_budget(card, held)),
    ):
        model = keras.models.load_model(result / MODEL, compile=False, safe_mode=True)
    bounded.check(model, _budget(card, held))
    return model


def _memory(result: Path, card: Mapping[str, Any]) -> tuple[int, int]:
    """As `memory.hold` takes them."""
    return (result / MODEL).stat().st_size, room(card)


def room(card: Mapping[str, Any]) -> int:
    """Bytes that asking the model of that *card* may take beside its weights."""
    return memory.BASE + ALIVE * _square(card)


def _budget(card: Mapping[str, Any], weights: int) -> Budget:
    """For a model of so many *weights*: of pictures and rows many are asked about at once, of a text that is gone on
    with one. Of the tokens of a text each looks at each: however narrow it is, that is a square of its length."""
    square = _square(card)
    if tasks.by_id(card["task"]).has_tokens:
        each, total, work = 2**26 + 8 * weights + 8 * square, 2**28 + 64 * weights + 4000 * square, 50_000
    else:
        each, total, work = 2**23 + 4 * weights + 8 * square, 2**26 + 128 * weights + 4000 * square, 20_000
    return Budget(each, total, 10**9 + work * weights + 50_000 * square)


def _square(card: Mapping[str, Any]) -> int:
    """Of the length of a text in tokens, as a card says it that anybody may have written; of other examples 0."""
    shape = card["input"].get("shape") if isinstance(card.get("input"), dict) else None
    length = shape[1] if isinstance(shape, list) and len(shape) == 2 and card["input"].get("dtype") == "int32" else 0
    return min(length, LONGEST) ** 2 if type(length) is int and length > 0 else 0
