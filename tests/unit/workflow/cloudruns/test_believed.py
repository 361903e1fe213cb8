"""Limits in the bucket are believed only where they were asked for here, or taken over: a machine writes there too."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.fakes.clouddesk import RUN, CloudDesk, trains
from tests.fakes.skies import Sky, cloud_plan
from tests.unit.workflow.cloudruns.test_driver import extension, verbs
from tests.unit.workflow.cloudruns.test_take_over import second
from tpu_studio.wire.controls import send
from tpu_studio.workflow.cloudruns import believed
from tpu_studio.workflow.cloudruns.driver import Driver

RAISED = {"verb": "limits", "hours": 600.0, "money_usd": 90000.0}


def written_by_the_machine(sky: Sky, number: int = 1) -> None:
    sky._put(f"runs/{RUN}/control/{number:06d}.json", json.dumps(RAISED).encode())


def begun_again(desk: CloudDesk, sky: Sky) -> None:
    """The program is started again, and reads the bucket from the start."""
    desk.driver = Driver(desk.home, places={"practice": sky.place()}, journal=desk.journal)
    for _ in range(3):
        desk.turn()


def test_limits_that_a_machine_writes_into_the_bucket_raise_nothing_and_are_told_once(
    desk: CloudDesk, sky: Sky
) -> None:
    trains(desk)
    plain = believed.limits(desk.folder, cloud_plan())
    written_by_the_machine(sky)
    begun_again(desk, sky)
    assert (desk.folder / "control" / "000001.json").exists()
    assert believed.limits(desk.folder, cloud_plan()) == plain
    assert verbs(desk).seen(desk.folder, False, 0.0).limit_usd == plain.money_usd
    begun_again(desk, sky)
    (told,) = [one for one in desk.said("notice") if one.get("id") == "limits-not-believed"]
    assert told.get("facts") == {"hours": 600.0, "money_usd": 90000.0}


def test_what_was_asked_for_here_holds_also_where_a_machine_has_taken_its_number(desk: CloudDesk, sky: Sky) -> None:
    trains(desk)
    written_by_the_machine(sky)
    verbs(desk).extend(desk.folder, extension())
    begun_again(desk, sky)
    found = believed.limits(desk.folder, cloud_plan())
    assert (found.hours, found.money_usd) == (5.0, 100.0)


def limit(money_usd: float) -> dict[str, object]:
    return {"verb": "limits", "hours": 2.0, "money_usd": money_usd}


def money(run: Path) -> float | None:
    return believed.limits(run, cloud_plan()).money_usd


def test_an_older_limit_that_was_lowered_since_does_not_come_back_by_being_written_again(tmp_path: Path) -> None:
    """By its value alone a machine could bring back the highest limit that was ever asked for."""
    for usd in (50.0, 100.0, 20.0):
        believed.ask(tmp_path, limit(usd))
    assert money(tmp_path) == 20.0
    for usd in (100.0, 50.0, 20.0):
        number = send(tmp_path, limit(usd))
        assert money(tmp_path) == 20.0
        assert number in [one["number"] for one in believed.strange(tmp_path)]
    believed.ask(tmp_path, limit(100.0))
    assert money(tmp_path) == 100.0
    believed.ask(tmp_path, limit(30.0))
    assert money(tmp_path) == 30.0
    send(tmp_path, limit(100.0))
    assert money(tmp_path) == 30.0


def test_a_limit_of_ours_holds_whatever_a_machine_writes_between_them(tmp_path: Path) -> None:
    believed.ask(tmp_path, limit(100.0))
    send(tmp_path, limit(100.0))
    believed.ask(tmp_path, limit(20.0))
    send(tmp_path, limit(100.0))
    believed.ask(tmp_path, limit(40.0))
    assert money(tmp_path) == 40.0
    assert [one["money_usd"] for one in believed.strange(tmp_path)] == [100.0, 100.0]


def test_a_limit_that_i_lowered_is_not_undone_by_one_that_says_what_i_ask_for_later(tmp_path: Path) -> None:
    """Under a number before mine it stood for my later line, and my earlier one for nothing."""
    believed.ask(tmp_path, {"verb": "note"})
    send(tmp_path, {"verb": "limits", "money_usd": 5.0})
    believed.ask(tmp_path, {"verb": "limits", "hours": 0.5})
    believed.ask(tmp_path, {"verb": "limits", "money_usd": 5.0})
    found = believed.limits(tmp_path, cloud_plan())
    assert (found.hours, found.money_usd) == (0.5, 5.0)


def test_what_a_take_over_offered_counts_as_it_was_offered(tmp_path: Path) -> None:
    """Another's change lies before one of mine: the yes was to mine, which came last."""
    believed.ask(tmp_path, limit(100.0))
    believed.take(tmp_path, [limit(20.0), limit(100.0)])
    assert money(tmp_path) == 100.0


def test_a_run_that_is_taken_over_again_has_no_limit_twice(tmp_path: Path) -> None:
    offered = [limit(100.0), limit(20.0)]
    believed.take(tmp_path, offered)
    assert believed.are_known(tmp_path, offered)
    believed.take(tmp_path, offered)
    for one in offered:
        send(tmp_path, one)
    assert money(tmp_path) == 20.0
    assert not believed.are_known(tmp_path, [*offered, limit(100.0)])
    send(tmp_path, limit(100.0))
    assert money(tmp_path) == 20.0


def test_a_stop_is_obeyed_whoever_asks(desk: CloudDesk, sky: Sky) -> None:
    trains(desk)
    sky._put(f"runs/{RUN}/control/000001.json", b'{"verb":"stop","keep":true,"attempt":1}')
    begun_again(desk, sky)
    desk.until()
    assert sky.nodes == {}


def test_who_takes_a_run_over_takes_its_limits_over_and_none_that_come_later(
    tmp_path: Path, desk: CloudDesk, sky: Sky
) -> None:
    trains(desk)
    verbs(desk).extend(desk.folder, extension())
    desk.turn()
    others, _, journal = second(tmp_path, sky)
    folder = others.take_over(cloud_plan(), RUN)
    assert believed.limits(folder, cloud_plan()).money_usd == 100.0
    written_by_the_machine(sky, 9)
    send(folder, RAISED)
    assert believed.limits(folder, cloud_plan()).money_usd == 100.0
    journal.disconnect()


def test_what_an_earlier_version_asked_for_here_is_believed(desk: CloudDesk, sky: Sky) -> None:
    trains(desk)
    (desk.folder / believed.FILE).unlink()
    send(desk.folder, {"verb": "limits", "hours": 7.0})
    begun_again(desk, sky)
    assert believed.limits(desk.folder, cloud_plan()).hours == 7.0


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_was_asked_for_here_is_a_plain_file_in_the_runs_folder(tmp_path: Path, kind: str) -> None:
    """An empty file was made wherever a link led, and a pipe held the run up for ever."""
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    run.mkdir()
    path = run / believed.FILE
    path.symlink_to(elsewhere) if kind == "link" else os.mkfifo(path)
    believed.begin(run)
    assert believed.strange(run) == [] and not elsewhere.exists()
