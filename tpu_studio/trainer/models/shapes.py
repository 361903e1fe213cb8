"""What goes into a model and what comes out: read once from a plan and the description of its data.

Used by the builders, by the user's own model and by ``predict``. No framework here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import whole

TOKENS_OF_BYTES = 256


@dataclass(frozen=True)
class Shapes:
    """Shapes of one example.

    Attributes:
        kind: images, table, text or digits.
        input: Shape without the batch: (H, W, C) of a picture, (F,) of a row, (T,) of a text.
        dtype: uint8 for pictures (0…white), float32 for rows (already standardised), int32 for tokens.
        white: The largest value of a picture: 255, and 16 for scikit-learn's digits where they stay as they are.
        outputs: Logits for each example or token: classes, labels, or tokens; 1 for a regression.
        vocabulary: Of a text to be told apart: its different tokens, 0 for the one that stands for nothing.
        classes: Names of the classes, or labels, in the order of the logits; empty unless it is a classification.
    """

    kind: str
    task: str
    input: tuple[int, ...]
    dtype: str
    outputs: int
    white: float = 255.0
    classes: tuple[str, ...] = ()
    vocabulary: int = 0

    @property
    def output(self) -> tuple[int, ...]:
        """Shape of the output without the batch."""
        return (*self.input, self.outputs) if tasks.by_id(self.task).has_tokens else (self.outputs,)


def example_of(sizes: Shapes) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    """Shape and number format of what the data hands over for one example: whole labels, one a token, or a number; 1 or
    0 for each where it may have several."""
    learns = tasks.by_id(sizes.task)
    if learns.has_labels:
        return {"x": (sizes.input, np.dtype(sizes.dtype)), "y": ((sizes.outputs,), np.dtype(np.uint8))}
    labels = np.dtype(np.float32 if learns.has_number else np.int32)
    found = {"x": (sizes.input, np.dtype(sizes.dtype)), "y": (sizes.input if learns.has_tokens else (), labels)}
    return found | ({"weight": (sizes.input, np.dtype(np.float32))} if learns.has_chats else {})


def shapes(plan: Plan, description: Mapping[str, Any]) -> Shapes:
    """The shapes of *plan* on data that is described as in ``dataset.json``.

    Raises:
        ModelError: ``model-data-unknown`` when the description does not say how large an example is.
    """
    kind = str(description.get("kind") or plan.job.data.kind)
    classes = tuple(str(name) for name in description.get("classes") or ())
    task = tasks.by_id(plan.task)
    if task.has_tokens:
        return Shapes("text", plan.task, (plan.job.data.sequence_length,), "int32", _vocabulary(plan, description))
    given = description.get("input_shape")
    if not given:
        raise ModelError("model-data-unknown", kind=kind)
    shape = tuple(int(size) for size in given)
    dtype, vocabulary = "float32" if len(shape) == 1 else "uint8", 0
    if kinds.by_id(kind).has_text:
        shape, dtype, vocabulary = (plan.job.data.sequence_length,), "int32", whole(description.get("vocabulary"), 1)
    outputs = 1 if task.has_number else len(classes)
    if task.has_names and outputs < (2 if task.has_classes else 1):
        raise ModelError("model-data-unknown", kind=kind)
    white = float(description.get("value_max") or 255.0)
    return Shapes(kind, plan.task, shape, dtype, outputs, white, classes if task.has_names else (), vocabulary)


def _vocabulary(plan: Plan, description: Mapping[str, Any]) -> int:
    """Tokens the model tells apart; never fewer than the data holds."""
    own = whole(plan.options.get("vocabulary"), TOKENS_OF_BYTES)
    return max(own, whole(description.get("vocabulary"), TOKENS_OF_BYTES))
