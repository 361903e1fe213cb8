"""From a job to its plan, the one way for window and command line: what each plan is told, by its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tpu_studio.data.looked import Look
from tpu_studio.domain.catalogue import Catalogues
from tpu_studio.planner.compiled import with_compiler
from tpu_studio.planner.known import Known
from tpu_studio.planner.make import make_plan, plan_with_parts
from tpu_studio.planner.modelwork import needs_engine
from tpu_studio.planner.outlook import HERE
from tpu_studio.planner.own import OwnRuns
from tpu_studio.planner.parts import Parts
from tpu_studio.planner.timing import Timing
from tpu_studio.wire import models, places
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.job import Job, set_values
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.pretrained import reading
from tpu_studio.workflow import bases
from tpu_studio.workflow.ownfile import OwnFile


@dataclass(frozen=True)
class Bucket:
    """*kept_days*: So long it keeps what was deleted."""

    region: str = ""
    kept_days: int = 0


def starter_problem(plan: Plan) -> str:
    preset = "" if plan.job.model.folder else plan.job.model.starts_from
    return models.starter(preset).problem() if preset else ""


Begins = tuple[Preset | None, ModelError | None]


def preset_of(job: Job) -> Begins:
    """Of the folder that its model begins from; reads all of it, once."""
    try:
        bases.check(job.model.folder)
        preset = reading.of(job.model.folder, job.base)
        if preset.base is not None:
            preset = replace(preset, base=replace(preset.base, lineage=bases.lineage(preset.folder)))
        return preset, None
    except ModelError as error:
        return None, error


@dataclass(frozen=True)
class Sources:
    """What is known of a plan without waiting; each answers None where it does not know.

    Attributes:
        catalogues: Prices and offers that count now.
        timing: Of real steps on this computer.
        model: What the engine saw in the plan's model: its work (``planner.known``), or a problem.
        picture_s: What one core takes to read a picture.
        checked: The answer of the TPU compiler to this very plan.
        bucket: Of the person's bucket at a place.
        own: Runs of before.
        preset: Of the folder that the job's model begins from, or why that cannot be.
        starter: The problem of the starter weights that it begins from; "": they are here, or it begins from none.
        free_bytes: On the disk of runs here.
    """

    catalogues: Catalogues
    timing: Callable[[Plan], Timing | None] = lambda plan: None
    model: Callable[[Plan], Mapping[str, object] | None] = lambda plan: None
    picture_s: Callable[[Plan], float | None] = lambda plan: None
    checked: Callable[[Plan], Mapping[str, object] | None] = lambda plan: None
    bucket: Callable[[str], Bucket] = lambda place: Bucket()
    own: OwnRuns | None = None
    starter: Callable[[Plan], str] = starter_problem
    preset: Callable[[Job], Begins] = preset_of
    free_bytes: Callable[[], int | None] = lambda: None


@dataclass(frozen=True)
class Draft:
    """A job, the look at its data, and its own model file, if it has one."""

    job: Job
    look: Look
    own: OwnFile | None = None

    @property
    def place(self) -> places.Place:
        return places.by_id(self.job.where.place)

    @property
    def consent(self) -> str:
        """sha256 of the own file that may run at this place, or ""."""
        return self.own.sha256 if self.own and self.place.id in self.own.agreed else ""

    @property
    def may_build(self) -> bool:
        """Whether its model is ours, or may run here."""
        return bool(self.consent) or not (self.own and self.own.sha256)


@dataclass(frozen=True)
class Planning:
    """*plan* with its *parts* and what they rest on: *known* also makes the plans beside it, of other slices."""

    plan: Plan
    parts: Parts
    known: Known


def plan_job(draft: Draft, sources: Sources, now: float, *, advise: bool = True) -> Planning:
    """Everything that *sources* know of it is in the plan.

    Args:
        now: Seconds since 1970.

    Raises:
        JobError: A model name or an option of it that does not exist.
    """
    known = replace(_known(draft, sources), free_bytes=sources.free_bytes())
    bare = make_plan(draft.job, draft.look, known, now=now, advise=False)
    if seen := sources.model(bare):
        known = replace(known, model_facts={**known.model_facts, **seen})
        bare = make_plan(draft.job, draft.look, known, now=now, advise=False)
    known = replace(known, picture_s=sources.picture_s(bare), starter=sources.starter(bare))
    if draft.place.on_this_computer:
        known = replace(known, timing=sources.timing(bare))
    if not draft.place.local:
        here = make_plan(set_values(draft.job, HERE), draft.look, known, now=now, advise=False)
        known = replace(known, here=sources.timing(here))
    plan, parts = plan_with_parts(draft.job, draft.look, known, now=now, advise=advise)
    answer = sources.checked(plan)
    if answer:
        plan = with_compiler(plan, answer, parts.question.catalogue)
    return Planning(plan, parts, known)


def wants_timing(draft: Draft, planning: Planning) -> bool:
    """Whether timing real steps would make the estimate truer: they tell nothing of a TPU, and where own runs of this
    very work are known, nothing new."""
    plan = planning.plan
    return (
        draft.place.on_this_computer
        and planning.known.timing is None
        and not planning.parts.estimate.measured
        and not plan.blocking
        and draft.may_build
    )


def wants_count(draft: Draft, plan: Plan) -> bool:
    """Whether only the engine can tell the work of its model, and may build it."""
    return needs_engine(plan) and draft.may_build and not plan.faults


def _known(draft: Draft, sources: Sources) -> Known:
    own, bucket = draft.own, sources.bucket(draft.place.id) if draft.place.rents else Bucket()
    facts: dict[str, object] = {}
    if own:
        facts = {
            "sha256": own.sha256,
            "missing": own.missing,
            "instead": own.instead,
            "secret_line": own.secret_line,
            **own.asked,
        }
    preset, problem = sources.preset(draft.job) if draft.job.model.folder else (None, None)
    return Known(
        sources.catalogues,
        preset=preset,
        preset_problem=problem,
        model_facts=facts,
        consent=draft.consent,
        bucket_region=bucket.region,
        kept_days=bucket.kept_days,
        own=sources.own,
    )
