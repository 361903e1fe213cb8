"""The Hugging Face Hub as `hub` (models) and `hubdata` (data sets) ask it: what it lists, and files held to their sums.

Its interface as its own client has it (huggingface_hub 2.4: `hf_api.model_info` and `dataset_info`, `hf_hub_url`,
`file_download.http_get`, `utils._http.hf_raise_for_status`), which `tools/hub_check.py` holds our rehearsals of it to.
Nothing is asked unasked, nothing that comes is run, and a token goes to the Hub alone: requests takes it off where it
is led elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote, urljoin, urlsplit

import requests
from urllib3.exceptions import HTTPError

from tpu_studio.cloud import deadline, session
from tpu_studio.cloud.hubfolder import size_of, writing
from tpu_studio.cloud.secrecy import without_secrets
from tpu_studio.wire import hub
from tpu_studio.wire.errors import BadInput, NotReady, StudioError, words_of
from tpu_studio.wire.hub import Listed
from tpu_studio.wire.jsonfile import parse_json

ENDPOINT = "https://huggingface.co"
Progress = Callable[[int, int], object]
"""Bytes that are here, of how many."""
T = TypeVar("T")

_BLOCK = 1 << 20
_PIECE = 1 << 14  # of what arrives: a cut loses no more
_TOKEN = re.compile(r"[!-~]{1,500}")  # as a header may have it
_WHO = re.compile(r"^([a-z]+://)[^/]*@")
_LED = 5  # times that a question is led elsewhere
_REDIRECTS = (301, 302, 303, 307, 308)
_TRIES = 5  # in a row in which nothing arrives, as its own client has it


@dataclass(frozen=True)
class Wanted:
    """*file*: its path in the repository; *to*: where it is to lie."""

    file: str
    to: Path
    listed: Listed


class Client:
    """Args:
    token: The person's access token; "": none. It is kept in memory only.
    endpoint: `HF_ENDPOINT`, as for its own client, or huggingface.co; by https, or this computer itself.
    """

    KIND: ClassVar[str]
    """Of repositories, as the Hub's addresses have it."""
    IS_DATA: ClassVar[bool] = False
    PREFIX: ClassVar[str]
    """Before their names, where no interface is asked."""
    MOST_SAID: ClassVar[int] = 8_000_000
    """Bytes of an answer."""

    def __init__(self, token: str = "", *, endpoint: str = "", patience: session.Patience = session.PATIENT) -> None:
        self.endpoint = (endpoint or os.environ.get("HF_ENDPOINT", "") or ENDPOINT).rstrip("/")
        if urlsplit(self.endpoint).scheme != "https" and not session.is_loopback(self.endpoint):
            raise BadInput("hub-not-https", address=self.address)
        self._token, self._patience = token.strip(), patience
        if self._token and not _TOKEN.fullmatch(self._token):
            raise BadInput("hub-token-refused", name="", data=self.IS_DATA)
        self._http = session.plain_session(led=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    @property
    def address(self) -> str:
        """The endpoint as it may be shown: a mirror's may hold a name and a password."""
        return _WHO.sub(r"\1", self.endpoint)

    def page(self, name: str) -> str:
        """Where a person reads of it."""
        return f"{self.address}/{self.PREFIX}{name}"

    def told(
        self, name: str, revision: str = "main", *, sums: bool = True, cancelled: Callable[[], bool] = bool
    ) -> Mapping[str, Any]:
        """`GET /api/{kind}/{name}/revision/{revision}`: of each file its name, with *sums* its size and sum too.

        Raises: as `hub.Hub.look_up`.
        """
        url = f"{self.endpoint}/api/{self.KIND}/{name}/revision/{quote(revision, safe='')}"

        def ask() -> bytes:
            with self._asked(url, name, params={"blobs": "true"} if sums else None) as reply:
                return b"".join(_at_most(reply, self.MOST_SAID, name, cancelled))

        said = self._patiently(ask, cancelled)
        try:
            tree = parse_json(said, "the Hub's answer")
        except ValueError as error:
            raise NotReady("hub-refused", name=name, data=self.IS_DATA, raw=str(error)) from error
        if not isinstance(tree, dict):
            raise NotReady("hub-refused", name=name, data=self.IS_DATA, raw="Its answer is no description.")
        return tree

    def fetch(
        self,
        name: str,
        revision: str,
        wanted: Iterable[Wanted],
        total: int,
        progress: Progress,
        cancelled: Callable[[], bool],
        came: Callable[[Wanted], object] = lambda one: None,
    ) -> None:
        """*wanted* of *revision*, each whole and as it is listed. *total*: with what is here already."""
        wanted = list(wanted)
        done = total - sum(one.listed.size for one in wanted)
        for one in wanted:
            before = done

            def heard(here: int, before: int = before) -> None:
                progress(before + here, total)

            self._fetch(name, revision, one, heard, cancelled)
            came(one)
            done += one.listed.size
        progress(total, total)

    def _fetch(
        self, name: str, revision: str, one: Wanted, progress: Callable[[int], object], cancelled: Callable[[], bool]
    ) -> None:
        url = f"{self.page(name)}/resolve/{quote(revision, safe='')}/{quote(one.file)}"
        listed, part = one.listed, one.to.with_name(f"{one.to.name}.part")
        with writing(part.parent):
            if size_of(part) > listed.size:
                part.unlink()
        left = _TRIES
        while (here := size_of(part)) < listed.size or not part.exists():
            try:
                self._go_on(url, name, part, listed.size, progress, cancelled)
            except NotReady as error:
                left = _TRIES if size_of(part) > here else left - 1
                if error.id not in ("hub-unreachable", "hub-too-often") or not left:
                    raise
                self._wait(cancelled, _TRIES - left)
        if sum_of(part, listed, cancelled) != (listed.sha256 or listed.sha1):
            part.unlink()
            raise NotReady("hub-differs", name=name, file=one.file)
        with writing(one.to.parent):
            os.replace(part, one.to)

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
        here = size_of(part)
        headers = {"Range": f"bytes={here}-"} if here else {}
        with self._asked(url, name, headers=headers) as reply, writing(part.parent), open(part, "ab") as to:
            if here and not (reply.headers.get("Content-Range") or "").startswith(f"bytes {here}-"):
                here = 0
                to.truncate(0)
            for block in _at_most(reply, size - here, name, cancelled):
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
            with self._led(url, name, sent, params) as reply:
                if not reply.ok:
                    raise self._refusal(reply, name)
                yield reply
        except (requests.RequestException, HTTPError, TimeoutError, ConnectionError) as error:
            raise self._unreachable(error, name) from None

    def _led(self, url: str, name: str, sent: Mapping[str, str], params: Any) -> requests.Response:
        """The reply behind its redirects: each by https, the token for the Hub's own address alone, no body read."""
        for _ in range(_LED):
            reply = self._http.get(url, headers=sent, params=params, stream=True, allow_redirects=False)
            if reply.status_code not in _REDIRECTS or "Location" not in reply.headers:
                return reply
            with reply:
                to = _joined(url, reply.headers["Location"])
            if not self._may_ask(to):
                raise NotReady("hub-refused", name=name, raw="It leads to an address that is not asked.")
            if _origin(to) != _origin(url):
                sent = {key: value for key, value in sent.items() if key != "Authorization"}
            url, params = to, None
        raise NotReady("hub-refused", name=name, raw="It leads from one address to the next without end.")

    def _may_ask(self, url: str) -> bool:
        """By https; while the Hub is one of this computer, others of it, too."""
        here = session.is_loopback(self.endpoint)
        scheme, host = _origin(url)
        return bool(host) and (scheme == "https" or (scheme == "http" and here and session.is_loopback(url)))

    def _unreachable(self, error: BaseException, name: str) -> StudioError:
        host = urlsplit(self.address).netloc
        return NotReady(
            "hub-unreachable", name=name, host=host, data=self.IS_DATA, raw=without_secrets(words_of(error))
        )

    def _refusal(self, reply: requests.Response, name: str) -> StudioError:
        """As `hf_raise_for_status` reads it: 401 is said of what is not there, private or asked for without a token."""
        code, status = reply.headers.get("X-Error-Code", ""), reply.status_code
        said = without_secrets(reply.headers.get("X-Error-Message", ""))[:300]
        facts = {"name": name, "page": self.page(name), "token": bool(self._token), "status": status, "raw": said}
        facts["data"] = self.IS_DATA
        if said.startswith("Invalid credentials"):
            return BadInput("hub-token-refused", **facts)
        if code == "GatedRepo":
            return BadInput("hub-gated", **facts)
        if code == "RepoNotFound" or status == 401:
            return BadInput("hub-not-found", **facts)
        if code in ("RevisionNotFound", "EntryNotFound"):
            return BadInput("hub-changed", **facts)
        if status == 429:
            return NotReady("hub-too-often", **facts)
        if status == 403 and self._token:
            return BadInput("hub-token-refused", **facts)
        return NotReady("hub-unreachable" if status >= 500 else "hub-refused", **facts)

    def _patiently(self, ask: Callable[[], T], cancelled: Callable[[], bool]) -> T:
        for tried in range(1, self._patience.tries + 1):
            try:
                return ask()
            except NotReady as error:
                if tried == self._patience.tries or error.id not in ("hub-unreachable", "hub-too-often"):
                    raise
                self._wait(cancelled, tried)
                if cancelled():
                    raise StudioError("hub-cancelled") from None
        raise AssertionError("unreachable")

    def _wait(self, cancelled: Callable[[], bool], tried: int) -> None:
        ends = time.monotonic() + min(self._patience.most_s, self._patience.first_s * 2.0**tried)
        while not cancelled() and (left := ends - time.monotonic()) > 0:
            self._patience.sleep(min(left, 0.2))


def listed(sibling: Mapping[str, Any]) -> Listed:
    """A file as the Hub lists it with its sum. Raises KeyError, TypeError, ValueError."""
    large = sibling.get("lfs")
    sums = {"sha256": large["sha256"], "sha1": ""} if large else {"sha256": "", "sha1": sibling["blobId"]}
    return hub.listed("file", {"size": sibling["size"], **sums})


def commit(told: Mapping[str, Any]) -> str:
    """What was told of. Raises KeyError, ValueError."""
    if not hub.is_commit(found := str(told["sha"])):
        raise ValueError("the commit that it is of")
    return found


def _joined(url: str, to: str) -> str:
    """Where *to* leads from *url*; "" where that is no address."""
    try:
        return urljoin(url, to)
    except ValueError:
        return ""


def _origin(url: str) -> tuple[str, str]:
    """Scheme and host with its port."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.netloc
    except ValueError:
        return "", ""


def _at_most(reply: requests.Response, most: int, name: str, cancelled: Callable[[], bool]) -> Iterator[bytes]:
    here = 0
    if reply.headers.get("Content-Encoding", "identity").lower() not in ("", "identity"):
        raise NotReady("hub-refused", name=name, raw="It packs what was asked for as it is.")
    deadline.bound(reply, 2 * most + _BLOCK)
    for block in reply.iter_content(_PIECE):
        if cancelled():
            raise StudioError("hub-cancelled", name=name)
        here += len(block)
        if here > most:
            raise NotReady("hub-refused", name=name, raw=f"It sends more than the {most:,} bytes that it should.")
        yield block


def sum_of(path: Path, listed: Listed, cancelled: Callable[[], bool]) -> str:
    """sha256, or git's sha1 of a blob."""
    found = hashlib.sha256() if listed.sha256 else hashlib.sha1(b"blob %d\0" % listed.size, usedforsecurity=False)
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            if cancelled():
                raise StudioError("hub-cancelled", name=path.name)
            found.update(block)
    return found.hexdigest()
