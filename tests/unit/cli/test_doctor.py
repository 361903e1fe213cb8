"""``doctor`` at the practice cloud: from nothing to ready, in words and in JSON, with its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.clouddesk import CloudDesk
from tests.fakes.practices import Start
from tests.fakes.skies import Sky, cloud_plan
from tpu_studio.cli import doctor
from tpu_studio.cli.main import main
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin.accounts import Accounts
from tpu_studio.cloud.signin.secrets import Session
from tpu_studio.places.reaching import reach
from tpu_studio.practice import daemon
from tpu_studio.practice.main import Practice
from tpu_studio.workflow.account.ports import Choices, Result


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


@pytest.fixture
def new_account(start_practice: Start, monkeypatch: pytest.MonkeyPatch) -> Practice:
    """Somebody who has just signed up at the practice cloud; Google's minutes pass at once."""
    served = start_practice(new=True, speed=200.0)
    monkeypatch.setattr(daemon, "start_or_join", lambda home: served.ready())
    return served


def test_fix_all_makes_a_new_account_ready_and_the_choice_is_kept(new_account: Practice, home: Path, capsys: Any):
    code, told = asked(capsys, "--on", "practice", "--project", "my-first-tpus", "--fix", "all")
    assert (code, told["ready"], told["left"]) == (0, True, []), told
    required = [one for one in told["checks"] if one["id"] not in ("alert", "test-loan")]
    assert {one["state"] for one in required} == {"pass"}
    assert told["project"] == "my-first-tpus" and told["bucket"].startswith("tpu-studio-")

    code, again = asked(capsys, "--on", "practice")
    assert (code, again["project"], again["bucket"]) == (0, "my-first-tpus", told["bucket"])
    assert reach("practice", home).stopper == "tpu-studio-stopper@my-first-tpus.iam.gserviceaccount.com"


def test_fix_all_proposes_another_id_where_somebody_else_has_it(new_account: Practice, home: Path, capsys: Any):
    new_account.cloud.faults.arm("project-id-taken")
    assert main(["doctor", "--on", "practice", "--project", "my-first-tpus", "--fix", "all"]) == 4
    told = capsys.readouterr().err
    assert "Somebody else in the world has the project id my-first-tpus" in told and "my-first-tpus-" in told


def test_what_google_refuses_is_told_and_the_rest_goes_on(new_account: Practice, home: Path, capsys: Any):
    new_account.cloud.faults.arm("terms-not-accepted")
    code, told = asked(capsys, "--on", "practice", "--project", "my-first-tpus", "--fix", "all")
    [left] = told["left"]
    assert code == 4 and "terms of service were never accepted" in left and "Open the Google Cloud console once" in left
    new_account.cloud.faults.disarm("terms-not-accepted")
    assert asked(capsys, "--on", "practice", "--project", "my-first-tpus", "--fix", "all")[0] == 0


def test_fix_all_with_several_payers_asks_by_a_list_and_takes_the_named_one(
    new_account: Practice, home: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
):
    from tpu_studio.practice import billing

    usual = billing.accounts
    second = {"name": "billingAccounts/AAAAAA-BBBBBB-CCCCCC", "open": True, "displayName": "The lab's"}
    monkeypatch.setattr(billing, "accounts", lambda cloud: [*usual(cloud), {**second, "currencyCode": "EUR"}])
    settings = new_account.cloud.settings
    new_account.cloud.principals.grant(second["name"], "roles/billing.admin", f"user:{settings.owner}")
    argv = ["--on", "practice", "--project", "my-first-tpus", "--fix", "all"]
    assert main(["doctor", *argv, "--json"]) == 4
    told = json.loads(capsys.readouterr().out)["error"]
    assert told["id"] == "billing-account-needed" and second["name"] in told["meaning"]
    code, answer = asked(capsys, *argv, "--billing-account", settings.billing_account)
    assert (code, answer["ready"]) == (0, True)


@pytest.mark.parametrize("doubt", ["api-made-project", "service-lag=minutes", "service-lag=none"])
def test_fix_all_ends_well_whichever_way_google_answers(new_account: Practice, home: Path, capsys: Any, doubt: str):
    new_account.cloud.doubts.arm(doubt)
    code, told = asked(capsys, "--on", "practice", "--project", "my-first-tpus", "--fix", "all")
    assert (code, told["ready"]) == (0, True), told


def test_gcloud_that_may_not_ask_without_a_project_leads_to_googles_page(
    new_account: Practice, home: Path, capsys: Any
):
    new_account.cloud.doubts.arm("quota-project-none")
    code, told = asked(capsys, "--on", "practice", "--project", "my-first-tpus", "--fix", "all")
    row = next(one for one in told["checks"] if one["id"] == "project")
    assert (code, row["state"], row["page"]) == (4, "fail", "https://console.cloud.google.com/projectcreate")
    assert "Create your first project on Google's page" in row["action"]


def test_an_alert_in_another_currency_needs_its_amount(practice: Practice, capsys: Any):
    practice.cloud.faults.arm("billing-currency", currency="JPY")
    assert main(["doctor", "--on", "practice", "--fix", "make-alert"]) == 2
    assert "--monthly AMOUNT, in JPY" in capsys.readouterr().err
    assert main(["doctor", "--on", "practice", "--fix", "make-alert", "--monthly", "4000,5"]) == 2
    assert "whole amount from 1, not 4000.5" in capsys.readouterr().err
    _, told = asked(capsys, "--on", "practice", "--fix", "make-alert", "--monthly", "4000")
    assert "4,000 JPY a month" in next(one["text"] for one in told["checks"] if one["id"] == "alert")


def test_where_several_things_are_missing_one_command_for_all_is_named():
    failed = [Result("services", "fail", fix="enable-services"), Result("network", "fail", fix="make-network")]
    words = doctor._as_text(failed, [], Choices(project="my-lab"), "cloud")
    assert words.endswith("All of these in their order: tpu-studio doctor --fix all")
    assert "--fix all" not in doctor._as_text(failed[:1], [], Choices(project="my-lab"), "cloud")
