"""What the Run page shows, as of one moment: a frozen state whose properties are its words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from tpu_studio.domain.forecast import Forecast, forecast
from tpu_studio.domain.run import RunView
from tpu_studio.domain.sentences import Sentence, say_reason
from tpu_studio.viewmodels import (
    runcopies,
    runfacts,
    runhappened,
    runnumbers,
    runpace,
    runprofile,
    runrented,
    runstages,
    runstory,
    runwords,
)
from tpu_studio.viewmodels.runfacts import RunFacts
from tpu_studio.viewmodels.runports import Trial
from tpu_studio.viewmodels.runprofile import Remedy
from tpu_studio.wire import places
from tpu_studio.wire.models import begins_others
from tpu_studio.wire.phases import Status
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runfolder import model_from_before

SLOWER = 10  # what the rate is divided by after a loss that was no number, as the error helper advises
STALE_AFTER_S = 15.0
RENTED_STALE_AFTER_S = 30.0  # a machine that has nothing to say says so every 30 s


@dataclass(frozen=True)
class RunPageState:
    run: str
    facts: RunFacts
    folder: Path
    view: RunView
    now: float  # the attributes after it have defaults; *trouble*: why the cloud cannot be reached at the moment
    loading: bool = True
    busy: str = ""
    problem: Sentence | None = None
    trial: Trial = field(default_factory=Trial)
    plan: Plan | None = None
    trouble: Sentence | None = None
    strangers: bool = False  # rented by somebody else and brought here: looked at, and planned anew
    imported: bool = False  # brought here as files, whatever it ran on

    @property
    def at(self) -> float:
        """The time for which the page tells; of a copy its own newest, for nothing goes on there."""
        return min(self.now, self.view.seen_t or self.now) if self.strangers else self.now

    @property
    def waiting(self) -> runrented.Waiting | None:
        if self.plan is None or not self.facts.rented or self.strangers:
            return None
        return runrented.waiting_of(self.plan, self.view, self.now)

    @property
    def story(self) -> runstory.Story | None:
        """How it went on after its machine was taken back."""
        return runstory.story_of(self.facts.place, self.view, copy=self.strangers)

    @property
    def removal(self) -> runrented.Removal | None:
        if self.plan is None or not self.facts.rented:
            return None
        found = runrented.removal_of(self.plan, self.view, self.now)
        return runrented.copied(found) if self.strangers else found

    @property
    def over(self) -> bool:
        return self.view.over

    @property
    def waits_for_colab(self) -> bool:
        """It trains in a notebook, and nothing of it has come here yet."""
        return places.by_id(self.facts.place).notebook and not self.view.over and not self.view.step

    @property
    def is_bare(self) -> bool:
        """No step of it is known, and none will come by itself: there is nothing to draw."""
        return not self.loading and not self.view.step and not self.view.last and (self.over or self.waits_for_colab)

    @property
    def report(self) -> Path | None:
        """The page that the run wrote of itself; None: there is none, or it was written elsewhere, where somebody else
        may have had a hand in it: a browser would run what stands there."""
        page = self.folder / "result" / "report.html"
        here = places.by_id(self.facts.place).on_this_computer and not self.imported
        return page if self.over and here and page.is_file() else None

    @property
    def may_stop(self) -> bool:
        """Of a rented run also while its machine says that it was told to, or that it is over, until it is
        verified gone: that may be said by what trains there."""
        told = self.view.stopping and not self.facts.rented
        over = self.view.over and not (self.facts.rented and self.view.unproved)
        return not over and not told and not self.busy and not self.strangers

    @property
    def stop_words(self) -> str:
        """A model that was never trained cannot be kept."""
        return "Stop & keep model" if self.view.step else "Stop"

    @property
    def may_profile(self) -> bool:
        return runprofile.may_ask(self.view) and not self.busy and not self.strangers

    @property
    def profile(self) -> runprofile.Card | None:
        return runprofile.card_of(self.plan, self.view) if self.plan else None

    @property
    def may_resume(self) -> bool:
        """The run ended before its time in a way that carrying on can mend."""
        may_help = self._reason is not None and self._reason.retry_may_help
        return self.view.end is not None and not self.busy and may_help and not self.strangers

    @property
    def may_plan_again(self) -> bool:
        """A run that is over is where the next one begins: what went wrong is corrected, what went well is varied."""
        return self.strangers or self.view.end is not None

    @property
    def may_extend(self) -> bool:
        return (
            not self.busy
            and not self.view.stopping
            and not self.strangers
            and (
                self.view.end is None
                or self._reason in (Reason.COMPLETED, Reason.EARLY_STOPPED, Reason.STOPPED_BY_USER)
            )
        )

    @property
    def may_try(self) -> bool:
        return self.view.over and (self.folder / "result" / "model.keras").exists()

    @property
    def may_begin_another(self) -> bool:
        """Its model is one that another training can begin from, on other data."""
        return self.may_try and self.plan is not None and begins_others(self.plan.job.model.name)

    @property
    def ending(self) -> Sentence | None:
        """Why it ended, what that means and what to do next; None while it runs."""
        if self.view.end is None:
            return None
        reason = self._reason
        if reason is None:
            return Sentence("It ended", self.view.end.reason, "")
        facts = {**self.view.end.facts, **model_from_before(self.folder)}
        said = say_reason(reason, facts, place=self.facts.place, usd=self.view.usd, copy=self.strangers)
        if self.strangers and self.view.end.status is not Status.FINISHED:
            return replace(said, action="“Duplicate and edit” plans and prices it for your own account.")
        return said

    @property
    def repair(self) -> Remedy | None:
        """The next step of a run that failed, as a button: its plan with a smaller rate where the loss was no number
        any more, else the log explained."""
        if self.view.end is None or self.view.end.status is not Status.FAILED or self.plan is None:
            return None
        before = self.plan.job.training.learning_rate
        if self._reason is Reason.LOSS_NOT_FINITE and not self.strangers and isinstance(before, float | int):
            rate = float(f"{before / SLOWER:.2g}")
            return Remedy("", f"Plan it with a rate of {rate:g}", {"training.learning_rate": rate})
        return Remedy("", "Explain its log")

    @property
    def silent_s(self) -> float:
        """Age of the newest event in seconds, while the run lasts."""
        return 0.0 if self.view.over or not self.view.seen_t else max(0.0, self.at - self.view.seen_t)

    @property
    def stale(self) -> bool:
        return self.silent_s > self.stale_after_s and self.view.phase.value == "training"

    @property
    def stale_after_s(self) -> float:
        return RENTED_STALE_AFTER_S if self.facts.rented else STALE_AFTER_S

    @property
    def _reason(self) -> Reason | None:
        try:
            return Reason(self.view.end.reason) if self.view.end else None
        except ValueError:
            return None

    @property
    def pill(self) -> tuple[str, runfacts.Tone]:
        word, tone = runwords.pill(self.facts, self.view)
        return runcopies.pill(word, self.view) if self.strangers else (word, tone)

    @property
    def stages(self) -> tuple[runstages.Stage, ...]:
        own = runstages.stages(self.facts, self.view, self.at)
        return runcopies.stages(own, self.view) if self.strangers else own

    @property
    def numbers(self) -> tuple[runnumbers.Number, ...]:
        own = runnumbers.numbers(self.facts, self.view, self.at, self.forecast)
        return runcopies.numbers(own) if self.strangers else own

    @property
    def forecast(self) -> Forecast | None:
        """What the measured steps foretell, once there are enough."""
        return forecast(self.plan, self.view) if self.plan else None

    @property
    def pace_notice(self) -> Sentence | None:
        """The steps take longer, or less long, than the plan's range says."""
        return runpace.notice(self.plan, self.view, self.forecast) if self.plan else None

    @property
    def finding(self) -> str:
        return runwords.finding(self.facts, self.view, self.at)

    @property
    def happened(self) -> tuple[runhappened.Line, ...]:
        own = runhappened.what_happened(self.facts, self.view, found=self.forecast, copy=self.strangers)
        return runcopies.lines(own) if self.strangers else own
