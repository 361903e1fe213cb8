"""``doctor`` at the practice cloud: from nothing to ready, in words and in JSON, with its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.clouddesk import CloudDesk
from tests.fakes.practices import Start
from tests.fakes.skies import Sky, cloud_plan
from tpu_studio.cli.main import main
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin.accounts import Accounts
from tpu_studio.cloud.signin.secrets import Session
from tpu_studio.practice import daemon
from tpu_studio.practice.main import Practice


@pytest.fixture
def practice(start_practice: Start, monkeypatch: pytest.MonkeyPatch) -> Practice:
    """A practice cloud in this process, found as the home's own would be."""
    served = start_practice()
    monkeypatch.setattr(daemon, "start_or_join", lambda home: served.ready())
    return served


def asked(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, Any]]:
    code = main(["doctor", *argv, "--json"])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, answer


def test_a_ready_account_is_told_so_with_what_may_be_used_where(practice: Practice, capsys: Any):
    code, told = asked(capsys, "--on", "practice")
    assert (code, told["ready"], told["project"]) == (0, True, "practice-project")
    assert {one["id"]: one["state"] for one in told["checks"]}["outside-stop"] == "pass"
    assert any(row["generation"] == "v5e" and row["limit"] > 0 for row in told["quota"])


def test_what_is_missing_is_exit_4_and_named_with_its_repair(practice: Practice, capsys: Any):
    practice.cloud.faults.arm("billing-off")
    code, told = asked(capsys, "--on", "practice")
    broken = next(one for one in told["checks"] if one["state"] == "fail")
    assert (code, told["ready"], broken["id"], broken["fix"]) == (4, False, "billing", "link-billing")
    assert main(["doctor", "--on", "practice"]) == 4
    assert "--fix link-billing" in capsys.readouterr().out


def test_a_repair_that_there_is_not_is_refused_with_those_there_are(practice: Practice, capsys: Any):
    assert main(["doctor", "--on", "practice", "--fix", "everything"]) == 2
    assert "make-bucket" in capsys.readouterr().err


def test_nobody_signed_in_at_google_is_exit_4_and_asks_no_network(home: Path, capsys: Any):
    code, told = asked(capsys)
    assert (code, told["checks"][0]["fix"]) == (4, "sign-in")


def test_a_key_file_that_is_none_is_refused_by_name(home: Path, tmp_path: Path, capsys: Any):
    (tmp_path / "key.json").write_text("{}")
    assert main(["doctor", "--key", str(tmp_path / "key.json")]) == 4
    assert "key.json" in capsys.readouterr().err


def test_signing_out_under_a_run_is_refused_until_it_is_meant(home: Path, tmp_path: Path, capsys: Any):
    client = {"client_id": "client-1.apps", "client_secret": "s"}
    (tmp_path / "adc.json").write_text(json.dumps({"type": "authorized_user", "refresh_token": "r", **client}))
    accounts = Accounts(home, Endpoints(), Session)
    accounts.add_gcloud(tmp_path / "adc.json")
    CloudDesk(home, Sky(), cloud_plan(place="cloud")).die()

    assert main(["doctor", "--sign-out"]) == 2
    told = capsys.readouterr().err
    assert "can neither follow nor stop it" in told and "--yes" in told
    assert accounts.active() is not None

    assert main(["doctor", "--sign-out", "--yes"]) == 4
    assert "is signed out here. " in (told := capsys.readouterr().err) and "at the limits" in told
    assert accounts.active() is None
    assert main(["doctor", "--sign-out"]) == 4
    assert "not signed in" in capsys.readouterr().err
