"""One cell of `make chaos`: a practice cloud, a desktop that is killed, a fault at a phase; then everything is counted.

    python tools/chaos_cell.py FOLDER NAME|FILE   prints the verdict as one JSON object; exit 1: something does not hold

Nothing is imitated but the trainer (tests/fakes/trainer.py, which writes real events and checkpoints): real HTTP, real
startup script and guardian in real processes, the app's own driver in a process that gets SIGKILL. Judged is what the
practice cloud's own records say (its bill, its operations), never what the app believes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from chaos_cells import PHASES, Cell
from chaos_judge import Seen, Verdict, judge, steps_of
from chaos_load import Load
from chaos_matrix import matrix, real_cells
from doubts_met import ASKED_BY_MACHINES, watch_doubts

from tests.fakes.engines import counting_engine
from tests.fakes.looks import DIGITS, LAPTOP, job
from tests.fakes.making import make_plan
from tpu_studio.cloud.evidence import PROOF
from tpu_studio.practice.compute_checks import KIND as INSTANCE
from tpu_studio.practice.faults import Faults
from tpu_studio.practice.machines.fleet import Fleet
from tpu_studio.practice.main import Practice
from tpu_studio.practice.settings import Settings
from tpu_studio.practice.storage.store import ObjectStore
from tpu_studio.practice.tpu_show import NODE, QR
from tpu_studio.wire.plainfiles import open_to_read
from tpu_studio.wire.plan import Plan, dumps

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PATIENCE_S = 240.0  # real seconds a cell may take, and as long again as programs had to wait for a core
POLL_S = 0.05
OF_MACHINES = ("vm-hung", "vm-without-network", "disk-full", "preempted", "preempted-at-step", "node-gone")
TAIL = 4000  # characters of a log that a failure brings with it
DIGITS_EPOCHS = 12


class Play:
    """One cell, played in *folder*."""

    def __init__(self, cell: Cell, folder: Path, load: Load) -> None:
        self.cell, self.folder, self.home, self.load = cell, folder, folder / "home", load
        self.home.mkdir(parents=True)
        if not cell.real:
            os.environ["TPU_STUDIO_ENGINE"] = str(self._engine())
        early = tuple(text for phase, text in cell.faults if phase == "submit")
        settings = Settings(folder=folder / "practice", speed=cell.speed)
        self.doubts_met = watch_doubts()
        self.practice = Practice(settings, early, doubts=cell.doubts).start()
        self.db, self.clock = self.practice.cloud.db, self.practice.cloud.clock
        self.met = watch(self.practice.cloud.faults)
        self.copies = watch_copies(self.clock.now)
        self.ready = folder / "ready.json"
        self.ready.write_text(json.dumps(self.practice.ready()))
        self.plan = self._plan()
        (self.home / "plan.json").write_bytes(dumps(self.plan))
        self.reached = 0
        self.waiting = [(phase, text) for phase, text in cell.faults if phase != "submit"]
        self.bitten: dict[str, float] = {}
        self.kept: dict[str, Path] = {}
        self.open: dict[str, BinaryIO] = {}
        self.deadlines: dict[str, float] = {}
        self.empty_at: float | None = None
        self.had_node = False
        self.verb_done = not cell.verb
        self.verbs: list[subprocess.Popen[bytes]] = []
        self.word = folder / "now"
        self.log = (folder / "desktop.log").open("ab")
        self.problems: list[str] = []
        self.settled = False

    # ------------------------------------------------------------------------------------------------------ the world

    def _engine(self) -> Path:
        """A training engine whose trainer counts."""
        cell = self.cell
        options = f"--steps {cell.steps} --step-s {cell.step_s} --save-every {cell.save_every} --result-s 0.3"
        options += " --saves-on-term"
        if cell.verb:
            options += f" --at 6:hold={self.folder / 'go'}"
        return counting_engine(self.folder / "engine", options)

    def _plan(self) -> Plan:
        cell = self.cell
        where = {"place": "practice", "tier": cell.tier, "zones": list(cell.zones), "accelerator": cell.accelerator} | (
            {"backend": cell.backend} if cell.backend else {}
        )
        limits = {"hours": cell.hours, "wait_hours": cell.wait_hours, "idle_minutes": 60.0, "money_usd": cell.money_usd}
        training: dict[str, Any] = {"epochs": 2}
        if cell.real:
            epochs = DIGITS_EPOCHS * (4 if cell.verb else 1)  # long enough for a word to come before the end
            training = {"epochs": epochs, "framework": "jax", "checkpoint_every": cell.save_every, "seed": 7}
            training["steps_per_call"] = 4
        made = job("mlp", "digits", where=where, training=training, limits=limits)
        kept_days = self.practice.cloud.doubts.armed().get("bucket-rules") and 7  # as the Account page has noted
        return make_plan(made, DIGITS, now=time.time(), computer=LAPTOP, kept_days=kept_days or 0)

    @property
    def fleet(self) -> Fleet:
        vms = self.practice.cloud.vms
        assert isinstance(vms, Fleet)
        return vms

    def nodes(self) -> list[str]:
        return [name for kind in (NODE, INSTANCE) for name, _ in self.db.list(kind)]

    def requests(self) -> list[str]:
        return [name for name, _ in self.db.list(QR)]

    def look(self) -> None:
        """What can be seen of the cloud from outside; faults that are due are armed."""
        try:
            told = list((self.folder / "practice" / "machines").glob("*/w0/vm/*/run/events/a*-w000.jsonl"))
        except FileNotFoundError:  # a disk went while it was looked through
            told = []
        for path in told:
            if path.name not in self.kept:
                try:
                    self.open[path.name] = open_to_read(path)  # outlives its disk, and is no second name of it
                except FileNotFoundError:
                    continue
                self.kept[path.name] = self.folder / f"vm-{path.name}"
        self._copy()
        for name, _ in self.db.list("task"):
            if f"/tasks/{PROOF}" not in name:  # what tries whether a stop acts is none
                self.deadlines.setdefault(name, float(name.rpartition("-")[2]))
        self.reached = max(self.reached, self._phase())
        for phase, text in list(self.waiting):
            if PHASES.index(phase) <= self.reached:
                self.waiting.remove((phase, text))
                self.practice.cloud.faults.arm_text(text)
        for name, after in self.cell.settle:
            if name in self.met and time.monotonic() >= self.bitten.setdefault(name, time.monotonic()) + after:
                self.practice.cloud.faults.settle(name)
        there = self.nodes() if self.had_node else self.nodes() or self.requests()
        self.had_node = self.had_node or bool(self.nodes())
        if there:
            self.empty_at = None
        elif self.empty_at is None and self.reached >= 1:
            self.empty_at = self.clock.now()

    def _copy(self) -> None:
        for name, file in self.open.items():
            with open(self.kept[name], "ab") as kept:
                kept.write(file.read())

    def _phase(self) -> int:
        words = b"".join(path.read_bytes() for path in self.kept.values())
        if b'"kind":"end"' in words:
            return 6
        if b'"saving"' in words:
            return 5
        if words.count(b'"kind":"metric"') >= 3:
            return 4
        if words:
            return 3
        if self.nodes():
            return 2
        return 1 if self.requests() or self.db.list("tpu-operation") else 0

    def step(self) -> int:
        return max((steps[-1] for steps in self.vm_steps().values() if steps), default=0)

    def vm_steps(self) -> dict[str, list[int]]:
        return {name: steps_of(path) for name, path in self.kept.items()}

    # ------------------------------------------------------------------------------------------------------- desktops

    def desktop(self, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(HERE / "chaos_desktop.py"), str(self.home), str(self.ready), *options]
        return subprocess.Popen(command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)

    def play(self) -> None:
        """Until the run is settled, or patience ends."""
        cell = self.cell
        kills = [one for one in (cell.kill, *cell.again) if one]
        patience_s = PATIENCE_S * (2.0 if cell.real else 1.0)
        began = time.monotonic()
        desktop: subprocess.Popen[bytes] | None = self.desktop("--kill", kills.pop(0) if kills else "")
        off = False
        try:
            while time.monotonic() < began + patience_s + min(patience_s, self.load.waited_s or 0.0):
                self.look()
                due = cell.off in PHASES and not off and self.reached >= PHASES.index(cell.off) and self.verb_done
                if due and desktop is not None:
                    kill(desktop)
                    desktop, off = None, True
                if not self.verb_done:
                    self.verb()
                if desktop is None:
                    if self.empty_at is not None and not self.waiting:
                        desktop = self.desktop()
                elif desktop.poll() is not None:
                    if desktop.returncode == 0:
                        self.settled = True
                        return
                    if desktop.returncode != -signal.SIGKILL:
                        self.problems.append(f"the desktop ended with {desktop.returncode}")
                        return
                    if cell.off == "killed" and not off:
                        desktop, off = None, True
                        continue
                    desktop = self.desktop("--kill", kills.pop(0) if kills else "")
                time.sleep(POLL_S)
        finally:
            for process in (*([desktop] if desktop is not None else []), *self.verbs):
                kill(process)
            self.look()

    def verb(self) -> None:
        """At step 5; the process waits for it, so that it is not too late on a loaded computer."""
        if self.verbs == [] and self.reached >= PHASES.index("provisioning"):
            kills = ["--kill", self.cell.verb_kill]
            self.verbs = [self.desktop("--verb", self.cell.verb, "--when", str(self.word), *kills)]
        elif self.verbs and self.step() >= 5:
            self.word.touch()
            done = self.verbs[-1].poll() is not None
            if done and self.cell.verb_again and len(self.verbs) == 1:
                self.verbs.append(self.desktop("--verb", self.cell.verb))
            else:
                self.verb_done = done
        if self.verb_done:
            (self.folder / "go").touch()

    def end(self) -> None:
        for name in self.fleet.names():
            self.fleet.kill(name)
        self.practice.stop()
        self.log.close()

    def judge(self) -> Verdict:
        self._copy()
        seen = Seen(
            cell=self.cell,
            home=self.home,
            practice=self.practice,
            plan=self.plan,
            kept=self.kept,
            deadlines=self.deadlines,
            empty_at=self.empty_at,
            settled=self.settled,
            problems=self.problems,
            met=self.met,
            copies=self.copies,
        )
        return judge(seen)

    def evidence(self) -> dict[str, Any]:
        """What there was when the verdict was made: the cloud's records, and the ends of all logs."""
        cloud, now = self.practice.cloud, self.clock.now()
        logs = [self.folder / "desktop.log", self.home / "transitions.log"]
        logs += sorted((self.folder / "practice" / "machines").glob("*/w*/console.log"))
        return {
            "now": now,
            "phase": PHASES[self.reached],
            "left": {kind: {name: record["state"] for name, record in self.db.list(kind)} for kind in (QR, NODE)},
            "doubts": cloud.doubts.armed(),
            "machines": self.fleet.names(),
            "stops": {name.rpartition("/")[2]: round(at - now) for name, at in self.deadlines.items()},
            "operations": [record for _, record in self.db.list("tpu-operation")],
            "bill": cloud.meter.bill(),
            "faults": cloud.faults.events(),
            "logs": {str(path.relative_to(self.folder)): tail(path) for path in logs if path.is_file()},
        }


