"""A company's proxy dies while a run goes on: the machine does not care, and the run is seen again when it is back.

The desktop asks Google's own addresses through `tests.fakes.proxy`, which leads them to a practice cloud; the practice
cloud itself is never asked through a proxy. The machine has its own way out.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.proxy import Proxy
from tests.journeys.test_cloud_run import DEADLINE_S, Desk, practice
from tests.journeys.test_rented_runs import Start, held_at, pytestmark
from tpu_studio.cloud.connection import bearer, connect, stopper_account
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.session import Patience
from tpu_studio.domain.sentences import say
from tpu_studio.practice.main import Practice
from tpu_studio.practice.tpu_show import NODE
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.cloudruns.ports import CloudSide

__all__ = ["practice", "pytestmark"]


class BehindAProxy(Desk):
    def start(self) -> None:
        super().start()
        settings = self.practice.cloud.settings

        def side(plan: Plan) -> CloudSide:
            """A call that fails is not repeated: what the driver makes of it is what counts here."""
            made = connect(
                bearer(self.practice.token),
                settings.project,
                settings.bucket,
                stopper=stopper_account(settings.project),
                place=plan.place,
                patience=Patience(tries=1),
            )
            return replace(made, endpoints=Endpoints.at(self.practice.url).for_machine())

        self.drive(side)


def test_it_is_named_the_machine_works_on_and_the_run_is_seen_again(
    practice: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = tmp_path / "go-on"
    cloud: Practice = practice(trainer=held_at(10, go_on))
    with Proxy(tmp_path, cloud.url) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ALL_PROXY", "NO_PROXY", "CURL_CA_BUNDLE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HTTPS_PROXY", proxy.url())
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(proxy.certificate))
        here = BehindAProxy(tmp_path / "home", cloud)
        run = here.launch()
        here.until(run, lambda row: row.step >= 9)
        assert proxy.asked

        proxy.die()
        told = here.until_told(run, "proxy-down")
        said = say(told)
        assert (said.title, told.facts["proxy"]) == ("The proxy of your network cannot be reached", proxy.address)
        assert "goes on" in said.meaning and "by itself" in said.action
        go_on.touch()  # the machine works on, and ends by itself
        cloud_there = here.practice.cloud
        give_up = time.monotonic() + DEADLINE_S
        while cloud_there.db.list(NODE) and time.monotonic() < give_up:
            here.driver.turn(run)
            time.sleep(0.1)

        proxy.come_back()
        here.ends_as_if_undisturbed(run)
        here.die()
