"""A run that came from somebody else is looked at, never believed: nothing of it runs or rents by its own word."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.fakes.plans import plan
from tests.fakes.skies import Sky, cloud_plan
from tests.fakes.studio import Studio
from tpu_studio.cli.output import Output
from tpu_studio.cli.trusting import of_run
from tpu_studio.local.consents import Consents
from tpu_studio.store.index import Index
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.errors import BadInput, ModelError, RunError
from tpu_studio.wire.events import encode, event
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan, dumps
from tpu_studio.wire.runfolder import OWNER, PLAN
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.runs import Runs

SOURCE = b"def build_model(job): ..."
SHA256 = hashlib.sha256(SOURCE).hexdigest()


def own(place: str = "computer") -> Plan:
    """A plan with a model file of its own that says of itself that it was agreed to."""
    job = parse(
        {
            "format": 1,
            "name": "friendly",
            "model": {"file": "result/own_model.py"},
            "data": {"kind": "digits"},
            "where": {"place": place},
        }
    )
    return replace(plan(), job=job, consent=SHA256)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    made = Studio(tmp_path / "home", "--steps", "5")
    yield made
    made.close()


def strangers_run(folder: Path, frozen: Plan, *lines: bytes) -> Path:
    """A run folder as somebody may send it: over, with a saved copy, and with a model file."""
    (folder / "events").mkdir(parents=True)
    (folder / PLAN).write_bytes(dumps(frozen.launched("friendly-b2b2", 1.0, "1")))
    copy = folder / "checkpoints" / "00000005"
    copy.mkdir(parents=True)
    (copy / "COMMITTED").touch()
    (folder / "result").mkdir()
    (folder / "result" / "own_model.py").write_bytes(SOURCE)
    end = event("end", t=9.0, attempt=1, status="stopped", reason="stopped-by-user", steps=5, final={}, facts={})
    (folder / "events" / "desk-zzzzzzzz.jsonl").write_bytes(b"".join([*lines, encode(end)]))
    return folder


@pytest.mark.parametrize("verb", ["resume", "extend"])
def test_a_strangers_model_file_does_not_run_because_the_strangers_plan_says_so(
    studio: Studio, tmp_path: Path, verb: str
) -> None:
    run = studio.runs.import_folder(strangers_run(tmp_path / "sent", own())).run
    with pytest.raises(ModelError, match="model-no-consent"):
        studio.runs.resume(run) if verb == "resume" else studio.runs.extend(run, 1)
    assert not (studio.runs.folder(run) / "claims").exists()
    studio.consents.agree(SHA256, "own_model.py")
    studio.runs.resume(run) if verb == "resume" else studio.runs.extend(run, 1)
    assert studio.wait(run).attempt >= 1


def test_in_a_terminal_the_file_in_the_result_is_agreed_to_by_its_bytes(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.import_folder(strangers_run(tmp_path / "sent", own())).run
    services = SimpleNamespace(reading=studio.runs, consents=studio.consents)
    of_run(services, run, Output(as_json=True), trusted=False)  # type: ignore[arg-type]
    assert not studio.consents.agreed(SHA256)
    path = studio.runs.folder(run) / "result" / "own_model.py"
    path.write_bytes(SOURCE + b"#")  # not what the plan is of
    of_run(services, run, Output(as_json=True), trusted=True)  # type: ignore[arg-type]
    assert studio.consents.all() == []
    path.write_bytes(SOURCE)
    of_run(services, run, Output(as_json=True), trusted=True)  # type: ignore[arg-type]
    assert studio.consents.agreed(SHA256) and not studio.consents.agreed(SHA256, "cloud")


def test_for_a_strangers_rented_run_nothing_is_agreed_to_but_its_model_here(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.import_folder(strangers_run(tmp_path / "sent", replace(own("cloud"), place="cloud"))).run
    services = SimpleNamespace(reading=studio.runs, consents=studio.consents)
    of_run(services, run, Output(as_json=True), trusted=True)  # type: ignore[arg-type]
    assert studio.consents.all() == []
    of_run(services, run, Output(as_json=True), trusted=True, place="computer")  # type: ignore[arg-type]
    assert studio.consents.agreed(SHA256) and not studio.consents.agreed(SHA256, "cloud")


def test_nor_where_the_folder_was_not_even_taken_in(studio: Studio, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="run-lies-elsewhere"):
        studio.runs.resume(str(strangers_run(tmp_path / "friendly-b2b2", own())))


def test_a_plan_is_launched_with_a_model_file_only_after_a_yes_on_this_computer(studio: Studio) -> None:
    with pytest.raises(ModelError, match="model-no-consent"):
        studio.runs.launch(own())
    assert studio.runs.list() == []


class RentedDesk:
    """A home with runs in the fake cloud."""

    def __init__(self, home: Path, sky: Sky) -> None:
        self.journal, self.index = JournalFile(home / "journal.db"), Index(home)
        self.driver = Driver(home, places={"practice": sky.place()}, journal=self.journal)
        self.runs = Runs(home, places={}, journal=self.journal, index=self.index, driver=self.driver)


@pytest.fixture
def sky() -> Sky:
    return Sky()


@pytest.fixture
def rented(tmp_path: Path, sky: Sky) -> Iterator[RentedDesk]:
    made = RentedDesk(tmp_path / "home", sky)
    yield made
    made.journal.disconnect()
    made.index.close()


def strangers_rented_run(folder: Path) -> Path:
    opened = encode(event("opened", t=2.0, bucket="evil-strangers-bucket", project="theirs"))
    return strangers_run(
        folder, replace(cloud_plan(), limits=replace(cloud_plan().limits, money_usd=250_000.0)), opened
    )


@pytest.mark.parametrize("verb", ["resume", "extend", "stop"])
def test_a_rented_run_of_somebody_else_is_not_gone_on_with_and_google_hears_nothing(
    rented: RentedDesk, sky: Sky, tmp_path: Path, verb: str
) -> None:
    calls: list[str] = []
    sky.hook = lambda name, done: calls.append(name)
    run = rented.runs.import_folder(strangers_rented_run(tmp_path / "sent")).run
    verbs = {"resume": rented.runs.resume, "extend": lambda run: rented.runs.extend(run, 1), "stop": rented.runs.stop}
    with pytest.raises(RunError, match=r"run-imported|run-is-over"):
        verbs[verb](run)
    rented.driver.turn(run)
    assert calls == [] and sky.created_names == [] and sky.objects == {}


def test_a_copy_of_a_rented_run_that_still_went_on_is_told_as_a_copy_and_can_be_deleted(
    rented: RentedDesk, sky: Sky, tmp_path: Path
) -> None:
    sent = strangers_rented_run(tmp_path / "sent")
    for path in (sent / "events").iterdir():
        lines = [line for line in path.read_bytes().splitlines(keepends=True) if b'"end"' not in line]
        path.write_bytes(b"".join(lines))
    run = rented.runs.import_folder(sent).run
    with pytest.raises(RunError, match="run-imported"):  # a word that nobody would hear
        rented.runs.stop(run)
    rented.driver.turn(run)
    assert rented.driver.problems[run].id == "run-imported"
    rented.runs.delete(run)
    assert run not in [one.run for one in rented.runs.list()] and sky.created_names == []


def test_nor_one_that_lies_elsewhere_or_that_names_nobody_who_drives_it(
    rented: RentedDesk, sky: Sky, tmp_path: Path
) -> None:
    elsewhere = strangers_rented_run(tmp_path / "friendly-b2b2")
    mine = desk.owner_record(desk.install_id(rented.runs.home), t=1.0)  # once seen, anybody can write it
    (elsewhere / OWNER).write_text(json.dumps(mine))
    with pytest.raises(BadInput, match="run-lies-elsewhere"):
        rented.runs.resume(str(elsewhere))
    strangers_rented_run(rented.runs.runs_folder / "friendly-b2b2")  # put there by hand
    with pytest.raises(RunError, match="run-imported"):
        rented.runs.resume("friendly-b2b2")
    rented.driver.turn("friendly-b2b2")
    assert sky.created_names == []


def test_a_rented_run_of_ours_whose_owner_file_is_damaged_is_ours_by_the_journal(rented: RentedDesk, sky: Sky) -> None:
    run = rented.runs.launch(cloud_plan())
    (rented.runs.folder(run) / OWNER).write_bytes(b"{")
    for _ in range(10):
        sky.pass_time(max(5.0, rented.driver.turn(run)))
    assert sky.created_names


def waiting_run_of(folder: Path, install: str) -> Path:
    """A rented run that somebody copied among the runs: it waits to be asked for, and says who drives it."""
    sent = strangers_rented_run(folder)
    for path in (sent / "events").iterdir():
        path.unlink()
    target = encode(event("target", t=2.0, steps=44))
    queued = encode(event("phase", t=2.1, phase="queued", detail="submitted", attempt=1))
    (sent / "events" / f"desk-{install}.jsonl").write_bytes(target + queued)
    (sent / OWNER).write_text(json.dumps({"install": install, "t": 2.0, "host": "x"}))
    return sent


@pytest.mark.parametrize("name", ["somebody", "ours"])
def test_a_run_copied_among_the_runs_rents_nothing_whoever_it_says_drives_it(
    rented: RentedDesk, sky: Sky, name: str
) -> None:
    rented.journal.fresh = False  # as at any start but the first, or the one after it was lost
    ours = desk.install_id(rented.runs.home)
    waiting_run_of(rented.runs.runs_folder / "friendly-b2b2", ours if name == "ours" else "abcdefgh")
    for _ in range(5):
        sky.pass_time(max(5.0, rented.driver.turn("friendly-b2b2")))
    assert sky.created_names == [] and sky.objects == {}
    assert rented.driver.problems["friendly-b2b2"].id == "run-imported"


def test_a_lost_journal_learns_of_our_own_runs_only(rented: RentedDesk, sky: Sky) -> None:
    run = rented.runs.launch(cloud_plan())
    waiting_run_of(rented.runs.runs_folder / "friendly-b2b2", "abcdefgh")
    for path in rented.runs.home.glob("journal.db*"):
        path.unlink()
    again = JournalFile(rented.runs.home / "journal.db")
    try:
        assert again.fresh
        Driver(rented.runs.home, places={"practice": sky.place()}, journal=again).tell_journal()
        assert again.plan_of(run) is not None and again.plan_of("friendly-b2b2") is None
    finally:
        again.disconnect()


def test_a_plan_that_was_exchanged_after_the_launch_is_the_launched_one_again(rented: RentedDesk, sky: Sky) -> None:
    run = rented.runs.launch(cloud_plan())
    path = rented.runs.folder(run) / PLAN
    launched, tree = path.read_bytes(), json.loads(path.read_bytes())
    tree["limits"] = {**tree["limits"], "money_usd": 250_000.0}
    path.write_text(json.dumps(tree))
    rented.driver.turn(run)
    assert json.loads(path.read_bytes()) == json.loads(launched)


def test_a_yes_for_this_computer_rents_nothing_for_a_model_file(rented: RentedDesk, sky: Sky, tmp_path: Path) -> None:
    """It is asked for the kind of place: on a rented machine code reaches more."""
    consents = Consents(tmp_path / "home")
    runs = Runs(
        rented.runs.home,
        places={},
        journal=rented.journal,
        index=rented.index,
        driver=rented.driver,
        agreed=consents.agreed,
    )
    theirs = own("cloud")
    frozen = replace(cloud_plan(), job=theirs.job, consent=SHA256, place="cloud")
    consents.agree(SHA256, "own_model.py")
    with pytest.raises(ModelError, match="model-no-consent") as refused:
        runs.launch(frozen)
    assert refused.value.facts["place"] == "cloud"
    assert runs.list() == [] and sky.created_names == [] and sky.objects == {}
