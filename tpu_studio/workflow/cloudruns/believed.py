"""Which changes of a run's limits this desktop believes: those that were asked for here, and those it took over.

The bucket is written by the machine, too, where a person's code runs: what lies there under ``control/`` may come from
anybody who has the machine's account. Limits decide what is rented next and how long, so a raise is believed only where
``limits-asked.jsonl`` of this disk names it, which nobody brings here from the bucket. A stop is obeyed whoever asks.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tpu_studio.wire.controls import Control, Controls, send
from tpu_studio.wire.limits import Limits, limits_of
from tpu_studio.wire.plainfiles import open_to_append
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import LIMITS_ASKED
from tpu_studio.wire.sizes import RECORD_BYTES, TooLarge, read_at_most

FILE = LIMITS_ASKED


def limits(run: Path, plan: Plan, more: Iterable[Mapping[str, object]] = ()) -> Limits:
    """The plan's limits, as changed by what is believed, and by *more*, which is about to be asked for here."""
    known = _known(run)
    records = [one for one in Controls(run).read() if one.get("verb") != "limits" or _line(one) in known]
    return limits_of(plan, [*records, *more])


def ask(run: Path, record: Mapping[str, object]) -> int:
    """`controls.send`, believed here. Before it is sent, so that nothing is asked for and then not believed."""
    believe(run, [record])
    return send(run, record)


def believe(run: Path, records: Iterable[Mapping[str, object]]) -> None:
    """Raises OSError."""
    new = {_line(one) for one in records if one.get("verb") == "limits"} - _known(run)
    if new:
        with open_to_append(run / FILE) as file:
            file.write("".join(sorted(f"{line}\n" for line in new)).encode())
            file.flush()
            os.fsync(file.fileno())


def take(run: Path, records: Iterable[Mapping[str, object]]) -> None:
    """Believe these of a run that is taken over, and nothing else that lies in its folder. Raises OSError."""
    believe(run, records)
    open_to_append(run / FILE).close()  # else `begin` would think of an earlier version


def are_known(run: Path, records: Iterable[Mapping[str, object]]) -> bool:
    known = _known(run)
    return all(_line(one) in known for one in records)


def begin(run: Path) -> None:
    """Before the first look into the bucket: what an earlier version asked for here is on this disk. On a disk that
    takes nothing, nothing is believed."""
    with contextlib.suppress(OSError):
        if not (run / FILE).exists() and run.is_dir():
            believe(run, Controls(run).read())
            open_to_append(run / FILE).close()


def strange(run: Path) -> list[Control]:
    """Changes of limits that nobody asked for here."""
    known = _known(run)
    return [one for one in Controls(run).read() if one.get("verb") == "limits" and _line(one) not in known]


def _known(run: Path) -> frozenset[str]:
    try:
        return frozenset(read_at_most(run / FILE, RECORD_BYTES).decode("utf-8", "replace").splitlines())
    except (OSError, TooLarge):
        return frozenset()


def _line(record: Mapping[str, object]) -> str:
    return json.dumps({name: record.get(name) for name in ("hours", "money_usd")}, sort_keys=True)
