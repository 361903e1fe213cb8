"""What the trainer writes to stderr becomes `log` events, few enough that a chatty library cannot fill the disk, and
without what looks like a credential. Pure."""

from __future__ import annotations

from typing import Any

from tpu_studio.wire.secrets import Lines, without_secrets

_BURST = 200
_PER_S = 5.0
_TEXT_AT_MOST = 2000


class LogTap:
    """Lets 200 lines through at once and 5 a second after that; what it leaves out is counted and said."""

    def __init__(self) -> None:
        self._tokens, self._at = float(_BURST), 0.0
        self._left_out = 0
        self._keys = Lines()

    def take(self, line: bytes, now: float, stream: str = "stderr") -> list[dict[str, Any]]:
        """Fields of the `log` events that *line*, arrived at *now* (monotonic seconds), makes."""
        text = readable(line)
        if not text or not (text := self._keys.take(text)):
            return []
        self._tokens = min(float(_BURST), self._tokens + (now - self._at) * _PER_S) if self._at else self._tokens
        self._at = now
        if self._tokens < 1.0:
            self._left_out += 1
            return []
        self._tokens -= 1.0
        found = self.rest()
        text = without_secrets(text)
        if len(text) > _TEXT_AT_MOST:
            text = f"{text[:_TEXT_AT_MOST]}… ({len(text) - _TEXT_AT_MOST} more characters)"
        return [*found, {"stream": stream, "text": text}]

    def rest(self) -> list[dict[str, object]]:
        """The line that says how many were left out, if any were."""
        if not self._left_out:
            return []
        number, self._left_out = self._left_out, 0
        return [{"stream": "guardian", "text": f"{number} more lines came faster than they are kept and were left out"}]


def readable(line: bytes) -> str:
    """*line* as text; of a progress bar that redraws itself, its last state."""
    return line.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2].rstrip()
