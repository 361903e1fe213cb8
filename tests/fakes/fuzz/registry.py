"""All targets by name, for `make fuzz` and for the suite's doses."""

from __future__ import annotations

from tests.fakes.fuzz.data import Jobs, Pictures, Shards, Tables
from tests.fakes.fuzz.target import Base
from tests.fakes.fuzz.words import Words
from tests.fakes.fuzz.zips import Zips

TARGETS: dict[str, type[Base]] = {
    "jobs": Jobs, "tables": Tables, "pictures": Pictures, "shards": Shards, "words": Words, "zips": Zips,
}  # fmt: skip
