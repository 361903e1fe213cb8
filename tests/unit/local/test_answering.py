"""A program that says hundreds of megabytes besides its answer takes no memory for them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tpu_studio.local.answering import WORDS_BYTES, answer_of


def test_the_answer_is_whole_and_of_the_words_the_end() -> None:
    words = "sys.stderr.write('line' * 400_000 + chr(10) + 'the last')"
    program = f"import sys; print('a' * 300_000, end=''); {words}; sys.exit(3)"
    done = answer_of([sys.executable, "-c", program], os.environ)
    assert (done.returncode, done.stdout) == (3, b"a" * 300_000)
    assert len(done.stderr) == WORDS_BYTES and done.stderr.endswith(b"line\nthe last")


def test_what_does_not_end_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        answer_of([sys.executable, "-c", "import time; time.sleep(600)"], os.environ, timeout_s=0.2)
