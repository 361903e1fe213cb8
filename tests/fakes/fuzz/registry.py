"""All targets by name, for `make fuzz` and for the suite's doses."""

from __future__ import annotations

from tests.fakes.fuzz.archives import Archives
from tests.fakes.fuzz.cloud import Bucket, Http
from tests.fakes.fuzz.data import Columnar, Jobs, Lines, Pictures, Shards, Tables
from tests.fakes.fuzz.logs import Logs
from tests.fakes.fuzz.plans import Compared, Plans
from tests.fakes.fuzz.programs import Programs
from tests.fakes.fuzz.runs import Databases, Events, Folders
from tests.fakes.fuzz.selftests import Crashes, Eats, Hangs
from tests.fakes.fuzz.target import Base
from tests.fakes.fuzz.verbs import Verbs
from tests.fakes.fuzz.words import Words
from tests.fakes.fuzz.zips import Zips

TARGETS: dict[str, type[Base]] = {
    "jobs": Jobs,
    "tables": Tables,
    "lines": Lines,
    "columnar": Columnar,
    "pictures": Pictures,
    "shards": Shards,
    "events": Events,
    "folders": Folders,
    "verbs": Verbs,
    "zips": Zips,
    "archives": Archives,
    "databases": Databases,
    "bucket": Bucket,
    "http": Http,
    "words": Words,
    "plans": Plans,
    "compared": Compared,
    "logs": Logs,
    "programs": Programs,
}
SELF_TESTS: dict[str, type[Base]] = {"crashes": Crashes, "hangs": Hangs, "eats": Eats}
"""By which `make fuzz` itself is tried: never part of a run that does not name them."""
