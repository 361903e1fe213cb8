"""Files in the home folder that are damaged, strange, huge or not to be read: what they hold counts as nothing, and the
program goes on. A job's own code: never without consent, never unpickled."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.signin import gcloud
from tpu_studio.cloud.signin.accounts import Account, Accounts
from tpu_studio.cloud.signin.secrets import PrivateFile
from tpu_studio.domain.standing import from_json
from tpu_studio.local.consents import Consents
from tpu_studio.local.engine.engine import Engine
from tpu_studio.practice import daemon
from tpu_studio.store.index import Index
from tpu_studio.store.journal import JournalFile
from tpu_studio.viewmodels import settings_file
from tpu_studio.wire import runfolder
from tpu_studio.workflow import desk, folders
from tpu_studio.workflow.account.ports import Choices
from tpu_studio.workflow.account.remembering import ChoicesFile, KeptQuota

posix = pytest.mark.skipif(sys.platform == "win32", reason="rights of files")
SOURCES = Path(__file__).resolve().parents[2] / "tpu_studio"
TREES: tuple[object, ...] = (
    None,
    [],
    {},
    7,
    "x",
    {"accounts": None},
    {"accounts": [1]},
    {"accounts": [{"id": 1}]},
    {"accounts": [{"kind": []}]},
    {"accounts": {"me": []}},
    {"accounts": {"me": {"monthly_usd": True, "project": []}}},
    {"accounts": {"me": 5}},
    {"files": []},
    {"files": {"a": 1}},
    {"files": {"a": {"agreed": "x", "path": []}}},
    {"url": 5, "token": []},
    {"url": "http://evil.example", "token": "t"},
    {"url": "file:///etc/passwd", "token": "t"},
    {"type": "authorized_user"},
    {"projects": []},
    {"projects": {"p": 5}},
    {"projects": {"p": {"rows": [{}]}}},
    {"projects": {"p": {"t": "x", "addresses": {"r": 1}}}},
    {"projects": {"p": {"rows": 7, "addresses": []}}},
    {
        "projects": {
            "p": {
                "t": 1,
                "rows": [{"limit": 1e999, "generation": "v5e", "use": "", "tier": "", "zone": "z", "unit": ""}],
            }
        }
    },
)
GARBAGE = (
    b"",
    b"\xff\xfe\0",
    b"{",
    b"[" * 200_000,
    b'{"accounts":{"me":{"monthly_usd":1e999}}}',
    b"NaN",
    b'{"a":' + b"9" * 5000,
    b'{"files":{"a":{"agreed":1e999}}}',
    b'{"accounts":{"me":{"monthly_usd":' + b"9" * 400 + b"}}}",
    *(json.dumps(tree).encode() for tree in TREES),
)


def accounts(home: Path) -> Accounts:
    return Accounts(home, Endpoints.at("http://127.0.0.1:9"), lambda: PrivateFile(home / "private" / "secrets.json"))


def read_accounts(home: Path) -> None:
    made = accounts(home)
    made.all()
    assert made.active() is None or isinstance(made.active(), Account)


def read_choices(home: Path) -> None:
    choices = ChoicesFile(home).of("me")
    assert isinstance(choices, Choices)
    assert choices.monthly is None or 0 < choices.monthly <= 1e9


def read_quota(home: Path) -> None:
    from_json(KeptQuota(home).of("p"))
    KeptQuota(home).of("me")


def read_secrets(home: Path) -> None:
    PrivateFile(home / "private" / "secrets.json").get("x")


def read_consents(home: Path) -> None:
    for one in Consents(home).all():
        assert 0 <= one.agreed < 1e11
    assert not Consents(home).agreed("")


def read_settings(home: Path) -> None:
    assert settings_file.load(home / "settings.toml").settings.text_size in settings_file.TEXT_SIZES


def read_server(home: Path) -> None:
    assert daemon.running(home) is None


def read_gcloud(home: Path) -> None:
    gcloud.find(home / "credentials.json")


FILES: dict[str, Callable[[Path], None]] = {
    "accounts.json": read_accounts,
    "account-choices.json": read_choices,
    "private/secrets.json": read_secrets,
    "consent.json": read_consents,
    "settings.toml": read_settings,
    "practice/server.json": read_server,
    "credentials.json": read_gcloud,
    "account-quota.json": read_quota,
}


@pytest.mark.parametrize("name", FILES)
def test_whatever_a_file_holds_the_program_goes_on(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True, mode=0o700)
    for data in GARBAGE:
        path.write_bytes(data)
        FILES[name](tmp_path)


@posix
@pytest.mark.parametrize("name", FILES)
def test_a_folder_a_dead_link_or_a_loop_in_its_place_holds_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True, mode=0o700)
    path.mkdir()
    FILES[name](tmp_path)
    path.rmdir()
    for target in ("nowhere", path.name):
        path.symlink_to(target)
        FILES[name](tmp_path)
        path.unlink()


def test_after_garbage_each_file_is_written_anew(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True, mode=0o700)
        (tmp_path / name).write_bytes(b"[" * 200_000)
    ChoicesFile(tmp_path).keep("me", Choices(project="p"))
    assert ChoicesFile(tmp_path).of("me").project == "p"
    Consents(tmp_path).agree("a" * 64, "model.py")
    assert Consents(tmp_path).agreed("a" * 64)
    secrets = PrivateFile(tmp_path / "private" / "secrets.json")
    secrets.put("n", "s")
    assert secrets.get("n") == "s"
    settings_file.save(tmp_path / "settings.toml", settings_file.Settings(theme="dark"))
    assert settings_file.load(tmp_path / "settings.toml").settings.theme == "dark"


@pytest.mark.parametrize("data", [b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000, b"\0" * 4096])
def test_a_damaged_journal_is_kept_and_a_new_one_begun(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(data)
    journal = JournalFile(path)
    assert journal.put_aside is not None and journal.put_aside.read_bytes() == data
    assert list(journal.open_intents()) == []


def test_two_programs_share_a_journal(tmp_path: Path) -> None:
    one, two = JournalFile(tmp_path / "journal.db"), JournalFile(tmp_path / "journal.db")
    numbers = [which.open("create", "r", {"n": n}, 1.0) for n in range(10) for which in (one, two)]
    assert len(set(numbers)) == 20 and len(one.open_intents()) == 20
    for number in numbers:
        two.close(number, "done", 2.0)
    assert one.open_intents() == []
    one.disconnect()
    two.disconnect()


@posix
def test_secrets_are_their_owners_whatever_the_umask_and_whoever_widened_them(tmp_path: Path) -> None:
    path = tmp_path / "private" / "secrets.json"
    before = os.umask(0)
    try:
        PrivateFile(path).put("n", "s")
    finally:
        os.umask(before)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    path.chmod(0o666)
    path.parent.chmod(0o777)
    assert PrivateFile(path).get("n") == "s"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@posix
def test_secrets_are_neither_read_nor_written_through_a_link(tmp_path: Path) -> None:
    path, other = tmp_path / "private" / "secrets.json", tmp_path / "other.json"
    path.parent.mkdir(mode=0o700)
    other.write_text('{"n": "planted"}')
    path.symlink_to(other)
    assert PrivateFile(path).get("n") is None
    PrivateFile(path).put("n", "mine")
    assert not path.is_symlink() and other.read_text() == '{"n": "planted"}'


@pytest.mark.parametrize("data", [b"", b"../../x\n", b"A" * 8, b"\xff" * 8, b"abcdefgh" * 1000])
def test_a_damaged_install_id_is_made_anew(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "install-id").write_bytes(data)
    made = desk.install_id(tmp_path)
    assert len(made) == 8 and set(made) <= set(desk.ALPHABET)
    assert desk.install_id(tmp_path) == made


# ------------------------------------------------------------------------------------------------------- code of others

UNPICKLERS = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "jsonpickle"}


def test_nothing_unpickles_and_code_is_run_in_one_place() -> None:
    runs: list[str] = []
    for path in SOURCES.rglob("*.py"):
        tree = ast.parse(path.read_bytes())
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [one.name for one in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not {name.split(".")[0] for name in names} & UNPICKLERS, path
            if not isinstance(node, ast.Call):
                continue
            word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = {one.arg: one.value for one in node.keywords}
            assert "allow_pickle" not in given or getattr(given["allow_pickle"], "value", True) is False, path
            if word in ("load_model", "model_from_json", "deserialize_keras_object"):
                assert getattr(given.get("safe_mode"), "value", None) is True, f"{path}: {word} without safe_mode=True"
            assert word not in ("enable_unsafe_deserialization", "unsafe_load", "full_load"), path
            if isinstance(node.func, ast.Name) and word in ("exec", "eval", "__import__"):
                runs.append(path.relative_to(SOURCES).as_posix())
            assert not (word in ("run", "Popen", "call", "check_output") and "shell" in given), path
            assert ast.unparse(node.func) not in ("os.system", "os.popen"), path
    assert runs == ["trainer/models/own.py"]


@pytest.mark.parametrize(
    "made", [lambda home: JournalFile(home / "journal.db").disconnect(), lambda home: Index(home).close()]
)
def test_a_new_home_is_nobody_elses_to_read(tmp_path: Path, made: Callable[[Path], None]) -> None:
    made(tmp_path / "home")
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700


@posix
@pytest.mark.parametrize("first", ["write", "claim", "practice", "consents", "runs", "engine"])
def test_the_home_is_its_owners_whatever_makes_it_first(first: str, tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    before = os.umask(0o022)
    try:
        match first:
            case "write":
                runfolder.write_atomically(home / "cache" / "facts.json", b"{}")
            case "claim":
                runfolder.create_once(home / "runs" / "a-b" / "control" / "000001.json", b"{}")
            case "practice":
                with daemon._held(home / "practice"):
                    pass
            case "consents":
                with Consents(home)._alone():
                    pass
            case "engine":
                with Engine(home / "engine").alone():
                    pass
            case "runs":
                folders.RunFolders(home / "runs", lambda _: True).make("digits")
    finally:
        os.umask(before)
    assert home.stat().st_mode & 0o077 == 0


@posix
@pytest.mark.parametrize("is_named", [False, True])
def test_an_engine_is_its_owners_unless_it_was_given_a_place(
    is_named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "new" / "engine"
    monkeypatch.delenv("TPU_STUDIO_ENGINE", raising=False)
    if is_named:
        monkeypatch.setenv("TPU_STUDIO_ENGINE", str(root))
    before = os.umask(0o022)
    try:
        with Engine(root).alone():
            pass
    finally:
        os.umask(before)
    assert root.stat().st_mode & 0o777 == (0o755 if is_named else 0o700)


def test_whatever_makes_folders_at_home_makes_those_above_them_as_closed():
    """`Path.mkdir` gives its rights to the last folder only."""
    others = [
        str(path.relative_to(SOURCES))
        for path in sorted(SOURCES.rglob("*.py"))
        if path.name != "homes.py" and re.search(r"mkdir\([^)\n]*parents=True[^)\n]*mode=", path.read_text("utf-8"))
    ]
    assert others == []


READ = {
    # files that this program has made a moment before, that it brings along, or that the system keeps
    "app/planpdf.py": "made for that process",
    "app/selftest_cloud.py": "of the system",
    "app/selftest_parts.py": "made by the test itself",
    "app/studio.py": "private",
    "cloud/bundle.py": "of the package",
    "cloud/carried.py": "listed as plain files a moment before",
    "cloud/hubclient.py": "fetched by this program",
    "cloud/mailbox.py": "fetched by this program",
    "data/converting.py": "looked at as pictures a moment before",
    "domain/explaining/rules.py": "of the package",
    "domain/learning/chapters.py": "of the package",
    "domain/peers.py": "of the system",
    "gui/settings/licences.py": "of the package",
    "local/engine/engine.py": "of the engine",
    "local/engine/integrity.py": "of the engine",
    "local/engine/lock.py": "of the package",
    "local/engine/state.py": "of the engine",
    "local/engine/weights.py": "fetched by this program",
    "local/engine/wheels.py": "chosen by the person for the engine",
    "local/formats.py": "made by this program",
    "local/modelfacts.py": "of the package",
    "local/photos.py": "of the package",
    "local/sources.py": "of the package",
    "local/stopwatch.py": "made by this program",
    "planner/computer.py": "of the system",
    "store/index.py": "private",
    "trainer/check/compiling_text.py": "a question of this program",
    "trainer/check/program.py": "a question of this program",
    "trainer/notebook.py": "of the notebook's own machine",
    "trainer/notebookview.py": "of the notebook's own machine",
    "trainer/profile/__main__.py": "made by this program",
    "trainer/result/huggingface.py": "made by this program",
    "trainer/result/writing.py": "made by this program",
    "trainer/timing.py": "a question of this program",
    "viewmodels/settings_file.py": "private",
    "wire/claims.py": "of the system",
    "wire/sizes.py": "opened plainly",
    "wire/starters.py": "known by its hash",
    "workflow/cloudruns/compiling.py": "private",
    "workflow/cloudruns/pyz.py": "of the package",
    "workflow/desk.py": "private",
}


def test_what_others_may_have_laid_there_is_opened_as_a_plain_file() -> None:
    """Whoever opens a pipe waits for its other end: a run's folder of others may hold one in the place of any file."""
    found = set()
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if not name.startswith(("practice/", "trainer/guardian/", "trainer/script/")):
            text = path.read_text("utf-8")
            nodes = ast.walk(ast.parse(text)) if re.search(r"\bopen\(|\.read_(bytes|text)\(", text) else ()
            found |= {name for node in nodes if _is_read_as_it_is(node)}
    assert sorted(found - READ.keys()) == []
    assert sorted(READ.keys() - found) == []


def _is_read_as_it_is(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or "resource_path" in ast.unparse(node):
        return False
    given = [ast.unparse(one) for one in node.args]
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in ("read_bytes", "read_text") or (node.func.attr == "open" and given[:1] == ["'rb'"])
    if ast.unparse(node.func) != "open" or any(one.arg == "opener" for one in node.keywords):
        return False
    return len(given) < 2 or not set("wax") & set(given[1])
