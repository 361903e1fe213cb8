"""The live check in the window: what it would ask and for how much, then what it has seen of each doubt."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from tpu_studio.domain.doubts import doubts
from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire import places

if TYPE_CHECKING:
    from tpu_studio.workflow.livecheck.checking import Outcome
    from tpu_studio.workflow.livecheck.ports import Seen, Step
    from tpu_studio.workflow.livecheck.ways import Use
    from tpu_studio.workflow.ports import Tasks

DEFAULT_USD, MOST_USD = 1.0, 20.0
_WORDS = {"as-assumed": "As assumed", "other-way": "The other way", "not-seen": "Not seen"}


class LiveCheckPort(Protocol):
    """``places.livechecking.LiveChecking``; blocks."""

    def steps(self, place: str) -> Sequence[Step]: ...
    def check(
        self, place: str, agreed: bool, max_usd: float, told: Callable[[Step], None], cancelled: Callable[[], bool]
    ) -> Outcome: ...
    def in_use(self, place: str) -> Sequence[Use]: ...
    def save(self, place: str, seen: Sequence[Seen], path: str) -> None: ...


@dataclass(frozen=True)
class Line:
    """One question of the sheet, or one doubt of the outcome."""

    title: str
    text: str
    tone: str = ""


@dataclass(frozen=True)
class LiveCheckView:
    """*calls*: before; *outcome*: after. *left*: what could not be taken away, a sentence. *in_use*: what is done
    because of earlier checks, a sentence each."""

    place: str = field(default_factory=lambda: places.charging().id)
    calls: tuple[Line, ...] = ()
    price: str = ""
    busy: bool = False
    asking: str = ""
    outcome: tuple[Line, ...] = ()
    ended: str = ""
    left: str = ""
    in_use: tuple[str, ...] = ()
    problem: Problem | None = None
    max_usd: float = DEFAULT_USD

    @property
    def may_save(self) -> bool:
        return bool(self.outcome) and not self.busy


class LiveCheckViewModel:
    """Commands: `show`, `check`, `cancel`, `limit`, `save`; `tick` takes over the progress."""

    def __init__(self, tasks: Tasks, port: LiveCheckPort) -> None:
        self.state = Observable(LiveCheckView())
        self._tasks, self._port = tasks, port
        self._asking, self._cancelled = "", False
        self._seen: Sequence[Seen] = ()

    def show(self, place: str) -> None:
        if not self.state.value.busy:
            self.state.set(LiveCheckView(place))
            self._tasks.submit(lambda: self._port.steps(place), done=self._known, failed=self._failed)
            self._look_in_use()

    def _look_in_use(self) -> None:
        place = self.state.value.place

        def done(found: Sequence[Use]) -> None:
            self._change(in_use=tuple(used_words(one) for one in found))

        self._tasks.submit(lambda: self._port.in_use(place), done=done, failed=self._failed)

    def limit(self, usd: float) -> None:
        self._change(max_usd=min(max(usd, 0.0), MOST_USD))

    def check(self, agreed: bool) -> None:
        """Free reads; *agreed*: also what makes something, and the machine, as far as the limit goes."""
        view = self.state.value
        if view.busy or not view.calls:
            return
        self._cancelled, self._asking = False, ""
        self._change(busy=True, asking="", outcome=(), left="", ended="", problem=None)
        self._tasks.submit(
            lambda: self._port.check(view.place, agreed, view.max_usd, self._take, lambda: self._cancelled),
            done=self._checked,
            failed=self._failed,
        )

    def cancel(self) -> None:
        """The step under way is ended as it should; what it made is taken away."""
        self._cancelled = True

    def save(self, path: str) -> None:
        place, seen = self.state.value.place, self._seen
        self._tasks.submit(lambda: self._port.save(place, seen, path), done=lambda _: None, failed=self._failed)

    def tick(self) -> None:
        if self.state.value.busy:
            asking = "Ending the step under way…" if self._cancelled else self._asking
            self._change(asking=asking)

    def _take(self, step: Step) -> None:
        self._asking = f"Asking: {step.id}…"  # one assignment, from another thread; `tick` takes it over

    def _known(self, steps: Sequence[Step]) -> None:
        lines = []
        for step in steps:
            price = "free" if step.stage == "read" else f"${step.usd:.3f} at most"
            lines.append(Line(f"{_plain(step.id)} · {price}", "; ".join(step.calls)))
        usd = sum(step.usd for step in steps)
        self._change(calls=tuple(lines), price=f"All together ${usd:.2f} at most. Reading alone is free.")

    def _checked(self, outcome: Outcome) -> None:
        from tpu_studio.workflow.livecheck.observed import outcome as outcome_of

        self._seen = outcome.seen
        lines = []
        for one in outcome.seen:
            doubt, word = doubts()[one.doubt], outcome_of(one)
            text = f"{doubt.ways[one.way]} (assumed: {doubt.assumed})" if one.way else doubt.assumed
            tone = {"as-assumed": "ok", "other-way": "warn"}.get(word, "text_2")
            lines.append(Line(f"{_WORDS[word]} · {one.doubt}", _plain(text), tone))
        left = ""
        if outcome.left:
            left = (
                f"Could not be deleted: {', '.join(outcome.left)}. A machine of these goes on costing until its "
                "shut-off timers. Check again, or use “Find billable resources”."
            )
        ended = f"It cost ${outcome.usd:.3f} at most. What was seen counts here for 30 days."
        self._change(busy=False, asking="", outcome=tuple(lines), left=left, ended=ended)
        self._look_in_use()

    def _failed(self, error: Exception) -> None:
        self._change(busy=False, asking="", problem=problem_of(error))

    def _change(self, **changes: Any) -> None:
        self.state.set(replace(self.state.value, **changes))


def used_words(one: Use) -> str:
    """`Machines are read whole at once: … Seen on 23 Nov (partial-answers).`"""
    day = time.strftime("%d %b", time.localtime(one.at)).lstrip("0")
    return f"{one.words} Seen by a live check on {day} ({one.doubt})."


def _plain(text: str) -> str:
    """A sentence of the table as a person reads it."""
    text = text.replace("`", "")
    return text[:1].upper() + text[1:]
