"""Signed out while a rented run goes on, then a colleague signs in who may not look after it, then its owner again."""

from __future__ import annotations

import time
from pathlib import Path

from tests.fakes.consent import Person
from tests.journeys.test_cloud_run import DEADLINE_S, Desk, practice
from tests.journeys.test_rented_runs import Start, held_at, pytestmark, receipt
from tpu_studio.cloud.connection import connect, stopper_account
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.preparing import Preparation
from tpu_studio.cloud.session import Patience
from tpu_studio.cloud.signin.accounts import Accounts
from tpu_studio.cloud.signin.browser import Client
from tpu_studio.cloud.signin.secrets import PrivateFile
from tpu_studio.practice.tpu_show import NODE
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.ports import CloudPlace, CloudSide
from tpu_studio.workflow.runs import Runs

__all__ = ["practice", "pytestmark"]
CLIENT = Client("studio.apps.googleusercontent.com", "GOCSPX-secret-of-the-client")


class SignedIn(Desk):
    """Drives as whoever is signed in here at the moment."""

    def start(self) -> None:
        super().start()
        settings, endpoints = self.practice.cloud.settings, Endpoints.at(self.practice.url)
        self.accounts = Accounts(self.home, endpoints, lambda: PrivateFile(self.home / "private" / "secrets.json"))

        def side(plan: Plan) -> CloudSide:
            return connect(
                self.accounts.credentials(), settings.project, settings.bucket, endpoints=endpoints, place="practice",
                stopper=stopper_account(settings.project), patience=Patience(tries=1),
            )  # fmt: skip

        places = {"practice": CloudPlace(side, Preparation())}
        self.driver = Driver(self.home, places=places, journal=self.journal)
        self.runs = Runs(self.home, places={}, journal=self.journal, index=self.index, driver=self.driver)

    def sign_in(self, account: str = "") -> str:
        person = Person(account)
        try:
            return self.accounts.sign_in(CLIENT, person.open).id
        finally:
            person.leave()

    def until_told(self, run: str, *ids: str) -> None:
        give_up = time.monotonic() + DEADLINE_S
        while (problem := self.driver.problems.get(run)) is None or problem.id not in ids:
            assert time.monotonic() < give_up, problem
            self.driver.watch(run)
            time.sleep(min(self.driver.turn(run), 0.2))


def test_the_machine_is_nobody_elses_to_lose_and_its_owner_finds_it_again(practice: Start, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    made = practice(trainer=held_at(10, go_on))
    here = SignedIn(tmp_path / "home", made)
    owner = here.sign_in()
    run = here.launch()
    here.until(run, lambda row: row.step >= 9)

    here.accounts.remove(owner)  # revoked at Google too
    here.until_told(run, "signed-out")
    people = [record["email"] for _, record in made.cloud.db.list("person")]
    colleague = next(email for email in people if email != made.cloud.settings.owner)
    here.sign_in(colleague)
    here.until_told(run, "permission-missing")
    assert [name for name, _ in made.cloud.db.list(NODE)] and not here.runs.summary(run).over

    here.sign_in()
    go_on.touch()
    row = here.until(run)
    assert row.reason == "completed", here.tell(run)
    assert here.steps(run, 1) == list(range(1, 31))
    assert run not in here.driver.problems
    assert [one["name"] for one in receipt(here, run)["made"]] == [f"ts-{run}-a1-t1"]
    here.nothing_is_left(run)
    here.die()
