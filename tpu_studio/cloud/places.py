"""The rented places: the practice cloud of this home, and Google Cloud as the active account with its choices.

`app` and `cli` compose them; how a practice cloud is started is handed in, for ``cloud`` knows nothing of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_studio.cloud.preparing import Preparation
from tpu_studio.wire import places
from tpu_studio.wire.errors import NotReady, SignedOut
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.cloudruns.ports import CloudPlace, CloudSide

if TYPE_CHECKING:
    from tpu_studio.cloud.signin.accounts import Account, Accounts
    from tpu_studio.workflow.account.ports import Choices

StartPractice = Callable[[], Mapping[str, object]]
"""``{"url","project","bucket","token"}`` of the practice cloud, started if need be. Raises NotReady."""


def rented_places(home: Path, start_practice: StartPractice) -> dict[str, CloudPlace]:
    preparing = Preparation()
    practice, google = _Practice(home, start_practice), _Google(home)
    return {
        places.rehearsing().id: CloudPlace(practice, preparing, practice.at),
        places.charging().id: CloudPlace(google, preparing, google.at),
    }


class _Practice:
    """One side for as long as the practice cloud keeps its port; a new one after it was started anew."""

    def __init__(self, home: Path, start: StartPractice) -> None:
        self._home, self._start, self._lock = home, start, threading.Lock()
        self._known: tuple[tuple[str, ...], CloudSide] | None = None

    def __call__(self, plan: Plan) -> CloudSide:
        from tpu_studio.cloud.observing import stamp

        with self._lock:
            found = self._start()
            if not found["project"]:  # a new account
                raise NotReady("cloud-not-ready", place=places.rehearsing().id, raw="No project is chosen")
            if not found["bucket"]:
                raise NotReady("cloud-not-ready", place=places.rehearsing().id, raw="No storage bucket is created")
            key = (*(str(found[name]) for name in ("url", "token", "project", "bucket")), str(stamp(self._home)))
            if self._known is None or self._known[0] != key:
                self._known = (key, self._connect(found, str(found["project"]), str(found["bucket"])))
            return self._known[1]

    def at(self, plan: Plan, project: str, bucket: str) -> CloudSide:
        """See `CloudPlace.at`."""
        usual = self(plan)
        if (usual.project, usual.mailbox.bucket) == (project, bucket):
            return usual
        return self._connect(self._start(), project, bucket)

    def _connect(self, found: Mapping[str, object], project: str, bucket: str) -> CloudSide:
        from tpu_studio.cloud.connection import practice_side
        from tpu_studio.cloud.observing import ways_at

        return practice_side(
            str(found["url"]),
            str(found["token"]),
            project,
            bucket,
            renewed=lambda: str(self._start()["token"]),
            ways=ways_at(self._home, None, places.rehearsing().id, project),
        )


class _Google:
    def __init__(self, home: Path) -> None:
        self._home, self._lock = home, threading.Lock()
        self._known: dict[tuple[str, ...], CloudSide] = {}

    def __call__(self, plan: Plan) -> CloudSide:
        """Raises SignedOut; NotReady ``cloud-not-ready``: no project or no place for results is chosen."""
        accounts = self._accounts()
        account, choices = self._people(accounts)[0]
        project = str(plan.job.where.project or choices.project or account.project)
        if not project:
            raise NotReady("cloud-not-ready", place=places.charging().id, raw="No project is chosen")
        if not choices.bucket:
            raise NotReady("cloud-not-ready", place=places.charging().id, raw="No storage bucket is created")
        return self._side(accounts, account, choices, project, choices.bucket)

    def at(self, plan: Plan, project: str, bucket: str) -> CloudSide:
        """See `CloudPlace.at`: with the account that has chosen *project*, if one has. Raises SignedOut."""
        accounts = self._accounts()
        people = self._people(accounts)
        account, choices = next((one for one in people if one[1].project == project), people[0])
        return self._side(accounts, account, choices, project, bucket)

    def _accounts(self) -> Accounts:
        from tpu_studio.cloud.endpoints import Endpoints
        from tpu_studio.cloud.signin.accounts import Accounts
        from tpu_studio.cloud.signin.secrets import choose

        return Accounts(self._home, Endpoints(), lambda: choose(self._home))

    def _people(self, accounts: Accounts) -> list[tuple[Account, Choices]]:
        """The accounts with their choices, the active one first. Raises SignedOut: none is active."""
        from tpu_studio.workflow.account.remembering import ChoicesFile

        active, kept = accounts.active(), ChoicesFile(self._home)
        if active is None:
            raise SignedOut("signed-out")
        return [(one, kept.of(one.id)) for one in sorted(accounts.all(), key=lambda one: one.id != active.id)]

    def _side(self, accounts: Accounts, account: Account, choices: Choices, project: str, bucket: str) -> CloudSide:
        from tpu_studio.cloud.connection import connect
        from tpu_studio.cloud.endpoints import Endpoints
        from tpu_studio.cloud.observing import stamp, ways_at

        ours = project == choices.project
        stopper = choices.stopper if ours else ""  # it must be of the queue's own project
        key = (account.id, accounts.stamp(account), project, bucket, stopper, str(stamp(self._home)))
        with self._lock:
            if key not in self._known:
                credentials = accounts.credentials(account)
                self._known[key] = connect(
                    credentials,
                    project,
                    bucket,
                    runner=choices.runner if ours else "",
                    stopper=stopper,
                    endpoints=Endpoints(),
                    place=places.charging().id,
                    ways=ways_at(self._home, credentials, places.charging().id, project),
                )
            return self._known[key]
