"""What a live check has seen chooses between safe ways: fewer calls that are refused, the same answers."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tpu_studio
from tests.contract.conftest import Start, caller
from tests.contract.sides import LABELS, QUICK, WANTED
from tpu_studio.cli.main import main
from tpu_studio.cloud.connection import practice_side
from tpu_studio.cloud.observing import known, stamp, ways_at
from tpu_studio.cloud.places import rented_places
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.practice import daemon
from tpu_studio.practice.main import Practice
from tpu_studio.workflow.cloudruns.ports import CloudSide, Ref
from tpu_studio.workflow.livecheck.observed import Observations
from tpu_studio.workflow.livecheck.ports import Seen
from tpu_studio.workflow.livecheck.ways import USUAL, Ways, uses, ways_of

LOCATIONS = "/v2/projects/practice-project/locations?pageSize=500"


def observe(home: Path, practice: Practice, **ways: str) -> None:
    seen = [Seen(doubt.replace("_", "-"), way, "as Google said") for doubt, way in ways.items()]
    project = practice.cloud.settings.project
    Observations(home).keep("practice", project, tpu_studio.__version__, practice.cloud.clock.now() - 5.0, seen)


def side_of(practice: Practice, home: Path) -> CloudSide:
    settings = practice.cloud.settings
    ways = ways_at(home, None, "practice", settings.project)
    return practice_side(practice.url, practice.token, settings.project, settings.bucket, patience=QUICK, ways=ways)


def asked(side: CloudSide) -> list[str]:
    """Addresses that its machines ask from now on."""
    heard: list[str] = []
    http = side.machines["tpu"]._http  # type: ignore[attr-defined]
    http.hooks["response"].append(lambda reply, *_, **__: heard.append(f"{reply.status_code} {reply.request.url}"))
    return heard


def test_a_part_that_google_refuses_is_not_asked_for_again(start_practice: Start, tmp_path: Path) -> None:
    practice = start_practice()
    practice.cloud.doubts.arm("partial-answers=refused")
    side = side_of(practice, tmp_path)
    side.machines["tpu"].create(WANTED)
    heard = asked(side)
    before = side.machines["tpu"].look(WANTED.ref)
    assert any(one.startswith("400") and "fields=" in one for one in heard)
    observe(tmp_path, practice, partial_answers="refused")
    other = side_of(practice, tmp_path)
    heard = asked(other)
    after = other.machines["tpu"].look(WANTED.ref)
    assert heard and not any("fields=" in one or one.startswith("400") for one in heard)
    assert before is not None and after is not None and (after.state, after.labels) == (before.state, before.labels)


def test_a_list_of_all_zones_that_google_refuses_is_asked_zone_by_zone_at_once(
    start_practice: Start, tmp_path: Path
) -> None:
    practice = start_practice()
    practice.cloud.doubts.arm("list-all-zones=refused")
    observe(tmp_path, practice, list_all_zones="refused")
    side = side_of(practice, tmp_path)
    side.machines["tpu"].create(WANTED)
    heard = asked(side)
    assert [one.ref for one in side.machines["tpu"].find(LABELS)] == [WANTED.ref]
    assert heard and not any("/locations/-/" in one for one in heard)


@pytest.mark.parametrize("seen", [True, False])
def test_zone_by_zone_no_machine_is_missed_where_googles_own_list_of_zones_is_short(
    start_practice: Start, tmp_path: Path, seen: bool
) -> None:
    practice = start_practice()
    for doubt in ("list-all-zones=refused", "tpu-locations=short"):
        practice.cloud.doubts.arm(doubt)
    if seen:
        observe(tmp_path, practice, list_all_zones="refused")
    side = side_of(practice, tmp_path)
    told = {one["locationId"] for one in caller(practice)("GET", LOCATIONS).body["locations"]}
    hidden = next(zone.zone for zone in catalogue().generation("v5e").zones if zone.zone not in told)
    side.machines["tpu"].create(replace(WANTED, ref=Ref(WANTED.ref.name, hidden)))
    assert [one.ref.zone for one in side.machines["tpu"].find(LABELS)] == [hidden]


def test_where_an_observation_no_longer_fits_the_other_way_is_taken(start_practice: Start, tmp_path: Path) -> None:
    """It was seen a week ago, and Google answers otherwise by now: nothing is lost but a call."""
    practice = start_practice()
    observe(tmp_path, practice, list_all_zones="refused", partial_answers="refused", date_header="not-on-errors")
    side = side_of(practice, tmp_path)
    side.machines["tpu"].create(WANTED)
    assert side.machines["tpu"].look(WANTED.ref) is not None and len(side.machines["tpu"].find(LABELS)) == 1
    assert abs(side.clock.now() - practice.cloud.clock.now()) < 60.0


def test_only_what_google_was_seen_to_refuse_chooses_and_each_use_has_words(
    start_practice: Start, tmp_path: Path
) -> None:
    practice = start_practice()
    observe(tmp_path, practice, list_all_zones="", partial_answers="ignored", task_oauth_delete="unauthenticated")
    project, now = practice.cloud.settings.project, practice.cloud.clock.now()
    found = known(tmp_path, None, "practice", project, now)
    assert len(found) == 3 and ways_of(found) == USUAL and uses(found) == []
    observe(tmp_path, practice, partial_answers="refused", date_header="not-on-errors")
    found = known(tmp_path, None, "practice", project, now)
    assert ways_of(found) == Ways(whole=True, signed_in=True)
    assert [one.doubt for one in uses(found)] == ["date-header", "partial-answers"] and uses(found)[0].words
    assert known(tmp_path, None, "practice", "another", now) == {}


def test_a_live_check_counts_for_who_is_connected_already(start_practice: Start, tmp_path: Path) -> None:
    practice = start_practice()
    place = rented_places(tmp_path, practice.ready)["practice"]
    plan: Any = None
    before = place.connect(plan)
    assert place.connect(plan) is before and stamp(tmp_path) == 0
    observe(tmp_path, practice, partial_answers="refused")
    assert place.connect(plan) is not before and place.connect(plan).machines["tpu"]._whole  # type: ignore[attr-defined]


def test_doctor_says_which_observations_are_used(
    start_practice: Start, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tpu_studio.wire.homes import home_folder

    practice = start_practice()
    monkeypatch.setattr(daemon, "start_or_join", lambda home: practice.ready())

    def told() -> Mapping[str, Any]:
        main(["doctor", "--on", "practice", "--json"])
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    assert told()["observed"] == []
    observe(home_folder(), practice, list_all_zones="refused")
    [one] = told()["observed"]
    assert (one["doubt"], one["way"]) == ("list-all-zones", "refused") and one["at"] <= time.time()
    main(["doctor", "--on", "practice"])
    assert "zone by zone at once" in capsys.readouterr().out
