"""The Hugging Face Hub: what it says of a model, and its files, each held to the sum that the Hub lists for it.

    hub = Hub()                      huggingface.co, as nobody; a token of the person's for models that want one
    hub.look_up("hf:owner/name")     descriptions and tokenizer, a few MB, and what its weights would take
    hub.download("hf:owner/name")    the weights; what was cut short is gone on with

Its interface as its own client has it (huggingface_hub 2.4: `hf_api.model_info`, `file_download.http_get`,
`utils._http.hf_raise_for_status`), which `tools/hub_check.py` holds our rehearsals of it to. Nothing is asked unasked,
nothing that comes is run, and a token goes to the Hub alone: requests takes it off where it is led elsewhere.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import requests

from tpu_studio.cloud import session
from tpu_studio.cloud.secrecy import without_secrets
from tpu_studio.wire import claims, hub
from tpu_studio.wire.errors import BadInput, NotReady, StudioError, words_of
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.hub import PREFIX, Entry, Listed
from tpu_studio.wire.jsonfile import parse_json
from tpu_studio.wire.presets import SAFETENSORS, SAFETENSORS_INDEX
from tpu_studio.wire.runfolder import write_atomically

ENDPOINT = "https://huggingface.co"
Progress = Callable[[int, int], object]
"""Bytes that are here, of how many."""
T = TypeVar("T")

_WANTED = ("config.json", "tokenizer.json")
_DESCRIPTIONS = (
    *(*_WANTED, "tokenizer_config.json", "chat_template.jinja", "generation_config.json", "special_tokens_map.json"),
    SAFETENSORS_INDEX,
)
_LICENCES = re.compile(r"(?i)(license|licence|notice|use_policy)(\.(txt|md))?")
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".gguf")
_MOST_DESCRIPTION, _MOST_SAID = 64_000_000, 8_000_000  # bytes: Gemma 3's tokenizer has 33 million
_BLOCK = 1 << 20
_PIECE = 1 << 14  # of what arrives: a cut loses no more
_TRIES = 5  # in a row in which nothing arrives, as its own client has it
_SPARE = 200_000_000  # bytes of a disk that are left


class Hub:
    """Args:
    token: The person's access token; "": none. It is kept in memory only.
    endpoint: `HF_ENDPOINT`, as for its own client, or huggingface.co; by https, or this computer itself.
    """

    def __init__(self, token: str = "", *, endpoint: str = "", patience: session.Patience = session.PATIENT) -> None:
        self.endpoint = (endpoint or os.environ.get("HF_ENDPOINT", "") or ENDPOINT).rstrip("/")
        if urlsplit(self.endpoint).scheme != "https" and not session.is_loopback(self.endpoint):
            raise BadInput("hub-not-https", address=self.endpoint)
        self._token, self._patience = token, patience
        self._http = session.plain_session()

    def __repr__(self) -> str:
        return f"Hub({self.endpoint!r})"

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
        told = self._described(name)
        entry = _entry(name, told)
        small = {one: listed for one, listed in entry.files.items() if not hub.is_of_weights(one)}
        folder, total = hub.folder(preset), sum(one.size for one in small.values())
        with _alone(folder):
            before = hub.entry(folder)
            if before is None or before.files != entry.files:
                _delete(folder, keep=_same(before, entry))
            missing = {one: listed for one, listed in small.items() if not _is_there(folder / one, listed)}
            self._fetch_all(entry, missing, folder, total, progress, cancelled)
            with _writing(folder):
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
        with _alone(folder):
            weights = {one: listed for one, listed in entry.files.items() if hub.is_of_weights(one)}
            missing = {one: listed for one, listed in weights.items() if not _is_there(folder / one, listed)}
            begun = sum(_size(folder / f"{one}.part") for one in missing)
            _check_room(folder, sum(one.size for one in missing.values()) - begun)
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
        done = total - sum(one.size for one in missing.values())
        for file, listed in missing.items():
            before = done

            def heard(here: int, before: int = before) -> None:
                progress(before + here, total)

            self._fetch(entry, file, listed, folder, heard, cancelled)
            done += listed.size
        progress(total, total)

    def page(self, name: str) -> str:
        """Where a person reads of it."""
        return f"{self.endpoint}/{name}"

    def _described(self, name: str) -> Mapping[str, Any]:
        """`GET /api/models/{owner}/{name}/revision/main?blobs=true`: each file with its size and sum."""
        url = f"{self.endpoint}/api/models/{name}/revision/main"

        def ask() -> bytes:
            with self._asked(url, name, params={"blobs": "true"}) as reply:
                return b"".join(_at_most(reply, _MOST_SAID, name))

        told = self._patiently(ask, name)
        try:
            tree = parse_json(told, "the Hub's answer")
        except ValueError as error:
            raise NotReady("hub-refused", name=name, raw=str(error)) from error
        if not isinstance(tree, dict):
            raise NotReady("hub-refused", name=name, raw="Its answer is no description of a model.")
        return tree

    def _fetch(
        self,
        entry: Entry,
        file: str,
        listed: Listed,
        folder: Path,
        progress: Callable[[int], object],
        cancelled: Callable[[], bool],
    ) -> None:
        """*file* whole in *folder*, as it is listed."""
        url = f"{self.endpoint}/{entry.name}/resolve/{entry.revision}/{quote(file)}"
        part = folder / f"{file}.part"
        with _writing(folder):
            if _size(part) > listed.size:
                part.unlink()
        left = _TRIES
        while (here := _size(part)) < listed.size or not part.exists():
            try:
                self._go_on(url, entry.name, part, listed.size, progress, cancelled)
            except NotReady as error:
                left = _TRIES if _size(part) > here else left - 1
                if error.id not in ("hub-unreachable", "hub-too-often") or not left:
                    raise
                self._wait(cancelled, _TRIES - left)
        if _sum_of(part, listed, cancelled) != (listed.sha256 or listed.sha1):
            part.unlink()
            raise NotReady("hub-differs", name=entry.name, file=file)
        with _writing(folder):
            os.replace(part, folder / file)

    def _go_on(
        self,
        url: str,
        name: str,
        part: Path,
        size: int,
        progress: Callable[[int], object],
        cancelled: Callable[[], bool],
    ) -> None:
        """Behind what *part* has already; from its begin where the Hub does not know how."""
        here = _size(part)
        headers = {"Range": f"bytes={here}-"} if here else {}
        with self._asked(url, name, headers=headers) as reply, _writing(part.parent), open(part, "ab") as to:
            if here and not (reply.headers.get("Content-Range") or "").startswith(f"bytes {here}-"):
                here = 0
                to.truncate(0)
            for block in _at_most(reply, size - here, name):
                if cancelled():
                    raise StudioError("hub-cancelled", name=name)
                to.write(block)
                here += len(block)
                progress(here)
        if here < size:
            raise NotReady("hub-unreachable", name=name, raw=f"it ended after {here:,} of {size:,} bytes")

    @contextmanager
    def _asked(
        self, url: str, name: str, headers: Mapping[str, str] | None = None, params: Any = None
    ) -> Iterator[requests.Response]:
        """The open reply, whose body is to be read. Whatever the network raises within is ``hub-unreachable``."""
        sent = {"Accept-Encoding": "identity", "Connection": "close", **(headers or {})}
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        try:
            with self._http.get(url, headers=sent, params=params, stream=True) as reply:
                if not reply.ok:
                    raise self._refusal(reply, name)
                yield reply
        except (requests.RequestException, TimeoutError, ConnectionError) as error:
            raise self._unreachable(error, name) from None

    def _unreachable(self, error: BaseException, name: str) -> StudioError:
        return NotReady(
            "hub-unreachable", name=name, host=urlsplit(self.endpoint).netloc, raw=without_secrets(words_of(error))
        )

    def _refusal(self, reply: requests.Response, name: str) -> StudioError:
        """As `hf_raise_for_status` reads it: 401 is said of what is not there, private or asked for without a token."""
        code, status = reply.headers.get("X-Error-Code", ""), reply.status_code
        said = without_secrets(reply.headers.get("X-Error-Message", ""))[:300]
        facts = {"name": name, "page": self.page(name), "token": bool(self._token), "status": status, "raw": said}
        if said.startswith("Invalid credentials"):
            return BadInput("hub-token-refused", **facts)
        if code == "GatedRepo":
            return BadInput("hub-gated", **facts)
        if code == "RepoNotFound" or status == 401:
            return BadInput("hub-not-found", **facts)
        if status == 429:
            return NotReady("hub-too-often", **facts)
        if status == 403 and self._token:
            return BadInput("hub-token-refused", **facts)
        return NotReady("hub-unreachable" if status >= 500 else "hub-refused", **facts)

    def _patiently(self, ask: Callable[[], T], name: str) -> T:
        for tried in range(1, self._patience.tries + 1):
            try:
                return ask()
            except NotReady as error:
                if tried == self._patience.tries or error.id not in ("hub-unreachable", "hub-too-often"):
                    raise
                self._wait(bool, tried)
        raise AssertionError("unreachable")

    def _wait(self, cancelled: Callable[[], bool], tried: int) -> None:
        ends = time.monotonic() + min(self._patience.most_s, self._patience.first_s * 2.0**tried)
        while not cancelled() and (left := ends - time.monotonic()) > 0:
            self._patience.sleep(min(left, 0.2))


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
        files = {one: listed for one, listed in files.items() if not _SHARD.fullmatch(one) and one != SAFETENSORS_INDEX}
    card = told.get("cardData")
    licence = card.get("license") if isinstance(card, dict) else ""
    return Entry(
        name, revision, licence[:80] if isinstance(licence, str) else "", bool(told.get("gated")), time.time(), files
    )


def _is_wanted(file: str) -> bool:
    known = file in _DESCRIPTIONS or bool(_LICENCES.fullmatch(file))
    return PurePath(file).name == file and (known or file == SAFETENSORS or bool(_SHARD.fullmatch(file)))


def _listed(one: Mapping[str, Any]) -> Listed:
    large, size = one.get("lfs"), int(one["size"])
    if not hub.is_of_weights(str(one["rfilename"])) and size > _MOST_DESCRIPTION:
        raise ValueError(f"a description of fewer than {size:,} bytes")
    return Listed(size, str(large["sha256"])) if large else Listed(size, "", str(one["blobId"]))


def _at_most(reply: requests.Response, most: int, name: str) -> Iterator[bytes]:
    here = 0
    for block in reply.iter_content(_PIECE):
        here += len(block)
        if here > most:
            raise NotReady("hub-refused", name=name, raw=f"It sends more than the {most:,} bytes that it should.")
        yield block


def _sum_of(path: Path, listed: Listed, cancelled: Callable[[], bool]) -> str:
    """sha256, or git's sha1 of a blob."""
    found = hashlib.sha256() if listed.sha256 else hashlib.sha1(b"blob %d\0" % listed.size, usedforsecurity=False)
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            if cancelled():
                raise StudioError("hub-cancelled", name=path.name)
            found.update(block)
    return found.hexdigest()


