"""Names out of somebody's data in tables that a spreadsheet opens, which would take some for a formula, and obey it."""

from __future__ import annotations

from tpu_studio.wire.visible import visible

_SIGNS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
"""What a cell of a formula may begin with; the last four are the first four in their full-width forms."""


def cell(text: str) -> str:
    """*text*, also without what a terminal obeys."""
    text = visible(text)
    return f"'{text}" if text.startswith(tuple(_SIGNS)) else text
