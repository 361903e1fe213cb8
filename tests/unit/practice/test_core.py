"""What all services of the practice cloud stand on: state, time, faults, money, permissions, Google's schemas."""

from __future__ import annotations

import re
import sqlite3
import threading
from pathlib import Path

import pytest

from tpu_studio.practice.clock import Clock, parse_duration, parse_rfc3339
from tpu_studio.practice.discovery import camel, checked, enum_numbers, schemas, snake, with_numbers
from tpu_studio.practice.errors import GoogleError, not_found
from tpu_studio.practice.faults import FAULTS, Faults
from tpu_studio.practice.meter import Meter
from tpu_studio.practice.principals import Principal, Principals
from tpu_studio.practice.state import Database
from tpu_studio.wire.resources import resource_path

PACKAGE = Path(__file__).resolve().parents[3] / "tpu_studio" / "practice"


@pytest.fixture
def db(tmp_path: Path) -> Database:
    return Database(tmp_path / "practice.db")


@pytest.fixture
def clock(db: Database) -> Clock:
    return Clock(db)


@pytest.fixture
def faults(db: Database, clock: Clock) -> Faults:
    return Faults(db, clock)


# ------------------------------------------------------------------------------------------------------------- state


def test_records_are_listed_by_name_from_a_start_on(db: Database):
    for name in ("a/2", "a/1", "b/1", "a/ü"):
        db.put("thing", name, {"is": name})
    assert [name for name, _ in db.list("thing", "a/")] == ["a/1", "a/2", "a/ü"]
    assert [name for name, _ in db.list("thing", "a/", start="a/2")] == ["a/2", "a/ü"]
    assert [name for name, _ in db.list("thing", limit=1)] == ["a/1"]
    assert db.delete("thing", "a/1") and not db.delete("thing", "a/1") and db.get("thing", "a/1") is None


def test_a_transaction_is_all_or_nothing_also_when_nested(db: Database):
    with pytest.raises(RuntimeError), db.transaction():
        db.put("thing", "a", {})
        with db.transaction():
            db.put("thing", "b", {})
        raise RuntimeError
    assert db.list("thing") == []


def test_a_full_disk_takes_the_transaction_back_and_nothing_is_stuck_when_there_is_room_again(tmp_path: Path):
    db = Database(tmp_path / "practice.db")
    db._db.execute("PRAGMA max_page_count = 20")
    with pytest.raises(sqlite3.OperationalError, match="full"), db.transaction():
        db.put("thing", "small", {})
        db.put("thing", "large", {"long": "x" * 200_000})
    assert db.list("thing") == []
    db._db.execute("PRAGMA max_page_count = 2000")
    with db.transaction():
        db.put("thing", "large", {"long": "x" * 200_000})
    assert len(db.list("thing")) == 1


def test_what_is_only_read_is_kept_until_it_changes_or_is_taken_back(db: Database):
    db.put("thing", "a", {"long": "x" * 20_000})
    assert db.peek("thing") is db.peek("thing")
    changed = db.list("thing")[0][1]
    changed["long"] = ""
    assert db.peek("thing")[0][1]["long"]
    with pytest.raises(RuntimeError), db.transaction():
        db.put("thing", "b", {})
        assert [name for name, _ in db.peek("thing")] == ["a", "b"]
        raise RuntimeError
    assert [name for name, _ in db.peek("thing")] == ["a"]
    assert db.delete("thing", "a") and db.peek("thing") == []


