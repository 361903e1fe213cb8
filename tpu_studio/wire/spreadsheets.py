"""Names out of somebody's data in tables that a spreadsheet opens, which would take some for a formula, and obey it."""

from __future__ import annotations

from tpu_studio.wire.visible import visible


def cell(text: str) -> str:
    """*text*, also without what a terminal obeys."""
    text = visible(text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
