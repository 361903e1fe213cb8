"""What a program said last before it ended without an answer, as it may be shown."""

from __future__ import annotations

import re

from tpu_studio.wire.secrets import without_secrets

_HEAD = "Traceback (most recent call last)"
_FRAME = re.compile(r'^ +File "[^\n]*\n(?: +[^\n]*(?:\n|$))*', re.M)


def last_words(said: bytes, most: int) -> str:
    """Of its *most* last bytes: without keys, and of a traceback what names the error, without its frames."""
    text = without_secrets(said[-most:].decode("utf-8", "replace").strip())
    frames = list(_FRAME.finditer(text))
    if not frames:
        return text
    before, head, _ = text[: frames[0].start()].partition(_HEAD)
    return "\n".join(part for part in (before.strip() if head else "", text[frames[-1].end() :].strip()) if part)
