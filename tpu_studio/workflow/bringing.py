"""Runs that come from another computer, and results that leave: copying with progress, and what is refused.

A run folder is checked before it is trusted: its plan must be readable and there may be no symlink and no special file,
so nothing outside it is ever read. It is copied beside its final place and moved there when it is whole.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from tpu_studio.wire import plan as plans
from tpu_studio.wire import presets
from tpu_studio.wire.controls import extensions, send
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.heldfolder import HeldFolder
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.plainfiles import open_below
from tpu_studio.wire.plan import loads
from tpu_studio.wire.runfolder import (
    PLAN,
    belongs,
    has_plan,
    is_known,
    is_run_id,
    numbered_id,
    result_folder,
    surplus,
    tops_of,
    write_atomically,
)
from tpu_studio.wire.sums import damaged_file
from tpu_studio.workflow import copies, desk, passing
from tpu_studio.workflow.copies import Difference
from tpu_studio.workflow.ports import Progress

_CHUNK = 1 << 20
_NOT_BROUGHT = frozenset({"control"})  # what somebody asked for there is not asked for here, but for its extensions
_EXTENSIONS = 1000
_DEEPEST = 50  # folders in folders, where a result of ours has four


@dataclass(frozen=True)
class Imported:
    """*already*: the very same run was here before; nothing was copied. *left_out*: what lay in the folder and is no
    part of a run: it was not taken along. *damaged*: a file of its model that is not as the run wrote it, or "".
    *behind*: the run here has all that the copy has, and more. *replaced*: the name in the trash of the one that was
    here, or ""."""

    run: str
    already: bool = False
    left_out: tuple[str, ...] = ()
    damaged: str = ""
    behind: Difference | None = None
    replaced: str = ""


def bring(
    path: Path,
    runs: Path,
    install: str,
    now: float,
    progress: Progress | None = None,
    complete: Callable[[Path], None] | None = None,
    moving: Callable[[str], None] = lambda run: None,
    put_away: Callable[[str], str] | None = None,
) -> Imported:
    """Copy the run folder at *path* into *runs*. *complete* is given the copy before it is a run here: whatever ends
    the program earlier leaves none. *moving* hears, just before, which run it is to be.

    A run of the same id and plan that is here already is told, not copied; one of the same id with another plan gets a
    new ending to its name. Where the two differ, *put_away* moves the one here to the trash as soon as the copy is
    whole, and gives its name there; without it nothing is moved, whichever is the better one.

    Raises:
        RunError: ``import-differs`` (facts of `copies.Difference`), ``import-not-a-run``, ``plan-newer``,
            ``plan-unreadable``, ``import-symlink``, ``import-special-file``, ``disk-full``, ``folder-unwritable``,
            ``import-failed``; those of *put_away*.
    """
    path = path.absolute()
    try:
        if not stat.S_ISREG((path / PLAN).stat().st_mode):
            raise RunError("import-special-file", file=PLAN)
        frozen = plans.frozen(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RunError("import-not-a-run", folder=str(path), weights=presets.lies_in(path)) from error
    except OSError as error:
        raise RunError("import-failed", folder=str(path), raw=str(error)) from error
    plan = loads(frozen)
    wanted = plan.run if is_run_id(plan.run) else path.name.lower()
    if not is_run_id(wanted):
        wanted = "imported-run"
    if path.resolve().parent == runs.resolve():
        return Imported(path.name, already=True)
    run, number = wanted, 2
    while (runs / run).exists():
        if _same_plan(runs / run, frozen):
            if (known := _known(runs / run, path, replaces=put_away is not None)) is not None:
                return known
            break
        run, number = numbered_id(wanted, number), number + 1
    found = regular_files(path)
    extra = surplus(PurePosixPath(one.as_posix()) for one, _ in found)
    files, left_out = [], []
    for one, size in found:
        name = PurePosixPath(one.as_posix())
        if name in extra or not is_known(name):
            left_out.append(name.as_posix())
        elif belongs(name) and name.parts[0] not in _NOT_BROUGHT:
            files.append((one, size))
    target = runs / run
    try:
        make_private(runs)
        need = sum(size for _, size in files)
        free = shutil.disk_usage(runs).free
        if need > free - (64 << 20):
            raise RunError("disk-full", folder=str(runs), need_bytes=need, free_bytes=free)
        with passing.folder(runs, "importing") as temporary:
            with HeldFolder(temporary) as held:
                _copy(path, held, files, progress)
            write_atomically(temporary / PLAN, frozen)  # the one that was looked at
            for epochs in _extensions(path, found):
                send(temporary, {"verb": "extend", "epochs": epochs})
            damaged = damaged_file(result_folder(temporary)) or ""
            desk.write_owner(temporary, install, t=now, imported=True)
            if complete is not None:
                complete(temporary)
            replaced = put_away(run) if put_away is not None and target.exists() else ""
            moving(run)
            os.rename(temporary, target)
    except OSError as error:
        if put_away is None and _same_plan(target, frozen):  # another program has just brought it
            return Imported(run, already=True)
        raise _failed(error, target) from error
    return Imported(run, left_out=tops_of(left_out), damaged=damaged, replaced=replaced)


def _known(here: Path, there: Path, *, replaces: bool) -> Imported | None:
    """What there is to say of the run in the folder *here* that comes again in *there*; None: it is to be replaced."""
    try:
        found = copies.difference(here, there)
    except OSError as error:
        raise RunError("import-failed", folder=str(there), raw=str(error)) from error
    if found is not None and replaces:
        return None
    if found is not None and not found.fewer:
        raise RunError("import-differs", run=here.name, **found.facts())
    return Imported(here.name, already=True, behind=found)


def _extensions(path: Path, found: list[tuple[Path, int]]) -> list[float]:
    """Epochs of each time that the run at *path* was trained longer: they are part of what it has learnt. Nothing else
    that was asked for there is."""
    if not any(relative.parts[0] == "control" for relative, _ in found):
        return []
    told = extensions(path)
    return [told[number] for number in sorted(told)][:_EXTENSIONS]


def export(folder: Path, destination: Path, progress: Progress | None = None) -> Path:
    """Copy the result of a run: to *destination* when that is new or empty, else to a folder named after the run in it.

    Raises:
        RunError: ``no-result``, ``run-unknown``, ``result-damaged`` (facts: run, file), ``export-exists``,
            ``disk-full``, ``folder-unwritable``.
    """
    result = result_folder(folder)
    if result.is_symlink():
        raise RunError("import-symlink", file=result.name)
    files = regular_files(result) if result.is_dir() else []
    if not files:
        raise RunError("no-result", run=folder.name)
    if (damaged := damaged_file(result)) is not None:
        raise RunError("result-damaged", run=folder.name, file=f"{result.name}/{damaged}")
    target = Path(os.path.expanduser(destination)).absolute()
    try:
        if _is_taken(target):
            target = target / folder.name
        if _is_taken(target):
            raise RunError("export-exists", folder=str(target))
        _export(result, target, files, progress)
    except (OSError, RunError) as error:
        read = isinstance(error, OSError) or error.id == "import-failed"
        if read and not has_plan(folder):
            raise RunError("run-unknown", run=folder.name) from error  # it was deleted meanwhile
        if isinstance(error, RunError):
            raise
        raise _failed(error, target) from error
    return target


def _is_taken(target: Path) -> bool:
    return target.exists() and (not target.is_dir() or any(target.iterdir()))


def _export(result: Path, target: Path, files: list[tuple[Path, int]], progress: Progress | None) -> None:
    """Copy *files* into the folder *target*, which is made if need be, and into no other that takes its name meanwhile.

    Raises RunError ``export-exists``; OSError.
    """
    before = target.is_dir()
    target.mkdir(parents=True, exist_ok=True)
    with HeldFolder(target) as held:
        if held.names():
            raise RunError("export-exists", folder=str(target))
        try:
            _copy(result, held, files, progress)
        except BaseException:  # half a model is worse than none, also when it was Ctrl-C
            _take_back(held, files)
            if not before:
                with suppress(OSError):
                    target.rmdir()
            raise


def _take_back(held: HeldFolder, files: list[tuple[Path, int]]) -> None:
    """Remove what was copied."""
    for relative, _ in files:
        with suppress(OSError):
            held.remove(relative)
    folders = {folder for relative, _ in files for folder in relative.parents if folder.parts}
    for folder in sorted(folders, key=lambda one: -len(one.parts)):
        held.remove_folder(folder)


def regular_files(root: Path) -> list[tuple[Path, int]]:
    """Files under *root*, relative, with their sizes; hidden ones (temporary files, reserves) left out.

    Raises RunError ``import-symlink``, ``import-special-file``, ``import-failed``.
    """
    found: list[tuple[Path, int]] = []
    todo = [root]
    try:
        while todo:
            folder = todo.pop()
            if len(folder.parts) - len(root.parts) > _DEEPEST:
                raise RunError("import-failed", folder=str(root), raw=f"folders in folders, more than {_DEEPEST} deep")
            with os.scandir(folder) as opened:
                entries = list(opened)
            for entry in entries:
                looked = entry.stat(follow_symlinks=False)
                relative = Path(entry.path).relative_to(root)
                if stat.S_ISLNK(looked.st_mode):
                    raise RunError("import-symlink", file=str(relative))
                if entry.name.startswith("."):
                    continue
                if stat.S_ISDIR(looked.st_mode):
                    todo.append(folder / entry.name)
                elif stat.S_ISREG(looked.st_mode):
                    found.append((relative, looked.st_size))
                else:
                    raise RunError("import-special-file", file=str(relative))
    except OSError as error:
        raise RunError("import-failed", folder=str(root), raw=str(error)) from error
    return sorted(found)


def _copy(source: Path, held: HeldFolder, files: list[tuple[Path, int]], progress: Progress | None) -> None:
    """As many bytes of each as were found: it may change, or grow for ever, while it is read."""
    total, done = max(1, sum(size for _, size in files)), 0
    for relative, left in files:
        with _opened(source, relative) as reader, held.create(relative) as writer:
            while left and (chunk := reader.read(min(_CHUNK, left))):
                writer.write(chunk)
                left -= len(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(min(1.0, done / total), str(relative))


def _opened(source: Path, relative: Path) -> BinaryIO:
    try:
        return open_below(source, relative)
    except OSError as error:
        raise RunError("import-failed", folder=str(source), raw=str(error)) from error


def _same_plan(folder: Path, frozen: bytes) -> bool:
    try:
        return plans.frozen(folder) == frozen
    except (OSError, RunError):
        return False


def _failed(error: OSError, folder: Path) -> RunError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return RunError("disk-full" if full else "folder-unwritable", folder=str(folder), raw=str(error))
