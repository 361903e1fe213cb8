"""The ports of this program against other local web pages, broken callers and whoever wants to slip a request past."""

from __future__ import annotations

import http.client
import itertools
import socket
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.contract.conftest import Call, Start, caller
from tests.fakes import practices
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin import browser
from tpu_studio.practice import server as ports
from tpu_studio.practice.main import Practice
from tpu_studio.practice.routing import Reply
from tpu_studio.wire.errors import SignedOut

FORM = "application/x-www-form-urlencoded"
EVIL = "https://evil.example"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ports")


@pytest.fixture(scope="module")
def practice(folder: Path) -> Iterator[Practice]:
    """One for all tests: none of them may leave a trace in it."""
    with practices.starting(folder / "practice") as start:
        yield start()


def raw(practice: Practice, data: bytes) -> bytes:
    """All that comes back until the line is closed."""
    with closing(socket.create_connection(("127.0.0.1", practice.server.server_port), timeout=60)) as line:
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)
        got = b""
        while piece := line.recv(65536):
            got += piece
        return got


def head(practice: Practice, *lines: str, method: str = "POST", path: str = "/practice/faults") -> bytes:
    port = practice.server.server_port
    first = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {practice.token}"]
    return "\r\n".join([*first, *lines, "", ""]).encode()


# --------------------------------------------------------------------------------------------------------- web pages


TYPES = ("text/plain", FORM, "multipart/form-data; boundary=x", "application/json")


@pytest.mark.parametrize("path", ["/practice/faults", "/practice/stop", "/token", "/revoke", "/practice/machine-token"])
def test_what_a_page_can_post_without_asking_first_is_refused(call: Call, path: str) -> None:
    """CSRF: a form, or fetch in no-cors mode; browsers name the page in Origin, with a post always."""
    body = b'{"name": "billing-off"}'
    pages = ({"Origin": EVIL}, {"Origin": "null"}, {"Origin": EVIL, "Sec-Fetch-Site": "same-site"})
    for headers, type in itertools.product(pages, TYPES):
        answer = call("POST", path, body, headers={"Content-Type": type, **headers})
        assert answer.status == 403
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
    assert call("GET", "/practice/faults").body["armed"] == []


@pytest.mark.parametrize(
    "path", ["/practice/ready", "/practice/events", "/v1/projects", "/oauth2/v1/certs", "/tokeninfo"]
)
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_an_image_or_script_of_a_page_gets_nothing(call: Call, path: str, site: str) -> None:
    answer = call("GET", path, token="", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"})
    assert answer.status in (401, 403)
    assert answer.headers.get("X-Content-Type-Options") == "nosniff"


@pytest.mark.parametrize("wanted", ["authorization", "content-type", "metadata-flavor"])
def test_a_preflight_is_never_answered_with_leave(call: Call, wanted: str) -> None:
    for path in ("/practice/faults", "/storage/v1/b", "/v2/projects/p/locations", "/token"):
        asked = {"Origin": EVIL, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": wanted}
        answer = call("OPTIONS", path, token="", headers={**asked, "Access-Control-Request-Private-Network": "true"})
        assert answer.status in (403, 404)
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}",
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:1",
        "",
        "[::1]:{port}",
        "127.0.0.1:{port}.evil.example",
        "127.0.0.1:{port}, evil.example",
    ],
)
def test_no_other_name_is_answered_to(practice: Practice, host: str) -> None:
    """DNS rebinding; with the owner's token even."""
    port = practice.server.server_port
    said = f"GET /practice/ready HTTP/1.1\r\nHost: {host.format(port=port)}\r\nAuthorization: Bearer {practice.token}"
    got = raw(practice, f"{said}\r\nConnection: close\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.1 403") and practice.token.encode() not in got


def test_two_hosts_or_none_are_refused(practice: Practice) -> None:
    port = practice.server.server_port
    assert raw(practice, head(practice, "Host: evil.example", method="GET")).startswith(b"HTTP/1.1 403")
    assert b" 403 " in raw(practice, b"GET /practice/ready HTTP/1.0\r\n\r\n")
    absolute = f"GET http://evil.example/practice/ready HTTP/1.1\r\nHost: evil.example:{port}\r\n\r\n".encode()
    assert raw(practice, absolute).startswith(b"HTTP/1.1 403")


# ------------------------------------------------------------------------------------------- where does a request end?

