"""Setting up an account where Google is as slow, as strict and as shared as it is: one finding of the review each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.oauth2 import service_account
from google.oauth2.credentials import Credentials

from tests.contract.conftest import Start, caller
from tests.contract.sides import side_of
from tests.contract.test_doctor import OFFERS, doctor_of, ready, states
from tests.contract.test_oauth import key_file
from tests.fakes.consent import Person
from tpu_studio.cloud.doctor import names, policies
from tpu_studio.cloud.doctor.doctor import GoogleDoctor
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin.accounts import Accounts
from tpu_studio.cloud.signin.browser import Client
from tpu_studio.cloud.signin.secrets import PrivateFile
from tpu_studio.domain.sentences import say, say_reason
from tpu_studio.domain.sentences.account import say_account
from tpu_studio.practice.main import Practice
from tpu_studio.practice.principals import CLOUD_PLATFORM
from tpu_studio.wire.errors import CloudRefused, CloudUnclear
from tpu_studio.wire.reasons import Reason
from tpu_studio.workflow.account.ports import Choices, Result
from tpu_studio.workflow.cloudruns.gate import no_stop
from tpu_studio.workflow.cloudruns.ports import Ref

CLIENT = Client("my-own.apps.googleusercontent.com", "is-no-secret")


def row(results: list[Result], id: str) -> Result:
    return next(one for one in results if one.id == id)


def words(one: Result) -> str:
    said = say_account(one.id, one.state, one.facts)
    return f"{said.title}. {said.meaning} {said.action}"


# ------------------------------------------------------------------------------------------------- rights, two at once


def test_somebody_who_changes_the_rights_at_the_same_moment_loses_nothing(practice: Practice):
    cloud, choices = practice.cloud, ready(practice)
    cloud.principals.set_policy(f"serviceAccounts/{choices.stopper}", {"bindings": []})
    project = f"projects/{choices.project}"
    kept = [one for one in cloud.principals.policy(project)["bindings"] if "tpuStudio" not in one["role"]]
    cloud.principals.set_policy(project, {"bindings": kept})
    cloud.faults.arm("policy-race", times=2)
    doctor_of(practice).fix("make-queue", choices)
    held = cloud.principals.policy(project)
    assert policies.has(held, "roles/viewer", "user:somebody@else.example")
    assert policies.has(held, f"{project}/roles/{names.STOPPER_ROLE}", f"serviceAccount:{choices.stopper}")


def test_grants_with_conditions_stay_and_one_with_a_condition_is_not_taken_for_a_right(practice: Practice):
    cloud, choices, doctor = practice.cloud, ready(practice), doctor_of(practice)
    project, role = f"projects/{choices.project}", f"projects/{choices.project}/roles/{names.STOPPER_ROLE}"
    until = {"title": "until noon", "expression": 'request.time < timestamp("2026-01-01T00:00:00Z")'}
    conditional = {"role": role, "members": [f"serviceAccount:{choices.stopper}"], "condition": until}
    others = [one for one in cloud.principals.policy(project)["bindings"] if one["role"] != role]
    cloud.principals.set_policy(project, {"version": 3, "bindings": [*others, conditional]})
    broken = row(doctor.check(choices), "outside-stop")
    assert (broken.state, broken.facts["missing"]) == ("fail", [names.STOPPER_ROLE])
    doctor.fix("make-queue", choices)
    held = cloud.principals.policy(project)
    assert conditional in held["bindings"] and held["version"] == 3
    assert row(doctor.check(choices), "outside-stop").state == "pass"


@pytest.mark.parametrize("account", ["runner", "stopper"])
def test_an_account_that_was_switched_off_fails_and_is_switched_on(practice: Practice, account: str):
    doctor, choices = doctor_of(practice), ready(practice)
    address = getattr(practice.cloud.settings, account)
    id = {"runner": "runner", "stopper": "outside-stop"}[account]
    practice.cloud.db.put("account", address, {**(practice.cloud.db.get("account", address) or {}), "disabled": True})
    broken = row(doctor.check(choices), id)
    assert broken.state == "fail" and "switched off" in words(broken)
    doctor.fix(broken.fix, choices)
    assert row(doctor.check(choices), id).state == "pass"


def test_a_role_that_is_switched_off_fails_and_is_mended(practice: Practice):
    doctor, choices = doctor_of(practice), ready(practice)
    role = f"projects/{choices.project}/roles/{names.STOPPER_ROLE}"
    practice.cloud.db.put("role", role, {**(practice.cloud.db.get("role", role) or {}), "stage": "DISABLED"})
    assert row(doctor.check(choices), "outside-stop").state == "fail"
    doctor.fix("make-queue", choices)
    assert row(doctor.check(choices), "outside-stop").state == "pass"


def test_a_role_that_was_deleted_gives_nothing_and_is_restored_with_its_grants(practice: Practice):
    """It rests for seven days; a new one of its id is refused meanwhile, in Google's words."""
    doctor, choices, call = doctor_of(practice), ready(practice), caller(practice)
    role = f"projects/{choices.project}/roles/{names.STOPPER_ROLE}"
    assert call("DELETE", f"/v1/{role}").body["deleted"] is True
    assert role not in [one["name"] for one in call("GET", f"/v1/projects/{choices.project}/roles").body["roles"]]
    refused = call("POST", f"/v1/projects/{choices.project}/roles", {"roleId": names.STOPPER_ROLE, "role": {}})
    assert refused.error["status"] == "FAILED_PRECONDITION" and "in a deleted state" in refused.error["message"]
    assert practice.cloud.principals.permissions(role) == frozenset()
    assert row(doctor.check(choices), "outside-stop").state == "fail"
    doctor.fix("make-queue", choices)
    assert row(doctor.check(choices), "outside-stop").state == "pass"
    assert practice.cloud.principals.permissions(role) == frozenset(names.STOPPER_PERMISSIONS)


