"""A rented run that nobody watches on the command line: its verb stays until it has a machine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.clouddesk import RUN, CloudDesk
from tests.fakes.skies import Sky
from tpu_studio.cli import running
from tpu_studio.cli.output import Output
from tpu_studio.store.index import Index


@pytest.fixture
def rented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Services with one run, in a world whose time passes while they sleep."""
    sky = Sky()
    desk = CloudDesk(tmp_path, sky)
    index = Index(tmp_path)

    def sleep(seconds: float) -> None:
        sky.pass_time(5.0)

    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=lambda: sky.now, sleep=sleep, time=lambda: sky.now))
    runs = SimpleNamespace(follow=lambda name: index.follow(desk.folder))
    yield SimpleNamespace(runs=runs, driver=desk.driver, desk=desk, sky=sky)
    desk.die()
    index.close()


def test_it_stays_until_the_machine_reports(rented: Any) -> None:
    running.carry(rented, RUN, Output(as_json=True))
    state = rented.desk.state
    assert len(rented.sky.created_names) == 1
    assert state.end is None
    assert state.machine is not None
    assert state.machine.ready is not None


def test_what_was_asked_of_a_run_that_trains_is_brought_at_once(rented: Any) -> None:
    running.carry(rented, RUN, Output(as_json=True))
    before = rented.sky.now
    rented.desk.stop()
    running.carry(rented, RUN, Output(as_json=True))
    assert rented.sky.now < before + 5.0  # it did not wait
    assert any(name.endswith("control/000001.json") for name in rented.sky.objects)
