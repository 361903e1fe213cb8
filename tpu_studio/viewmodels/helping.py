"""The Help page: what an error text means that was met here or anywhere else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_studio.domain import figures
from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire.visible import one_line

if TYPE_CHECKING:
    from tpu_studio.domain.explaining import Explanation, LogText
    from tpu_studio.workflow.ports import Tasks

OURS = "This program does it for you:"
_TYPED = re.compile(
    r"`((?:gcloud|pip|sudo|python3|tpu-studio|export|unset|ulimit|ls|df|free|kill|git|hf|ping|KERAS_BACKEND=)[^`]*)`"
)
SHOWN = 5  # causes; of those after them it is said how many there are
COMMON = (
    "no-capacity",
    "quota-zero",
    "role-missing",
    "preempted",
    "hbm-oom",
    "tpu-in-use",
    "dynamic-shape",
    "input-shape",
    "input-bound",
    "loss-nan",
)
"""Causes that a beginner meets first, from getting a TPU to training on it; ids of rules."""
_OURS = {
    "doctor": ("account", "Open account & quota", "looks for what is missing in your project, and sets it up"),
    "sweep": ("sweep", "Find billable resources…", "lists what is charged for, and deletes what you choose"),
    "check": ("new", "New run", "checks shapes, operations and memory of a plan before anything runs"),
    "run": ("new", "New run", "asks for one after you have seen what it costs"),
}
"""By the verb of a command line: the window's command, what its button says, and what it does. The others (converting
data, the list of TPUs) have no button, and stay commands."""


@dataclass(frozen=True)
class Step:
    """*command*: what stands in it to be typed, "" for none."""

    words: str
    command: str = ""


@dataclass(frozen=True)
class CauseView:
    """*sure*: in a word. *act*: the window's command that does it (`MainWindow.act`), with what its button says."""

    title: str
    sure: str
    lines: tuple[str, ...]
    means: str
    steps: tuple[Step, ...]
    source: str
    act: str = ""
    button: str = ""


@dataclass(frozen=True)
class HarmlessView:
    line: str
    why: str


@dataclass(frozen=True)
class CommonError:
    """What it is called, and what such an error looks like."""

    title: str
    text: str


@dataclass(frozen=True)
class HelpView:
    """Attributes:
    number: Of the question; its answer comes with the same.
    asked: What is looked at: "" nothing, else the text's own name ("The text above", "train.log").
    is_looking: The answer is not there yet.
    causes: Best first; () where none is known.
    left_out: Causes beyond those that are shown.
    cut: A sentence where only part of the text was read.
    """

    number: int = 0
    asked: str = ""
    is_looking: bool = False
    causes: tuple[CauseView, ...] = ()
    harmless: tuple[HarmlessView, ...] = ()
    left_out: int = 0
    cut: str = ""
    problem: Problem | None = None

    @property
    def answer(self) -> str:
        """In one sentence, for the head of the answer and for a screen reader."""
        if not self.asked or self.is_looking or self.problem:
            return ""
        if self.causes:
            more = len(self.causes) + self.left_out - 1
            others = f", and {figures.count(more)} less likely" if more else ""
            return f"{self.asked} shows a known cause{others}."
        if self.harmless:
            return f"Nothing in {self.asked[0].lower()}{self.asked[1:]} is an error that is known here."
        return f"No known cause stands in {self.asked[0].lower()}{self.asked[1:]}."


class HelpViewModel:
    """Commands: `explain_text`, `explain_file`, `clear`. A question that is overtaken by the next one is forgotten."""

    def __init__(self, tasks: Tasks) -> None:
        self.state = Observable(HelpView())
        self._tasks = tasks
        self.common: Observable[tuple[CommonError, ...]] = Observable(())
        """`COMMON`, once they were read (`offer_common`)."""

    def offer_common(self) -> None:
        def read() -> tuple[CommonError, ...]:
            from tpu_studio.domain.explaining.rules import rules

            known = {rule.id: rule for rule in rules()}
            return tuple(CommonError(known[id].title, known[id].test) for id in COMMON)

        if not self.common.value:
            self._tasks.submit(read, done=self.common.set, failed=self._no_common)

    def _no_common(self, error: Exception) -> None:
        self.state.set(replace(self.state.value, problem=problem_of(error)))

    def explain_text(self, text: str, name: str = "The text", *, rented: bool = True) -> None:
        """*text* as it was typed, pasted or dropped; blank text clears the page. *rented*: it may come from a TPU that
        is charged for."""
        if not text.strip():
            self.clear()
            return

        def look() -> tuple[LogText, Explanation]:
            from tpu_studio.domain.explaining import explain, log_text

            log = log_text(text.encode("utf-8", "replace"))
            return log, explain(log.text, rented=rented)

        self._ask(name, look)

    def explain_file(self, path: Path) -> None:
        def look() -> tuple[LogText, Explanation]:
            from tpu_studio.domain.explaining import explain
            from tpu_studio.workflow.logs import read_log

            log = read_log(path)
            return log, explain(log.text)

        self._ask(one_line(path.name), look)

    def clear(self) -> None:
        self.state.set(HelpView(self.state.value.number + 1))

    def _ask(self, name: str, look: Callable[[], tuple[LogText, Explanation]]) -> None:
        number = self.state.value.number + 1
        self.state.set(HelpView(number, name, is_looking=True))

        def done(answer: tuple[LogText, Explanation]) -> None:
            if self.state.value.number == number:
                self.state.set(_answered(self.state.value, *answer))

        def failed(error: Exception) -> None:
            if self.state.value.number == number:
                self.state.set(replace(self.state.value, is_looking=False, problem=problem_of(error)))

        self._tasks.submit(look, done=done, failed=failed)


def _answered(view: HelpView, log: LogText, found: Explanation) -> HelpView:
    from tpu_studio.domain.explaining import LARGEST

    cut = ""
    if log.is_cut:
        half = figures.size(LARGEST // 2)
        cut = f"Of its {figures.size(log.size)}, the first and the last {half} were read, not the middle."
    causes = [
        CauseView(
            cause.title,
            "" if cause.sure >= 0.8 else "perhaps" if cause.sure >= 0.5 else "less likely",
            cause.lines,
            cause.means,
            tuple(_step(step) for step in (*cause.do, *_ours(cause.verb))),
            cause.source,
            *_button(cause.verb),
        )
        for cause in found.causes
    ]
    harmless = tuple(HarmlessView(one.lines[0], one.why) for one in found.harmless)
    return replace(
        view,
        is_looking=False,
        causes=tuple(causes[:SHOWN]),
        left_out=max(0, len(causes) - SHOWN),
        harmless=harmless,
        cut=cut,
    )


def _step(words: str) -> Step:
    command = _TYPED.search(words)
    return Step(words.replace("`", ""), command[1] if command else "")


def _ours(verb: str) -> tuple[str, ...]:
    """The step that this program takes: by a button where there is one, else as a command; () where there is none."""
    if not verb:
        return ()
    _, button, does = _OURS.get(_word(verb), ("", "", ""))
    return (f"{OURS} “{button}” {does}." if button else f"{OURS} `{verb}`.",)


def _button(verb: str) -> tuple[str, str]:
    return _OURS.get(_word(verb), ("", "", ""))[:2]


def _word(verb: str) -> str:
    return verb.split()[1] if len(verb.split()) > 1 else ""
