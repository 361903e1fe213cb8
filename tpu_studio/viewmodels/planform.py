"""The settings of a job as fields of a form, made from the one schema: value, whether recommended, why, what is wrong.

Pure. The Plan page draws these; nothing of a field stands anywhere else than in ``wire.schema`` and ``wire.models``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tpu_studio.domain import figures
from tpu_studio.domain.learning import glossary
from tpu_studio.viewmodels.problem import Problem
from tpu_studio.wire import places
from tpu_studio.wire.errors import JobError
from tpu_studio.wire.families import Option
from tpu_studio.wire.job import Job, check
from tpu_studio.wire.keys import AUTO, Key
from tpu_studio.wire.models import BY_NAME
from tpu_studio.wire.numerals import readings, spelled
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.schema import BY_PATH, GROUPS, KEYS, concerns

Problems = Mapping[str, Problem]
Typed = Mapping[str, str]
Kind = Literal["number", "choice", "switch", "text"]

MAIN = ("training.global_batch", "training.epochs", "training.learning_rate", "training.precision")


@dataclass(frozen=True)
class FieldView:
    """One setting.

    Attributes:
        text: The value as it stands in the field: the person's, else the recommended one, else "".
        recommended: The value is ours ("auto" or the default), not the person's.
        recommended_text: What it becomes when it is reset; "" where there is no such value.
        unit: Grey, inside the field at its right.
        hint: One line under the field. *error* replaces it.
        choices: (value, words) of a choice, in order.
        offers: (words, text to type instead) of each reading, where what was typed has two ("2,500").
    """

    path: str
    title: str
    kind: Kind
    text: str
    recommended: bool
    recommended_text: str = ""
    unit: str = ""
    help: str = ""
    why: str = ""
    hint: str = ""
    error: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    offers: tuple[tuple[str, str], ...] = ()

    @property
    def on(self) -> bool:
        return self.text == "true"

    @property
    def may_reset(self) -> bool:
        return not self.recommended


def main_fields(job: Job, plan: Plan | None, problems: Problems, typed: Typed) -> tuple[FieldView, ...]:
    """Batch size, length, learning rate, precision. The length is in steps where steps are what the job says."""
    resolved = plan.job if plan else job
    length = "training.steps" if resolved["training.steps"] is not None else "training.epochs"
    paths = tuple(length if path == "training.epochs" else path for path in MAIN)
    return tuple(field(path, job, plan, problems, typed) for path in paths)


def more_fields(
    job: Job, plan: Plan | None, problems: Problems, typed: Typed
) -> tuple[tuple[str, tuple[FieldView, ...]], ...]:
    """Everything else, in groups; only what means something for this data and model."""
    shown = {path.path for path in main_fields(job, plan, problems, typed)}
    groups = []
    if options := option_fields(job, plan, problems, typed):
        groups.append(("The model", options))
    for group, title in GROUPS.items():
        kept = tuple(
            field(key.path, job, plan, problems, typed)
            for key in KEYS
            if key.group == group and _concerns(key, job, plan) and key.path not in shown
        )
        groups.append((title, kept))
    return tuple(groups)


def _concerns(key: Key, job: Job, plan: Plan | None) -> bool:
    return concerns(key, job.data.kind) and (
        not key.tasks or plan is None or bool({plan.task, job.data.task} & set(key.tasks))
    )


def field(path: str, job: Job, plan: Plan | None, problems: Problems, typed: Typed) -> FieldView:
    key = BY_PATH[path]
    value = job[path]
    ours = path not in job.given or value == AUTO
    resolved = plan.job[path] if plan and ours else value
    why = plan.reasons.get(path, "") if plan and ours else ""
    recommended = _recommended(path, key, plan)
    text = "" if resolved is None or resolved == AUTO else value_text(resolved, whole=key.kind == "integer")
    unit = key.unit or ""
    problem = problems.get(path)
    if ours and text and not problem and key.kind in ("integer", "number"):
        unit = " · ".join(filter(None, (unit, "recommended"))) if why or key.auto else unit
    return FieldView(
        path=path,
        title=key.title,
        kind=_kind(key),
        text=typed.get(path, text) if problem else text,
        recommended=ours,
        recommended_text=recommended,
        unit=unit,
        help=help_of(path),
        why=why,
        hint=_hint(path, job, plan) or limit_echo(path, resolved, job) or key.help,
        error=_wrong(problem),
        choices=tuple((choice, key.words.get(choice, choice)) for choice in key.choices),
        offers=_offers(key, typed.get(path, "")) if problem and problem.id == "job-two-readings" else (),
    )


def option_fields(job: Job, plan: Plan | None, problems: Problems, typed: Typed) -> tuple[FieldView, ...]:
    if job.model.is_own:
        return tuple(_own_option(name, value, problems, typed) for name, value in job.model.options.items())
    model = BY_NAME.get(str(job.model.name))
    planned = plan.options if plan and plan.job.model.name == job.model.name else {}  # pieces follow the text
    return tuple(_option_field(one, job, planned, problems, typed) for one in model.options) if model else ()


def option_value(job: Job, name: str, value: object) -> dict[str, object]:
    """The `model.options` table with one option set, or taken out when *value* is None."""
    options = dict(job.model.options)
    if value is None:
        options.pop(name, None)
    else:
        options[name] = value
    return options


def value_text(value: object, *, whole: bool = False) -> str:
    """*value* as it stands in its field, where it can be typed on: a number never so that it has two readings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and whole:
        return f"{value:,}"
    return spelled(value) if isinstance(value, (int, float)) else str(value)


