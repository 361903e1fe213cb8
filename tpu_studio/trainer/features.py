"""What a frozen network sees in each example, made once and kept in ``features/`` of the home folder.

The files are disposable: they are named by all that they depend on, shared by all runs of the same data, and the oldest
go when there are too many. Rows are in the order of the opened data.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from tpu_studio import __version__
from tpu_studio.data.fingerprints import stamp_of
from tpu_studio.data.opened import ArraySource, Opened, Source
from tpu_studio.trainer.order import evaluation_batches
from tpu_studio.wire.homes import home_folder, make_private
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import write_atomically

FOLDER = "features"
BATCH = 32  # examples that go through the network at once
MOST_BYTES = 2 << 30  # of all files together
SIDES = ("train", "validation")

Forward = Callable[[Any], Any]


@dataclass(frozen=True)
class Features:
    """Attributes:
    train, validation: In place of the examples.
    each_s: What one example takes, in seconds; 0 where none was made.
    left: Examples of which none were made, for want of time.
    """

    train: Source
    validation: Source
    each_s: float = 0.0
    left: int = 0


def of(opened: Opened, forward: Callable[[], Forward], key: str, most: int | None = None) -> Features:
    """Of the examples of training, and of those kept aside.

    Args:
        forward: Makes the function from a batch of examples to their features; not asked where they are known.
        key: Of all that they depend on (`key_of`).
        most: Examples of each side at most, for a timing: these are not kept.
    """
    sides = [opened.train, opened.validation]
    path = home_folder() / FOLDER / f"{key}.safetensors"
    if (kept := _kept(path, [len(side) for side in sides])) is not None:
        train, validation = ({name: kept[f"{side}.{name}"] for name in ("x", "y")} for side in SIDES)
        return Features(ArraySource(train), ArraySource(validation))
    run, clock = forward(), _Clock()
    counts = [len(side) if most is None else min(most, len(side)) for side in sides]
    train, validation = (_made(side, run, count, clock) for side, count in zip(sides, counts, strict=True))
    if most is None:
        both = zip(SIDES, (train, validation), strict=True)
        _keep(path, {f"{side}.{name}": array for side, one in both for name, array in one.items()})
    left = sum(map(len, sides)) - sum(counts)
    return Features(ArraySource(train), ArraySource(validation), clock.each_s, left)


@dataclass
class _Clock:
    """Seconds of batches, but of the first one, which compiles."""

    batches: int = 0
    seconds: float = 0.0

    def took(self, seconds: float) -> None:
        self.seconds += seconds if self.batches else 0.0
        self.batches += 1

    @property
    def each_s(self) -> float:
        return self.seconds / ((self.batches - 1) * BATCH) if self.batches > 1 else 0.0


def key_of(plan: Plan, base: str) -> str:
    """*base*: sha256 of the weights that the network has. Raises DataError where the data is gone."""
    data, training = plan.job.data, plan.job.training
    network = [__version__, base, plan.job.model.id, plan.framework, training.precision]
    read = [plan.data.get("fingerprint"), stamp_of(plan.job), data.kind, data.path, data.image_size, data.validation]
    cut = [data.max_broken_share, training.seed, data.target, dict(data.columns), data.sequence_length]
    content = [*network, *read, *cut]
    return hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()[:32]


def _made(source: Source, run: Forward, count: int, clock: _Clock) -> dict[str, Any]:
    features, answers = [], []
    for indices, weight in evaluation_batches(count, BATCH):
        begun = time.monotonic()
        batch, used = source.batch(indices), int(weight.sum())
        features.append(np.asarray(run(batch["x"]), np.float32)[:used])
        clock.took(time.monotonic() - begun)
        answers.append(batch["y"][:used])
    return {"x": np.concatenate(features), "y": np.concatenate(answers)}


def _kept(path: Path, lengths: list[int]) -> dict[str, Any] | None:
    """What an earlier training has made; None where it is not there, damaged, or of another number of examples."""
    try:
        found = load_file(path)
        os.utime(path)
    except (OSError, SafetensorError):
        return None
    sides = zip(SIDES, lengths, strict=True)
    fits = all(np.shape(found.get(f"{side}.{name}"))[:1] == (length,) for side, length in sides for name in ("x", "y"))
    return found if fits else None


def _keep(path: Path, arrays: dict[str, Any]) -> None:
    """Where there is no room they are made anew next time."""
    try:
        make_private(path.parent)
        write_atomically(path, save(arrays))
        held = sorted(path.parent.glob("*.safetensors"), key=lambda one: one.stat().st_mtime, reverse=True)
        sizes = np.cumsum([one.stat().st_size for one in held])
        for old, total in zip(held[1:], sizes[1:], strict=True):
            if total > MOST_BYTES:
                old.unlink(missing_ok=True)
    except OSError as error:
        print(f"trainer: features are not kept: {error}", file=sys.stderr)
