"""Models of the Hugging Face Hub: what it says of one, and its files, each held to the sum that the Hub lists for it.

    hub = Hub()                      huggingface.co, as nobody; a token of the person's for models that want one
    hub.look_up("hf:owner/name")     descriptions and tokenizer, a few MB, and what its weights would take
    hub.download("hf:owner/name")    the weights; what was cut short is gone on with

How the Hub is asked: `hubclient`.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any

from tpu_studio.cloud.hubclient import Client, Progress, Wanted, commit, listed, sum_of
from tpu_studio.cloud.hubfolder import LOCK, alone, check_room, size_of, writing
from tpu_studio.wire import hub
from tpu_studio.wire.errors import BadInput, NotReady, words_of
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.hub import PREFIX, Entry, Listed
from tpu_studio.wire.presets import SAFETENSORS, SAFETENSORS_INDEX
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.wire.visible import one_line

_WANTED = ("config.json", "tokenizer.json")
_DESCRIPTIONS = (
    *(*_WANTED, "tokenizer_config.json", "chat_template.jinja", "generation_config.json", "special_tokens_map.json"),
    SAFETENSORS_INDEX,
)
_LICENCES = tuple(
    f"{name}{ending}"
    for name in ("LICENSE", "LICENCE", "license", "NOTICE", "USE_POLICY")
    for ending in ("", ".txt", ".md")
)
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".gguf")
_MOST_DESCRIPTION = 64_000_000  # bytes: Gemma 3's tokenizer has 33 million
_MOST_LICENCE = 1_000_000
_MOST_DESCRIPTIONS = 100_000_000  # all of a model
_NEW = "new"  # of its folder: what a look-up has fetched, until all of it has come


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
        entry = _entry(name, self.told(name, cancelled=cancelled))
        small = {one: sums for one, sums in entry.files.items() if not hub.is_of_weights(one)}
        folder, total = hub.folder(preset), sum(one.size for one in small.values())
        beside = folder / _NEW
        with alone(folder):
            missing = {one: sums for one, sums in small.items() if not _is_there(folder / one, sums)}
            check_room(folder, sum(one.size for one in missing.values()))
            with writing(folder):
                make_private(beside)
            self._fetch_all(entry, missing, beside, total, progress, cancelled)
            with writing(folder):
                _take(folder, beside, entry, _same(hub.entry(folder), entry))
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
            self._fetch_all(entry, missing, folder, entry.weights_bytes, progress, cancelled)

    def _fetch_all(
        self,
        entry: Entry,
        missing: Mapping[str, Listed],
        folder: Path,
        total: int,
        progress: Progress,
        cancelled: Callable[[], bool],
    ) -> None:
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
        revision, every = commit(told), [str(one["rfilename"]) for one in told["siblings"]]
    except (KeyError, TypeError, ValueError) as error:
        raise NotReady("hub-refused", name=name, raw=f"Its answer lacks {words_of(error)}") from error
    weights = [one for one in files if hub.is_of_weights(one)]
    described = sum(sums.size for one, sums in files.items() if not hub.is_of_weights(one))
    if described > _MOST_DESCRIPTIONS or len(files) > hub.MOST_FILES:
        raise NotReady(
            "hub-refused", name=name, raw=f"It lists {len(files):,} files, of {described:,} bytes beside weights."
        )
    lacking = [one for one in _WANTED if one not in files]
    if lacking or not weights:
        pickled = not weights and any(one.endswith(_PICKLES) for one in every)
        raise BadInput("hub-no-model", name=name, lacking=lacking or [SAFETENSORS], pickled=pickled)
    if SAFETENSORS in files:  # the same weights once
        files = {one: sums for one, sums in files.items() if not _SHARD.fullmatch(one) and one != SAFETENSORS_INDEX}
    card = told.get("cardData")
    licence = card.get("license") if isinstance(card, dict) else ""
    return Entry(name, revision, one_line(str(licence or ""))[:80], bool(told.get("gated")), time.time(), files)


def _is_wanted(file: str) -> bool:
    known = file in _DESCRIPTIONS or file in _LICENCES
    return PurePath(file).name == file and (known or file == SAFETENSORS or bool(_SHARD.fullmatch(file)))


def _listed(one: Mapping[str, Any]) -> Listed:
    found, name = listed(one), str(one["rfilename"])
    most = _MOST_LICENCE if name in _LICENCES else _MOST_DESCRIPTION
    if not hub.is_of_weights(name) and found.size > most:
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


def _take(folder: Path, beside: Path, entry: Entry, same: set[str]) -> None:
    """What came *beside* into *folder*, in the place of what was there of another revision; the listing goes first and
    comes last, so that no crash leaves it beside other files."""
    if len(same) < len(entry.files):
        (folder / hub.FILE).unlink(missing_ok=True)
    for one in folder.iterdir():
        if (
            one.name not in (*same, *(f"{name}.part" for name in same), *entry.files, LOCK, hub.FILE) and one.is_file()
        ) or (one.name in entry.files and one.name not in same and hub.is_of_weights(one.name)):
            one.unlink()
    for one in beside.iterdir():
        os.replace(one, folder / one.name)
    beside.rmdir()
    write_atomically(folder / hub.FILE, entry.dumps())


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
