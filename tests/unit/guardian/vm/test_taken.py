"""A machine that is taken away leaves a copy and no end; the next attempt, or the next boot, goes on."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

from tests.unit.guardian.vm.cloud import PREFIX, Cloud, Vm
from tests.unit.guardian.vm.test_crashes import curve

Machine = Callable[..., Vm]


def saved_after_the_notice(cloud: Cloud) -> bool:
    """The copy that the warning led to is in the bucket, and known to be."""
    kinds = [(event["kind"], event.get("id")) for event in cloud.events()]
    if ("notice", "preempted") not in kinds:
        return False
    after = cloud.events()[kinds.index(("notice", "preempted")) :]
    steps = [event["step"] for event in after if event["kind"] == "checkpoint"]
    return bool(steps) and f"{PREFIX}checkpoints/{steps[-1]:08d}/COMMITTED" in cloud.objects


def test_preempted_then_resumed_by_a_later_attempt(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    first = machine("--steps 400 --step-s 0.01 --save-every 100").boot()
    cloud.wait(lambda: cloud.said("metric"))
    cloud.preempted = True
    cloud.wait(lambda: saved_after_the_notice(cloud))
    last = cloud.said("checkpoint")[-1]["step"]
    first.kill()
    assert not cloud.said("end")
    assert not first.forced()

    cloud.preempted = False
    cloud.put("ledger/a0002.json", json.dumps({"attempt": 2, "usd": 0.5, "elapsed_s": 1500}).encode())
    cloud.config(attempt=3, spent_usd=0.4)
    machine("--steps 400 --step-s 0.001", disk="third").boot().to_its_deletion()
    assert cloud.said("resume", 3)[0]["step"] == last > 0
    assert curve(cloud, 1, 3) == list(range(1, 401))
    assert cloud.said("end", 3)[0]["reason"] == "completed"
    assert cloud.said("money", 3)[-1]["usd"] >= 0.5


def test_a_trainer_that_hears_of_it_first_does_not_end_the_run(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    vm = machine("--steps 4000 --step-s 0.01 --save-every 1000 --saves-on-term --at 30:term").boot()
    cloud.wait(lambda: cloud.said("checkpoint"))
    cloud.preempted = True
    cloud.wait(lambda: [event for event in cloud.said("notice") if event["id"] == "preempted"])
    last = cloud.said("checkpoint")[-1]["step"]
    cloud.wait(lambda: f"{PREFIX}checkpoints/{last:08d}/COMMITTED" in cloud.objects)
    vm.kill()
    assert not cloud.said("end")


def test_a_boot_resumes_the_attempt(cloud: Cloud, machine: Machine) -> None:
    cloud.config()
    vm = machine("--steps 300 --step-s 0.01 --save-every 100").boot()
    cloud.wait(lambda: cloud.said("metric"))
    assert vm.process is not None
    vm.process.send_signal(signal.SIGTERM)
    assert vm.process.wait(40) == 75
    told = cloud.said("notice")[-1]
    assert (told["facts"]["by"], told["facts"]["signal"]) == ("signal", "SIGTERM")
    assert told["t"] - 30 < told["facts"]["heard"] <= told["t"]
    assert not cloud.said("end")
    assert not vm.forced()
    vm.boot().to_its_deletion()
    assert curve(cloud) == list(range(1, 301))
    assert cloud.said("resume")[0]["step"] > 0
    assert cloud.said("end")[0]["reason"] == "completed"


def test_copies_that_the_trainer_pruned_go_from_the_bucket(cloud: Cloud, machine: Machine, tmp_path: Path) -> None:
    cloud.config()
    first, second = tmp_path / "first-is-there", tmp_path / "second-is-there"
    vm = machine(f"--steps 100000 --save-every 20 --at 20:hold={first} --at 45:hold={second}").boot()
    cloud.wait(lambda: f"{PREFIX}checkpoints/00000020/COMMITTED" in cloud.objects)
    first.touch()
    cloud.wait(lambda: f"{PREFIX}checkpoints/00000040/COMMITTED" in cloud.objects)
    shutil.rmtree(vm.root / "ts-digits-k3f7-a1-t1" / "run" / "checkpoints" / "00000020")
    cloud.wait(lambda: not [name for name in list(cloud.objects) if "checkpoints/00000020/" in name])
    assert f"{PREFIX}checkpoints/00000040/COMMITTED" in cloud.objects
    cloud.put("control/000001.json", b'{"verb":"stop","keep":false,"attempt":1}')
    second.touch()
    vm.to_its_deletion()
    assert cloud.said("end")[0]["reason"] == "discarded"
