"""Signing in: the browser's round trip, what is kept where, and what each refusal is called."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import requests

from tests.fakes.consent import address_behind
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin import browser
from tpu_studio.cloud.signin.accounts import Account, Accounts
from tpu_studio.cloud.signin.browser import NEEDED, SCOPES, Client
from tpu_studio.cloud.signin.secrets import PrivateFile, Session
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import NotReady, SignedOut, StudioError

CLIENT = Client("client-1.apps", "client-secret-that-must-not-leak")
REFRESH, ACCESS = "refresh-that-must-not-leak", "access-that-must-not-leak"


class Google:
    """Token, revoke and userinfo of one person; `browse` is what a person does in the browser."""

    def __init__(self) -> None:
        self.scopes = " ".join(SCOPES)
        self.answer: Callable[[str, str], dict[str, str]] = lambda code, state: {"code": code, "state": state}
        self.revoked: list[str] = []
        self.revocation: tuple[int, dict[str, object]] = (200, {})
        self.challenge = ""
        self.refused: dict[str, str] | None = None
        self.more: dict[str, object] = {}
        self.seen: list[requests.Response] = []
        google = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                fields = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                given = {name: values[0] for name, values in fields.items()}
                if self.path == "/revoke":
                    google.revoked.append(given["token"])
                    return self.reply(*google.revocation)
                if google.refused:
                    return self.reply(400, google.refused)
                hashed = hashlib.sha256(given["code_verifier"].encode()).digest()
                assert base64.urlsafe_b64encode(hashed).rstrip(b"=").decode() == google.challenge
                assert (given["code"], given["client_secret"]) == ("the-code", CLIENT.secret)
                granted = {"access_token": ACCESS, "refresh_token": REFRESH, "scope": google.scopes}
                self.reply(200, {**granted, **google.more})

            def do_GET(self) -> None:
                assert self.headers["Authorization"] == f"Bearer {ACCESS}"
                self.reply(200, {"email": "ada@example.com"})

            def reply(self, status: int, tree: dict[str, object]) -> None:
                body = json.dumps(tree).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoints = Endpoints.at(f"http://127.0.0.1:{self.server.server_port}")
        self._threads = [threading.Thread(target=self.server.serve_forever, args=(0.05,))]
        self._threads[0].start()

    def browse(self, url: str) -> bool:
        query = {name: values[0] for name, values in parse_qs(urlsplit(address_behind(url)).query).items()}
        self.challenge = query["code_challenge"]
        assert query["code_challenge_method"] == "S256"

        def go() -> None:
            answer = urlencode(self.answer("the-code", query["state"]))
            self.seen.append(requests.get(f"{query['redirect_uri']}?{answer}", timeout=60))

        self._threads.append(threading.Thread(target=go))
        self._threads[-1].start()
        return True

    def close(self) -> None:
        self.server.shutdown()
        for thread in self._threads:
            thread.join()
        self.server.server_close()


@pytest.fixture
def google() -> Iterator[Google]:
    made = Google()
    yield made
    made.close()


@pytest.fixture
def accounts(google: Google, tmp_path: Path) -> Accounts:
    return Accounts(tmp_path, google.endpoints, lambda: PrivateFile(tmp_path / "private" / "secrets.json"))


def test_signing_in_keeps_the_refresh_token_privately_and_the_account_openly(
    accounts: Accounts, google: Google, tmp_path: Path
):
    account = accounts.sign_in(CLIENT, google.browse)
    assert (account.email, accounts.active()) == ("ada@example.com", account)
    open_file = (tmp_path / "accounts.json").read_text()
    assert REFRESH not in open_file and CLIENT.secret not in open_file
    private = tmp_path / "private" / "secrets.json"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600 and stat.S_IMODE(private.parent.stat().st_mode) == 0o700
    credentials = accounts.credentials()
    assert (credentials.refresh_token, credentials.client_id) == (REFRESH, CLIENT.id)
    assert ACCESS not in private.read_text()
    assert "close this tab" in google.seen[0].text


def test_signing_out_revokes_and_forgets(accounts: Accounts, google: Google, tmp_path: Path):
    account = accounts.sign_in(CLIENT, google.browse)
    assert accounts.remove(account.id) is True
    assert google.revoked == [REFRESH]
    assert accounts.all() == () and accounts.active() is None
    assert json.loads((tmp_path / "private" / "secrets.json").read_text()) == {}
    with pytest.raises(SignedOut, match="signed-out"):
        accounts.credentials()


def test_whoever_signs_in_again_has_new_credentials_and_that_can_be_told(accounts: Accounts, google: Google):
    account = accounts.sign_in(CLIENT, google.browse)
    first = accounts.stamp(account)
    assert first == accounts.stamp(account) and REFRESH not in first
    accounts.secrets.put(f"refresh:{account.id}", "another")
    assert accounts.stamp(account) != first


def test_an_unticked_box_is_named_and_ends_no_sign_in_elsewhere(accounts: Accounts, google: Google):
    google.scopes = "openid https://www.googleapis.com/auth/userinfo.email"
    with pytest.raises(SignedOut) as told:
        accounts.sign_in(CLIENT, google.browse)
    assert told.value.id == "scope-missing" and NEEDED not in told.value.facts["granted"]
    assert google.revoked == [] and accounts.all() == ()


def test_saying_no_in_the_browser_is_no_error_of_ours(accounts: Accounts, google: Google):
    google.answer = lambda code, state: {"error": "access_denied", "state": state}
    with pytest.raises(SignedOut) as told:
        accounts.sign_in(CLIENT, google.browse)
    assert (told.value.id, told.value.facts["error"]) == ("sign-in-declined", "access_denied")


def test_an_answer_with_another_state_is_not_taken(accounts: Accounts, google: Google):
    google.answer = lambda code, state: {"code": code, "state": "guessed"}
    seen = google.seen
    with pytest.raises(SignedOut, match="sign-in-cancelled"):
        accounts.sign_in(CLIENT, google.browse, cancelled=lambda: bool(seen))
    assert seen[0].status_code == 404


def test_a_page_of_another_host_name_gets_nothing(accounts: Accounts, google: Google):
    """DNS rebinding: the right port and state, but asked for under a name that is not ours."""

    def browse(url: str) -> bool:
        query = {name: values[0] for name, values in parse_qs(urlsplit(address_behind(url)).query).items()}
        answer = f"{query['redirect_uri']}?code=x&state={query['state']}"
        google.seen.append(requests.get(answer, headers={"Host": "evil.example"}, timeout=60))
        return True

    with pytest.raises(SignedOut, match="sign-in-cancelled"):
        accounts.sign_in(CLIENT, browse, cancelled=lambda: bool(google.seen))
    assert google.seen[0].status_code == 404


@pytest.mark.parametrize(
    ("answer", "id"),
    [
        ({"error": "invalid_client", "error_description": "The OAuth client was deleted."}, "client-gone"),
        ({"error": "invalid_grant", "error_description": "Malformed auth code."}, "signed-out"),
    ],
)
def test_what_the_token_endpoint_refuses_has_its_name(
    accounts: Accounts, google: Google, answer: dict[str, str], id: str
):
    google.refused = answer
    with pytest.raises(StudioError) as told:
        accounts.sign_in(CLIENT, google.browse)
    assert told.value.id == id
    assert CLIENT.secret not in repr(told.value) and REFRESH not in repr(told.value)


def test_without_a_browser_the_address_is_told(accounts: Accounts):
    with pytest.raises(SignedOut) as told:
        accounts.sign_in(CLIENT, lambda url: False)
    assert told.value.id == "no-browser" and "open by hand" in say(told.value).action


def test_what_a_browser_is_given_tells_nothing_of_the_sign_in(accounts: Accounts, google: Google):
    """Every user sees the browser's command line."""
    given: list[str] = []

    def browse(url: str) -> bool:
        given.append(url)
        return google.browse(url)

    accounts.sign_in(CLIENT, browse)
    page = urlsplit(given[0])
    assert (page.scheme, page.hostname, page.query) == ("http", "127.0.0.1", "")
    assert re.fullmatch(r"/go/[\w-]{32}", page.path)


