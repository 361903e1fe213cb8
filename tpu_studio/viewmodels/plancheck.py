"""The check of a plan by the real TPU compiler, as the Plan page asks for it: consent, progress, giving up, the answer.

Asking takes seconds to minutes in a process of its own; what was asked before is found again without a word. Answers
are remembered by all that a step depends on, so that an edit and its undo find the answer again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from tpu_studio.domain import figures
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire import frameworks, places
from tpu_studio.wire.records import inner, number, rows
from tpu_studio.wire.schema import step_values

if TYPE_CHECKING:
    from tpu_studio.viewmodels.engine import EngineView, EngineViewModel
    from tpu_studio.wire.plan import Plan
    from tpu_studio.workflow.ports import Tasks

STAGES = {
    "starting": (0.05, "Starting"),
    "data": (0.15, "Reading the first examples"),
    "model": (0.3, "Tracing the model"),
    "compiling": (0.55, "Compiling for the TPU, a minute or so"),
    "largest-batch": (0.85, "Looking for the largest batch that fits"),
}
LICENCE_URL = "https://cloud.google.com/terms"
Key = tuple[Any, ...]


class Preflight(Protocol):
    """`local.preflight` for a plan's own slice; both calls block."""

    def known(self, plan: Plan) -> Mapping[str, object] | None: ...
    def ask(self, plan: Plan, stage: Callable[[str], None], cancelled: Callable[[], bool]) -> Mapping[str, object]: ...


@dataclass(frozen=True)
class CheckView:
    """Attributes:
    status: none, asking (for the download), installing, checking, done or failed.
    share, doing: How far it is, 0 to 1, and what is being done.
    told: In a line, what came of it.
    words: The compiler's own, for whoever wants them.
    offered: There is something that could check this plan.
    """

    status: str = "none"
    share: float = 0.0
    doing: str = ""
    told: str = ""
    words: str = ""
    offered: bool = False
    problem: Problem | None = None

    @property
    def busy(self) -> bool:
        return self.status in ("installing", "checking")


@dataclass
class _Asking:
    """One question under way; *stage* is written by its thread, read by the window's."""

    key: Key
    stage: str = "starting"
    cancelled: bool = False


class PlanChecks:
    """*changed* is called whenever `view` or the answer to a plan is another."""

    def __init__(self, tasks: Tasks, changed: Callable[[], None]) -> None:
        self.view = CheckView()
        self._tasks, self._changed = tasks, changed
        self._preflight: Preflight | None = None
        self._compiler: EngineViewModel | None = None
        self._known: dict[Key, Mapping[str, object] | None] = {}
        self._now: _Asking | None = None
        self._end: Callable[[], None] = lambda: None
        self._wanted: Plan | None = None

    def connect(self, preflight: Preflight, compiler: EngineViewModel) -> None:
        self._preflight, self._compiler = preflight, compiler
        self._end = compiler.state.subscribe(self._compiler_changed)

    def close(self) -> None:
        self._end()
        self.cancel()

    def of(self, plan: Plan) -> Mapping[str, object] | None:
        """The answer for *plan*, if it is known here."""
        return self._known.get(check_key(plan))

    def look_up(self, plan: Plan) -> None:
        """Find what was asked earlier, in the background; once for each plan."""
        key, preflight = check_key(plan), self._preflight
        if preflight is None or places.by_id(plan.place).local or key in self._known:
            return
        self._known[key] = None

        def found(answer: Mapping[str, object] | None) -> None:
            if answer is not None:
                self._known[key] = answer
                self._changed()

        self._tasks.submit(lambda: preflight.known(plan), done=found, failed=lambda error: None)

    def start(self, plan: Plan) -> None:
        """Check *plan*; where the TPU compiler is missing, ask first whether it may be fetched."""
        if self._preflight is None or self.view.busy:
            return
        compiler = self._compiler.state.value if self._compiler else None
        wants = not places.by_id(plan.place).local and frameworks.by_id(plan.framework).leads_on_chip
        if wants and compiler is not None and compiler.status in ("missing", "broken", "outdated"):
            self._wanted = plan
            self._set(CheckView("asking"))
            return
        self._ask(plan)

    def agree(self) -> None:
        """The licence is accepted: fetch the compiler, then check."""
        if self._compiler is None or self.view.status != "asking":
            return
        self._set(CheckView("installing", doing="Getting ready"))
        begin = self._compiler.repair if self._compiler.state.value.status == "broken" else self._compiler.install
        begin(then=lambda: self._ask(self._wanted))

    def without(self) -> None:
        """Check shapes and operations only."""
        if self.view.status == "asking":
            self._ask(self._wanted)

    def decline(self) -> None:
        if self.view.status == "asking":
            self._set(CheckView())

    def cancel(self) -> None:
        """Give up what is under way; what was downloaded is kept."""
        if self.view.status == "installing" and self._compiler is not None:
            self._compiler.cancel()
        if self._now is not None:
            self._now.cancelled = True

    def forget_outcome(self) -> None:
        """Another plan is on screen: what came of the check before says nothing about it."""
        if self.view.status in ("done", "failed"):
            self.view = CheckView()

    def tick(self) -> None:
        """Take over the progress of the installation or of the check."""
        if self.view.status == "installing" and self._compiler is not None:
            self._compiler.tick()
        elif self.view.status == "checking" and self._now is not None:
            share, words = STAGES.get(self._now.stage, (0.5, self._now.stage))
            if words != self.view.doing and not self._now.cancelled:
                self._set(replace(self.view, share=share, doing=words))

    def _ask(self, plan: Plan | None) -> None:
        preflight = self._preflight
        if preflight is None or plan is None:
            return
        asking = self._now = _Asking(check_key(plan))

        def stage(name: str) -> None:
            asking.stage = name

        self._set(CheckView("checking", *STAGES["starting"]))
        self._tasks.submit(
            lambda: preflight.ask(plan, stage, lambda: asking.cancelled),
            done=lambda answer: self._answered(asking, answer),
            failed=lambda error: self._failed(asking, error),
        )

    def _answered(self, asking: _Asking, answer: Mapping[str, object]) -> None:
        if self._now is not asking:
            return
        self._now = None
        self._known[asking.key] = answer
        self._set(CheckView("done"))

    def _failed(self, asking: _Asking, error: Exception) -> None:
        if self._now is not asking:
            return
        self._now = None
        given_up = asking.cancelled or getattr(error, "id", "") == "check-cancelled"
        self._set(CheckView() if given_up else CheckView("failed", problem=problem_of(error)))

    def _compiler_changed(self, engine: EngineView) -> None:
        if self.view.status != "installing":
            return
        if engine.bar is not None:
            doing = " · ".join(part for part in (engine.bar.title, engine.bar.detail) if part)
            self._set(replace(self.view, share=engine.bar.share, doing=doing))
        elif engine.problem is not None:
            self._set(CheckView("failed", problem=engine.problem))
        elif not engine.doing and not engine.ready:  # it was cancelled
            self._set(CheckView())

    def _set(self, view: CheckView) -> None:
        self.view = view
        self._changed()


