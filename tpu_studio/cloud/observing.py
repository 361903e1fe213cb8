"""What live checks of this home have seen, for whoever reaches a place: known by account, project and this version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import tpu_studio

if TYPE_CHECKING:
    from tpu_studio.workflow.livecheck.observed import Observation
    from tpu_studio.workflow.livecheck.ways import Ways


def account_of(credentials: object, place: str) -> str:
    """Under which name observations are kept: a service account's own, else the place's."""
    return str(getattr(credentials, "service_account_email", "") or place)


def stamp(home: Path) -> int:
    """Another after each live check: what was reached before it is reached anew."""
    from tpu_studio.workflow.livecheck.observed import NAME

    try:
        return (home / NAME).stat().st_mtime_ns
    except OSError:
        return 0


def known(home: Path, credentials: object, place: str, project: str, now: float) -> Mapping[str, Observation]:
    """By doubt, what holds at *now*."""
    from tpu_studio.workflow.livecheck.observed import Observations

    return Observations(home).known(account_of(credentials, place), project, tpu_studio.__version__, now)


def ways_at(home: Path, credentials: object, place: str, project: str) -> Callable[[float], Ways]:
    """By the cloud's time."""
    from tpu_studio.workflow.livecheck.ways import ways_of

    return lambda now: ways_of(known(home, credentials, place, project, now))
