"""The run in a Colab notebook: what its cells call. Standard library only; IPython and google.colab if there.

The run folder is guarded as everywhere (`trainer.guardian`), on the runtime's own disk; this here starts the guardian,
draws its events, and carries the folder to where a lost runtime cannot take it: the person's Drive, or a zip that the
browser saves. Started again, in the same runtime or a new one, it goes on from the last checkpoint.

    ROOT/code/…           the bundle, unpacked by the notebook's own cell
    ROOT/runs/<run>/      the run folder
    ROOT/data/<name>      the data
    ROOT/<run>.zip        what the app opens

For tests: ``TPU_STUDIO_COLAB_ENGINE`` names a Python that trains, ``TPU_STUDIO_COLAB_DRIVE`` a folder taken for Drive.
"""

from __future__ import annotations

import base64
import filecmp
import gzip
import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tpu_studio.trainer.guardian.vm.config import wanted_environment
from tpu_studio.trainer.guardian.vm.environment import EnvironmentFailed, prepare
from tpu_studio.trainer.guardian.vm.unpack import BadArchive, unpack
from tpu_studio.trainer.notebookview import Course, page
from tpu_studio.wire import controls, frameworks, ownpython
from tpu_studio.wire.archives import open_zip
from tpu_studio.wire.claims import is_guarded
from tpu_studio.wire.runfolder import COMMITTED, PLAN, claim_file, latest_attempt, write_atomically

ENGINE, DRIVE = "TPU_STUDIO_COLAB_ENGINE", "TPU_STUDIO_COLAB_DRIVE"
FOLDER = "TPU Studio"
POLL_S, DRAW_S, MIRROR_S = 0.5, 2.0, 60.0
_START_S = 60.0
_LEFT_OUT = ("PYTHONHOME", "PYTHONSTARTUP", "KERAS_BACKEND", "MPLBACKEND", "TF_CONFIG", "VIRTUAL_ENV")
_OVER = ("completed", "early-stopped")


