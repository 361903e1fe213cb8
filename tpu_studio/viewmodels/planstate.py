"""The Plan page as one frozen state: the job being written, what is known of its data, the plan, and what is missing.

Everything a widget would have to decide is a property here, in words where it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tpu_studio.domain import figures
from tpu_studio.domain.catalogue import title_of
from tpu_studio.planner.broken import broken
from tpu_studio.viewmodels import draft, planwords
from tpu_studio.viewmodels.engine import EngineView
from tpu_studio.viewmodels.leaving import Leaving
from tpu_studio.viewmodels.planbases import BaseChoice
from tpu_studio.viewmodels.plancheck import CheckView
from tpu_studio.viewmodels.planform import FieldView, main_fields, more_fields
from tpu_studio.viewmodels.planverdict import Verdict
from tpu_studio.viewmodels.planwhere import PLACE_WORDS, SliceChoice, WhereView
from tpu_studio.viewmodels.problem import Problem
from tpu_studio.viewmodels.thumbnails import Thumbnail
from tpu_studio.wire import hub, places
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Check, Plan
from tpu_studio.workflow.ownfile import OwnFile

if TYPE_CHECKING:
    from tpu_studio.data.looked import Look
    from tpu_studio.planner.estimate import Estimate
    from tpu_studio.viewmodels.review import Newer

WHERE_CHECKS = ("place-", "accelerator-", "price-", "wait-")
Section = Literal["model", "data", "settings", "where"]
SECTIONS: tuple[Section, ...] = ("data", "model", "settings", "where")
TITLES = {"model": "Model", "data": "Data", "settings": "Settings", "where": "Where"}


@dataclass(frozen=True)
class Step:
    """One entry of the rail. *state*: done, current, todo or problem; *summary* is one line."""

    id: Section
    title: str
    state: str
    summary: str


@dataclass(frozen=True)
class ModelChoice:
    """A card of the Model section. *detail* is what it would take here ("0.4 million weights · about 3 min"), *why* the
    reason where it is recommended for this data."""

    name: str
    title: str
    text: str
    detail: str = ""
    why: str = ""


@dataclass(frozen=True)
class PlanView:
    """Attributes:
    job: The values as the person wrote them, "auto" and all; may be incomplete.
    file: The job file it came from or was saved to.
    looking, look, look_problem: The look at the data: under way, its outcome, or why there is none.
    look_done, look_total: How far it is; total 0 while unknown.
    timing: none, waiting (until editing pauses), measuring, ready or failed. *timing_s*: how long it has measured.
    choices: Models that fit the data; without data, all of them.
    plan, parts: Of the latest complete job; *stale* while newer edits wait for a look.
    problems: Wrong values by `table.key`, with what was typed in ``typed``.
    opened: Sections that were opened with Change.
    attention: The section that Start pointed to, and how often (so that a second press points again).
    where, slice_choices: Of a rented place: what can be picked, and three TPUs with what the run would take there.
    reviewed: The plan that the open review of a rented run shows: it is launched, whatever is planned meanwhile.
    price_trouble: Why prices are not Google's of today, "" when they are or nobody is signed in.
    running: Names of the runs on this computer that go on.
    verdict: Whether a TPU is worth it, with the other ways; None without a plan.
    check: The TPU compiler's check of this plan: asked, under way, its answer.
    asking_notebook: The sheet that writes the notebook for Colab is open.
    bases: Runs of mine that a model can begin from.
    leaving: The run that waits elsewhere for a machine until this one starts.
    unstoppable: Regions where this job's launch was refused: no shut-off timer can be had there.
    account_missing: What is known to keep Google from lending a TPU, as a button says it; "" when nothing is.
        *practice_missing*: the same of the practice cloud.
    """

    job: Job = field(default_factory=draft.empty)
    file: Path | None = None
    saved: Job | None = None
    looking: bool = False
    look_slow: bool = False
    look: Look | None = None
    look_problem: Problem | None = None
    look_done: int = 0
    look_total: int = 0
    timing: str = "none"
    timing_s: int = 0
    plan: Plan | None = None
    parts: Estimate | None = None
    stale: bool = False
    problems: Mapping[str, Problem] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)
    problem: Problem | None = None
    own: OwnFile | None = None
    choices: tuple[ModelChoice, ...] = ()
    thumbnails: tuple[Thumbnail, ...] = ()
    asking_consent: bool = False
    asking_engine: bool = False
    starting: bool = False
    opened: frozenset[str] = frozenset()
    attention: tuple[str, int] = ("", 0)
    engine: EngineView = field(default_factory=EngineView)
    running: tuple[str, ...] = ()
    beside: bool = False
    may_undo: bool = False
    may_redo: bool = False
    timing_failed: str = ""
    where: WhereView = field(default_factory=lambda: WhereView(places.default().id))
    slice_choices: tuple[SliceChoice, ...] = ()
    reviewed: Plan | None = None
    price_trouble: str = ""
    verdict: Verdict | None = None
    check: CheckView = field(default_factory=CheckView)
    asking_notebook: bool = False
    account_missing: str = ""
    practice_missing: str = ""
    leaving: Leaving | None = None
    unstoppable: tuple[str, ...] = ()
    bases: tuple[BaseChoice, ...] = ()

    # ------------------------------------------------------------------------------------------------ what is there

    @property
    def complete(self) -> bool:
        return draft.is_complete(self.job)

    @property
    def may_waive(self) -> bool:
        """The launch gate said that no shut-off timer can be had in any of this plan's areas: the person may agree,
        for one launch, to go without."""
        if self.plan is None or not self.rented or not self.unstoppable:
            return False
        zones = list(self.plan.job.where.zones)
        return bool(zones) and all(zone.rpartition("-")[0] in self.unstoppable for zone in zones)

    @property
    def reviewing(self) -> bool:
        return self.reviewed is not None

    @property
    def newer(self) -> Newer | None:
        """What the plan says by now while an older review is open: it is read before anything is launched."""
        if self.reviewed is None:
            return None
        from tpu_studio.viewmodels.review import newer_than

        return newer_than(self.reviewed, self.plan, self.missing[1])

    @property
    def rented(self) -> bool:
        return places.by_id(self.job.where.place).rents

    @property
    def free_tpu(self) -> bool:
        """A TPU of Colab, in a notebook."""
        return places.by_id(self.job.where.place).notebook

    @property
    def practice(self) -> bool:
        return places.by_id(self.job.where.place).rehearses

    @property
    def needs_engine(self) -> bool:
        """The training engine of this computer does the work: here, and behind a practice machine."""
        return places.by_id(self.job.where.place).on_this_computer

    @property
    def needs_consent(self) -> bool:
        """The person's own file may not run at this place yet."""
        return self.own is not None and self.job.where.place not in self.own.agreed

    @property
    def dirty(self) -> bool:
        """Whether something would be lost that no file holds."""
        return self.job != (self.saved or draft.empty())

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def checks(self) -> tuple[Check, ...]:
        return self.plan.checks if self.plan else ()

    @property
    def findings(self) -> tuple[Check, ...]:
        """Checks that speak of the data; they stand in the Data section."""
        if not self.look:
            return ()
        ids = {finding.id for finding in self.look.findings}
        return tuple(check for check in self.checks if check.id in ids)

    @property
    def warnings(self) -> tuple[Check, ...]:
        """What stands in the estimate: everything to look at that is not told beside the data already."""
        ids = {check.id for check in self.findings}
        return tuple(
            check
            for check in self.checks
            if check.level in ("error", "warning", "info") and check.id not in ids and check.id != "model-file-consent"
        )

    # ------------------------------------------------------------------------------------------------------ sections

    def is_open(self, section: str) -> bool:
        """Settings and Where are always open; Model and Data until they are chosen, and again after Change."""
        if section == "model":
            return not draft.has_model(self.job) or section in self.opened
        if section == "data":
            return not draft.has_data(self.job) or section in self.opened or self.look_problem is not None
        return True

    @property
    def steps(self) -> tuple[Step, ...]:
        done = {
            "model": draft.has_model(self.job),
            "data": draft.has_data(self.job) and self.look is not None and not self.looking,
        }
        current = next((section for section in ("data", "model") if not done[section]), "settings")
        steps = []
        for section in SECTIONS:
            state = "done" if done.get(section) else "current" if section == current else "todo"
            if self._trouble(section):
                state = "problem"
            elif section == "where" and self.complete:
                state = "done"
            steps.append(Step(section, TITLES[section], state, self._summary(section)))
        return tuple(steps)

    def _trouble(self, section: str) -> bool:
        ids = {"model": ("model-",), "data": ("data-",), "settings": ("batch-",), "where": WHERE_CHECKS}[section]
        return (
            (section == "data" and self.look_problem is not None)
            or any(check.level == "error" and check.id.startswith(ids) for check in self.checks)
            or (section == "settings" and bool(self.problems))
        )

    def _summary(self, section: str) -> str:
        match section:
            case "model":
                return planwords.model_title(self.job) or "Choose one"
            case "data":
                if self.looking:
                    return "Looking at it"
                if self.look_problem:
                    return "Needs attention"
                return planwords.data_title(self.job, None) or "Choose some"
            case "settings":
                if self.problems:
                    return (
                        "1 value to correct" if len(self.problems) == 1 else f"{len(self.problems)} values to correct"
                    )
                count = sum(check.fix is not None for check in self.warnings)
                if count:
                    return "1 suggestion" if count == 1 else f"{count} suggestions"
                own = sum(path.startswith(("training.", "data.")) for path in self.job.given & _SETTINGS)
                return f"{own} set, rest automatic" if own else "Recommended"
            case _:
                if self.free_tpu:
                    return "Free Colab TPU"
                place = PLACE_WORDS.get(self.job.where.place, self.job.where.place.capitalize())
                if self.rented and self.plan and not places.by_id(self.plan.place).local:
                    return f"{place}, {title_of(self.plan.accelerator)}"
                return place

    @property
    def main_fields(self) -> tuple[FieldView, ...]:
        return main_fields(self.job, self.plan, self.problems, self.typed)

    @property
    def more_fields(self) -> tuple[tuple[str, tuple[FieldView, ...]], ...]:
        return more_fields(self.job, self.plan, self.problems, self.typed)

    # ------------------------------------------------------------------------------------------------------ estimate

    @property
    def pill(self) -> tuple[str, str]:
        """Tone and word at the top of the estimate."""
        if self.plan is None:
            return "neutral", "Not yet"
        if self.stale or self.looking:
            return "neutral", "Updating"
        if self.plan.memory.compiled:
            return "ok", "Checked by the compiler"
        if self.parts and self.parts.lesson and self.timing not in ("measuring", "ready"):
            return "neutral", "From your own runs"
        if not self.needs_engine:
            return "neutral", "From published figures"
        if self.timing == "measuring":
            return "accent", "Timing real steps"
        if self.parts and self.parts.measured:
            return "neutral", "Measured here"
        return "neutral", "Rough"

    @property
    def may_time(self) -> bool:
        """Whether real steps of this work can be timed here, now or again: the estimate keeps room to say so."""
        return self.plan is not None and self.needs_engine and self.engine.ready and not self.missing[1]

    @property
    def timing_words(self) -> str:
        """Under the estimate, while real steps are timed and once they were; "" where a button offers it."""
        if self.timing == "measuring":
            return f"Timing real steps, {self.timing_s} s so far"
        return "From steps measured on this computer" if self.parts is not None and self.parts.measured else ""

    @property
    def headline(self) -> str:
        if not self.plan or not self.plan.time_s:
            return "–"
        if broken(self.plan) is not None:
            return "Not like this"
        if self.plan.price and self.plan.cost_usd and not self.free_tpu:
            return planwords.money_range(self.plan.cost_usd)
        return planwords.time_range(self.plan.time_s)

    @property
    def subline(self) -> str:
        if not self.plan or not self.plan.time_s:
            if self.look_problem:
                return "The estimate comes when the data can be read."
            return "Looking at the data." if self.looking else "Choose data and a model to see how long it takes."
        if wrong := broken(self.plan):
            return f"{wrong.title}. Time and cost are told when it can run."
        if self.rented:
            takes = f"about {planwords.about_time(self.plan.time_s)}"
            if self.practice:
                cost = "would be the cost" if self.plan.price else "the price is not known"
                return f"{cost}; {takes} on the practice machine, which is this computer"
            lasts = f"{takes} on {title_of(self.plan.accelerator)}"
            return lasts if self.plan.price else f"{lasts}; the price is not known"
        if self.free_tpu:
            return "on a free Colab TPU (v5e · 1 chip), free of charge"
        if self.plan.price:
            return f"about {planwords.about_time(self.plan.time_s)} on this computer, at a simulated price"
        if self.timing == "failed":
            return f"on this computer, free of charge. Timing real steps did not work: {self.timing_failed}."
        return "on this computer, free of charge"

    @property
    def charge_sentence(self) -> str:
        if self.practice:
            return "Practice: nothing here is real, and nothing is charged."
        if self.free_tpu:
            return "Nothing is charged, and no payment is set up."
        if self.rented:
            return "Nothing is charged until the TPU starts."
        if self.job.where.usd_per_hour:
            return "A rehearsal: the price is simulated, nothing is charged."
        return "Runs on this computer. Nothing is charged."

    # --------------------------------------------------------------------------------------------------------- start

    @property
    def waits_for_hub(self) -> bool:
        """Whether nothing keeps the run from starting but what is to be fetched from the Hugging Face Hub."""
        blocking = self.plan.blocking if self.plan is not None and not self.stale else ()
        return bool(blocking) and all(one.id in hub.PROBLEMS for one in blocking)

    @property
    def missing(self) -> tuple[str, str]:
        """Section and words of what keeps the run from starting; two empty texts when it can start."""
        if not draft.has_data(self.job):
            return "data", "Choose data first"
        if not draft.has_model(self.job):
            return "model", "Choose a model first"
        if self.look_problem:
            return "data", "Fix the data first"
        if self.problems:
            return "settings", "A value needs correcting"
        if self.plan is None or self.stale:
            return "data", _LOOKING
        if blocking := self.plan.blocking:
            section = next(
                (
                    name
                    for name, begins in (("model", "model-"), ("data", "data-"), ("where", WHERE_CHECKS))
                    if blocking[0].id.startswith(begins)
                ),
                "settings",
            )
            return section, blocking[0].title
        if not self.plan.fits:
            if self.rented or self.free_tpu:
                return "where", "It does not fit into this TPU"
            return "settings", "It does not fit into memory"
        return "", ""

    @property
    def lacks(self) -> bool:
        """Whether somebody must do something before it can start; not while its figures are still being worked out."""
        return bool(self.missing[1]) and self.missing[1] != _LOOKING

    @property
    def blocked(self) -> str:
        """What the account there still needs before this plan can be rented; "" when nothing is known to be."""
        place = places.by_id(self.job.where.place)
        return self.account_missing if place.charges else self.practice_missing if place.rehearses else ""

    @property
    def start_words(self) -> str:
        if self.starting:
            return "Starting"
        if self.lacks:
            return "Show what is missing"
        if self.free_tpu:
            return "Write the notebook"
        return "Review and start" if self.rented else "Start training"

    @property
    def start_note(self) -> str:
        """Under the Start button: what is missing, else what it will cost."""
        missing = self.missing[1]
        if missing:
            return f"{missing}."
        if self.running and not self.beside and not self.rented and not self.free_tpu:
            return f"Waits until “{self.running[-1]}” is over. Nothing is charged."
        if self.blocked:
            return f"{self.blocked}; the review leads there."
        return self.charge_sentence

    @property
    def running_words(self) -> str:
        if not self.running:
            return ""
        if len(self.running) == 1:
            return f"“{self.running[0]}” is training now"
        return f"{figures.count(len(self.running))} runs are training or waiting now"


_LOOKING = "Looking at the data"
_SETTINGS = frozenset(
    path
    for path in draft.empty().values
    if path.startswith("training.") or path in ("data.image_size", "data.augment", "data.sequence_length")
)
