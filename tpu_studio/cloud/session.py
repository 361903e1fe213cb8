"""HTTP to Google: one session for a set of credentials, an end for each call, and a retry policy of our own.

Google's clients set neither (a dead peer would hang for ever), so all of them are given `session(...)` or go through
`Api`. A call ends when its peer says nothing for too long, and as a whole (`deadline`). The way out is the proxy of the
environment or the system (HTTPS_PROXY, NO_PROXY), never for loopback. Only calls that may be repeated without harm are
repeated; a create never is: its caller looks by name.
"""

from __future__ import annotations

import ipaddress
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import requests
from google.auth.transport.requests import AuthorizedSession, Request
from requests.hooks import dispatch_hook
from requests.structures import CaseInsensitiveDict

import tpu_studio
from tpu_studio.cloud import deadline, errors
from tpu_studio.cloud.secrecy import without_secrets
from tpu_studio.wire.errors import StudioError

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
CONNECT_S, READ_S = 10.0, 30.0
MOST_REFUSAL = 1 << 16  # bytes of a refusal's body: Google's longest have some kB
MOST_ANSWER = 16 << 20  # bytes: a page of 5,000 prices has 5 MB
MOST_ITEMS = 200_000  # of a list: Compute Engine's prices are some 40,000
TIMEOUT = (CONNECT_S, READ_S)
_RETRIED = frozenset({"network-down", "timed-out", "server-error", "unreadable-reply", "create-rate", "proxy-down"})
T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """How often and how long a call that may be repeated is repeated. Waits grow ×2, each drawn from half to whole."""

    tries: int = 4
    first_s: float = 0.5
    most_s: float = 8.0
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def call(self, work: Callable[[], T], **about: object) -> T:
        """*work*, again while the answer is unclear or "too fast". Raises what `errors.of_exception` makes of it."""
        for tried in range(1, self.tries + 1):
            try:
                return once(work, **about)
            except StudioError as error:
                if tried == self.tries or error.id not in _RETRIED:
                    raise
            wait = min(self.most_s, self.first_s * 2 ** (tried - 1))
            self.sleep(wait * (0.5 + 0.5 * self.chance()))
        raise AssertionError("unreachable")


PATIENT = Patience()


def once(work: Callable[[], T], **about: object) -> T:
    """*work*, with whatever it raises made one of ours."""
    try:
        return work()
    except StudioError:
        raise
    except Exception as error:  # noqa: BLE001  Google's clients raise from five libraries; each becomes an id here
        known = errors.of_exception(error, **about)
    raise known  # out here: it would keep the other, and by its frames a request with its token, an open reply


class _Ending(requests.Session):
    """Each call ends: TIMEOUT where a caller gives none, and redirects and fresh tokens are part of it. No proxy and no
    CA of the environment for this computer itself; netrc never."""

    def request(self, method: Any, url: Any, *args: Any, **more: Any) -> Any:
        if more.get("timeout") is None or more["timeout"] == 120:  # 120: google-auth's own default
            more["timeout"] = TIMEOUT
        with deadline.during(more["timeout"], bool(more.get("stream"))):
            return super().request(method, url, *args, **more)

    def send(self, request: requests.PreparedRequest, **more: Any) -> requests.Response:
        if more.get("timeout") is None:
            more["timeout"] = TIMEOUT
        streams = bool(more.get("stream"))
        with deadline.during(more["timeout"], streams):
            reply = super().send(request, **{**more, "stream": True})
            if not reply.ok:
                _read_up_to(reply, MOST_REFUSAL)
            elif not streams and not _read_up_to(reply, MOST_ANSWER):
                raise errors.make("unreadable-reply", {"raw": f"an answer of more than {MOST_ANSWER:,} bytes"})
            return reply

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Any:
        if is_loopback(str(url)):
            merged = {"proxies": {}, "stream": stream, "verify": verify, "cert": cert}
            return {**merged, "verify": self.verify if verify is None else verify, "cert": cert or self.cert}
        return super().merge_environment_settings(url, proxies, stream, verify, cert)

    def rebuild_proxies(self, prepared_request: Any, proxies: object) -> object:
        """After a redirect."""
        if is_loopback(str(prepared_request.url)):
            return {}
        return super().rebuild_proxies(prepared_request, proxies)  # type: ignore[no-untyped-call]


def _read_up_to(reply: requests.Response, most: int) -> bool:
    """Whether *most* bytes are all of it. What is streamed, too: nobody reads on, and its connection is free again, or
    ends where there is too much."""
    if getattr(reply, "_content", False) is not False:
        return len(reply.content) <= most
    body = bytearray()
    for block in reply.iter_content(MOST_REFUSAL):
        body += block
        if len(body) > most:
            reply.close()
            break
    reply._content, reply._content_consumed = bytes(body[:most]), True  # type: ignore[attr-defined]
    return len(body) <= most


class _Authorized(_Ending, AuthorizedSession):
    """google-auth's session, each call of which ends."""

    def __repr__(self) -> str:
        return "<session>"

    def look(self, url: str, headers: Mapping[str, str]) -> requests.Response:
        """GET of a stream, for what is asked for every two seconds: a third of the work of `request`.

        *url* is taken as it is, cookies are neither sent nor kept, no redirect is followed, and after a 401 nothing is
        refreshed: the caller asks again by `request` then.
        """
        asked = requests.PreparedRequest()
        asked.method, asked.url, asked.hooks = "GET", url, self.hooks
        all_headers: Any = {**self.headers, **headers}
        asked.headers = CaseInsensitiveDict(all_headers)
        with deadline.during(TIMEOUT, True):
            self.credentials.before_request(self._auth_request, "GET", url, asked.headers)
            settings = self.merge_environment_settings(url, {}, True, None, None)
            reply = self.get_adapter(url).send(asked, timeout=TIMEOUT, **settings)
        return dispatch_hook("response", self.hooks, reply)  # type: ignore[no-untyped-call,no-any-return]


