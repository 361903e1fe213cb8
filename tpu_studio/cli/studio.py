"""The services behind the verbs, each built on first need, so that a quick verb stays quick."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_studio.wire.homes import home_folder

if TYPE_CHECKING:
    from tpu_studio.local.consents import Consents
    from tpu_studio.local.engine import Engine, StarterWeights
    from tpu_studio.local.preflight import Preflight
    from tpu_studio.local.stopwatch import Stopwatch
    from tpu_studio.planner.own import OwnRuns
    from tpu_studio.store.index import Index
    from tpu_studio.store.journal import JournalFile
    from tpu_studio.wire.errors import StudioError
    from tpu_studio.workflow.cloudruns.driver import Driver
    from tpu_studio.workflow.ports import Journal
    from tpu_studio.workflow.runs import Runs


class Studio:
    """Close it, or use `studio`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.only_reading: StudioError | None = None  # why nothing can be changed
        self._closing = ExitStack()

    @cached_property
    def engine(self) -> Engine:
        from tpu_studio.local.engine import Engine, engine_root

        return Engine(engine_root())

    @cached_property
    def compiler(self) -> Engine:
        """The TPU compiler's environment."""
        from tpu_studio.local.engine import compiler, engine_root

        return compiler(engine_root())

    @cached_property
    def tf_compiler(self) -> Engine:
        """What lowers TensorFlow for a TPU."""
        from tpu_studio.local.engine import engine_root, tf_compiler

        return tf_compiler(engine_root())

    @cached_property
    def starter_weights(self) -> StarterWeights:
        """What models can begin from."""
        from tpu_studio.local.engine import StarterWeights

        return StarterWeights(self.engine)

    @property
    def extras(self) -> tuple[Engine, ...]:
        """What stands beside the training engine."""
        from tpu_studio.local.engine import extra
        from tpu_studio.local.engine.spec import ONNX_EXPORTER

        return self.compiler, self.tf_compiler, self.starter_weights, extra(self.engine.root, ONNX_EXPORTER)

    @cached_property
    def preflight(self) -> Preflight:
        from tpu_studio.local.preflight import Preflight

        return Preflight(self.home, self.engine, self.compiler, tf_compiler=self.tf_compiler)

    @cached_property
    def consents(self) -> Consents:
        from tpu_studio.local.consents import Consents

        return Consents(self.home)

    @cached_property
    def stopwatch(self) -> Stopwatch:
        from tpu_studio.local.stopwatch import Stopwatch

        return Stopwatch(self.home, self.engine)

    @cached_property
    def index(self) -> Index:
        from tpu_studio.store.index import Index

        return Index(self.home, counts=self._counts)

    @cached_property
    def journal(self) -> JournalFile:
        from tpu_studio.store.journal import JournalFile

        made = JournalFile(self.home / "journal.db")
        if made.put_aside is not None:
            from tpu_studio.domain.sentences import say
            from tpu_studio.wire.errors import NotReady

            print(say(NotReady("journal-put-aside", file=str(made.put_aside))), file=sys.stderr)
        return made

    @cached_property
    def driver(self) -> Driver:
        """Drives runs on rented machines."""
        return self._driver(self.journal)

    def _driver(self, journal: Journal) -> Driver:
        from tpu_studio.cloud.places import rented_places
        from tpu_studio.workflow.cloudruns.driver import Driver

        def start_practice() -> Mapping[str, object]:
            from tpu_studio.places.reaching import practice_for_runs

            return practice_for_runs(self.home)

        return Driver(self.home, places=rented_places(self.home, start_practice), journal=journal)

    @cached_property
    def runs(self) -> Runs:
        """With what a crash left behind put in order."""
        from tpu_studio.local.computer import local_places
        from tpu_studio.workflow.runs import Runs

        made = Runs(
            self.home,
            places=local_places(self.home, self.engine),
            journal=self.journal,
            index=self.index,
            driver=self.driver,
            agreed=self.consents.agreed,
        )
        made.reconcile()
        return made

    @cached_property
    def reading(self) -> Runs:
        """`runs` to look at: also in a home that cannot be written, is full, or has a journal that cannot be read.

        `only_reading` then says why; what frees a full disk can be done.
        """
        from tpu_studio.local.computer import local_places
        from tpu_studio.wire.errors import NotReady, RunError
        from tpu_studio.workflow.readingruns import ClosedJournal, ReadingRuns

        try:
            return self.runs
        except (NotReady, RunError) as error:
            self.only_reading = error
            places = local_places(self.home, self.engine)
            driver = self._driver(ClosedJournal(error))
            return ReadingRuns(self.home, error, self._reading_index(), places=places, driver=driver)

    def own_runs(self) -> OwnRuns:
        """What this person's runs of before teach the estimate; nothing where they cannot be read."""
        from tpu_studio.wire.errors import RunError
        from tpu_studio.workflow.forgetting import own_runs, rows_of

        if not (self.home / "runs").is_dir():
            return own_runs(())
        try:
            return own_runs(rows_of(self.home, self.index))
        except (RunError, OSError):
            return own_runs(())

    def _reading_index(self) -> Index:
        """The index; where it cannot be had, one in a folder that goes with this command."""
        from tpu_studio.store.index import PassingIndex
        from tpu_studio.wire.errors import RunError

        try:
            return self.index
        except RunError:
            self._closing.callback((made := PassingIndex(self.home, counts=self._counts)).close)
            return made

    def _counts(self, folder: Path) -> str:
        """See `Driver.counts`; of a run that came as files, and where the journal cannot be read, all that is there."""
        from tpu_studio.wire.errors import NotReady

        try:
            return self.driver.counts(folder)
        except NotReady:
            return "*"

    def close(self) -> None:
        self._closing.close()
        if "index" in self.__dict__:
            self.index.close()
        if "journal" in self.__dict__:
            self.journal.disconnect()


@contextmanager
def studio() -> Iterator[Studio]:
    made = Studio(home_folder())
    try:
        yield made
    finally:
        made.close()
