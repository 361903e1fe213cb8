"""The live check against the practice cloud: what it says of each automatic doubt, what it leaves, what it may cost."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import pytest

from tests.contract.conftest import Start
from tpu_studio.cloud.connection import bearer
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.livecheck import renting
from tpu_studio.cloud.livecheck.asking import Side
from tpu_studio.cloud.livecheck.prober import GoogleProber
from tpu_studio.cloud.session import plain_session, session
from tpu_studio.cloud.stops import TaskStops
from tpu_studio.cloud.tpu import TpuMachines
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.doubts import doubts
from tpu_studio.practice import tpu_life
from tpu_studio.practice.main import Practice
from tpu_studio.wire.errors import CloudUnclear
from tpu_studio.workflow.cloudruns.ports import MachineSeen, Ref
from tpu_studio.workflow.livecheck.checking import Outcome, check, chosen
from tpu_studio.workflow.livecheck.left import Left
from tpu_studio.workflow.livecheck.observed import Observations, to_send
from tpu_studio.workflow.livecheck.ports import READ, RENT, Seen

AUTOMATIC = [one for one in doubts().values() if one.automatic]
SPEED = 100.0


class Killed(BaseException):
    """As by kill -9: nothing is tidied up after it."""


def prober_of(practice: Practice, home: Path) -> GoogleProber:
    settings, ends = practice.cloud.settings, Endpoints.at(practice.url)
    http = session(bearer(practice.token))
    targets = {"tpu": ends.tpu, "compute": ends.compute}
    stops = TaskStops(http, ends.tasks, ends.orgpolicy, settings.project, settings.stopper, targets)
    side = Side(
        http,
        plain_session(),
        ends,
        settings.project,
        settings.zone,
        settings.region,
        settings.bucket,
        settings.runner,
        settings.stopper,
        account=settings.owner,
        left=Left(home, settings.project),
        now=practice.cloud.clock.now,
        speed=practice.cloud.clock.speed,
        secret=(settings.runner, settings.stopper, settings.number),
    )
    return GoogleProber(side, stops)


def check_in(practice: Practice, home: Path, agreed: bool = True, max_usd: float = 1.0) -> Outcome:
    return check(prober_of(practice, home), agreed, max_usd)


def things(practice: Practice) -> list[str]:
    """Requests, nodes, tasks, and buckets besides the one of the account."""
    db = practice.cloud.db
    kinds = ("tpu-queued-resource", "tpu-node", "task")
    return [name for kind in kinds for name, _ in db.list(kind)]


def buckets(practice: Practice) -> int:
    api = session(bearer(practice.token))
    reply = api.get(f"{practice.url}/storage/v1/b", params={"project": practice.cloud.settings.project})
    return len(reply.json().get("items", []))


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """At this speed the usual 2 s of a deletion pass while a busy computer blinks: nothing is left to ask about."""
    monkeypatch.setattr(tpu_life, "DELETE_S", 60.0)


def test_where_google_is_as_assumed_every_automatic_doubt_is_seen_so(start_practice: Start, tmp_path: Path):
    practice = start_practice(speed=SPEED)
    outcome = check_in(practice, tmp_path)
    assert {one.doubt: one.way for one in outcome.seen} == {one.id: "" for one in AUTOMATIC}
    assert outcome.usd <= 1.0 and outcome.left == [] and things(practice) == [] and buckets(practice) == 1
    assert not (tmp_path / "live-check-left.json").exists()


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(8, 20))]
)
def test_in_a_random_world_every_other_way_is_found_and_none_wrongly(start_practice: Start, tmp_path: Path, seed: int):
    dice = random.Random(seed)
    armed = {one.id: dice.choice(one.others) for one in AUTOMATIC if one.by_practice and dice.random() < 0.3}
    practice = start_practice(speed=SPEED)
    for id, way in armed.items():
        practice.cloud.doubts.arm(f"{id}={way}")
    outcome = check_in(practice, tmp_path)
    hidden = hidden_by(armed)
    wrong = {one.doubt: one.way for one in outcome.seen if one.way not in (armed.get(one.doubt, ""), None)}
    unseen = {one.doubt for one in outcome.seen if one.way is None} - hidden
    assert wrong == {} and unseen == set(), outcome.seen
    assert outcome.usd <= 1.0 and outcome.left == [] and things(practice) == [] and buckets(practice) == 1
    billed = sum(line["usd"] or 0.0 for line in practice.cloud.meter.bill())
    assert billed <= outcome.usd


def hidden_by(armed: dict[str, str]) -> set[str]:
    """What cannot be seen in a world: no machine is rented there without a stop that was shown to work, or without an
    image; whose token comes with a task that is gone at once, nobody can say."""
    of_the_machine = {
        "request-id-repeated",
        "tpu-metadata-type",
        "delete-active-unforced",
        "second-delete",
        "operations-list",
        "partial-answers",
    }
    hidden: set[str] = set()
    if armed.keys() & {"task-oauth-delete", "task-404-retried", "runtime-versions"}:
        hidden |= of_the_machine
    if "task-404-retried" in armed:
        hidden |= {"task-oauth-delete"}
    if "task-oauth-delete" in armed:
        hidden |= {"task-404-retried"}
    return hidden


@pytest.mark.parametrize("way", ["not-found-for-all", "denied-for-all"])
def test_a_stop_works_only_where_an_account_without_rights_is_refused(
    start_practice: Start, tmp_path: Path, way: str
) -> None:
    """Where everybody is told 404, a stopper that may delete nothing was taken for one that works: a TPU was rented."""
    practice = start_practice(speed=SPEED)
    practice.cloud.doubts.arm(f"absent-name-permission={way}")
    asked: list[str] = []
    outcome = check(prober_of(practice, tmp_path), True, 1.0, told=lambda step: asked.append(step.id))
    assert next(one for one in outcome.seen if one.doubt == "task-oauth-delete").way is None
    assert practice.cloud.db.list("tpu-operation") == []
    assert "a machine" in asked and outcome.left == [] and things(practice) == []


def test_only_free_reads_are_made_until_it_is_agreed(start_practice: Start, tmp_path: Path):
    practice = start_practice(speed=SPEED)
    prober = prober_of(practice, tmp_path)
    asked: list[str] = []
    check(prober, agreed=False, max_usd=1.0, told=lambda step: asked.append(step.stage))
    assert set(asked) == {READ} and things(practice) == []
    assert practice.cloud.db.list("tpu-operation") == [] and practice.cloud.meter.bill() == []


def test_nothing_is_asked_that_goes_over_the_cap(start_practice: Start, tmp_path: Path):
    steps = prober_of(start_practice(speed=SPEED), tmp_path).steps()
    assert RENT not in {step.stage for step in chosen(steps, True, 0.01)}
    assert sum(step.usd for step in chosen(steps, True, 1.0)) <= 1.0
    assert {step.stage for step in chosen(steps, True, 0.0)} == {READ}


CALLS = [
    "POST .*/tasks$",
    "DELETE .*/tasks/",
    r"POST .*/upload/",
    r"POST .*/b$",
    "POST .*/queuedResources$",
    "DELETE .*/queuedResources/",
    "GET .*/operations$",
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_call_the_next_one_leaves_nothing(
    start_practice: Start, tmp_path: Path, call: str, when: str, monkeypatch: pytest.MonkeyPatch
):
    import re

    practice = start_practice(speed=SPEED)
    real, hit = Side.ask, []

    def ask(side: Side, method: str, url: str, *rest: object, **more: object) -> object:
        meets = re.search(call, f"{method} {url}") is not None and not hit
        if meets:
            hit.append(url)
        if meets and when == "before":
            raise Killed
        answer = real(side, method, url, *rest, **more)  # type: ignore[arg-type]
        if meets:
            raise Killed
        return answer

    prober = prober_of(practice, tmp_path)
    steps = {step.id: step for step in prober.steps()}
    with monkeypatch.context() as patch:
        patch.setattr(Side, "ask", ask)
        with pytest.raises(Killed):
            for id in ("names of tasks", "a task that fires", "an upload given up", "a bucket", "a machine"):
                prober.ask(steps[id])
    outcome = check_in(practice, tmp_path, agreed=False)
    assert outcome.left == [] and things(practice) == [] and buckets(practice) == 1


@pytest.mark.parametrize("how", ["killed", "no answer"])
def test_a_machine_that_comes_after_its_call_was_given_up_is_deleted_and_had_its_stops(
    start_practice: Start, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Google may carry out a create call late: absent now is not absent for good."""
    practice = start_practice(speed=SPEED)
    real, calls, stood = Side.ask, [], []
    real_look = TpuMachines.look

    def ask(side: Side, method: str, url: str, *rest: object, **more: object) -> object:
        if method == "POST" and url.endswith("/queuedResources") and not calls:
            calls.append((side, method, url, *rest))
            raise Killed if how == "killed" else CloudUnclear("timed-out", raw="no answer")
        return real(side, method, url, *rest, **more)  # type: ignore[arg-type]

    def look(machines: TpuMachines, ref: Ref) -> MachineSeen | None:
        found = real_look(machines, ref)
        if calls and not stood:  # it comes right after the first look that did not find it
            assert found is None
            stood.append(len(practice.cloud.db.list("task")))
            real(*calls[0], again=False)
        return found

    monkeypatch.setattr(Side, "ask", ask)
    monkeypatch.setattr(TpuMachines, "look", look)
    if how == "killed":
        prober = prober_of(practice, tmp_path)
        steps = {step.id: step for step in prober.steps()}
        prober.ask(steps["a task that fires"])
        with pytest.raises(Killed):
            prober.ask(steps["a machine"])
        outcome = check_in(practice, tmp_path, agreed=False)
    else:
        outcome = check_in(practice, tmp_path)
    assert stood == [len(renting.STOPS_S)]
    assert outcome.left == [] and things(practice) == []


