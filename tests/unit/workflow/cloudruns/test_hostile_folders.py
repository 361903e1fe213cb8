"""Somebody sends the folder of a rented run: what it says is looked at, and nothing is rented or driven for it."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.clouddesk import RUN
from tests.fakes.skies import Sky, cloud_plan
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.plan import dumps
from tpu_studio.workflow import desk as desks
from tpu_studio.workflow.bringing import bring
from tpu_studio.workflow.cloudruns.driver import Driver


def test_a_new_journal_learns_nothing_of_a_rented_run_that_came_as_files(tmp_path: Path, sky: Sky) -> None:
    sent = tmp_path / "sent" / RUN
    name = f"ts-{RUN}-a1-t1"
    (sent / "events").mkdir(parents=True)
    (sent / "plan.json").write_bytes(dumps(cloud_plan().launched(RUN, sky.now, "test")))
    (sent / "events" / "desk-zzzzzzzz.jsonl").write_text(
        '{"t":1.0,"kind":"opened","bucket":"theirs","project":"theirs"}\n'
        f'{{"t":2.0,"kind":"intent","id":"create/{name}","action":"create","name":"{name}","zone":"z","attempt":1,"try":1}}\n'
    )
    home = tmp_path / "home"
    bring(sent, home / "runs", desks.install_id(home), sky.now)
    journal = JournalFile(home / "journal.db")
    driver = Driver(home, places={"practice": sky.place()}, journal=journal)
    assert driver.state(RUN).there  # the stranger's word
    driver.tell_journal()
    assert journal.open_intents() == [] and journal.plan_of(RUN) is None
    journal.disconnect()


def test_a_run_folder_that_was_brought_here_rents_nothing(tmp_path: Path, sky: Sky) -> None:
    """A folder from a stranger may say that it is about to be launched."""
    sent = tmp_path / "sent" / RUN
    (sent / "events").mkdir(parents=True)
    (sent / "plan.json").write_bytes(dumps(cloud_plan().launched(RUN, sky.now, "test")))
    (sent / "owner.json").write_text('{"install":"whoever"}')
    home = tmp_path / "home"
    bring(sent, home / "runs", desks.install_id(home), sky.now)
    journal = JournalFile(home / "journal.db")
    driver = Driver(home, places={"practice": sky.place()}, journal=journal)
    for _ in range(20):
        assert driver.turn(RUN) > 0
        sky.pass_time(30.0)
    assert not sky.created_names and not sky.objects and not sky.tasks
    assert journal.open_intents() == []
    journal.disconnect()
