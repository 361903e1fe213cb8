"""The kinds of loan of a TPU: one word each, Google's own, wherever a person reads; plain words are the hint beside it.

They are the catalogue's; its reservations are not rented here.
"""

from __future__ import annotations

from dataclasses import dataclass

ON_DEMAND = "on-demand"
SPOT = "spot"
FLEX_START = "flex-start"


@dataclass(frozen=True)
class Loan:
    """*word*: in a sentence, and `where.tier` in a job; *title*: on a control or in a column; *hint*: what it means."""

    word: str
    title: str
    hint: str


# Maintenance: docs.cloud.google.com/tpu/docs/prepare-for-maintenance, and the doubt host-maintenance.
LOANS = (
    Loan(ON_DEMAND, "On-demand", "Not taken back for others; Google's maintenance may interrupt it."),
    Loan(
        SPOT,
        "Spot",
        "Spare capacity: cheaper, but Google may take it back; the model is saved first and the run goes on later.",
    ),
    Loan(
        FLEX_START,
        "Flex-start",
        "Waits its turn at Google at no cost, then for a fixed time not taken back for others; Google's maintenance "
        "may interrupt it.",
    ),
)
_BY_WORD = {loan.word: loan for loan in LOANS}


def title(tier: str) -> str:
    """As on a control; a kind of a newer version as it is spelled."""
    return _BY_WORD[tier].title if tier in _BY_WORD else tier.capitalize()


def hint(tier: str) -> str:
    return _BY_WORD[tier].hint if tier in _BY_WORD else ""


def beside(what: str, tier: str | None) -> str:
    """`v5e · 8 chips, spot`; the usual kind is not said, nor that something is free."""
    return f"{what}, {tier}" if tier in _BY_WORD and tier != ON_DEMAND else what
