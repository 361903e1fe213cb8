"""Writes a run's result: everything into a folder beside it first, then that folder takes the place of the old one.

So there is a whole result or the one before it, never half of one. What others keep in the folder (the receipt of what
was deleted in the cloud) moves along. TensorFlow's SavedModel is added last, to a result that is whole without it:
where that fails, takes too long or takes the process with it, the model, its curves and its page are there.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tpu_studio.trainer.result import card as cards
from tpu_studio.trainer.result import files, happenings, points, report, savedmodel, saving, table, tensorboard
from tpu_studio.wire import metrics, sums
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import result_folder
from tpu_studio.wire.secrets import short

EVENTS_WITHIN_S = 5.0
_TAIL_BYTES = 65_536


def write(
    run: Path,
    plan: Plan,
    description: Mapping[str, Any],
    model: keras.Model,
    history: Sequence[Mapping[str, float]],
    *,
    reason: str,
    step: int | None,
    tell: Callable[[str, Mapping[str, object]], None],
    kept: Mapping[str, bytes],
    labels: Sequence[Sequence[int]],
) -> dict[str, object]:
    """See `tpu_studio.trainer.result.write`."""
    _wait_for_events(run)
    final = result_folder(run)
    beside = run / f".result.{os.getpid()}.tmp"
    _remove_leftovers(run)
    with _disk_full_is_told(run):
        try:
            beside.mkdir()
            seen, happened = points.read(run), happenings.read(run)
            values, last = _final(seen, history, step)
            tree = cards.card(plan, description, model, values, step=last, reason=reason, labels=labels)
            for name, content in kept.items():
                (beside / name).write_bytes(content)
            if tree["own"] is not None:
                (beside / files.OWN_MODEL).write_bytes(model.own_source)
            saving.save(model, beside / files.MODEL, own=tree["own"] is not None)
            tree[sums.KEY] = sums.of_files(beside, [files.MODEL])
            cards.write_card(beside / files.CARD, tree)
            table.write_csv(beside / files.METRICS, seen)
            tensorboard.write_events(beside / files.TENSORBOARD, seen)
            (beside / files.REPORT).write_text(report.page(plan, tree, seen, happened), encoding="utf-8")
            _sync(beside)
            _put_in_place(beside, final)
            beside.mkdir()
            if missing := savedmodel.write_saved_model(final, beside / files.SAVED_MODEL, model):
                tell(savedmodel.NOTICE, missing)
                happened.notices.append((time.time(), savedmodel.NOTICE, "warning", {}))
            else:
                tree["use"] |= cards.SAVED_MODEL_USE
                saved = sorted(path for path in (beside / files.SAVED_MODEL).rglob("*") if path.is_file())
                tree[sums.KEY] |= sums.of_files(beside, [path.relative_to(beside).as_posix() for path in saved])
                cards.write_card(beside / files.CARD, tree)
            (beside / files.REPORT).write_text(report.page(plan, tree, seen, happened), encoding="utf-8")
            _add(beside, final)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return tree


def _final(
    seen: points.Points, history: Sequence[Mapping[str, float]], step: int | None
) -> tuple[dict[str, float], int]:
    """The metrics that belong to the weights, and their step: the latest; evaluations those of that very step."""
    evaluated = {int(each["step"]): each for each in history}
    last = max([*evaluated, *seen.steps[-1:].tolist(), 0]) if step is None else step
    values = {}
    for name in seen.columns:
        steps, column = seen.metric(name)
        if before := int(np.searchsorted(steps, last, side="right")):
            values[name] = float(column[before - 1])
    nearest = max((at for at in evaluated if at <= last), default=None)
    if nearest is not None:
        values |= {name: float(value) for name, value in evaluated[nearest].items() if name != "step"}
    return {name: value for name, value in values.items() if not metrics.by_id(name).course}, last


def _wait_for_events(run: Path) -> None:
    """Give the guardian a moment to write down what the trainer has said: its last word is that it is saving."""
    written = sorted((run / "events").glob("a*-w000.jsonl"))
    if not written:
        return
    deadline = time.monotonic() + EVENTS_WITHIN_S
    while time.monotonic() < deadline:
        with open(written[-1], "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            tail = file.read()
        if b'"phase":"saving","detail":"result"' in tail or b'"kind":"end"' in tail:
            return
        time.sleep(0.05)


def _put_in_place(beside: Path, final: Path) -> None:
    previous = final.with_name(f".result.{os.getpid()}.previous")
    if final.is_dir():
        for entry in final.iterdir():
            if entry.name not in files.OURS and not (beside / entry.name).exists():
                copy = shutil.copytree if entry.is_dir() else shutil.copy2
                copy(entry, beside / entry.name)
        final.rename(previous)
    beside.rename(final)
    shutil.rmtree(previous, ignore_errors=True)


def _add(beside: Path, final: Path) -> None:
    """Move what lies in *beside* to the result: first what its card tells of, the card last."""
    if not (beside / files.CARD).exists():
        shutil.rmtree(beside / files.SAVED_MODEL, ignore_errors=True)  # as far as it came
    _sync(beside)
    for name in (files.SAVED_MODEL, files.REPORT, files.CARD):
        if (beside / name).exists():
            (beside / name).replace(final / name)


def _remove_leftovers(run: Path) -> None:
    """What a writer that was killed left behind; a result that it had set aside goes back to its place."""
    for left in run.glob(".result.*.previous"):
        if not result_folder(run).exists():
            left.rename(result_folder(run))
        else:
            shutil.rmtree(left, ignore_errors=True)
    for left in run.glob(".result.*.tmp"):
        shutil.rmtree(left, ignore_errors=True)


def _sync(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())


@contextmanager
def _disk_full_is_told(run: Path) -> Iterator[None]:
    """Turn every way in which a library says that the disk is full into one error."""
    try:
        yield
    except StudioError:
        raise
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        if full or savedmodel.FULL in str(error).lower():
            raise StudioError("disk-full", path=str(run), raw=short(str(error), 500)) from error
        raise
