"""What the journal has open of runs that get no turn any more: a machine that was asked for while its run's folder is
gone, and shut-off timers that could not be removed when their run ended. `Driver.recover` asks here now and then.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plainfiles import write_inside
from tpu_studio.wire.runfolder import RECEIPT
from tpu_studio.workflow.cloudruns import stops
from tpu_studio.workflow.cloudruns.ports import CloudSide, Ref
from tpu_studio.workflow.ports import Intent, Journal

STOPS_LEFT = "stops-left"
"""The intent that outlives its run: tasks at Google that call a machine which is gone."""
_log = logging.getLogger(__name__)


def recover(journal: Journal, home: Path, side_then: Callable[[Mapping[str, object]], CloudSide]) -> list[str]:
    """Names of what could not be settled yet.

    Args:
        side_then: Where the facts of an intent say that it was begun.
    """
    left = []
    for intent in journal.open_intents():
        there = (home / "runs" / intent.run).is_dir()
        if intent.action != STOPS_LEFT and (intent.action != "create" or there):
            continue
        name = str(intent.facts.get("name"))
        try:
            outcome = _settled(intent, side_then(intent.facts))
        except (StudioError, KeyError) as error:
            _log.warning("%s could not be settled: %s", name, error)
            if getattr(error, "id", "") != "project-deleted" or intent.action != STOPS_LEFT:
                left.append(name)
                continue
            outcome = "project-deleted"  # they go with it
        if not outcome:
            left.append(name)
            continue
        if intent.action == STOPS_LEFT and there:
            _tell_receipt(home / "runs" / intent.run, name)
        journal.close(intent.number, outcome, time.time())
    return left


def _settled(intent: Intent, side: CloudSide) -> str:
    """The outcome; "": not yet. Stops go only when what they call is verified gone."""
    facts = intent.facts
    zone, backend, queue = str(facts["zone"]), str(facts["backend"]), str(facts.get("queue", ""))
    ref = Ref(str(facts["name"]), zone, backend, queue, facts.get("alpha") is True)
    machines = side.machines[ref.backend]
    if intent.action != STOPS_LEFT and machines.look(ref) is not None:
        machines.delete(ref)
    if machines.look(ref) is not None:
        return ""
    left = stops.without(side.stops, ref)
    if intent.action == STOPS_LEFT:
        return "" if left else "removed"
    return "deleted"


def _tell_receipt(folder: Path, name: str) -> None:
    """The receipt on this disk no longer has the stops of *name* among what is left."""
    path = folder / RECEIPT
    try:
        record = read_json(path)
        kept = [one for one in record["stops_left"] if one != "unknown" and f"/{name}-" not in str(one)]
        write_inside(folder, path, json.dumps({**record, "stops_left": kept}, indent=1).encode() + b"\n")
    except (OSError, ValueError, KeyError, TypeError) as error:
        _log.info("run %s: its receipt still speaks of stops: %s", folder.name, error)
