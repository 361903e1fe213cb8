"""What a dropped, chosen or handed-over path is: a job, a run, data, or nothing the app knows. Looks, reads little."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tpu_studio.data import links, textlayout
from tpu_studio.viewmodels import onepage
from tpu_studio.wire import kinds, runfolder
from tpu_studio.wire.owncode import in_a_share
from tpu_studio.wire.visible import one_line

Kind = Literal["job", "run", "page", "data", "missing", "unknown", "share"]

JOB_SUFFIX = ".tpujob"
ARCHIVE = ".zip"  # of a run folder, from a Colab notebook
DATA_SET = "dataset.json"
RUN_PARTS = ("events", "claims", "checkpoints", "result")


@dataclass(frozen=True)
class Opened:
    """*kind* of what stands at *path*; *data_kind* is the job's `data.kind` where the path tells it."""

    kind: Kind
    path: Path
    data_kind: str = ""

    @property
    def sentence(self) -> str:
        """Why nothing was opened; "" when something can be."""
        name = one_line(self.path.name)
        if self.kind == "share":
            return (
                f"{name} is on another computer and was not looked for: that would tell it that you "
                "ask, and on Windows who you are. If you trust it, copy it to this computer, and open the copy."
            )
        if self.kind == "missing":
            return f"{name or self.path} is not there any more. It may have been moved or renamed."
        if self.kind == "unknown":
            return (
                f"{name} is nothing TPU Studio can open. It opens .tpujob files, run folders and their zips, "
                "runs that were saved as one page (.html), "
                "folders of pictures or texts, tables (.csv, .jsonl, .parquet) and texts (.txt)."
            )
        return ""


def what_is(path: Path) -> Opened:
    """Classify *path* by its name and, for a folder, the names right inside it."""
    suffix = path.suffix.lower()
    if in_a_share(path):
        return Opened("share", path)
    try:
        if not path.exists():
            return Opened("missing", path)
        if path.is_file():
            if suffix == ARCHIVE:
                return Opened("run", path)
            if suffix == JOB_SUFFIX:
                return Opened("job", path)
            if suffix in onepage.ENDINGS:
                return Opened("page", path)
            if path.name == runfolder.PLAN:
                return Opened("run", path.parent)
            if path.name == DATA_SET:
                return Opened("data", path.parent, kinds.first(lambda kind: kind.is_converted).id)
            kind = textlayout.kind_of(path.name)
            if kind is not None and kind.has_rows and _labels_pictures(path):
                return Opened("data", path.parent, kinds.first(lambda kind: kind.has_picture_files).id)
            if kind is not None and kind.has_rows and (textlayout.has_chats(path) or _has_only_text(path)):
                kind = kinds.first(lambda kind: kind.has_text)
            if kind is not None and not kind.has_picture_files:
                return Opened("data", path, kind.id)
            return Opened("unknown", path)
        if links.is_file_inside(path, runfolder.PLAN):
            return Opened("run", path)
        if links.is_file_inside(path, DATA_SET):
            return Opened("data", path, kinds.first(lambda kind: kind.is_converted).id)
        if sum(links.is_folder_inside(path, part) for part in RUN_PARTS) > 1:
            return Opened("run", path)  # which has lost its plan: taking it in says so
        return Opened("data", path, _folder_kind(path))
    except OSError:
        return Opened("missing", path)


def _labels_pictures(path: Path) -> bool:
    from tpu_studio.data.labelfile import beside_pictures  # numpy, which the window begins without

    return beside_pictures(path)


def _has_only_text(path: Path) -> bool:
    if path.suffix.lower() in textlayout.COLUMNAR:
        return False  # the look will tell: telling takes a process
    from tpu_studio.data.labelled import has_only_text  # numpy, which the window begins without

    return has_only_text(path)


def _folder_kind(folder: Path) -> str:
    """A folder with folders or pictures in it holds pictures, with texts alone, or folders of such, text; else the look
    will tell."""
    if textlayout.has_shards(folder):
        return kinds.first(lambda kind: kind.has_rows).id
    text = kinds.first(lambda kind: kind.has_text)
    if textlayout.of_path(folder).has_classes:
        return text.id
    pictures = kinds.first(lambda kind: kind.has_picture_files)
    inside: list[kinds.DataKind | None] = []
    with os.scandir(folder) as entries:
        first_ones = sorted(entries, key=lambda entry: entry.name)[:200]
    for one in first_ones:
        if one.name.startswith(".") or links.is_outside(folder, one):
            continue
        if one.is_dir() or kinds.of_file(one.name) == pictures:
            return pictures.id
        inside.append(kinds.of_file(one.name))
    first = inside[0] if inside else None
    alike = first is not None and all(kind == first for kind in inside)
    return first.id if first and alike and (first.has_text or len(inside) == 1) else pictures.id
