"""Pictures and texts of a run's data to try its model on: those kept aside from training, where that is known."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tpu_studio.wire import kinds
from tpu_studio.wire.brief import NAME_LETTERS, SAMPLE_LETTERS, cut
from tpu_studio.wire.owncode import located
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.resources import resource_path

_NAMED = 100  # `data.shown` names 24


@dataclass(frozen=True)
class Sample:
    """*kept*: it was kept aside, the model has never seen it."""

    path: Path
    label: str
    kept: bool = False


@dataclass(frozen=True)
class Passage:
    """As `Sample`, of a text."""

    text: str
    label: str
    kept: bool = False


def passages_of(plan: Plan) -> tuple[Passage, ...]:
    """The begin of texts that the plan holds; only the kept-aside ones as soon as there are any."""
    found = [
        Passage(cut(str(item.get("text", "")), SAMPLE_LETTERS), _label(item), item.get("kept") is True)
        for item in _named_in(plan, "texts")
    ]
    kept = [one for one in found if one.kept]
    return tuple(kept or found)


def samples_of(plan: Plan) -> tuple[Sample, ...]:
    """Those whose files are still there; only the kept-aside ones as soon as there are any.

    A plan may be a stranger's: no more are looked for than a plan of ours names, and none in somebody's network share.
    """
    found = []
    for item in _named_in(plan, "pictures"):
        path = _found(plan, str(item.get("path", "")))
        if path is not None:
            found.append(Sample(path, _label(item), item.get("kept") is True))
    kept = [one for one in found if one.kept]
    return tuple(kept or found)


def _label(item: Mapping[str, object]) -> str:
    return cut(str(item.get("class", "")), NAME_LETTERS)


def _named_in(plan: Plan, what: str) -> list[dict[str, object]]:
    preview = plan.data.get("preview")
    told = preview.get(what) if isinstance(preview, dict) else None
    return [one for one in told[:_NAMED] if isinstance(one, dict)] if isinstance(told, list) else []


def _found(plan: Plan, name: str) -> Path | None:
    """The built-in digits lie with the program, wherever the run was made. None: there is no such file here."""
    kind = kinds.find(plan.data.get("kind"))
    ours = kind is not None and kind.is_built_in
    with suppress(OSError):  # a name that no file can have, or no file of ours
        ways = [Path(name), *([resource_path("samples", "digits", "preview", Path(name).name)] if ours else [])]
        return next((path for path in ways if located(path) is not None and path.is_file()), None)
    return None