class Problem(Exception):
    """Something the person can put right. Shown as these words alone, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Notebook:
    """One run in one runtime.

    Args:
        code: The unpacked bundle: ``plan.json``, ``tpu_studio/``, ``model/``.
        root: Folder on the runtime's disk.
        config: ``run``; ``environment`` as in the catalogue; ``data``: None, or name, sha256, bytes, folder, file,
            single of what the trainer reads (`cloud.colab`).
    """

    def __init__(self, code: Path, root: Path, config: Mapping[str, Any]) -> None:
        self.code, self.root, self.config = code, root, config
        self.run = str(config["run"])
        self.folder = root / "runs" / self.run
        self.zip = root / f"{self.run}.zip"
        self.mirror: Path | None = None
        self.data: Path | None = None
        self._copy_every_s = 0.0
        self._draw = _drawer()

    # ------------------------------------------------------------------------------------------------- keeping it

    def keep(self, in_drive: bool, copy_every_minutes: float, from_zip: bool = False) -> None:
        """Say where the run is kept, and bring back what an earlier runtime has left there.

        Raises:
            Problem: What was brought is another run.
        """
        drive = _drive() if in_drive else None
        self.mirror = drive / FOLDER / self.run if drive is not None else None
        self._copy_every_s = 0.0 if self.mirror else max(0.0, copy_every_minutes) * 60.0
        if self.mirror is not None:
            _say(f"The run is kept in your Drive, in “{FOLDER}/{self.run}”. A new runtime goes on from there.")
        elif self._copy_every_s:
            _say(
                f"The run is kept on this runtime only; every {copy_every_minutes:g} minutes your browser saves a zip "
                "of it. If the runtime is lost, tick GO_ON_FROM_ZIP, run all, and choose the latest one."
            )
        else:
            _say("The run is kept on this runtime only: if Google takes it back, everything since the start is lost.")
        if from_zip:
            self._from_zip(_uploaded("Choose the zip to go on from"))
        if not (self.folder / PLAN).exists() and self.mirror is not None and (self.mirror / PLAN).exists():
            self._check_same((self.mirror / PLAN).read_bytes())
            _say("Bringing back what the runtime before has left in Drive…")
            _copy_run(self.mirror, self.folder)
        if not (self.folder / PLAN).exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.folder / PLAN, (self.code / PLAN).read_bytes())

    def _check_same(self, frozen: bytes) -> None:
        if frozen != (self.code / PLAN).read_bytes():
            raise Problem(f"That is another run than {self.run}: its plan differs. Nothing was changed.")

    def _from_zip(self, path: Path) -> None:
        try:
            with open_zip(path) as archive:
                for entry in archive.infolist():
                    parts = PurePosixPath(entry.filename).parts
                    if not parts or parts[0] != self.run or ".." in parts or "\\" in entry.filename:
                        raise Problem(f"{path.name} is not a zip of {self.run}. Nothing was changed.")
                self._check_same(archive.read(f"{self.run}/{PLAN}"))
                shutil.rmtree(self.folder, ignore_errors=True)
                archive.extractall(self.folder.parent)
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise Problem(f"{path.name} cannot be read as a zip of {self.run}: {error}") from error
        _say(f"Going on from {path.name}.")

    # ------------------------------------------------------------------------------------------------------- the data

    def get_data(self, embedded: str = "") -> None:
        """Put the data where the trainer reads it: from this notebook, from Drive, or by an upload.

        Args:
            embedded: Base64 of the data file, gzipped, or "" where the notebook does not hold it.

        Raises:
            Problem: It is not there, or not what the plan was made with.
        """
        wanted = self.config.get("data")
        if not wanted:
            return
        place = self.root / "data" / str(wanted["folder"])
        self.data = place / str(wanted["file"]) if wanted["file"] else place
        done = place.with_name(f".{place.name}.ready")
        if done.exists() and done.read_text() == wanted["sha256"]:
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        packed = place.with_name(f".{place.name}.packed")
        if embedded:
            packed.write_bytes(gzip.decompress(base64.b64decode(embedded)))
        else:
            self._fetch(str(wanted["name"]), packed)
        if _sha256(packed) != wanted["sha256"]:
            packed.unlink()
            raise Problem(f"{wanted['name']} is not the data of this plan. Choose the one beside the notebook.")
        if wanted["single"]:
            os.replace(packed, place)
        else:
            shutil.rmtree(place, ignore_errors=True)
            try:
                unpack(packed, place, str(wanted["sha256"]), limit_bytes=int(wanted["bytes"]) + (1 << 20))
            except BadArchive as error:
                raise Problem(f"The data cannot be unpacked: {error}") from error
            packed.unlink()
        done.write_text(str(wanted["sha256"]))

    def _fetch(self, name: str, target: Path) -> None:
        kept = self.mirror.parent / name if self.mirror is not None else None
        if kept is not None and kept.exists():
            _say(f"Reading {name} from your Drive…")
            shutil.copyfile(kept, target)
        else:
            chosen = _uploaded(f"Choose {name}, which lies beside the notebook on your computer")
            shutil.move(str(chosen), target)
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(target, kept)

    # ------------------------------------------------------------------------------------------------------- training

    def train(self) -> Path:
        """Train to the end with the curve drawn below the cell; the zip for the app. Interrupted: the model is kept.

        Raises:
            Problem: No TPU, no environment, or the training has ended too soon.
        """
        course = self._course()
        attempt = self._attempts()
        if course.reason not in _OVER:
            if not (attempt and is_guarded(claim_file(self.folder, attempt))):
                python, env = self._engine()
                attempt += 1
                self._start(attempt, python, env)
            course = self._watch(attempt)
        self._draw(page(course, self.run))
        self._mirror()
        path = self._pack()
        if course.reason == "":
            raise Problem(
                "The training program has vanished, often because memory ran out. Run this cell again: it goes on from "
                "the last checkpoint."
            )
        _say(f"{course.ending()} The zip for TPU Studio: {path.name}")
        self._hand_over(path)
        return path

    def _attempts(self) -> int:
        return latest_attempt(self.folder)

    def _course(self) -> Course:
        course = Course()
        course.read(self.folder)
        return course

    def _engine(self) -> tuple[str, dict[str, str]]:
        """The Python that trains and its environment, with a TPU to be seen in it."""
        env = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
        env |= {"PYTHONPATH": str(self.code), "PYTHONUNBUFFERED": "1", "TF_CPP_MIN_LOG_LEVEL": "2"}
        own = os.environ.get(ENGINE)
        if own:
            return own, env
        wanted = wanted_environment(self.config["environment"])

        def told(doing: str) -> None:
            self._draw(page(Course(), self.run, doing))

        try:
            ready = prepare(self.root, wanted, self.code, told, lambda: None)
        except EnvironmentFailed as error:
            raise Problem(f"The training environment could not be installed. Run the cell again.\n\n{error}") from error
        env |= ready.env
        if frameworks.by_id(wanted.framework).leads_on_chip:
            _check_tpu(ready.python, env)
        return ready.python, env

    def _start(self, attempt: int, python: str, env: Mapping[str, str]) -> None:
        trainer = ownpython.module(python, "tpu_studio.trainer", "train", "--run", self.folder, "--worker", "0")
        trainer += ["--attempt", str(attempt)]
        if self.data is not None:
            trainer += ["--data", str(self.data)]
        own_model = self.code / "model" / "model.py"
        if own_model.exists():
            trainer += ["--model-file", str(own_model)]
        guardian = ownpython.module(sys.executable, "tpu_studio.trainer.guardian", "--run", self.folder)
        guardian += ["--attempt", str(attempt), "--detach", "--", *trainer]
        log = self.folder / "guardian.log"
        with open(log, "ab") as output:
            started = subprocess.run(
                guardian,
                cwd=ownpython.NEUTRAL_FOLDER,
                env={**env, ownpython.SAFE_PATH: "1"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                timeout=_START_S,
            )
        if started.returncode:
            raise Problem(f"The training could not be started.\n\n{log.read_text('utf-8', 'replace')[-2000:]}")

    def _watch(self, attempt: int) -> Course:
        """Draw and carry until the attempt's guardian has gone; an interruption stops it and keeps the model."""
        course, drawn, carried, copied, saved = Course(), 0.0, time.monotonic(), time.monotonic(), 0
        claim, told = claim_file(self.folder, attempt), False
        while True:
            try:
                guarded = is_guarded(claim)  # before the events: who is gone writes no more
                course.read(self.folder)
                now = time.monotonic()
                if now - drawn >= DRAW_S:
                    self._draw(page(course, self.run))
                    drawn = now
                if course.checkpoints != saved or now - carried >= MIRROR_S:
                    saved, carried = course.checkpoints, now
                    self._mirror()
                if self._copy_every_s and course.checkpoints and now - copied >= self._copy_every_s:
                    copied = now
                    self._hand_over(self._pack())
                if not guarded:
                    return course
                time.sleep(POLL_S)
            except KeyboardInterrupt:
                if told:
                    raise
                told = True
                _say("Stopping; the model is kept…")
                controls.send(self.folder, {"verb": "stop", "keep": True, "attempt": attempt})

    # ---------------------------------------------------------------------------------------------------- carrying it

    def _mirror(self) -> None:
        """Bring what is new to Drive. A Drive that cannot be written is said; the training goes on."""
        if self.mirror is None:
            return
        try:
            _copy_run(self.folder, self.mirror)
        except OSError as error:
            _say(f"Drive cannot be written now ({error}). The training goes on; it is tried again.")

    def _pack(self) -> Path:
        """The run folder as one zip, with the latest copy of the state only."""
        latest = _committed(self.folder)[-1:]
        target = self.zip.with_name(f".{self.zip.name}.new")
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for path in _files(self.folder):
                name = path.relative_to(self.folder)
                if name.parts[0] == "checkpoints" and name.parts[1] not in latest:
                    continue
                archive.write(path, f"{self.run}/{name.as_posix()}")
        os.replace(target, self.zip)
        return self.zip

    def _hand_over(self, path: Path) -> None:
        if self.mirror is not None:
            target = self.mirror.with_name(path.name)
            shutil.copyfile(path, target)
            _say(f"It is in your Drive too: {FOLDER}/{path.name}")
        files = _colab("files")
        if files is None:
            _say(f"Copy it from {path}")
            return
        _foreign(lambda: files.download(str(path)), f"Your browser did not take it; it is in the Files panel: {path}")


