"""A check whose asker was killed ends itself: a compiler left alone would go on for half an hour."""

from __future__ import annotations

import subprocess
import sys
import time

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
    until = time.monotonic() + 60
    while alive(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(child)
    asker.stdin.close()
    asker.stdout.close()


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
