"""Large photographs to practise with: the shipped hand signs, enlarged as if a phone had taken them.

Learn plans a TPU that waits for them. They are too many at their size to lie in memory, on any computer; shipping them
would take a hundred times the room of the signs themselves.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tpu_studio.wire.resources import resource_path
from tpu_studio.wire.runfolder import write_atomically

SIDE = 1100  # pixels: more than a job may ask for, and less than twice that, so that a JPEG is unpacked as a whole
TURNS = (0, 90)
QUALITY = 70
FOLDER = "photos"
WAIT = (
    "Making 1,200 large photographs",
    "Of the hand signs that come with TPU Studio, in its own folder, about 40 MB. It takes some seconds; then the plan "
    "opens.",
)


def are_there(folder: Path) -> bool:
    return (folder / FOLDER).is_dir()


def lay_out(folder: Path, job: Path) -> Path:
    """The job file *job* copied into *folder*, with the photographs in `FOLDER` beside it, made unless they are there.

    Raises OSError: no room, or no right to write.
    """
    if not are_there(folder):
        _make(resource_path("samples", "sign-digits"), folder)
    copy = folder / job.name
    write_atomically(copy, job.read_bytes())
    return copy


def _make(source: Path, folder: Path) -> None:
    """All or none: a folder that is there is whole."""
    part = folder / f"{FOLDER}.part"
    shutil.rmtree(part, ignore_errors=True)  # of a program that was ended over it
    for file in sorted(source.glob("*/*.jpg")):
        to = part / file.parent.name
        to.mkdir(parents=True, exist_ok=True)
        for turn in TURNS:
            _enlarge(file, to / f"{file.stem}-{turn}.jpg", turn)
    os.replace(part, folder / FOLDER)


def _enlarge(file: Path, photo: Path, turn: int) -> None:
    from PIL import Image

    with Image.open(file) as picture:
        large = picture.rotate(turn).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    large.save(photo, quality=QUALITY)
