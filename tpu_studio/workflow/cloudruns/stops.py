"""All shut-off timers of one machine: those that were set here, and those that its guardian added."""

from __future__ import annotations

from tpu_studio.workflow.cloudruns.ports import OutsideStops, Ref


def standing(stops: OutsideStops, ref: Ref) -> list[str]:
    """Names of all. Raises CloudRefused, CloudUnclear."""
    return [*stops.of(ref), *stops.added(ref)]


def without(stops: OutsideStops, ref: Ref) -> list[str]:
    """Remove all, those that were set here first; names of what stands still. Raises CloudRefused, CloudUnclear."""
    stops.remove(list(stops.of(ref)))
    stops.remove(list(stops.added(ref)))
    return standing(stops, ref)
