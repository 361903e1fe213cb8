"""The first real batch through the training step without working anything out: do all shapes meet, and where not?

JAX traces the step of `step_jax`, TensorFlow that of `step_tf`, with the shapes of real examples; nothing runs on a
device. A failure is told by the layer it happened in, what came and what was expected, and the line of the person's own
file.
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tpu_studio.wire.errors import words_of

WORDS = 20_000  # of one error
_SHAPE = r"[\[(][\d,\sNone]*[\])]"
_GOT, _WANTED = rf"(?P<got>{_SHAPE})", rf"(?P<wanted>{_SHAPE})"
# Library's words → what was expected, what came. Keras 3.15 and JAX 0.10; anything else is told as it is.
_MISMATCHES = tuple(
    re.compile(pattern)
    for pattern in (
        r"expected axis (?P<axis>-?\d+) of input shape to have value (?P<wanted>\d+),"
        rf" but received input with shape {_GOT}",
        rf"expected (?P<wanted>(?:min_|max_)?ndim=\d+), found ndim=\d+\. Full shape received: {_GOT}",
        rf"expected shape={_WANTED}, found shape={_GOT}",
        rf"contracting dimensions to have the same shape, got {_GOT} and {_WANTED}",
        rf"[Ii]ncompatible shapes(?: for broadcasting)?:? (?:shapes=)?[\[(]?{_GOT}(?:,| and) ?{_WANTED}",
        rf"[Cc]annot reshape (?:array|a tensor) of shape {_GOT} \(size \d+\) into shape {_WANTED}",
        rf"Received shapes? {_GOT} and {_WANTED}",
        rf"Matrix size-incompatible: In\[0\]: {_GOT}, In\[1\]: {_WANTED}",
        rf"total size of the tensor must be unchanged\. Received: input_shape={_GOT}, target_shape={_WANTED}",
    )
)
_LAYER = re.compile(r"""[Ll]ayer ["']([^"']+)["']""")

# What JAX raises while tracing → the id of what a TPU cannot do.
_DYNAMIC = {
    "NonConcreteBooleanIndexError": "op-dynamic-shape",
    "ConcretizationTypeError": "op-dynamic-shape",
    "TracerIntegerConversionError": "op-dynamic-shape",
    "TracerBoolConversionError": "op-python-branch",
    "TracerArrayConversionError": "op-numpy-inside",
    "UnexpectedTracerError": "op-python-branch",
    "OperatorNotAllowedInGraphError": "op-python-branch",  # TensorFlow's
}
_NUMPY_IN_GRAPH = "Cannot convert a symbolic tf.Tensor"  # NotImplementedError of TensorFlow


def problem_of(error: BaseException, file: Path | None) -> dict[str, object]:
    """*error*, raised while building or tracing, as ``{"id", "facts"}``.

    ``op-…`` when a TPU could not do it whatever the shapes; ``model-shapes`` when shapes do not meet; else
    ``model-raises``. Facts: file, line, layer, got, wanted, raw: as far as they can be told.
    """
    raw = words_of(error)
    facts: dict[str, object] = {"raw": raw[:WORDS]}
    if file is not None:
        facts["file"] = str(file)
    facts |= _where(error, file)
    for one in _chain(error):
        id = "op-numpy-inside" if _NUMPY_IN_GRAPH in str(one) else _DYNAMIC.get(type(one).__name__)
        if id is not None:
            return {"id": id, "facts": facts | {"raw": words_of(one)[:WORDS]}}
    if (found := mismatch(raw)) is not None:
        return {"id": "model-shapes", "facts": facts | found}
    return {"id": "model-raises", "facts": facts}


def mismatch(raw: str) -> dict[str, str] | None:
    """``got``, ``wanted`` and, where told, ``layer`` and ``axis``, out of a library's words; None: of other things."""
    for pattern in _MISMATCHES:
        if found := pattern.search(raw):
            told = {name: " ".join(value.split()) for name, value in found.groupdict().items() if value is not None}
            if layer := _LAYER.search(raw):
                told["layer"] = layer[1]
            return told
    return None


@contextmanager
def whole_tracebacks() -> Iterator[None]:
    """Keras and JAX cut their own frames out of tracebacks; the layer that failed stands in one of them."""
    import keras

    before = keras.config.is_traceback_filtering_enabled()
    keras.config.disable_traceback_filtering()
    try:
        yield
    finally:
        if before:
            keras.config.enable_traceback_filtering()


def remembered_bytes(formulas: Any, state: list[object], batch: Mapping[str, object]) -> int:
    """What the backward pass of one device is told to remember besides weights and data, as traced (JAX's vjp).

    The compiler may recompute some of it, so it is a share of its temporaries, never more than they are.
    """
    import jax

    weights, others, _ = formulas._shape.split(state)

    def backward(weights: list[object], others: list[object], batch: Mapping[str, object]) -> object:
        return jax.vjp(lambda weights: formulas._summed_loss(weights, others, batch)[0], weights)[1]

    kept = jax.tree.leaves(jax.eval_shape(backward, weights, others, dict(batch)))
    known = [(leaf.shape, leaf.dtype) for leaf in [*weights, *others, *jax.tree.leaves(dict(batch))]]
    total = 0
    for leaf in kept:
        if (leaf.shape, leaf.dtype) in known:
            known.remove((leaf.shape, leaf.dtype))
            continue
        total += leaf.size * leaf.dtype.itemsize
    return total


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _where(error: BaseException, file: Path | None) -> dict[str, object]:
    """The innermost line of *file* and the innermost layer that were running."""
    told: dict[str, object] = {}
    for one in _chain(error):
        for frame, line in traceback.walk_tb(one.__traceback__):
            if file is not None and os.path.realpath(frame.f_code.co_filename) == os.path.realpath(file):
                told["line"] = line
            if (name := _layer_name(frame.f_locals.get("self"))) is not None:
                told["layer"] = name
        if told:
            break
    return told


def _layer_name(value: object) -> str | None:
    import keras

    if not isinstance(value, keras.layers.Layer) or isinstance(value, (keras.Model, keras.layers.InputLayer)):
        return None
    return str(getattr(value, "name", "")) or None
