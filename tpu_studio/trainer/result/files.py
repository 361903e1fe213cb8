"""Names in a result folder, and its card. No framework here: predict reads the card before it chooses one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tpu_studio.wire import frameworks, kinds, tasks
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.records import items
from tpu_studio.wire.sizes import NAME_LETTERS, PLAN_BYTES
from tpu_studio.wire.starters import TOKENIZER

CARD, MODEL, OWN_MODEL = "model.json", "model.keras", "own_model.py"
SAVED_MODEL, METRICS, TENSORBOARD, REPORT = "saved_model", "metrics.csv", "tensorboard", "report.html"
OURS = (CARD, MODEL, OWN_MODEL, SAVED_MODEL, METRICS, TENSORBOARD, REPORT, TOKENIZER)
FORMAT = 1
LONGEST = NAME_LETTERS + 20  # of a name, which may have a number behind it


def folder_of(run: Path) -> Path:
    """Where the result lies: in a run folder's ``result``, or right here when it was exported.

    Raises:
        RunError: ``result-missing``.
    """
    for folder in (run / "result", run):
        if (folder / MODEL).is_file() and (folder / CARD).is_file():
            return folder
    raise RunError("result-missing", path=str(run))


_FRAMEWORKS = (None, *frameworks.IDS)
_FORMATS = ("uint8", "int32", "float32")


def read_card(result: Path) -> dict[str, Any]:
    """``model.json``.

    Raises:
        RunError: ``result-unreadable``, ``result-newer``.
    """
    try:
        card = read_json(result / CARD, PLAN_BYTES)
        version = card["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError("result-unreadable", path=str(result / CARD), raw=str(error)) from error
    if not isinstance(version, int) or version > FORMAT:
        raise RunError("result-newer", path=str(result / CARD), format=version, known=FORMAT)
    if not isinstance(card, dict) or not isinstance(card.get("own") or {}, dict):
        raise RunError("result-unreadable", path=str(result / CARD), raw="it is no card of a result")
    data = card.get("data")
    kind = kinds.find(data.get("kind")) if isinstance(data, dict) else None
    if card.get("task") not in tasks.IDS or kind is None:
        raise RunError("result-unreadable", path=str(result / CARD), raw="its task or its data is not known")
    if not _takes(card.get("input")) or not (isinstance(data, dict) and isinstance(data.get("classes") or [], list)):
        raise RunError("result-unreadable", path=str(result / CARD), raw="what its model takes is not known")
    if any(len(name) > LONGEST for name in _names(data)):
        raise RunError("result-unreadable", path=str(result / CARD), raw=f"a name has more than {LONGEST:,} letters")
    trained = card.get("trained", {})
    if not isinstance(trained, dict) or trained.get("framework") not in _FRAMEWORKS:
        raise RunError("result-unreadable", path=str(result / CARD), raw="what it was trained with is not known")
    return card


def _names(data: Mapping[str, object]) -> Iterator[str]:
    """Of its target, its classes and its columns."""
    yield str(data.get("target"))
    for one in (*items(data.get("classes")), *items(data.get("columns"))):
        yield str(one.get("name")) if isinstance(one, Mapping) else str(one)


def _takes(given: object) -> bool:
    """Whether *given* is a shape and a number format of examples."""
    return isinstance(given, dict) and isinstance(given.get("shape"), list) and given.get("dtype") in _FORMATS


def own_sha256(card: dict[str, Any]) -> str:
    """sha256 of the user's own model file that this result needs, or ""."""
    return str((card.get("own") or {}).get("sha256", ""))
