"""Profiles of real trainings by the frameworks' own profilers, and our reader held to theirs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.traces import BEGUN_US, Shown, on_a_tpu
from tests.trainer.in_engine import run_in_engine
from tests.trainer.test_team import team
from tests.trainer.training import Training, planned, put
from tpu_studio.trainer.profile import xspace
from tpu_studio.trainer.profile.profiling import STEPS_LEAST
from tpu_studio.trainer.profile.shares import KINDS

pytestmark = [pytest.mark.engine, pytest.mark.slow]
LONG = {"steps": 5_000_000, "checkpoint_every": 5_000_000, "evaluate_every": 5_000_000}


def is_told(event: Mapping[str, Any]) -> bool:
    return event["kind"] == "profile" and event["state"] != "begun"


def test_what_we_read_and_what_tests_write_is_what_the_frameworks_own_readers_say(tmp_path: Path) -> None:
    file = tmp_path / "host.xplane.pb"
    name = "%fusion.7 = bf16[8]{0} fusion(%p0)"
    file.write_bytes(on_a_tpu(Shown(10, 40, name, "convolution fusion"), host=[Shown(0, 100, xspace.STEPS)]))
    theirs = run_in_engine(Path(__file__).with_name("program_xspace.py"), str(file))
    begun = round(BEGUN_US * 1000)
    assert theirs["planes"] == {
        "/device:TPU:0": {"XLA Ops": [[name, begun + 10_000, 40_000]]},
        "/host:CPU": {"python": [[xspace.STEPS, begun, 100_000]]},
    }
    assert theirs["categories"][name] == ["convolution fusion"]
    for message in theirs["numbers"]:
        ours = getattr(xspace, message.upper())
        assert ours == {field: theirs["numbers"][message][field] for field in ours}, message


@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_a_profile_of_a_real_training_tells_where_its_time_goes(tmp_path: Path, framework: str) -> None:
    run = put(tmp_path / framework, planned(framework=framework, **LONG))
    with Training(run) as training:
        training.until_step(100)
        training.tell(verb="profile", number=1)
        told = training.until(is_told)
        assert told["state"] == "done", told
        training.tell(verb="profile", number=2)  # and another, when the first is made
        again = training.until(is_told)
        training.tell(verb="stop", keep=True)
        assert training.outcome()["reason"] == "stopped-by-user"
    assert told["steps"] >= STEPS_LEAST and told["on"] == "cpu"
    assert set(told["shares"]) == set(KINDS) and sum(told["shares"].values()) == pytest.approx(1, abs=1e-3)
    assert told["shares"]["matrix"] > 0 and told["shares"]["memory"] > 0 and told["top"]
    for one in (told, again):
        (raw,) = (run / one["path"]).rglob("*.xplane.pb")
        assert raw.stat().st_size == one["bytes"]
    first, second = (event["step"] for event in training.kinds("profile") if event["state"] == "begun")
    assert second > first >= 100
    speeds = [event for event in training.kinds("speed") if event["seconds"] > 0]
    assert "mfu" not in speeds[-1]  # a processor has no peak that counts


def test_stopped_while_one_is_made_the_model_is_kept_and_the_profile_told_off(tmp_path: Path) -> None:
    steps = {**LONG, "global_batch": 256}
    with Training(put(tmp_path / "run", planned(framework="jax", **steps))) as training:
        training.until_step(30)
        training.tell(verb="profile", number=1)
        training.tell(verb="profile", number=2)
        training.tell(verb="stop", keep=True)
        outcome = training.outcome()
    assert (outcome["reason"], training.kinds("notice")[0]["id"]) == ("stopped-by-user", "profile-under-way")
    assert [event["why"] for event in training.kinds("profile")] == ["too-few"]


def test_of_two_machines_the_first_makes_the_profile_and_both_train_on(tmp_path: Path) -> None:
    with team(tmp_path, **{**LONG, "evaluate_every": 64}) as workers:
        workers[0].until_step(70)
        workers[0].tell(verb="profile", number=1)
        told = workers[0].until(is_told)
        workers[0].tell(verb="stop", keep=True)
        assert [worker.outcome()["reason"] for worker in workers] == ["stopped-by-user"] * 2
    assert told["state"] == "done" and told["steps"] >= STEPS_LEAST
    assert not workers[1].kinds("profile") and not (workers[1].run / "profile").exists()
