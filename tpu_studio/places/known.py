"""What this computer knows of the account at Google without asking anybody: files only."""

from __future__ import annotations

from pathlib import Path

from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin import secrets
from tpu_studio.cloud.signin.accounts import Accounts
from tpu_studio.viewmodels.home import CloudKnown
from tpu_studio.wire import places
from tpu_studio.workflow.account.remembering import ChoicesFile


def cloud_known(home: Path) -> CloudKnown:
    active = Accounts(home, Endpoints(), lambda: secrets.choose(home)).active()
    if active is None:
        return CloudKnown()
    choices = ChoicesFile(home).of(active.id)
    usd = choices.monthly if choices.currency in ("", "USD") else None  # other money is not compared with dollars
    return CloudKnown(
        True,
        active.email,
        choices.project,
        bool(choices.bucket),
        usd,
        choices.region,
        active.kind,
        active.until,
        kept_days=choices.kept_days,
    )


def practice_is_bare(home: Path) -> bool:
    """Whether the practice cloud of *home* is that of a person who has just signed up, and nothing is set up there."""
    from tpu_studio.places import standing
    from tpu_studio.practice.cloud import account_of
    from tpu_studio.practice.settings import Settings, folder_of

    if account_of(Settings(folder_of(home))) != "new":
        return False
    practice = places.rehearsing().id
    chosen = standing.choices_of(practice, standing.folder_of(practice, home))
    return chosen is None or not chosen.bucket


def bucket_known(place: str, home: Path) -> tuple[str, int]:
    """The region of the bucket at *place*, "" where nobody knows or the practice cloud has its own, and for how many
    days it keeps, and charges, what was deleted."""
    from tpu_studio.places import standing

    choices = standing.choices_of(place, standing.folder_of(place, home))
    if choices is None:
        return "", 0
    return choices.region if places.by_id(place).charges else "", choices.kept_days


def charged_at(place: str, home: Path) -> tuple[str, str]:
    """The project and bucket that a run goes to there; "" where none is chosen, or the practice cloud has its own."""
    from tpu_studio.places import standing

    choices = standing.choices_of(place, standing.folder_of(place, home))
    return (choices.project, choices.bucket) if choices is not None else ("", "")
