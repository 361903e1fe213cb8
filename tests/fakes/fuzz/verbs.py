"""Every verb that reads a run, by the command line and the home page, over run folders as a stranger may send them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.fakes.fuzz.runs import finished, put, rented, studio_in
from tests.fakes.fuzz.target import Base
from tests.fakes.hostile import Damage
from tpu_studio.cli.main import main
from tpu_studio.practice import daemon
from tpu_studio.viewmodels.runrows import rows_of
from tpu_studio.wire.errors import NotReady

CODES = {0, 1, 2, 3, 4, 130}
WRONG = "itself went wrong"
PATIENCE_S = 0.4  # until Ctrl-C, for a run that seems to go on
OWN = "def build_model(job):\n    open('RAN', 'w').close()\n"
NESTED = ("[" * 100_000, '{"a":' * 5000, "[" * 500 + "]" * 500, "9" * 5000, "", "\0", "null", '"x"')


class Verbs(Base):
    """*mine* lies beside the home: links lead there, and nothing of it may change."""

    AT_ONCE = 4  # damaged runs in one home, of which each is asked for

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.sources = (finished(folder / "here"), rented(folder / "rented"))
        self.home, self.sent, self.mine = folder / "home", folder / "sent", folder / "mine"
        self.studio = studio_in(self.home)
        put(self.studio, self.sources[0], "good-aaaa")
        (self.mine / "photos").mkdir(parents=True)
        (self.mine / ".bashrc").write_text("alias ll='ls -l'")
        (self.mine / "photos" / "000001.json").write_text("{}")
        self.before = _tree(self.mine)
        self.number = self.runs = self.calls = 0

    def one(self, chance: random.Random) -> None:
        runs = self.studio.runs.runs_folder
        names = []
        for _ in range(self.AT_ONCE):
            self.number += 1
            names.append(f"bad-{self.number:05d}")
            self._hurt(put(self.studio, chance.choice(self.sources), names[-1]), Damage(chance))
        shutil.rmtree(self.sent, ignore_errors=True)
        self.sent.mkdir()
        for name in names:
            shutil.copytree(runs / name, self.sent / name, symlinks=True, ignore=_special)
        outside = set(self.folder.iterdir())
        with _settings(self.home, self.folder / "no-engine"):
            listed = json.loads(self._ask("runs", "--json")[1])["runs"]
            good = next(row for row in listed if row["run"] == "good-aaaa")
            assert good["status"] == "finished", good
            seen = {row["run"] for row in listed}
            assert all(name in seen or not (runs / name / "plan.json").exists() for name in names), "it can be seen"
            rows_of(self.studio.runs.list())  # of the home page
            self._ask("sweep", "--json")
            for name in names:
                for verb in self._verbs(name):
                    self._ask(*verb)
                self.runs += 1
        assert _tree(self.mine) == self.before, "a file of mine was changed"
        made = set(self.folder.iterdir()) - outside - {self.folder / "out"}
        assert not made, f"written outside: {made}"
        assert not list(self.folder.rglob("RAN")), "its code ran"
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        for folder in runs.iterdir():
            if folder.name != "good-aaaa":
                shutil.rmtree(folder, ignore_errors=True)

    def _verbs(self, name: str) -> Iterator[tuple[str, ...]]:
        out = self.folder / "out"
        out.mkdir(exist_ok=True)
        yield "show", name, "--json"
        yield "show", name
        yield "show", name, "--job", str(out / f"{name}.tpujob")
        yield "watch", name
        yield "export", name, str(out / name)
        yield "export", name, "--as", "page", "--to", str(out / f"{name}.html")
        yield "compare", name, "good-aaaa", "--as", "page", "--to", str(out / f"{name}-compared.html")
        yield "predict", name, "x.png", "--json"
        yield "import", str(self.sent / name), "--json"
        yield "show", str(self.sent / name), "--json"

    def _ask(self, *asked: str) -> tuple[int, str]:
        said, told = io.StringIO(), io.StringIO()
        before = signal.signal(signal.SIGALRM, _interrupt)
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
                if asked[0] == "watch":
                    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
                code = main(asked)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.calls += 1
        words = f"{' '.join(asked)}\n{told.getvalue()}"
        if WRONG in words:
            words += (self.home / "errors.log").read_text("utf-8", "replace")[-4000:]
        assert code in CODES and WRONG not in words and "Traceback" not in words, words
        return code, said.getvalue()

    def _hurt(self, folder: Path, damage: Damage) -> None:
        chance = damage.random
        files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in (".json", ".jsonl"))
        for victim in chance.sample(files, min(len(files), chance.randint(1, 3))):
            data = damage.mutated_file(victim.read_bytes(), lines=victim.suffix == ".jsonl")
            if chance.random() < 0.1:
                data = chance.choice(NESTED).encode()
            self.given(victim.relative_to(folder).as_posix(), data)
            victim.write_bytes(data)
        if chance.random() < 0.15:
            with contextlib.suppress(OSError, ValueError, AttributeError, TypeError, LookupError, RecursionError):
                self._own(folder)
        if chance.random() < 0.25:  # last: what is written after it would go through the link, or wait for a reader
            self._linked(folder, chance)

    def _linked(self, folder: Path, chance: random.Random) -> None:
        """A folder or file of it is a link to mine, a pipe, or a folder where a file was due."""
        tops = sorted(path for path in folder.iterdir())
        victim = chance.choice([*tops, *(path for top in tops if top.is_dir() for path in sorted(top.iterdir()))])
        if victim.is_dir():
            shutil.rmtree(victim)
            victim.symlink_to(self.mine / "photos")
            return
        victim.unlink()
        match chance.randrange(3):
            case 0:
                victim.symlink_to(self.mine / ".bashrc")
            case 1:
                os.mkfifo(victim)
            case _:
                victim.mkdir()

    @staticmethod
    def _own(folder: Path) -> None:
        """A model file of its own, which says that it was agreed to."""
        tree: dict[str, Any] = json.loads((folder / "plan.json").read_text())
        tree["job"]["model"] = {"file": "result/own_model.py"}
        tree["consent"] = "0" * 64
        (folder / "plan.json").write_text(json.dumps(tree))
        (folder / "result" / "own_model.py").write_text(OWN)

    def close(self) -> None:
        self.studio.close()


def _no_server(*_: object, **__: object) -> None:
    raise NotReady("practice-failed", raw="none is started here")


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _special(folder: str, names: list[str]) -> list[str]:
    """Pipes, which a copy would wait for; those that are sent are tried where they lie."""
    return [name for name in names if not os.path.islink(p := os.path.join(folder, name)) and _is_fifo(p)]


def _is_fifo(path: str) -> bool:
    return not os.path.isfile(path) and not os.path.isdir(path)


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextlib.contextmanager
def _settings(home: Path, engine: Path) -> Iterator[None]:
    names = {"TPU_STUDIO_HOME": str(home), "TPU_STUDIO_ENGINE": str(engine)}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        with patch.object(daemon, "start_or_join", _no_server):  # for a rented run that seems to go on
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