def test_a_counter_never_gives_a_number_twice(db: Database):
    got: list[int] = []
    threads = [threading.Thread(target=lambda: got.extend(db.count("n") for _ in range(50))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(1, 201))


def test_a_second_connection_sees_what_was_written(db: Database, tmp_path: Path):
    db.put("thing", "a", {"n": 1})
    assert Database(tmp_path / "practice.db").get("thing", "a") == {"n": 1}


# -------------------------------------------------------------------------------------------------------------- time


def test_times_and_durations_read_as_google_writes_them(clock: Clock):
    assert parse_duration("14400s") == 14400.0 and parse_duration("0.5s") == 0.5
    assert clock.rfc3339(parse_rfc3339("2026-11-21T22:11:00.5Z")) == "2026-11-21T22:11:00.500000Z"
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration("4h")
    with pytest.raises(ValueError, match="above 0"):
        Clock(Database(Path(":memory:")), speed=0)


# ------------------------------------------------------------------------------------------------------------ faults


def test_a_fault_counts_down_and_then_is_over(faults: Faults):
    faults.arm("preempted-at-step", times=2, step=7)
    assert faults.armed("preempted-at-step") == {"step": 7, "notice": 30.0}
    assert [faults.take("preempted-at-step") is not None for _ in range(3)] == [True, True, False]
    assert [event["what"] for event in faults.events()] == ["armed", "happened", "happened"]


def test_a_fault_that_refuses_a_call_has_happened_though_all_that_the_call_wrote_is_taken_back(
    faults: Faults, db: Database
):
    faults.arm("stockout-at-submit")
    with pytest.raises(GoogleError), db.transaction():
        assert faults.take("stockout-at-submit") is not None
        raise not_found("a TPU")
    assert [event["what"] for event in faults.events()] == ["armed", "happened"] and faults.listed() == []


def test_a_fault_with_times_0_stays_until_it_is_disarmed_or_settled(faults: Faults):
    faults.arm("billing-off")
    assert faults.take("billing-off") is not None and faults.take("billing-off") is not None
    assert faults.settle("billing-off") is not None and faults.take("billing-off") is None
    faults.arm("quota-zero")
    faults.disarm()
    assert faults.listed() == []


def test_a_fault_applies_only_where_its_keys_and_its_pattern_fit(faults: Faults):
    faults.arm("quota-zero", generation="v6e")
    assert faults.armed("quota-zero", generation="v5e") is None
    assert faults.armed("quota-zero", generation="v6e", place="us-west4") is not None
    faults.arm("unavailable", match="^DELETE .*queuedResources")
    assert faults.take("unavailable", call="GET /v2/x/queuedResources/q") is None
    assert faults.take("unavailable", call="DELETE /v2/x/queuedResources/q") is not None


def test_a_fault_may_begin_later(faults: Faults):
    faults.arm("node-gone", after_s=1000.0)
    assert faults.armed("node-gone") is None


def test_a_fault_is_written_as_name_and_keys(faults: Faults):
    armed = faults.arm_text("preempted-at-step:step=40,times=2,node=n1")
    assert (armed["times"], armed["about"]) == (2, {"step": 40, "notice": 30.0, "node": "n1"})
    for wrong in ("no-such-fault", "node-gone:seconds"):
        with pytest.raises(ValueError, match=r"there is no fault|expected key=value"):
            faults.arm_text(wrong)


def test_only_the_last_events_are_kept(faults: Faults):
    for n in range(510):
        faults.note("happened", f"f{n}")
    assert len(faults.events()) == 500 and faults.events(after=508)[0]["name"] == "f508"


def test_every_fault_happens_somewhere_and_has_a_sentence():
    source = "".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py") if path.name != "faults.py")
    named = set(re.findall(r'"([a-z0-9-]+)"', source))
    assert set(FAULTS) - named == set()
    assert set(re.findall(r'faults\.(?:take|armed|settle)\(\s*"([a-z0-9-]+)"', source)) - set(FAULTS) == set()
    for fault in FAULTS.values():
        assert fault.sentence[0].isupper() and fault.sentence.endswith(".") and fault.group


# ------------------------------------------------------------------------------------------------------------- money


def test_a_bill_is_by_the_second(db: Database, clock: Clock):
    meter = Meter(db, clock)
    meter.begin("n1", "TPU v5e spot", 3.6, 1000.0)
    meter.begin("n1", "TPU v5e spot", 99.0, 2000.0)  # it runs already
    meter.end("n1", 1010.0)
    meter.end("n1", 2000.0)
    meter.begin("unknown", "TPU x", None, 0.0)
    meter.end("unknown", 60.0)
    meter.begin("flap", "TPU v5e spot", 3.6, 0.0)
    meter.waive("flap")
    meter.charge("bucket", "class A", 0.005, 5.0)
    meter.charge("bucket", "class A", 0.005, 6.0)
    told = {line["name"]: (line["usd"], line.get("seconds")) for line in meter.bill()}
    assert told == {"n1": (pytest.approx(0.01), 10.0), "unknown": (None, 60.0), "bucket": (pytest.approx(0.01), None)}


# ------------------------------------------------------------------------------------------------------- permissions


def test_permissions_come_through_roles_and_faults_take_them_away(db: Database, clock: Clock, faults: Faults):
    principals = Principals(db, clock, faults, "owner@x.example")
    machine = Principal("tpu-studio-runner@p", "serviceAccount")
    assert not principals.may(machine, "tpu.nodes.delete", "projects/p")
    stopper = Principal("tpu-studio-stopper@p", "serviceAccount")
    for who in (machine, stopper):
        principals.grant("projects/p", "roles/tpu.admin", who.member)
    assert principals.may(machine, "tpu.nodes.delete", "projects/p")
    assert not principals.may(machine, "storage.objects.get", "projects/p")
    faults.arm("runner-may-not-delete")
    assert not principals.may(machine, "tpu.nodes.delete", "projects/p")
    assert principals.may(stopper, "tpu.nodes.delete", "projects/p")
    owner = principals.of(principals.owner_token)
    assert owner is not None and owner.is_owner and not principals.may(owner, "tpu.nodes.list", "projects/p")
    principals.grant("projects/p", "roles/owner", owner.member)
    assert principals.may(owner, "tpu.nodes.list", "projects/p")
    faults.arm("permission-missing", permission="tpu.nodes.list")
    assert not principals.may(owner, "tpu.nodes.list", "projects/p")
    only_mail = Principal("o@x", scopes=("openid",), is_owner=True)
    assert not principals.may(only_mail, "tpu.nodes.get")


def test_a_token_ends_by_time_or_by_hand(db: Database, clock: Clock, faults: Faults):
    principals = Principals(db, clock, faults, "owner@x.example")
    lasting, over = principals.issue("a@x"), principals.issue("a@x", lifetime_s=-1.0)
    assert principals.of(over) is None and principals.of("nonsense") is None
    assert principals.of(lasting) == Principal("a@x")
    principals.revoke_all("a@x")
    assert principals.of(lasting) is None


# ----------------------------------------------------------------------------------------------------------- schemas


def test_all_that_is_wrong_in_a_body_is_told_at_once_with_its_place():
    body = {"tpu": {"nodeSpec": [{"nodeId": 5, "node": {"colour": 1, "acceleratorConfig": {"type": "V9"}}}]}}
    with pytest.raises(GoogleError) as refused:
        checked("tpu.v2:QueuedResource", body)
    violations = {one["field"] for one in refused.value.details[0]["fieldViolations"]}
    assert violations == {
        "tpu.node_spec[0].node_id",
        "tpu.node_spec[0].node",
        "tpu.node_spec[0].node.accelerator_config.type",
    }


def test_what_is_for_output_only_is_dropped_and_int64_and_snake_case_are_understood():
    assert checked("tpu.v2:Node", {"id": 5, "state": "READY", "runtime_version": "x"}) == {"runtimeVersion": "x"}
    assert checked("compute.v1:AttachedDisk", {"diskSizeGb": 10}) == {"diskSizeGb": "10"}
    with pytest.raises(GoogleError, match="TYPE_INT64"):
        checked("compute.v1:AttachedDisk", {"diskSizeGb": "ten"})


def test_enums_are_numbers_on_request_and_an_unheard_of_one_survives_as_a_number():
    shown = with_numbers({"state": {"state": "ACTIVE", "stateInitiator": "DEFROSTING"}}, "QueuedResource", "tpu.v2")
    assert shown == {"state": {"state": 6, "stateInitiator": 99}}
    listed = with_numbers({"nodes": [{"state": "READY", "labels": {"state": "READY"}}]}, "ListNodesResponse", "tpu.v2")
    assert listed == {"nodes": [{"state": 2, "labels": {"state": "READY"}}]}


def test_enum_numbers_know_every_name_that_the_document_has():
    known = enum_numbers()
    for schema, told in schemas("tpu.v2").items():
        for key, field in told.get("properties", {}).items():
            if "enum" in field and f"{schema}.{key}" in known:
                assert set(field["enum"]) == set(known[f"{schema}.{key}"])
    assert len(known) >= 8


def test_names_are_turned_as_protocol_buffers_do():
    assert (snake("enableExternalIps"), camel("enable_external_ips")) == ("enable_external_ips", "enableExternalIps")


def test_the_discovery_documents_ship_with_their_licence():
    assert "Apache License" in resource_path("discovery", "LICENSE.google-api-python-client").read_text("utf-8")
