"""`tpu-studio profile RUN`: where the time of some steps goes, in three sentences, while the run trains."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.studio import Studio, studio
from tpu_studio.wire import places

if TYPE_CHECKING:
    from tpu_studio.domain.run import RunView

POLL_S = 0.2


def profile(arguments: Arguments, output: Output) -> int:
    from tpu_studio.domain.sentences.profile import not_made
    from tpu_studio.viewmodels.runprofile import card_of

    with studio() as services:
        following = services.runs.follow(arguments.run)
        try:
            following.poll()
            before = _told_at(following.view)
            services.runs.profile(arguments.run)
            _wait(services, following, before, output)
        finally:
            following.close()
    view, run = following.view, following.folder.name
    card, made = card_of(following.plan, view), view.profiled
    if card is None or made is None or view.profile_failed or _told_at(view) == before:
        why = str(view.profile_failed.get("why") or "run-is-over")
        output.say(f"{not_made(why)}")
        output.answer({"run": run, "profile": None, "why": why})
        return 1
    remedy = card.remedy
    lines = [f"{card.title}:", *card.sentences]
    if remedy is not None:
        lines.append(remedy.text)
        for path, value in remedy.changes.items():
            lines += [f"tpu-studio show {run} --job again.tpujob", f"tpu-studio run again.tpujob --set {path}={value}"]
    if card.trace:
        rented = places.by_id(following.plan.place).rents
        lines.append(f"The raw trace{', once the run is over' if rented else ''}: {following.folder / card.trace}")
    told = {
        "run": run,
        "profile": made.to_json(),
        "sentences": list(card.sentences),
        "remedy": {"text": remedy.text, "changes": dict(remedy.changes)} if remedy is not None else None,
        "trace": str(following.folder / card.trace) if card.trace else None,
    }
    output.answer(told, "\n  ".join(lines))
    return 0


def _told_at(view: RunView) -> float:
    """When a profile was told last, or that there is none."""
    return max((one.t for one in view.happened if one.kind == "profile"), default=0.0)


def _wait(services: Studio, following: Any, before: float, output: Output) -> None:
    """Until a profile is told that was not *before*, or none will be."""
    from tpu_studio.cli.running import drive

    turn_at = 0.0
    while not following.view.over and _told_at(following.view) == before:
        if places.by_id(following.plan.place).rents:
            turn_at = drive(services, following.folder.name, turn_at)
        output.progress(None, "Profiling…", same="Profiling…")
        time.sleep(POLL_S)
        following.poll()
