"""What was read of an account reaches plans by files: the area of its results, and what Google allows it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.oauth2.credentials import Credentials

from tests.fakes.looks import DIGITS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin.accounts import Account, Accounts
from tpu_studio.domain.renewed import catalogue_at, forget_renewed
from tpu_studio.domain.standing import standing_of
from tpu_studio.places import renewing, standing
from tpu_studio.places.accounts import Side
from tpu_studio.places.reaching import PRACTICE_OWNER, practice_for_runs
from tpu_studio.practice import daemon
from tpu_studio.practice.main import Practice
from tpu_studio.workflow.account.ports import Choices
from tpu_studio.workflow.account.remembering import ChoicesFile

ME = Account("ada", "oauth", "ada@example.com")


@pytest.fixture(autouse=True)
def signed_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Accounts, "active", lambda self: ME)
    yield
    forget_renewed()


def read(practice: Practice, home: Path, region: str = "us-west4") -> Side:
    """The Account page has chosen an area and read the whole map."""
    side = Side("cloud", home, Endpoints.at(practice.url))
    project = practice.cloud.settings.project
    side.choices.keep(ME.id, Choices(project, region, "a-bucket"))
    side.doctor_for(Credentials(token=practice.token)).allowances(project)
    return side


def zones(accelerator: str = "v5litepod-4") -> list[str]:
    wanted = job("mlp", "digits", where={"place": "cloud", "accelerator": accelerator})
    return list(make_plan(wanted, DIGITS, now=NOW, computer=LAPTOP).job["where.zones"])


def test_plans_are_for_where_the_account_may_use_tpus_without_asking_anybody(practice: Practice, home: Path):
    zero = "TPUV5sLitepodServingPerProjectPerZoneForTPUAPI/-/us-west4-a"
    practice.cloud.db.put("quota-grant", zero, {"value": 0})
    read(practice, home)
    practice.stop()
    renewing.kept("cloud", home)
    known = standing_of(catalogue_at("cloud"))
    assert known.region == "us-west4" and known.as_of is not None and abs(time.time() - known.as_of) < 3600
    assert known.addresses["us-west4"] == (8, 0)
    assert "us-west4-a" not in zones()
    assert zones("v5litepod-16") == ["us-west4-a"]  # of another limit


def test_limits_that_were_read_a_month_ago_are_forgotten_the_area_is_not(practice: Practice, home: Path):
    read(practice, home, "us-west1")
    standing.use_kept("cloud", home, time.time() + 31 * 86_400.0)
    known = standing_of(catalogue_at("cloud"))
    assert (known.region, known.as_of, dict(known.limits)) == ("us-west1", None, {})
    assert zones() == ["us-west1-c"]


def test_another_project_has_limits_of_its_own(practice: Practice, home: Path):
    side = read(practice, home)
    side.choices.keep(ME.id, Choices("another-project", "us-west4", "b"))
    renewing.kept("cloud", home)
    assert standing_of(catalogue_at("cloud")).limits == {}


def test_a_look_at_one_area_leaves_what_was_read_of_the_others(practice: Practice, home: Path):
    side, project = read(practice, home), practice.cloud.settings.project
    practice.cloud.faults.arm_text("quota-zero:place=us-west4-a")
    doctor = side.doctor_for(Credentials(token=practice.token))
    doctor.check(side.choices.of(ME.id), only=("quota",))
    renewing.kept("cloud", home)
    known, part = standing_of(catalogue_at("cloud")), catalogue_at("cloud").slice("v5litepod-4")
    assert known.allows(part, "on-demand", "us-west4-a") is False
    assert known.allows(part, "on-demand", "us-central1-a") is True
    assert project


@pytest.mark.parametrize(
    ("signed", "default", "wanted"),
    [(False, None, "made"), (False, "its-own", "made"), (True, None, "mine"), (True, "its-own", "mine")],
)
def test_a_run_goes_to_the_project_that_was_made_at_the_practice_cloud(
    home: Path, monkeypatch: pytest.MonkeyPatch, signed: bool, default: str | None, wanted: str | None
):
    found = {"url": "http://127.0.0.1:9", "token": "t", "project": default, "bucket": default and "its-bucket"}
    monkeypatch.setattr(daemon, "start_or_join", lambda home: found)
    monkeypatch.setattr(Accounts, "active", lambda self: ME if signed else None)
    kept = ChoicesFile(standing.folder_of("practice", home))
    (home / "practice" / "account").mkdir(parents=True)
    kept.keep(PRACTICE_OWNER, Choices("made", "us-west4", "made-bucket"))
    kept.keep(ME.id, Choices("mine", "us-west4", "my-bucket"))
    told = practice_for_runs(home)
    assert told["project"] == (wanted or default) and told["token"] == "t"
    assert told["bucket"] == {"made": "made-bucket", "mine": "my-bucket"}.get(wanted or "", "its-bucket")


def test_signed_out_plans_know_nothing_of_an_account(practice: Practice, home: Path, monkeypatch: pytest.MonkeyPatch):
    read(practice, home)
    monkeypatch.setattr(Accounts, "active", lambda self: None)
    renewing.kept("cloud", home)
    assert standing_of(catalogue_at("cloud")).region == ""