def test_whoever_is_not_known_as_this_person_is_led_on_once(google: Google, monkeypatch: pytest.MonkeyPatch):
    """Where the system tells of nobody who he is, two who ask for it show that one of them is somebody else."""
    with browser._Waiting("s" * 43) as waiting:
        page = waiting.lead_to("https://accounts.google.com/?state=x")

        def ask(path: str = "", host: str = "") -> int:
            headers = {"Host": host} if host else {}
            return requests.get(page + path, headers=headers, allow_redirects=False, timeout=60).status_code

        assert [ask(), ask(), ask("x"), ask(host="evil.example")] == [303, 303, 404, 404]
        monkeypatch.setattr("tpu_studio.domain.peers.is_ours", lambda *_: None)
        assert ask() == 404
        waiting._led = False
        assert [ask(), ask()] == [303, 404]


ANSWERS: list[tuple[int, dict[str, object], bool]] = [
    (200, {}, True),
    (400, {"error": "invalid_token", "error_description": "Token expired or revoked"}, True),
    (400, {"error": "invalid_request"}, False),
    (403, {"error": "rate_limit"}, False),
    (404, {}, False),
    (429, {}, False),
    (503, {}, False),
]


@pytest.mark.parametrize(("status", "tree", "revoked"), ANSWERS)
def test_only_what_google_says_is_revoked_counts_as_revoked(
    accounts: Accounts, google: Google, status: int, tree: dict[str, object], revoked: bool
):
    account = accounts.sign_in(CLIENT, google.browse)
    google.revocation = (status, tree)
    assert accounts.remove(account.id) is revoked
    assert accounts.all() == () and google.revoked == [REFRESH]