def _copy_run(source: Path, target: Path) -> None:
    """Bring *target* up to *source*: events before the copies of the state that count on them, ``COMMITTED`` last."""
    wanted = _committed(source)  # looked at first: the events copied afterwards reach at least as far
    done = set(_committed(target))
    for path in _files(source):
        name = path.relative_to(source)
        there = target / name
        if name.parts[0] == "checkpoints" or (there.is_file() and filecmp.cmp(path, there, shallow=False)):
            continue  # the library remembers what it has compared
        _put(path, there)
    for step in wanted:
        if step in done:
            continue
        held = sorted(_files(source / "checkpoints" / step), key=lambda path: path.name == COMMITTED)
        all(_put(path, target / path.relative_to(source)) for path in held)  # ends where a file has gone
    for step in done - set(wanted):
        shutil.rmtree(target / "checkpoints" / step, ignore_errors=True)


def _put(path: Path, there: Path) -> bool:
    """False where *path* has gone meanwhile: an old copy of the state that has just made room."""
    there.parent.mkdir(parents=True, exist_ok=True)
    beside = there.with_name(f".{there.name}.part")
    try:
        shutil.copyfile(path, beside)
    except FileNotFoundError:
        return False
    os.replace(beside, there)
    return True


def _files(folder: Path) -> list[Path]:
    """Plain files below *folder*, hidden ones left out."""
    found = []
    for path in sorted(folder.rglob("*")):
        if not any(part.startswith(".") for part in path.relative_to(folder).parts) and path.is_file():
            found.append(path)
    return found


