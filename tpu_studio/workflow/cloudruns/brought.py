"""What was brought to the bucket for a run, in the pieces of ts-config that `ports.Preparing.upload` returns. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tpu_studio.wire.records import Json, rows

MOST = 1000  # objects, in all, that the bucket is asked about where somebody else wrote of them


def shared(pieces: Mapping[str, object] | None) -> list[Json]:
    """The objects that are named by content, which the next run with the same finds there: data, and parts of the
    folder that the model begins from; each once."""
    return list({str(piece["object"]): piece for some in _lists(pieces or {}) for piece in rows(some)}.values())


def check(pieces: Mapping[str, object]) -> None:
    """Raises TypeError, ValueError for pieces that are none."""
    for some in _lists(pieces):
        for piece in _named(some):
            if int(str(piece.get("bytes", ""))) < 0:
                raise ValueError(piece)


def measured(pieces: Mapping[str, object], bytes_of: Callable[[str], int]) -> dict[str, object]:
    """*pieces* that somebody else tells of, each as large as the bucket says.

    Raises:
        TypeError, ValueError: They are none.
    """

    total = sum(1 + len(_objects(some)) for some in _lists(pieces))
    if total > MOST:
        raise ValueError(f"more objects than {MOST}")

    def sized(some: object) -> list[dict[str, object]]:
        return [{**piece, "bytes": bytes_of(str(piece["object"]))} for piece in _named(some)]

    found = dict(pieces)
    if pieces.get("data"):
        found["data"] = sized(pieces["data"])
    if pieces.get("preset"):
        found["preset"] = [{**one, "parts": sized(one.get("parts"))} for one in _objects(pieces["preset"])]
    return found


def _lists(pieces: Mapping[str, object]) -> Iterator[object]:
    yield pieces.get("data") or []
    for one in _objects(pieces.get("preset") or []):
        yield one.get("parts")


def _named(value: object) -> list[Json]:
    found = _objects(value)
    if not all(isinstance(piece.get("object"), str) for piece in found):
        raise ValueError(value)
    return found


def _objects(value: object) -> list[Json]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ValueError(str(value)[:200])
    return value
