"""One damaged run is one damaged row: whatever lies in its folder, every verb works for all other runs, and the damaged
one can be seen, exported as far as it goes, and deleted.

FUZZ_FOLDERS and FUZZ_SEED make it many more than the dose that every test run takes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.clouddesk import CloudDesk, ends
from tests.fakes.hostile import Damage
from tests.fakes.skies import Sky
from tests.fakes.studio import Studio
from tpu_studio.domain.folding import apply
from tpu_studio.domain.run import RunView
from tpu_studio.domain.sentences import say
from tpu_studio.store.reading import Points, Reader, records
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.events import decode
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.state import fold
from tpu_studio.workflow.cloudruns.steward import unsettled
from tpu_studio.workflow.runs import Runs

FOLDERS = int(os.environ.get("FUZZ_FOLDERS", "60"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
LINES = (
    b'{"t":1795388000.0,"kind":"money","usd":1.84,"usd_per_hour":3.12,"since":1795227550.0,"usd_at_least":1}',
    b'{"t":1795388000.0,"kind":"device","worker":3,"duty_cycle":0.71,"hbm_used_bytes":9.1e9,"hbm_total_bytes":1.6e10}',
    b'{"t":1795388000.0,"kind":"control","verb":"stop","number":1,"keep":true}',
    b'{"t":1795388000.0,"kind":"attempt-over","attempt":1,"reason":"preempted"}',
    b'{"t":1795388000.0,"kind":"notice","id":"preempted","level":"warning","facts":{"by":"metadata","heard":1795388000}}',
    b'{"t":1795388000.0,"kind":"waiting","zones":["a"],"since":1,"tries":[1]}',
    b'{"t":1795388000.0,"kind":"metric","step":[1,2],"loss":[2.3,2.1]}',
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of this computer that trained to its end."""
    made = Studio(tmp_path_factory.mktemp("here"), "--steps", "20")
    from tests.fakes.plans import plan

    run = made.runs.launch(plan())
    made.wait(run)
    made.close()
    return made.runs.folder(run)


@pytest.fixture(scope="module")
def rented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the fake cloud, with its proofs."""
    desk = CloudDesk(tmp_path_factory.mktemp("rented"), Sky())
    ends(desk)
    desk.die()
    return desk.folder


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    made = Studio(tmp_path / "home", "--steps", "5")
    driver = Driver(made.home, places={"practice": Sky().place()}, journal=made.journal)
    made.runs = Runs(
        made.home, places={"computer": made.computer}, journal=made.journal, index=made.index, driver=driver
    )
    yield made
    made.close()


def told(work: Callable[[], object]) -> None:
    """*work* does it, or says in a sentence why not; anything else is a defect."""
    try:
        work()
    except StudioError as error:
        assert say(error).title
    except OSError:
        pass  # the window and the command line have sentences for these


def put(studio: Studio, source: Path, name: str) -> Path:
    folder = studio.runs.runs_folder / name
    left_out = shutil.ignore_patterns("checkpoints", "saved_model", "tensorboard", "*.keras")
    shutil.copytree(source, folder, ignore=left_out)
    plan = json.loads((folder / PLAN).read_bytes())
    (folder / PLAN).write_text(json.dumps({**plan, "run": name}))
    return folder


ODD_LINES = {
    "nested": b'{"t":1795387999.0,"kind":"notice","id":"x","facts":%s}' % (b'{"a":' * 700 + b"1" + b"}" * 700),
    "a desktop's time is a text": b'{"t":"x","kind":"target","steps":4}',
    "a desktop's time is null": b'{"t":null,"kind":"target","steps":4}',
    "a list in a list": b'{"t":1795387999.0,"kind":"metric","step":[[1]],"loss":[[1]]}',
    "an empty list in a list": b'{"t":1795387999.0,"kind":"metric","step":[1],"loss":[[]]}',
}


@pytest.mark.parametrize("name", ODD_LINES)
def test_one_odd_line_is_no_harm_to_any_verb(studio: Studio, finished: Path, name: str) -> None:
    put(studio, finished, "good-aaaa")
    bad = put(studio, finished, "bad-bbbb")
    for events in (bad / "events").glob("*.jsonl"):
        with events.open("ab") as file:
            file.write(ODD_LINES[name] + b"\n")
    rows = {row.run: row for row in studio.runs.list()}
    assert rows["good-aaaa"].reason == "completed"
    assert (rows["bad-bbbb"].step, rows["bad-bbbb"].problem) == (20, "")
    assert studio.runs.delete("bad-bbbb") == "bad-bbbb"


def test_a_reader_that_breaks_leaves_one_damaged_row_and_a_rented_run_driven(
    studio: Studio, finished: Path, rented: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is that nobody has thought of yet."""
    put(studio, finished, "good-aaaa")
    bad = put(studio, rented, "bad-bbbb")
    (bad / "result" / "receipt.json").unlink()
    read = Reader.read

    def broken(self: Reader, found: list[object]) -> object:
        if any(isinstance(one, dict) and one.get("kind") == "opened" for one in found):
            raise ZeroDivisionError
        return read(self, found)

    monkeypatch.setattr(Reader, "read", broken)
    rows = {row.run: row for row in studio.runs.list()}
    assert (rows["good-aaaa"].problem, rows["bad-bbbb"].problem) == ("", "run-unreadable")
    assert unsettled(studio.runs.list()) == ["bad-bbbb"]
    told(lambda: studio.runs.export("bad-bbbb", studio.home / "out"))
    assert studio.runs.reconcile() == []


