"""Signing in in the person's own browser: authorization code with PKCE (RFC 8252, 7636) over a loopback port.

The small server takes one answer on 127.0.0.1, checks *state*, shows a page that says "you can close this tab", and is
gone. Nothing else may talk to it: other Host headers and other paths get 404. Browsers open connections ahead and say
nothing on them, so one that is silent holds up nobody.

The browser is given a page of that server which leads on to Google: whoever reads its command line (`ps` shows it to
all users) finds neither *state* nor the challenge there, and is hung up on when he asks for them (`domain.peers`). A
file that forwards would do the same, but a browser in a box of its own (snap, Flatpak) may not read it.

The exchange is done here and not by a library, because the one that google-auth offers needs two process-wide
environment variables to be told the scopes that were really granted, and cannot be cancelled.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tpu_studio.cloud import errors
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.session import TIMEOUT, once, plain_session
from tpu_studio.domain.loopback import LoopbackHandler, LoopbackServer
from tpu_studio.domain.sentences.signin import BLOCKED
from tpu_studio.wire.errors import SignedOut

SCOPES = (
    "openid",
    "https://www.googleapis.com/auth/userinfo.email",
    "https://www.googleapis.com/auth/cloud-platform",
)
NEEDED = "https://www.googleapis.com/auth/cloud-platform"
WAIT_S = 300.0
_SILENT_S = 30.0
_AT_ONCE = 32


@dataclass(frozen=True)
class Client:
    """An OAuth client of the type "Desktop app"; its secret is not confidential to Google, but is kept like one."""

    id: str
    secret: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> Client:
        """The client in the JSON file that the Google console offers for download.

        Raises:
            SignedOut: ``client-unreadable`` (facts: raw; ``what`` it is instead: ``web``, ``key``, ``gcloud``,
                ``no-secret``, ``json``, ``other``).
        """
        try:
            tree = json.loads(text)
            inner = tree["installed"]
            return cls(str(inner["client_id"]), str(inner["client_secret"]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise SignedOut("client-unreadable", what=_what_instead(text), raw=type(error).__name__) from None


@dataclass(frozen=True)
class Granted:
    """What a sign-in gave. *scopes* are those really ticked; *lives_s*: in how many seconds the refresh token ends, by
    Google's word (``refresh_token_expires_in``: seven days where the client's consent screen is on Testing)."""

    email: str
    refresh_token: str = field(repr=False)
    access_token: str = field(repr=False)
    scopes: tuple[str, ...] = ()
    lives_s: float | None = None


def sign_in(
    client: Client,
    endpoints: Endpoints,
    open_browser: Callable[[str], bool],
    *,
    cancelled: Callable[[], bool] = lambda: False,
    hint: str = "",
    wait_s: float = WAIT_S,
    told: Callable[[str, bool], None] | None = None,
) -> Granted:
    """Open the browser, wait for the answer, exchange it.

    Args:
        open_browser: Given the address; False when no browser could be opened.
        cancelled: Asked four times a second.
        hint: The account to offer first.
        told: Hears the address, and whether a browser opened it. Whoever listens can have it opened by hand, so it is
            waited for all the same.

    Raises:
        SignedOut: ``sign-in-cancelled``, ``sign-in-timeout``, ``sign-in-declined``, ``sign-in-blocked`` and
            ``sign-in-refused`` (facts: error), ``no-browser``, ``scope-missing``, ``client-gone``.
        CloudUnclear: ``network-down`` …
    """
    verifier = secrets.token_urlsafe(64)
    state = secrets.token_urlsafe(32)
    with _Waiting(state) as waiting:
        query = {
            "client_id": client.id,
            "redirect_uri": waiting.address,
            "response_type": "code",
            "scope": " ".join(SCOPES),
            "state": state,
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
            "access_type": "offline",
            "prompt": "consent",
            **({"login_hint": hint} if hint else {}),
        }
        url = waiting.lead_to(f"{endpoints.authorize}?{urlencode(query)}")
        opened = open_browser(url)
        if told is not None:
            told(url, opened)
        elif not opened:
            raise SignedOut("no-browser")
        answer = waiting.answer(cancelled, wait_s)
        if "error" in answer:
            raise refusal(answer["error"][:80])
        reply = _post(
            endpoints.token,
            {
                "grant_type": "authorization_code",
                "code": answer["code"],
                "redirect_uri": waiting.address,
                "client_id": client.id,
                "client_secret": client.secret,
                "code_verifier": verifier,
            },
        )
    scopes = tuple(str(reply.get("scope", "")).split())
    if NEEDED not in scopes:
        raise SignedOut("scope-missing", granted=list(scopes))
    if not reply.get("refresh_token"):
        raise SignedOut("sign-in-refused", error="no refresh token")
    email = email_of(endpoints, str(reply["access_token"]))
    lives = reply.get("refresh_token_expires_in")
    lives_s = float(lives) if isinstance(lives, (int, float)) and not isinstance(lives, bool) and lives > 0 else None
    return Granted(email, str(reply["refresh_token"]), str(reply["access_token"]), scopes, lives_s)


def refusal(error: str) -> SignedOut:
    """What came back instead of a code, by its OAuth error code (Google, "OAuth 2.0 for Mobile & Desktop Apps",
    authorization errors). Most of these Google shows on a page of its own and never sends back."""
    if error == "access_denied":
        return SignedOut("sign-in-declined", error=error)
    return SignedOut("sign-in-blocked" if error in BLOCKED else "sign-in-refused", error=error)


def email_of(endpoints: Endpoints, access_token: str) -> str:
    """Who the token belongs to; "" when Google does not say."""

    def ask() -> str:
        bearer = {"Authorization": f"Bearer {access_token}"}
        reply = plain_session().get(endpoints.userinfo, headers=bearer, timeout=TIMEOUT)
        return str(reply.json().get("email", "")) if reply.status_code == 200 else ""

    return once(ask)


def revoke(endpoints: Endpoints, token: str) -> None:
    """Tell Google that *token*, and what it stands for, is not valid any more.

    Google answers 200, or 400 with an error code ("Revoking a token", OAuth 2.0 for desktop apps): ``invalid_token``
    for one that was not valid before (doubt ``revoke-dead-token``). It is the whole grant that ends, of an address to
    the clients of a project: every other refresh token of theirs, too, on whatever computer (doubt
    ``revoke-whole-grant``). So it is for a person who signs out, never for a sign-in that failed: another computer may
    drive a rented run by that grant.

    Raises:
        CloudUnclear, SignedOut …: any other answer, or none: it may be valid still.
    """

    def ask() -> None:
        reply = plain_session().post(endpoints.revoke, data={"token": token}, timeout=TIMEOUT)
        if reply.status_code != 200 and not (reply.status_code == 400 and _oauth_error(reply) == "invalid_token"):
            raise errors.of_reply(reply.status_code, reply.content)

    once(ask)


def _what_instead(text: str) -> str:
    """What a file is that is no client of a desktop app, as a word for ``client-unreadable``."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return "other"
    if not isinstance(tree, dict):
        return "json"
    if "web" in tree:
        return "web"
    if "installed" in tree:
        return "no-secret"
    return {"service_account": "key", "authorized_user": "gcloud"}.get(str(tree.get("type")), "json")


