"""What a run leaves behind, in open formats: the model, its curves, and a page that tells it.

``result/model.keras`` and ``result/saved_model/`` hold the model, ``model.json`` says what goes in and comes out,
``metrics.csv`` and ``tensorboard/`` hold all points, ``report.html`` is for people. ``write`` makes them at the end of
a run, ``loading`` opens them again for ``predict``. Importing this does not import a framework; writing does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tpu_studio.wire.plan import Plan


def write(
    run: Path,
    plan: Plan,
    description: Mapping[str, object],
    model: object,
    history: Sequence[Mapping[str, float]] = (),
    *,
    reason: str = "completed",
    step: int | None = None,
    tell: Callable[[str, Mapping[str, object]], None] = lambda id, facts: None,
    kept: Mapping[str, bytes] | None = None,
    labels: Sequence[Sequence[int]] = (),
) -> dict[str, object]:
    """Write ``run/result`` and return its card (`model.json`); the result before it stays until this one is whole.

    A result is whole without TensorFlow's SavedModel, which is tried last.

    Args:
        description: The data, as `data.sources.open_data` described it.
        model: A keras.Model with its final weights.
        history: Evaluations as ``{"step": …, "val_loss": …}``: what the events file may not hold yet.
        reason: Why training ended, an id of `wire.reasons`.
        step: The step whose weights these are; the last one unless given.
        kept: Files that predicting needs as well, by name: how text is cut up.
        labels: How the model does on each label, as `evaluation.Checked` has it.
        tell: Called with the id of a notice and its facts: ``savedmodel-failed`` (``why``, ``raw``).

    Raises:
        StudioError: ``disk-full`` (facts ``path``, ``raw``).
        OSError: the folder cannot be written.
    """
    from tpu_studio.trainer.result import writing

    return writing.write(
        run, plan, description, model, history, reason=reason, step=step, tell=tell, kept=kept or {}, labels=labels
    )
