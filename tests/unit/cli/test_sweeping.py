"""What `sweep` says when Google cannot be asked: never that nothing is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from tpu_studio.cli.main import main
from tpu_studio.cloud.sweep import Item, Swept
from tpu_studio.places import sweeping
from tpu_studio.wire.errors import CloudUnclear

NO_NAMES = CloudUnclear("network-down", raw="[Errno -3] Temporary failure in name resolution")


def finds(monkeypatch: pytest.MonkeyPatch, swept: Swept) -> None:
    @contextmanager
    def sweep_of(*_: Any) -> Iterator[Any]:
        yield SimpleNamespace(look=lambda: swept)

    monkeypatch.setattr(sweeping, "sweep_of", sweep_of)


def test_nothing_found_is_not_nothing_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finds(monkeypatch, Swept([], [("node", NO_NAMES), ("disk", NO_NAMES), ("bucket", CloudUnclear("timed-out"))]))
    assert main(["sweep", "--on", "practice"]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("Nothing was found that costs money, but not everything could be checked")
    lines = said.err.splitlines()
    assert lines[0] == "Whether there is any node, disk could not be found out. Google cannot be reached."
    assert lines[1].startswith("Whether there is any bucket") and "is still charged" in lines[2] and len(lines) == 3
    assert main(["sweep", "--on", "practice", "--json"]) == 1
    assert [one["kind"] for one in json.loads(capsys.readouterr().out)["unclear"]] == ["node", "disk", "bucket"]


def test_the_stops_of_a_run_are_one_line_and_stay_singly_in_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stops = [
        Item("task", f"q/tasks/ts-digits-k3f7-a1-t1-b-{n}-{n}", "us-west4", True, 0.0, "set", "digits-k3f7", at=at)
        for n, at in enumerate((1.8e9, 1.8e9 + 86400.0, 1.8e9 + 600.0))
    ]
    other = Item("task", "q/tasks/ts-proof-1-0", "us-west4", True, 0.0, "set", "", at=1.8e9)
    finds(monkeypatch, Swept([*stops, other]))
    assert main(["sweep", "--on", "practice"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if " task " in line]
    assert len(lines) == 2 and "1, for a trial" in lines[1]
    assert "3 of digits-k3f7, due " in lines[0] and " to " in lines[0]
    assert main(["sweep", "--on", "practice", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["items"]
    assert [one["at"] for one in told] == [1.8e9, 1.8e9 + 86400.0, 1.8e9 + 600.0, 1.8e9]


def test_nothing_there_is_said_when_everything_was_looked_at(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finds(monkeypatch, Swept([]))
    assert main(["sweep", "--on", "practice"]) == 0
    assert capsys.readouterr() == ("No billable resources: nothing there costs money.\n", "")
