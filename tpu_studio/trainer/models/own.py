"""The user's own Keras file: read once, checked against the consent, run with a time limit, its model tried on zeros.

The bytes whose sha256 was agreed to are the bytes that run: the file is not read a second time, and the folder it lies
in is not importable, so nothing else comes along. Whatever goes wrong is told with the line in the person's own file.
What the file prints goes to stderr; stdout belongs to the events. See ``docs/own-model.md``.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import sys
import threading
import tokenize
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tpu_studio.trainer.check.tracing import mismatch
from tpu_studio.trainer.frameworks import without_tensorflow
from tpu_studio.trainer.models.build import precision
from tpu_studio.trainer.models.shapes import Shapes
from tpu_studio.wire import owncode, tasks
from tpu_studio.wire.errors import ModelError, words_of
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.secrets import without_secrets

FUNCTION = "build_model"
MODULE = "own_model"
LIMIT_S = 55.0  # below the trainer's own watch (60 s), which ends the whole program
SHOWN = 500  # characters of a message that is not ours


@dataclass(frozen=True)
class OwnJob:
    """What ``build_model(job)`` is told.

    Attributes:
        task: "classification", "multi-label", "regression", "language-model" or "text-classification".
        input_shape: Shape of one example without the batch: (64, 64, 3), (26,) or (128,).
        input_dtype: "uint8" (pictures, 0 to ``input_max``), "float32" (rows, standardised) or "int32" (tokens).
        outputs: How many numbers the model answers with for an example (or for each token): classes, tokens, or 1;
            for "multi-label" a logit for each label, of which a sigmoid makes its probability.
        classes: How many classes, or labels; 0 unless it is a classification.
        class_names: Their names, in the order of the answers.
        image_size: Pixels on each side, or None.
        sequence_length: Tokens the model sees at once, or None.
        vocabulary: Different tokens, or None; where texts are told apart, 0 stands for nothing.
        options: What stands under ``options`` in the job file, as it stands there.
        seed, precision: As planned: "float32" or "bfloat16".
    """

    task: str
    input_shape: tuple[int, ...]
    input_dtype: str
    input_max: float
    outputs: int
    classes: int
    class_names: tuple[str, ...]
    image_size: int | None
    sequence_length: int | None
    vocabulary: int | None
    options: dict[str, Any]
    seed: int = 0
    precision: str = "float32"

    def __getitem__(self, key: str) -> Any:
        """``job["model.options"]`` and the like, for whoever thinks in the keys of the job file."""
        known = {
            "model.options": self.options,
            "data.task": self.task,
            "data.image_size": self.image_size,
            "data.sequence_length": self.sequence_length,
            "training.seed": self.seed,
            "training.precision": self.precision,
        }
        return known[key]


def own_job(plan: Plan, sizes: Shapes) -> OwnJob:
    text, picture = np.dtype(sizes.dtype) == np.int32, len(sizes.input) == 3
    return OwnJob(
        task=plan.task,
        input_shape=sizes.input,
        input_dtype=sizes.dtype,
        input_max=sizes.white,
        outputs=sizes.outputs,
        classes=len(sizes.classes),
        class_names=sizes.classes,
        image_size=sizes.input[0] if picture else None,
        sequence_length=sizes.input[0] if text else None,
        vocabulary=(sizes.vocabulary or sizes.outputs) if text else None,
        options=plan.options,
        seed=plan.job.training.seed,
        precision=plan.job.training.precision,
    )


def path_of(plan: Plan) -> Path:
    return Path(plan.job.base) / str(plan.job.model.file)


def build(path: Path, consent: str, job: OwnJob, *, limit_s: float | None = None) -> keras.Model:
    """The model that the user's file makes, checked.

    Args:
        consent: sha256 that was agreed to.
        limit_s: Seconds that it may take; `LIMIT_S` unless given.

    Raises:
        ModelError: ``model-file-missing``, ``model-no-consent``, ``model-syntax``, ``model-no-function``,
            ``model-raises``, ``model-shapes``, ``model-stuck``, ``model-not-keras``, ``model-stateful``,
            ``model-many-inputs``, ``model-wrong-input``, ``model-many-outputs``, ``model-wrong-output``.
    """
    source = read(path, consent)

    def work() -> keras.Model:
        with contextlib.nullcontext() if b"tensorflow" in source else without_tensorflow():
            keras.utils.set_random_seed(job.seed)
        with precision(job.precision):
            model = _function(source, path)(job)
            _check(model, job, path)
        model.own_source = source  # goes into the result beside the weights
        return model

    with contextlib.redirect_stdout(sys.stderr):
        return _within(LIMIT_S if limit_s is None else limit_s, work, path)


def read(path: Path, consent: str) -> bytes:
    """The bytes of a person's file, if they are the bytes that were agreed to."""
    try:
        source = owncode.read(path)
    except OSError as error:
        raise ModelError("model-file-missing", file=str(path), raw=str(error)) from error
    if source is None:
        raise ModelError("model-file-missing", file=str(path))
    sha256 = hashlib.sha256(source).hexdigest()
    if not consent or sha256 != consent:
        raise ModelError("model-no-consent", file=str(path), sha256=sha256, agreed=consent)
    return source


