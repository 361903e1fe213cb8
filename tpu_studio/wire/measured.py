"""What models reached on data of known size, as the project's own pages tell it: the one measure of what to expect.

A result is of its data; another set of the same size may be easier or harder. Each stands where it was measured
(*page*), and on the model that reached it (``wire.families``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """One result.

    Attributes:
        task: As in ``wire.tasks``.
        examples: How many it learned from, without those kept aside; of text to continue: bytes.
        data: What they were, behind "from": "480 photographs of ten hand signs".
        result: What came out on examples that it had not seen, kept aside from these or besides them.
        page: Below the repository, where it is told with its setting.
    """

    task: str
    examples: int
    data: str
    result: str
    page: str = "docs/training.md"

    @property
    def words(self) -> str:
        return f"{self.result}, from {self.data}"


def nearest(found: Iterable[Measured], task: str, examples: int) -> Measured | None:
    """The one of *task* whose number of examples is nearest, by doublings; of those alike the first. None where nothing
    of it was measured.

    Args:
        examples: In the unit of `Measured.examples`.
    """
    of_task = [one for one in found if one.task == task]
    return min(of_task, key=lambda one: round(abs(math.log2(one.examples / max(1, examples)))), default=None)
