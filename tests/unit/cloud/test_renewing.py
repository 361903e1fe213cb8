"""What an account's lists said is kept in the home: damaged, of another project or older than the program, it counts as
nothing, and the built-in table does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from tpu_studio.domain import renewed
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.offers import Area, Offers
from tpu_studio.domain.renewed import catalogue_at
from tpu_studio.places import pricing, renewing

TODAY = date(2026, 12, 24)
OFFERS = Offers(
    "my-project",
    "2026-12-24",
    {"us-east5-a": Area("2026-12-24", {"v6e-1": "1x1"}, None)},
    machines={"us-east5-a": {"ct6e-standard-1t": {"vcpu": 44, "ram_gb": 176.0, "chips": 1}}},
    machines_date="2026-12-24",
)
KEPT = json.dumps(OFFERS.to_json())
BROKEN = (
    b"",
    b"\xff\xfe\0",
    b"{",
    b"[" * 200_000,
    b"[]",
    b"7",
    b"NaN",
    b"{}",
    KEPT.replace('"format": 1', '"format": 9'),
    KEPT.replace("44", "1e999"),
    KEPT.replace('{"us-east5-a": {"date"', '[{"us-east5-a": {"date"'),
    KEPT.replace('"types": {"v6e-1": "1x1"}', '"types": 5'),
    KEPT.replace('"my-project"', "[" * 5000),
)


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    renewed.forget_renewed()


def lent(place: str) -> list[int] | None:
    zone = next(one for one in catalogue_at(place).generation("v6e").zones if one.zone == "us-east5-a")
    return None if zone.sizes is None else list(zone.sizes)


def test_what_was_read_counts_again_at_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "catalogue-practice.json").write_text(KEPT)
    assert renewing.kept("practice", tmp_path, TODAY).offers == OFFERS
    assert lent("practice") == [1] and lent("cloud") is None


@pytest.mark.parametrize("content", BROKEN)
def test_a_damaged_file_counts_as_nothing(content: bytes | str, tmp_path: Path) -> None:
    data = content.encode() if isinstance(content, str) else content
    for name in ("catalogue-practice.json", "prices-practice.json"):
        (tmp_path / name).write_bytes(data)
    told = renewing.kept("practice", tmp_path, TODAY)
    assert told.offers is None and told.priced.live is None and lent("practice") is None
    assert pricing.use_kept(tmp_path, TODAY, "practice").live is None


def test_another_project_or_a_newer_program_forgets_it(tmp_path: Path) -> None:
    (tmp_path / "catalogue-cloud.json").write_text(KEPT)  # nobody is signed in here, so it is nobody's project
    assert renewing.kept("cloud", tmp_path, TODAY).offers is None
    old = json.dumps({**OFFERS.to_json(), "date": "2020-01-01"})
    (tmp_path / "catalogue-practice.json").write_text(old)
    assert catalogue().built_in > "2020-01-01" and renewing.kept("practice", tmp_path, TODAY).offers is None
