"""How a run reaches Google: as the active account, with the credentials that it has now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import DIGITS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tpu_studio.cloud import connection
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.places import rented_places
from tpu_studio.cloud.signin.accounts import Accounts
from tpu_studio.cloud.signin.secrets import Session
from tpu_studio.places.accounts import cloud_side
from tpu_studio.workflow.account.ports import Choices
from tpu_studio.workflow.account.remembering import ChoicesFile


@pytest.fixture
def adc(tmp_path: Path) -> Path:
    """Of gcloud, as the active account."""
    path = tmp_path / "application_default_credentials.json"
    sign_in_with_gcloud(path, "the first")
    account = Accounts(tmp_path, Endpoints(), Session).add_gcloud(path)
    ChoicesFile(tmp_path).keep(account.id, Choices("a-project", "us-west4", "a-bucket"))
    return path


def sign_in_with_gcloud(path: Path, refresh: str) -> None:
    client = {"client_id": "client-1.apps", "client_secret": "s"}
    path.write_text(json.dumps({"type": "authorized_user", "refresh_token": refresh, **client}))


def test_the_checklist_asks_with_the_new_credentials_of_who_signs_in_again(tmp_path: Path, adc: Path) -> None:
    side = cloud_side(tmp_path)
    before = side.doctor()
    assert side.doctor() is before
    sign_in_with_gcloud(adc, "the second")
    assert side.doctor() is not before


def test_who_signs_in_again_under_a_run_is_heard_without_starting_the_app_anew(
    tmp_path: Path, adc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides: list[Any] = []

    def connect(credentials: Any, *about: Any, **more: Any) -> Any:
        sides.append(credentials)
        return credentials

    monkeypatch.setattr(connection, "connect", connect)
    plan = make_plan(job("mlp", "digits", where={"place": "cloud"}), DIGITS, now=NOW, computer=LAPTOP)
    place = rented_places(tmp_path, dict)["cloud"]

    assert place.connect(plan) is place.connect(plan)
    sign_in_with_gcloud(adc, "the second")
    place.connect(plan)

    assert [one.refresh_token for one in sides] == ["the first", "the second"]


def test_a_run_that_was_begun_in_another_project_is_reached_there_with_the_account_that_knows_it(
    tmp_path: Path, adc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str, str, str]] = []

    def connect(credentials: Any, project: str, bucket: str, *, runner: str, **more: Any) -> Any:
        asked.append((credentials.refresh_token, project, bucket, runner))

    monkeypatch.setattr(connection, "connect", connect)
    plan = make_plan(job("mlp", "digits", where={"place": "cloud"}), DIGITS, now=NOW, computer=LAPTOP)
    place = rented_places(tmp_path, dict)["cloud"]
    assert place.at is not None
    place.at(plan, "a-project", "its-first-bucket")
    ChoicesFile(tmp_path).keep("gcloud", Choices("another-project", "us-west4", "another-bucket", runner="r@another"))
    place.at(plan, "a-project", "a-bucket")
    place.connect(plan)

    assert asked == [
        ("the first", "a-project", "its-first-bucket", ""),
        ("the first", "a-project", "a-bucket", ""),
        ("the first", "another-project", "another-bucket", "r@another"),
    ]
