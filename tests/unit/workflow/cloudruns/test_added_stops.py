"""Stops that a machine adds for itself, in the machines' queue: they may end it sooner, and stand for none of ours."""

from __future__ import annotations

import pytest

from tests.fakes.clouddesk import CloudDesk
from tests.fakes.skies import Sky
from tests.unit.workflow.cloudruns.test_driver import extension, nothing_left, verbs
from tests.unit.workflow.cloudruns.test_mended import receipt
from tpu_studio.wire.errors import CloudUnclear, RunError


def training(desk: CloudDesk) -> str:
    """The name of a machine that trains."""
    while not (desk.folder / "events" / "a0001-w000.jsonl").exists():
        desk.turn()
    return desk.state.machines[0].ref.name


def add(sky: Sky, name: str, after_s: float, number: int = 27) -> None:
    """As a guardian does, or code in its place."""
    for n in range(number):
        sky.added[f"machines/tasks/{name}-l-{n}-{int(sky.now + after_s) + n}"] = (name, sky.now + after_s + n)


def filled(sky: Sky) -> None:
    """Code on a machine has put more there than is read."""

    def refuse(call: str, done: bool) -> None:
        if call == "list-added" and not done:
            raise CloudUnclear("unreadable-reply", raw="more than 10 pages of tasks")

    sky.hook = refuse


def test_what_a_machine_added_does_not_stand_for_the_stops_of_this_computer(desk: CloudDesk, sky: Sky) -> None:
    desk.until("machines")
    while not sky.nodes:
        desk.turn()
    name = next(iter(sky.nodes))
    add(sky, name, 30 * 86400.0)  # in the names of the lease's, as far off as Google takes them
    training(desk)
    ours = sorted(at for task, (_, at) in sky.tasks.items() if "-l-" in task)
    created = desk.state.machines[0].created
    assert created is not None and len(ours) == len(sky.tasks) == 27
    assert created < ours[0] <= created + 4 * 3600.0 + 600.0
    sky.steps = 10**9  # it hangs, and no computer is on
    sky.pass_time(ours[0] - sky.now + 120.0)
    assert not sky.nodes


def test_what_a_machine_added_goes_with_the_run(desk: CloudDesk, sky: Sky) -> None:
    add(sky, training(desk), 4 * 3600.0)
    desk.until()
    nothing_left(desk)
    assert not sky.added and receipt(desk)["stops_left"] == []


def test_an_extension_removes_what_the_machine_added_at_the_old_end(desk: CloudDesk, sky: Sky) -> None:
    add(sky, training(desk), 4 * 3600.0)
    verbs(desk).extend(desk.folder, extension())
    assert not sky.added
    desk.until()
    nothing_left(desk)


def test_a_queue_that_a_machine_filled_refuses_an_extension_and_holds_no_run_open(desk: CloudDesk, sky: Sky) -> None:
    add(sky, training(desk), 4 * 3600.0)
    filled(sky)
    with pytest.raises(RunError) as caught:
        verbs(desk).extend(desk.folder, extension())
    assert caught.value.id == "stops-not-moved" and not (desk.folder / "control").exists()
    desk.until(turns=400)
    assert not sky.nodes and not sky.tasks and receipt(desk)["stops_left"] == ["unknown"]
