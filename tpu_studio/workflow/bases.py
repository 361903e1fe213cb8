"""A run of this home that another training begins from: whether it has ended with a result that can be begun from."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from tpu_studio.wire import bases, homes, owncode
from tpu_studio.wire import plan as plans
from tpu_studio.wire.bases import Learned
from tpu_studio.wire.errors import ModelError, StudioError
from tpu_studio.wire.events import Event, decode
from tpu_studio.wire.plainfiles import plainly
from tpu_studio.wire.records import inner, items
from tpu_studio.wire.runfolder import events_name, events_names, has_plan, latest_attempt, result_folder

_TAIL = 1 << 18  # bytes of a file of events: its last lines
_ANCESTORS = 20


def check(preset: str) -> None:
    """Do nothing where the run of that `model.preset` has ended with a result, or where it is no run.

    Raises:
        ModelError: ``base-in-trash``, ``base-missing`` (facts: base, nearest), ``base-still-trains``,
            ``base-without-result`` (facts: base, status).
    """
    if not bases.is_run(preset):
        return
    run, home = bases.run_of(preset), homes.home_folder()
    folder = home / homes.RUNS / (run or "-")
    if not run or not has_plan(folder):
        if run and (home / "trash" / run).is_dir():
            raise ModelError("base-in-trash", base=run)
        near = difflib.get_close_matches(preset.removeprefix(bases.PREFIX), _runs(home), n=1)
        raise ModelError("base-missing", base=preset.removeprefix(bases.PREFIX)[:64], nearest=near[0] if near else None)
    end = _end(folder)
    if end is None:
        raise ModelError("base-still-trains", base=run)
    if not (result_folder(folder) / bases.MODEL).is_file():
        raise ModelError("base-without-result", base=run, status=str(end.get("status")))


def lineage(result: Path) -> tuple[Learned, ...]:
    """What the run whose *result* this is has learned from, and those before it from which each began. Ends where a
    plan is not there, or damaged."""
    found: list[Learned] = []
    while len(found) < _ANCESTORS and result == result_folder(result.parent):
        try:
            plan = plans.read(result.parent)
        except (OSError, StudioError):
            break
        if any(one.run == result.parent.name for one in found):  # a damaged one began from itself
            break
        told, data = plan.data, plan.job.data
        findings = [inner(one).get("id") for one in items(told.get("findings"))]
        found.append(
            Learned(
                run=result.parent.name,
                kind=data.kind,
                task=plan.task,
                target=str(told.get("target") or ""),
                path=data.path or "",
                fingerprint=str(told.get("fingerprint") or ""),
                seed=plan.job.training.seed,
                validation=data.validation,
                fixed="fixed-split" in findings,
            )
        )
        begun = plan.job.model.folder
        if not bases.is_one(begun):
            break
        result = bases.folder_of_run(begun) if bases.is_run(begun) else Path(begun).parent
        if not _is_here(result):
            break
    return tuple(found)


def _is_here(folder: Path) -> bool:
    """Whether a *folder* that the plan of a stranger's run may name is on this computer, before it is looked into."""
    try:
        return owncode.located(folder) is not None
    except OSError:
        return False


def _runs(home: Path) -> list[str]:
    root = home / homes.RUNS
    return [path.name for path in root.iterdir() if has_plan(path)] if root.is_dir() else []


def _end(folder: Path) -> Event | None:
    """How its newest attempt ended; None where no record tells that it has."""
    newest = folder / "events" / f"{events_name(latest_attempt(folder) or 1, 0)}.jsonl"
    begun = next(_events(newest, 0), None)
    ends = [one for path in events_names(folder) for one in _events(path, -_TAIL) if one.kind == "end"]
    last = max(ends, key=lambda one: one.t, default=None)
    return last if last and (begun is None or last.t >= begun.t) else None


def _events(path: Path, start: int) -> Iterator[Event]:
    try:
        with open(path, "rb", opener=plainly) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size + start) if start < 0 else start)
            lines = file.read(_TAIL).splitlines()
    except OSError:
        return
    yield from (found for line in lines if (found := decode(line)) is not None)