# ---------------------------------------------------------------------------------------------------- what one may do


def as_somebody(practice: Practice, *roles: str) -> GoogleDoctor:
    """With a token of a person who has *roles* on the project."""
    cloud, email = practice.cloud, "colleague@practice.example"
    for role in roles:
        cloud.principals.grant(f"projects/{cloud.settings.project}", role, f"user:{email}")
    return GoogleDoctor(
        Credentials(token=cloud.principals.issue(email, scopes=(CLOUD_PLATFORM, "openid"))),
        Endpoints.at(practice.url),
        OFFERS,
    )


def test_an_editor_may_launch_what_is_set_up_and_is_told_what_setting_up_would_need(practice: Practice):
    """An Editor holds no right to make roles or grant them (Google's own list)."""
    choices, editor = ready(practice), as_somebody(practice, "roles/editor")
    results = editor.check(choices)
    assert row(results, "permissions").state == "pass", results
    practice.cloud.db.delete("account", choices.stopper)
    found = row(editor.check(choices), "permissions")
    assert (found.state, found.fix, found.facts["missing"]) == ("fail", "request-permissions", [])
    assert "iam.roles.create" in found.facts["set_up"] and "compute.networks.create" not in found.facts["set_up"]
    assert "roles/iam.roleAdmin" in found.facts["roles"] and "to set up what is left" in words(found)


def test_every_permission_that_is_asked_for_is_one_of_googles_and_in_the_role_that_is_named():
    from tpu_studio.practice.roles import ROLES

    asked = {one for group in names.SET_UP.values() for one in group} | {*names.LAUNCH, names.ACT_AS, *names.ON_BUCKET}
    for permission in asked:
        [role] = names.roles_for((permission,))
        assert permission in ROLES[role].permissions, (permission, role)


# ------------------------------------------------------------------------------------------------------------ network


def test_a_network_that_is_made_lets_workers_meet_and_its_rule_goes_with_it(practice: Practice):
    cloud, doctor = practice.cloud, doctor_of(practice)
    choices = Choices(**{**vars(ready(practice)), "network": "tpus"})
    assert row(doctor.check(choices), "network").state == "fail"
    doctor.fix("make-network", choices)
    doctor.fix("make-network", choices)  # twice makes one
    rule = cloud.db.get("firewall", f"{choices.project}/tpus-allow-internal")
    assert rule and rule["sourceRanges"] == ["10.128.0.0/9"] and rule["allowed"] == [{"IPProtocol": "all"}]
    assert row(doctor.check(choices), "network").state == "pass"
    doctor.undo("make-network", choices)
    assert not cloud.db.list("firewall", f"{choices.project}/tpus-")
    assert row(doctor.check(choices), "network").state == "fail"


