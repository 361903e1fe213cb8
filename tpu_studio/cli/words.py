"""What a run is doing, in one line for the terminal. Pure."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.run import RunView
from tpu_studio.domain.sentences import say
from tpu_studio.wire import metrics, places, tasks
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.records import items, number

_PHASES = {
    "planned": "Planned",
    "queued": "Waiting",
    "provisioning": "Waiting for a computer",
    "setting-up": "Setting up",
    "compiling": "Compiling",
    "training": "Training",
    "saving": "Saving",
    "cleaning-up": "Cleaning up",
    "done": "Ended",
}
_TURN = "waiting for its turn"
_WORTH_TELLING_S = 60.0
_SILENT_S, _SILENT_RENTED_S = 15.0, 30.0  # a machine that has nothing to say says so every 30 s


def doing(view: RunView, place: str, now: float) -> tuple[str, str]:
    """The line, and what of it stays equal while only time passes ("" where it is all new each time).

    Args:
        now: Seconds since 1970 by this computer's clock.
    """
    if view.over and view.rented:
        words = "Cleaning up: the result is fetched, and the machine is verified to be gone…"
        return words, words
    if view.waiting and not view.step:
        return _waiting(view)
    if not view.step:
        return _before(view, place, now)
    return _training(view, place, now), ""


def usd_now(view: RunView, now: float) -> float:
    """Cost so far, carried on at its rate since the latest report, as the window shows it."""
    if view.rented or view.over or not view.usd_at:
        return view.usd_now(now)
    return view.usd + max(0.0, now - view.usd_at) / 3600.0 * (view.usd_per_hour or 0.0)


def silent_s(view: RunView, now: float) -> float:
    """Age of the newest report, once that is more than it should be; else 0."""
    age = now - view.seen_t if view.seen_t and not view.over else 0.0
    return age if age > (_SILENT_RENTED_S if view.rented else _SILENT_S) else 0.0


def _since(view: RunView, now: float) -> str:
    age = silent_s(view, now)
    figures_of_then = "all but the cost is" if view.usd_per_hour else "these figures are"
    return f" · nothing heard for {figures.duration(age)}: {figures_of_then} of then" if age else ""


def _waiting(view: RunView) -> tuple[str, str]:
    """14 min, asked us-west4-a and us-east5-b: nothing free."""
    zones = ", ".join(str(zone) for zone in items(view.waiting.get("zones")))
    since = number(view.waiting.get("since"), view.seen_t)
    why = say(StudioError(str(view.waiting.get("why") or "no-capacity"))).title
    asked = f"asked {zones}: {why}…"
    return f"Waiting {figures.duration(max(0.0, view.seen_t - since))}, {asked}", asked


def _before(view: RunView, place: str, now: float) -> tuple[str, str]:
    """From the launch to the first step."""
    from tpu_studio.viewmodels.runrented import fetch_words, queued_words, upload_words
    from tpu_studio.viewmodels.runrows import marked
    from tpu_studio.viewmodels.runstages import DETAILS

    queued = view.spans.get(Phase.QUEUED)
    waited_s = queued.seconds(now) if queued is not None and places.by_id(place).local else 0.0
    waited = f", {figures.duration(waited_s)} so far" if waited_s >= _WORTH_TELLING_S else ""
    if view.detail == "waiting-for-colab":
        from tpu_studio.domain.sentences.colab import WAITING

        return f"{WAITING}…", WAITING
    if view.phase is Phase.QUEUED and view.detail == _TURN:
        told = "Waiting for its turn: another run trains on this computer"
        return f"{told}{waited}…", told
    if view.phase is Phase.QUEUED and view.rented:
        told = queued_words(view)
        sent = upload_words(view)
        return f"{told}{f': {sent}' if sent else ''}…", told
    told = _PHASES.get(view.phase.value, view.phase.value)
    detail = DETAILS.get(view.detail, view.detail)
    told += f": {detail}" if detail else ""
    far = f", {fetched}" if (fetched := fetch_words(view)) else ""
    after = f" (it has waited {figures.duration(waited_s)} for its turn)" if waited else ""
    usd = usd_now(view, now) if view.rented and view.usd_at else 0.0
    cost = f" · {marked(place, usd)}" if usd else ""
    return f"{told}{far} …{after}{cost}{_since(view, now) if cost else ''}", told


def _training(view: RunView, place: str, now: float) -> str:
    from tpu_studio.viewmodels import runchips
    from tpu_studio.viewmodels.runrows import marked

    parts = [_PHASES.get(view.phase.value, view.phase.value), f"step {view.step:,} of {view.steps_planned:,}"]
    loss = metrics.training_loss()
    if loss.id in view.last:
        parts.append(f"{loss.row} {figures.figure(view.last[loss.id])}")
    main = next((task.metric for task in tasks.all_tasks() if task.metric in view.last), None)
    if main:
        parts.append(f"{main} {figures.metric(main, view.last[main])}")
    if view.examples_per_s:
        parts.append(f"{figures.figure(view.examples_per_s)} examples/s")
    if busy := runchips.words(view, place):
        parts.append(busy)
    left = view.time_left_s()
    if left is not None:
        parts.append(f"{figures.duration(left)} left")
    if view.usd_per_hour:
        parts.append(marked(place, usd_now(view, now)))
    return " · ".join(parts) + _since(view, now)
