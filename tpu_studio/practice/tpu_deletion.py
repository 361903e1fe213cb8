"""Whether a queued resource may be deleted now: in some states Google says no, at once or by the operation."""

from __future__ import annotations

from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.state import Record
from tpu_studio.practice.tpu_checks import not_while, wrong_state


def undeletable(cloud: Cloud, record: Record, force: bool) -> str:
    """ "": it goes; else with which words the operation fails. Raises GoogleError 400 where the call is refused."""
    state, doubts = record["state"], cloud.doubts
    if state == "PROVISIONING":
        words = f"DeleteQueuedResource is not supported when state is {state}"
        way = doubts.way("provisioning-delete")
    elif record["nodes"] and not force:
        words = not_while(state)
        way = doubts.way("delete-active-unforced")
    else:
        return ""
    if way == "":
        raise wrong_state(words)
    return words if way == "operation" else ""
