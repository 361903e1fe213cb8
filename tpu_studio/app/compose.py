"""Builds what works behind the window: runs, store, place and engine. No Qt; runs on the background loop.

Imported after the first picture is on screen: its imports (numpy, SQLite, the store) cost more than that picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tpu_studio.cloud.places import rented_places
from tpu_studio.local.computer import local_places
from tpu_studio.local.consents import Consents
from tpu_studio.local.engine import Engine, compiler, engine_root, tf_compiler
from tpu_studio.local.preflight import Preflight
from tpu_studio.local.stopwatch import Stopwatch
from tpu_studio.places.reaching import practice_for_runs
from tpu_studio.store.index import Index, PassingIndex
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.errors import NotReady, RunError, StudioError
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.steward import Steward
from tpu_studio.workflow.readingruns import ClosedJournal, ReadingRuns
from tpu_studio.workflow.runs import Runs

TRASH_KEPT_S = 7 * 86_400.0


@dataclass(frozen=True)
class Services:
    """Everything here blocks; the window calls it through `Tasks`."""

    home: Path
    engine: Engine
    index: Index
    journal: JournalFile | ClosedJournal
    runs: Runs
    consents: Consents
    stopwatch: Stopwatch
    driver: Driver
    steward: Steward
    compiler: Engine
    preflight: Preflight
    only_reading: StudioError | None = None  # why nothing can be begun or changed

    def settle(self) -> None:
        """Once at each start: give lost runs their end, and empty what has been in the trash for a week."""
        self.runs.reconcile()
        self.runs.empty_trash(TRASH_KEPT_S)

    def close(self) -> None:
        self.index.close()
        self.journal.disconnect()


def compose(home: Path) -> Services:
    """In a home that cannot be written, or whose journal cannot be read, for looking only: see `only_reading`."""
    engine, tpu_compiler = Engine(engine_root()), compiler(engine_root())
    why: StudioError | None = None
    journal: JournalFile | ClosedJournal
    try:
        journal = JournalFile(home / "journal.db")
    except NotReady as error:
        journal, why = ClosedJournal(error), error
    driver = Driver(home, places=rented_places(home, lambda: practice_for_runs(home)), journal=journal)
    try:
        index = Index(home, counts=driver.counts)
    except RunError as error:
        index, why = PassingIndex(home, counts=driver.counts), why or error
    places = local_places(home, engine)
    consents = Consents(home)
    runs = (
        ReadingRuns(home, why, index, places=places, driver=driver)
        if why is not None
        else Runs(home, places=places, journal=journal, index=index, driver=driver, agreed=consents.agreed)
    )
    steward = Steward(driver)
    return Services(
        home,
        engine,
        index,
        journal,
        runs,
        consents,
        Stopwatch(home, engine),
        driver,
        steward,
        tpu_compiler,
        Preflight(home, engine, tpu_compiler, tf_compiler=tf_compiler(engine_root())),
        why,
    )