class Refuses(Session):
    """A keyring that is locked for one kind of secret."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def put(self, name: str, secret: str) -> None:
        if name.startswith(self.kind):
            raise NotReady("secret-not-kept", where="keyring")
        super().put(name, secret)


@pytest.mark.parametrize("kind", ["refresh:", "client:"])
def test_what_could_not_be_kept_ends_no_sign_in_elsewhere(google: Google, tmp_path: Path, kind: str):
    accounts = Accounts(tmp_path, google.endpoints, lambda: Refuses(kind))
    with pytest.raises(NotReady, match="secret-not-kept"):
        accounts.sign_in(CLIENT, google.browse)
    assert google.revoked == [] and accounts.all() == ()


def test_what_could_not_be_kept_ends_no_earlier_sign_in(google: Google, tmp_path: Path):
    """Google would end both."""
    held = Refuses("nothing")
    accounts = Accounts(tmp_path, google.endpoints, lambda: held)
    account = accounts.sign_in(CLIENT, google.browse)
    held.kind, google.more = "refresh:", {"refresh_token": "a-second-one"}
    with pytest.raises(NotReady, match="secret-not-kept"):
        accounts.sign_in(CLIENT, google.browse)
    google.scopes = "openid"
    with pytest.raises(SignedOut, match="scope-missing"):
        accounts.sign_in(CLIENT, google.browse)
    assert google.revoked == [] and held.get(f"refresh:{account.id}") == REFRESH and accounts.active() == account


def test_an_account_that_could_not_be_written_down_leaves_all_as_it_was(
    google: Google, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    held = Session()
    accounts = Accounts(tmp_path, google.endpoints, lambda: held)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(accounts, "_write", full)
    with pytest.raises(NotReady, match="secret-not-kept"):
        accounts.sign_in(CLIENT, google.browse)
    assert google.revoked == [] and held.get("refresh:oauth:ada@example.com") is None


@pytest.mark.parametrize("other", ["99-b.apps", "client-2.apps"])
def test_signing_in_again_ends_no_token_for_another_computer_may_have_one(
    accounts: Accounts, google: Google, other: str
):
    accounts.sign_in(CLIENT, google.browse)
    google.more = {"refresh_token": "a-second-one"}
    accounts.sign_in(Client(other, CLIENT.secret), google.browse)
    assert google.revoked == [] and accounts.credentials().refresh_token == "a-second-one"


def test_a_damaged_file_of_secrets_is_put_aside_before_it_is_written(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    kept = PrivateFile(tmp_path / "private" / "secrets.json")
    for damage in (b'{"refresh:a": "1//0a", "ref', b"\xff", b"[1]", b'{"a": {"b": 1}}', b"[" * 100_000):
        kept.path.parent.mkdir(exist_ok=True)
        kept.path.write_bytes(damage)
        assert kept.get("refresh:a") is None and kept.path.read_bytes() == damage
        kept.put("refresh:b", "1//0b")
        (aside,) = kept.path.parent.glob("secrets.damaged-*.json")
        assert aside.read_bytes() == damage and stat.S_IMODE(aside.stat().st_mode) == 0o600
        assert kept.get("refresh:b") == "1//0b" and "put aside" in caplog.text
        aside.unlink()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_in_place_of_the_secrets_is_put_aside_too(tmp_path: Path):
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text('{"refresh:a": "x"}')
    kept = PrivateFile(tmp_path / "private" / "secrets.json")
    kept.path.parent.mkdir()
    kept.path.symlink_to(elsewhere)
    assert kept.get("refresh:a") is None
    kept.put("refresh:b", "y")
    (aside,) = kept.path.parent.glob("secrets.damaged-*.json")
    assert aside.readlink() == elsewhere and elsewhere.read_text() == '{"refresh:a": "x"}'
    assert not kept.path.is_symlink() and kept.get("refresh:b") == "y"


@pytest.mark.skipif(sys.platform == "win32", reason="no file locks here")
def test_two_programs_that_keep_secrets_at_once_lose_none(tmp_path: Path):
    path = tmp_path / "private" / "secrets.json"
    program = (
        "import sys; from pathlib import Path; from tpu_studio.cloud.signin.secrets import PrivateFile\n"
        "for n in range(30): PrivateFile(Path(sys.argv[1])).put(f'{sys.argv[2]}{n}', 'x')"
    )
    both = [subprocess.Popen([sys.executable, "-c", program, str(path), name]) for name in "ab"]
    assert [one.wait(PATIENCE_S) for one in both] == [0, 0]
    assert len(json.loads(path.read_text())) == 60


def test_secrets_do_not_show_in_a_repr(accounts: Accounts, google: Google):
    account = accounts.sign_in(CLIENT, google.browse)
    shown = repr((CLIENT, account, accounts.secrets, Session()))
    assert REFRESH not in shown and CLIENT.secret not in shown


def test_a_client_file_of_the_console_is_read_and_a_web_client_refused():
    told = json.dumps({"installed": {"client_id": "a", "client_secret": "b", "auth_uri": "https://…"}})
    assert Client.parse(told) == Client("a", "b")
    wrong = {
        "": "other",
        "{": "other",
        "[]": "json",
        "{}": "json",
        '{"web": {"client_id": "a", "client_secret": "b"}}': "web",
        '{"type": "service_account"}': "key",
        '{"type": "authorized_user"}': "gcloud",
        '{"installed": {"client_id": "a"}}': "no-secret",
    }
    for text, what in wrong.items():
        with pytest.raises(SignedOut, match="client-unreadable") as refused:
            Client.parse(text)
        assert refused.value.facts["what"] == what
    with pytest.raises(SignedOut) as refused:
        Client.parse('{"web": {}}')
    assert "Web application" in say(refused.value).meaning


def test_when_a_sign_in_was_made_and_when_google_ends_it_is_remembered(google: Google, tmp_path: Path):
    google.more = {"refresh_token_expires_in": 604799}
    accounts = Accounts(tmp_path, google.endpoints, lambda: Session(), now=lambda: 1000.0)
    accounts.sign_in(CLIENT, google.browse)
    again = Accounts(tmp_path, google.endpoints, lambda: Session()).active()
    assert again is not None and (again.since, again.until) == (1000.0, 1000.0 + 604799)
    google.more = {"refresh_token_expires_in": "soon"}
    assert accounts.sign_in(CLIENT, google.browse).until == 0.0
    accounts._file.write_text(accounts._file.read_text().replace("1000.0", '"yesterday"'))
    damaged = accounts.active()
    assert damaged is not None and damaged.since == 0.0


def test_several_accounts_can_be_kept_and_chosen(accounts: Accounts, google: Google):
    first = accounts.sign_in(CLIENT, google.browse)
    accounts.remember_project(first.id, "my-project")
    assert accounts.sign_in(CLIENT, google.browse).project == "my-project"
    assert len(accounts.all()) == 1
    with pytest.raises(SignedOut):
        accounts.use("oauth:nobody@example.com")
    assert accounts.use(first.id).email == "ada@example.com"


@pytest.mark.skipif(sys.platform == "win32", reason="no file locks here")
def test_a_window_and_a_command_line_that_sign_in_at_once_lose_no_account(tmp_path: Path):
    program = (
        "import sys; from pathlib import Path\n"
        "from tpu_studio.cloud.endpoints import Endpoints\n"
        "from tpu_studio.cloud.signin.accounts import Account, Accounts\n"
        "from tpu_studio.cloud.signin.browser import Client\n"
        "from tpu_studio.cloud.signin.secrets import PrivateFile\n"
        "home, name = Path(sys.argv[1]), sys.argv[2]\n"
        "secrets = lambda: PrivateFile(home / 'private' / 'secrets.json')\n"
        "known = Accounts(home, Endpoints.at('http://127.0.0.1:9'), secrets)\n"
        "for n in range(25):\n"
        "    address = f'{name}{n}@example.com'\n"
        "    known._keep(Account(f'oauth:{address}', 'oauth', address, 'c'), Client('c', 's'), f'token-{address}')\n"
        "    known.remember_project(f'oauth:{address}', f'p-{address}')\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in "ab"]
    assert [one.wait(PATIENCE_S) for one in both] == [0, 0]
    kept = Accounts(tmp_path, Endpoints.at("http://127.0.0.1:9"), Session).all()
    assert {one.email: one.project for one in kept} == {
        f"{name}{n}@example.com": f"p-{name}{n}@example.com" for name in "ab" for n in range(25)
    }


def test_no_lock_is_held_while_google_is_asked_to_revoke(
    accounts: Accounts, google: Google, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    gone = accounts.sign_in(CLIENT, google.browse)
    other = Accounts(tmp_path, google.endpoints, lambda: PrivateFile(tmp_path / "private" / "secrets.json"))
    seen: list[tuple[str, ...]] = []

    def revoke(endpoints: Endpoints, token: str) -> None:
        """A slow answer: meanwhile another window signs in, and this one too, from other threads."""
        for number, one in enumerate((other, accounts)):
            address = f"{number}@example.com"
            act = threading.Thread(target=one._add, args=(Account(f"oauth:{address}", "oauth", address),))
            act.start()
            act.join(PATIENCE_S)
            assert not act.is_alive(), "it waits for Google"
        seen.append(tuple(account.email for account in accounts.all()))

    monkeypatch.setattr(browser, "revoke", revoke)
    assert accounts.remove(gone.id) is True
    assert seen == [("0@example.com", "1@example.com")] == [tuple(one.email for one in accounts.all())]
    assert accounts.secrets.get(f"refresh:{gone.id}") is None
