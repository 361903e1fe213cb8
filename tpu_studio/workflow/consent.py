"""Whether an attempt of a run may begin here: by what was agreed to on this computer, never by what a folder claims.

Asked where an attempt begins, whoever begins it and wherever its plan came from (`workflow.runs`, `cloudruns`). A run
that came here as a folder or a zip is looked at, never believed: its plan, its events and its limits are a stranger's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tpu_studio.wire import places
from tpu_studio.wire.errors import ModelError, RunError
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow import desk

Agreed = Callable[[str, str], bool]
"""Whether the model file of that sha256 may run at that place: a person said so on this computer."""


def place_kind(place: str = "") -> str:
    """What is agreed to together: code reaches the same things at all places of one kind; a practice machine is a
    process of this computer, which "" is, too."""
    return places.default().id if not place or places.by_id(place).rehearses else place


def nothing_agreed(sha256: str, place: str) -> bool:
    return False


def check_model_file(plan: Plan, agreed: Agreed) -> None:
    """Raises ModelError ``model-no-consent`` (facts: file, place) for a run's own Python not agreed to here."""
    if plan.job.model.is_own and not (plan.consent and agreed(plan.consent, plan.place)):
        raise ModelError("model-no-consent", file=str(plan.job.model.file), place=plan.place)


def check_rented_here(folder: Path, runs: Path, *, launched_here: bool) -> None:
    """Raises RunError ``run-imported`` for a rented run that somebody else launched, and that was not taken over.

    Args:
        runs: The folder of the runs of this home; a run anywhere else is a stranger's.
        launched_here: The journal of this home knows its launch, or that it was taken over.
    """
    if is_foreign(folder, launched_here=launched_here) or folder.resolve().parent != runs.resolve():
        raise RunError("run-imported", run=folder.name)


def is_foreign(folder: Path, *, launched_here: bool) -> bool:
    """Whether the run came here as files, and not by a launch or a take-over.

    What ``owner.json`` says of who launched it counts for nothing: whoever made the folder wrote that, too.
    """
    return not launched_here or is_imported(folder)


def tells_of_us(folder: Path, install: str) -> bool:
    """Whether the run's own record names this installation: all there is to go by when the journal was lost.

    The name is random and in no folder that somebody else made, unless one of our own was given away before.
    """
    owner = desk.read_owner(folder)
    return not owner.get("imported") and owner.get("install") == install


def is_imported(folder: Path) -> bool:
    """Whether the run was brought here as files, as its owner's record says."""
    return bool(desk.read_owner(folder).get("imported"))
