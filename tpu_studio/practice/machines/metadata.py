"""The metadata server of one worker, on a loopback port of its own: that port is what tells machines apart.

Google's rules: `Metadata-Flavor: Google` is asked for and given back, forwarded requests are refused, a folder without
its slash redirects, `recursive=true` gives JSON, `wait_for_change=true` holds the reply until the value differs from
`last_etag`. Ours: `Date` is practice time, `X-Practice-Speed` says how fast it runs; requests that come from a page in
a browser are refused (a foreign Host, an Origin, Sec-Fetch-Site), and so are other users of this computer.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from urllib.parse import parse_qs, unquote, urlsplit

from tpu_studio.domain.loopback import LoopbackHandler, LoopbackServer
from tpu_studio.practice.machines import tree as trees
from tpu_studio.practice.machines.clockline import ClockLine

PREFIX = "/computeMetadata/v1"
_LONGEST_WAIT_S = 3600.0
_AT_ONCE = 256
_NEVER_ENDS_S = 3600.0  # between looks whether to end
_FORBIDDEN = (
    "<!DOCTYPE html>\n<html lang=en>\n  <title>Error 403 (Forbidden)!!1</title>\n"
    "<p>Your client does not have permission to get URL <code>{path}</code> from this server. {why}\n</html>\n"
)


class MetadataServer(LoopbackServer):
    """Serves *tree* for as long as the process lives. `changed` wakes the replies that wait; `is_cut`: no network."""

    def __init__(self, tree: trees.Tree, clock: Callable[[], ClockLine], without_etag: tuple[str, ...] = ()) -> None:
        super().__init__(0, _Handler, _AT_ONCE)
        self.tree, self.clock, self.without_etag = tree, clock, without_etag
        self.change = threading.Condition()
        self.is_cut = False
        threading.Thread(target=self.serve_forever, args=(_NEVER_ENDS_S,), name="metadata", daemon=True).start()

    @property
    def port(self) -> int:
        return self.server_port

    def verify_request(self, request: object, client_address: object) -> bool:
        return not self.is_cut

    def changed(self) -> None:
        with self.change:
            self.change.notify_all()


class _Handler(LoopbackHandler):
    server: MetadataServer
    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # headers and body in one send: two cost 40 ms
    disable_nagle_algorithm = True
    timeout = 4000

    def do_GET(self) -> None:
        if self.server.is_cut:
            self.close_connection = True
            return
        url = urlsplit(self.path)
        path, query = unquote(url.path), parse_qs(url.query, keep_blank_values=True)
        why = self._refusal(path)
        if why:
            self._reply(403, _FORBIDDEN.format(path=path.replace("<", "&lt;"), why=why), "text/html; charset=UTF-8")
        elif path == "/":
            self._reply(200, "computeMetadata/\n", "application/text")
        elif path in ("/computeMetadata", "/computeMetadata/"):
            self._reply(200, "v1/\n", "application/text")
        elif path == PREFIX or path.startswith(PREFIX + "/"):
            self._tell(path, query)
        else:
            self._reply(404, "The requested URL was not found on this server.\n", "text/html; charset=UTF-8")

    do_HEAD = do_GET

    def _refuse_writing(self) -> None:
        self.close_connection = True  # its body is not read
        self._reply(405, "Only GET is known here.\n", "text/html; charset=UTF-8")

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _refuse_writing

    def _refusal(self, path: str) -> str:
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if host not in ("127.0.0.1", "localhost", "metadata.google.internal", "169.254.169.254"):
            return "Not this host."
        if "Origin" in self.headers or self.headers.get("Sec-Fetch-Site", "none") != "none":
            return "Not for web pages."
        if "X-Forwarded-For" in self.headers:
            return "Forwarded requests are refused."
        if path != "/" and self.headers.get("Metadata-Flavor") != "Google":
            return "Missing Metadata-Flavor:Google header."
        return ""

    def _tell(self, path: str, query: dict[str, list[str]]) -> None:
        def one(name: str, default: str = "") -> str:
            return query.get(name, [default])[-1]

        inside = path[len(PREFIX) :]
        recursive = one("recursive").lower() == "true"
        try:
            node = trees.find(self.server.tree, inside)
            if isinstance(node, dict) and not path.endswith("/") and not recursive:
                self._reply(301, "", "text/html", {"Location": path + "/"})
                return
            body, kind = _written(node, recursive=recursive, alt=one("alt"))
            if one("wait_for_change").lower() == "true":
                body = self._wait(node, body, recursive, one("alt"), one("last_etag"), one("timeout_sec"))
        except trees.NoSuchPath:
            self._reply(404, "The requested URL was not found on this server.\n", "text/html; charset=UTF-8")
        except OSError as error:
            self._reply(503, f"The practice cloud gave no token: {error}\n", "text/html; charset=UTF-8")
        else:
            self._reply(200, body, kind, {} if inside in self.server.without_etag else {"ETag": _etag(body)})

    def _wait(self, node: object, body: str, recursive: bool, alt: str, last: str, timeout: str) -> str:
        give_up = time.monotonic() + (min(float(timeout), _LONGEST_WAIT_S) if timeout.isdigit() else _LONGEST_WAIT_S)
        known = last or _etag(body)
        with self.server.change:
            while _etag(body) == known and (left := give_up - time.monotonic()) > 0:
                self.server.change.wait(left)
                body, _ = _written(node, recursive=recursive, alt=alt)
        return body

    def _reply(self, status: int, body: str, kind: str, headers: dict[str, str] | None = None) -> None:
        data = body.encode()
        clock = self.server.clock()
        self.send_response_only(status)
        for name, text in {
            "Metadata-Flavor": "Google",
            "Content-Type": kind,
            "Date": formatdate(clock.now(), usegmt=True),
            "X-Practice-Speed": f"{clock.speed:g}",
            "Server": "Metadata Server for VM",
            "Content-Length": str(len(data)),
            "X-XSS-Protection": "0",
            "X-Frame-Options": "SAMEORIGIN",
            **(headers or {}),
        }.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass  # a line for each poll of each machine


def _written(node: object, *, recursive: bool, alt: str) -> tuple[str, str]:
    if isinstance(node, dict):
        if recursive:
            return json.dumps(trees.as_json(node)), "application/json"
        return trees.listing(node), "application/text"
    told = trees.value(node)
    if alt == "json" or isinstance(told, dict):
        return json.dumps(told), "application/json"
    return trees.as_text(told), "application/text"


def _etag(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]
