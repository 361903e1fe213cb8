"""``models --look-up``, ``--download``, ``--delete``: models of the Hugging Face Hub. Ctrl-C cancels cleanly."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence

from tpu_studio.cli.engine import cancelling
from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.domain import figures
from tpu_studio.wire import hub
from tpu_studio.wire.pretrained.known import Known


def of_hub(arguments: Arguments, output: Output) -> int | None:
    """None: nothing of the kind is asked. Raises: as `cloud.hub.Hub`."""
    if arguments.delete:
        return _delete(arguments.delete, output)
    if preset := arguments.look_up or arguments.download:
        return _fetch(preset, output, whole=bool(arguments.download))
    return None


def as_json(entry: hub.Entry) -> dict[str, object]:
    folder = hub.folder(hub.PREFIX + entry.name)
    return {
        "preset": hub.PREFIX + entry.name,
        "revision": entry.revision,
        "licence": entry.licence,
        "gated": entry.gated,
        "weights_bytes": entry.weights_bytes,
        "downloaded": entry.is_whole(folder),
        "path": str(folder),
    }


def known_as_json(one: Known) -> dict[str, object]:
    """A model that is planned with before it is asked for. *read*: it is not too large."""
    return {
        "preset": one.preset,
        "parameters": one.parameters,
        "weights_bytes": one.size_bytes,
        "licence": one.licence,
        "gated": one.gated,
        "instruct": one.instruct,
        "read": one.is_read,
        "sources": list(one.sources),
    }


def known_words(known: Sequence[Known]) -> str:
    names = ", ".join(one.preset for one in known if one.is_read)
    return "\n    ".join(
        textwrap.wrap(f"Planned with before a byte is fetched, as model.preset: {names}.", 100, break_on_hyphens=False)
    )


def words(entry: hub.Entry) -> str:
    size = figures.size(entry.weights_bytes)
    here = "downloaded" if entry.is_whole(hub.folder(hub.PREFIX + entry.name)) else "looked up, not downloaded"
    return f"{hub.PREFIX}{entry.name}: {size} of weights, {here}. {licence_words(entry)}"


def licence_words(entry: hub.Entry) -> str:
    card = f"https://huggingface.co/{entry.name}"
    return f"Licence: {entry.licence} ({card})." if entry.licence else f"Its card states no licence: {card}."


def _fetch(preset: str, output: Output, *, whole: bool) -> int:
    from tpu_studio.cloud.hub import Hub

    remote = Hub(os.environ.get("HF_TOKEN", ""))
    with cancelling() as cancelled:
        entry = hub.entry(hub.folder(preset)) if whole and hub.is_name(preset) else None
        if entry is None:
            output.say(f"Asking {remote.address} for {preset}.")
            entry = remote.look_up(preset, lambda done, total: _tell(output, done, total), cancelled)
        if whole and not entry.is_whole(hub.folder(preset)):
            output.say(f"{figures.size(entry.weights_bytes)} of weights. {licence_words(entry)}")
            remote.download(preset, lambda done, total: _tell(output, done, total), cancelled)
    output.answer({"model": as_json(entry)}, f"{words(entry)}\n{_next(preset)}")
    return 0


def _tell(output: Output, done: int, total: int) -> None:
    output.progress(done / total if total else None, f"Downloading: {figures.size(done)} of {figures.size(total)}")


def _next(preset: str) -> str:
    return f'Name it in a job: model.name = "pretrained-lm", model.preset = "{preset}".'


def _delete(preset: str, output: Output) -> int:
    from tpu_studio.cloud import hub as remote

    size = remote.delete(preset)
    output.answer({"preset": preset, "deleted_bytes": size}, f"{figures.size(size)} of {preset} deleted.")
    return 0
