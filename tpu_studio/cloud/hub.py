"""Models of the Hugging Face Hub: what it says of one, and its files, each held to the sum that the Hub lists for it.

    hub = Hub()                      huggingface.co, as nobody; a token of the person's for models that want one
    hub.look_up("hf:owner/name")     descriptions and tokenizer, a few MB, and what its weights would take
    hub.download("hf:owner/name")    the weights; what was cut short is gone on with

How the Hub is asked: `hubclient`.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

from tpu_studio.cloud.hubclient import Client, Progress, Wanted, listed, sum_of
from tpu_studio.cloud.hubfolder import LOCK, alone, check_room, size_of, writing
from tpu_studio.wire import hub
from tpu_studio.wire.errors import BadInput, NotReady, words_of
from tpu_studio.wire.hub import PREFIX, Entry, Listed
from tpu_studio.wire.presets import SAFETENSORS, SAFETENSORS_INDEX
from tpu_studio.wire.runfolder import write_atomically

_WANTED = ("config.json", "tokenizer.json")
_DESCRIPTIONS = (
    *(*_WANTED, "tokenizer_config.json", "chat_template.jinja", "generation_config.json", "special_tokens_map.json"),
    SAFETENSORS_INDEX,
)
_LICENCES = re.compile(r"(?i)(license|licence|notice|use_policy)(\.(txt|md))?")
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".gguf")
_MOST_DESCRIPTION = 64_000_000  # bytes: Gemma 3's tokenizer has 33 million


class Hub(Client):
    KIND = "models"
    PREFIX = ""

    def look_up(
        self, preset: str, progress: Progress = lambda done, total: None, cancelled: Callable[[], bool] = bool
    ) -> Entry:
        """What the Hub says of the model *preset*, with its description and tokenizer in `hub.folder` afterwards.

        Weights of another revision, that were downloaded before, are deleted once the new one is described.

        Raises:
            BadInput: hub-name, hub-not-found, hub-gated, hub-token-refused, hub-no-model.
            NotReady: hub-unreachable, hub-refused, hub-too-often, hub-differs, hub-no-disk, hub-busy.
            StudioError: hub-cancelled.
        """
        name = _name(preset)
        entry = _entry(name, self.told(name))
        small = {one: sums for one, sums in entry.files.items() if not hub.is_of_weights(one)}
        folder, total = hub.folder(preset), sum(one.size for one in small.values())
        with alone(folder):
            before = hub.entry(folder)
            if before is None or before.files != entry.files:
                _delete(folder, keep=_same(before, entry))
            missing = {one: sums for one, sums in small.items() if not _is_there(folder / one, sums)}
            self._fetch_all(entry, missing, total, progress, cancelled)
            with writing(folder):
                write_atomically(folder / hub.FILE, entry.dumps())
        return entry

    def download(
        self, preset: str, progress: Progress = lambda done, total: None, cancelled: Callable[[], bool] = bool
    ) -> None:
        """Its weights, of the revision that was looked up, beside its description.

        Raises: as `look_up`; BadInput ``hub-not-looked-up``.
        """
        _name(preset)
        folder = hub.folder(preset)
        entry = hub.entry(folder)
        if entry is None:
            raise BadInput("hub-not-looked-up", preset=preset)
        with alone(folder):
            weights = {one: sums for one, sums in entry.files.items() if hub.is_of_weights(one)}
            missing = {one: sums for one, sums in weights.items() if not _is_there(folder / one, sums)}
            begun = sum(size_of(folder / f"{one}.part") for one in missing)
            check_room(folder, sum(one.size for one in missing.values()) - begun)
            self._fetch_all(entry, missing, entry.weights_bytes, progress, cancelled)

    def _fetch_all(
        self, entry: Entry, missing: Mapping[str, Listed], total: int, progress: Progress, cancelled: Callable[[], bool]
    ) -> None:
        folder = hub.folder(PREFIX + entry.name)
        wanted = [Wanted(one, folder / one, sums) for one, sums in missing.items()]
        self.fetch(entry.name, entry.revision, wanted, total, progress, cancelled)


def _name(preset: str) -> str:
    if not hub.is_name(preset):
        raise BadInput("hub-name", value=preset[:200])
    return preset.removeprefix(PREFIX)


def _entry(name: str, told: Mapping[str, Any]) -> Entry:
    """Raises BadInput ``hub-no-model``; NotReady ``hub-refused``."""
    try:
        files = {str(one["rfilename"]): _listed(one) for one in told["siblings"] if _is_wanted(str(one["rfilename"]))}
        revision, every = str(told["sha"]), [str(one["rfilename"]) for one in told["siblings"]]
    except (KeyError, TypeError, ValueError) as error:
        raise NotReady("hub-refused", name=name, raw=f"Its answer lacks {words_of(error)}") from error
    weights = [one for one in files if hub.is_of_weights(one)]
    lacking = [one for one in _WANTED if one not in files]
    if lacking or not weights:
        pickled = not weights and any(one.endswith(_PICKLES) for one in every)
        raise BadInput("hub-no-model", name=name, lacking=lacking or [SAFETENSORS], pickled=pickled)
    if SAFETENSORS in files:  # the same weights once
        files = {one: sums for one, sums in files.items() if not _SHARD.fullmatch(one) and one != SAFETENSORS_INDEX}
    card = told.get("cardData")
    licence = card.get("license") if isinstance(card, dict) else ""
    return Entry(
        name, revision, licence[:80] if isinstance(licence, str) else "", bool(told.get("gated")), time.time(), files
    )


def _is_wanted(file: str) -> bool:
    known = file in _DESCRIPTIONS or bool(_LICENCES.fullmatch(file))
    return PurePath(file).name == file and (known or file == SAFETENSORS or bool(_SHARD.fullmatch(file)))


def _listed(one: Mapping[str, Any]) -> Listed:
    found = listed(one)
    if not hub.is_of_weights(str(one["rfilename"])) and found.size > _MOST_DESCRIPTION:
        raise ValueError(f"a description of fewer than {found.size:,} bytes")
    return found


def _is_there(path: Path, listed: Listed) -> bool:
    """As large as it is listed. What it holds is looked at where the folder is read, and of small files here."""
    return size_of(path) == listed.size and (
        hub.is_of_weights(path.name) or sum_of(path, listed, bool) == (listed.sha256 or listed.sha1)
    )


def _same(before: Entry | None, entry: Entry) -> set[str]:
    """Names of what did not change."""
    return {one for one, sums in entry.files.items() if before and before.files.get(one) == sums}


def _delete(folder: Path, keep: Iterable[str]) -> None:
    """What is there of another revision; its listing first, so that no crash leaves it beside other files."""
    (folder / hub.FILE).unlink(missing_ok=True)
    for one in folder.iterdir():
        if one.name not in (*keep, *(f"{name}.part" for name in keep), LOCK) and one.is_file():
            one.unlink()


def delete(preset: str) -> int:
    """What was fetched of that model, gone; its bytes. Raises BadInput ``hub-name``; NotReady ``hub-busy``."""
    _name(preset)
    folder = hub.folder(preset)
    if not folder.is_dir():
        return 0
    with alone(folder):
        size = sum(size_of(one) for one in folder.iterdir())
        shutil.rmtree(folder)
    return size