def _challenge(verifier: str) -> str:
    """S256 (RFC 7636, 4.2)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _oauth_error(reply: Any) -> str:
    try:
        return str(reply.json().get("error", ""))
    except (ValueError, AttributeError):
        return ""


def _post(url: str, fields: dict[str, str]) -> dict[str, object]:
    def ask() -> dict[str, object]:
        reply = plain_session().post(url, data=fields, timeout=TIMEOUT)
        if reply.status_code >= 400:
            raise errors.of_reply(reply.status_code, reply.content)
        tree = reply.json()
        if not isinstance(tree, dict) or not tree.get("access_token"):
            raise errors.make("unreadable-reply", {"raw": "no access token"})
        return tree

    return once(ask)


class _Server(LoopbackServer):
    def lets_in(self, ours: bool | None) -> bool:
        """Another user is refused. Where it cannot be told (a browser outside of this machine), *state* decides."""
        return ours is not False

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that hangs up is no news, and nothing of a request belongs into a log."""


class _Waiting:
    """The loopback server; `address` is where the browser is sent back to."""

    def __init__(self, state: str) -> None:
        self._state = state
        self._answer: dict[str, str] | None = None
        waiting = self

        class Handler(LoopbackHandler):
            def do_GET(self) -> None:
                waiting._take(self)

            timeout = _SILENT_S

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: the address holds the code."""

        self._leads_to, self._page, self._led = "", f"/go/{secrets.token_urlsafe(24)}", False
        self._server = _Server(0, Handler, _AT_ONCE)
        self._host = f"127.0.0.1:{self._server.server_port}"
        self.address = f"http://{self._host}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="sign-in", daemon=True)

    def __enter__(self) -> _Waiting:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    def lead_to(self, url: str) -> str:
        """The page of ours that leads to *url*."""
        self._leads_to = url
        return f"http://{self._host}{self._page}"

    def answer(self, cancelled: Callable[[], bool], wait_s: float) -> dict[str, str]:
        """``code`` or ``error``. Raises SignedOut ``sign-in-cancelled``, ``sign-in-timeout``."""
        until = time.monotonic() + wait_s
        while self._answer is None:
            if cancelled():
                raise SignedOut("sign-in-cancelled")
            if time.monotonic() > until:
                raise SignedOut("sign-in-timeout", seconds=round(wait_s))
            time.sleep(0.05)
        return self._answer

    def _take(self, request: LoopbackHandler) -> None:
        parts = urlsplit(request.path)
        if self._leads_on(request, parts.path):
            return
        fields = {name: values[0] for name, values in parse_qs(parts.query).items()}
        ours = (
            parts.path == "/"
            and request.headers.get("Host") == self._host
            and hmac.compare_digest(fields.get("state", "").encode(), self._state.encode())
            and ("code" in fields or "error" in fields)
        )
        if ours and self._answer is None:
            self._answer = {name: fields[name] for name in ("code", "error") if name in fields}
        words = ("Signed in", "You can close this tab and go back to TPU Studio.")
        if not ours:
            words = ("Nothing here", "This address only waits for the answer of a sign-in.")
        elif "error" in fields:
            words = ("Not signed in", "Nothing was changed. You can close this tab and go back to TPU Studio.")
        page = _PAGE.format(title=html.escape(words[0]), text=html.escape(words[1])).encode()
        request.send_response(200 if ours else 404)
        for name, value in (
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Length", str(len(page))),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
            ("Referrer-Policy", "no-referrer"),
        ):
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(page)

    def _leads_on(self, request: LoopbackHandler, path: str) -> bool:
        """Answer the request for the page that leads to Google. To whoever is not known as this person, once only: who
        comes second may have been robbed of it, and sees that nothing is here."""
        right = hmac.compare_digest(path.encode(), self._page.encode()) and request.headers.get("Host") == self._host
        if not right or not self._leads_to:
            return False
        if self._server.knows(request.client_address) is not True and self._led:
            return False
        self._led = True
        request.send_response(303)
        for name, value in (
            ("Location", self._leads_to),
            ("Cache-Control", "no-store"),
            ("Content-Length", "0"),
            ("Referrer-Policy", "no-referrer"),
        ):
            request.send_header(name, value)
        request.end_headers()
        return True


_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
    "<style>body{{font:16px/1.5 sans-serif;margin:20vh auto;max-width:32em;padding:0 1em;color:#15181e}}</style>"
    "<h1>{title}</h1><p>{text}</p></html>"
)