SMUGGLED = b"DELETE /practice/faults HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    ("lines", "body"),
    [
        (("Content-Length: 4", "Transfer-Encoding: chunked"), b"0\r\n\r\n"),
        (("Transfer-Encoding: chunked", "Transfer-Encoding: identity"), b"0\r\n\r\n"),
        (("Transfer-Encoding: xchunked",), b"0\r\n\r\n"),
        (("Transfer-Encoding: chunked, gzip",), b"0\r\n\r\n"),
        (("Content-Length: 4", "Content-Length: 0"), b"{}{}"),
        (("Content-Length: -1",), b""),
        (("Content-Length: +4",), b"{}{}"),
        (("Content-Length: 4_0",), b"{}"),
        (("Content-Length: 0x4",), b"{}{}"),
        (("Content-Length: \u00b2",), b"{}"),
        (("Content-Length: 9999999999999999999999",), b"{}"),
        (("Content-Length:",), b"{}"),
        (("Transfer-Encoding : chunked",), b"0\r\n\r\n"),
    ],
)
def test_a_request_whose_end_is_not_certain_is_refused_and_nothing_after_it_is_read(
    practice: Practice, lines: tuple[str, ...], body: bytes
) -> None:
    got = raw(practice, head(practice, *lines) + body + SMUGGLED)
    assert got.startswith(b"HTTP/1.1 400")
    assert got.count(b"HTTP/1.1 ") == 1
    assert b"Connection: close" in got


@pytest.mark.parametrize(
    "body",
    [
        b"-5\r\n{}",
        b"+2\r\n{}\r\n0\r\n\r\n",
        b"0x2\r\n{}\r\n0\r\n\r\n",
        b"1_0\r\n" + b"x" * 16,
        b"zz\r\n{}",
        b"\r\n\r\n",
        b"2\r\n{}XX\r\n0\r\n\r\n",
        b"f" * 20 + b"\r\n{}",
        b"1" * 100_000,
        b"0\r\n" + b"a: b\r\n" * 100_000,
    ],
)
def test_a_chunk_that_lies_ends_the_line(practice: Practice, body: bytes) -> None:
    port = practice.server.server_port
    with closing(socket.create_connection(("127.0.0.1", port), timeout=60)) as line:
        got = b""
        try:
            line.sendall(head(practice, "Transfer-Encoding: chunked") + body + b"\r\n" + SMUGGLED)
            while piece := line.recv(65536):
                got += piece
        except ConnectionError:
            pass
    assert got.count(b"HTTP/1.1 ") <= 1 and b" 200 " not in got
    assert caller(practice)("GET", "/practice/faults").body["armed"] == []


