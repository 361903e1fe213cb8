"""One session: timeouts always, repeats only what may be repeated, its token nowhere but in the header."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
from google.oauth2.credentials import Credentials
from requests.adapters import BaseAdapter

from tpu_studio.cloud import session as sessions
from tpu_studio.cloud.session import TIMEOUT, Api, Patience, is_loopback, session
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, SignedOut

TOKEN = "planted-token-0123456789"


class Server(BaseAdapter):
    """Answers (status, body) in turn; the last one stays."""

    def __init__(self, *answers: tuple[int, Any] | Exception) -> None:
        super().__init__()
        self.answers = list(answers)
        self.seen: list[tuple[requests.PreparedRequest, dict[str, Any]]] = []

    def send(self, request: requests.PreparedRequest, **more: Any) -> requests.Response:  # type: ignore[override]
        self.seen.append((request, more))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        reply = requests.Response()
        reply.status_code, reply.url, reply.request = answer[0], request.url or "", request
        reply._content = answer[1] if isinstance(answer[1], bytes) else json.dumps(answer[1]).encode()
        return reply

    def close(self) -> None: ...


def api_on(server: Server, waits: list[float] | None = None, **more: Any) -> Api:
    make: Callable[..., Any] = Credentials
    http = session(make(token=TOKEN, **more))
    http.mount("https://", server)
    record: Callable[[float], None] = waits.append if waits is not None else lambda seconds: None
    return Api("https://tpu.example", http, patience=Patience(sleep=record, chance=lambda: 1.0))


def test_a_question_is_asked_again_while_the_answer_is_unclear() -> None:
    server, waits = Server((503, {}), requests.ConnectionError("cut"), (200, {"a": 1})), list[float]()
    assert api_on(server, waits).get("/v2/x") == {"a": 1}
    assert waits == [0.5, 1.0]


def test_an_empty_answer_is_no_empty_list() -> None:
    """A sweep would tell from it that nothing costs money."""
    with pytest.raises(CloudUnclear) as raised:
        api_on(Server((200, b""))).pages("/v2/nodes", "nodes")
    assert raised.value.id == "unreadable-reply"
    assert api_on(Server((200, {}))).pages("/v2/nodes", "nodes") == []
    assert api_on(Server((204, b""))).delete("/v2/nodes/x") == {}


def test_patience_has_an_end() -> None:
    server, waits = Server((503, {})), list[float]()
    with pytest.raises(CloudUnclear) as raised:
        api_on(server, waits).get("/v2/x", zone="z")
    assert raised.value.id == "server-error"
    assert raised.value.facts["zone"] == "z"
    assert len(server.seen) == 4


def test_an_error_keeps_nothing_of_the_one_that_it_was_made_of() -> None:
    """Its frames hold the request with its token, for as long as a run shows the error."""
    with pytest.raises(CloudUnclear) as raised:
        api_on(Server(requests.ConnectionError("cut"))).get("/v2/x")
    assert raised.value.__context__ is None and raised.value.__cause__ is None


def test_a_refusal_is_final() -> None:
    server = Server((403, {"error": {"message": "Permission 'a.b' denied"}}))
    with pytest.raises(CloudRefused):
        api_on(server).get("/v2/x")
    assert len(server.seen) == 1


def test_a_post_is_sent_once_unless_it_may_be_repeated() -> None:
    once = Server((503, {}), (200, {}))
    with pytest.raises(CloudUnclear):
        api_on(once).post("/v2/x", {})
    assert len(once.seen) == 1
    assert api_on(Server((503, {}), (200, {"b": 2}))).post("/v2/x", {}, again=True) == {"b": 2}


def test_each_request_has_a_timeout_and_the_token_in_its_header() -> None:
    server = Server((200, {}))
    api_on(server).get("/v2/x", {"q": [1, 2]})
    request, more = server.seen[0]
    assert more["timeout"] == TIMEOUT
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert request.url == "https://tpu.example/v2/x?q=1&q=2"


def test_a_netrc_entry_does_not_replace_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("default login someone password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    server = Server((200, {}))
    api_on(server).get("/")
    assert server.seen[0][0].headers["Authorization"] == f"Bearer {TOKEN}"


def test_a_proxy_of_the_environment_is_for_others_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    make: Callable[..., Any] = Credentials
    http, server = session(make(token=TOKEN)), Server((200, {}))
    http.mount("http://", server)
    http.mount("https://", server)
    http.get("http://127.0.0.1:8000/a")
    http.get("http://localhost:8000/a")
    http.get("https://tpu.example/a")
    assert [dict(more["proxies"]) for _, more in server.seen[:2]] == [{}, {}]
    assert server.seen[2][1]["proxies"]["https"] == "http://127.0.0.1:9"


def test_loopback_is_told_from_its_look_alikes() -> None:
    assert all(is_loopback(f"http://{host}:1/") for host in ("localhost", "127.0.0.1", "[::1]", "127.8.8.8"))
    assert not any(is_loopback(f"http://{host}/") for host in ("localhost.evil.org", "127.0.0.1.nip.io", "10.0.0.1"))


def test_an_expired_sign_in_is_told_as_such_and_without_its_token() -> None:
    server = Server((401, {"error": {"message": f"Invalid Credentials Bearer {TOKEN}"}}))
    with pytest.raises(SignedOut) as raised:
        api_on(server).get("/v2/x")
    assert TOKEN not in repr(raised.value)
    assert TOKEN not in repr(api_on(server))


def test_pages_are_joined_and_endless_ones_refused() -> None:
    one, two = {"number": 1}, {"number": 2}
    api = api_on(Server((200, {"x": [one], "nextPageToken": "t"}), (200, {"x": [two]})))
    assert api.pages("/v2/x", "x") == [one, two]
    with pytest.raises(CloudUnclear):
        api_on(Server((200, {"x": [one], "nextPageToken": "t"}))).pages("/v2/x", "x", most=3)


@pytest.mark.parametrize("items", [[None], [1], "text", {"a": 1}, 7, [{}, []]], ids=str)
def test_a_list_of_anything_but_objects_is_unclear(items: object) -> None:
    with pytest.raises(CloudUnclear) as raised:
        api_on(Server((200, {"x": items}))).pages("/v2/x", "x")
    assert raised.value.id == "unreadable-reply"


def test_of_an_answer_without_end_so_much_is_read_as_any_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_ANSWER", 1 << 20)
    sent: list[int] = []

    class Endless(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                while True:
                    sent.append(self.wfile.write(b"[" * (1 << 16)))

        def log_message(self, *about: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        api = Api(f"http://127.0.0.1:{server.server_port}", sessions.plain_session(), patience=Patience(tries=1))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with pytest.raises(CloudUnclear) as raised:
                api.get("/")
        finally:
            server.shutdown()
    assert raised.value.id == "unreadable-reply" and "1,048,576" in str(raised.value.facts["raw"])
    assert sum(sent) < 64 << 20


def test_an_answer_that_is_no_json_object_is_unclear() -> None:
    for body in (b"<html>", b"[1]"):
        with pytest.raises(CloudUnclear) as raised:
            api_on(Server((200, body))).post("/v2/x")
        assert raised.value.id == "unreadable-reply"
