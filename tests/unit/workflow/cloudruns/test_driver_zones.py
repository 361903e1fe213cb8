"""Where the driver asks for a machine: zone after zone, until one lends it or none may."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.clouddesk import CloudDesk
from tests.fakes.skies import Lost, Sky, cloud_plan
from tests.unit.workflow.cloudruns.test_driver import nothing_left, receipt, verbs
from tpu_studio.domain.sentences import say_reason
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.wire.reasons import Reason
from tpu_studio.workflow import desk as desk_of
from tpu_studio.workflow.decide import NewAttempt


def test_a_zone_without_capacity_is_left_for_the_next(tmp_path: Path, sky: Sky) -> None:
    sky.refuse = {"us-west4-a": ["no-capacity"]}
    desk = CloudDesk(tmp_path, sky, cloud_plan(zones=("us-west4-a", "us-east5-b")))
    state = desk.until()
    assert [one.ref.zone for one in state.machines] == ["us-west4-a", "us-east5-b"]
    assert sky.created_names == ["ts-digits-k3f7-a1-t2"]
    assert desk.said("waiting")[0].get("why") == "no-capacity"
    nothing_left(desk)
    desk.die()


def test_a_zone_that_only_lets_wait_is_left_after_a_while(tmp_path: Path, sky: Sky) -> None:
    sky.waiting_s = 1e9
    desk = CloudDesk(tmp_path, sky, cloud_plan(zones=("us-west4-a", "us-east5-b")))
    while len(desk.state.machines) < 2:
        desk.turn()
        assert len(sky.nodes) <= 1
    sky.waiting_s = 10.0
    desk.until()
    assert sky.most_at_once == 1
    nothing_left(desk)
    desk.die()


@pytest.mark.parametrize(
    ("refusals", "reason"),
    [
        (["quota-exceeded"], "quota-exceeded"),
        (["not-entitled"], "not-entitled"),
        (["region-limit"], "region-limit"),
        (["billing-off"], "launch-refused"),
        (["no-capacity"] * 500, "no-capacity"),
    ],
)
def test_a_refusal_ends_the_run_with_its_own_reason(
    desk: CloudDesk, sky: Sky, refusals: list[str], reason: str
) -> None:
    sky.refuse = {"us-west4-a": refusals}
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == reason
    assert receipt(desk)["made"] == []
    assert sky.usd_billed() == 0.0
    nothing_left(desk)


def test_where_the_project_is_not_entitled_the_next_zone_is_asked(tmp_path: Path, sky: Sky) -> None:
    sky.refuse = {"us-west4-a": ["not-entitled"] * 9}
    desk = CloudDesk(tmp_path, sky, cloud_plan(zones=("us-west4-a", "us-east5-b")))
    state = desk.until()
    assert state.end is not None and state.end.get("reason") == "completed"
    assert [one.ref.zone for one in state.machines] == ["us-west4-a", "us-east5-b"]
    nothing_left(desk)
    desk.die()


def test_not_entitled_anywhere_says_tier_and_project_and_what_else_there_is(tmp_path: Path, sky: Sky) -> None:
    sky.refuse = {"us-west4-a": ["not-entitled"] * 9, "us-east5-b": ["type-not-in-zone"] * 9}
    desk = CloudDesk(tmp_path, sky, cloud_plan(zones=("us-west4-a", "us-east5-b")))
    end = desk.until().end
    assert end is not None and end.get("reason") == "not-entitled"
    facts = dict(end.get("facts"))
    assert (facts["tier"], facts["zone"], facts["accelerator"]) == ("on-demand", "us-west4-a", "v5litepod-8")
    said = say_reason(Reason.NOT_ENTITLED, facts, place="cloud")
    assert "neither your role nor a shortage" in said.meaning and "Nothing was charged" in said.meaning
    assert "as spot" in said.action and f"project={facts['project']}&service=tpu.googleapis.com" in said.action
    desk.die()


def test_a_regions_limit_is_not_asked_again_in_its_other_zones(tmp_path: Path, sky: Sky) -> None:
    sky.refuse = {"us-west4-a": ["region-limit"] * 9}
    desk = CloudDesk(tmp_path, sky, cloud_plan(zones=("us-west4-a", "us-west4-b", "us-east5-b")))
    assert [one.ref.zone for one in desk.until().machines] == ["us-west4-a", "us-east5-b"]
    nothing_left(desk)
    desk.die()


def test_what_is_known_to_be_refused_is_never_asked_for_and_a_repeat_is_not_held_up(desk: CloudDesk, sky: Sky) -> None:
    sky.known_no = {"us-west4-a": "region-limit"}
    end = desk.until().end
    assert end is not None and end.get("reason") == "region-limit"
    assert sky.created_names == [] and len(sky.checked) == 1
    nothing_left(desk)


def test_a_create_call_that_is_repeated_is_not_looked_at_beforehand(desk: CloudDesk, sky: Sky) -> None:
    def lose(call: str, done: bool) -> None:
        if call == "create" and done and len(sky.created_names) == 1:
            sky.known_no = {"us-west4-a": "region-limit"}  # by the very machine that it has made
            sky.hook = lambda call, done: None
            raise Lost()

    sky.hook = lose
    end = desk.until().end
    assert end is not None and end.get("reason") == "completed"
    assert len(sky.checked) == 1
    nothing_left(desk)


DAY_S = 86_400.0
PIECES = {
    "bundle": {"object": "runs/x/job/bundle", "bytes": 1},
    "environment": {},
    "data": [{"object": "data/a", "bytes": 1}, {"object": "data/b", "bytes": 1}],
}


@pytest.mark.parametrize("gone", [False, True])
def test_what_was_brought_days_ago_is_renewed_before_a_machine_is_asked_for_and_brought_again_if_gone(
    desk: CloudDesk, sky: Sky, gone: bool
) -> None:
    desk.until()
    desk.die()
    desk_of.write_event(desk.folder, desk_of.install_id(desk.home), "prepared", t=sky.now, pieces=PIECES)
    for name in ("runs/x/job/bundle", "data/a", *(() if gone else ("data/b",))):
        sky._put(name, b"x")
    assert sky.renewed == []  # what was brought today is young
    sky.now += DAY_S * 3
    desk.start()
    uploads: list[str] = []
    sky.hook = lambda call, done: uploads.append(call) if call == "upload" and done else None
    sky.steps = 80
    verbs(desk).again(desk.folder, NewAttempt(2, ({"verb": "extend", "epochs": 4},)))
    assert desk.until().attempt == 2
    assert sky.renewed == ["runs/x/job/bundle", "data/a", "data/b"]
    assert len(uploads) == int(gone)


def test_too_fast_is_asked_again_in_the_same_zone(desk: CloudDesk, sky: Sky) -> None:
    sky.refuse = {"us-west4-a": ["create-rate"]}
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == "completed"


def test_what_no_machine_can_be_told_ends_the_run_and_rents_nothing(
    desk: CloudDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of very many files: each turn failed anew, set stops, and had no end."""
    raw = "ts-config has more than 262144 bytes"

    def too_long(*_: object) -> None:
        raise CloudRefused("bad-request", raw=raw)

    monkeypatch.setattr("tests.fakes.skysides.Preparing.metadata", too_long)
    desk.until()
    end = desk.state.end
    assert end is not None and (end.get("status"), end.get("reason")) == ("failed", "launch-refused")
    assert raw in str(end.get("facts")) and not desk.sky.created_names and not desk.sky.tasks
