"""``sweep``: everything that may cost money, in every zone; with ``--delete`` what is ours of it goes."""

from __future__ import annotations

from typing import Any

from tpu_studio.cli.output import Output, table
from tpu_studio.cli.parser import Arguments
from tpu_studio.domain.sentences import say

FAILED = 1


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
            if asked and not output.ask(f"Delete {len(doomed)} things of TPU Studio? A run on one of them ends."):
                output.say("Nothing was deleted.")
                return FAILED
            for item, error in sweeping.delete(doomed):
                outcome[item.kind, item.name, item.zone] = "deleted" if error is None else say(error).title
    rows: list[dict[str, Any]] = []
    for item in swept.items:
        row = item.to_json()
        if arguments.delete:
            row["outcome"] = outcome.get((item.kind, item.name, item.zone), "kept")
        rows.append(row)
    unclear = [{"kind": kind, "id": error.id, "facts": error.facts} for kind, error in swept.unclear]
    output.answer({"items": rows, "unclear": unclear}, _as_table(rows))
    for kind, error in swept.unclear:
        output.say(f"Whether there is any {kind} could not be found out. {say(error).title}.")
    failed = [row for row in rows if row.get("outcome") not in (None, "deleted", "kept")]
    return FAILED if unclear or failed else 0


def _as_table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "Nothing is there that costs money."
    lines = [["", "kind", "name", "zone", "state", "$/h"]]
    for row in rows:
        usd = "unknown" if row["usd_per_hour"] is None else f"{row['usd_per_hour']:.4g}"
        state = row.get("outcome") or row["state"]
        lines.append(["ours" if row["ours"] else "", row["kind"], row["name"], row["zone"], state, usd])
    return table(lines, right=(5,))
