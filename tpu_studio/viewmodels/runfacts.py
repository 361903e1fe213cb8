"""What the Run page needs of a run's plan, fixed for the life of the run. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tpu_studio.domain import figures
from tpu_studio.domain.run import RunView
from tpu_studio.domain.sentences.bases import begins_from
from tpu_studio.viewmodels import runrented
from tpu_studio.viewmodels.planwhere import title_of
from tpu_studio.wire import frameworks, metrics, models, places, tasks
from tpu_studio.wire.phases import Status
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.records import items, rows
from tpu_studio.wire.shapes import fits

WORDS, LETTERS = 12, 80  # of a column that a look writes down (data.columns), and of each of them

Tone = Literal["neutral", "accent", "ok", "warn", "bad"]


@dataclass(frozen=True)
class RunFacts:
    """What the page needs of a run's plan: fixed for the life of the run."""

    name: str
    subtitle: str
    noun: str
    task: str
    place: str
    steps: int
    steps_per_epoch: float
    batch: int
    usd_limit: float | None
    hours_limit: float | None
    usd_per_hour: float | None
    training_s: float | None
    classes: tuple[str, ...] = ()
    columns: tuple[Mapping[str, Any], ...] = ()
    target: str = ""
    kind: str = ""
    mfu_planned: tuple[float, float] | None = None
    tokenizer: str = ""
    context: int = 0  # tokens of a text that it sees at once; 0 where it reads none

    @property
    def rented(self) -> bool:
        return runrented.is_rented(self.place)

    @property
    def practice(self) -> bool:
        return places.by_id(self.place).rehearses

    @property
    def token(self) -> str:
        """What a model of text foretells."""
        return "character" if self.tokenizer in ("", "bytes") else "token"


def facts_of(plan: Plan) -> RunFacts:
    job, look = plan.job, plan.data
    model = models.BY_NAME[job.model.id].title if job.model.id in models.BY_NAME else "Your own model"
    kind = job.data.kind
    source = str(job.data.path or "handwritten digits").rstrip("/").rsplit("/", 1)[-1]
    framework = frameworks.title_of(plan.framework)
    where = f"Free Colab TPU, {framework}" if places.by_id(plan.place).notebook else f"this computer, {framework}"
    if runrented.is_rented(plan.place):
        cloud = "Practice cloud" if places.by_id(plan.place).rehearses else "Cloud TPU"
        where = f"{cloud}, {title_of(plan.accelerator)}, {' or '.join(plan.job.where.zones)}"
    subtitle = " · ".join(filter(None, (model, source, where, begins_from(job.model.starts_from))))
    classes = tuple(str(items(row)[0]) for row in items(look.get("classes")) if items(row))
    return RunFacts(
        name=job.name,
        subtitle=subtitle,
        noun=figures.noun(kind, plan.task),
        task=plan.task,
        place=plan.place,
        steps=plan.steps,
        steps_per_epoch=plan.steps_per_epoch,
        batch=job.training.global_batch,
        usd_limit=plan.limits.money_usd,
        hours_limit=plan.limits.hours,
        usd_per_hour=plan.price.usd_per_hour if plan.price else None,
        training_s=_training_s(plan),
        classes=classes,
        columns=tuple(one for one in map(_some_words, rows(look.get("columns"))) if _is_column(one)),
        target=str(look.get("target") or job.data.target or ""),
        kind=kind,
        mfu_planned=_mfu(plan),
        tokenizer=job.data.tokenizer,
        context=job.data.sequence_length if tasks.by_id(plan.task).has_tokens else 0,
    )


def _some_words(column: Mapping[str, object]) -> Mapping[str, object]:
    """*column* with as many words as a look writes down, and as long: a plan may be a stranger's, or damaged, and each
    of them is an entry of a field."""
    top, examples = column.get("top"), column.get("examples")
    some: dict[str, object] = {**column}
    if isinstance(top, list | tuple):
        some["top"] = [_short(pair) for pair in top[:WORDS]]
    if isinstance(examples, list | tuple):
        some["examples"] = [_short(one) for one in examples[:WORDS]]
    return some


def _short(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_short(one) for one in value[:3]]
    return value[:LETTERS] if isinstance(value, str) else value


def _is_column(column: Mapping[str, object]) -> bool:
    """Whether a form can have a field for it."""
    return (
        fits(column.get("name"), str)
        and fits(column.get("distinct", 0), int)
        and fits(column.get("examples", ()), tuple[str, ...])
        and all(len(items(pair)) == 2 for pair in items(column.get("top")))
    )


def _training_s(plan: Plan) -> float | None:
    """What the plan expects of the training alone, without setting up; None in plans of older versions."""
    return plan.basis.training_s.expected if plan.basis and plan.basis.training_s else None


def _mfu(plan: Plan) -> tuple[float, float] | None:
    """Between which the plan expects the model FLOP utilisation; None where it says nothing of it."""
    mfu = plan.basis.mfu if plan.basis else None
    return (mfu.low, mfu.high) if mfu else None


def main_metric(facts: RunFacts) -> tuple[str, str]:
    """The metric on unseen data that people look at, and its plain name."""
    metric = metrics.by_id(tasks.by_id(facts.task).metric)
    return metric.id, metric.label


def kept_metric(view: RunView, name: str) -> float | None:
    """The metric *name* of the model that was kept; None without one."""
    end = view.end
    has_model = end and end.status is not Status.FAILED and end.reason != Reason.DISCARDED
    return end.final.get(name) if end and has_model and end.facts.get("result", True) else None


def last_metric(view: RunView, name: str) -> float | None:
    """That of the model that was kept (with early stopping the one of the best check), else what was measured last."""
    kept = kept_metric(view, name)
    return view.last.get(name) if kept is None else kept
