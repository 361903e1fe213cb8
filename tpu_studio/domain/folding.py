"""The fold that makes a `RunView` of a run's events, one at a time. Pure; knows no clock, no disk, no words.

The store feeds `apply` with events in the order of their times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tpu_studio.domain import interruptions
from tpu_studio.domain.chips import WORKERS_AT_MOST, worker_of
from tpu_studio.domain.pace import SpeedReport
from tpu_studio.domain.run import HISTORY_EVERY_S, End, Happened, RunView, Span
from tpu_studio.wire import metrics
from tpu_studio.wire.brief import brief_fields, cut
from tpu_studio.wire.events import Event
from tpu_studio.wire.phases import Phase, Status
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.visible import one_line

HAPPENED_AT_MOST = 500
KEPT_AT_MOST = 1000  # beginnings, attempts, machines, metrics: more are a stranger's, and each line would copy them
BESTS_AT_MOST = 200  # of a metric: so many improvements may lie beyond the step at which a run is resumed
SPEED_WINDOW = 8
COUNTED_AT_MOST = 10**15  # steps, examples, bytes
HAPPENED_ITEMS, HAPPENED_WHOLE = 100, 20_000  # of a list in it; of all its fields, in letters: it is kept for good
DETAIL_LETTERS, HAPPENED_LETTERS = 300, 2_000  # a text of a stranger's run has as many as its file has room for


def apply(view: RunView, event: Event) -> RunView:
    """The view after *event*. Unknown kinds, and events whose fields make no sense, only move ``seen_t``.

    ``machine_of``: the attempt of the rented machine that says it; of another attempt than goes on it ends nothing, and
    of one that is verified gone, with the bill settled, nothing is heard any more.
    """
    machine_of = _int(event.get("machine_of"))
    if machine_of and machine_of != max(1, view.attempt) and event.kind in ("phase", "resume", "end", "money"):
        return view
    if machine_of and view.rented and view.settled:
        return view
    if event.kind == "end" and event.get("reason") == Reason.GUARDIAN_GONE.value:
        view = _closed(view, view.seen_t)  # found later: since its last word it was not at work
    seen_t = view.seen_t if view.settled else max(view.seen_t, event.t)
    view = replace(view, seen_t=seen_t, started_t=view.started_t or event.t)
    fold = _FOLDS.get(event.kind)
    try:
        return fold(view, event) if fold else view
    except (TypeError, ValueError, ArithmeticError):
        return view


def _phase(view: RunView, event: Event) -> RunView:
    try:
        phase = Phase(event.get("phase"))
    except ValueError:
        return view  # a phase of a newer version: kept in the file, not shown
    detail = cut(str(event.get("detail") or ""), DETAIL_LETTERS)
    if view.end is not None:
        if phase in (Phase.CLEANING_UP, Phase.DONE):  # after the end comes the proof that nothing is left
            happened = view.happened
            if phase is not view.phase:
                happened = _and(happened, Happened(event.t, "phase", {"phase": phase.value, "detail": detail}))
            return replace(view, phase=phase, detail=detail, happened=happened)
        if event.t <= view.end.t:
            return view  # the desktop declared the end after this was written
        view = replace(view, end=None, stopping=False, speeds=())
    spans = dict(view.spans)
    for known, span in spans.items():
        if span.end is None and known != phase:
            spans[known] = replace(span, end=max(span.start, event.t))
    before = spans.get(phase)
    if before is None or before.end is not None:
        spans[phase] = Span(event.t, None, before.seconds(event.t) if before else 0.0)
        if phase is Phase.TRAINING and len(view.begun) < KEPT_AT_MOST:
            view = replace(view, begun=(*view.begun, event.t))
        if phase is Phase.TRAINING:
            trains = interruptions.trains(view.interruptions, event.t, view.usd_now(event.t))
            view = replace(view, interruptions=trains)
    attempt = int(event.get("attempt") or view.attempt or 0)
    happened = view.happened
    if phase != view.phase or phase is Phase.QUEUED:
        happened = _and(happened, Happened(event.t, "phase", {"phase": phase.value, "detail": detail}))
    waiting = view.waiting if phase is Phase.QUEUED else {}
    anew = phase in (Phase.QUEUED, Phase.SETTING_UP, Phase.COMPILING)
    pace = view.pace.begun_anew() if anew and phase is not Phase.QUEUED else view.pace
    fetched = (_int(event.get("done_bytes")), _int(event.get("total_bytes")))
    view = replace(view, fetched=fetched, profiling=view.profiling and not anew)  # who was to make one is gone
    return replace(
        view, phase=phase, detail=detail, spans=spans, attempt=attempt, happened=happened, waiting=waiting, pace=pace
    )


def _metric(view: RunView, event: Event) -> RunView:
    steps = event.get("step")
    if not isinstance(steps, list) or not steps:
        return view
    last, best, happened, history = dict(view.last), dict(view.best), view.happened, view.loss_history
    bests = dict(view.bests)
    step = view.step
    for name, values in event.fields.items():
        if name == "step" or not isinstance(values, list) or not values:
            continue
        value = values[-1]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if name not in last and len(last) >= KEPT_AT_MOST:
            continue
        last[name] = float(value)
        if name == metrics.training_loss().id:
            if view.step == 0 and not view.last:
                happened = _and(happened, Happened(event.t, "first-step", {}))
            step = max(step, int(steps[-1]))
            if math.isfinite(value) and (not history or event.t - history[-1][0] >= HISTORY_EVERY_S):
                history = (*history[-400:], (event.t, float(value)))
        if metrics.by_id(name).unseen and metrics.by_id(name).may_be(value):
            known = best.get(name)
            if known is None or metrics.by_id(name).beats(value, known[0]):
                best[name] = (float(value), int(steps[-1]))
                bests[name] = (*bests.get(name, ())[1 - BESTS_AT_MOST :], best[name])
                if known is not None:
                    happened = _and(
                        happened,
                        Happened(event.t, "best", {"metric": name, "value": float(value), "step": int(steps[-1])}),
                    )
    return replace(view, step=step, last=last, best=best, bests=bests, happened=happened, loss_history=history)


def _speed(view: RunView, event: Event) -> RunView:
    report = SpeedReport(
        event.t,
        _int(event.get("step")),
        _int(event.get("steps")),
        _int(event.get("examples")),
        _float(event.get("seconds")),
        _float(event.get("waiting_for_data_s")),
        _float(event.get("device_s")),
        _share(event.get("mfu")),
    )
    used = report.seconds if report.mfu is not None else 0.0
    return replace(
        view,
        flops_used=(view.flops_used[0] + (report.mfu or 0.0) * used, view.flops_used[1] + used),
        speeds=(*view.speeds[-SPEED_WINDOW + 1 :], report),
        pace=view.pace.after(report, _int(event.get("compiles"))),
        step=max(view.step, report.step),
        seconds_training=view.seconds_training + report.seconds,
        examples=view.examples + report.examples,
    )


def _resume(view: RunView, event: Event) -> RunView:
    step = _int(event.get("step"))
    kept = {name: tuple(one for one in ones if one[1] <= step) for name, ones in view.bests.items()}
    bests = {name: ones for name, ones in kept.items() if ones}
    return replace(
        view,
        step=step,
        best={name: ones[-1] for name, ones in bests.items()},
        bests=bests,
        speeds=(),
        attempt=_int(event.get("attempt")) or view.attempt,
        interruptions=interruptions.resumed(view.interruptions, step),
        happened=_and(view.happened, Happened(event.t, "resume", {"step": step})),
    )


def _checkpoint(view: RunView, event: Event) -> RunView:
    step = _int(event.get("step"))
    return replace(
        view, checkpoint_step=step, happened=_and(view.happened, Happened(event.t, "checkpoint", {"step": step}))
    )


def _notice(view: RunView, event: Event) -> RunView:
    facts = event.get("facts")
    if event.get("id") == "preempted":
        warned = interruptions.warned(view.interruptions, event.t, view.usd_now(event.t))
        view = replace(view, interruptions=warned)
    return replace(
        view,
        happened=_and(
            view.happened,
            Happened(
                event.t,
                "notice",
                {
                    "id": str(event.get("id")),
                    "level": str(event.get("level", "info")),
                    **(facts if isinstance(facts, dict) else {}),
                },
            ),
        ),
    )


def _money(view: RunView, event: Event) -> RunView:
    rate, least, most = event.get("usd_per_hour"), event.get("usd_at_least"), event.get("usd_at_most")
    usd = _float(event.get("usd"))
    return replace(
        view,
        usd=usd if event.get("settled") is True else max(view.usd, usd),  # what was reserved and not used comes back
        usd_at=event.t,
        usd_per_hour=max(0.0, _float(rate)) if isinstance(rate, (int, float)) else view.usd_per_hour,
        usd_between=None if least is None or most is None else (_float(least), max(_float(least), _float(most))),
    )


def _device(view: RunView, event: Event) -> RunView:
    worker = _int(event.get("worker"))
    if view.attempts and event.t < view.attempts[-1][1]:
        return view  # of a machine of before, read late
    if worker not in view.devices and len(view.devices) >= WORKERS_AT_MOST:
        return view
    told, busy, most = worker_of(worker, event.fields), view.busy, view.fullest
    if told is not None and told.duty_cycle is not None:
        busy = (busy[0] + told.duty_cycle, busy[1] + 1)
    if told is not None and told.memory is not None and (most is None or told.memory.share > most.share):
        most = told.memory
    devices = {**view.devices, worker: _kept(event.fields)}
    return replace(view, devices=devices, busy=busy, memory_most=(most.used, most.total) if most else view.memory_most)


def _target(view: RunView, event: Event) -> RunView:
    happened = view.happened
    if view.steps_planned and view.steps_planned != _int(event.get("steps")):
        happened = _and(happened, Happened(event.t, "extended", {"steps": _int(event.get("steps"))}))
    return replace(view, steps_planned=_int(event.get("steps")) or view.steps_planned, happened=happened)


def _log(view: RunView, event: Event) -> RunView:
    return replace(view, log_lines=view.log_lines + 1)


def _control(view: RunView, event: Event) -> RunView:
    stopping = view.stopping or event.get("verb") == "stop"
    happened = _and(view.happened, Happened(event.t, "control", dict(event.fields)))
    if event.get("verb") == "profile" and not view.profiling:
        view = replace(view, profiling=True, profile_from=None)
    return replace(view, stopping=stopping, happened=happened)


def _profile(view: RunView, event: Event) -> RunView:
    match event.get("state"):
        case "begun":
            return replace(view, profiling=True, profile_from=_int(event.get("step")), profile_failed={})
        case "done":
            happened = _and(view.happened, Happened(event.t, "profile", {"steps": _int(event.get("steps"))}))
            return replace(view, profiling=False, profile=dict(event.fields), profile_failed={}, happened=happened)
        case "failed":
            told = {"why": str(event.get("why")), "raw": cut(str(event.get("raw") or ""), DETAIL_LETTERS)}
            happened = _and(view.happened, Happened(event.t, "profile", told))
            return replace(view, profiling=False, profile_failed=told, happened=happened)
    return view


def _end(view: RunView, event: Event) -> RunView:
    if view.end is not None and event.t <= view.end.t:
        return view
    try:
        status = Status(event.get("status"))
    except ValueError:
        status = Status.FAILED
    final = event.get("final")
    facts = event.get("facts")
    end = End(
        event.t,
        status,
        one_line(cut(str(event.get("reason", "")), DETAIL_LETTERS)),
        _int(event.get("steps")) or view.step,
        {
            name: float(value)
            for name, value in (final if isinstance(final, dict) else {}).items()
            if isinstance(value, (int, float))
        },
        {"saved_step": view.checkpoint_step, **(facts if isinstance(facts, dict) else {})},
    )
    told = {"status": status.value, "reason": end.reason, "facts": dict(end.facts)}
    return replace(
        _closed(view, event.t),
        end=end,
        phase=Phase.CLEANING_UP if view.rented else Phase.DONE,
        detail="",
        stopping=False,
        profiling=False,
        happened=_and(view.happened, Happened(event.t, "end", told)),
    )


def _closed(view: RunView, t: float) -> RunView:
    """With the stage that goes on ended at *t*."""
    spans = {
        phase: replace(span, end=max(span.start, t)) if span.end is None else span for phase, span in view.spans.items()
    }
    return replace(view, spans=spans)


def _intent(view: RunView, event: Event) -> RunView:
    name, action = str(event.get("name") or ""), event.get("action")
    if action == "create":
        asked = interruptions.asked(view.interruptions, event.t, cut(str(event.get("zone") or ""), DETAIL_LETTERS))
        view = replace(view, interruptions=asked)
    if action == "create" and name not in view.unproved:
        happened = _and(view.happened, Happened(event.t, "asked", {"name": name, "zone": event.get("zone")}))
        return replace(view, rented=True, unproved=_with(view.unproved, name), happened=happened)
    if action == "delete":
        return replace(view, rented=True, deleting=_with(view.deleting, name))
    return view


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return names if name in names or len(names) >= KEPT_AT_MOST else (*names, name)


def _cloud(view: RunView, event: Event) -> RunView:
    name = str(event.get("name") or "")
    return replace(view, rented=True, unproved=_with(view.unproved, name), machine=_kept(event.fields))


def _waiting(view: RunView, event: Event) -> RunView:
    return replace(view, rented=True, waiting=_kept(event.fields))


def _deleted(view: RunView, event: Event) -> RunView:
    name, happened = str(event.get("name") or ""), view.happened
    if event.get("made"):
        happened = _and(happened, Happened(event.t, "deleted", dict(event.fields)))
    return replace(
        view,
        unproved=tuple(one for one in view.unproved if one != name),
        deleting=tuple(one for one in view.deleting if one != name),
        machine={} if view.machine.get("name") == name else view.machine,
        happened=happened,
    )


def _attempt_over(view: RunView, event: Event) -> RunView:
    number = _int(event.get("attempt"))
    happened = _and(view.happened, Happened(event.t, "attempt-over", dict(event.fields)))
    mark = (number + 1, event.t, view.step)
    attempts = (*view.attempts[-KEPT_AT_MOST + 1 :], mark)
    lost = _lost(view, event.t, str(event.get("reason")))
    view = replace(view, attempt=max(view.attempt, number + 1), attempts=attempts, happened=happened)
    return replace(view, speeds=(), devices={}, interruptions=lost, end=None)


def _lost(view: RunView, t: float, reason: str) -> interruptions.Interruptions:
    """With the machine of before gone, and the run ready for the next one."""
    return interruptions.over(view.interruptions, t, view.usd_now(t), view.step, view.checkpoint_step, reason)


def _again(view: RunView, event: Event) -> RunView:
    mark = (_int(event.get("attempt")), event.t, view.step)
    attempts = (*view.attempts[-KEPT_AT_MOST + 1 :], mark)
    if view.interruptions and view.interruptions[-1].over is None:  # it had ended with that
        view = replace(view, interruptions=_lost(view, event.t, Reason.PREEMPTED.value))
    view = replace(view, attempt=max(view.attempt, mark[0]), attempts=attempts, end=None)
    return replace(view, speeds=(), devices={})


def _upload(view: RunView, event: Event) -> RunView:
    return replace(view, rented=True, uploaded=(_int(event.get("done")), _int(event.get("total"))))


def _opened(view: RunView, event: Event) -> RunView:
    return replace(view, rented=True)


_FOLDS = {
    "intent": _intent,
    "cloud": _cloud,
    "waiting": _waiting,
    "deleted": _deleted,
    "attempt-over": _attempt_over,
    "again": _again,
    "upload": _upload,
    "opened": _opened,
    "phase": _phase,
    "metric": _metric,
    "speed": _speed,
    "resume": _resume,
    "checkpoint": _checkpoint,
    "notice": _notice,
    "money": _money,
    "device": _device,
    "profile": _profile,
    "log": _log,
    "control": _control,
    "end": _end,
    "target": _target,
}


def _and(happened: tuple[Happened, ...], new: Happened) -> tuple[Happened, ...]:
    short = replace(new, facts=_kept(new.facts))
    if len(happened) < HAPPENED_AT_MOST:
        return (*happened, short)
    oldest = next((at for at, one in enumerate(happened) if one.kind != "deleted"), 0)  # notices hide no proof
    return (*happened[:oldest], *happened[oldest + 1 :], short)


def _kept(facts: Mapping[str, object]) -> dict[str, object]:
    """The first of *facts*, each cut, that are `HAPPENED_WHOLE` letters together."""
    kept, room = dict[str, object](), HAPPENED_WHOLE
    for name, value in brief_fields(facts, HAPPENED_LETTERS, HAPPENED_ITEMS).items():
        letters = len(name) + len(value if isinstance(value, str) else repr(value))
        if letters <= room:
            kept[name] = value
            room -= letters
    return kept


def _int(value: object) -> int:
    """0 for what is no number, and for one that no run counts to."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= COUNTED_AT_MOST
    return int(value) if isinstance(value, (int, float)) and good else 0


def _share(value: Any) -> float | None:
    """None: not told, or none that can be."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value <= 1.0
    return float(value) if good else None


def _float(value: object) -> float:
    return (
        float(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        else 0.0
    )
