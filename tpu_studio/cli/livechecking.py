"""``live-check``: settles what the program assumes of Google, on your own account, after a sheet of every call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.cli.output import Output, check_absent, table
from tpu_studio.cli.parser import Arguments
from tpu_studio.domain.doubts import doubts
from tpu_studio.wire.errors import BadInput, StudioError
from tpu_studio.wire.homes import home_folder

if TYPE_CHECKING:
    from tpu_studio.workflow.livecheck.checking import Outcome
    from tpu_studio.workflow.livecheck.ports import Seen, Step

FAILED = 1
DETACHED = 130
_WORDS = {"as-assumed": "as assumed", "other-way": "the other way", "not-seen": "not seen"}


def live_check(arguments: Arguments, output: Output) -> int:
    """Exit code 1 where something that it made could not be taken away."""
    from tpu_studio.places import livechecking
    from tpu_studio.workflow.livecheck.checking import chosen

    if not 0 <= arguments.max_usd < float("inf"):
        raise BadInput("command-line", raw="--max-usd takes an amount from 0", help="tpu-studio live-check --help")
    check_absent(Path(arguments.save) if arguments.save else None, force=arguments.force)
    home = home_folder()
    with livechecking.prober_of(arguments.on, home) as (prober, _):
        steps = list(prober.steps())
    output.say(sheet(steps, arguments.max_usd))
    agreed = bool(arguments.yes)
    if not agreed and output.is_terminal and not output.as_json:
        agreed = output.ask("Make the small things and rent the machine, too? Without it only the free reads are made.")

    def told(step: Step) -> None:
        output.progress(None, f"Asking: {step.id}…")

    try:
        outcome = livechecking.live_check(arguments.on, home, agreed, arguments.max_usd, told=told)
    except KeyboardInterrupt:
        left = livechecking.not_taken_away(home)
        output.say(_still_there(left) if left else "Ended. What it had made is taken away.")
        return DETACHED
    except StudioError:
        if left := livechecking.not_taken_away(home):
            output.say(_still_there(left))
        raise
    if arguments.save:
        livechecking.save(arguments.on, outcome.seen, Path(arguments.save))
    asked = [step.id for step in chosen(steps, agreed, arguments.max_usd)]
    answer = {
        "place": arguments.on,
        "agreed": agreed,
        "usd_at_most": round(outcome.usd, 4),
        "asked": asked,
        "left": list(outcome.left),
        "doubts": [_as_json(one) for one in outcome.seen],
    }
    output.answer(answer, _as_text(outcome))
    return FAILED if outcome.left else 0


def sheet(steps: Sequence[Step], max_usd: float) -> str:
    """Every call, and what it costs."""
    lines = []
    for step in steps:
        price = "free" if step.stage == "read" else f"${step.usd:.3f} at most"
        lines.append(f"{step.id} ({price}): {'; '.join(step.calls)}")
    usd = sum(step.usd for step in steps)
    lines.append(f"All together ${usd:.2f} at most; nothing is done that goes over your ${max_usd:.2f}.")
    return "\n".join(lines)


def _as_json(one: Seen) -> dict[str, Any]:
    from tpu_studio.workflow.livecheck.observed import outcome

    return {"id": one.doubt, "seen": outcome(one), "way": one.way or "", "answer": one.raw}


def _as_text(outcome: Outcome) -> str:
    rows = []
    for one in outcome.seen:
        told = _as_json(one)
        way = f" ({doubts()[one.doubt].ways[one.way]})" if one.way else ""
        rows.append([one.doubt, _WORDS[told["seen"]] + way])
    lines = [table(rows), f"It cost ${outcome.usd:.3f} at most. What was seen counts here for 30 days."]
    if outcome.left:
        lines.append(_still_there(outcome.left))
    return "\n".join(lines)


def _still_there(left: Sequence[str]) -> str:
    return (
        f"Could not be deleted: {', '.join(left)}. A machine of these goes on costing until its shut-off "
        "timers; run live-check again, or tpu-studio sweep --delete."
    )