def blame(error: BaseException, path: Path) -> ModelError:
    """*error* as something a person can act on: the innermost line of their own file that led to it, and, where shapes
    do not meet, what came and what was expected."""
    raw, line = words_of(error), _line_in(error, path)
    if (shapes := mismatch(raw)) is not None:
        return ModelError("model-shapes", file=str(path), line=line, raw=raw[:SHOWN], **shapes)
    return ModelError("model-raises", file=str(path), line=line, raw=raw[:SHOWN])


def _function(source: bytes, path: Path) -> Callable[[OwnJob], Any]:
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(source).readline)[0]
        if encoding not in ("utf-8", "utf-8-sig"):  # whoever agreed was shown it as UTF-8
            raise SyntaxError(f"it is written in {encoding}, and only UTF-8 is read")
        # The very text that was shown. Of bytes Python reads the encoding itself, behind a lone CR as well.
        code = compile(source.decode("utf-8-sig"), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise ModelError("model-syntax", file=str(path), line=line, raw=without_secrets(str(error))[:SHOWN]) from error
    module = types.ModuleType(MODULE)
    module.__file__ = str(path)
    sys.modules[MODULE] = module  # dataclasses and Keras look a class's module up by name
    exec(code, module.__dict__)  # the person agreed to this very text
    function = getattr(module, FUNCTION, None)
    if not callable(function):
        raise ModelError("model-no-function", file=str(path), wanted=f"{FUNCTION}(job)")
    return function  # type: ignore[no-any-return]


def _check(model: Any, job: OwnJob, path: Path) -> None:
    """Try *model* on two examples of zeros: this also gives a model without fixed input shapes its weights."""
    if not isinstance(model, keras.Model):
        raise ModelError("model-not-keras", file=str(path), got=_kind(model))
    if keeps := next((one.name for one in model._flatten_layers() if getattr(one, "stateful", False)), None):
        raise ModelError("model-stateful", file=str(path), layer=str(keeps))
    wanted_input = (None, *job.input_shape)
    inputs = getattr(model, "inputs", None)
    if inputs and len(inputs) > 1:
        raise ModelError("model-many-inputs", file=str(path), wanted=list(wanted_input), count=len(inputs))
    if inputs and not _fits(inputs[0].shape, wanted_input):
        raise ModelError("model-wrong-input", file=str(path), wanted=list(wanted_input), got=list(inputs[0].shape))
    answer = model(np.zeros((2, *job.input_shape), job.input_dtype), training=False)
    wanted = (*job.input_shape, job.outputs) if tasks.by_id(job.task).has_tokens else (job.outputs,)
    if isinstance(answer, (list, tuple, dict)) and len(answer) > 1:
        raise ModelError("model-many-outputs", file=str(path), wanted=[None, *wanted], count=len(answer))
    shape = getattr(answer, "shape", None)
    if shape is None or tuple(shape) != (2, *wanted):
        told = [None, *tuple(shape)[1:]] if shape is not None else _kind(answer)
        raise ModelError("model-wrong-output", file=str(path), wanted=[None, *wanted], got=told, task=job.task)


def _within(limit_s: float, work: Callable[[], keras.Model], path: Path) -> keras.Model:
    """The outcome of *work*, or a ModelError after *limit_s* seconds with the line at which it stands."""
    outcome: list[keras.Model] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001, also SystemExit: a person's file may call anything
            failure.append(error)

    thread = threading.Thread(target=run, name="own-model", daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        frame = sys._current_frames().get(thread.ident or 0)
        line = _innermost(frame, path)
        raise ModelError("model-stuck", file=str(path), line=line, limit_s=limit_s)
    if failure:
        if isinstance(failure[0], ModelError):
            raise failure[0]
        raise blame(failure[0], path) from failure[0]
    return outcome[0]


def _line_in(error: BaseException, path: Path) -> int | None:
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _innermost(frame: types.FrameType | None, path: Path) -> int | None:
    while frame is not None and frame.f_code.co_filename != str(path):
        frame = frame.f_back
    return frame.f_lineno if frame else None


def _fits(shape: Any, wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        have is None or want is None or have == want for have, want in zip(shape, wanted, strict=True)
    )


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
