"""`tpu-studio --self-test`: is this copy of the program whole? One line for each part, exit code 1 when one fails.

Draws offscreen and works in a temporary home folder, so it never touches a person's runs. A packaged program breaks in
ways that only running it shows: a module left out, a library without its neighbour, a resource that did not travel.
The checks themselves stand in `selftest_parts.py`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tpu_studio import __version__
from tpu_studio.wire.errors import StudioError


class Skipped(Exception):
    """The part cannot be tried here, and nothing is wrong with that; its words say why."""


Part = tuple[str, Callable[[], str]]
"""A name, and what tries it: returns what was seen, raises what is wrong."""


def main() -> int:
    """Try every part; 0 when none failed."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    with own_home():
        from tpu_studio.app import selftest_parts

        kind = "packaged program" if getattr(sys, "frozen", False) else "from its sources"
        print(f"TPU Studio {__version__}, {kind}, Python {'.'.join(map(str, sys.version_info[:3]))}", flush=True)
        return run(selftest_parts.PARTS)


def run(parts: Sequence[Part]) -> int:
    """Try each part and print its line; the exit code."""
    began, failed = time.monotonic(), []
    for name, attempt in parts:
        started = time.monotonic()
        try:
            outcome, told = "ok", attempt()
        except Skipped as reason:
            outcome, told = "skipped", str(reason)
        except Exception as error:  # noqa: BLE001  whatever it is, it is this part's line, and the others still count
            outcome, told = "failed", _reason(error)
            failed.append(name)
        print(f"{outcome:<8} {name:<18} {time.monotonic() - started:5.1f} s  {told}", flush=True)
    verdict = f"failed: {', '.join(failed)}" if failed else "all is well"
    print(f"{len(parts)} parts in {time.monotonic() - began:.1f} s: {verdict}", flush=True)
    return 1 if failed else 0


@contextmanager
def own_home() -> Iterator[Path]:
    """A fresh TPU_STUDIO_HOME that vanishes afterwards; the training engine stays the person's own."""
    from tpu_studio.local.engine import engine_root

    before = {name: os.environ.get(name) for name in ("TPU_STUDIO_HOME", "TPU_STUDIO_ENGINE")}
    os.environ["TPU_STUDIO_ENGINE"] = str(engine_root())
    with tempfile.TemporaryDirectory(prefix="tpu-studio-self-test-", ignore_cleanup_errors=True) as folder:
        os.environ["TPU_STUDIO_HOME"] = folder
        try:
            yield Path(folder)
        finally:
            _restore(before)


def _restore(before: Mapping[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _reason(error: BaseException) -> str:
    if isinstance(error, StudioError):
        from tpu_studio.domain.sentences import say

        return f"{say(error).title} ({error.id}) {error.facts.get('raw', '')}".strip()
    return f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
