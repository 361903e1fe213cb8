"""What this account may use and where it is at home, as it was last read: one of the catalogue's files at a place.

``places.standing`` puts it there from what the Account page or ``doctor`` read; plans ask nobody. It has an age: Google
may have granted more, or less, since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tpu_studio.domain.catalogue import Catalogue
from tpu_studio.domain.generations import Slice, region_of
from tpu_studio.wire import loans
from tpu_studio.wire.records import list_of, number_of, record_of

FILE = "standing"


@dataclass(frozen=True)
class Standing:
    """Attributes:
    region: Where the account's results are kept, and its stops stand; "": not chosen.
    as_of: When the limits were read, seconds since 1970; None: never.
    limits: (generation, use, tier, zone) → limit, in chips or cores as `cores` says.
    cores: Generations that Google counts in cores, two to a chip.
    addresses: Region → external addresses allowed, and in use then.
    """

    region: str = ""
    as_of: float | None = None
    limits: Mapping[tuple[str, str, str, str], int] = field(default_factory=dict)
    cores: frozenset[str] = frozenset()
    addresses: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def limit(self, part: Slice, tier: str, zone: str) -> int | None:
        """In chips; None: not known. Flex-start draws what spot draws first."""
        drawn = loans.usual().word if loans.by_id(tier).usual else loans.spare().word
        found = self.limits.get((part.generation, part.use, drawn, zone))
        return found // 2 if found is not None and part.generation in self.cores else found

    def allows(self, part: Slice, tier: str, zone: str) -> bool | None:
        """Whether one such slice may be used at once; None: not known."""
        limit = self.limit(part, tier, zone)
        return None if limit is None else limit >= part.chips

    def addresses_left(self, zone: str) -> int | None:
        """External addresses of the zone's region; None: not known."""
        known = self.addresses.get(region_of(zone))
        return None if known is None else max(0, known[0] - known[1])


NOTHING = Standing()


@lru_cache(maxsize=8)
def standing_of(known: Catalogue) -> Standing:
    raw = known.given(FILE)
    return NOTHING if raw is None else from_json(raw)


def from_json(raw: Mapping[str, object]) -> Standing:
    """Raises KeyError, TypeError, ValueError: it is damaged."""
    rows = [row for one in list_of("rows", raw.get("rows", ())) if (row := record_of("row", one))["limit"] is not None]
    as_of, addresses = raw.get("t"), record_of("addresses", raw.get("addresses") or {})
    names = ("generation", "use", "tier", "zone")
    keys = [(str(one[a]), str(one[b]), str(one[c]), str(one[d])) for one in rows for a, b, c, d in [names]]
    return Standing(
        str(raw.get("region", "")),
        None if as_of is None else number_of("t", as_of),
        {key: int(number_of("limit", one["limit"])) for key, one in zip(keys, rows, strict=True)},
        frozenset(str(one["generation"]) for one in rows if one["unit"] == "cores"),
        {
            region: (int(number_of(region, a)), int(number_of(region, b)))
            for region, two in addresses.items()
            for a, b in [list_of(region, two)]
        },
    )
