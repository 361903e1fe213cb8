"""The ports of this program are for the person who started it: other users of the computer are hung up on.

The trials of a review, carried out by a second user where the tests run as root.
"""

from __future__ import annotations

import http.client
import os
import re
import socket
import sys
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.contract.conftest import Call
from tests.contract.test_metadata import FLAVOR, Machine
from tests.contract.test_own_sign_in import OURS
from tests.fakes import practices, strangers
from tests.fakes.consent import Person, address_behind
from tests.fakes.strangers import needs_another_user
from tests.fakes.waiting import eventually
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin import browser
from tpu_studio.domain import peers
from tpu_studio.practice.machines import machine as machines
from tpu_studio.practice.main import Practice

linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux' own tables")
NOTHING = "b''"
Ask = Callable[[peers.Address, peers.Address], int | None]


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.settimeout(60)
        yield server


WAYS = pytest.mark.parametrize("ask", [peers.asked_of_kernel, peers.read_in_tables], ids=["netlink", "tables"])
CONNECT = """
import socket, sys
line = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
line.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
if sys.argv[2] == "stays":
    sys.stdin.read()
line.close()
"""


# ----------------------------------------------------------------------------------------------------- who is it?


@linux
@WAYS
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6 to an IPv4 address"])
def test_our_own_connection_is_known_as_ours_until_it_is_closed(listener: socket.socket, ask: Ask, family: int) -> None:
    here = listener.getsockname()
    with socket.socket(family) as caller:
        caller.connect(here if family == socket.AF_INET else (f"::ffff:{here[0]}", here[1]))
        accepted, peer = listener.accept()
        assert ask(peer, here) == os.geteuid() and peers.is_ours(peer, here) is True
    with accepted:
        assert ask(peer, here) is None and peers.is_ours(peer, here) is None
    assert ask(("127.0.0.1", 1), here) is None  # the port that listens is not taken for the connection


@WAYS
@needs_another_user
def test_another_user_is_known_by_number(listener: socket.socket, ask: Ask) -> None:
    here = listener.getsockname()
    with strangers.started(CONNECT, str(here[1]), "stays") as stranger:
        accepted, peer = listener.accept()
        with accepted:
            assert ask(peer, here) == strangers.USER and peers.is_ours(peer, here) is False
        stranger.communicate("")


@WAYS
@needs_another_user
def test_who_speaks_and_hangs_up_at_once_is_not_taken_for_root(listener: socket.socket, ask: Ask) -> None:
    """The kernel gives a socket without a program to user 0."""
    here = listener.getsockname()
    with strangers.started(CONNECT, str(here[1]), "goes") as stranger:
        stranger.communicate("")
    accepted, peer = listener.accept()
    with accepted:
        assert accepted.recv(3) == b"GET"
        assert ask(peer, here) is None and peers.is_ours(peer, here) is None


