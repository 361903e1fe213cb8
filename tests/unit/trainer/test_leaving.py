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
