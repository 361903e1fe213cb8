"""The kinds of loan of a TPU: one word each, Google's own, wherever a person reads; plain words are the hint beside it.

They are the catalogue's; its reservations are not rented here. Code asks the record, never its word.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Loan:
    """Attributes:
    word: In a sentence, and `where.tier` in a job; *title*: on a control or in a column; *hint*: what it means.
    model: As Google's interfaces spell it.
    usual: Lent everywhere, and not said.
    spare: What nobody else wants now: Google may take it back.
    waits: Its turn comes when it comes; then it stays for a fixed time.
    reserved: Paid for long before; none that is rented here.
    """

    word: str
    title: str
    hint: str
    model: str
    usual: bool = False
    spare: bool = False
    waits: bool = False
    reserved: bool = False

    @property
    def preemptible(self) -> bool:
        """Draws on the quota of that name."""
        return self.spare or self.waits


# Maintenance: docs.cloud.google.com/tpu/docs/prepare-for-maintenance, and the doubt host-maintenance.
LOANS = (
    Loan(
        "on-demand",
        "On-demand",
        "Not taken back for others; Google's maintenance may interrupt it.",
        "STANDARD",
        usual=True,
    ),
    Loan(
        "spot",
        "Spot",
        "Spare capacity: cheaper, but Google may take it back. If its notice (about 30 s) leaves time, the model is "
        "saved first; the run goes on later.",
        "SPOT",
        spare=True,
    ),
    Loan(
        "flex-start",
        "Flex-start",
        "Waits its turn at Google at no cost, then for a fixed time not taken back for others; Google's maintenance "
        "may interrupt it.",
        "FLEX_START",
        waits=True,
    ),
)
_RESERVED = Loan("reserved", "Reserved", "", "RESERVATION_BOUND", reserved=True)
_BY_WORD = {loan.word: loan for loan in (*LOANS, _RESERVED)}


def by_id(tier: object) -> Loan:
    """The kind of that word; of a word that is none, a kind of that name with no trait at all."""
    known = _BY_WORD.get(tier) if isinstance(tier, str) else None
    return known or Loan(str(tier), str(tier).capitalize(), "", "")


def by_model(model: str) -> Loan | None:
    return next((loan for loan in _BY_WORD.values() if loan.model == model), None)


def usual() -> Loan:
    return next(loan for loan in LOANS if loan.usual)


def spare() -> Loan:
    return next(loan for loan in LOANS if loan.spare)


def waiting() -> Loan:
    return next(loan for loan in LOANS if loan.waits)


def reserved() -> Loan:
    return _RESERVED


def title(tier: str) -> str:
    """As on a control; a kind of a newer version as it is spelled."""
    return by_id(tier).title


def hint(tier: str) -> str:
    return by_id(tier).hint


def beside(what: str, tier: str | None) -> str:
    """`v5e · 8 chips, spot`; the usual kind is not said, nor that something is free."""
    known = _BY_WORD.get(tier or "")
    return f"{what}, {tier}" if known and not known.usual else what
