"""Live prices in plans: read once a day, kept, and never mixed with the practice cloud's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.domain import renewed
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.renewed import catalogue_at
from tpu_studio.places.pricing import Priced, refresh
from tpu_studio.planner.rented import choose
from tpu_studio.wire.errors import CloudUnclear
from tpu_studio.wire.job import parse

TODAY = date(2026, 11, 22)


@pytest.fixture(autouse=True)
def no_prices_stay() -> Iterator[None]:
    yield
    renewed.forget_renewed()


class List:
    """A price list that counts how often it was read; *down*: it does not answer."""

    def __init__(self, usd: float) -> None:
        self.usd, self.read, self.down = usd, 0, False

    def __call__(self, home: Path, today: date) -> list[dict[str, Any]]:
        self.read += 1
        if self.down:
            raise CloudUnclear("network-down")
        return [
            {
                "generation": "v5e",
                "region": "us-west4",
                "tier": "on-demand",
                "min_chips": 1,
                "max_chips": 256,
                "usd_per_chip_hour": self.usd,
                "as_of": today.isoformat(),
                "source": "live",
                "confidence": "high",
                "note": "",
            }
        ]


def price_at(place: str) -> float | None:
    found = catalogue_at(place).price("v5e", 1, "us-west4")
    return None if found is None else found.usd_per_chip_hour


def test_prices_are_read_once_a_day_and_only_for_the_real_cloud(tmp_path: Path) -> None:
    live = List(9.0)
    assert refresh(tmp_path, TODAY, live) == refresh(tmp_path, TODAY, live) == Priced(TODAY)
    assert live.read == 1
    assert price_at("cloud") == 9.0 and price_at("practice") == 1.2
    assert catalogue_at("cloud").price("v6e", 1, "us-east5") is None  # not in the live list: unknown, not the dated one
    assert catalogue().price("v6e", 1, "us-east5") is not None
    job = {"format": 1, "name": "x", "model": {"name": "mlp"}, "data": {"kind": "digits"}}
    where = {"accelerator": "v5litepod-1", "zones": ["us-west4-a"]}
    for place, usd in (("cloud", 9.0), ("practice", 1.2)):
        wanted = parse({**job, "where": {**where, "place": place}})
        assert choose(wanted, "jax", 1, catalogue_at(place)).usd_per_hour == usd


def test_off_line_the_kept_ones_do_for_a_week_with_their_date(tmp_path: Path) -> None:
    live = List(9.0)
    refresh(tmp_path, TODAY, live)
    live.down = True
    told = refresh(tmp_path, TODAY + timedelta(days=3), live)
    assert told.live == TODAY and told.error is not None and told.error.id == "network-down"
    found = catalogue_at("cloud").price("v5e", 1, "us-west4")
    assert found is not None and (found.usd_per_chip_hour, found.as_of) == (9.0, "2026-11-22")
    renewed.forget_renewed()
    assert refresh(tmp_path, TODAY + timedelta(days=8), live).live is None
    assert price_at("cloud") == 1.2


@pytest.mark.parametrize("text", ["", "[]", '{"date":"2026-11-22","rows":[{}]}', '{"date":"x","rows":[]}', "\x00"])
def test_a_damaged_file_is_read_anew(text: str, tmp_path: Path) -> None:
    (tmp_path / "prices.json").write_text(text)
    assert refresh(tmp_path, TODAY, List(8.0)) == Priced(TODAY)
    assert price_at("cloud") == 8.0


@pytest.mark.parametrize("usd", [None, "x", -5, 0, float("inf"), True])
def test_a_row_without_an_amount_is_a_hole_and_the_others_count(usd: Any, tmp_path: Path) -> None:
    class Holed(List):
        def __call__(self, home: Path, today: date) -> list[dict[str, Any]]:
            (row,) = super().__call__(home, today)
            return [{**row, "usd_per_chip_hour": usd}, {**row, "region": "us-central1"}]

    assert refresh(tmp_path, TODAY, Holed(9.0)).live == TODAY
    assert price_at("cloud") is None
    found = catalogue_at("cloud").price("v5e", 1, "us-central1")
    assert found is not None and found.usd_per_chip_hour == 9.0


def test_signed_out_the_dated_table_counts(tmp_path: Path) -> None:
    told = refresh(tmp_path, TODAY)
    assert told.live is None and told.error is not None and told.error.id == "signed-out"
    assert price_at("cloud") == 1.2