def test_a_network_of_ours_without_the_rule_fails_and_gets_it(practice: Practice):
    doctor = doctor_of(practice)
    choices = Choices(**{**vars(ready(practice)), "network": "old"})
    path = f"/compute/v1/projects/{choices.project}/global/networks"
    made = caller(practice)("POST", path, {"name": "old", "autoCreateSubnetworks": True})
    assert made.status == 200
    broken = row(doctor.check(choices), "network")
    assert (broken.state, broken.fix) == ("fail", "make-network") and "could not meet" in words(broken)
    doctor.fix("make-network", choices)
    assert row(doctor.check(choices), "network").state == "pass"


# -------------------------------------------------------------------------------------------------------------- money


@pytest.mark.parametrize("currency", ["EUR", "JPY"])
def test_the_alert_is_in_the_currency_of_the_billing_account(start_practice: Start, currency: str):
    practice = start_practice(f"billing-currency:currency={currency}")
    doctor, choices = doctor_of(practice), Choices(**{**vars(ready(practice)), "monthly": 3000.0})
    offered = row(doctor.check(choices), "alert")
    assert offered.facts["currency"] == currency and f"3,000 {currency} a month" in words(offered)
    after = doctor.fix("make-alert", choices)
    assert after.currency == currency
    assert f"3,000 {currency} a month" in words(row(doctor.check(after), "alert"))


# ---------------------------------------------------------------------------------------- what a new person still meets


@pytest.mark.parametrize("doubt", ["", "terms-in-operation"])
def test_terms_that_were_never_accepted_are_told_as_that(start_practice: Start, doubt: str):
    practice = start_practice("terms-not-accepted", speed=100.0)
    if doubt:
        practice.cloud.doubts.arm(doubt)
    with pytest.raises(CloudRefused, match="terms-not-accepted") as refused:
        doctor_of(practice).create_project("my-first-project", "My first project")
    assert refused.value.facts["page"] == "https://console.cloud.google.com/"
    assert "with this account (https://console.cloud.google.com/) and accept the terms" in say(refused.value).action


@pytest.mark.parametrize(("doubt", "id"), [("", "two-step-needed"), ("two-step-words", "signed-out")])
def test_a_sign_in_that_google_ends_for_want_of_two_step_verification_leads_to_its_page(
    start_practice: Start, tmp_path: Path, doubt: str, id: str
):
    practice, person = start_practice(), Person()
    endpoints = Endpoints.at(practice.url)
    accounts = Accounts(tmp_path, endpoints, lambda: PrivateFile(tmp_path / "secrets.json"))
    accounts.sign_in(CLIENT, person.open)
    person.leave()
    practice.cloud.faults.arm("two-step-needed")
    if doubt:
        practice.cloud.doubts.arm(doubt)
    found = row(GoogleDoctor(accounts.credentials(), endpoints, OFFERS).check(ready(practice)), "signed-in")
    assert (found.state, found.fix, found.facts["why"]) == ("fail", "sign-in", id)
    assert doubt or found.facts["page"].startswith("https://myaccount.google.com/")


@pytest.mark.parametrize("unreadable", [False, True])
def test_an_organisation_that_wants_soft_delete_gets_its_shortest_and_the_row_says_what_that_means(
    start_practice: Start, unreadable: bool
):
    practice = start_practice(iam_lag_s=0.0)
    practice.cloud.doubts.arm("bucket-rules")
    if unreadable:
        practice.cloud.faults.arm("permission-missing", permission="orgpolicy.policy.get", times=0)
    doctor, settings = doctor_of(practice), practice.cloud.settings
    after = doctor.fix("make-bucket", Choices(settings.project, "us-east5"))
    assert after.bucket != settings.bucket and after.kept_days == 7
    told = row(list(doctor.check(after, only=("bucket",))), "bucket")
    assert told.state == "pass" and "for 7 days more, and charge it" in words(told)
    again = doctor.fix("make-bucket", Choices(settings.project, "us-east5"))
    assert (again.bucket, again.kept_days) == (after.bucket, 7), "another computer of this person finds it"


