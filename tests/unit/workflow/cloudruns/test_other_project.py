"""Another account or project is chosen while a run goes on: the run is still driven where it was begun.

Whoever looks for its machine in the project that is chosen by now finds none, and would call that a proof.
"""

from __future__ import annotations

import shutil
from dataclasses import replace

from tests.fakes.clouddesk import RUN, CloudDesk
from tests.fakes.skies import Lost, Sky
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.ports import CloudSide


def choose_another_project(desk: CloudDesk) -> Sky:
    """The app is started again, and by then another project is chosen, in which nothing of the run is."""
    other, asked = Sky(now=desk.sky.now), desk.sky.side()

    def at(plan: Plan, project: str, bucket: str) -> CloudSide:
        assert (project, bucket) == (asked.project, asked.mailbox.bucket)
        return asked

    place = replace(desk.sky.place(), connect=lambda plan: replace(other.side(), project="another"), at=at)
    desk.die()
    desk.start()
    desk.driver = Driver(desk.home, places={"practice": place}, journal=desk.journal)
    return other


def test_the_run_goes_on_where_its_machine_is(desk: CloudDesk, sky: Sky) -> None:
    while not any(node.step > 5 for node in sky.nodes.values()):
        desk.turn()
    other = choose_another_project(desk)
    state = desk.until()
    assert state.end is not None and state.end.get("reason") == "completed"
    assert (sky.nodes, sky.tasks) == ({}, {})
    assert sky.created_names == ["ts-digits-k3f7-a1-t1"]
    assert (other.created_names, other.objects) == ([], {})


def test_stopped_after_that_its_machine_is_deleted_and_not_only_missed(desk: CloudDesk, sky: Sky) -> None:
    while not any(node.step > 5 for node in sky.nodes.values()):
        desk.turn()
    choose_another_project(desk)
    sky.hang()
    desk.stop()
    desk.until()
    assert sky.nodes == {}
    assert sky.usd_billed() > 0.0
    assert len(desk.said("deleted")) == 1


def test_a_create_call_without_its_run_folder_is_settled_there_too(desk: CloudDesk, sky: Sky) -> None:
    def lost(call: str, done: bool) -> None:
        if call == "create" and done:
            raise Lost

    sky.hook = lost
    while not sky.nodes:
        desk.turn()
    sky.hook = lambda call, done: None
    assert [one.facts["project"] for one in desk.journal.open_intents() if one.action == "create"] == ["sky"]
    shutil.rmtree(desk.home / "runs" / RUN)
    choose_another_project(desk)
    assert desk.driver.recover() == []
    assert (sky.nodes, sky.tasks) == ({}, {})
