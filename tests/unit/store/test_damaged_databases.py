"""Bytes of index, columns and journal that are not those that were written: begun anew, or put aside, and never raised.

FUZZ_HOMES and FUZZ_SEED make it many more than the dose that every test run takes.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest

from tests.fakes.clouddesk import CloudDesk, ends
from tests.fakes.plans import plan
from tests.fakes.skies import Sky
from tests.fakes.studio import Studio
from tpu_studio.store.index import Index
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.errors import NotReady
from tpu_studio.wire.runfolder import PLAN

HOMES = int(os.environ.get("FUZZ_HOMES", "40"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two runs, an index that knows them, and a journal."""
    base = tmp_path_factory.mktemp("whole")
    made = Studio(tmp_path_factory.mktemp("here"), "--steps", "40")
    run = made.runs.launch(plan())
    made.wait(run)
    made.close()
    desk = CloudDesk(tmp_path_factory.mktemp("rented"), Sky())
    ends(desk)
    desk.die()
    for number, source in enumerate((made.runs.folder(run), desk.folder)):
        folder = base / "runs" / f"r{number}"
        shutil.copytree(source, folder)
        frozen = json.loads((folder / PLAN).read_bytes())
        (folder / PLAN).write_text(json.dumps({**frozen, "run": folder.name}))
    index = Index(base)
    for folder in sorted((base / "runs").iterdir()):
        assert not index.summary(folder).problem
    index.close()
    journal = JournalFile(base / "journal.db")
    for number in range(60):
        opened = journal.open("launch", f"r{number % 2}", {"plan": {"format": 1, "x": "y" * 300}}, float(number))
        if number % 3:
            journal.close(opened, "done", float(number))
    journal.disconnect()
    return base


def damaged(data: bytes, chance: random.Random) -> bytes:
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


def use(home: Path) -> None:
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


@pytest.mark.parametrize("part", range(4))
def test_whatever_bytes_are_damaged_the_next_start_has_its_index_and_its_journal(
    whole: Path, tmp_path: Path, part: int
) -> None:
    chance = random.Random(SEED * 4 + part)
    for number in range(HOMES // 4):
        home = tmp_path / str(number)
        shutil.copytree(whole, home)
        victims = sorted(
            path
            for path in home.rglob("*")
            if path.is_file() and ("columns" in path.parts or path.name.startswith(("index.db", "journal.db")))
        )
        chosen = [
            *chance.sample(victims, min(len(victims), chance.randint(1, 3))),
            home / "index.db",
            home / "journal.db",
        ]
        for victim in chosen:
            victim.write_bytes(damaged(victim.read_bytes(), chance))
        use(home)
        index = Index(home)
        rows = [index.summary(folder) for folder in sorted((home / "runs").iterdir())]
        index.close()
        assert [row.problem for row in rows] == ["", ""], number
        shutil.rmtree(home)
