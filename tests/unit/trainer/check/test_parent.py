"""A check whose asker was killed ends itself: a compiler left alone would go on for half an hour."""

from __future__ import annotations

import subprocess
import sys

from tests.fakes.processes import alive
from tests.fakes.waiting import eventually

CHILD = "import sys\nfrom tpu_studio.trainer.check.program import _end_with\n_end_with(int(sys.argv[1]))\n"
ASKER = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}, str(os.getpid())])
print(child.pid, flush=True)
input()
"""


def test_a_check_ends_when_whoever_asked_is_gone():
    asker = subprocess.Popen([sys.executable, "-c", ASKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert asker.stdout is not None and asker.stdin is not None
    child = int(asker.stdout.readline())
    assert alive(child)
    asker.kill()
    asker.wait()
    eventually(lambda: not alive(child), "the check's end")
    asker.stdin.close()
    asker.stdout.close()