def limit_echo(path: str, value: object, job: Job) -> str:
    """What a limit was understood to be, in its unit: under its field and wherever else it is typed."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return ""
    match path:
        case "limits.money_usd":
            free = places.by_id(job.where.place).local and not job.where.usd_per_hour
            if free or places.by_id(job.where.place).notebook:
                return f"Nothing is charged here; elsewhere it stops at {figures.exact_money(value)}."
            return f"Stops at {figures.exact_money(value)}."
        case "limits.hours":
            return f"Stops after {figures.duration(value * 3600)}."
        case "where.usd_per_hour":
            return f"Counts {figures.exact_money(value)} for each hour."
        case _:
            return ""


def _option_field(
    option: Option, job: Job, planned: Mapping[str, object], problems: Problems, typed: Typed
) -> FieldView:
    path = f"model.options.{option.name}"
    given = job.model.options.get(option.name)
    usual = option.default if given is not None else planned.get(option.name, option.default)
    problem = problems.get(path)
    whole = isinstance(option.default, int)
    shown = value_text(usual if given is None else given, whole=whole)
    return FieldView(
        path=path,
        title=option.name.capitalize(),
        kind="number",
        text=typed.get(path, shown) if problem else shown,
        recommended=given is None,
        recommended_text=value_text(usual, whole=whole),
        unit="" if given is not None or problem else "recommended",
        help=f"{option.help} {_told(glossary.of_key('model.options'))}",
        hint=option.help,
        error=_wrong(problem),
    )


def _own_option(name: str, value: object, problems: Problems, typed: Typed) -> FieldView:
    """One that the job gives the person's own file, which alone knows what it means: nothing is recommended."""
    path = f"model.options.{name}"
    problem = problems.get(path)
    shown = str(value).lower() if isinstance(value, bool) else value_text(value, whole=isinstance(value, int))
    return FieldView(
        path=path,
        title=name,
        kind="number" if is_number(value) else "text",
        text=typed.get(path, shown) if problem else shown,
        recommended=True,
        help=f"Your model's file finds it as job.options[“{name}”]. {_told(glossary.of_key('model.options'))}",
        hint="Reaches your model's file as it stands here.",
        error=_wrong(problem),
    )


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def help_of(path: str) -> str:
    """What the setting `table.key` is and when to change it: its entry in the glossary."""
    return _told(glossary.of_key(path))


def _told(term: glossary.Term | None) -> str:
    return f"{term.hint} {glossary.plain(term.text)}" if term else ""


def _recommended(path: str, key: Key, plan: Plan | None) -> str:
    if plan and path in plan.reasons and plan.job[path] is not None:
        return value_text(plan.job[path], whole=key.kind == "integer")
    return value_text(key.default, whole=key.kind == "integer") if key.default not in (None, AUTO) else ""


def _kind(key: Key) -> Kind:
    match key.kind:
        case "integer" | "number":
            return "number"
        case "choice":
            return "choice"
        case "boolean":
            return "switch"
        case _:
            return "text"


def _hint(path: str, job: Job, plan: Plan | None) -> str:
    """A line under the field that says what the number means here."""
    if plan is None:
        return ""
    batch, noun = plan.job.training.global_batch, figures.noun(plan.job.data.kind, plan.task)
    match path:
        case "training.global_batch":
            steps = "1 step" if plan.steps_per_epoch == 1 else f"{figures.count(plan.steps_per_epoch)} steps"
            return f"{noun[0].upper()}{noun[1:]} per step; {steps} per epoch"
        case "training.epochs" | "training.steps":
            if path == "training.steps" and job.training.steps is None and "training.steps" not in plan.reasons:
                return ""
            through = plan.steps / plan.steps_per_epoch
            times = (
                f"{figures.count(plan.steps)} steps, "
                if path == "training.epochs"
                else f"{figures.figure(through, 2)} epochs, "
            )
            return f"{times}{figures.count(plan.steps * batch)} {noun} in all"
        case "training.precision":
            return "Half the memory on a TPU" if plan.job[path] == "bfloat16" else "The usual format on a CPU"
        case _:
            return ""


def _offers(key: Key, typed: str) -> tuple[tuple[str, str], ...]:
    """Both readings of what was typed, as buttons; one that the setting cannot have is left out."""
    offers = []
    for number in readings(typed, whole=key.kind == "integer"):
        try:
            check(key, number)
        except JobError:
            continue
        words = figures.exact_money(number) if key.unit == "$" else f"{spelled(number)} {key.unit or ''}".strip()
        offers.append((words, spelled(number)))
    return tuple(offers)


def _wrong(problem: Problem | None) -> str:
    """What stands under the field: its name is above it already, so only what would be right is told."""
    if problem is None:
        return ""
    if problem.id == "job-out-of-range":
        return problem.meaning.partition(". ")[0].rstrip(".") + "."
    if problem.id == "job-two-readings":
        return f"{problem.title.partition('”: ')[2].capitalize()}: which one?"
    name, _, rest = problem.title.partition(") ")
    return f"{rest[:1].upper()}{rest[1:]}." if rest and name.startswith("“") else f"{problem.title}."
