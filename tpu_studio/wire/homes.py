"""Where TPU Studio keeps what belongs to a person: one folder, the platform's own place for user data.

Everything else on disk is found from here (docs/architecture.md, "Where things are on disk"). `TPU_STUDIO_HOME` moves
all of it. Nothing is created here: whoever writes makes its own folder, by `make_private`.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

from tpu_studio.wire.errors import NotReady

STARTER_WEIGHTS, RUNS = "starter-weights", "runs"


def home_folder() -> Path:
    """The folder of runs, journal, settings and engine; absolute, and it need not exist yet."""
    moved = os.environ.get("TPU_STUDIO_HOME")
    if moved:
        return Path(os.path.expanduser(moved)).absolute()
    return _user_data_folder() / "tpu-studio"


def engine_root() -> Path:
    """`TPU_STUDIO_ENGINE`, or `engine` in the home folder; absolute, need not exist."""
    moved = os.environ.get("TPU_STUDIO_ENGINE")
    return Path(os.path.expanduser(moved)).absolute() if moved else home_folder() / "engine"


def starter_weights() -> Path:
    """The folder of weights that models can begin from, beside the training engine; need not exist."""
    return engine_root() / STARTER_WEIGHTS


def hub() -> Path:
    """The folder of models of the Hugging Face Hub (``wire.hub``); need not exist."""
    return home_folder() / "hub"


def datasets() -> Path:
    """The folder of data sets of the Hugging Face Hub (``wire.hubdata``); need not exist."""
    return home_folder() / "datasets"


def make_engine_root(root: Path) -> None:
    """For its owner alone, as the home; where `TPU_STUDIO_ENGINE` names it, as the umask says: it may be meant for
    several people. Raises OSError."""
    if os.environ.get("TPU_STUDIO_ENGINE") and root == engine_root():
        root.mkdir(parents=True, exist_ok=True)
    else:
        make_private(root)


def _user_data_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    # A relative XDG path is to be ignored (XDG Base Directory Specification).
    told = Path(os.environ.get("XDG_DATA_HOME", ""))
    return told if told.is_absolute() else Path.home() / ".local" / "share"


def make_private(folder: Path) -> None:
    """Make *folder* and what is missing above it, for its owner alone: whoever comes first makes the home.

    Raises OSError.
    """
    if not folder.is_dir():
        if not folder.parent.exists() and folder.parent != folder:
            make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def check_own() -> None:
    """That the home, and the engine where `TPU_STUDIO_ENGINE` names it, are this person's or the administrator's, as
    far as they are there, and not for others to write into: what lies in them runs, and is agreed to, unasked. So must
    be the links that lead there. Where a variable has moved them, nobody else may take them away from the folders that
    they lie in; and where others may make folders there, they are made now: whoever comes first has them.

    Raises:
        NotReady: ``home-not-yours`` (facts: folder, variable, open).
    """
    if sys.platform == "win32":  # a folder there is its owner's by what it inherits, which no mode tells
        return
    moved = {name: os.environ.get(name) for name in ("TPU_STUDIO_HOME", "TPU_STUDIO_ENGINE")}
    engine = {"TPU_STUDIO_ENGINE": engine_root()} if moved["TPU_STUDIO_ENGINE"] else {}
    for variable, folder in ({"TPU_STUDIO_HOME": home_folder()} | engine).items():
        for above in _above(folder) if moved[variable] else ():
            if _is_for_others(found := above.stat()) and not found.st_mode & stat.S_ISVTX:
                raise NotReady("home-not-yours", folder=str(above), variable=variable, open=True)
        if moved[variable]:
            _make_first(folder, private=variable not in engine)
        try:
            ways = [os.lstat(one) for one in (folder, *folder.parents) if one.is_symlink()]
            found = os.stat(folder)
        except OSError:
            continue  # whoever needs it is told why it can't be read, or makes it
        own = all(one.st_uid in (0, os.getuid()) for one in (found, *ways))
        if not own or _is_for_others(found):
            raise NotReady("home-not-yours", folder=str(folder), variable=variable, open=own)


def is_ones_own(file: Path) -> bool:
    """Whether nobody but this person and the administrator can change *file*, or put another in its place. On Windows
    a file is its owner's by what it inherits, which no mode tells: True. Raises OSError."""
    if sys.platform == "win32":
        return True
    own = (0, os.getuid())
    found = file.stat()
    links = [os.lstat(one) for one in (file, *file.parents) if one.is_symlink()]
    above = [one.stat() for one in _above(file)]
    return (
        all(one.st_uid in own for one in (found, *links, *above))
        and not _is_for_others(found)
        and not any(_is_for_others(one) and not one.st_mode & stat.S_ISVTX for one in above)
    )


def _above(folder: Path) -> list[Path]:
    """The folders that are there above it, by its name and where its links lead."""
    named, real = folder.parents, Path(os.path.realpath(folder)).parents
    return [one for one in dict.fromkeys((*named, *real)) if one.is_dir()]


def _make_first(folder: Path, *, private: bool) -> None:
    """Make *folder* where others may make folders before it is there; elsewhere whoever writes first makes it."""
    nearest = next((one for one in folder.parents if one.is_dir()), None)
    if os.path.lexists(folder) or nearest is None or not _is_for_others(nearest.stat()):
        return
    with suppress(OSError):  # no right to: then it is not there, and nothing in it runs
        if private:
            make_private(folder)
        else:
            folder.mkdir(parents=True, exist_ok=True)


def _is_for_others(found: os.stat_result) -> bool:
    """Whether others may write into it: all, or a group that is not one's own alone, as many systems make one."""
    if found.st_mode & stat.S_IWOTH:
        return True
    if not found.st_mode & stat.S_IWGRP:
        return False
    import grp
    import pwd

    try:
        group, person = grp.getgrgid(found.st_gid), pwd.getpwuid(found.st_uid)
    except KeyError:
        return True
    return group.gr_name != person.pw_name or any(one != person.pw_name for one in group.gr_mem)