def test_macos_and_windows_find_it_by_the_process_that_has_the_connection(listener: socket.socket) -> None:
    here = listener.getsockname()
    with socket.create_connection(here) as caller:
        accepted, peer = listener.accept()
        with accepted:
            for find in (peers.own_holders, peers.holders):
                assert peers.by_processes(find(peer, here)) is True
                assert peers.by_processes(find(("127.0.0.1", 1), here)) is None
        assert caller.fileno() > 0


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_we_are_let_in_where_it_is_found_by_process(
    practice: Practice, call: Call, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    monkeypatch.setattr(peers, "_SYSTEM", system)
    assert call("GET", "/practice/ready").status == 200
    person = Person()
    assert browser.sign_in(OURS, Endpoints.at(practice.url), person.open, wait_s=60.0).refresh_token
    person.leave()


def test_where_nothing_can_be_told_only_the_sign_in_lets_in(
    practice: Practice, call: Call, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuses(*_: object) -> list[int]:
        raise psutil.AccessDenied

    monkeypatch.setattr(peers, "_SYSTEM", "darwin")
    monkeypatch.setattr(peers, "own_holders", refuses)
    with pytest.raises((http.client.HTTPException, OSError)):
        call("GET", "/practice/ready")
    eventually(lambda: "nobody can tell whose program it is" in caplog.text, "the word of it")
    with browser._Waiting("s" * 43) as waiting:
        line = http.client.HTTPConnection("127.0.0.1", urllib.parse.urlsplit(waiting.address).port or 0, timeout=60)
        line.request("GET", f"/?state={'s' * 43}&code=right")
        assert line.getresponse().status == 200
        line.close()


@needs_another_user
def test_macos_and_windows_know_another_user_s_process(listener: socket.socket) -> None:
    here = listener.getsockname()
    with strangers.started(CONNECT, str(here[1]), "stays") as stranger:
        accepted, peer = listener.accept()
        with accepted:
            for find in (peers.own_holders, peers.holders):  # root sees all of them, and whose they are
                assert peers.by_processes(find(peer, here)) is False
        stranger.communicate("")


# ------------------------------------------------------------------------------------------------ what he gets


@needs_another_user
def test_another_user_can_t_sign_in_at_the_practice_cloud(practice: Practice) -> None:
    """Its consent page gave whoever asked a ticket, and with it the owner's rights and a shell."""
    query = urllib.parse.urlencode(
        {
            "client_id": "x.apps.googleusercontent.com",
            "redirect_uri": "http://127.0.0.1:1/",
            "response_type": "code",
            "scope": "openid https://www.googleapis.com/auth/cloud-platform",
            "state": "s",
        }
    )
    port = practice.server.server_port
    ask = f"GET /o/oauth2/v2/auth?{query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    with_token = f"GET /practice/ready HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {practice.token}"

    assert strangers.asked(port, ask) == NOTHING
    assert strangers.asked(port, f"{with_token}\r\nConnection: close\r\n\r\n") == NOTHING
    assert practice.cloud.db.list("consent") == []

    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    line.request("GET", f"/o/oauth2/v2/auth?{query}")
    assert b'name="ticket"' in line.getresponse().read()
    line.close()


@needs_another_user
def test_a_practice_machine_gives_another_user_no_token_and_obeys_him_not(tmp_path: Path) -> None:
    with practices.starting(tmp_path / "practice") as start:
        machine = Machine(start(machines=True))
        token = "/computeMetadata/v1/instance/service-accounts/default/token"
        lines = "".join(f"{name}: {value}\r\n" for name, value in {"Host": "127.0.0.1:1", **FLAVOR}.items())
        folder = next((tmp_path / "practice" / "machines").glob("*/machine.json")).parent
        state, spec = machines.read_state(folder), machines.read(folder)
        assert state is not None and spec is not None

        got = strangers.asked(machine.ports[0], f"GET {token} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n")
        verb = f"POST /nothing HTTP/1.0\r\nX-Practice-Key: {spec.key}\r\nContent-Length: 2\r\n\r\n{{}}"
        assert (got, strangers.asked(state.control, verb)) == (NOTHING, NOTHING)
        assert machine.ask(token).status == 200


@needs_another_user
def test_another_user_s_answer_to_a_sign_in_is_not_heard(practice: Practice) -> None:
    """Who knows *state* and port could answer first, with an account of his. The command line does not tell them."""
    seen: list[str] = []

    def stranger_first(url: str) -> bool:
        page = urllib.parse.urlsplit(url)
        seen.append(strangers.asked(page.port or 0, f"GET {page.path} HTTP/1.1\r\nHost: {page.netloc}\r\n\r\n"))
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address_behind(url)).query))
        port = urllib.parse.urlsplit(asked["redirect_uri"]).port
        assert port is not None
        path = f"/?{urllib.parse.urlencode({'state': asked['state'], 'error': 'access_denied'})}"
        seen.append(strangers.asked(port, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"))
        person.open(url)
        return True

    person = Person()
    granted = browser.sign_in(OURS, Endpoints.at(practice.url), stranger_first, wait_s=60.0)
    person.leave()

    assert seen == [NOTHING, NOTHING] and granted.email == practice.cloud.settings.owner


def test_every_port_of_the_program_is_one_of_these() -> None:
    """The exceptions: a port that is looked for and given back, and the window's own socket, which is no port."""
    package = Path(peers.__file__).parent.parent
    listens = re.compile(r"HTTPServer\b|socketserver|\.bind\(|create_server\(|start_server\(|\.listen\(")
    files = [path for path in package.rglob("*.py") if listens.search(path.read_text("utf-8"))]
    found = {path.relative_to(package).as_posix() for path in files}
    assert found == {"domain/loopback.py", "practice/machines/supervisor.py", "app/single.py"}
