"""A machine proves that it may delete itself before it fetches anything, and without touching itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tests.unit.guardian.vm.cloud import Cloud, Vm
from tpu_studio.trainer.guardian.vm.machine import Machine as Rented
from tpu_studio.trainer.guardian.vm.machine import Proof
from tpu_studio.trainer.guardian.vm.web import Reply, Unreachable

Machine = Callable[..., Vm]
SPEED = 200.0  # ten minutes of the cloud's take three seconds


def asked(cloud: Cloud) -> list[int]:
    """Where in all calls the question stands."""
    return [at for at, (_, path) in enumerate(cloud.calls) if path.endswith("testIamPermissions")]


def fetched(cloud: Cloud) -> list[int]:
    return [at for at, (_, path) in enumerate(cloud.calls) if "bundle-" in path]


def instance(cloud: Cloud) -> None:
    name = "ts-digits-k3f7-a1-t1"
    where = f"compute/v1/projects/p/zones/us-central1-b/instances/{name}"
    cloud.config(backend="compute", resource=where, node=where, zone="us-central1-b")


def test_it_is_asked_before_anything_is_fetched_and_nothing_is_deleted_by_asking(
    cloud: Cloud, machine: Machine
) -> None:
    cloud.config()
    machine().boot().to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "completed"
    assert ("POST", "/resources/v3/projects/p:testIamPermissions") in cloud.calls
    assert len(asked(cloud)) == 1
    assert asked(cloud)[0] < fetched(cloud)[0]
    deletes = [at for at, (method, path) in enumerate(cloud.calls) if method == "DELETE" and "cloudtasks" not in path]
    assert deletes[0] > fetched(cloud)[-1]  # the last act


def test_on_compute_engine_the_instance_itself_is_asked(cloud: Cloud, machine: Machine) -> None:
    instance(cloud)
    vm = machine().boot()
    cloud.wait(lambda: cloud.deletes, vm.log)
    vm.kill()
    assert cloud.said("end")[0]["reason"] == "completed"
    path = "/compute/v1/projects/p/zones/us-central1-b/instances/ts-digits-k3f7-a1-t1"
    assert ("POST", f"{path}/testIamPermissions") in cloud.calls
    assert cloud.deletes[0] == path


def tried(cloud: Cloud) -> list[str]:
    """The names that are no machine's, which it tried to delete."""
    paths = [path for method, path in cloud.calls if method == "DELETE" and "/instances/" in path]
    return [path.rpartition("/")[2] for path in paths if "proof-" in path]


def test_a_right_that_the_question_leaves_out_is_tried_on_names_that_never_were(cloud: Cloud, machine: Machine) -> None:
    """Public reports: testIamPermissions does not evaluate grants under a condition."""
    instance(cloud)
    cloud.granted = set()
    cloud.rules.append(lambda _, path: 404 if "/ts-proof-" in path else 403 if "/no-proof-" in path else None)
    vm = machine().boot()
    cloud.wait(lambda: cloud.said("end"), vm.log)
    vm.kill()
    assert cloud.said("end")[0]["reason"] == "completed"
    assert [name.rpartition("-")[0] for name in tried(cloud)] == ["ts-proof", "no-proof"]
    assert all(len(name.rpartition("-")[2]) == 32 for name in tried(cloud))
    first_delete = next(at for at, (_, path) in enumerate(cloud.calls) if "/ts-proof-" in path)
    assert asked(cloud)[0] < first_delete < fetched(cloud)[0]


INSTANCE = "https://compute.googleapis.com/compute/v1/projects/p/zones/z/instances/ts-digits-k3f7-a1-t1"


class Api:
    """Answers by the method and how the last part of the address begins; None: no answer."""

    def __init__(self, **answers: int | None) -> None:
        self.answers, self.deleted = answers, list[str]()

    def call(self, method: str, url: str, *_: object) -> Reply:
        if method == "POST":
            return Reply(200, {}, b"{}")
        self.deleted.append(url)
        status = self.answers[url.rpartition("/")[2].partition("-")[0]]
        if status is None:
            raise Unreachable("no answer")
        return Reply(status, {}, b"{}")


def proved(api: Api, backend: str = "compute") -> Proof:
    config = SimpleNamespace(backend=backend, resource=INSTANCE, proof=f"{INSTANCE}/testIamPermissions")
    now = [0.0]

    def pause(_: Proof, seconds: float) -> None:
        now[0] += seconds

    return Rented(api, config).prove(lambda: now[0], pause)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("covered", "uncovered", "status", "said"),
    [
        (403, 403, 403, "DELETE of ts-proof-… 403"),
        (404, 404, 404, "DELETE of no-proof-… 404"),
        (200, 403, 200, "DELETE of ts-proof-… 200"),
        (503, 403, 503, "DELETE of ts-proof-… 503"),
        (None, 403, 0, "no answer"),
        (404, None, 0, "no answer"),
    ],
    ids=["right missing", "404 for everybody", "taken", "down", "no answer", "control without answer"],
)
def test_a_trial_that_shows_no_right_is_no_proof(
    covered: int | None, uncovered: int | None, status: int, said: str
) -> None:
    api = Api(ts=covered, no=uncovered)
    proof = proved(api)
    assert (proof.holds, proof.status, proof.asked) == (False, status, 41)  # ten minutes, every 15 s
    assert proof.said.startswith("compute.instances.delete is not granted; ") and said in proof.said
    assert len(set(api.deleted)) == len(api.deleted)  # each a new name
    assert INSTANCE not in api.deleted


