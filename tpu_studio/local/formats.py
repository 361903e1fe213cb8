"""A finished model in another format (``wire.exports``): the engine writes and checks it in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from tpu_studio.local.answering import answer_of
from tpu_studio.local.computer import trainer_environment
from tpu_studio.wire import exports, ownpython
from tpu_studio.wire.errors import RunError, StudioError
from tpu_studio.wire.heldfolder import HeldFolder
from tpu_studio.wire.homes import home_folder, make_private
from tpu_studio.wire.lastwords import last_words
from tpu_studio.wire.plainfiles import check_place
from tpu_studio.wire.runfolder import beside

LIMIT_S = 3600.0
_LOGGED = 2000  # characters of what was said


@dataclass(frozen=True)
class Written:
    """*file*: or folder. *checked*: by its ``weights``, by ``examples`` of the run's unseen data, made-up ``inputs``,
    as a ``folder`` or as a ``script``; so many (*count*). *difference*: the largest there was to Keras, in the
    model's answers."""

    file: Path
    bytes: int
    checked: str
    count: int
    difference: float


def write(
    python: Path,
    run: Path,
    form: exports.ModelFormat,
    to: Path,
    *,
    replace: bool = False,
    consent: str = "",
    packages: Path | None = None,
) -> Written:
    """The model of *run*, a run's folder or an exported result, as *to*, which appears only once it was checked.

    Args:
        python: The engine's.
        packages: Where those lie that write the format (`local.engine.packages_for`).
        consent: sha256 of the run's own model file, where that was agreed to on this computer.

    Raises:
        BadInput: ``place-no-file``.
        ModelError: Its own model file cannot be used, or was not agreed to.
        RunError: ``result-…``; ``export-file-exists``, ``export-exists`` (a folder), ``export-unwritable``,
            ``export-unsupported``, ``export-differs``; ``export-failed`` where the engine ended without an answer.
    """
    target = Path(os.path.expanduser(to)).absolute()
    if form.is_folder:
        target = _free(target, run.name)
    else:
        check_place(target)
        if target.exists() and not replace:
            raise RunError("export-file-exists", file=str(target))
    try:
        with HeldFolder(target.parent) as held:
            same = held.identity  # what has its name later is another folder
        make_private(home_folder())
        with tempfile.TemporaryDirectory(prefix=".export-", dir=home_folder()) as folder:  # where nobody else writes
            made = Path(folder) / "model" if form.is_folder else Path(folder) / f"model.{form.ending}"
            told = _made(python, run, form, made, consent, packages)
            size = sum(one.stat().st_size for one in made.iterdir()) if form.is_folder else made.stat().st_size
            _put(made, target, same)
    except OSError as error:
        raise RunError("export-unwritable", file=str(target), raw=error.strerror or str(error)) from error
    return Written(target, size, str(told["checked"]), int(str(told["count"])), float(str(told["difference"])))


def _put(made: Path, target: Path, same: tuple[int, int]) -> None:
    """Copy what was *made* beside *target*, in the folder that is the *same* as before, and give it its name once it is
    whole. Raises OSError."""
    new = beside(target, "new")
    with HeldFolder(target.parent, same) as folder:
        if not made.is_dir():
            try:
                with open(made, "rb") as source, folder.create(PurePath(new.name)) as to:
                    shutil.copyfileobj(source, to, 1 << 20)
                folder.replace(PurePath(new.name), target.name)
            finally:
                folder.remove(PurePath(new.name))
            return
    try:
        new.mkdir()
        with HeldFolder(new, own=True) as held:
            for one in made.iterdir():
                with open(one, "rb") as source, held.create(PurePath(one.name)) as to:
                    shutil.copyfileobj(source, to, 1 << 20)
        if target.is_dir():
            target.rmdir()  # it is empty
        os.replace(new, target)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def _free(target: Path, name: str) -> Path:
    """*target* where nothing is in it, else *name* in it. Raises RunError ``export-exists``."""
    for one in (target, target / name):
        if not os.path.lexists(one) or (one.is_dir() and not any(one.iterdir())):
            return one
        if not target.is_dir():
            break
    raise RunError("export-exists", folder=str(one))


def _made(
    python: Path, run: Path, form: exports.ModelFormat, to: Path, consent: str, packages: Path | None
) -> Mapping[str, object]:
    argv = ownpython.module(python, "tpu_studio.trainer.result.exporting", "--run", run, "--as", form.id, "--to", to)
    try:
        done = answer_of(
            [*argv, *(["--consent", consent] if consent else []), *(["--packages", str(packages)] if packages else [])],
            trainer_environment(),
            cwd=ownpython.NEUTRAL_FOLDER,
            timeout_s=LIMIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise RunError("export-failed", raw=f"no answer within {LIMIT_S:.0f} seconds") from error
    try:
        told = json.loads(done.stdout.splitlines()[-1])
        fault = told.get("error")
        if fault is None:
            return {name: told[name] for name in ("checked", "count", "difference")}
        id, facts = str(fault["id"]), dict(fault.get("facts") or {})
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise RunError("export-failed", code=done.returncode, raw=last_words(done.stderr, _LOGGED)) from error
    if id == "export-unwritable":
        facts["file"] = str(to.parent.parent)
    raise RunError(id, **facts) if id.startswith(("export-", "result-")) else StudioError(id, **facts)
