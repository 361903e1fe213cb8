"""The network's name service is gone while a run is begun, goes on, is stopped: no address of Google's is known then.

The desktop knows the practice cloud by a name, ``localhost``, and the look-up of it fails as the system's does; the
machine has its own way out, as at Google.
"""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.test_cloud_run import Desk, practice
from tests.journeys.test_rented_runs import Start, held_at, pytestmark
from tpu_studio.cloud.connection import practice_side
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.session import Patience
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import CloudUnclear
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.cloudruns.ports import CloudSide

__all__ = ["practice", "pytestmark"]


class ByName(Desk):
    def start(self) -> None:
        super().start()
        settings = self.practice.cloud.settings

        def side(plan: Plan) -> CloudSide:
            """A call that fails is not repeated: what the driver makes of it is what counts here."""
            url = self.practice.url.replace("127.0.0.1", "localhost")
            made = practice_side(
                url, self.practice.token, settings.project, settings.bucket, patience=Patience(tries=1)
            )
            return replace(made, endpoints=Endpoints.at(self.practice.url).for_machine())

        self.drive(side)


class Names:
    """Whether names can be looked up: *gone* is the system's error, 0 while they can."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gone, self.asked = 0, 0
        look_up = socket.getaddrinfo

        def getaddrinfo(host: Any, *rest: Any, **more: Any) -> Any:
            if host == "localhost":
                self.asked += 1
                if self.gone:
                    raise socket.gaierror(self.gone, "no such luck")
                host = "127.0.0.1"
            return look_up(host, *rest, **more)

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    return Names(monkeypatch)


def test_a_run_that_goes_on_is_stopped_meanwhile_and_that_is_done_when_they_are_back(
    practice: Start, names: Names, tmp_path: Path
) -> None:
    here = ByName(tmp_path / "home", practice(trainer=held_at(10, tmp_path / "go-on")))
    run = here.launch()
    here.until(run, lambda row: row.step >= 9)
    assert names.asked

    names.gone = socket.EAI_AGAIN
    here.die()
    here.start()  # the laptop was closed and is open again: no connection is left
    said = say(here.until_told(run, "network-down"))
    assert said.title == "Google cannot be reached" and "ends at its limits" in said.meaning
    here.runs.stop(run)
    here.until_told(run, "network-down")
    assert not here.runs.summary(run).settled

    names.gone = 0
    here.until(run, lambda row: any(one.kind == "control" for one in here.said(run, 1)))
    (tmp_path / "go-on").touch()
    row = here.until(run)
    assert row.reason == "stopped-by-user", here.tell(run)
    here.nothing_is_left(run)
    assert len(here.receipt(run)["made"]) == 1
    assert os.listdir(here.runs.folder(run) / "result")
    here.die()


def test_a_run_that_is_begun_meanwhile_is_refused_with_nothing_made_and_begins_when_they_are_back(
    practice: Start, names: Names, tmp_path: Path
) -> None:
    here = ByName(tmp_path / "home", practice())
    names.gone = socket.EAI_NONAME
    with pytest.raises(CloudUnclear) as refused:
        here.launch()
    said = say(refused.value)
    assert (said.title, said.meaning) == ("Google cannot be reached", "No run was begun, and nothing was charged.")
    assert said.action == "Check the network, then start the run again."
    assert here.runs.list() == [] and here.journal.open_intents() == [] and not here.practice.cloud.meter.bill()

    names.gone = 0
    here.ends_as_if_undisturbed(here.launch())
    here.die()
