"""Have plans at a place know the account's area, and what Google was last heard to allow it. Only files are read."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_studio.domain.renewed import use
from tpu_studio.domain.standing import FILE
from tpu_studio.wire import places
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.records import number
from tpu_studio.workflow.account.remembering import ChoicesFile, KeptQuota

if TYPE_CHECKING:
    from tpu_studio.workflow.account.ports import Choices

KEPT_S = 30 * 86_400.0
"""Limits that were read longer ago are forgotten."""


def use_kept(place: str, home: Path, now: float | None = None) -> None:
    folder = folder_of(place, home)
    choices = choices_of(place, folder)
    if choices is None:
        use(place, {FILE: None})
        return
    found = KeptQuota(folder).of(choices.project)
    fresh = 0 <= (time.time() if now is None else now) - number(found.get("t")) <= KEPT_S
    use(place, {FILE: {"region": choices.region, **(found if fresh else {})}})


def folder_of(place: str, home: Path) -> Path:
    """Where the Account page of a place keeps what it knows."""
    return home if places.by_id(place).charges else home / "practice" / "account"


def choices_of(place: str, folder: Path) -> Choices | None:
    """Of who is signed in there, at the practice cloud else of its owner, with a project; None: nobody."""
    from tpu_studio.cloud.endpoints import Endpoints
    from tpu_studio.cloud.signin import secrets
    from tpu_studio.cloud.signin.accounts import Accounts
    from tpu_studio.places.reaching import PRACTICE_OWNER

    try:
        active = Accounts(folder, Endpoints(), lambda: secrets.choose(folder)).active()
    except StudioError:
        return None
    if active is None and not places.by_id(place).rehearses:
        return None
    choices = ChoicesFile(folder).of(active.id if active is not None else PRACTICE_OWNER)
    return choices if choices.project else None
