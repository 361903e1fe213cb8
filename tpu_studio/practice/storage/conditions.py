"""``ifGenerationMatch`` and its kin. Pure but for the refusal it raises."""

from __future__ import annotations

from collections.abc import Mapping

from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.storage.store import StoredObject

FAILED = "At least one of the pre-conditions you specified did not hold."
NAMES = ("GenerationMatch", "GenerationNotMatch", "MetagenerationMatch", "MetagenerationNotMatch")


class NotModified(Exception):
    """A read whose ``if…NotMatch`` does not hold: 304, no body."""


def failed() -> GoogleError:
    return GoogleError(412, message=FAILED)


def asked(query: Mapping[str, list[str]], prefix: str = "if") -> dict[str, int]:
    """The conditions in *query*, by their name without *prefix* (``if`` or ``ifSource``). Raises: GoogleError 400."""
    found: dict[str, int] = {}
    for name in NAMES:
        for text in query.get(prefix + name, [])[:1]:
            if not text.isdigit():
                raise GoogleError(400, message=f"Invalid value '{text}'. Value must be an integer.")
            found[name] = int(text)
    return found


def check(conditions: Mapping[str, int], current: StoredObject | None, *, reading: bool = False) -> None:
    """Generation 0 stands for "no such object".

    Raises:
        GoogleError: 412.
        NotModified: when *reading* and it is unchanged.
    """
    generation = current.generation if current else 0
    metageneration = current.metageneration if current else None
    if conditions.get("GenerationMatch", generation) != generation:
        raise failed()
    if "MetagenerationMatch" in conditions and conditions["MetagenerationMatch"] != metageneration:
        raise failed()
    unchanged = conditions.get("GenerationNotMatch") == generation or (
        metageneration is not None and conditions.get("MetagenerationNotMatch") == metageneration
    )
    if unchanged:
        if reading:
            raise NotModified
        raise failed()