def _committed(folder: Path) -> list[str]:
    """Names of the whole copies of the state, oldest first."""
    return sorted(path.parent.name for path in (folder / "checkpoints").glob(f"*/{COMMITTED}"))


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _check_tpu(python: str, env: Mapping[str, str]) -> None:
    code = "import json, jax; d = jax.devices(); print(json.dumps([d[0].platform, len(d), d[0].device_kind]))"
    try:
        asked = subprocess.run(
            [python, "-P", "-c", code],
            cwd=ownpython.NEUTRAL_FOLDER,
            env=dict(env),
            capture_output=True,
            text=True,
            timeout=300,
        )
        said = asked.stdout.strip().splitlines()[-1] if asked.returncode == 0 and asked.stdout.strip() else ""
        platform, count, kind = json.loads(said)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        platform, count, kind, said = "", 0, "", ""
    if platform != "tpu":
        raise Problem(
            "This runtime has no TPU that can be used. Choose Runtime > Change runtime type > v5e-1 TPU, save, and run "
            "all again. If that is so already, choose Runtime > Disconnect and delete runtime first."
        )
    _say(f"{kind}, {count} {'chip' if count == 1 else 'chips'}.")


def _drive() -> Path | None:
    """The person's Drive, if they let the notebook have it; None otherwise, said plainly."""
    if given := os.environ.get(DRIVE):
        return Path(given)
    drive = _colab("drive")
    if drive is None:
        return None
    mounted = _foreign(lambda: drive.mount("/content/drive") or True, "Drive stays closed: the run is not kept there.")
    place = Path("/content/drive/MyDrive")
    return place if mounted and place.is_dir() else None


def _uploaded(words: str) -> Path:
    """A file that the person chooses in the browser."""
    files = _colab("files")
    if files is None:
        raise Problem(f"{words}: this is not Colab, so nothing can be chosen here.")
    _say(words)
    chosen = _foreign(files.upload, "The upload has not worked.") or {}
    if len(chosen) != 1:
        raise Problem("One file has to be chosen. Run the cell again.")
    name = re.sub(r".*[/\\]", "", str(next(iter(chosen))))
    return Path.cwd() / name


def _colab(part: str) -> Any:
    """A module of google.colab, or None outside Colab."""
    try:
        return importlib.import_module(f"google.colab.{part}")
    except ImportError:
        return None


def _foreign(call: Callable[[], Any], otherwise: str) -> Any:
    """Call into Colab; its errors have no common class, and none of them may end the training."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001
        _say(f"{otherwise} ({error})")
        return None


def _say(words: str) -> None:
    print(words, flush=True)


def _drawer() -> Callable[[str], None]:
    """Draws over what was drawn before; without IPython nothing is drawn."""
    try:
        display = importlib.import_module("IPython.display")
    except ImportError:
        return lambda html: None
    handle: list[Any] = []

    def draw(html: str) -> None:
        if handle:
            handle[0].update(display.HTML(html))
        else:
            handle.append(display.display(display.HTML(html), display_id=True))

    return draw
