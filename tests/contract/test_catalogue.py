"""The catalogue renewed from an account's own lists, against the practice cloud: whole, in part, and not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tests.contract.sides import QUICK
from tpu_studio.cli.main import main
from tpu_studio.cloud.connection import bearer
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.offers import read
from tpu_studio.cloud.session import Api
from tpu_studio.domain import renewed
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.offers import Area, Offers
from tpu_studio.domain.renewed import catalogue_at
from tpu_studio.places import reaching, renewing
from tpu_studio.practice.main import Practice
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, SignedOut

Start = Callable[..., Practice]
TODAY = date(2026, 12, 24)
ZONES = sorted({zone.zone for one in catalogue().offered() for zone in one.zones})


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    renewed.forget_renewed()


def lists_of(practice: Practice, before: Offers | None = None, token: str = "", **more: object) -> Offers:
    api = Api(practice.url, bearer(token or practice.token), patience=QUICK)
    return read(api, api, practice.cloud.settings.project, ZONES, TODAY, before=before, **more)  # type: ignore[arg-type]


def test_all_that_the_project_may_rent_is_read(start_practice: Start) -> None:
    asked = list[str]()
    found = lists_of(start_practice(), told=lambda done, total, what: asked.append(what))
    assert found.unread == () and found.date == "2026-12-24"
    assert found.areas["us-west4-a"].types["v5litepod-8"] == "2x4"
    assert "v2-alpha-tpuv5-lite" in (found.areas["us-west4-a"].images or ())
    assert found.machines is not None and found.machines["us-central1-c"]["tpu7x-standard-4t"]["chips"] == 4
    assert asked[0] == "which zones there are" and "us-west4-a" in asked


def test_an_area_that_does_not_answer_keeps_what_it_said_before(start_practice: Start) -> None:
    practice = start_practice("unavailable:times=0,match=us-east5-a/acceleratorTypes")
    first = lists_of(practice)
    assert "us-east5-a" not in first.areas and [one.what for one in first.unread] == ["us-east5-a"]
    earlier = replace(first, areas={**first.areas, "us-east5-a": Area("2026-12-01", {"v6e-1": "1x1"}, None)})
    again = lists_of(practice, earlier)
    assert again.areas["us-east5-a"].date == "2026-12-01" and again.areas["us-west4-a"].date == "2026-12-24"


def test_images_or_machines_that_cannot_be_read_leave_the_rest(start_practice: Start) -> None:
    practice = start_practice(
        "server-error:times=0,match=us-east5-a/runtimeVersions",
        "permission-missing:permission=compute.machineTypes.list",
    )
    found = lists_of(practice)
    assert found.areas["us-east5-a"].images is None and found.areas["us-east5-a"].types
    assert found.machines is None
    assert [one.what for one in found.unread] == ["runtime images of us-east5-a", "the list of machine types"]


def test_stopped_half_way_it_keeps_what_it_has_and_says_what_was_not_asked(start_practice: Start) -> None:
    seen = list[str]()
    found = lists_of(
        start_practice(), told=lambda done, total, what: seen.append(what), cancelled=lambda: len(seen) > 3
    )
    assert len(found.areas) == 3 and {one.id for one in found.unread} == {"catalogue-cancelled"}


def test_where_nothing_answers_nothing_changes(start_practice: Start) -> None:
    with pytest.raises(SignedOut):
        lists_of(start_practice(), token="nobody")
    with pytest.raises((CloudRefused, CloudUnclear)):
        lists_of(start_practice("unavailable:times=0,match=acceleratorTypes"))


def test_the_command_renews_keeps_and_tells(
    start_practice: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    practice = start_practice("unavailable:times=0,match=us-east5-a/acceleratorTypes")
    settings = practice.cloud.settings
    reached = reaching.Reached(
        "practice",
        bearer(practice.token),
        settings.project,
        "us-west4",
        settings.bucket,
        "",
        "",
        Endpoints.at(practice.url),
    )
    monkeypatch.setattr(reaching, "reach", lambda place, home: reached)
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    assert main(["catalogue", "--on", "practice", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["refreshed"] is None
    first = date.today()
    assert main(["catalogue", "--on", "practice", "--refresh", "--json"]) == 1  # one area did not answer
    answer = json.loads(capsys.readouterr().out)
    assert [one["what"] for one in answer["unread"]] == ["us-east5-a"]
    day = date.fromisoformat(answer["refreshed"])
    assert first <= day <= date.today() and answer["prices"]["source"] == "live"
    v5e = next(one for one in answer["generations"] if one["id"] == "v5e")
    zone = next(one for one in v5e["zones"] if one["zone"] == "us-west4-a")
    assert (zone["source"], zone["date"]) == ("account", day.isoformat())
    assert v5e["figures"]["hbm"]["source"] == "v5e_doc"  # memory stands in no list of Google's
    renewed.forget_renewed()
    kept = renewing.kept("practice", tmp_path)  # as a later start finds it
    assert kept.offers is not None and kept.priced.live == day
    assert next(z for z in catalogue_at("practice").generation("v5e").zones if z.zone == "us-west4-a").as_of
    (tmp_path / "catalogue-practice.json").write_text("{")
    assert renewing.kept("practice", tmp_path).offers is None


def test_without_an_account_the_built_in_table_stays(tmp_path: Path) -> None:
    with pytest.raises(SignedOut):
        renewing.refresh("cloud", tmp_path)
    assert renewing.kept("cloud", tmp_path).offers is None
    assert not (tmp_path / "catalogue-cloud.json").exists()
