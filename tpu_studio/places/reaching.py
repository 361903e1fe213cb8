"""Who we are at a cloud, for a launch, a sweep, or a run that goes on: credentials, project, area, bucket.

At the practice cloud without a sign-in we are its owner. At Google the Account page's choices count.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.wire import places
from tpu_studio.wire.errors import NotReady, SignedOut

if TYPE_CHECKING:
    from tpu_studio.cloud.doctor.doctor import GoogleDoctor
    from tpu_studio.cloud.endpoints import Endpoints
    from tpu_studio.places.accounts import Side
    from tpu_studio.workflow.account.ports import Choices
    from tpu_studio.workflow.cloudruns.ports import CloudSide

PRACTICE_OWNER = "practice-owner"
"""Under whose name the choices of the practice cloud's owner are kept, who does not sign in."""


@dataclass(frozen=True)
class Reached:
    """*bucket*, *runner*: "" where none is known; *stopper*: "" where shut-off timers act as the runner."""

    place: str
    credentials: Any
    project: str
    region: str
    bucket: str
    runner: str
    stopper: str
    endpoints: Endpoints


def reach(place: str, home: Path) -> Reached:
    """Raises SignedOut; NotReady ``cloud-not-ready`` (facts: raw), ``practice-failed``."""
    from tpu_studio.cloud.connection import bearer, runner_account, stopper_account
    from tpu_studio.places.accounts import side_of

    side = side_of(place, home)
    active = side.signing.active()
    kept = side.choices.of(PRACTICE_OWNER if active is None else active.id)
    if places.by_id(place).rehearses and (active is None or not kept.project):
        from tpu_studio.practice import daemon

        found = daemon.start_or_join(home)
        owner = bearer(found["token"], lambda: str(daemon.start_or_join(home)["token"]))
        if kept.project:  # somebody has chosen or made another one
            runner = kept.runner or runner_account(kept.project)
            return Reached(place, owner, kept.project, kept.region, kept.bucket, runner, kept.stopper, side.endpoints)
        project = found["project"] or ""  # a new account has none
        return Reached(
            place,
            owner,
            project,
            (found["zone"] or "").rpartition("-")[0],
            found["bucket"] or "",
            runner_account(project) if project else "",
            stopper_account(project) if project else "",
            side.endpoints,
        )
    if active is None:
        raise SignedOut("signed-out")
    if not kept.project:
        raise NotReady("cloud-not-ready", raw="No project is chosen")
    return Reached(
        place,
        side.signing.credentials(active),
        kept.project,
        kept.region,
        kept.bucket,
        kept.runner or runner_account(kept.project),
        kept.stopper,
        side.endpoints,
    )


def practice_for_runs(home: Path) -> Mapping[str, object]:
    """``{"url","project","bucket","token"}`` of the practice cloud, started if need be: with the project that was
    chosen or made there, where one was. Raises NotReady ``practice-failed``."""
    from tpu_studio.cloud.endpoints import Endpoints
    from tpu_studio.cloud.signin import secrets
    from tpu_studio.cloud.signin.accounts import Accounts
    from tpu_studio.places.standing import folder_of
    from tpu_studio.practice import daemon
    from tpu_studio.workflow.account.remembering import ChoicesFile

    found, folder = daemon.start_or_join(home), folder_of(places.rehearsing().id, home)
    if (root := os.environ.get("TPU_STUDIO_ENGINE")) is not None:
        with suppress(OSError):  # then it goes without, as before
            daemon.lend_engine(found, Path(root).expanduser())
    active = Accounts(folder, Endpoints(), lambda: secrets.choose(folder)).active()
    kept = ChoicesFile(folder).of(active.id if active is not None else PRACTICE_OWNER)
    if kept.project:  # as `reach`: what is rented there is found by the sweep, and told on the receipt
        return {**found, "project": kept.project, "bucket": kept.bucket}
    return found


def practice_owner(home: Path, side: Side) -> tuple[GoogleDoctor, Choices]:
    """The checklist as the owner of the practice cloud, when nobody has signed in there. All is ready, unless the
    practice cloud is a new person's or something else was chosen (kept under `PRACTICE_OWNER`)."""
    from tpu_studio.workflow.account.ports import Choices

    who, kept = reach(side.place, home), side.choices.of(PRACTICE_OWNER)
    if kept.project or not who.project:
        return side.doctor_for(who.credentials), kept
    return side.doctor_for(who.credentials), Choices(who.project, who.region, who.bucket, stopper=who.stopper)


def connected(place: str, home: Path) -> CloudSide:
    """Everything a run at *place* uses.

    Raises:
        NotReady: ``cloud-not-ready`` also where there is no place for results yet.
        CloudUnclear: The cloud was not reached.
    """
    from tpu_studio.cloud.connection import connect

    who = reach(place, home)
    if not who.bucket:
        raise NotReady("cloud-not-ready", raw="There is no storage bucket")
    return connect(
        who.credentials,
        who.project,
        who.bucket,
        runner=who.runner,
        stopper=who.stopper,
        endpoints=who.endpoints,
        place=place,
    )
