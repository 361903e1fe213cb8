"""The built-in sample: scikit-learn's 1,797 handwritten digits of 8 × 8, values 0 to 16 kept exactly.

They ship as a small compressed CSV with their licence (BSD-3) and need no path in the job.
"""

from __future__ import annotations

import gzip
import hashlib

import numpy as np

from tpu_studio.data.arrays import Array, Bytes
from tpu_studio.data.imaging import resize_square
from tpu_studio.data.looked import Finding, Look
from tpu_studio.data.opened import ArraySource, Opened
from tpu_studio.data.paths import only_task
from tpu_studio.data.shown import to_show
from tpu_studio.data.split import keys_of_rows, validation_mask
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.resources import resource_path

SIDE = 8
VALUE_MAX = 16
FILE = ("samples", "digits", "digits.csv.gz")  # of the resources
CLASSES = tuple(str(digit) for digit in range(10))


def look(job: Job) -> Look:
    images, labels = _load()
    mask = _validation(labels, job)
    counts = np.bincount(labels, minlength=len(CLASSES)).tolist()
    side = image_size(job)
    pictures = {int(path.stem[2:]): path for path in resource_path("samples", "digits", "preview").glob("*.png")}
    shown = to_show(labels, mask, without=set(range(len(labels))) - pictures.keys())
    raw = _file_bytes()
    return Look(
        kind=job.data.kind,
        task=_task(job),
        examples=len(images),
        train=int((~mask).sum()),
        validation=int(mask.sum()),
        classes=tuple(zip(CLASSES, counts, strict=True)),
        findings=(Finding("built-in-sample", "info", {"name": "digits", "licence": "BSD-3-Clause"}),),
        preview={
            "pictures": [
                {"path": str(pictures[index]), "class": CLASSES[labels[index]], "kept": bool(mask[index])}
                for index in shown
            ]
        },
        bytes_on_disk=len(raw),
        fingerprint=hashlib.sha256(raw).hexdigest(),
        input_shape=(side, side, 1),
        outputs=len(CLASSES),
        image_size=side,
    )


def open_digits(job: Job) -> Opened:
    images, labels = _load()
    mask = _validation(labels, job)
    side = image_size(job)
    if side != SIDE:
        images = np.stack([resize_square(image[..., 0], side)[..., None] for image in images])
    targets = labels.astype(np.int32)
    description = {
        "kind": "digits",
        "task": _task(job),
        "image_size": side,
        "channels": 1,
        "value_max": VALUE_MAX,
        "classes": list(CLASSES),
        "input_shape": [side, side, 1],
        "outputs": len(CLASSES),
    }
    train, kept = (ArraySource({"x": images[part], "y": targets[part]}) for part in (~mask, mask))
    return Opened(_task(job), train, kept, description)


def image_size(job: Job) -> int:
    return SIDE if job.data.image_size == AUTO else job.data.image_size


def _task(job: Job) -> str:
    return only_task(job)


def _validation(labels: Array, job: Job) -> Array:
    keys = keys_of_rows(len(labels), job.training.seed)
    return validation_mask(keys, job.data.validation, labels)


def _file_bytes() -> bytes:
    try:
        return resource_path(*FILE).read_bytes()
    except OSError as error:
        raise DataError("data-missing", path="/".join(FILE), raw=str(error)) from error


def _load() -> tuple[Bytes, Bytes]:
    text = gzip.decompress(_file_bytes()).decode("ascii")
    table = np.array([line.split(",") for line in text.splitlines()], dtype=np.uint8)
    return table[:, :-1].reshape(-1, SIDE, SIDE, 1), table[:, -1]
