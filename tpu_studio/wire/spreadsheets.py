"""Names out of somebody's data in tables that a spreadsheet opens, which would take some for a formula, and obey it."""

from __future__ import annotations


def cell(text: str) -> str:
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
