"""One run of the list in words: status, place, key figure, time and cost, and what its columns sort by.

Reads no more than whose a rented run is.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tpu_studio.domain import figures
from tpu_studio.domain.mark import Mark
from tpu_studio.wire import families, frameworks, metrics, places
from tpu_studio.workflow.consent import is_imported

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import RunSummary

Tone = Literal["neutral", "accent", "ok", "warn", "bad"]

_PHASES = {
    "planned": "Starting",
    "queued": "Waiting its turn",
    "provisioning": "Getting TPU",
    "setting-up": "Setting up",
    "compiling": "Compiling",
    "training": "Training",
    "saving": "Saving",
    "cleaning-up": "Cleaning up",
}
FROM_COLAB = "Waiting for Colab"
BEING_READ = "Being read"
DISK_FULL = "Disk full here"
NEAR_CAP = 0.8
_BY_LIMIT = ("time-limit", "money-limit")
_MAY_EXTEND = ("completed", "early-stopped", "stopped-by-user")


def pretence(place: str, usd: float) -> str:
    """`practice` or `simulated`: what *usd* is where nobody is charged; "" for real money and for nothing."""
    return (
        "" if places.by_id(place).charges or not usd else "practice" if places.by_id(place).rehearses else "simulated"
    )


def cost_kind(place: str, usd: float, most: float) -> str:
    """What stands with *most*, the figure shown: that it is no real money, or more than it may have been."""
    inexact = "at most" if figures.money(most) != figures.money(usd) else ""
    return ", ".join(filter(None, (pretence(place, most), inexact)))


def marked(place: str, usd: float) -> str:
    """`$1.84`; `practice $0.07`: nothing real may be read out of a rehearsal."""
    return f"{pretence(place, usd)} {figures.money(usd)}".strip()


@dataclass(frozen=True)
class RunRow:
    """One run in words, and the values that its columns sort by."""

    run: str
    name: str
    subtitle: str
    folder: Path
    created: float
    status: str
    tone: Tone
    live: bool
    waiting: bool
    over: bool
    place_icon: str
    place: str
    losses: tuple[float, ...]
    metric: str
    metric_name: str
    metric_value: float | None
    time: str
    seconds: float
    usd: float
    progress: float
    left: str = ""
    may_extend: bool = False
    may_resume: bool = False
    problem: str = ""
    unread: bool = False  # what it tells is of an earlier moment: more of its events is read with the next list
    place_id: str = field(default_factory=lambda: places.default().id)
    unproved: bool = False
    ended: float | None = None
    usd_per_hour: float | None = None
    usd_most: float = 0.0
    finished: bool = False  # over, and as it should end
    model: str = ""
    kind: str = ""  # of its data
    resumed: bool = False  # a later attempt has gone on training where an earlier one was ended
    usd_limit: float | None = None  # while it goes on
    when: str = ""  # it was started
    mark: Mark = field(default_factory=Mark)  # what the person here has noted
    copy: bool = (
        False  # of a rented run, brought here as files: who sent it has paid, and what it costs is its own claim
    )

    @property
    def rented(self) -> bool:
        return places.by_id(self.place_id).rents

    @property
    def near_cap(self) -> bool:
        """It goes on, and has cost the better part of what it may."""
        return self.live and bool(self.usd_limit) and self.most >= NEAR_CAP * (self.usd_limit or 0.0)

    @property
    def most(self) -> float:
        """US dollars that it has cost, or may have at most."""
        return max(self.usd, self.usd_most)

    @property
    def cost(self) -> str:
        """`$1.84`; `practice $0.07` and `simulated $0.07` where nobody is charged anything; `at most $0.09`."""
        if self.problem:
            return "–"  # it may have been rented: nobody knows
        return f"{self.cost_kind} {figures.money(self.most)}".strip()

    @property
    def cost_kind(self) -> str:
        """What stands under the figure of `cost` where it is no real money, or more than it may have been."""
        return "" if self.problem else cost_kind(self.place_id, self.usd, self.most)

    @property
    def extension_price(self) -> str:
        """What training a rented run longer costs; "" for one that rents nothing."""
        if not self.rented:
            return ""
        rate = f"{figures.money(self.usd_per_hour)} an hour" if self.usd_per_hour else "a price that is not known"
        charged = "Practice: nothing is charged." if places.by_id(self.place_id).rehearses else "It is charged."
        return f"It rents again, at {rate}, up to the run's cost limit; {self.cost} is counted in. {charged}"

    @property
    def may_stop(self) -> bool:
        """Also when its machine says that it is over, until that is verified gone."""
        return self.live or self.waiting or (self.rented and self.unproved)

    @property
    def spoken(self) -> str:
        """The whole row for a screen reader."""
        told = [self.name, *(["starred"] if self.mark.star else []), self.subtitle, self.status, self.place]
        if self.metric:
            told.append(f"{self.metric_name} {self.metric}")
        told += [f"time {self.time}", f"cost {self.cost}", f"started {self.when}"]
        told += [f"tags {' and '.join(self.mark.tags)}"] if self.mark.tags else []
        return ", ".join([*told, *([f"note: {self.mark.first_line}"] if self.mark.note else [])])

    def sort_key(self, column: str) -> tuple[int, object]:
        """What *column* sorts by; unknown values come last, ascending."""
        match column:
            case "name":
                return 0, self.name.casefold()
            case "star":
                return 0, self.mark.star
            case "status":
                return (0 if self.live else 1 if self.waiting else 2), self.status
            case "place":
                return 0, self.place
            case "loss":
                return (0, self.losses[-1]) if self.losses else (1, 0.0)
            case "metric":
                return (0, self.metric_value) if self.metric_value is not None else (1, 0.0)
            case "time":
                return 0, self.seconds
            case "cost":
                return 0, self.most
            case _:
                return 0, self.created


def rows_of(
    summaries: Iterable[RunSummary], now: float | None = None, *, disk_full: bool = False
) -> tuple[RunRow, ...]:
    rows = (row_of(summary, now, disk_full=disk_full) for summary in summaries)
    return tuple(sorted(rows, key=lambda row: -row.created))


def row_of(known: RunSummary, now: float | None = None, *, disk_full: bool = False) -> RunRow:
    """A summary in words.

    Args:
        now: Seconds since 1970, for "today"; None: by this computer's clock.
        disk_full: This computer's disk is, so of a rented run nothing more comes here: its state is of then.
    """
    status, tone = status_of(known)
    at = places.by_id(known.place)
    icon, place = (at.icon, at.title) if not known.problem else ("monitor", "Unknown")
    waiting = not known.over and known.status == "queued"
    name, value = known.key_metric if known.key_metric else ("", None)
    copy = not known.problem and places.by_id(known.place).rents and is_imported(known.folder)
    goes_on = known.over and not known.problem and not copy and not known.unread
    unheard = bool(known.unread) and (copy or not known.alive)  # nobody knows yet whether it is over
    going = not known.over and not known.problem and not copy and not unheard
    if unheard and not known.problem:
        status, tone = BEING_READ, "neutral"
    elif copy:  # its own claim: nothing of it is green, and nothing of it goes on here
        status, tone = (status, "neutral" if tone == "ok" else tone) if known.over else ("Unfinished copy", "neutral")
    elif known.over and at.rents and not known.settled and not known.problem:  # its machine says so: it may be there
        status, tone = _PHASES["cleaning-up"], "accent"
    elif disk_full and known.goes_on_rented:
        status, tone = DISK_FULL, "bad"
    return RunRow(
        run=known.run,
        name=known.name,
        subtitle=", ".join(filter(None, ("imported" if copy else "", subtitle_of(known)))),
        folder=known.folder,
        created=known.created,
        status=status,
        tone=tone,
        live=going and not waiting,
        waiting=going and waiting,
        over=known.over,
        place_icon=icon,
        place=place,
        losses=known.losses,
        metric=_metric(name, value) if name else "",
        metric_name=_metric_name(name),
        metric_value=value,
        time=figures.duration(known.duration_s) if known.duration_s and not known.problem else "–",
        seconds=known.duration_s,
        usd=known.usd,
        usd_most=known.usd_most,
        progress=known.progress,
        may_extend=goes_on and known.reason in _MAY_EXTEND,
        may_resume=goes_on and _retry_may_help(known.reason),
        problem=known.problem,
        unread=bool(known.unread),
        place_id=known.place,
        unproved=known.over and not known.settled and not copy,
        ended=known.ended,
        usd_per_hour=known.usd_per_hour,
        finished=known.over and not known.problem and known.status == "finished",
        usd_limit=known.usd_limit,
        mark=known.mark,
        when=figures.moment(known.created, time.time() if now is None else now),
        copy=copy,
        model=known.model,
        kind=known.kind,
        resumed=known.attempt > 1 and known.status in ("training", "saving", "finished"),
    )


def _metric(name: str, value: float | None) -> str:
    """As the Run page tells it: of a text, its perplexity."""
    if metrics.by_id(name).unit == "nats" and value is not None:
        return figures.figure(metrics.perplexity(value))
    return figures.metric(name, value)


def _metric_name(name: str) -> str:
    return metrics.by_id(name).row


def status_of(known: RunSummary) -> tuple[str, Tone]:
    if known.problem:
        return "Cannot be read", "bad"
    if known.over:
        if known.status == "finished":
            return "Finished", "ok"
        if known.status == "stopped":
            return ("Stopped by a limit", "warn") if known.reason in _BY_LIMIT else ("Stopped by you", "neutral")
        return "Failed", "bad"
    if known.status == "training":
        return f"Training {figures.share(known.progress, 0)}", "accent"
    if places.by_id(known.place).notebook and known.status == "queued":
        return FROM_COLAB, "accent"
    return _PHASES.get(known.status, known.status or "Starting"), "accent"


def subtitle_of(known: RunSummary) -> str:
    from tpu_studio.wire.models import BY_NAME

    if known.problem:
        from tpu_studio.domain.sentences import say
        from tpu_studio.wire.errors import RunError

        return say(RunError(known.problem)).title
    model = (
        BY_NAME[known.model].title
        if known.model in BY_NAME
        else "Your own model"
        if known.model == families.own_family().id
        else known.model
    )
    framework = frameworks.title_of(known.framework)
    return ", ".join(part for part in (model, framework) if part)


def _retry_may_help(reason: str) -> bool:
    from tpu_studio.wire.reasons import Reason

    try:
        return Reason(reason).retry_may_help
    except ValueError:
        return False
