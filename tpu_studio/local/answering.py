"""A program that is asked one question: its answer as a whole, and of what it says besides the end.

A decoder in C may say a line for each row of a picture that somebody else has made: hundreds of megabytes.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from tpu_studio.wire.plainfiles import plainly

WORDS_BYTES = 64_000


def answer_of(
    argv: Sequence[str], env: Mapping[str, str], *, cwd: str | Path | None = None, timeout_s: float | None = None
) -> subprocess.CompletedProcess[bytes]:
    """As `subprocess.run` with ``capture_output``; *stderr* holds `WORDS_BYTES` at most.

    Raises:
        subprocess.TimeoutExpired: It was ended after *timeout_s*.
        OSError: It cannot be started.
    """
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd
    ) as process:
        words, pipe = bytearray(), process.stderr
        assert pipe is not None
        process.stderr = None  # `communicate` would keep all of it
        reader = threading.Thread(target=_keep_end, args=(pipe, words), name="last-words", daemon=True)
        reader.start()
        try:
            answer, _ = process.communicate(timeout=timeout_s)
        except BaseException:
            process.kill()
            raise
        reader.join()
    return subprocess.CompletedProcess(argv, process.returncode, answer, bytes(words))


def end_of(file: Path, most: int = WORDS_BYTES) -> bytes:
    """The last *most* bytes of what a program has said there. Raises OSError: it cannot be read, or is none."""
    with open(file, "rb", opener=plainly) as said:
        said.seek(max(0, said.seek(0, os.SEEK_END) - most))
        return said.read(most)


def _keep_end(pipe: IO[bytes], words: bytearray) -> None:
    with pipe:
        while part := pipe.read1(WORDS_BYTES):  # type: ignore[attr-defined]  # a BufferedReader
            words += part
            del words[:-WORDS_BYTES]
