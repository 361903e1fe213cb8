"""A finished model in another format (``wire.exports``), checked against Keras before anybody gets it.

    python -m tpu_studio.trainer.result.exporting --run FOLDER --as FORMAT --to FILE [--consent SHA256] [--packages DIR]

On stdout one JSON object: what ``checked`` it (``weights``, ``examples`` of the run's unseen data, made-up
``inputs``, the tensors of a ``folder``, or all that a ``script`` says), how many, and the largest ``difference``; or
``error``: what the file then holds is worth nothing. The model is Keras' own file, read in safe mode; a SavedModel that
came with a run is somebody's program: none is opened.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.trainer import leaving
from tpu_studio.trainer.result import files
from tpu_studio.wire import exports, frameworks
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import RunError, StudioError
from tpu_studio.wire.secrets import short

EXAMPLES, PATIENCE_S, LEAST = 200, 30.0, 8  # looked at: at most so many, or as many as fit into that time, but so many
TOLERANCE = 1e-3  # of the largest answer, or of 1 where that is smaller
OTHER_PRECISION = 0.1  # as TOLERANCE, of a model that computes in bfloat16 beside itself in float32
SAME_MODEL = {"float32": 1e-5, "bfloat16": 1e-2}  # as TOLERANCE, of a model that is said in other code
_MEMORY = 64 << 20  # bytes of the data that are kept decoded

Load = Callable[[], Any]
"""Opens the run's model."""


@dataclass(frozen=True)
class Checked:
    """*by*: ``weights``, ``examples``, ``inputs``, ``folder`` or ``script``; *difference*: the largest, in the model's
    answers."""

    by: str
    count: int
    difference: float

    def to_json(self) -> dict[str, object]:
        return {"checked": self.by, "count": self.count, "difference": self.difference}


def write(run: Path, form: exports.ModelFormat, to: Path, consent: str = "") -> Checked:
    """Write the model of *run* to *to*, in a folder of its own.

    Raises:
        ModelError: As ``models.own.build``.
        DataError: Of data that a script needs.
        RunError: ``result-missing``, ``result-unreadable``, ``result-newer``; ``export-unsupported`` where the format
            knows no such model, ``export-no-script`` where no plain one can be, ``export-differs`` where it answers
            otherwise than Keras.
        OSError: The file cannot be written.
    """
    result, card = _prepare(run, form)
    from tpu_studio.data import predicting
    from tpu_studio.trainer.result import loading

    def load() -> Any:
        """An example is made as large as the card says, which anybody may have written."""
        model = loading.load(result, consent=consent)
        inputs, claimed = getattr(model, "inputs", None), card["input"].get("shape")
        takes = inputs[0].shape[1:] if inputs else None
        predicting.check_shape({**card["data"], "folder": str(result)}, claimed, takes, result / files.CARD)
        return model

    return _WRITERS[form.id](load, card, run, to)


def _prepare(run: Path, form: exports.ModelFormat) -> tuple[Path, dict[str, Any]]:
    """Result and card; sets the framework. Call before anything imports keras."""
    result = files.folder_of(run)
    card = files.read_card(result)
    trained_in = str(card.get("trained", {}).get("framework", ""))
    if form.by_tensorflow:
        trained_in = next(one.id for one in frameworks.all_frameworks() if one.writes_saved_model)
    elif not card.get("own"):
        trained_in = frameworks.for_chips().id  # starts three times as fast
    os.environ["KERAS_BACKEND"] = trained_in or frameworks.for_chips().id
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return result, card


def _safetensors(load: Load, card: Mapping[str, Any], run: Path, to: Path) -> Checked:
    """Every weight under Keras' path of it ("conv/kernel"); the card's task, input and classes as metadata."""
    from safetensors.numpy import load_file, save

    model = load()
    tensors = {weight.path: np.ascontiguousarray(weight) for weight in model.weights}
    if len(tensors) != len(model.weights):
        raise RunError("export-unsupported", format="safetensors", raw="two of its weights have the same name")
    about = {name: json.dumps(card[name]) for name in ("task", "input") if name in card}
    to.write_bytes(save(tensors, metadata={"format": "keras", **about}))
    again = load_file(to)
    same = again.keys() == tensors.keys() and all(again[name].tobytes() == tensors[name].tobytes() for name in tensors)
    if not same:
        raise RunError("export-differs", format="safetensors", difference=float("inf"))
    return Checked("weights", len(tensors), 0.0)


