"""What a program said last, as it may be shown."""

from __future__ import annotations

import pytest

from tpu_studio.wire.lastwords import last_words

FRAMES = 'Traceback (most recent call last):\n  File "a.py", line 3, in write\n    card["input"]\n    ~~~~^^^^^^^^^\n'


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (b"  out of memory\n", "out of memory"),
        (f"warning: x\n{FRAMES}KeyError: 'input'\n".encode(), "warning: x\nKeyError: 'input'"),
        (f"{FRAMES}KeyError: 'a'\n\nDuring handling:\n\n{FRAMES}OSError: b\n".encode(), "OSError: b"),
        (f"{FRAMES}keras.errors.Odd: two\nlines\n".encode(), "keras.errors.Odd: two\nlines"),
        (FRAMES.encode()[10:] + b"KeyError: 'cut before its head'", "KeyError: 'cut before its head'"),
        (b"", ""),
    ],
)
def test_of_a_traceback_the_error_is_shown_and_no_frames(said: bytes, shown: str) -> None:
    assert last_words(said, 2000) == shown


def test_keys_are_cut_out() -> None:
    assert "ya29.a0" not in last_words(b"token ya29.a0AfH6SMBx1234567890abcdefghijklmnop", 2000)