def test_a_project_that_is_absent_or_hidden_is_told_as_either(practice: Practice):
    found = row(doctor_of(practice).check(Choices("nobodys-project-1", "us-west4")), "project")
    assert (found.state, found.fix) == ("fail", "choose-project")
    assert "not there, or you may not see it" in words(found)
    assert found.facts["page"] == "https://console.cloud.google.com/cloud-resource-manager"


def test_a_project_that_waits_to_be_deleted_says_so_with_googles_page(practice: Practice):
    project = practice.cloud.settings.project
    caller(practice)("DELETE", f"/v3/projects/{project}")
    found = row(doctor_of(practice).check(ready(practice)), "project")
    assert found.state == "fail" and "marked for deletion" in words(found)
    assert str(found.facts["page"]).startswith("https://console.cloud.google.com/")


def test_without_any_billing_account_there_is_none_to_choose_and_googles_page_is_named(start_practice: Start):
    practice = start_practice("no-billing-account", "billing-off")
    doctor, choices = doctor_of(practice), ready(practice)
    assert doctor.billing_accounts(choices.project) == []
    found = row(doctor.check(choices), "billing")
    assert found.state == "fail" and found.facts["page"] == "https://console.cloud.google.com/billing"


def test_waiting_for_google_can_be_ended_and_says_what_for(start_practice: Start):
    practice = start_practice(ready=False, speed=0.01)  # nothing gets done in this test's time
    told: list[str] = []
    with pytest.raises(CloudUnclear, match="stopped-waiting"):
        doctor_of(practice).fix(
            "enable-services",
            Choices(practice.cloud.settings.project, "us-west4"),
            say=told.append,
            cancelled=lambda: len(told) > 1,
        )
    assert told and all(one.startswith("Waiting for Google: ") for one in told)


def test_one_look_at_everything_changes_nothing(practice: Practice):
    def seen() -> dict[str, Any]:
        db = practice.cloud.db
        kinds = ("policy", "service", "account", "role", "network", "firewall", "budget")
        return {kind: db.list(kind) for kind in kinds}

    before = seen()
    assert "fail" not in states(doctor_of(practice).check(ready(practice))).values()
    assert seen() == before


# ------------------------------------------------------------------------------------------------------ organisations


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        ("gcp.resourceLocations", "allows nothing in us-west4"),
        ("compute.vmExternalIpAccess", "forbids external IP addresses"),
        ("compute.managed.vmExternalIpAccess", "forbids external IP addresses"),
        ("iam.disableServiceAccountCreation", "forbids new service accounts"),
        ("iam.managed.disableServiceAccountCreation", "forbids new service accounts"),
    ],
)
def test_what_an_organisation_forbids_is_told_by_its_rule_with_googles_page(
    start_practice: Start, constraint: str, said: str
):
    practice = start_practice(f"org-policy:constraint={constraint}")
    practice.cloud.db.delete("account", practice.cloud.settings.stopper)
    found = row(doctor_of(practice).check(ready(practice)), "org-policy")
    assert (found.state, found.fix) == ("fail", "request-permissions")
    assert said in words(found) and constraint in words(found)
    assert "iam-admin/orgpolicies?project=" in found.facts["page"]


@pytest.mark.parametrize(
    "constraint", ["iam.disableServiceAccountCreation", "iam.managed.disableServiceAccountCreation"]
)
def test_an_account_that_may_not_be_made_is_refused_as_the_organisations_rule(start_practice: Start, constraint: str):
    practice = start_practice(f"org-policy:constraint={constraint}")
    practice.cloud.db.delete("account", practice.cloud.settings.stopper)
    with pytest.raises(CloudRefused) as refused:
        doctor_of(practice).fix("make-queue", ready(practice))
    assert (refused.value.id, refused.value.facts["constraint"]) == ("org-policy", constraint)


def test_key_files_that_are_forbidden_and_accounts_that_are_there_stand_in_nobodys_way(start_practice: Start):
    for constraint in ("iam.disableServiceAccountKeyCreation", "iam.disableServiceAccountCreation"):
        practice = start_practice(f"org-policy:constraint={constraint}")
        assert row(doctor_of(practice).check(ready(practice)), "org-policy").state == "pass"
        practice.stop()


