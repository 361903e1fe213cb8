"""What a live check asks of a cloud: steps that are shown before, and what each has seen of the doubts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

READ, WRITE, RENT = "read", "write", "rent"


@dataclass(frozen=True)
class Step:
    """One question, or a few that belong together.

    Attributes:
        stage: ``read`` (free, changes nothing), ``write`` (makes and deletes something small), ``rent`` (a TPU).
        doubts: What it may settle (``resources/doubts.json``).
        calls: Every call, as a person reads it in the sheet.
        usd: What it costs at most.
    """

    id: str
    stage: str
    doubts: tuple[str, ...]
    calls: tuple[str, ...]
    usd: float = 0.0


@dataclass(frozen=True)
class Seen:
    """*way*: "" as assumed, else the doubt's slug; None: it was not seen. *raw*: the answer, without names, tokens."""

    doubt: str
    way: str | None
    raw: str = ""


class Prober(Protocol):
    account: str
    project: str

    def steps(self) -> Sequence[Step]:
        """In the order in which they are asked: free reads first."""
        ...

    def ask(self, step: Step) -> Sequence[Seen]:
        """Raises StudioError: it could not be asked; what it made is noted, and `clean` takes it away."""
        ...

    def clean(self) -> Sequence[str]:
        """Take away whatever a check, this or an earlier one, has left; the names of what is still there."""
        ...
