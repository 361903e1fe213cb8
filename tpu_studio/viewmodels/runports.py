"""What the Run page needs besides events: what can be done to a run, and its model that answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from tpu_studio.domain.sentences import Sentence


class Verbs(Protocol):
    """What can be done to a run (``workflow.runs.Runs``)."""

    def stop(self, run: str, keep: bool = True) -> None: ...

    def extend(self, run: str, epochs: float) -> None: ...

    def resume(self, run: str) -> None: ...

    def profile(self, run: str) -> None: ...

    def export(self, run: str, destination: Path) -> Any: ...

    def pack(self, run: str, file: Path, *, replace: bool = False) -> Any: ...


class FileOfModel(Protocol):
    """``local.formats.Written``."""

    @property
    def file(self) -> Path: ...
    @property
    def checked(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def difference(self) -> float: ...


class Predictor(Protocol):
    def ask(
        self, question: Mapping[str, object], on_answer: Callable[[Mapping[str, object]], None]
    ) -> Callable[[], None]: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Exchange:
    """A question of a conversation and its answer.

    Attributes:
        ended: Empty while it is being written.
        left_out: Questions before it, with their answers, that the model had no room for.
    """

    asked: str
    answer: str
    ended: Literal["", "whole", "stopped", "failed"] = ""
    left_out: int = 0

    @property
    def goes_along(self) -> bool:
        """Whether the model is told of it with the next question: half an answer is no example of one."""
        return self.ended == "whole" and bool(self.answer.strip())


@dataclass(frozen=True)
class Trial:
    """One question to the model and what has come back.

    Attributes:
        question: ``image`` path, ``row`` mapping, or ``prompt`` text, as sent; empty before the first.
        classes: (name, probability), best first; of *several* labels, each a yes or no by itself.
        value: A measured target. text: What was written so far.
        stopped: The person stopped it. left_out: See `Exchange`.
        earlier: Of a model that answers, the conversation before this question.
        pictures: One each, of several that are asked about one after another; *left_over*: those that were too many.
        before: The same question to the model before training, where both are asked.
    """

    question: Mapping[str, object] | None = None
    asking: bool = False
    classes: tuple[tuple[str, float], ...] = ()
    several: bool = False
    value: float | None = None
    text: str = ""
    problem: Sentence | None = None
    unread: str = ""  # what of a row could not be read, in words
    stopped: bool = False
    left_out: int = 0
    earlier: tuple[Exchange, ...] = ()
    pictures: tuple[Trial, ...] = ()
    left_over: int = 0
    before: Trial | None = None

    @property
    def writing(self) -> bool:
        """Whether one of the models is not through yet."""
        return self.asking or (self.before is not None and self.before.asking)

    @property
    def answered(self) -> bool:
        """Whether the model has told something, and is through with it."""
        if self.asking or self.problem is not None:
            return False
        return bool(self.classes or self.text) or self.value is not None or any(one.answered for one in self.pictures)

    @property
    def talk(self) -> tuple[Exchange, ...]:
        """The conversation, with this question."""
        if self.question is None:
            return self.earlier
        over: Literal["stopped", "failed", "whole"] = (
            "failed" if self.problem else "stopped" if self.stopped else "whole"
        )
        asked = str(self.question.get("prompt", ""))
        return (*self.earlier, Exchange(asked, self.text, "" if self.asking else over, self.left_out))
