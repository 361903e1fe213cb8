"""Signed out while a rented run goes on, then a colleague signs in who may not look after it, then its owner again."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.consent import Person
from tests.journeys.test_cloud_run import Desk, practice
from tests.journeys.test_rented_runs import Start, held_at, pytestmark
from tpu_studio.cloud.connection import connect, stopper_account
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.session import Patience
from tpu_studio.cloud.signin.accounts import Accounts
from tpu_studio.cloud.signin.browser import Client
from tpu_studio.cloud.signin.secrets import PrivateFile
from tpu_studio.practice.tpu_show import NODE
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.cloudruns.ports import CloudSide

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
                self.accounts.credentials(),
                settings.project,
                settings.bucket,
                endpoints=endpoints,
                place="practice",
                stopper=stopper_account(settings.project),
                patience=Patience(tries=1),
            )

        self.drive(side)

    def sign_in(self, account: str = "") -> str:
        person = Person(account)
        try:
            return self.accounts.sign_in(CLIENT, person.open).id
        finally:
            person.leave()


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
    here.ends_as_if_undisturbed(run)
    here.die()
