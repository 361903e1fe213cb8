"""Money of other countries, as far as a person is asked for an amount of it. No rates: nothing is converted."""

from __future__ import annotations

_WITHOUT_CENTS = frozenset(
    {
        "BIF",
        "CLP",
        "COP",
        "DJF",
        "GNF",
        "HUF",
        "IDR",
        "ISK",
        "JPY",
        "KMF",
        "KRW",
        "PYG",
        "RWF",
        "TWD",
        "UGX",
        "VND",
        "VUV",
        "XAF",
        "XOF",
        "XPF",
    }
)
"""Counted in whole units: those without a minor unit in ISO 4217, and those in which nobody uses it."""


def usual_amount(currency: str) -> tuple[int, int]:
    """What a field for a month's amount begins with, and its step; the person sees both with the currency beside."""
    return (2500, 500) if currency in _WITHOUT_CENTS else (25, 5)
