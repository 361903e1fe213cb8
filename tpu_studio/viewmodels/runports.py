"""What the Run page needs besides events: what can be done to a run, and its model that answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

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
class Trial:
    """One question to the model and what has come back.

    Attributes:
        question: ``image`` path, ``row`` mapping, or ``prompt`` text, as sent; empty before the first.
        classes: (name, probability), best first; of *several* labels, each a yes or no by itself.
        value: A measured target. text: What was written so far.
    """

    question: Mapping[str, object] | None = None
    asking: bool = False
    classes: tuple[tuple[str, float], ...] = ()
    several: bool = False
    value: float | None = None
    text: str = ""
    problem: Sentence | None = None
    unread: str = ""  # what of a row could not be read, in words
