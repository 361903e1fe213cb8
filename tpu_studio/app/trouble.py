"""The last net: an error that no page caught becomes a notice with a sentence and a line in the log file.

Never a traceback on screen, never a silent death. The log turns over at 1 MB, one old file is kept.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from tpu_studio.wire.homes import make_private
from tpu_studio.wire.secrets import without_secrets

_log = logging.getLogger("tpu_studio")
LARGEST_BYTES = 1_000_000


def log_file(home: Path) -> Path:
    return home / "logs" / "window.log"


def start_log(home: Path) -> None:
    """Write warnings and worse to `logs/window.log` with all details, and to stderr a line each."""
    from logging.handlers import RotatingFileHandler

    terminal = logging.StreamHandler()
    terminal.setFormatter(_OneLine("%(levelname)s %(message)s"))
    handlers: list[logging.Handler] = [terminal]
    try:
        make_private(log_file(home).parent)
        with log_file(home).open("ab"):  # else each line would complain
            pass
        kept = RotatingFileHandler(log_file(home), maxBytes=LARGEST_BYTES, backupCount=1, encoding="utf-8", delay=True)
        kept.setFormatter(_Discreet("%(asctime)s %(levelname)s %(name)s [%(threadName)s] %(message)s"))
        handlers.append(kept)
    except OSError as error:
        _log.warning("no log file: %s", error)
    logging.basicConfig(level=logging.WARNING, handlers=handlers, force=True)


class _Discreet(logging.Formatter):
    """A log file is sent along when help is asked for: no credential stands in it."""

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


class _OneLine(logging.Formatter):
    """No traceback reaches a person's terminal: the error's own words stand for it."""

    def format(self, record: logging.LogRecord) -> str:
        line = self.formatMessage(self._filled(record))
        error = record.exc_info[1] if record.exc_info else None
        return without_secrets(f"{line}: {error}" if error else line)

    def _filled(self, record: logging.LogRecord) -> logging.LogRecord:
        record.message = record.getMessage()
        return record


def catch_everything(tell: Callable[[BaseException], None]) -> None:
    """Bring errors that nobody caught to *tell* (which must be callable from any thread) and to the log."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        _log.error("an error that nobody caught", exc_info=(kind, error, trace))
        tell(error)

    def thread_hook(told: threading.ExceptHookArgs) -> None:
        if told.exc_value is not None:
            hook(told.exc_type, told.exc_value, told.exc_traceback)

    sys.excepthook = hook
    threading.excepthook = thread_hook
