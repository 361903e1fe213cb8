"""The Settings page: appearance, folders and their sizes, remembered consents, the app's own facts.

Appearance takes effect through whoever subscribes to `appearance` (the theme in the window); here it is kept and
written. The engine has its own view-model.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tpu_studio.domain import figures
from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.viewmodels.settings_file import Loaded, Settings, changed, save

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tpu_studio.workflow.ports import Tasks


@dataclass(frozen=True)
class Folder:
    """A folder of the app's; *size* is "" until measured."""

    title: str
    help: str
    path: Path
    size: str = ""


@dataclass(frozen=True)
class Agreed:
    """A model file of the person's own that may run: where it was, its sha256, when it was agreed to (s since 1970)."""

    path: str
    sha256: str
    agreed: float = 0.0

    @property
    def name(self) -> str:
        return os.path.basename(self.path) or self.sha256[:12]


class Consents(Protocol):
    """The remembered agreements; calls read or write one small file."""

    def all(self) -> Sequence[Any]: ...
    def revoke(self, sha256: str) -> None: ...


@dataclass(frozen=True)
class SettingsView:
    settings: Settings = field(default_factory=Settings)
    note: str = ""
    folders: tuple[Folder, ...] = ()
    measuring: bool = False
    agreed: tuple[Agreed, ...] | None = None  # None: not read yet
    problem: Problem | None = None


class SettingsViewModel:
    """Commands: `set`, `told`, `measure`, `revoke`."""

    def __init__(self, home: Path, loaded: Loaded, tasks: Tasks) -> None:
        self.home = home
        self._file = home / "settings.toml"
        self._tasks = tasks
        self._consents: Consents | None = None
        folders = (
            Folder(
                "Runs",
                "Every run with its model, curves and events. Copy a run's folder to take it elsewhere.",
                home / "runs",
            ),
            Folder("Deleted runs", "Kept for a week, then gone for good.", home / "trash"),
            Folder("Charts and index", "Made from the runs; rebuilt when it is missing.", home / "columns"),
        )
        self.state = Observable(SettingsView(loaded.settings, loaded.problem, folders))
        self.appearance = Observable(loaded.settings)

    def connect(self, consents: Consents) -> None:
        self._consents = consents

    def set(self, **changes: object) -> None:
        """Change settings (see `settings_file.Settings`) and write them. They hold even if the disk refuses."""
        settings = changed(self.state.value.settings, **changes)
        self.state.set(replace(self.state.value, settings=settings, problem=None))
        self.appearance.set(settings)
        try:
            save(self._file, settings)
        except OSError as error:
            self.state.set(replace(self.state.value, problem=problem_of(error)))

    def told(self, hint: str) -> bool:
        """True when *hint* was shown before; otherwise remember that it is being shown now."""
        known = self.state.value.settings.told
        if hint in known:
            return True
        self.set(told=(*known, hint))
        return False

    def measure(self) -> None:
        """Read the folders' sizes and the consents anew (away from the window: there may be many files)."""
        if self.state.value.measuring:
            return
        self.state.set(replace(self.state.value, measuring=True))
        folders, consents = self.state.value.folders, self._consents

        def work() -> tuple[tuple[Folder, ...], tuple[Agreed, ...]]:
            measured = tuple(replace(folder, size=figures.size(folder_size(folder.path))) for folder in folders)
            return measured, agreed_of(consents) if consents else ()

        self._tasks.submit(work, done=self._measured, failed=self._failed)

    def revoke(self, sha256: str) -> None:
        """Forget that the file with this sha256 may run; it asks again next time."""
        consents = self._consents
        if consents is None:
            return

        def work() -> tuple[Agreed, ...]:
            consents.revoke(sha256)
            return agreed_of(consents)

        self._tasks.submit(
            work, failed=self._failed, done=lambda agreed: self.state.set(replace(self.state.value, agreed=agreed))
        )

    def _measured(self, found: tuple[tuple[Folder, ...], tuple[Agreed, ...]]) -> None:
        self.state.set(replace(self.state.value, folders=found[0], agreed=found[1], measuring=False))

    def _failed(self, error: BaseException) -> None:
        self.state.set(replace(self.state.value, measuring=False, problem=problem_of(error)))


def agreed_of(consents: Consents) -> tuple[Agreed, ...]:
    return tuple(Agreed(str(one.path), str(one.sha256), float(one.agreed)) for one in consents.all())


def folder_size(folder: Path) -> int:
    """Bytes of the files in *folder*, links not followed; what vanishes or may not be read counts nothing."""
    total = 0
    for path, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(path, name)).st_size
            except OSError:
                continue
    return total
