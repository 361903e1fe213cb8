"""A problem as a page shows it: what happened, what it means, what to do, and the original message folded away.

Turns any error that reached a view-model into words. Errors of ours have sentences in ``domain.sentences``; anything
else is a fault of the program and says so, with its traceback among the details.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.records import items
from tpu_studio.wire.secrets import without_secrets

SIGNED_OUT = frozenset({"signed-out", "reauth-needed", "scope-missing", "client-gone", "two-step-needed"})
NOT_READY = "cloud-not-ready"
UNCLEAR_COLUMNS = "data-no-chats"


@dataclass(frozen=True)
class Problem:
    """*title*: what happened; *meaning*: for money and data; *action*: what to do next; *details*: for support.
    *columns*: of a table where it is not clear which of them is which."""

    title: str
    meaning: str = ""
    action: str = ""
    details: str = ""
    id: str = ""
    columns: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return " ".join(part for part in (self.meaning, self.action) if part)

    @property
    def account_button(self) -> str:
        """What the button says where the Account page mends it: nobody is signed in, or something is missing there."""
        return "Sign in" if self.id in SIGNED_OUT else "Open account" if self.id == NOT_READY else ""


def only_reading(error: StudioError) -> Problem:
    """Why the whole window can only be used to look, and how to get out of it."""
    said = problem_of(error)
    can, cannot = "Runs can be shown and exported", "started, stopped or deleted"
    if said.id == "disk-full":
        can += ", and deleted to make room: “Deleted…” on the Runs page removes them for good"
        cannot = "started or stopped"
    return Problem(
        f"Only looking: {said.title}",
        f"{can}. Nothing can be {cannot} until this is mended and TPU "
        f"Studio is opened again; a run that goes on keeps to its limits. {said.meaning}",
        said.action,
        said.details,
        said.id,
    )


def problem_of(error: BaseException) -> Problem:
    from tpu_studio.domain.sentences import say

    if isinstance(error, StudioError):
        said = say(error)
        raw = str(error.facts.get("raw") or "")
        columns = tuple(map(str, items(error.facts.get("columns")))) if error.id == UNCLEAR_COLUMNS else ()
        return Problem(said.title, said.meaning, said.action, raw or str(error), error.id, columns)
    details = without_secrets("".join(traceback.format_exception(error)).strip())
    if isinstance(error, OSError):
        return Problem(
            "This computer's disk or folder refused",
            f"{error.strerror or error}: {error.filename or ''}".rstrip(": "),
            "Check that the disk has room and the folder may be written, then try again.",
            details,
            "os-error",
        )
    return Problem(
        "Something in TPU Studio itself went wrong",
        "Your runs go on without the window, and nothing was charged.",
        "Try again. If it happens again, the details help whoever looks into it.",
        details,
        "fault",
    )
