"""Google may answer otherwise than we assume: the practice cloud does so where a doubt is armed.

    --doubt task-name-reuse            its first other way        --doubt valid-until=suspended

Whoever imitates something that rests on an assumption asks `way` with the doubt's id (``resources/doubts.json``): "" is
as assumed, else the slug that is armed. State in the database, so that a restart keeps it.
"""

from __future__ import annotations

from tpu_studio.domain.doubts import doubts, read_doubt
from tpu_studio.practice.state import Database


class Doubts:
    """Those that are answered the other way."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def way(self, name: str) -> str:
        """ "": as assumed; else the slug of the other way. Raises KeyError: the table has no such doubt."""
        for key, record in self._db.peek("doubt"):
            if key == name:
                return str(record["way"])
        if name not in doubts():
            raise KeyError(name)
        return ""

    def arm(self, text: str) -> str:
        """``ID[=other]``; its id. Raises BadInput."""
        doubt, way = read_doubt(text)
        self._db.put("doubt", doubt.id, {"way": way})
        return doubt.id

    def disarm(self, name: str = "") -> None:
        """One doubt by its id; "" = all."""
        for key, _ in self._db.list("doubt"):
            if name in ("", key):
                self._db.delete("doubt", key)

    def armed(self) -> dict[str, str]:
        """Slug by id."""
        return {key: str(record["way"]) for key, record in self._db.list("doubt")}