def _litert(load: Load, card: Mapping[str, Any], run: Path, to: Path) -> Checked:
    import tensorflow as tf

    from tpu_studio.trainer.result import savedmodel

    saved = to.parent / files.SAVED_MODEL
    of_run = load()
    with _unsupported("litert"):
        model = in_float32(of_run)  # which is all that its kernels know: on a chip models compute in bfloat16
    if model is not of_run:
        _compared("litert", of_run, lambda x: model(x, training=False), card, run, OTHER_PRECISION)
    savedmodel.export(model, saved, card)
    with _unsupported("litert"):
        content = tf.lite.TFLiteConverter.from_saved_model(str(saved)).convert()
    to.write_bytes(content)
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    given, got = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]

    def answer(x: Any) -> Any:
        interpreter.set_tensor(given, x)
        interpreter.invoke()
        return interpreter.get_tensor(got)

    return _compared("litert", model, answer, card, run)


def _onnx(load: Load, card: Mapping[str, Any], run: Path, to: Path) -> Checked:
    """By Keras' own way over tf2onnx; read back and asked by ONNX Runtime. The number of examples stays open."""
    import onnxruntime
    import tensorflow as tf

    model, (shape, dtype) = load(), _input_of(card)
    with _unsupported("onnx"):
        model(np.zeros(shape, dtype), training=False)  # a model that was never called has no answers to trace
        signature = [tf.TensorSpec((None, *shape[1:]), dtype, name="input")]
        model.export(str(to), format="onnx", verbose=False, input_signature=signature)
        session = onnxruntime.InferenceSession(str(to), providers=["CPUExecutionProvider"])
    (given,), (got,) = session.get_inputs(), session.get_outputs()
    return _compared("onnx", model, lambda x: session.run([got.name], {given.name: x})[0], card, run)


def in_float32(model: Any) -> Any:
    """*model*, or one with its weights that computes in float32, where it does not."""
    if all(layer.compute_dtype == "float32" for layer in model._flatten_layers()):
        return model
    wide = type(model).from_config(_wide(model.get_config()))
    wide.set_weights(model.get_weights())
    for layer in wide._flatten_layers():
        if hasattr(layer, "finalize_state"):  # what it computes of its weights: Normalization, adapted to data
            layer.finalize_state()
    return wide


def _wide(value: Any, *, narrow: bool = False) -> Any:
    """A description of a model, with float32 in the place of bfloat16; *narrow*: the value says a type of numbers."""
    if isinstance(value, dict):
        policy = value.get("class_name") in ("DTypePolicy", "DTypePolicyMap")
        return {name: _wide(one, narrow=narrow or policy or name.endswith("dtype")) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_wide(one, narrow=narrow) for one in value)
    return "float32" if narrow and value in ("bfloat16", "mixed_bfloat16") else value


@contextmanager
def _unsupported(format: str) -> Iterator[None]:
    """A converter raises whatever it met."""
    try:
        yield
    except Exception as error:
        raise RunError("export-unsupported", format=format, raw=short(str(error), 500)) from error


def _huggingface(load: Load, card: Mapping[str, Any], run: Path, to: Path) -> Checked:
    """A folder; its weights, read back into the model, answer as before."""
    from tpu_studio.trainer.result import huggingface

    return Checked("folder", *huggingface.write(load, card, run, to, _inputs(card, run)[1]))


