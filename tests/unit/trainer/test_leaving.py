"""A program of the engine leaves at once when its work is done, and loses nothing on the way."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import atexit, sys, threading, time
from tpu_studio.trainer import leaving

class Slow:  # as a framework whose objects take themselves apart when the interpreter ends
    def __del__(self):
        print("taken apart", flush=True)

def main():
    global slow
    slow = Slow()
    atexit.register(print, "tidied")
    threading.Thread(target=lambda: (time.sleep(0.1), print("written"))).start()
    print("worked")
    {end}

leaving.run(main)
"""


def said(end: str) -> tuple[int, list[str], str]:
    program = [sys.executable, "-c", PROGRAM.replace("{end}", end)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_threads_and_exit_handlers_are_waited_for_and_nothing_is_taken_apart():
    assert said("return 3") == (3, ["worked", "written", "tidied"], "")


def test_an_exception_ends_it_in_the_usual_way():
    code, lines, errors = said("raise ValueError('broken')")
    assert code == 1 and "tidied" in lines and "ValueError: broken" in errors


def test_garbage_is_rarely_looked_for_until_the_frameworks_are_there_and_never_in_what_they_loaded():
    program = """
import gc
from tpu_studio.trainer import leaving

def main():
    usual, rare = before, gc.get_threshold()
    leaving.loaded()
    kept = gc.get_freeze_count()
    leaving.loaded()  # the second time it does nothing
    print(rare > usual, kept > 1000, gc.get_threshold() == usual, gc.get_freeze_count() == kept)
    return 0

before = gc.get_threshold()
leaving.loaded()  # nor where nobody has begun
assert gc.get_threshold() == before and gc.get_freeze_count() < 1000
leaving.run(main)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["True"] * 4, done.stderr
