"""The account's checklist against the practice cloud: from nothing to everything passed, one repair at a time."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from google.oauth2.credentials import Credentials

from tests.contract.conftest import Start
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.cloud.connection import practice_side
from tpu_studio.cloud.doctor import names, quota
from tpu_studio.cloud.doctor.doctor import ORDER, GoogleDoctor
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.practice.main import Practice
from tpu_studio.practice.roles import ROLES
from tpu_studio.viewmodels.accountview import request_words
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.workflow.account.ports import Choices, Result
from tpu_studio.workflow.cloudruns.ports import Ref

OFFERS = {"us-west4-a": {"v5e"}, "us-east5-b": {"v5e", "v6e"}, "us-central2-b": {"v4"}}


def doctor_of(practice: Practice, token: str | None = None) -> GoogleDoctor:
    return GoogleDoctor(Credentials(token=token or practice.token), Endpoints.at(practice.url), OFFERS)


def states(results: list[Result]) -> dict[str, str]:
    return {one.id: one.state for one in results}


def ready(practice: Practice) -> Choices:
    settings = practice.cloud.settings
    return Choices(settings.project, settings.region, settings.bucket, stopper=settings.stopper)


def test_an_account_in_which_all_is_ready_passes_and_the_rest_is_offered(practice: Practice):
    told: list[str] = []
    results = doctor_of(practice).check(ready(practice), told=lambda one: told.append(one.id))
    found = states(results)
    assert {id: state for id, state in found.items() if state != "pass"} == {
        "alert": "optional",
        "test-loan": "optional",
    }
    assert tuple(told) == ORDER
    assert next(one for one in results if one.id == "quota").facts["left"] > 0


def test_from_nothing_to_ready_by_the_offered_repairs(start_practice: Start):
    practice = start_practice(ready=False, speed=100.0)
    doctor, choices = doctor_of(practice), Choices(region="us-west4")
    assert states(doctor.check(choices))["project"] == "fail"
    choices = Choices(doctor.projects("practice")[0].id, "us-west4")
    done: list[str] = []
    give_up = time.monotonic() + PATIENCE_S
    while True:
        results = doctor.check(choices)
        broken = next((one for one in results if one.state in ("fail", "unknown")), None)
        if broken is None:
            break
        if broken.facts.get("why") == "service-disabled" and "enable-services" in done:
            assert time.monotonic() < give_up, broken
            time.sleep(0.05)  # what was only just switched on goes on refusing for half a minute of its clock
            continue
        assert len(done) < 10, done
        assert broken.state == "fail" and broken.fix, broken
        given: dict[str, Any] = {}
        if broken.fix == "link-billing":
            given["account"] = doctor.billing_accounts()[0].name
        choices = doctor.fix(broken.fix, choices, **given)
        done.append(broken.fix)
    assert done[:3] == ["enable-services", "link-billing", "enable-services"]  # first what billing is looked at with
    assert done[3:] == ["make-network", "make-bucket", "make-runner", "make-queue"]
    assert choices.bucket.startswith("tpu-studio-") and choices.runner
    assert choices.stopper == practice.cloud.settings.stopper
    doctor.fix("make-alert", choices)
    doctor.fix("make-alert", choices)  # twice makes one
    assert states(doctor.check(choices))["alert"] == "pass"
    doctor.undo("make-alert", choices)
    assert states(doctor.check(choices))["alert"] == "optional"


def test_a_bucket_of_ours_that_is_there_is_taken_instead_of_making_another(practice: Practice):
    choices = ready(practice)
    assert doctor_of(practice).fix("make-bucket", Choices(choices.project, choices.region)).bucket == choices.bucket


def test_repairs_may_be_repeated(practice: Practice):
    doctor, choices = doctor_of(practice), ready(practice)
    for fix in ("enable-services", "make-network", "make-runner", "make-queue"):
        choices = doctor.fix(fix, choices)
    found = states(doctor.check(choices))
    assert (found["runner"], found["outside-stop"]) == ("pass", "pass")


def test_an_account_that_was_set_up_without_one_for_the_stops_works_is_told_and_mended(practice: Practice):
    doctor, old = doctor_of(practice), replace(ready(practice), stopper="")
    row = next(one for one in doctor.check(old) if one.id == "outside-stop")
    assert (row.state, row.fix, row.facts["account"]) == ("optional", "make-queue", practice.cloud.settings.runner)
    assert states(doctor.check(old))["test-loan"] == "optional"  # nothing waits for it
    assert doctor.fix("make-queue", old).stopper == practice.cloud.settings.stopper


@pytest.mark.parametrize("lost", ["account", "role", "acting"])
def test_an_account_of_the_stops_that_lost_what_it_needs_fails_and_is_mended(practice: Practice, lost: str):
    cloud, doctor, choices = practice.cloud, doctor_of(practice), ready(practice)
    if lost == "account":
        cloud.db.delete("account", choices.stopper)
    elif lost == "role":
        role = f"projects/{choices.project}/roles/tpuStudioStopper"
        cloud.db.put("role", role, {**(cloud.db.get("role", role) or {}), "includedPermissions": ["tpu.nodes.delete"]})
    else:
        cloud.principals.set_policy(f"serviceAccounts/{choices.stopper}", {"bindings": []})
    row = next(one for one in doctor.check(choices) if one.id == "outside-stop")
    assert (row.state, row.fix) == ("fail", "make-queue")
    assert states(doctor.check(doctor.fix(row.fix, choices)))["outside-stop"] == "pass"


def test_a_practice_home_of_before_gets_the_account_of_the_stops(start_practice: Start):
    before = start_practice()
    for kind, name in (("account", before.cloud.settings.stopper), ("practice", "stopper")):
        before.cloud.db.delete(kind, name)
    before.stop()
    practice = start_practice()
    assert states(doctor_of(practice).check(ready(practice)))["outside-stop"] == "pass"


def test_the_account_of_the_stops_is_taken_back_unless_one_relies_on_it(practice: Practice):
    doctor, choices = doctor_of(practice), ready(practice)
    side = practice_side(practice.url, practice.token, choices.project, choices.bucket)
    names = side.stops.set(Ref("ts-x-a1-t1", "us-west4-a"), "b", [side.clock.now() + 3600.0])
    with pytest.raises(CloudRefused, match="precondition"):
        doctor.undo("make-queue", choices)
    side.stops.remove(names)
    after = doctor.undo("make-queue", choices)
    assert after.stopper == "" and practice.cloud.db.get("account", choices.stopper) is None
    assert states(doctor.check(after))["outside-stop"] == "optional"


@pytest.mark.parametrize(
    ("fault", "check", "fix"),
    [
        ("billing-off", "billing", "link-billing"),
        ("service-disabled", "services", "enable-services"),
        ("permission-missing", "permissions", "request-permissions"),
        ("org-policy", "org-policy", "request-permissions"),
        ("quota-zero", "quota", "ask-quota"),
    ],
)
def test_each_thing_that_can_be_missing_is_named_with_its_repair(
    start_practice: Start, fault: str, check: str, fix: str
):
    practice = start_practice(fault)
    results = doctor_of(practice).check(ready(practice))
    broken = next(one for one in results if one.id == check)
    assert (broken.state, broken.fix) == ("fail", fix)


def test_a_token_that_is_not_known_is_told_as_signed_out(practice: Practice):
    results = doctor_of(practice, "a-token-of-nobody").check(ready(practice))
    assert (results[0].state, results[0].fix) == ("fail", "sign-in")
    assert {one.state for one in results[1:]} == {"waiting"}
    assert "a-token-of-nobody" not in repr(results)


def test_the_map_names_the_smaller_of_both_limits_and_counts_what_is_in_use(practice: Practice):
    rows = doctor_of(practice).allowances(practice.cloud.settings.project)
    mine = [row for row in rows if (row.generation, row.tier, row.zone) == ("v5e", "spot", "us-west4-a")]
    assert mine and mine[0].limit and mine[0].used == 0 and mine[0].quota_id.startswith("TPUV5s")


def test_asking_for_more_twice_is_one_request_and_its_answer_is_followed(practice: Practice):
    doctor, project = doctor_of(practice), practice.cloud.settings.project
    row = next(one for one in doctor.allowances(project) if one.generation == "v6e")
    doctor.ask_quota(project, row, (row.limit or 0) + 8, "to learn", "you@practice.example")
    asked = doctor.ask_quota(project, row, (row.limit or 0) + 16, "to learn", "you@practice.example")
    assert asked.wanted == (row.limit or 0) + 16
    [told] = doctor.quota_requests(project)
    assert told.wanted == asked.wanted
    kind = ", spot," if row.tier == "spot" else ""
    where = row.dimensions.get("zone") or row.dimensions["region"]
    assert request_words(told) == f"{asked.wanted:,} v6e chips{kind} in {where}"
    assert request_words(replace(told, state="partly", granted=8)).startswith(f"8 of {asked.wanted:,} v6e chips")
    assert request_words(replace(told, generation="", tier="")).startswith(f"{asked.wanted:,} {row.quota_id} in ")


def test_the_request_to_the_owner_names_roles_and_the_commands_that_grant_them(practice: Practice):
    text = doctor_of(practice).request_text(ready(practice), ["tpu.nodes.create", "storage.objects.create"])
    assert "roles/tpu.admin" in text and "roles/storage.admin" in text
    assert text.count("gcloud projects add-iam-policy-binding practice-project --member=user:") == 2
    assert "service-accounts" not in text  # both accounts are there


def test_the_request_to_the_owner_has_the_accounts_that_the_person_may_not_make(start_practice: Start):
    practice = start_practice(ready=False)
    settings = practice.cloud.settings
    practice.cloud.db.put("service", f"{settings.project}/iam.googleapis.com", {"enabled": True})
    practice.cloud.db.put("service", f"{settings.project}/cloudtasks.googleapis.com", {"enabled": True})
    practice.cloud.db.put("billing", settings.project, {"account": settings.billing_account})
    text = doctor_of(practice).request_text(Choices(settings.project, settings.region), ["tpu.nodes.create"])
    for account in ("tpu-studio-runner", "tpu-studio-stopper"):
        assert f"gcloud iam service-accounts create {account} --project=practice-project" in text
    assert "--permissions=tpu.nodes.delete,tpu.nodes.get\n" in text
    assert text.count("gcloud iam roles create tpuStudioMachines") == 1
    assert f"{settings.stopper} --project=practice-project --member=serviceAccount:{settings.runner}" in text
    queue = "gcloud tasks queues create tpu-studio --project=practice-project --location=us-west4"
    assert f"{queue} --max-attempts=5 --min-backoff=30s --max-backoff=300s" in text.splitlines()


@pytest.mark.parametrize(
    ("roles", "permissions"),
    [(names.RUNNER_ROLES_TOO, names.RUNNER_PERMISSIONS), (names.STOPPER_ROLES_TOO, names.STOPPER_PERMISSIONS)],
)
def test_googles_own_roles_that_pass_for_ours_hold_all_that_ours_hold(
    roles: tuple[str, ...], permissions: tuple[str, ...]
):
    held = {one for role in roles for one in ROLES[role].permissions}
    assert set(permissions) <= held


@pytest.mark.parametrize(
    ("entries", "limit"),
    [
        ([{"dimensions": {"zone": "z-a"}, "details": {"value": "8"}}, {"details": {"value": "64"}}], 8),
        ([{"dimensions": {"zone": "other"}, "details": {"value": "8"}}, {"details": {"value": "64"}}], 64),
        ([{"details": {"value": "64"}, "applicableLocations": ["elsewhere"]}], None),
        ([{"details": {"value": "-1"}}], 0),
        ([{"details": {}}], 0),
        ([], None),
    ],
)
def test_the_first_entry_that_fits_rules(entries: list[dict[str, Any]], limit: int | None):
    assert quota.effective({"dimensionsInfos": entries}, {"zone": "z-a", "region": "z"}) == limit


@pytest.mark.parametrize(
    ("name", "drawn"),
    [("v5litepod-4", ("v5e", 4)), ("v5p-8", ("v5p", 8)), ("v6e-1", ("v6e", 1)), ("v4-8", ("v4", 8)), ("x", ("", 0))],
)
def test_a_slice_draws_the_number_in_its_name(name: str, drawn: tuple[str, int]):
    assert quota.drawn(name) == drawn
