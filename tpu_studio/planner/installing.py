"""How long a rented machine installs its training software: made from what was measured of the lists that it installs.

``resources/catalogue/vm.json`` has the measurement (`measured` of each environment). Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache

from tpu_studio.wire import frameworks
from tpu_studio.wire.plan import Range
from tpu_studio.wire.resources import resource_path

_PYTHON_S = Range(5.0, 15.0, 40.0)  # a Python of its own, fetched where the image has another
_FETCHED_PER_S = Range(200e6, 20e6, 8e6)  # bytes from the package index; low is the good case, as in every range here
_UNPACKED = Range(0.8, 1.5, 4.0)  # times as long as measured: one core of the machine, and its disk


@cache
def environment_s(framework: str) -> Range:
    """Seconds from an empty machine to one that can start the trainer."""
    measured = _measured(framework)
    return Range(
        *(
            python + measured["download_bytes"] / speed + measured["install_s"] * times
            for python, speed, times in zip(
                *((one.low, one.expected, one.high) for one in (_PYTHON_S, _FETCHED_PER_S, _UNPACKED)), strict=True
            )
        )
    )


def _measured(framework: str) -> Mapping[str, object]:
    """Of one that no machine has an environment for, and that is refused there: as of the one that leads."""
    environments = json.loads(resource_path("catalogue", "vm.json").read_text("utf-8"))["environments"]
    measured: dict[str, Mapping[str, object]] = {one["framework"]: one["measured"] for one in environments}
    return measured.get(framework) or measured[frameworks.for_chips().id]