@pytest.mark.parametrize("path", ["http://[", "//[", "/%zz", "*", "/" + "a" * 60_000, "/\u00ff"])
def test_a_path_that_is_none_is_answered_and_said_nowhere(
    practice: Practice, path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    got = raw(practice, head(practice, "Connection: close", method="GET", path=path))
    assert got.split(b" ")[1][:1] == b"4"
    assert "Traceback" not in capfd.readouterr().err


def test_headers_have_a_largest_size_and_number(practice: Practice) -> None:
    for lines in ([f"X-{n}: y" for n in range(200)], ["X: " + "y" * 70_000]):
        assert raw(practice, head(practice, *lines, method="GET")).split(b" ")[1] == b"431"


def test_a_body_that_would_fill_the_memory_is_refused_before_it_is_read(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "MEMORY_BYTES", 1000)
    huge = head(practice, "Content-Length: 999999999999", "Content-Type: application/json")
    assert raw(practice, huge + b'{"name":').startswith(b"HTTP/1.1 413")
    chunks = b"".join(b"190\r\n" + b" " * 400 + b"\r\n" for _ in range(10)) + b"0\r\n\r\n"
    assert raw(practice, head(practice, "Transfer-Encoding: chunked") + chunks).startswith(b"HTTP/1.1 413")


def test_json_as_deep_as_it_is_senseless_is_a_bad_request(call: Call) -> None:
    for body in (b"[" * 200_000, b'{"a":' * 100_000, b"\xff\xfe", b'{"name":' + b"9" * 5000 + b"}"):
        assert call("POST", "/practice/faults", body).status == 400
        assert call("POST", "/storage/v1/b?project=p", body).status == 400
    assert call("GET", "/practice/faults").status == 200


@pytest.mark.parametrize(
    "wrong",
    [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1", b"1e12", b'"x"', b"[1]", b"true", b"9" * 400],
)
def test_a_fault_with_a_number_that_is_none_is_refused_and_poisons_nothing(call: Call, wrong: bytes) -> None:
    """It was kept, and every later call was an internal error, also after a restart."""
    for key in (b"seconds", b"times", b"after_s"):
        assert call("POST", "/practice/faults", b'{"name": "slow-replies", "%s": %s}' % (key, wrong)).status == 400
    assert call("GET", "/practice/faults").body["armed"] == []


@pytest.mark.parametrize("after", ["\r\nX-Injected: yes\r\n\r\n<script>", "\u20ac", "\tx", " x", "\x00"])
def test_an_address_to_be_sent_back_to_adds_no_header(call: Call, practice: Practice, after: str) -> None:
    query = {
        "client_id": "x.apps.googleusercontent.com",
        "redirect_uri": f"http://127.0.0.1:1/{after}",
        "state": "s",
        "response_type": "code",
        "scope": "openid",
    }
    page = call("GET", f"/o/oauth2/v2/auth?{urllib.parse.urlencode(query)}", token="")
    assert page.status == 400 and b"redirect_uri_mismatch" in page.raw and b"ticket" not in page.raw
    assert practice.cloud.db.list("consent") == []


def test_a_header_with_a_control_character_is_never_sent(
    practice: Practice, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    route, _ = practice.server.router.find("GET", "/practice/ready") or pytest.fail("no such route")
    injected = Reply(200, b"", {"X-Of-Data": "a\r\nX-Injected: yes"})
    monkeypatch.setattr(practice.server.router, "find", lambda *_: (replace(route, handler=lambda _: injected), {}))
    got = raw(practice, head(practice, "Connection: close", method="GET", path="/practice/ready"))
    assert got.startswith(b"HTTP/1.1 500") and b"X-Injected" not in got and "X-Of-Data" in caplog.text


def test_what_an_object_says_of_itself_adds_no_header_and_may_be_any_script(call: Call, practice: Practice) -> None:
    place = f"/storage/v1/b/{practice.cloud.settings.bucket}/o"
    assert call("POST", f"/upload{place}?uploadType=media&name=said", b"x").status == 200
    for key in ("contentType", "contentDisposition", "cacheControl"):
        assert call("PATCH", f"{place}/said", {key: "a\r\nX-Injected: yes"}).status == 400
        assert call("PATCH", f"{place}/said", {key: "\u20ac"}).status == 200
    got = call("GET", f"{place}/said?alt=media")
    assert got.status == 200 and got.headers["Content-Disposition"].encode("latin-1").decode() == "\u20ac"
    assert call("DELETE", f"{place}/said").status == 204


def test_who_opens_lines_and_says_nothing_takes_no_more_than_his_share(
    start_practice: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slowloris: lines have a largest number, and the longest silent one makes room for the next caller."""
    practice = start_practice()
    monkeypatch.setattr(practice.server, "at_once", 8)
    address = ("127.0.0.1", practice.server.server_port)
    before = threading.active_count()
    held = [socket.create_connection(address, timeout=60) for _ in range(30)]
    for line in held[:22]:
        assert _hung_up(line)
    give_up = time.monotonic() + PATIENCE_S
    while threading.active_count() > before + 8 and time.monotonic() < give_up:
        time.sleep(0.01)
    assert threading.active_count() <= before + 8
    for line in held[22:]:
        line.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
    for _ in range(20):
        assert caller(practice)("GET", "/practice/ready").status == 200
    for line in held:
        line.close()


def test_with_a_request_in_progress_on_every_line_the_next_caller_is_hung_up_on(
    start_practice: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    practice = start_practice()
    monkeypatch.setattr(practice.server, "at_once", 2)
    address = ("127.0.0.1", practice.server.server_port)
    with ExitStack() as ends:
        held = [ends.enter_context(closing(socket.create_connection(address, timeout=60))) for _ in range(2)]
        for line in held:
            line.sendall(head(practice, "Content-Length: 2", "Expect: 100-continue") + b"{")
            assert line.recv(65536).startswith(b"HTTP/1.1 100")
        late = ends.enter_context(closing(socket.create_connection(address, timeout=60)))
        assert _hung_up(late)
        for line in held:
            line.sendall(b"}")
            assert line.recv(65536).startswith(b"HTTP/1.1 400")


def _hung_up(line: socket.socket) -> bool:
    try:
        return line.recv(1) == b""
    except ConnectionError:
        return True


def test_silence_within_a_request_has_an_end(start_practice: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "PATIENCE_S", 0.2)
    practice = start_practice()
    with closing(socket.create_connection(("127.0.0.1", practice.server.server_port), timeout=60)) as line:
        line.sendall(head(practice, "Content-Length: 100") + b'{"na')
        assert _hung_up(line)


# --------------------------------------------------------------------------------------------- names in the storage

NAMES = (
    "../../x",
    "/etc/passwd",
    "a\\..\\b",
    "a/../../b",
    "x\0y",
    "%2e%2e/x",
    "\u202e.txt",
    "\uff0e\uff0e/x",
    "x" * 1000,
    "CON",
    "a:b",
    "-rf",
    "~/.ssh/id",
    "$(id)",
    "content/../index.db",
    "\u2215etc",
)


@pytest.mark.parametrize("name", NAMES)
def test_an_object_may_be_called_anything_and_is_a_file_nowhere(
    practice: Practice, call: Call, folder: Path, name: str
) -> None:
    bucket, quoted = practice.cloud.settings.bucket, urllib.parse.quote(name, safe="")
    before = {path for path in folder.rglob("*") if "content" not in path.parts}
    path = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quoted}"
    put = call("POST", path, b"evil", headers={"Content-Type": "text/plain"})
    assert put.status == 200 and put.body["name"] == name
    assert call("GET", f"/storage/v1/b/{bucket}/o/{quoted}?alt=media").raw == b"evil"
    made = {path for path in folder.rglob("*") if "content" not in path.parts} - before
    assert all(path.name.startswith(("index.db", "practice.db")) for path in made), made
    for path in (folder / "practice").rglob("content/*/*"):
        assert all(letter in "0123456789abcdef" for letter in path.name)


@pytest.mark.parametrize("name", ["", ".", "..", "a\nb", "a\rb", "x" * 1025, "\u00e9" * 600])
def test_names_that_storage_refuses_are_refused(practice: Practice, call: Call, name: str) -> None:
    bucket, quoted = practice.cloud.settings.bucket, urllib.parse.quote(name, safe="")
    assert call("POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={quoted}", b"x").status == 400


@pytest.mark.parametrize("bucket", ["..", "../x", ".hidden", "a/b", "UPPER", "x" * 300, "a\0b", "-a", "\u0430bc"])
def test_bucket_names_that_are_none_are_refused(call: Call, practice: Practice, bucket: str) -> None:
    made = call("POST", f"/storage/v1/b?project={practice.cloud.settings.project}", {"name": bucket})
    assert made.status == 400
    assert call("GET", f"/storage/v1/b/{urllib.parse.quote(bucket, safe='')}").status in (400, 404)


# ------------------------------------------------------------------------------------------------- the sign-in's port


@contextmanager
def waiting(state: str = "s" * 43) -> Iterator[tuple[browser._Waiting, int]]:
    with browser._Waiting(state) as server:
        yield server, urllib.parse.urlsplit(server.address).port or 0


def ask(port: int, target: str, host: str = "", method: str = "GET") -> tuple[int, bytes]:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        line.request(method, target, headers={"Host": host or f"127.0.0.1:{port}"})
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()


def test_the_sign_in_takes_its_own_answer_only() -> None:
    with waiting() as (server, port):
        good = f"/?state={'s' * 43}&code=right"
        for target, host, method in (
            ("/?state=wrong&code=evil", "", "GET"),
            ("/?code=evil", "", "GET"),
            (good, f"evil.example:{port}", "GET"),
            (good, f"localhost:{port}", "GET"),
            ("/x" + good, "", "GET"),
            (good, "", "POST"),
            (good, "", "PUT"),
            (f"//evil/?state={'s' * 43}&code=evil", "", "GET"),
            (f"/?state={'s' * 43}", "", "GET"),
        ):
            assert ask(port, target, host, method)[0] in (404, 501)
        status, page = ask(port, good)
        assert status == 200 and b"right" not in page
        assert ask(port, f"/?state={'s' * 43}&code=second")[0] == 200
        assert server.answer(lambda: False, 5.0) == {"code": "right"}


def test_lines_opened_ahead_hold_up_neither_the_answer_nor_the_end() -> None:
    """Browsers open a connection before they need it; and anybody may."""
    with waiting() as (server, port):
        silent = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(10)]
        silent[0].sendall(b"GET /?state=")
        assert ask(port, f"/?state={'s' * 43}&code=right")[0] == 200
        assert server.answer(lambda: False, 5.0) == {"code": "right"}
    for line in silent:
        assert _hung_up(line)
        line.close()


def test_a_cancelled_sign_in_ends_although_somebody_holds_its_port() -> None:
    held: list[socket.socket] = []

    def open_browser(url: str) -> bool:
        target = urllib.parse.urlsplit(url)
        held.append(socket.create_connection(("127.0.0.1", target.port or 0), timeout=60))
        return True

    with pytest.raises(SignedOut) as ended:
        browser.sign_in(
            browser.Client("id", "secret"), Endpoints.at("http://127.0.0.1:9"), open_browser, cancelled=lambda: True
        )
    assert ended.value.id == "sign-in-cancelled"
    for line in held:
        line.close()


# ---------------------------------------------------------------------------------------------------- who can reach us


def test_every_port_is_on_loopback(practice: Practice) -> None:
    assert practice.server.server_address[0] == "127.0.0.1"
    with waiting() as (server, _):
        assert server._server.server_address[0] == "127.0.0.1"
