"""What is dragged over the window, or was copied elsewhere."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData


def local_paths(data: QMimeData) -> list[Path]:
    """The files and folders in *data*, as their addresses name them: ``file://host/share/x`` is `in_a_share`.
    Nothing is looked for; an address without a whole path names none."""
    paths = (Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile())
    return [path for path in paths if path.is_absolute()]