# ------------------------------------------------------------------------------------------------- Google's slowness


def test_accounts_and_grants_that_google_does_not_know_at_once_are_waited_for_at_the_first_press(start_practice: Start):
    """The account is 404 and cannot be bound for up to a minute of the practice clock, a grant counts after another."""
    practice = start_practice(speed=60.0, iam_lag_s=0.0)
    choices, doctor = ready(practice), doctor_of(practice)
    for account in (practice.cloud.settings.runner, choices.stopper):
        practice.cloud.db.delete("account", account)
        practice.cloud.principals.set_policy(f"serviceAccounts/{account}", {"bindings": []})
    practice.cloud.faults.arm("iam-slow", seconds=60.0)
    for fix in ("make-runner", "make-queue"):
        choices = doctor.fix(fix, choices)
    found = states(doctor.check(choices))
    assert (found["runner"], found["outside-stop"]) == ("pass", "pass")


# ----------------------------------------------------------------------------------------------------------- the letter


def test_the_letter_asks_for_what_setting_up_needs_and_its_commands_never_ask_back(practice: Practice):
    choices = ready(practice)
    practice.cloud.db.delete("account", choices.stopper)
    editor = as_somebody(practice, "roles/editor")
    facts = row(editor.check(choices), "permissions").facts
    text = editor.request_text(choices, [*facts["missing"], *facts["set_up"]])
    for role in ("roles/iam.roleAdmin", "roles/iam.serviceAccountAdmin", "roles/resourcemanager.projectIamAdmin"):
        assert role in text
    bindings = [line for line in text.splitlines() if line.startswith("gcloud projects add-iam-policy-binding")]
    assert bindings and all("--condition=" in line for line in bindings)
    assert "queuedResources" not in text and "tpu.nodes.delete" in text


@pytest.mark.parametrize("way", ["", "seems-made"])
def test_a_queue_that_was_deleted_lately_is_told_as_that_and_never_taken_for_made(practice: Practice, way: str) -> None:
    """Google: up to 3 days; queues.create "may appear to recreate the queue"."""
    choices, side = ready(practice), side_of(practice)
    ref = Ref("ts-x-a1-t1", "us-west4-a")
    queue = side.stops.queue(ref)
    if way:
        practice.cloud.doubts.arm(f"queue-tombstone={way}")
    practice.cloud.db.delete("queue", queue)
    practice.cloud.db.put("queue-gone", queue, {"at": practice.cloud.clock.now()})
    with pytest.raises(CloudRefused) as refused:
        doctor_of(practice).fix("make-queue", choices)
    assert refused.value.id == "queue-deleted-lately"
    said = say(refused.value)
    assert "3 days" in said.meaning and "Nothing was charged" in said.meaning and "another region" in said.action
    found = side.rights.evidence(ref)
    assert (found.queue, found.queue_why) == ("", "queue-deleted-lately")
    end = say_reason(Reason.LAUNCH_REFUSED, no_stop(found.queue_why, found.queue_facts).facts, place="cloud")
    assert "3 days" in end.meaning and "another region" in end.action


def test_a_key_file_makes_no_project_and_is_told_so_before_and_after_it_tries(practice: Practice):
    key = service_account.Credentials.from_service_account_info(key_file(practice), scopes=[CLOUD_PLATFORM])
    doctor = GoogleDoctor(key, Endpoints.at(practice.url), OFFERS)
    told = row(doctor.check(Choices()), "project")
    assert "a key file cannot create projects" in words(told)
    assert told.facts["page"] == "https://console.cloud.google.com/cloud-resource-manager"
    with pytest.raises(CloudRefused) as refused:
        doctor.create_project("my-first-project", "My first project")
    assert refused.value.id == "key-makes-no-project" and "sign in as yourself" in say(refused.value).action


def test_a_billing_account_that_was_closed_fails_the_row_and_is_not_offered_as_an_open_one(start_practice: Start):
    practice = start_practice("billing-account-closed")
    doctor, choices = doctor_of(practice), ready(practice)
    found = row(doctor.check(choices), "billing")
    assert (found.state, found.fix) == ("fail", "link-billing")
    listed = doctor.billing_accounts(choices.project)
    assert listed and not any(one.open for one in listed)
