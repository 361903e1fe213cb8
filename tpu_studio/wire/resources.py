"""Find a file of `resources/`: catalogue, fonts, icons, examples, samples, the engine's lock.

The folder stands at the top of the repository, and inside the package once installed or frozen.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def resource_path(*parts: str) -> Path:
    """Path of `resources/<parts…>`.

    Raises:
        FileNotFoundError: there is no such file or folder: the installation is incomplete.
    """
    installed = _PACKAGE / "resources"
    folder = installed if installed.is_dir() else _PACKAGE.parent / "resources"
    path = folder.joinpath(*parts)
    if not path.exists():
        raise FileNotFoundError(f"TPU Studio lacks its own file {'/'.join(parts)} in {folder}")
    return path
