"""Run folders, their events, index, columns and journal, damaged: every verb works for all other runs."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.fakes.clouddesk import CloudDesk, ends
from tests.fakes.fuzz.target import Base, told
from tests.fakes.hostile import Damage
from tests.fakes.plans import plan
from tests.fakes.skies import Sky
from tests.fakes.studio import Studio
from tpu_studio.cli.keeping import _parts, as_json
from tpu_studio.domain.folding import apply
from tpu_studio.domain.run import RunView
from tpu_studio.store.follower import _of_machine
from tpu_studio.store.index import Index
from tpu_studio.store.journal import JournalFile
from tpu_studio.store.reading import Points, Reader, records
from tpu_studio.viewmodels import receipt
from tpu_studio.wire.errors import NotReady
from tpu_studio.wire.events import decode
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.mine import Mine
from tpu_studio.workflow.cloudruns.state import fold
from tpu_studio.workflow.runs import Runs

MACHINE = Path("a0001-w000.jsonl")
LINES = (
    b'{"t":1795388000.0,"kind":"money","usd":1.84,"usd_per_hour":3.12,"since":1795227550.0,"usd_at_least":1}',
    b'{"t":1795388000.0,"kind":"device","worker":3,"duty_cycle":0.71,"hbm_used_bytes":9.1e9,"hbm_total_bytes":1.6e10}',
    b'{"t":1795388000.0,"kind":"control","verb":"stop","number":1,"keep":true}',
    b'{"t":1795388000.0,"kind":"attempt-over","attempt":1,"reason":"preempted"}',
    b'{"t":1795388000.0,"kind":"notice","id":"preempted","level":"warning","facts":{"by":"metadata","heard":1795388000}}',
    b'{"t":1795388000.0,"kind":"waiting","zones":["a"],"since":1,"tries":[1]}',
    b'{"t":1795388000.0,"kind":"metric","step":[1,2],"loss":[2.3,2.1]}',
    b'{"t":1795388000.0,"kind":"speed","step":9,"steps":9,"examples":9,"seconds":2.1,"mfu":0.41}',
    b'{"t":1795388000.0,"kind":"profile","state":"done","step":9,"steps":24,"seconds":1.9,"on":"tpu","path":"profile/9",'
    b'"shares":{"matrix":0.4,"memory":0.3,"collectives":0,"data":0.1,"host":0.2,"compile":0},"top":[["dot.1","matrix",0.3]]}',
    b'{"t":1795388000.0,"kind":"profile","state":"failed","step":9,"why":"not-read","raw":"x"}',
)


def finished(folder: Path) -> Path:
    """The folder of a run of this computer that trained to its end."""
    made = Studio(folder, "--steps", "20")
    run = made.runs.launch(plan())
    made.wait(run)
    made.close()
    return made.runs.folder(run)


def rented(folder: Path) -> Path:
    """The folder of a run of the fake cloud, with its proofs."""
    desk = CloudDesk(folder, Sky())
    ends(desk)
    desk.die()
    return desk.folder


def studio_in(home: Path) -> Studio:
    """One that has both places."""
    made = Studio(home, "--steps", "5")
    driver = Driver(made.home, places={"practice": Sky().place()}, journal=made.journal)
    made.runs = Runs(
        made.home, places={"computer": made.computer}, journal=made.journal, index=made.index, driver=driver
    )
    return made


def put(studio: Studio, source: Path, name: str) -> Path:
    """*source* as the run *name*."""
    folder = studio.runs.runs_folder / name
    left_out = shutil.ignore_patterns("checkpoints", "saved_model", "tensorboard", "*.keras")
    shutil.copytree(source, folder, ignore=left_out)
    frozen = json.loads((folder / PLAN).read_bytes())
    (folder / PLAN).write_text(json.dumps({**frozen, "run": name}))
    return folder


class Events(Base):
    """Lines of events through the readers of runs here and rented, and both folds."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        runs = (finished(folder / "here"), rented(folder / "rented"))
        found = [path for run in runs for path in sorted((run / "events").glob("*.jsonl"))]
        self.known = sorted({line for path in found for line in path.read_bytes().splitlines()})

    def one(self, chance: random.Random) -> None:
        damage, view = Damage(chance), RunView()
        for _ in range(20):
            line = damage.mutated_record(chance.choice([*self.known, *LINES * 3]))
            self.given("event", line)
            told = records([line])
            for here in (told, _of_machine(MACHINE, told, 1.2, alone=False)):  # also as of a machine that is rented
                for part in Reader().read(here).parts:
                    if isinstance(part, Points):
                        list(part.rows())
            found = decode(line)
            if found is not None:
                view = apply(view, found)
                fold([found])


