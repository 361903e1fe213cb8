"""``sweep``: billable resources in every zone; with ``--delete`` TPU Studio's go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpu_studio.cli.output import Output, table
from tpu_studio.cli.parser import Arguments
from tpu_studio.domain import figures
from tpu_studio.domain.sentences import say
from tpu_studio.viewmodels.sweep import stops_words
from tpu_studio.wire.errors import StudioError

FAILED = 1
OURS = "TPU Studio's resources"
_LOOK_AGAIN = "What is there is still charged, the machine of a run until its limits. Check again once that is fixed."
NOT_ALL_SEEN = "Nothing was found that costs money, but not everything could be checked: something may be there."


def sweep(arguments: Arguments, output: Output) -> int:
    """Exit code 1 when something could not be looked at, or deleted: "nothing is left" is not certain then."""
    from tpu_studio.places.sweeping import sweep_of
    from tpu_studio.wire.homes import home_folder

    with sweep_of(arguments.on, home_folder()) as sweeping:
        swept = sweeping.look()
        outcome: dict[tuple[str, str, str], str] = {}
        doomed = [item for item in swept.items if not item.kept]
        if arguments.delete and doomed:
            asked = output.is_terminal and not output.as_json and not arguments.yes
            if asked and not output.ask(f"Delete {len(doomed)} of TPU Studio's resources? A run on one of them ends."):
                output.say("Nothing was deleted.")
                return FAILED
            for item, error in sweeping.delete(doomed):
                outcome[item.kind, item.name, item.zone] = "deleted" if error is None else say(error).title
    rows: list[dict[str, object]] = []
    for item in swept.items:
        row = item.to_json()
        if arguments.delete:
            row["outcome"] = outcome.get((item.kind, item.name, item.zone), "kept")
        rows.append(row)
    unclear = [{"kind": kind, "id": error.id, "facts": error.facts} for kind, error in swept.unclear]
    total, ours = swept.total(), swept.total(ours=True)
    found = _as_table(_together(rows), total, ours) if rows or not unclear else NOT_ALL_SEEN
    output.answer({"items": rows, "unclear": unclear, "total": total, "ours": ours}, found)
    for words in not_looked_at(swept.unclear):
        output.say(words)
    failed = [row for row in rows if row.get("outcome") not in (None, "deleted", "kept")]
    return FAILED if unclear or failed else 0


def not_looked_at(unclear: Sequence[tuple[str, StudioError]]) -> list[str]:
    """What could not be looked at and why, a sentence for each reason; what it means, and what to do."""
    kinds: dict[str, list[str]] = {}
    for kind, error in unclear:
        kinds.setdefault(say(error).title, []).append(kind)
    told = [f"Whether there is any {', '.join(those)} could not be found out. {why}." for why, those in kinds.items()]
    return [*told, _LOOK_AGAIN] if told else []


def _together(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """The shut-off timers of one run, region and outcome as one row, where the first of them stands."""
    groups: dict[object, list[dict[str, Any]]] = {}
    for number, row in enumerate(rows):
        stop = (row["run"], row["zone"], row["ours"], row.get("outcome"))
        groups.setdefault(stop if row["kind"] == "task" else number, []).append(row)
    return [
        {**group[0], "name": stops_words(group[0]["run"], [one["at"] for one in group])}
        if group[0]["kind"] == "task"
        else group[0]
        for group in groups.values()
    ]


def _as_table(rows: list[dict[str, Any]], total: Mapping[str, float], ours: Mapping[str, float]) -> str:
    if not rows:
        return "No billable resources: nothing there costs money."
    lines = [["", "kind", "name", "location", "state", "$/h"]]
    for row in rows:
        usd = "unknown" if row["usd_per_hour"] is None else hourly(row["usd_per_hour"])
        state = row.get("outcome") or row["state"]
        lines.append(["TPU Studio's" if row["ours"] else "", row["kind"], row["name"], row["zone"], state, usd])
    return f"{table(lines, right=(5,))}\n\n{_sum('All', total)} {_sum(OURS, ours)}"


def hourly(usd: float) -> str:
    """A bucket costs so little an hour that its figure would be read by nobody."""
    return "0.0000" if 0.0 < usd < 0.0001 else f"{usd:.4g}"


def _sum(what: str, costs: Mapping[str, float]) -> str:
    """What was there when it was looked at, before any deletion."""
    unknown = int(costs["unknown"])
    things = "1 thing" if unknown == 1 else f"{unknown} things"
    more = f", and {things} of a price that is not known" if unknown else ""
    return f"{what}: ${hourly(costs['usd_per_hour'])} an hour, {figures.money(costs['usd_per_month'])} a month{more}."
