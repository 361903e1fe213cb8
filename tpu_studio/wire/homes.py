"""Where TPU Studio keeps what belongs to a person: one folder, the platform's own place for user data.

Everything else on disk is found from here (docs/architecture.md, "Where things are on disk"). `TPU_STUDIO_HOME` moves
all of it. Nothing is created here: whoever writes makes its own folder, by `make_private`.
"""

from __future__ import annotations

import os
import stat
import sys
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
    be the links that lead there.

    Raises:
        NotReady: ``home-not-yours`` (facts: folder, variable, open).
    """
    if sys.platform == "win32":  # a folder there is its owner's by what it inherits, which no mode tells
        return
    engine = [engine_root()] if os.environ.get("TPU_STUDIO_ENGINE") else []
    for folder in (home_folder(), *engine):
        variable = "TPU_STUDIO_ENGINE" if folder in engine else "TPU_STUDIO_HOME"
        try:
            ways = [os.lstat(one) for one in (folder, *folder.parents) if one.is_symlink()]
            found = os.stat(folder)
        except OSError:
            continue  # it is made, or whoever needs it is told why it can't be read
        own = all(one.st_uid in (0, os.getuid()) for one in (found, *ways))
        if not own or _is_for_others(found):
            raise NotReady("home-not-yours", folder=str(folder), variable=variable, open=own)


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
