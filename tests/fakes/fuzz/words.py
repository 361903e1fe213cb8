"""The sentences of every error, finding, notice and reason, with facts that a damaged file may hold."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from tests.fakes.fuzz.target import Base
from tests.fakes.hostile import VALUES
from tpu_studio.domain.sentences import ERRORS, FINDINGS, NOTICES, say, say_finding, say_notice, say_reason
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.reasons import Reason


class AnyFacts(Mapping[str, Any]):
    """Has a fact of every name, of any value."""

    def __init__(self, chance: random.Random) -> None:
        self._chance, self._known = chance, dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self._chance.choice(VALUES)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class Words(Base):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.kinds: dict[str, list[str]] = {
            "error": sorted(ERRORS),
            "finding": sorted(FINDINGS),
            "notice": sorted(NOTICES),
            "reason": sorted(Reason),
        }

    def one(self, chance: random.Random) -> None:
        kind = chance.choice(sorted(self.kinds))
        which, facts = chance.choice(self.kinds[kind]), AnyFacts(chance)
        self.given("words", f"{kind} {which}".encode())
        match kind:
            case "error":
                error = StudioError(which)
                error.facts = cast("dict[str, Any]", facts)
                said = say(error)
            case "finding":
                said = say_finding(which, facts)
            case "notice":
                said = say_notice(which, facts)
            case _:
                said = say_reason(Reason(which), facts, place=chance.choice(("computer", "cloud")))
        assert said.title and str(said)
