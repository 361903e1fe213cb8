"""The clouds behind ``--on``: the practice cloud of this home, and Google Cloud as the active account."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.wire.errors import NotReady, StudioError
from tpu_studio.wire.homes import home_folder

if TYPE_CHECKING:
    from tpu_studio.cloud.endpoints import Endpoints
    from tpu_studio.cloud.sweep import Sweep
    from tpu_studio.domain.catalogue import Catalogue
    from tpu_studio.workflow.cloudruns.ports import Machines


@dataclass(frozen=True)
class Reached:
    """Who we are at a cloud. *bucket*: "" where none is known."""

    credentials: Any
    project: str
    bucket: str
    endpoints: Endpoints


def reach(place: str, home: Path | None = None) -> Reached:
    """Raises SignedOut; NotReady ``cloud-not-ready``, ``practice-failed``."""
    from tpu_studio.cloud.connection import bearer
    from tpu_studio.cloud.endpoints import Endpoints

    home = home or home_folder()
    if place == "practice":
        from tpu_studio.practice import daemon

        found = daemon.start_or_join(home)
        return Reached(bearer(found["token"]), found["project"], found["bucket"], Endpoints.at(found["url"]))
    from tpu_studio.cloud.signin.accounts import Accounts
    from tpu_studio.cloud.signin.secrets import choose

    ends = Endpoints()
    accounts = Accounts(home, ends, lambda: choose(home))
    account = accounts.active()
    credentials = accounts.credentials(account)
    if account is None or not account.project:
        raise NotReady("cloud-not-ready", raw="No project is chosen")
    return Reached(credentials, account.project, "", ends)


@contextmanager
def sweep_of(place: str) -> Iterator[Sweep]:
    """The sweep of *place*, with Google's prices of now where they can be had. Raises as `reach`."""
    from tpu_studio.cloud.compute import ComputeMachines
    from tpu_studio.cloud.connection import runner_account
    from tpu_studio.cloud.session import session
    from tpu_studio.cloud.stops import TaskStops
    from tpu_studio.cloud.sweep import Sweep
    from tpu_studio.cloud.tpu import TpuMachines

    who = reach(place)
    ends = who.endpoints
    with session(who.credentials, who.project if place == "cloud" else "") as http:
        targets = {"tpu": ends.tpu, "compute": ends.compute}
        machines: dict[str, Machines] = {
            "tpu": TpuMachines(http, ends.tpu, who.project),
            "compute": ComputeMachines(http, ends.compute, who.project),
        }
        stops = TaskStops(http, ends.tasks, who.project, runner_account(who.project), targets)
        yield Sweep(http, ends, who.project, machines, stops, known=_priced(http, ends))


def _priced(http: Any, ends: Endpoints) -> Catalogue:
    from tpu_studio.cloud.prices import live_catalogue
    from tpu_studio.cloud.session import Api, Patience
    from tpu_studio.domain.catalogue import catalogue

    try:
        return live_catalogue(Api(ends.billing, http, patience=Patience(tries=2)), date.today())
    except StudioError:
        return catalogue()  # dated prices do: what is there matters more
