"""The memory of this process is held while a stranger's file is read, and free again behind that."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from tpu_studio.trainer import memory

HUNGRY = "from tpu_studio.trainer import memory; memory.hold(1000, base=300_000_000); bytes(900_000_000)"


def test_it_is_held_inside_and_as_it_was_behind() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with memory.held(1000, base=3_000_000_000):
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] == 3_000_000_000 + 1000 * memory.EACH
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count other memory")
def test_who_asks_for_more_gets_an_error() -> None:
    done = subprocess.run([sys.executable, "-c", HUNGRY], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1 and "MemoryError" in done.stderr
