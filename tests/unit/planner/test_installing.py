"""The time that a rented machine takes to install what it trains with."""

from __future__ import annotations

import json

import pytest

from tpu_studio.planner.installing import environment_s
from tpu_studio.wire.resources import resource_path


@pytest.mark.parametrize("framework", ["jax", "tensorflow"])
def test_what_is_installed_now_is_what_was_measured(framework: str) -> None:
    environments = json.loads(resource_path("catalogue/vm.json").read_text("utf-8"))["environments"]
    [one] = [each for each in environments if each["framework"] == framework]
    lock = resource_path(f"vm/{one['lock']}.lock.txt").read_text("utf-8").splitlines()
    pinned = [line for line in lock if "==" in line and not line.startswith((" ", "#"))]
    assert len(pinned) == one["measured"]["files"], "the list has changed: measure it anew"


def test_a_run_with_jax_waits_for_the_tensorflow_that_writes_its_saved_model() -> None:
    jax, tensorflow = environment_s("jax"), environment_s("tensorflow")
    # 15 s for a Python, 687.8 MB at 20 MB/s, 27.6 s of unpacking on one and a half times as slow a core
    assert jax.expected == pytest.approx(15 + 34.39 + 41.4, abs=0.01)
    assert jax.low < 27.6 + 11.7 + 10 < jax.high  # as measured, with the time to fetch it and to make an environment
    assert tensorflow.expected < jax.expected