def test_event_lines_of_every_kind_are_read_or_left_out(finished: Path, rented: Path) -> None:
    damage = Damage(SEED)
    known = [line for run in (finished, rented) for path in (run / "events").glob("*.jsonl")
             for line in path.read_bytes().splitlines()]  # fmt: skip
    view = RunView()
    for number in range(FOLDERS * 20):
        line = damage.mutated_record(damage.random.choice([*known, *LINES * 3]))
        for part in Reader().read(records([line])).parts:
            if isinstance(part, Points):
                list(part.rows())
        found = decode(line)
        if found is not None:
            view = apply(view if number % 500 else RunView(), found)
            fold([found])


def test_damaged_folders_leave_all_verbs_to_the_others(studio: Studio, finished: Path, rented: Path) -> None:
    damage, runs = Damage(SEED), studio.runs
    assert runs.driver is not None
    verbs: tuple[Callable[[str], object], ...] = (
        runs.driver.turn, lambda run: runs.follow(run).close(), runs.settle, runs.stop, runs.resume,
        lambda run: runs.export(run, studio.home / "out" / run),
        lambda run: runs.import_folder(runs.runs_folder / run),
    )  # fmt: skip
    put(studio, finished, "good-aaaa")
    for number in range(FOLDERS):
        name = f"bad-{number:04d}"
        folder = put(studio, damage.random.choice((finished, rented)), name)
        victims = sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".jsonl") and path.is_file())
        for victim in damage.random.sample(victims, min(len(victims), damage.random.randint(1, 3))):
            victim.write_bytes(damage.mutated_file(victim.read_bytes(), lines=victim.suffix == ".jsonl"))
            if damage.random.random() < 0.02:
                victim.unlink()
                victim.mkdir()
        assert {row.run: row for row in runs.list()}["good-aaaa"].reason == "completed", name
        assert runs.summary("good-aaaa").problem == ""
        unsettled(runs.list())
        for verb in verbs:
            told(lambda: verb(name))  # noqa: B023  at once
        runs.reconcile()
        told(lambda: (runs.remove_for_good if number % 2 else runs.delete)(name))  # noqa: B023  at once
        if folder.exists():  # its machine may be there still
            shutil.rmtree(folder)
