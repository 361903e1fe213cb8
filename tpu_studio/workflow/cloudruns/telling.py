"""What a turn tells of a rented run: the phase that the desktop knows of, and what a person should know. Pure."""

from __future__ import annotations

from tpu_studio.wire.errors import RunError, StudioError
from tpu_studio.wire.phases import Phase
from tpu_studio.workflow.cloudruns import decide
from tpu_studio.workflow.cloudruns.decide import Action
from tpu_studio.workflow.cloudruns.gate import Show
from tpu_studio.workflow.cloudruns.machine import Guard
from tpu_studio.workflow.cloudruns.recording import Watched
from tpu_studio.workflow.cloudruns.state import State


def problem_of(run: Watched) -> StudioError | None:
    """What a person should know of though the turn went well."""
    if (run.foreign and not run.state.settled) or run.stays:
        facts = {name: run.holder[name] for name in ("host", "t") if name in run.holder}
        bucket = run.side.mailbox.bucket
        return RunError("run-taken-over", run=run.folder.name, place=run.plan.place, bucket=bucket, **facts)
    problem = run.disk or run.unheard
    return None if problem is None else of_disk(problem, run.folder.name, run)


def of_disk(error: StudioError, run: str, known: Watched | None) -> StudioError:
    """Of a disk: what that means for a run that is charged for."""
    if error.id not in ("disk-full", "folder-unwritable"):
        return error
    there = {"place": known.plan.place, "rented": bool(known.state.there)} if known is not None else {}
    return RunError("run-not-recorded", run=run, full=error.id == "disk-full", raw=error.facts.get("raw"), **there)


def phase_of(state: State, guard: Guard, action: Action) -> tuple[Phase, str] | None:
    """The phase that the desktop knows of, None while the guardian tells."""
    if state.settled or isinstance(action, decide.Done):
        return None
    if state.end is not None:
        making = any(one.state == decide.MAKING and one.delete_asked is not None for one in state.there)
        return Phase.CLEANING_UP, "being-made" if making else ""
    machine = state.machine
    if guard.spoke and machine is not None and machine.gone is None and not machine.leaving:
        return None
    if machine is not None and machine.leaving == "preempted":
        return Phase.QUEUED, "waiting-for-a-computer"
    if machine is None or machine.gone is not None or machine.outcome != "accepted":
        if isinstance(action, decide.Prepare):
            return Phase.QUEUED, "uploading"
        if isinstance(action, Show) and decide.is_proving(state):
            return Phase.QUEUED, "proving"
        return (Phase.QUEUED, action.why) if isinstance(action, decide.Wait) and action.why else _queued(state)
    if machine.leaving:
        return None
    if machine.state in ("provisioning", "ready"):
        return Phase.PROVISIONING, "starting" if machine.state == "ready" else ""
    return Phase.QUEUED, action.why if isinstance(action, decide.Wait) and action.why else "submitted"


def _queued(state: State) -> tuple[Phase, str] | None:
    """A wait that is over between two calls is not worth a word."""
    waits = state.phase[0] == Phase.QUEUED.value and state.phase[1] != "proving"
    return None if waits else (Phase.QUEUED, "submitted")