def _is_there(path: Path, listed: Listed) -> bool:
    """As large as it is listed. What it holds is looked at where the folder is read, and of small files here."""
    return _size(path) == listed.size and (
        hub.is_of_weights(path.name) or _sum_of(path, listed, bool) == (listed.sha256 or listed.sha1)
    )


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _same(before: Entry | None, entry: Entry) -> set[str]:
    """Names of what did not change."""
    return {one for one, listed in entry.files.items() if before and before.files.get(one) == listed}


def _delete(folder: Path, keep: Iterable[str]) -> None:
    """What is there of another revision; its listing first, so that no crash leaves it beside other files."""
    (folder / hub.FILE).unlink(missing_ok=True)
    for one in folder.iterdir():
        if one.name not in (*keep, *(f"{name}.part" for name in keep), _LOCK) and one.is_file():
            one.unlink()


_LOCK = "lock"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Raises NotReady ``hub-busy``: another process fetches this model."""
    with _writing(folder):
        make_private(folder)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not claims.try_lock(lock):
            raise NotReady("hub-busy", name=folder.name.replace("--", "/", 1))
        yield
    finally:
        os.close(lock)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except requests.RequestException:
        raise
    except OSError as error:
        if isinstance(error, (TimeoutError, ConnectionError)):
            raise
        id = "hub-no-disk" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "hub-folder"
        raise NotReady(id, folder=str(folder), raw=error.strerror or "") from error


def _check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE:
        raise NotReady("hub-no-disk", folder=str(folder), needed_bytes=needed + _SPARE, free_bytes=free)


def delete(preset: str) -> int:
    """What was fetched of that model, gone; its bytes. Raises BadInput ``hub-name``; NotReady ``hub-busy``."""
    _name(preset)
    folder = hub.folder(preset)
    if not folder.is_dir():
        return 0
    with _alone(folder):
        size = sum(_size(one) for one in folder.iterdir())
        shutil.rmtree(folder)
    return size
