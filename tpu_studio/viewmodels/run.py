"""The Run page: watches one run live, becomes its report when it is over, and lets its model be tried.

Holds a frozen `runstate.RunPageState`. The page calls `tick` about ten times a second while it is shown; reading new
events happens elsewhere, through `Tasks`, never in the window's thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tpu_studio.domain.observable import Observable
from tpu_studio.domain.run import RunView
from tpu_studio.domain.sentences import Sentence, say, say_untended
from tpu_studio.domain.sentences.result import checked_words
from tpu_studio.planner.computer import this_computer
from tpu_studio.viewmodels import draft, runfacts, runwords, trybefore
from tpu_studio.viewmodels.leaving import Leaving
from tpu_studio.viewmodels.receipt import facts_in
from tpu_studio.viewmodels.review import Fact
from tpu_studio.viewmodels.runlog import read_log
from tpu_studio.viewmodels.runports import FileOfModel, Predictor, Verbs
from tpu_studio.viewmodels.runstate import RunPageState
from tpu_studio.viewmodels.thumbnails import Thumbnail
from tpu_studio.viewmodels.thumbnails import read as read_picture
from tpu_studio.viewmodels.trying import Trying
from tpu_studio.wire import exports, places
from tpu_studio.wire.controls import Controls
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.job import Job
from tpu_studio.wire.limits import Limits, limits_of
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reasons import Reason
from tpu_studio.workflow.cloudruns import believed
from tpu_studio.workflow.consent import is_imported
from tpu_studio.workflow.marks import called
from tpu_studio.workflow.ports import Curve, Following, Tasks

if TYPE_CHECKING:
    from tpu_studio.viewmodels.onepage.page import Page

T = TypeVar("T")


class RunViewModel:
    """Watches one run.

    Args:
        follow: Opens the run's follower; called elsewhere, it may read much.
        predictor: Makes the process that answers for the model, when it is first asked.
        before: Makes the one that answers as the model did before training.
    """

    def __init__(
        self,
        run: str,
        folder: Path,
        plan: Plan,
        follow: Callable[[], Following],
        verbs: Verbs,
        tasks: Tasks,
        predictor: Callable[[], Predictor],
        clock: Callable[[], float] = time.time,
        before: Callable[[], Predictor] | None = None,
    ) -> None:
        self.plan = plan
        self.planned_again: Callable[[Job], None] = lambda job: None
        self.planned_refused: Callable[[Job, tuple[str, ...]], None] = lambda job, regions: None
        self.planned_elsewhere: Callable[[Job, Leaving], None] = lambda job, leaving: None
        self.ask_faults: Callable[[], None] = lambda: None  # open the panel “What could go wrong?”
        self.ask_commands: Callable[[], None] = lambda: None  # show the launch as gcloud commands
        self.ask_explain: Callable[[str], None] = lambda text: None  # show what a log means
        self.looked: Callable[[], None] = lambda: None  # called while somebody looks: a rented run reports faster then
        self.changed: Callable[[], None] = lambda: None  # a command was given
        self.bring: Callable[[Path], object] = lambda path: None  # take in the zip that a notebook made
        self.open_path: Callable[[Path], None] = lambda path: None  # with the system's own program
        self.write_format: Callable[[str, Path], FileOfModel]  # the model as a file of another format
        self.with_packages: Callable[[str, Callable[[], None]], None] = lambda form, then: then()  # what it takes
        self.receipt_read: Callable[[], None] = lambda: None
        self.tell: Callable[..., Any] = lambda title, text="", **more: None  # shown over the window for a while
        self.trouble: Callable[[], Exception | None] = lambda: None  # why the cloud cannot be reached
        self.cloud_now: Callable[[], float | None] = lambda: None  # what time it is there, as far as it is known
        self.state = Observable(RunPageState(run, runfacts.facts_of(plan), folder, RunView(), clock(), plan=plan))
        self._follow, self._verbs, self._tasks, self._clock = follow, verbs, tasks, clock
        self.trying = Trying(predictor, before or predictor, tasks, lambda trial: self._change(trial=trial))
        self._follower: Following | None = None
        self._polling = False
        self._closed = False

    def open(self) -> None:
        """Begin to watch; the first state with ``loading`` False has everything that was written so far."""

        def opened(found: tuple[Following, bool]) -> None:
            follower, imported = found
            if self._closed:
                follower.close()
                return
            self._follower = follower
            strangers = imported and self.state.value.facts.rented
            self._change(view=follower.view, loading=False, strangers=strangers, imported=imported)
            self._read_limit()

        self._tasks.submit(
            self._opened, done=opened, failed=lambda error: self._change(loading=False, problem=_said(error))
        )

    def _opened(self) -> tuple[Following, bool]:
        """The run's reader, and whether it was brought here as files."""
        follower = self._follow()
        follower.poll()
        state = self.state.value
        return follower, is_imported(state.folder)

    def _read_limit(self) -> None:
        """The limits grow with extensions; what they are now stands in the run's control files, those of a rented run
        as far as they were agreed to here."""
        folder, rented = self.state.value.folder, self.state.value.facts.rented

        def now() -> Limits:
            return believed.limits(folder, self.plan) if rented else limits_of(self.plan, Controls(folder).read())

        def told(now: Limits) -> None:
            facts = self.state.value.facts
            self._change(facts=replace(facts, hours_limit=now.hours, usd_limit=now.money_usd))

        self._tasks.submit(now, done=told, failed=self._poll_failed)

    def tick(self) -> None:
        """Look for new events and let the clock go on. One look at a time."""
        follower = self._follower
        if follower is None or self._polling or self._closed:
            return
        if self.state.value.facts.rented and not self.state.value.view.settled:
            self.looked()
        if self.state.value.view.settled and not self.state.value.busy and follower.view is self.state.value.view:
            return  # over: another attempt is noticed by `refresh`
        self._polling = True
        self._tasks.submit(follower.poll, done=lambda _: self._polled(), failed=self._poll_failed)

    def refresh(self) -> None:
        """Look once, also at a run that is over (it may have been extended from elsewhere)."""
        if self._follower is not None and not self._polling:
            self._polling = True
            self._tasks.submit(self._follower.poll, done=lambda _: self._polled(), failed=self._poll_failed)

    def _polled(self) -> None:
        self._polling = False
        if self._follower is not None and not self._closed:
            before, view = self.state.value, self._follower.view
            if view is before.view and view.settled and not before.busy:
                return  # over, and nothing is drawn anew
            if before.over and not view.over and not before.loading:
                self.trying.forget()  # the run goes on: what answered so far is not the model that it will have
            error = self.trouble() if before.facts.rented and not view.settled else None
            self._change(view=view, trouble=self._troubled(error, view))
            if view.steps_planned != before.view.steps_planned:  # it was extended
                self._read_limit()

    def _poll_failed(self, error: BaseException) -> None:
        self._polling = False
        self._change(problem=_said(error))

    def curve(self, metric: str) -> Curve | None:
        """The points of *metric*, or None while nothing is known of it."""
        return self._follower.curve(metric) if self._follower is not None and metric in self._follower.metrics else None

    def stop(self, keep: bool = True) -> None:
        run = self.state.value.run
        self._do("stopping", lambda: self._verbs.stop(run, keep))

    def extend(self, epochs: float) -> None:
        run = self.state.value.run
        self._do("extending", lambda: self._verbs.extend(run, epochs))

    def call(self, name: str) -> None:
        """The run is shown as *name* from now on."""
        if name != self.state.value.facts.name:
            self.plan = called(self.plan, name)
            self._change(plan=self.plan, facts=replace(self.state.value.facts, name=name))

    def plan_again(self) -> None:
        """Open a new plan with this run's settings; this run stays as it is."""
        job, end = draft.of_plan(self.plan, self.state.value.folder), self.state.value.view.end
        if end is not None and end.reason == Reason.NO_OUTSIDE_STOP.value:
            zones = list(self.plan.job.where.zones)
            self.planned_refused(job, tuple(dict.fromkeys(zone.rpartition("-")[0] for zone in zones)))
        else:
            self.planned_again(job)

    def begin_another(self) -> None:
        """Open a new plan that begins from what this run has learned; this run stays as it is."""
        self.planned_again(draft.based_on(self.plan, self.state.value.run))

    def go_elsewhere(self, changes: Mapping[str, object]) -> None:
        """Open a plan of the same job with *changes*; this run waits on until that one starts (`Leaving`)."""
        job = draft.edited(draft.of_plan(self.plan, self.state.value.folder), dict(changes))
        self.planned_elsewhere(job, Leaving(self.state.value.run, self.plan.job.name))

    def resume(self) -> None:
        run = self.state.value.run
        self._do("resuming", lambda: self._verbs.resume(run))

    def profile(self) -> None:
        run = self.state.value.run
        self._do("profiling", lambda: self._verbs.profile(run))

    def plan_remedy(self) -> None:
        """Open a new plan with this run's settings and what its profile asks for; this run stays as it is."""
        card = self.state.value.profile
        if card is not None and card.remedy is not None and card.remedy.changes:
            self.planned_again(draft.edited(draft.of_plan(self.plan, self.state.value.folder), card.remedy.changes))

    def repair(self) -> None:
        """Take the next step of a run that failed (`RunPageState.repair`); this run stays as it is."""
        remedy = self.state.value.repair
        if remedy is not None and remedy.changes:
            self.planned_again(draft.edited(draft.of_plan(self.plan, self.state.value.folder), remedy.changes))
        elif remedy is not None:
            self.read_log(lambda log: self.ask_explain(log))

    def export(self, destination: Path) -> None:
        run, name = self.state.value.run, self.plan.job.name
        self._do(
            "exporting",
            lambda: self._verbs.export(run, destination),
            lambda where: self.tell(
                f"A copy of {name} is saved",
                f"The model and its curves are in {where}.",
                tone="ok",
                action="Show in folder",
                act=lambda: self.open_path(Path(where)),
            ),
        )

    def save_whole(self, file: Path) -> None:
        """The whole run as a zip, over what is there: the dialog has asked."""
        run, name = self.state.value.run, self.plan.job.name
        self._do(
            "exporting",
            lambda: self._verbs.pack(run, file, replace=True),
            lambda packed: self.tell(
                f"{name} is saved whole",
                f"It is {packed.file}. Dropped on TPU Studio elsewhere, it is this run. Your data is not in it, "
                "but for what the plan shows of it.",
                tone="ok",
                action="Show in folder",
                act=lambda: self.open_path(packed.file.parent),
            ),
        )

    def export_as(self, form: str, file: Path) -> None:
        """The model alone as *file*, in the format of that id (``wire.exports``), checked beside Keras."""
        name, wanted = self.plan.job.name, exports.by_id(form)

        def written(told: FileOfModel) -> None:
            checked = checked_words(told.checked, told.count, told.difference)
            self.tell(
                f"The model of {name} is saved as {wanted.title}",
                " ".join(filter(None, (checked, wanted.note, f"It is {told.file}."))),
                tone="ok",
                action="Show in folder",
                act=lambda: self.open_path(told.file.parent),
            )

        self._do("exporting", lambda: self.write_format(form, file), written)

    def make_page(self, shown: Callable[[Page], None]) -> None:
        """Make this run into one page elsewhere and hand it to *shown* while it is watched; nothing is written yet."""
        from tpu_studio.viewmodels.onepage.page import compose

        state = self.state.value
        self._do(
            "making a page",
            lambda: compose(state, self.plan, self.curve),
            lambda page: None if self._closed else shown(page),
        )

    def save_page(self, page: Page, file: Path) -> None:
        """Write *page* to *file*, over what is there: the dialog has asked."""
        from tpu_studio.viewmodels.onepage.page import save

        title = f"{self.plan.job.name} is saved as one page"
        self._do(
            "saving a page",
            lambda: save(page, file, replace=True),
            lambda where: self.tell(
                title,
                f"It opens in any browser: {where}.",
                tone="ok",
                action="Open",
                act=lambda: self.open_path(Path(where)),
            ),
        )

    def read_log(self, shown: Callable[[str], None]) -> Callable[[], None]:
        """Read the full log elsewhere and hand its text to *shown*. Returns the way to forget about it."""
        folder = self.state.value.folder

        def failed(error: Exception) -> None:
            shown(f"The log cannot be read: {error}")

        return self._tasks.submit(lambda: read_log(folder), done=shown, failed=failed).cancel

    def read_receipt(self, shown: Callable[[tuple[Fact, ...], str], None]) -> Callable[[], None]:
        """Read the receipt elsewhere and hand it to *shown* in words, or the reason why not. Returns the way to forget
        about it."""
        folder = self.state.value.folder

        def failed(error: Exception) -> None:
            shown((), f"{error} What was deleted stands under “What happened”.")

        return self._tasks.submit(lambda: facts_in(folder), done=lambda facts: shown(facts, ""), failed=failed).cancel

    def show_picture(self, path: str, side: int, shown: Callable[[Thumbnail | None], None]) -> Callable[[], None]:
        """Decode a picture elsewhere and hand its pixels to *shown*; None: it cannot be shown. Returns the way to
        forget about it."""
        return self._tasks.submit(lambda: read_picture(path, side), done=shown, failed=lambda _: shown(None)).cancel

    def dismiss_problem(self) -> None:
        self._change(problem=None)

    def _do(self, busy: str, work: Callable[[], T], then: Callable[[T], object] = lambda _: None) -> None:
        if self.state.value.busy:
            return

        def done(result: T) -> None:
            self._change(busy="")
            self.changed()
            self.refresh()
            then(result)

        self._change(busy=busy, problem=None)
        self._tasks.submit(work, done=done, failed=lambda error: self._change(busy="", problem=_said(error)))

    def ask(self, question: Mapping[str, object]) -> None:
        """Put a question to the model: {"image": path}, {"row": {…}} or {"prompt": text, …}. It replaces the last."""
        self.trying.ask(question)

    def ask_pictures(self, paths: Sequence[str]) -> None:
        """Ask about several, one after another."""
        self.trying.ask_pictures(paths)

    def say(self, words: str, **wishes: object) -> None:
        """Go on with the conversation with a model that answers."""
        self.trying.say(words, **wishes)

    def new_chat(self) -> None:
        self.trying.begin_anew()

    @property
    def may_compare(self) -> bool:
        """Whether it began from a pretrained language model, which could answer beside it."""
        return trybefore.is_offered(self.plan)

    def look_before(self, shown: Callable[[str], None]) -> Callable[[], None]:
        """Look elsewhere whether that one can be asked here, and hand *shown* why not, "" where it can. Returns the way
        to forget about it."""
        state, memory = self.state.value, this_computer().memory_bytes

        def look() -> str:
            imported = is_imported(state.folder)
            return trybefore.problem(self.plan, state.folder, imported=imported, memory_bytes=memory)

        return self._tasks.submit(look, done=shown, failed=lambda error: shown(_said(error).title)).cancel

    def compare(self, on: bool) -> None:
        self.trying.compare(on)

    def cancel_trial(self) -> None:
        self.trying.cancel()

    def close(self) -> None:
        """Stop watching; the run goes on."""
        self._closed = True
        self.trying.close()
        if self._follower is not None:
            self._follower.close()

    def _change(self, **changes: Any) -> None:
        if not self._closed:
            state = replace(self.state.value, **changes)
            now = self._clock()
            if not state.facts.rented:  # a clock that was set back: the run's own is ahead of it
                now = max(now, state.view.seen_t)
            elif (cloud := self._google_time()) is not None:
                now = cloud
            self.state.set(replace(state, now=now))

    def _google_time(self) -> float | None:
        """What the events of a run at Google go by: this computer's clock may be days off."""
        state = self.state.value
        return self.cloud_now() if places.by_id(state.facts.place).charges and not state.view.settled else None

    def _troubled(self, error: Exception | None, view: RunView) -> Sentence | None:
        """Why the run cannot be seen to from here, or that this computer's clock is off."""
        if error is not None:
            return say_untended(error) if view.unproved and isinstance(error, StudioError) else _said(error)
        return runwords.clock_off(self._google_time(), self._clock())


def _said(error: BaseException) -> Sentence:
    return (
        say(error)
        if isinstance(error, StudioError)
        else say(StudioError("unexpected", raw=f"{type(error).__name__}: {error}"))
    )