def watch(faults: Faults) -> set[str]:
    """The names of the faults that have changed an answer: taken, or asked for and standing. What befalls machines is
    looked for before its time, and counts by its note (`Faults.events`) alone."""
    found: set[str] = set()

    def watched(ask: Callable[..., Any]) -> Callable[..., Any]:
        def asking(name: str, **about: Any) -> Any:
            answer = ask(name, **about)
            if answer is not None and name not in OF_MACHINES:
                found.add(name)
            return answer

        return asking

    for name in ("take", "armed"):
        setattr(faults, name, watched(getattr(faults, name)))
    return found


def watch_copies(now: Callable[[], float]) -> list[tuple[float, int]]:
    """When which saved copy was whole in a bucket: (the cloud's time, its step), from now on."""
    found: list[tuple[float, int]] = []
    put = ObjectStore.put

    def noting(store: ObjectStore, bucket: str, name: str, *rest: Any, **more: Any) -> Any:
        stored = put(store, bucket, name, *rest, **more)
        if name.endswith("/COMMITTED"):
            found.append((now(), int(name.split("/")[-2])))
        return stored

    setattr(ObjectStore, "put", noting)  # noqa: B010  a method, and mypy minds the other way
    return found


def tail(path: Path) -> str:
    return path.read_bytes()[-TAIL:].decode(errors="replace")


def kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()


def _cell(name: str) -> Cell:
    if not name.endswith(".json"):
        return next(one for one in (*matrix(), *real_cells()) if one.name == name)
    raw = json.loads(Path(name).read_bytes())
    for key, value in raw.items():
        if isinstance(value, list):
            raw[key] = tuple(tuple(one) if isinstance(one, list) else one for one in value)
    return Cell(**raw)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("name", help="of the matrix, or a JSON file with a cell's fields")
    parser.add_argument("--speed", type=float, default=1.0, help="the cell's clock, so many times as fast")
    arguments = parser.parse_args()
    cell = _cell(arguments.name)
    cell = replace(cell, speed=cell.speed * arguments.speed)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the machines, which would outlive it, go too
    began = time.monotonic()
    with Load() as load:
        play = Play(cell, arguments.folder, load)
        try:
            play.play()
            of_machines = ASKED_BY_MACHINES.intersection(play.practice.cloud.doubts.armed()) if play.had_node else set()
            told = play.judge().record() | {"doubts_met": sorted(play.doubts_met | of_machines)}
            if told["failures"]:
                evidence = json.dumps(play.evidence(), indent=1, default=str)
                (arguments.folder / "evidence.json").write_text(evidence + "\n")
        finally:
            play.end()
    record = {
        "name": cell.name,
        "passed": not told["failures"],
        "seconds": round(time.monotonic() - began, 1),
        **told,
        "load": load.told(),
    }
    (arguments.folder / "verdict.json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record))
    return 0 if record["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