def session(credentials: Any, quota_project: str = "") -> requests.Session:
    """A session that carries *credentials*, refreshed when they expire and once after a 401.

    Args:
        quota_project: Whose quota and service switches count for user credentials (``X-Goog-User-Project``).
    """
    if quota_project and getattr(credentials, "quota_project_id", quota_project) != quota_project:
        named = credentials.with_quota_project(quota_project)
        if renewed := getattr(credentials, "refresh_handler", None):  # google-auth's copy has lost it
            named.refresh_handler = renewed
        credentials = named
    refreshing = plain_session()
    asking = Request(refreshing)
    made = _Authorized(credentials, refresh_timeout=CONNECT_S, auth_request=asking)  # type: ignore[no-untyped-call]
    _prepare(made)
    return made


class _Unled(_Ending):
    """Redirects are its caller's: requests would read the body of each, whatever its size."""

    def resolve_redirects(self, *_: Any, **__: Any) -> Any:
        return iter(())


def plain_session(*, led: bool = True) -> requests.Session:
    """One without credentials: for tokens, and for what anybody may ask. *led*: redirects are followed."""
    made = _Ending() if led else _Unled()
    _prepare(made)
    return made


def _prepare(made: requests.Session) -> None:
    made.auth = _as_is  # or a netrc entry would replace the token
    made.headers["User-Agent"] = f"tpu-studio/{tpu_studio.__version__}"
    adapter = deadline.Adapter(pool_connections=8, pool_maxsize=16, max_retries=0)
    made.mount("https://", adapter)
    made.mount("http://", adapter)


def _as_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def is_loopback(url: str) -> bool:
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Api:
    """JSON over HTTP against one of Google's services.

    Args:
        endpoint: Base URL without a slash at the end.
        http: What `session` made; or credentials, of which one is made.
        quota_project: Only with credentials.
    """

    def __init__(self, endpoint: str, http: object, quota_project: str = "", *, patience: Patience = PATIENT) -> None:
        self.endpoint = endpoint.rstrip("/")
        self._http: requests.Session = http if isinstance(http, requests.Session) else session(http, quota_project)
        self._patience = patience

    def __repr__(self) -> str:
        return f"Api({self.endpoint!r})"

    def get(self, path: str, query: Mapping[str, object] | None = None, **about: object) -> dict[str, Any]:
        """GET, repeated with patience. *path* begins with a slash. *about*: facts that a refusal should carry."""
        return self._patience.call(lambda: self._send("GET", path, query, None, about), **about)

    def delete(self, path: str, query: Mapping[str, object] | None = None, **about: object) -> dict[str, object]:
        """DELETE, repeated with patience: once gone, the second answer is ``not-found``."""
        return self._patience.call(lambda: self._send("DELETE", path, query, None, about), **about)

    def post(
        self,
        path: str,
        body: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
        *,
        again: bool = False,
        **about: object,
    ) -> dict[str, Any]:
        """POST, sent once; *again*: it may be repeated without harm (a question, or a call with a request id)."""
        return self._writing("POST", path, body, query, again, about)

    def patch(
        self,
        path: str,
        body: Mapping[str, object],
        query: Mapping[str, object] | None = None,
        *,
        again: bool = False,
        **about: object,
    ) -> dict[str, object]:
        return self._writing("PATCH", path, body, query, again, about)

    def put(
        self,
        path: str,
        body: Mapping[str, object],
        query: Mapping[str, object] | None = None,
        *,
        again: bool = True,
        **about: object,
    ) -> dict[str, object]:
        return self._writing("PUT", path, body, query, again, about)

    def pages(
        self, path: str, field: str, query: Mapping[str, object] | None = None, *, most: int = 200, **about: object
    ) -> list[Any]:
        """All items of a list in pages (``nextPageToken``). Raises CloudUnclear after *most* pages or `MOST_ITEMS`, and
        where they are no objects."""
        items: list[object] = []
        asked = dict(query or {})
        for _ in range(most):
            page = self.get(path, asked, **about)
            found = page.get(field) or []
            if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
                raise errors.make("unreadable-reply", {**about, "raw": f"{field} is no list of objects"})
            items += found
            if len(items) > MOST_ITEMS:
                break
            if not page.get("nextPageToken"):
                return items
            asked["pageToken"] = page["nextPageToken"]
        told = f"more than {most} pages of {field}, or than {MOST_ITEMS:,} of them"
        raise errors.make("unreadable-reply", {**about, "raw": told})

    def _writing(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None,
        query: Mapping[str, object] | None,
        again: bool,
        about: dict[str, object],
    ) -> dict[str, object]:
        def send() -> dict[str, object]:
            return self._send(method, path, query, {} if body is None else body, about)

        return self._patience.call(send, **about) if again else once(send, **about)

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Mapping[str, object] | None,
        about: dict[str, object],
    ) -> dict[str, object]:
        reply = self._http.request(method, self.endpoint + path, params=query, json=body, timeout=TIMEOUT)
        if reply.status_code >= 400:
            raise errors.of_reply(reply.status_code, reply.content, **about)
        if not reply.content.strip():
            if method == "GET":  # Google's "nothing" is {}: an empty page of something on the way is no empty list
                raise errors.make("unreadable-reply", {**about, "code": reply.status_code, "raw": "an empty answer"})
            return {}
        tree = reply.json()
        if not isinstance(tree, dict):
            raise errors.make("unreadable-reply", {**about, "raw": without_secrets(reply.text)})
        return tree


def segment(name: str) -> str:
    """*name* as one segment of a path."""
    return quote(name, safe="")
