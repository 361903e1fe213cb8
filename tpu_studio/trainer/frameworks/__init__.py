"""What the trainer does otherwise in each framework: one module ``on_<id>`` for each id of ``wire.frameworks``.

`module_of` gives the one of a plan, `running` the one that Keras was started with; all have what `Functions` says. A
module is imported with its framework in mind and imports the framework itself only inside its functions.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from tpu_studio.data.opened import Share
from tpu_studio.trainer.feed import Batch
from tpu_studio.trainer.recipe import Recipe
from tpu_studio.trainer.state import Arrays, Layout
from tpu_studio.wire import frameworks, places
from tpu_studio.wire.plan import Plan

Example = Mapping[str, tuple[tuple[int, ...], Any]]
COLAB_STAND_IN = "TPU_STUDIO_COLAB_ENGINE"  # of tests: the notebook trains on this computer (`trainer.notebook`)


@dataclass(frozen=True)
class Way:
    """How steps are called: through XLA or not, and how many a call at most."""

    compiled: bool
    per_call: int


@dataclass(frozen=True)
class Devices:
    """Those of this process, of all processes together, and of which *kind* (``cpu``, ``tpu``)."""

    here: int
    all: int
    kind: str


class Trace(Protocol):
    """A profile under way, begun with `Functions.trace`; for one thread."""

    def mark(self, name: str) -> AbstractContextManager[object]:
        """*name* stands in the trace for as long as it is entered."""
        ...

    def stop(self) -> None:
        """Write it. Raises RuntimeError, OSError."""


class Steps(Protocol):
    """A model's state on the devices, and the functions that move it; for one thread."""

    def train(self, stack: Batch, rates: npt.NDArray[np.generic], first: int, count: int) -> object:
        """Begin *count* steps, numbered from *first* + 1, on a stack [k, B, …] with their learning rates [k]; what is
        returned is for `fetch`."""
        ...

    def fetch(self, handle: Any) -> Arrays:
        """Wait for these steps: arrays [count] of loss, grad_norm and, for classification, accuracy."""
        ...

    def evaluate(self, batch: Batch) -> object:
        """Begin to look at a padded batch, without learning from it; what is returned is for `fetch_evaluation`."""
        ...

    def fetch_evaluation(self, handle: Any) -> Arrays:
        """Sums over the batch (`maths.evaluation`)."""
        ...

    def share(self, batch: int) -> Share | None:
        """What of a batch of so many examples this process hands over; None: all of it."""
        ...

    def snapshot(self) -> Arrays:
        """A copy of the whole state in this process's memory; waits for the steps under way."""
        ...

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None: ...

    @property
    def compiles(self) -> int:
        """How many programs were compiled by now."""
        ...


class Functions(Protocol):
    """What a module of a framework has."""

    def begin_here(self, plan: Plan, devices: int) -> None:
        """Set the environment for training on this computer's processor, as *devices* of this process."""

    def devices(self, plan: Plan) -> Devices:
        """Raises StudioError ``tpu-not-opened``."""
        ...

    def way(self, plan: Plan, *, slow_convolutions: bool) -> Way:
        """*slow_convolutions*: the model convolves, on a processor."""
        ...

    def make_steps(self, plan: Plan, model: object, recipe: Recipe, shape: Layout, chosen: Way) -> Steps: ...
    def watch_compiling(self) -> Callable[[], dict[str, Any]]:
        """From now on count the programs that need no compiling; what is returned tells of them, {} of none:
        ``programs``, ``saved_s``."""
        ...

    def keep_attention_plain(self) -> None: ...
    def recomputed(self, function: Callable[..., object]) -> Callable[..., object]:
        """*function*, whose inside is worked out again in the backward pass."""
        ...

    def trace(self, folder: Path) -> Trace:
        """Begin a profile; its ``*.xplane.pb`` is written somewhere under *folder*. Raises RuntimeError."""
        ...

    def count_model(self, model: Any, recipe: Recipe, example: Example, batch: int) -> dict[str, object]:
        """What *model* works and holds for one example (`trainer.work.model` says what is told).

        Args:
            example: Shape and number format by name: "x", "y" and, where examples weigh differently, "weight".
            batch: So many are traced at once: a person's model may be made for just that many.
        """
        ...

    def compiled(self, model: object) -> Callable[[object], object]:
        """The function of one array that *model* is when it does not train."""
        ...


def module_of(framework: str) -> Functions:
    return cast(Functions, importlib.import_module(f"{__name__}.on_{frameworks.by_id(framework).id}"))


def running() -> Functions:
    """The one that Keras was started with."""
    import keras

    return module_of(str(keras.backend.backend()))


@contextmanager
def without_tensorflow() -> Iterator[None]:
    """Let Keras in JAX do as where TensorFlow is not installed.

    To save, it would import it (2.2 s, 300 MB) only to ask whether some value is one of TensorFlow's shapes; to set a
    seed, only to set TensorFlow's.
    """
    import keras

    module = keras.src.utils.module_utils.tensorflow
    if frameworks.by_id(keras.backend.backend()).writes_saved_model or module._available is not None:
        yield
        return
    module._available = False
    try:
        yield
    finally:
        module._available = None


def needs_a_tpu(plan: Plan) -> bool:
    """Whether a processor must not train: off this computer, a TPU is charged or was given for it."""
    place = places.by_id(plan.place)
    return not place.on_this_computer and not (place.notebook and os.environ.get(COLAB_STAND_IN))
