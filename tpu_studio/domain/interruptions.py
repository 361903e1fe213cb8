"""What a run that lost its machine went through until it trained again: the fold of it. Pure.

``domain.folding`` calls these with the events that matter; ``viewmodels.runstory`` tells it in words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tpu_studio.wire.reasons import Reason

AT_MOST = 100


@dataclass(frozen=True)
class Interruption:
    """A machine that was lost while the run went on, and how the next one took over.

    Attributes:
        t: When the machine said that it is taken back, or, where it said nothing, when it was seen to be gone. Times in
            seconds since 1970; None: not yet.
        preempted: The cloud took it back; else it was lost for another reason.
        usd: What the run had cost by then.
        warned: The machine said so itself.
        step: The last step that is known of it.
        saved: Step of the newest checkpoint then; None: there was none.
        over: When it was verified gone, and the run was ready for the next one.
        asked, zone: When and where the next machine was first asked for.
        resumed: The step from which training went on; None: not yet.
        since: When training went on.
        usd_since: What the run had cost by then.
    """

    t: float
    preempted: bool
    usd: float
    warned: bool = False
    step: int = 0
    saved: int | None = None
    over: float | None = None
    asked: float | None = None
    zone: str = ""
    resumed: int | None = None
    since: float | None = None
    usd_since: float = 0.0

    @property
    def lost(self) -> int | None:
        """Steps that are, or were, trained once more; None: it is not known from where training goes on."""
        start = self.resumed if self.resumed is not None else self.saved
        return None if start is None else max(0, self.step - start)


Interruptions = tuple[Interruption, ...]


def _open(known: Interruptions) -> Interruption | None:
    """The one that lasts."""
    return known[-1] if known and known[-1].since is None else None


def _with(known: Interruptions, last: Interruption) -> Interruptions:
    return (*known[:-1], last)


def warned(known: Interruptions, t: float, usd: float) -> Interruptions:
    """The machine says that it is taken back. Said again of the same machine it changes nothing."""
    last = _open(known)
    if last is not None and last.over is None:
        return known
    return (*known[-AT_MOST + 1 :], Interruption(t, True, usd, warned=True))


def over(known: Interruptions, t: float, usd: float, step: int, saved: int | None, reason: str) -> Interruptions:
    """The machine is gone, and the run goes on with the next one. *usd*: what the run has cost."""
    last, preempted = _open(known), reason == Reason.PREEMPTED.value
    if last is None or last.over is not None:
        known, last = (*known[-AT_MOST + 1 :], Interruption(t, preempted, usd)), None
    ended = replace(known[-1], over=t, step=step, saved=saved)
    return _with(known, ended if last is None else replace(ended, preempted=preempted or last.warned))


def asked(known: Interruptions, t: float, zone: str) -> Interruptions:
    """A machine is asked for."""
    last = _open(known)
    if last is None or last.over is None or last.asked is not None:
        return known
    return _with(known, replace(last, asked=t, zone=zone))


def resumed(known: Interruptions, step: int) -> Interruptions:
    last = _open(known)
    return known if last is None or last.over is None else _with(known, replace(last, resumed=step))


def trains(known: Interruptions, t: float, usd: float) -> Interruptions:
    """Training goes on. *usd*: what the run has cost. A machine that only said that it goes was not taken after all."""
    last = _open(known)
    if last is None:
        return known
    if last.over is None:
        return known[:-1]
    return _with(known, replace(last, since=t, usd_since=max(usd, last.usd)))