def test_tpus_have_no_conditions_and_nothing_is_tried() -> None:
    api = Api(ts=404, no=403)
    assert not proved(api, "tpu").holds
    assert api.deleted == []


@pytest.mark.parametrize(("model", "reason"), [("FLEX_START", "completed"), ("SPOT", "time-limit")])
def test_what_a_flex_start_waited_is_no_part_of_its_lease(
    cloud: Cloud, machine: Machine, model: str, reason: str
) -> None:
    instance(cloud)
    cloud.create_time -= 20_000.0  # asked for then; the lease has 14,400 s
    cloud.ahead_s = 0.0
    started = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    cloud.instance = {"scheduling": {"provisioningModel": model}, "lastStartTimestamp": started}
    vm = machine().boot()
    cloud.wait(lambda: cloud.said("end"), vm.log)
    vm.kill()
    assert cloud.said("end")[0]["reason"] == reason


def test_a_role_granted_a_moment_ago_is_waited_for(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    cloud.speed = SPEED
    cloud.granted = set()

    def rule(method: str, path: str) -> None:
        if path.endswith("testIamPermissions") and len(asked(cloud)) == 4:
            cloud.granted = {"tpu.nodes.delete"}

    cloud.rules.append(rule)
    machine().boot().to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "completed"
    assert len(asked(cloud)) == 4
    doing = [event.get("doing") for event in cloud.said("phase") if event.get("detail") == "proof"]
    assert doing == [None, "not proved yet: tpu.nodes.delete is not granted; asked again every 15 s"]


@pytest.mark.parametrize(
    ("answer", "status"),
    [(None, 200), (403, 403), (400, 400), (503, 503), ("cut", 0)],
    ids=["not granted", "Resource Manager is off", "refused", "down", "no answer"],
)
def test_what_is_not_proved_in_ten_minutes_trains_nothing_and_is_deleted_from_outside_at_once(
    cloud: Cloud, machine: Machine, answer: int | str | None, status: int
) -> None:
    cloud.config()
    cloud.speed = SPEED
    cloud.forced = 403
    if answer is None:
        cloud.granted = set()
    cloud.rules.append(lambda method, path: answer if path.endswith("testIamPermissions") else None)
    vm = machine().boot()
    cloud.wait(lambda: any("-n-1-" in name for name in cloud.tasks) and len(vm.forced()) >= 3, vm.log)
    vm.kill()

    (told,) = [event for event in cloud.said("notice") if event["id"] == "self-deletion-unproved"]
    assert (told["level"], told["facts"]["status"]) == ("error", status)
    assert told["facts"]["asked"] >= 3
    assert told["facts"]["waited_s"] <= 600 + 30 * SPEED  # by the cloud's clock; the rest is one slow answer
    assert cloud.said("end")[0]["reason"] == "cannot-delete-itself"
    assert not fetched(cloud)
    assert not cloud.said("metric")
    assert not (vm.root / "ts-digits-k3f7-a1-t1" / "deadline").exists()
    (stop,) = [task["httpRequest"] for name, task in cloud.tasks.items() if "-n-1-" in name]
    assert stop["url"].endswith("/queuedResources/ts-digits-k3f7-a1-t1?force=true")
    assert stop["oauthToken"]["serviceAccountEmail"] == "stopper@p.iam.gserviceaccount.com"


def test_the_stop_from_outside_is_asked_for_also_where_its_own_delete_is_taken(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    cloud.speed = SPEED
    cloud.granted = set()  # and yet DELETE says 200: an operation that fails later
    vm = machine().boot()
    cloud.wait(lambda: len(vm.forced()) >= 2, vm.log)
    vm.kill()
    assert [name for name in cloud.tasks if "-n-1-" in name]


def test_who_stops_the_run_meanwhile_is_heard(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    cloud.granted = set()
    vm = machine().boot()
    cloud.wait(lambda: asked(cloud), vm.log)
    cloud.put("control/000001.json", b'{"verb":"stop","keep":true}')
    vm.to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "stopped-by-user"
    assert not fetched(cloud)


def test_a_limit_that_is_reached_while_it_asks_is_no_reason_of_its_own(cloud: Cloud, machine: Machine) -> None:
    cloud.config(lease_s=300)
    cloud.speed = SPEED
    cloud.granted, cloud.forced = set(), 403
    vm = machine().boot()
    cloud.wait(lambda: any("-n-1-" in name for name in cloud.tasks), vm.log)
    vm.kill()
    end = cloud.said("end")[0]
    assert end["reason"] == "cannot-delete-itself"
    assert end["facts"]["waited_s"] <= 300
    assert [event["id"] for event in cloud.said("notice")] == ["self-deletion-unproved"]


def test_a_boot_after_the_end_goes_on_asking_from_outside(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    cloud.speed = SPEED
    cloud.granted, cloud.forced = set(), 403
    vm = machine().boot()
    cloud.wait(lambda: any("-n-1-" in name for name in cloud.tasks), vm.log)
    vm.kill()
    for name in [name for name in cloud.tasks if "-n-1-" in name]:
        del cloud.tasks[name]
    vm.boot()
    cloud.wait(lambda: any("-n-1-" in name for name in cloud.tasks), vm.log)
    vm.kill()
    assert len(cloud.said("end")) == 1
