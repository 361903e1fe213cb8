"""How a run that lost its machine went on, as a small story of six beats, newest interruption only. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_studio.domain import figures
from tpu_studio.domain.interruptions import Interruption
from tpu_studio.domain.run import RunView
from tpu_studio.viewmodels import runrented
from tpu_studio.viewmodels.runfacts import Tone
from tpu_studio.wire import places

YET = "not yet"


@dataclass(frozen=True)
class Beat:
    """One line of the story: what, when or how much, and a word to it. *ahead*: it has not come yet."""

    icon: str
    label: str
    value: str
    more: str = ""
    ahead: bool = False


@dataclass(frozen=True)
class Story:
    title: str
    text: str
    beats: tuple[Beat, ...]
    tone: Tone

    @property
    def spoken(self) -> str:
        """The whole of it for a screen reader and the command line."""
        told = (f"{one.label}: {one.value}{f' ({one.more})' if one.more else ''}" for one in self.beats)
        return f"{self.title}. {'; '.join(told)}."


def story_of(place: str, view: RunView, *, copy: bool = False) -> Story | None:
    """The newest interruption of a rented run; None: there was none. *place*: of its plan. *copy*: it came here as
    files, and nothing of it is green."""
    if not view.interruptions or not places.by_id(place).rents:
        return None
    last = view.interruptions[-1]
    ended = view.over and last.since is None
    beats = (_taken(last), _saved(last, view), _lost(last, view), *_again(last, view, place))
    tone: Tone = "neutral" if ended else "accent" if last.since is None else "ok"
    return Story(_title(place, last, ended), _text(view, last, ended), beats, "neutral" if copy else tone)


def _title(place: str, last: Interruption, ended: bool) -> str:
    lender = runrented.lender(place)
    taken = f"{lender} took the TPU back" if last.preempted else "The TPU was lost"
    if ended:
        return f"{taken}, and the run did not go on"
    if last.over is None:
        return f"{lender} takes the TPU back"
    if last.since is None:
        return f"{taken}; the run goes on with the next one"
    if last.resumed:
        return f"{taken}, and the run went on from step {figures.count(last.resumed)}"
    return f"{taken}, and the run began again"


def _text(view: RunView, last: Interruption, ended: bool) -> str:
    times = len(view.interruptions)
    again = f"The {_nth(times)} time in this run. " if times > 1 else ""
    if ended:
        return f"{again}Why stands above."
    if last.since is None:
        return f"{again}Nobody needs to do anything: the next TPU is asked for by itself."
    return f"{again}Nobody had to do anything. It is one run and one curve."


def _taken(last: Interruption) -> Beat:
    return Beat(
        "cloud-off",
        "Taken back at" if last.preempted else "Lost at",
        figures.clock(last.t, seconds=True),
        "it was warned" if last.warned else "without a warning",
    )


def _saved(last: Interruption, view: RunView) -> Beat:
    """Where it goes on from: what really was loaded counts more than what had been reported as saved."""
    step = last.resumed if last.resumed is not None else last.saved if last.over is not None else view.checkpoint_step
    value = f"step {figures.count(step)}" if step else "none"
    told = last.warned and step is not None and last.over is not None and step >= last.step
    return Beat("save", "Last checkpoint", value, "saved on the warning" if step and told else "")


def _lost(last: Interruption, view: RunView) -> Beat:
    if last.over is None or last.lost is None:
        return Beat("rotate-cw", "Steps lost", YET if last.over is None else "all of them", ahead=last.over is None)
    if not last.lost:
        return Beat("rotate-cw", "Steps lost", "none")
    pace = view.pace.recent.lasting_s if view.pace.known else None
    about = f", about {figures.duration(last.lost * pace)}" if pace else ""
    return Beat("rotate-cw", "Steps lost", figures.count(last.lost), f"trained once more{about}")


def _again(last: Interruption, view: RunView, place: str) -> tuple[Beat, ...]:
    asked = Beat("map-pin", "Asked again at", YET, ahead=True)
    if last.asked is not None:
        asked = Beat("map-pin", "Asked again at", figures.clock(last.asked, seconds=True), f"in {last.zone}")
    cost = "That would have cost" if places.by_id(place).rehearses else "That cost"
    if last.since is None:
        return asked, Beat("play", "Going on since", YET, ahead=True), Beat("circle-dollar-sign", cost, YET, ahead=True)
    begun = _chain(view)[0]
    usd = last.usd_since - begun.usd
    idle = f"and {figures.duration(last.since - begun.t)} without training"
    times = "" if begun is last else ", both times together" if begun is _chain(view)[-2] else ", all times together"
    return (
        asked,
        Beat(
            "play",
            "Going on since",
            figures.clock(last.since, seconds=True),
            f"after {figures.duration(last.since - last.t)}",
        ),
        Beat("circle-dollar-sign", cost, figures.money_between(usd, usd), f"{idle}{times}"),
    )


def _chain(view: RunView) -> tuple[Interruption, ...]:
    """The newest, and those before it after which it never came to train."""
    first = len(view.interruptions) - 1
    while first and view.interruptions[first - 1].since is None:
        first -= 1
    return view.interruptions[first:]


def _nth(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"