def described(view: CheckView, plan: Plan | None, answer: Mapping[str, object] | None, offered: bool) -> CheckView:
    """*view* with what *answer* says about *plan*."""
    if plan is None or answer is None or view.busy or view.status == "asking":
        return replace(view, offered=offered)
    compiled, ended = inner(answer.get("compiled")), inner(answer.get("ended"))
    words = own_words(answer)
    if "fits" in compiled:
        verdict = "confirms that it fits" if compiled["fits"] else "says that it does not fit"
        versions = inner(answer.get("versions"))
        libtpu = f" (libtpu {versions['libtpu']})" if versions.get("libtpu") else ""
        took = f", in {figures.duration(number(compiled['seconds']))}" if compiled.get("seconds") else ""
        told = f"The TPU compiler{libtpu} {verdict}{took}."
    elif ended:
        told = "The check did not get to its end; what it found stands below."
    elif inner(answer.get("traced")).get("problems"):
        told = "The model does not work on the first examples; see below."
    elif any(one.get("level") == "error" for one in rows(inner(answer.get("traced")).get("operations"))):
        told = "The shapes meet, but a TPU cannot do all operations; see below."
    else:
        told = "Shapes and operations are in order. The memory is still an estimate."
    return replace(view, status="done", told=told, words=words, offered=offered)


def own_words(answer: Mapping[str, object]) -> str:
    """All that the compiler, or whoever refused the program, said; "" when nobody did."""
    compiled, traced = inner(answer.get("compiled")), inner(answer.get("traced"))
    refusals = [*rows(traced.get("problems")), *rows(traced.get("operations")), inner(answer.get("ended"))]
    facts = [inner(one.get("facts")) for one in refusals]
    told = [compiled.get("words") or compiled.get("raw"), *(one.get("words") or one.get("raw") for one in facts)]
    plain = (re.sub(r"\x1b\[[\d;]*m", "", str(one)).strip() for one in told if one)  # bold, for a terminal
    return "\n\n".join(dict.fromkeys(plain))


def check_key(plan: Plan) -> Key:
    """All that a step's shapes and memory depend on."""
    values = tuple((path, repr(value)) for path, value in sorted(step_values(plan.job.values, machine=True).items()))
    return (plan.consent, str(plan.data.get("fingerprint", "")), plan.framework, plan.accelerator, values)
