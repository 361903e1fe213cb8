"""What own runs taught the estimate, and how it is forgotten.

The truth is the run folders; their records stand in the index and go with them, so a run that is deleted takes what it
taught with it. Forgetting deletes nothing: ``forgotten.json`` in the home folder names the runs that no longer count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
from dataclasses import replace
from pathlib import Path

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.planner.own import OwnRuns, runs_of
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.runfolder import has_plan, write_atomically
from tpu_studio.workflow.ports import RunIndex, RunSummary

FILE = "forgotten.json"


def own_runs(rows: Iterable[RunSummary]) -> OwnRuns:
    return OwnRuns(runs_of((row.run, row.learned) for row in rows if not row.problem), catalogue())


def rows_of(home: Path, index: RunIndex) -> list[RunSummary]:
    """Rows of all run folders, without a journal or anything that drives them. Raises OSError."""
    names = forgotten(home)
    folders = [path for path in sorted((home / "runs").iterdir()) if path.name[0] != "." and has_plan(path)]
    return [without(index.glance(path), names) for path in folders]


def forgotten(home: Path) -> frozenset[str]:
    """Ids of the runs that teach nothing any more; none where the file is damaged."""
    try:
        names = read_json(home / FILE)["runs"]
        return frozenset(name for name in names if isinstance(name, str))
    except (OSError, ValueError, TypeError, KeyError):
        return frozenset()


def forget(home: Path, runs: Iterable[str]) -> None:
    """*runs*: All that there are, deleted ones included, since they may come back. Raises OSError."""
    write_atomically(home / FILE, json.dumps({"runs": sorted(runs)}).encode() + b"\n")


def without(row: RunSummary, names: Set[str]) -> RunSummary:
    return replace(row, learned=None) if row.learned is not None and row.run in names else row
