"""The work of a planned model, by the formula of its family: one row for each id of ``wire.families``."""

from __future__ import annotations

from collections.abc import Callable

from tpu_studio.planner import work
from tpu_studio.planner.auto import Resolved
from tpu_studio.planner.facts import DataFacts
from tpu_studio.wire import tasks


def work_of(resolved: Resolved, facts: DataFacts) -> work.Work | None:
    """Weights, operations and memory of one example; None for a person's own file, which no formula knows."""
    formula = _FORMULAS.get(resolved.family)
    answers = facts.answers if tasks.by_id(resolved.job.data.task).has_classes else 1
    return formula(resolved, facts, answers) if formula else None


def _pixels(resolved: Resolved) -> int:
    return resolved.job.data.image_size


def _dense(resolved: Resolved, facts: DataFacts, answers: int) -> work.Work:
    inputs = _pixels(resolved) ** 2 * facts.channels if facts.has_pictures else max(1, facts.inputs)
    return work.mlp(resolved.options, inputs=inputs, answers=answers)


def _convolution(resolved: Resolved, facts: DataFacts, answers: int) -> work.Work:
    return work.small_cnn(resolved.options, size=_pixels(resolved), channels=facts.channels, answers=answers)


def _transformer(resolved: Resolved, facts: DataFacts, answers: int) -> work.Work:
    return work.gpt(
        resolved.options,
        tokens=resolved.job.data.sequence_length,
        rematerialize=resolved.job.training.rematerialize,
    )


_FORMULAS: dict[str, Callable[[Resolved, DataFacts, int], work.Work]] = {
    "mlp": _dense,
    "cnn": _convolution,
    "gpt": _transformer,
}
