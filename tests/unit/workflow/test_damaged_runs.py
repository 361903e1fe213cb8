"""One damaged run is one damaged row: whatever lies in its folder, every verb works for all other runs, and the damaged
one can be seen, exported as far as it goes, and deleted.

Any damage: the targets ``folders`` and ``events`` of `make fuzz`. Here is what was found, each by name.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.fuzz.runs import put, rented
from tests.fakes.fuzz.target import told
from tests.fakes.studio import Studio
from tpu_studio.cli.keeping import as_json
from tpu_studio.store import index
from tpu_studio.store.reading import Reader
from tpu_studio.viewmodels.runrows import row_of
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns.mine import Mine


@pytest.fixture(scope="module")
def with_proofs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rented(tmp_path_factory.mktemp("rented"))


def launched_here(studio: Studio, run: str) -> None:
    tree = json.loads((studio.runs.runs_folder / run / PLAN).read_bytes())
    studio.journal.close(studio.journal.open("launch", run, {"plan": tree}, 1.0), "started", 1.0)


ODD_LINES = {
    "nested": b'{"t":1795387999.0,"kind":"notice","id":"x","facts":%s}' % (b'{"a":' * 700 + b"1" + b"}" * 700),
    "a desktop's time is a text": b'{"t":"x","kind":"target","steps":4}',
    "a desktop's time is null": b'{"t":null,"kind":"target","steps":4}',
    "a list in a list": b'{"t":1795387999.0,"kind":"metric","step":[[1]],"loss":[[1]]}',
    "an empty list in a list": b'{"t":1795387999.0,"kind":"metric","step":[1],"loss":[[]]}',
}


@pytest.mark.parametrize("name", ODD_LINES)
def test_one_odd_line_is_no_harm_to_any_verb(studio: Studio, trained: Path, name: str) -> None:
    put(studio, trained, "good-aaaa")
    bad = put(studio, trained, "bad-bbbb")
    for events in (bad / "events").glob("*.jsonl"):
        with events.open("ab") as file:
            file.write(ODD_LINES[name] + b"\n")
    rows = {row.run: row for row in studio.runs.list()}
    assert rows["good-aaaa"].reason == "completed"
    assert (rows["bad-bbbb"].step, rows["bad-bbbb"].problem) == (20, "")
    assert studio.runs.delete("bad-bbbb") == "bad-bbbb"


def test_a_reader_that_breaks_leaves_one_damaged_row_and_a_rented_run_driven(
    studio: Studio, trained: Path, with_proofs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is that nobody has thought of yet."""
    put(studio, trained, "good-aaaa")
    bad = put(studio, with_proofs, "bad-bbbb")
    (bad / "result" / "receipt.json").unlink()
    read = Reader.read

    def broken(self: Reader, found: list[object]) -> object:
        if any(isinstance(one, dict) and one.get("kind") == "opened" for one in found):
            raise ZeroDivisionError
        return read(self, found)

    monkeypatch.setattr(Reader, "read", broken)
    rows = {row.run: row for row in studio.runs.list()}
    assert (rows["good-aaaa"].problem, rows["bad-bbbb"].problem) == ("", "run-unreadable")
    launched_here(studio, "bad-bbbb")
    assert Mine(studio.home, studio.journal).unsettled() == ["bad-bbbb"]
    told(lambda: studio.runs.export("bad-bbbb", studio.home / "out"))
    assert studio.runs.reconcile() == []


def test_a_run_of_events_without_end_holds_up_no_list_no_lost_run_and_no_rented_one(
    studio: Studio, trained: Path, with_proofs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_GLANCE_S", 0.0)
    put(studio, trained, "good-aaaa")
    lost = put(studio, trained, "lost-bbbb")
    for name, source in (("long-cccc", trained), ("rent-dddd", with_proofs)):
        with (put(studio, source, name) / "events" / "a0001-w000.jsonl").open("r+b") as file:
            whole = file.read()
            line = b'{"t":1795387999.0,"kind":"phase","phase":"%s"}\n'
            file.seek(0)
            file.write(b"".join(line % (b"training", b"saving")[n % 2] for n in range(20_000)) + whole)
    for events in (lost / "events").glob("*.jsonl"):
        lines = events.read_bytes().splitlines(keepends=True)
        events.write_bytes(b"".join(one for one in lines if b'"end"' not in one))
    desk.put_owner(lost, desk.owner_record(desk.install_id(studio.home), t=1.0))
    assert studio.runs.reconcile() == ["lost-bbbb"]
    rows = {row.run: row for row in studio.runs.list()}
    assert (rows["good-aaaa"].reason, rows["lost-bbbb"].reason) == ("completed", "guardian-gone")
    assert rows["long-cccc"].unread and rows["rent-dddd"].unread and not rows["long-cccc"].problem
    assert Mine(studio.home, studio.journal).unsettled() == []  # of others nothing is read for that
    launched_here(studio, "rent-dddd")
    assert Mine(studio.home, studio.journal).unsettled() == ["rent-dddd"]
    assert (row_of(rows["long-cccc"]).status, row_of(rows["long-cccc"]).live) == ("Being read", False)
    while any(row.unread for row in studio.runs.list()):
        pass
    assert studio.runs.summary("long-cccc").reason == "completed"
    assert studio.runs.reconcile() == []


@pytest.mark.parametrize("harm", ["gone", "a folder", "of gigabytes", "of a newer version", "no JSON"])
def test_a_run_without_a_readable_plan_is_listed_exported_and_deleted(studio: Studio, trained: Path, harm: str) -> None:
    """`export` asked for a plan that it does not need."""
    put(studio, trained, "good-aaaa")
    bad = put(studio, trained, "bad-bbbb")
    (bad / "result").mkdir(exist_ok=True)
    (bad / "result" / "model.txt").write_bytes(b"model")
    plan = bad / PLAN
    plan.unlink()
    match harm:
        case "a folder":
            plan.mkdir()
        case "of gigabytes":
            with open(plan, "wb") as file:
                file.truncate(6 << 30)
        case "of a newer version":
            plan.write_text('{"format": 99}')
        case "no JSON":
            plan.write_bytes(b"\xff" * 100)
    rows = {row.run: as_json(row) for row in studio.runs.list()}
    assert rows["good-aaaa"]["problem"] is None
    assert rows["bad-bbbb"]["problem"] in ("plan-missing", "plan-unreadable", "plan-newer", "run-unreadable")
    where = studio.runs.export("bad-bbbb", studio.home / "out")
    assert (where / "model.txt").read_bytes() == b"model"
    assert studio.runs.delete("bad-bbbb") == "bad-bbbb"
    assert [row.run for row in studio.runs.list()] == ["good-aaaa"]
