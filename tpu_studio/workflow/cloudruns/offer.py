"""What a take-over goes by: the plan that stands in the bucket, and the changes of its limits that lie there. Pure.

A machine writes into the bucket too, where a person's code runs. So a person says yes to these very bytes and records;
whatever comes there meanwhile, or later, counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from tpu_studio.wire.controls import Control
from tpu_studio.wire.limits import Limits, limits_of
from tpu_studio.wire.plan import Plan, loads


@dataclass(frozen=True)
class Offer:
    """Attributes:
    frozen: The plan, as it stands in the bucket.
    changes: Of its limits, in the order in which they count.
    agreed: All of it was agreed to on this computer before.
    """

    frozen: bytes
    changes: tuple[Control, ...]
    agreed: bool

    @property
    def plan(self) -> Plan:
        return loads(self.frozen)

    @property
    def limits(self) -> Limits:
        return limits_of(self.plan, self.changes)
