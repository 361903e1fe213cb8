"""Let pip fetch and install the engine's packages, and turn what it says into progress and into one clear error.

pip is the engine's own, first replaced by the version in the lock: older ones (Debian 12 has 23.0) can neither tell
bytes (`--progress-bar raw`) nor resume a broken download. Every file is checked against its hash in the lock.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tpu_studio.local.engine import processes
from tpu_studio.local.engine.lock import Lock, canonical
from tpu_studio.local.engine.progress import Cancelled, Progress, ProgressSink, Step
from tpu_studio.local.engine.state import Paths, installed_versions
from tpu_studio.local.engine.wheels import Unpacking, download_groups, open_wheel, sound_wheels
from tpu_studio.wire.errors import NotReady, StudioError

_WHEEL = re.compile(r"\s*(?:Downloading|Using cached|Processing|File was already downloaded)\s(?:.*/)?([^/]+?\.whl)")
_BYTES = re.compile(r"Progress (\d+) of \d+")
_NO_SPACE = "No space left on device"
_BAD_FILE = re.compile(r"DO NOT MATCH THE HASHES|has an invalid wheel|BadZipFile|is not a zip file", re.IGNORECASE)
_NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|connection broken by"
    r"|Network is unreachable|Temporary failure in name resolution|Connection (?:refused|reset|aborted)"
    r"|IncompleteRead|ProtocolError|incomplete-download|No route to host",
)
_CHECKED = ("--no-deps", "--only-binary=:all:", "--require-hashes")
# No compiling: the self-test compiles what is really used; all of it would cost 15 s and 0.1 GB more.
_INSTALL = ("install", "--no-index", "--no-compile", "--no-warn-script-location", "--root-user-action=ignore")


@dataclass(frozen=True)
class Pip:
    """One installation's pip: where it works, what it may use, whom it tells.

    Attributes:
        python: Version of the engine's Python, `3.11`.
        guard: File descriptor of the engine's lock, inherited by pip (see `processes.run`).
        wheels: A person's folder of wheels to use instead of the network.
    """

    paths: Paths
    lock: Lock
    python: str
    progress: ProgressSink
    cancelled: Cancelled
    guard: int
    wheels: Path | None = None

    def install_all(self) -> None:
        """Raises NotReady: engine-offline, engine-no-disk, engine-install-failed; StudioError: engine-cancelled."""
        self._bring(sorted(self.lock.packages))

    def fetch_all(self) -> None:
        """Have every file in our folder, and install nothing. Raises as `install_all`."""
        names = sorted(self.lock.packages)
        self._fetch(names, _Count(self, names))

    def reinstall(self, names: Sequence[str]) -> None:
        """Replace damaged packages; until pip is through they do not count as installed."""
        for info in self.paths.main.glob("lib/python3.*/site-packages/*.dist-info"):
            if canonical(info.name.partition("-")[0]) in names:
                (info / "INSTALLER").unlink(missing_ok=True)
        self._bring(sorted(names), "--force-reinstall")

    def _bring(self, names: list[str], *options: str) -> None:
        count = _Count(self, names)
        if "pip" in names:
            count.old_pip = True
            self._fetch(["pip"], count)
            self._install(["pip"], count, "--upgrade")
            count.old_pip = False
        self._fetch(names, count)
        self._install(names, count, *options)

    def _fetch(self, names: list[str], count: _Count) -> None:
        """Have each of *names* whole in our folder; what already lies there is not fetched again."""
        if self.wheels:
            return
        self.paths.wheels.mkdir(exist_ok=True)
        sound = sound_wheels(self.paths.wheels, self.lock, self._stop_if_cancelled)
        count.fetched(sound & set(count.names))
        for group in download_groups([name for name in names if name not in sound], self.lock, self.python):
            bar = ("--progress-bar", "off" if count.old_pip else "raw")
            command = ("download", *bar, "--dest", str(self.paths.wheels))
            code, said = self._pip(group, command, count.read_download, lambda: None)
            if code != 0 and _BAD_FILE.search(said):  # a file in pip's cache may be damaged: fetch it anew, once
                code, said = self._pip(group, (*command, "--no-cache-dir"), count.read_download, lambda: None)
            if code != 0:
                raise self._error(code, said, count.name)
            count.fetched(set(group))

    def _install(self, names: list[str], count: _Count, *options: str) -> None:
        count.queue, count.name, count.furthest = [], "", 0
        command = (*_INSTALL, "--find-links", str(self.wheels or self.paths.wheels), *options)
        code, said = self._pip(names, command, count.read_install, count.tell_installing)
        if code != 0:
            raise self._error(code, said, count.name)

    def _pip(
        self, names: list[str], command: Sequence[str], on_line: Callable[[str], None], idle: Callable[[], None]
    ) -> tuple[int, str]:
        self.paths.temporary.mkdir(exist_ok=True)
        wanted = self.paths.temporary / "wanted.txt"
        wanted.write_text("".join(self.lock.packages[name].text for name in names), encoding="utf-8")
        common = ("--disable-pip-version-check", "--no-input")
        return processes.run(
            [self.paths.python, "-I", "-u", "-m", "pip", *common, *command, *_CHECKED, "-r", wanted],
            # Files on their way lie in our folder, so that the disk that was checked is the disk that is used.
            env=processes.clean_environment(TMPDIR=str(self.paths.temporary)),
            log=self.paths.log,
            on_line=on_line,
            idle=idle,
            cancelled=self.cancelled,
            keep_open=(self.guard,),
        )

    def _stop_if_cancelled(self, _name: str) -> None:
        if self.cancelled():
            raise StudioError("engine-cancelled")

    def _error(self, code: int, said: str, name: str) -> StudioError:
        raw = "\n".join(said.splitlines()[-15:])
        facts: dict[str, object] = {"folder": str(self.paths.root), "raw": raw, "log": str(self.paths.log)}
        if _NO_SPACE in said:
            return no_disk(self.paths.root, raw=raw)
        if _NO_NETWORK.search(said):
            size = self.lock.download_bytes(self.python)
            return NotReady("engine-offline", packages=len(self.lock.packages), download_bytes=size, **facts)
        problem = "damaged-file" if _BAD_FILE.search(said) else "pip"
        if missing := re.search(r"No matching distribution found for (\S+)", said):
            problem, name = "missing-file", missing[1]
        return NotReady("engine-install-failed", problem=problem, package=name, exit_code=code, **facts)


@dataclass
class _Count:
    """Counts along with pip's lines; the bytes of a finished file are its size in the lock."""

    pip: Pip
    names: list[str]
    name: str = ""
    old_pip: bool = False
    done: set[str] = field(default_factory=set)
    queue: list[str] = field(default_factory=list)
    unpacking: Unpacking | None = None
    furthest: int = 0  # bytes; a package that replaces an older one seems whole until pip has cleared the place

    def fetched(self, names: set[str]) -> None:
        self.done |= names
        self.name = ""

    def read_download(self, line: str) -> None:
        if found := _BYTES.match(line):
            self._tell_downloading(int(found[1]))
        elif found := _WHEEL.match(line):
            if self.name:
                self.done.add(self.name)
            self.name = canonical(found[1].split("-")[0])
            self._tell_downloading()
        elif "Retrying (" in line:
            self._tell_downloading(retrying=True)

    def read_install(self, line: str) -> None:
        if line.startswith("Installing collected packages"):
            self.queue = [canonical(name.strip()) for name in line.partition(":")[2].split(",")]

    def _tell_downloading(self, bytes_here: int = 0, retrying: bool = False) -> None:
        here = min(bytes_here, self._size([self.name]) if self.name in self.names else 0)
        whole = self._size(self.names)
        through = self._size(self.done) + here
        step: Step = "preparing" if self.old_pip else "downloading"
        self.pip.progress(Progress(step, len(self.done), len(self.names), through, whole, self.name, retrying))

    def tell_installing(self) -> None:
        if self.old_pip or not self.queue:
            return
        packages = self.pip.lock.packages
        present = installed_versions(self.pip.paths.main)
        waiting = [name for name in self.queue if name in packages and present.get(name) != packages[name].version]
        if (name := next(iter(waiting), "")) != self.name:
            self.name, self.unpacking = name, open_wheel(self.pip.wheels or self.pip.paths.wheels, name)
        whole = self._size(self.names)
        through = whole - self._size(waiting)
        if self.unpacking:
            site_packages = self.pip.paths.main / "lib" / f"python{self.pip.python}" / "site-packages"
            through += min(self.unpacking.bytes_through(site_packages), self._size([name]))
        through = self.furthest = max(self.furthest, through)
        finished = len(self.names) - len(waiting)
        self.pip.progress(Progress("installing", finished, len(self.names), through, whole, name))

    def _size(self, names: list[str] | set[str]) -> int:
        return sum(self.pip.lock.packages[name].sizes[self.pip.python] for name in names)


def no_disk(folder: Path, **facts: object) -> NotReady:
    """`Engine` adds free_bytes and needed_bytes once the leftovers are gone."""
    return NotReady("engine-no-disk", folder=str(folder), **facts)


def free_bytes(folder: Path) -> int:
    """Room where *folder* is or will be: of the nearest folder above it that exists."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free
