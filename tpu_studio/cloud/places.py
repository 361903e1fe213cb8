"""The rented places: the practice cloud of this home, and Google Cloud as the active account with its choices.

`app` and `cli` compose them; how a practice cloud is started is handed in, for ``cloud`` knows nothing of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tpu_studio.cloud.preparing import Preparation
from tpu_studio.wire.errors import NotReady, SignedOut
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.cloudruns.ports import CloudPlace, CloudSide

StartPractice = Callable[[], Mapping[str, Any]]
"""``{"url","project","bucket","token"}`` of the practice cloud, started if need be. Raises NotReady."""


def rented_places(home: Path, start_practice: StartPractice) -> dict[str, CloudPlace]:
    preparing = Preparation()
    return {
        "practice": CloudPlace(_Practice(start_practice), preparing),
        "cloud": CloudPlace(_Google(home), preparing),
    }


class _Practice:
    """One side for as long as the practice cloud keeps its port; a new one after it was started anew."""

    def __init__(self, start: StartPractice) -> None:
        self._start, self._lock = start, threading.Lock()
        self._known: tuple[tuple[str, str], CloudSide] | None = None

    def __call__(self, plan: Plan) -> CloudSide:
        from tpu_studio.cloud.connection import practice_side

        with self._lock:
            found = self._start()
            key = (str(found["url"]), str(found["token"]))
            if self._known is None or self._known[0] != key:
                self._known = (key, practice_side(*key, str(found["project"]), str(found["bucket"])))
            return self._known[1]


class _Google:
    def __init__(self, home: Path) -> None:
        self._home, self._lock = home, threading.Lock()
        self._known: dict[tuple[str, ...], CloudSide] = {}

    def __call__(self, plan: Plan) -> CloudSide:
        """Raises SignedOut; NotReady ``cloud-not-ready``: no project or no place for results is chosen."""
        from tpu_studio.cloud.connection import connect
        from tpu_studio.cloud.endpoints import Endpoints
        from tpu_studio.cloud.signin.accounts import Accounts
        from tpu_studio.cloud.signin.secrets import choose
        from tpu_studio.workflow.account.remembering import ChoicesFile

        ends = Endpoints()
        accounts = Accounts(self._home, ends, lambda: choose(self._home))
        account = accounts.active()
        if account is None:
            raise SignedOut("signed-out")
        choices = ChoicesFile(self._home).of(account.id)
        project = str(plan.job["where.project"] or choices.project or account.project)
        if not project:
            raise NotReady("cloud-not-ready", place="cloud", raw="No project is chosen")
        if not choices.bucket:
            raise NotReady("cloud-not-ready", place="cloud", raw="No place for results is made")
        stopper = choices.stopper if project == choices.project else ""  # it must be of the queue's own project
        key = (account.id, accounts.stamp(account), project, choices.bucket, stopper)
        with self._lock:
            if key not in self._known:
                self._known[key] = connect(
                    accounts.credentials(account), project, choices.bucket, runner=choices.runner, stopper=stopper,
                    endpoints=ends,
                )  # fmt: skip
            return self._known[key]
