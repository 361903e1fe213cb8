"""A machine's life, told by what is in the bucket afterwards and by what was asked of the cloud."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.unit.guardian.vm.cloud import PREFIX, QUEUE, TOKEN, Cloud, Vm

Machine = Callable[..., Vm]


def steps(cloud: Cloud, attempt: int = 1) -> list[int]:
    return [step for event in cloud.said("metric", attempt) for step in event["step"]]


def test_a_profile_is_asked_for_through_the_bucket_and_its_trace_comes_with_the_result(
    cloud: Cloud, machine: Machine
) -> None:
    cloud.config()
    vm = machine("--steps 200 --step-s 0.05").boot()
    cloud.wait(lambda: cloud.said("metric"), "a step")
    cloud.put("control/000001.json", json.dumps({"verb": "profile", "attempt": 1}).encode())
    vm.to_its_deletion()
    begun, done = cloud.said("profile")
    assert (begun["state"], done["state"]) == ("begun", "done")
    assert cloud.objects[f"{PREFIX}{done['path']}/plugins/profile/steps/host.xplane.pb"] == b"trace"


def test_from_boot_to_its_own_deletion(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    vm = machine().boot()
    vm.to_its_deletion()

    events = cloud.events()
    assert steps(cloud) == list(range(1, 21))
    assert (events[-1]["kind"], events[-1]["status"], events[-1]["reason"]) == ("end", "finished", "completed")
    details = [event["detail"] for event in events if event["kind"] == "phase" and event["phase"] == "setting-up"]
    assert list(dict.fromkeys(details))[:4] == ["claimed", "proof", "bundle", "environment"]
    assert json.loads(cloud.objects[f"{PREFIX}claims/a0001.json"])["name"] == "ts-digits-k3f7-a1-t1"
    assert cloud.objects[f"{PREFIX}result/model.keras"] == b"model" * 100
    assert cloud.objects[f"{PREFIX}checkpoints/00000020/COMMITTED"] == b""
    assert cloud.objects[f"{PREFIX}checkpoints/00000020/state.safetensors"] == b"state" * 2000
    ledger = json.loads(cloud.objects[f"{PREFIX}ledger/a0001.json"])
    assert ledger["usd"] == round(ledger["elapsed_s"] / 3600 * 1.2, 6) or abs(ledger["usd"]) < 0.1
    # the order of the end
    order = cloud.created
    last_range = order[-1] if "ledger" not in order[-1] else order[-2]
    assert last_range.startswith(f"{PREFIX}events/a0001-w000/")
    single = f"{PREFIX}events/a0001-w000.jsonl"
    result = order.index(f"{PREFIX}result/model.keras")
    assert result < order.index(single) < len(order) - 1 - order[::-1].index(last_range)
    whole = b"".join(data for _, data in cloud.ranges())
    assert whole.startswith(cloud.objects[single])
    assert b'"kind":"end"' not in cloud.objects[single]
    # nothing was deleted before the very last act
    deleted = next(number for number, call in enumerate(cloud.calls) if "force=true" in call[1])
    assert not [call for call in cloud.calls[deleted:] if call[0] in ("POST", "PUT")]


def test_stops_outside_are_added_at_the_end_of_the_lease(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    vm = machine().boot()
    vm.to_its_deletion()
    names = sorted(cloud.tasks, key=lambda name: int(name.rpartition("-")[2]))
    ends = [int(name.rpartition("-")[2]) for name in names]
    assert [end - ends[0] for end in ends] == [0, 600, 1200, *(3600 * hour for hour in range(1, 25))]
    assert ends[0] == int(int(cloud.create_time) + 0.123456 + 14400 + 600)
    assert all(name.startswith(f"{QUEUE}/tasks/ts-digits-k3f7-a1-t1-l-") for name in names)
    task = cloud.tasks[names[0]]["httpRequest"]
    assert task["httpMethod"] == "DELETE"
    assert task["url"].endswith("?force=true")
    deadline = int((vm.root / "ts-digits-k3f7-a1-t1" / "deadline").read_text())
    assert deadline == ends[0] - 120  # before the shut-off timers


def test_stops_that_cannot_be_added_are_told(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    cloud.rules.append(lambda method, path: 503 if method == "POST" and path.endswith("/tasks") else None)
    machine().boot().to_its_deletion()
    assert not cloud.tasks
    assert [event["id"] for event in cloud.said("notice")] == ["outside-stops-kept"]


def test_no_secret_anywhere(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    vm = machine("--steps 20 --at 3:print").boot()
    vm.to_its_deletion()
    for path in vm.root.rglob("*"):
        if path.is_file():
            assert TOKEN.encode() not in path.read_bytes(), path
    assert not [name for name, data in cloud.objects.items() if TOKEN.encode() in data]


def test_somebody_elses_claim_deletes_this_machine_and_leaves_its_events_alone(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    cloud.put("claims/a0001.json", b'{"name":"ts-digits-k3f7-a1-t0"}')
    machine().boot().to_its_deletion()
    assert not cloud.ranges()