def test_the_machine_is_priced_from_one_stop_to_the_next() -> None:
    """One that Google makes for hours takes no deletion meanwhile; it hangs when it is there, the computer off."""
    gaps = [later - sooner for sooner, later in pairwise(renting.STOPS_S)]
    rate = catalogue().price("v5e", 1, "us-west4-a", "spot")
    assert rate is not None
    assert renting.usd_at_most("us-west4-a") >= round(rate.usd_per_hour(1) * max(gaps) / 3600.0, 2)


def test_what_was_seen_holds_for_the_account_project_and_version_for_thirty_days(tmp_path: Path):
    kept, seen = Observations(tmp_path), [Seen("list-all-zones", "refused", "400"), Seen("date-header", None)]
    kept.keep("me", "p", "0.1.0", 1000.0, seen)
    assert kept.known("me", "p", "0.1.0", 2000.0)["list-all-zones"].way == "refused"
    assert "date-header" not in kept.known("me", "p", "0.1.0", 2000.0)
    for who in (("you", "p", "0.1.0"), ("me", "q", "0.1.0"), ("me", "p", "0.2.0")):
        assert kept.known(*who, 2000.0) == {}
    assert kept.known("me", "p", "0.1.0", 1000.0 + 30 * 86400) == {}
    kept.keep("me", "p", "0.1.0", 3000.0, [Seen("list-all-zones", "", "200")])
    assert kept.known("me", "p", "0.1.0", 3001.0)["list-all-zones"].way == ""


def test_the_file_for_the_project_names_nobody(start_practice: Start, tmp_path: Path):
    practice = start_practice(speed=SPEED)
    outcome = check_in(practice, tmp_path)
    text = json.dumps(to_send(outcome.seen, "0.1.0", "2026-11-23", "practice"))
    settings = practice.cloud.settings
    for name in (settings.project, settings.number, settings.owner, settings.bucket, settings.stopper, practice.token):
        assert name not in text
