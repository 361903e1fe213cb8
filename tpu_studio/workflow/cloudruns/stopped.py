"""A stop that was asked for: read, and carried out here also where the bucket says that another desktop drives the run.

Whoever can write to the bucket can say that. A stop of a person on this computer is not lost by it: the machines that
this computer has asked for are deleted from here, too. Where the other desktop is a true one, it deletes the same.
"""

from __future__ import annotations

from dataclasses import replace

from tpu_studio.wire.limits import Limits
from tpu_studio.workflow.cloudruns import believed, decide
from tpu_studio.workflow.cloudruns.acts import Acts
from tpu_studio.workflow.cloudruns.decide import Seen
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.machine import Machine
from tpu_studio.workflow.cloudruns.recording import SEEN_ENOUGH_S, Watched, desk_sizes
from tpu_studio.workflow.cloudruns.rules import Rules
from tpu_studio.workflow.cloudruns.state import fold


def read_stop(run: Watched) -> None:
    asked = believed.stops(run.folder, run.state.attempt)
    if not asked:
        run.stop = ("", 0.0)
        return
    run.stop = ("keep" if asked[-1].get("keep", True) else "discard", run.stop[1] or run.side.clock.now())


def still_there(run: Watched, install: str, acts: Acts, rules: Rules, limits: Limits) -> bool:
    """Whether the cloud has a machine that this computer asked for and has not seen go, whatever others are said to
    have done. What is verified gone is recorded, so that nobody looks again (`mine`); another's word on its bill counts
    first. A refusal of the cloud is raised: nobody knows then."""
    here = _here(run, install)
    for machine in here.state.there:
        acts.do(here, decide.Look(machine), rules, limits)
        look = here.looks.get(machine.ref.name)
        if look is None or look[0] is not None or decide.may_come(machine, run.side.clock.now()):
            continue
        if _is_billed(run, machine):
            acts.say_gone(here, machine)
        else:
            acts.do(here, decide.Gone(machine), rules, limits)
    return any(look[0] is not None for look in here.looks.values())


def _is_billed(run: Watched, machine: Machine) -> bool:
    """Whether others have told of its end, and of no less rent than was seen from here."""
    known, seen = run.state.of(machine.ref.name), run.alive_at.get(machine.ref.name, 0.0)
    if known is None or known.gone is None:
        return False
    return machine.created is None or known.billed_s(known.gone) + SEEN_ENOUGH_S >= seen - machine.created


def _here(run: Watched, install: str) -> Watched:
    """*run* by the records of this computer alone."""
    state, sizes = fold(desk_events(run.folder, install)), desk_sizes(run.folder, install)
    return replace(run, whose=install, state=state, sizes=sizes, looks={})


def delete_stopped(run: Watched, install: str, acts: Acts, rules: Rules, limits: Limits) -> None:
    """By this computer's own records alone: what others are said to have done proves nothing gone. A machine that is
    ready has the time to save its model that it always has. A run that is driven from here and said to be over
    is as good as stopped.

    Args:
        install: This desktop's.
    """
    here = _here(run, install)
    read_stop(here)
    if run.stays and not run.foreign and not here.stop[0]:
        here.stop = ("keep", run.stop[1] or run.side.clock.now())
    run.stop = here.stop
    kind, at = here.stop
    for machine in here.state.there if kind else ():
        name, now = machine.ref.name, run.side.clock.now()
        if machine.asked is None or (machine.ready and now - max(at, machine.ready) < rules.stop_s):
            continue
        if not machine.leaving:
            acts.do(here, decide.Leave(machine, f"stopped-{kind}", {"result": False}), rules, limits)
        acts.do(here, decide.Look(machine), rules, limits)
        while (known := here.state.of(name)) is not None and known.maybe_there and name in here.looks:
            seen = Seen(run.side.clock.now(), {name: here.looks[name][0]})
            action = decide.clear(known, seen, rules)
            if isinstance(action, decide.Wait) or acts.do(here, action, rules, limits):
                break