class Folders(Base):
    """A damaged run beside a good one, through every verb."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.sources = (finished(folder / "here"), rented(folder / "rented"))
        self.studio = studio_in(folder / "home")
        put(self.studio, self.sources[0], "good-aaaa")
        self._number = 0

    def one(self, chance: random.Random) -> None:
        runs, damage = self.studio.runs, Damage(chance)
        self._number += 1
        name = f"bad-{self._number:04d}"
        folder = put(self.studio, chance.choice(self.sources), name)
        self._hurt(folder, damage)
        rows = {row.run: row for row in runs.list()}
        assert rows["good-aaaa"].reason == "completed", name
        assert name in rows or not (folder / PLAN).exists(), "it can be seen"
        for row in rows.values():
            json.dumps(as_json(row))
        assert runs.summary("good-aaaa").problem == ""
        Mine(self.studio.home, self.studio.journal).unsettled()
        out = self.folder / "out"
        held = [path for path in (folder / "result").rglob("*") if path.is_file() and not path.name.startswith(".")]
        exported = told(lambda: runs.export(name, out / name))
        assert not held or exported is not None, "it is exported as it is"
        for verb in self._verbs():
            told(lambda: verb(name))  # noqa: B023  at once
        runs.reconcile()
        told(lambda: runs.remove_for_good(name) if chance.random() < 0.5 else runs.delete(name))
        for left in (folder, out):  # its machine may be there still
            shutil.rmtree(left, ignore_errors=True)

    def _hurt(self, folder: Path, damage: Damage) -> None:
        chance = damage.random
        victims = sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".jsonl") and path.is_file())
        for victim in chance.sample(victims, min(len(victims), chance.randint(1, 3))):
            data = damage.mutated_file(victim.read_bytes(), lines=victim.suffix == ".jsonl")
            self.given(victim.relative_to(folder).as_posix(), data)
            victim.write_bytes(data)
            if chance.random() < 0.02:
                victim.unlink()
                victim.mkdir()

    def _verbs(self) -> tuple[Callable[[str], object], ...]:
        runs = self.studio.runs
        assert runs.driver is not None
        return (
            runs.driver.turn,
            lambda run: runs.follow(run).close(),
            runs.settle,
            runs.plan,
            runs.stop,
            runs.resume,
            lambda run: runs.extend(run, 1.0),
            lambda run: runs.import_folder(runs.runs_folder / run),
            lambda run: _receipt(runs.runs_folder / run),
        )

    def close(self) -> None:
        self.studio.close()


def _receipt(folder: Path) -> None:
    """As the run's page and `show` read it."""
    try:
        receipt.facts_in(folder)
    except ValueError as error:
        assert str(error) == "The receipt is damaged."
    for one in _parts(folder) or []:
        assert receipt.part_of_bill(one).label is not None


class Databases(Base):
    """Index, columns and journal: begun anew, or put aside, and never raised."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.whole = folder / "whole"
        for number, source in enumerate((finished(folder / "here"), rented(folder / "rented"))):
            run = self.whole / "runs" / f"r{number}"
            shutil.copytree(source, run)
            frozen = json.loads((run / PLAN).read_bytes())
            (run / PLAN).write_text(json.dumps({**frozen, "run": run.name}))
        index = Index(self.whole)
        for run in sorted((self.whole / "runs").iterdir()):
            assert not index.summary(run).problem
        index.close()
        journal = JournalFile(self.whole / "journal.db")
        for number in range(60):
            opened = journal.open("launch", f"r{number % 2}", {"plan": {"format": 1, "x": "y" * 300}}, float(number))
            if number % 3:
                journal.close(opened, "done", float(number))
        journal.disconnect()

    def one(self, chance: random.Random) -> None:
        home = self.folder / "home"
        shutil.copytree(self.whole, home)
        try:
            self._hurt(home, chance)
            _use(home)
            index = Index(home)
            rows = [index.summary(run) for run in sorted((home / "runs").iterdir())]
            index.close()
            assert [row.problem for row in rows] == ["", ""]
        finally:
            shutil.rmtree(home)

    def _hurt(self, home: Path, chance: random.Random) -> None:
        known = ("index.db", "journal.db")
        parts = sorted(
            path
            for path in home.rglob("*")
            if path.is_file() and ("columns" in path.parts or path.name.startswith(known))
        )
        for victim in {*chance.sample(parts, min(len(parts), chance.randint(1, 3))), *(home / name for name in known)}:
            data = _other_bytes(victim.read_bytes(), chance)
            self.given(victim.relative_to(home).as_posix(), data)
            victim.write_bytes(data)


def _other_bytes(data: bytes, chance: random.Random) -> bytes:
    kind = chance.random()
    if kind < 0.1:
        return data[: chance.randrange(len(data) + 1)]
    if kind < 0.15:
        return chance.randbytes(len(data))
    if kind < 0.2:
        return b""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 3, 20, 300))):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _use(home: Path) -> None:
    """All that the app does with them, again and again as it does."""
    for _ in range(2):
        index = Index(home)
        for folder in sorted((home / "runs").iterdir()):
            index.summary(folder)
            following = index.follow(folder)
            following.poll()
            for metric in following.metrics:
                curve = following.curve(metric)
                bounds = curve.bounds()
                if bounds:
                    curve.window(*bounds, 50)
            following.close()
        index.close()
    try:
        journal = JournalFile(home / "journal.db")
    except NotReady as error:
        assert error.id == "journal-newer"  # the byte that tells the version: nobody can know better
        return
    journal.open_intents()
    journal.plan_of("r0")
    journal.close(journal.open("launch", "r9", {}, 1.0), "done", 2.0)
    journal.disconnect()
