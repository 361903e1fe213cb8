"""How long a timing makes steps."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tpu_studio.trainer import timing
from tpu_studio.trainer.timing import Stopper


@pytest.mark.parametrize(("steps_planned", "ends_after_s"), [(3000, 4.0), (100, 2.0), (250, 2.5)])
def test_a_timing_ends_with_its_time_or_past_half_of_it_with_the_steps_of_a_short_run(
    monkeypatch: pytest.MonkeyPatch, steps_planned: int, ends_after_s: float
) -> None:
    clock = [100.0]
    monkeypatch.setattr(timing, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    stop = Stopper(4.0, lambda: (clock[0] - 105.0) * 100 >= steps_planned)  # 100 steps a second, after 5 s of compiling
    clock[0] = 105.0
    assert stop() is None  # it has not begun
    stop.start()
    while stop() is None:
        clock[0] += 0.125
    assert clock[0] - 105.0 == ends_after_s
