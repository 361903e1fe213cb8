"""Runs that have ended: of each kind one is trained by a real guardian, and what a test wants is a copy of it.

A launch and a counting trainer are a second of a processor, a copy is a few milliseconds.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.fakes.studio import Studio
from tpu_studio.wire.plan import Plan, dumps

INSTALL = "install-id"


class Ended:
    """Made in *folder*, which stays."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._install = folder / INSTALL
        self._made: dict[tuple[bytes, tuple[str, ...]], Path] = {}

    def put(self, home: Path, plan: Plan, *trainer: str) -> str:
        """A run of *plan* in *home*, launched and ended there as far as anybody can tell; its name.

        Args:
            home: Of no other install: nothing has been launched there yet, or it has such runs already.
            trainer: Options of the trainer that counts (`tests.fakes.trainer`).
        """
        source = self._run(plan, trainer)
        if not (home / INSTALL).exists():
            shutil.copyfile(self._install, home / INSTALL)
        assert (home / INSTALL).read_bytes() == self._install.read_bytes()
        shutil.copytree(source, home / "runs" / source.name)
        return source.name

    def _run(self, plan: Plan, trainer: tuple[str, ...]) -> Path:
        kind = (dumps(plan), trainer)
        if kind not in self._made:
            home = self._folder / str(len(self._made))  # its own: else the second of a name is called otherwise
            home.mkdir()
            if self._install.exists():
                shutil.copyfile(self._install, home / INSTALL)
            studio = Studio(home, *trainer)
            run = studio.runs.launch(plan)
            studio.wait(run)
            studio.close()
            shutil.copyfile(home / INSTALL, self._install)
            self._made[kind] = studio.runs.folder(run)
        return self._made[kind]