def _script(load: Load, card: Mapping[str, Any], run: Path, to: Path) -> Checked:
    """Whose model, given the trained weights, answers as the trained one does, and which reads the same examples."""
    from tpu_studio.trainer.script import checking, refusing, writing

    try:
        plan = plans.read(run)
    except (OSError, RunError) as error:
        raise refusing.refusal("no-plan") from error
    result = files.folder_of(run)
    to.write_text(writing.written(run, result, plan, card), encoding="utf-8", newline="\n")
    module = checking.module_of(to)
    count = checking.check_data(module, plan, card, result)
    trained = load()
    model = checking.built(module, trained.count_params())
    if plan.job.model.starts_from:
        module.load_starter_weights(model)  # raises where it names one that is not there
    checking.fill(model, trained)
    tolerance = SAME_MODEL[plan.job.training.precision]
    seen = _compared("keras-script", trained, lambda x: model(x, training=False), card, run, tolerance)
    return Checked("script", count, seen.difference)


def _compared(
    name: str,
    model: Any,
    answer: Callable[[Any], Any],
    card: Mapping[str, Any],
    run: Path,
    tolerance: float = TOLERANCE,
) -> Checked:
    """*answer* beside *model*, one example at a time. Raises RunError ``export-differs``."""
    by, inputs = _inputs(card, run)
    begun, count, largest = time.monotonic(), 0, 0.0
    for x in inputs:
        wanted = np.asarray(model(x, training=False))
        told = np.asarray(answer(x))
        if told.shape != wanted.shape:
            raise RunError("export-differs", format=name, difference=float("inf"))
        difference = float(np.max(np.abs(told - wanted)))
        if not difference <= tolerance * max(1.0, float(np.max(np.abs(wanted)))):
            raise RunError("export-differs", format=name, difference=difference)
        largest, count = max(largest, difference), count + 1
        if count >= LEAST and time.monotonic() - begun > PATIENCE_S:
            break
    return Checked(by, count, largest)


def _inputs(card: Mapping[str, Any], run: Path) -> tuple[str, Iterator[Any]]:
    """Unseen examples of the run's data, one at a time as the model takes it; made-up ones where that is not here."""
    from tpu_studio.data import sources
    from tpu_studio.data.looked import look_of_plan
    from tpu_studio.wire.plan import frozen, loads

    shape, dtype = _input_of(card)
    try:
        plan = loads(frozen(run))
        look = look_of_plan(plan)
        unseen = sources.open_data(plan.job, look, memory_budget_bytes=_MEMORY).validation
        count = min(EXAMPLES, len(unseen))
        first = unseen.batch(np.arange(1), rng=np.random.default_rng(0))["x"]
        if count and first.shape == shape and first.dtype == dtype:
            each = (unseen.batch(np.array([at]), rng=np.random.default_rng(at))["x"] for at in range(count))
            return "examples", each
    except (StudioError, OSError):
        pass  # an exported result has no plan, and data may lie elsewhere: what checks it then is told
    dice = np.random.default_rng(0)
    if dtype.kind == "f":
        return "inputs", (dice.normal(size=shape).astype(dtype) for _ in range(EXAMPLES))
    return "inputs", (dice.integers(0, 2, shape).astype(dtype) for _ in range(EXAMPLES))


def _input_of(card: Mapping[str, Any]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of one example."""
    return (1, *card["input"]["shape"][1:]), np.dtype(card["input"]["dtype"])


_WRITERS: dict[str, Callable[[Load, Mapping[str, Any], Path, Path], Checked]] = {
    "safetensors": _safetensors,
    "litert": _litert,
    "onnx": _onnx,
    "huggingface": _huggingface,
    "keras-script": _script,
}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="exporting")
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--as", dest="form", choices=exports.IDS, required=True)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--consent", default="")
    parser.add_argument("--packages", default="", help="of what writes the format, behind the engine's own")
    asked = parser.parse_args(argv)
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries print
    sys.path += filter(None, [asked.packages])
    try:
        told = write(asked.run, exports.by_id(asked.form), asked.to, asked.consent).to_json()
    except StudioError as error:
        told = {"error": {"id": error.id, "facts": dict(error.facts)}}
    except OSError as error:
        told = {"error": {"id": "export-unwritable", "facts": {"raw": error.strerror or str(error)}}}
    print(json.dumps(told, default=str), file=answers, flush=True)
    return 1 if "error" in told else 0


if __name__ == "__main__":
    leaving.run(lambda: main(sys.argv[1:]))
