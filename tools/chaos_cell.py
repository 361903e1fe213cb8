"""One cell of `make chaos`: a practice cloud, a desktop that is killed, a fault at a phase; then everything is counted.

    python tools/chaos_cell.py FOLDER NAME        prints the verdict as one JSON object; exit 1: something does not hold

Nothing is imitated but the trainer (tests/fakes/trainer.py, which writes real events and checkpoints): real HTTP, real
startup script and guardian in real processes, the app's own driver in a process that gets SIGKILL. Judged is what the
practice cloud's own records say (its bill, its operations), never what the app believes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from chaos_cells import COMPLETED, PHASES, Cell, matrix, real_cells

from tests.fakes.looks import DIGITS, LAPTOP, job
from tpu_studio.cloud.connection import practice_side
from tpu_studio.domain.sentences import say_reason
from tpu_studio.planner.make import make_plan
from tpu_studio.practice.faults import read_fault
from tpu_studio.practice.machines.fleet import Fleet
from tpu_studio.practice.main import Practice
from tpu_studio.practice.settings import Settings
from tpu_studio.practice.tpu_life import NODE, QR
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.events import Event, complete_lines, decode
from tpu_studio.wire.plan import Plan, dumps
from tpu_studio.wire.reasons import Reason
from tpu_studio.workflow.cloudruns.mirror import desk_events
from tpu_studio.workflow.cloudruns.state import fold
from tpu_studio.workflow.runs import CLOUD_INTENTS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PATIENCE_S = 240.0  # real seconds a cell may take, whatever else this computer does
POLL_S = 0.05
LOOK_S = 35.0  # of the cloud's time: between two looks at a machine, and what its own deletion is taken to last
TOLD_S = 1.0  # of the cloud's time: where its own record of the deletion ends the bill
RETRIES_S = 6.0  # of real time: a call that fails is repeated after pauses that no practice clock shortens
REAL_LATE_S = 1.5  # real seconds between a thing and the desktop's seeing it on a loaded computer
TAKEN_S = 30.0  # a machine that is warned has so long; the trainer goes on for no more than that
DIGITS_EPOCHS = 12


@dataclass
class Verdict:
    name: str
    failures: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def check(self, holds: bool, failure: str) -> None:
        if not holds:
            self.failures.append(failure)


class Play:
    """One cell, played in *folder*."""

    def __init__(self, cell: Cell, folder: Path) -> None:
        self.cell, self.folder, self.home = cell, folder, folder / "home"
        self.home.mkdir(parents=True)
        if not cell.real:
            os.environ["TPU_STUDIO_ENGINE"] = str(self._engine())
        early = tuple(text for phase, text in cell.faults if phase == "submit")
        self.practice = Practice(Settings(folder=folder / "practice", speed=cell.speed), early).start()
        self.db, self.clock = self.practice.cloud.db, self.practice.cloud.clock
        self.ready = folder / "ready.json"
        self.ready.write_text(json.dumps(self.practice.ready()))
        self.plan = self._plan()
        (self.home / "plan.json").write_bytes(dumps(self.plan))
        self.reached = 0
        self.waiting = [(phase, text) for phase, text in cell.faults if phase != "submit"]
        self.settles = [
            (name, time.monotonic() + after) for name, after in cell.settle if "submit" in dict(cell.faults)
        ]
        self.kept: dict[str, Path] = {}
        self.deadlines: dict[str, float] = {}
        self.empty_at: float | None = None
        self.had_node = False
        self.verb_done = not cell.verb
        self.verbs: list[subprocess.Popen[bytes]] = []
        self.word = folder / "now"
        self.log = (folder / "desktop.log").open("ab")
        self.problems: list[str] = []

    # ------------------------------------------------------------------------------------------------------ the world

    def _engine(self) -> Path:
        """A training engine whose trainer counts."""
        cell, root = self.cell, self.folder / "engine"
        python = root / "main" / "bin" / "python"
        python.parent.mkdir(parents=True)
        options = f"--steps {cell.steps} --step-s {cell.step_s} --save-every {cell.save_every} --result-s 0.3"
        options += " --saves-on-term"
        if cell.verb:
            options += f" --at 6:hold={self.folder / 'go'}"
        trainer = ROOT / "tests" / "fakes" / "trainer.py"
        python.write_text(
            f'#!/bin/sh\nif [ "$2" = tpu_studio.trainer ] && [ "$3" = train ]; then shift 2\n'
            f'exec "{sys.executable}" "{trainer}" "$@" {options}; fi\nexec "{sys.executable}" "$@"\n'
        )
        python.chmod(0o755)
        (root / "engine.json").write_text('{"format": 1}')
        return root

    def _plan(self) -> Plan:
        cell = self.cell
        where = {"place": "practice", "tier": cell.tier, "zones": list(cell.zones)}
        limits = {"hours": cell.hours, "wait_hours": cell.wait_hours, "idle_minutes": 60.0, "money_usd": cell.money_usd}
        training: dict[str, Any] = {"epochs": 2}
        if cell.real:
            training = {"epochs": DIGITS_EPOCHS, "framework": "jax", "checkpoint_every": cell.save_every, "seed": 7}
            training["steps_per_call"] = 4
        made = job("mlp", "digits", where=where, training=training, limits=limits)
        return make_plan(made, DIGITS, now=time.time(), computer=LAPTOP)

    @property
    def fleet(self) -> Fleet:
        vms = self.practice.cloud.vms
        assert isinstance(vms, Fleet)
        return vms

    def nodes(self) -> list[str]:
        return [name for name, _ in self.db.list(NODE)]

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
                kept = self.folder / f"vm-{path.name}"
                try:
                    os.link(path, kept)  # outlives the machine's disk
                except FileNotFoundError:
                    continue
                self.kept[path.name] = kept
        for name, _ in self.db.list("task"):
            self.deadlines.setdefault(name, float(name.rpartition("-")[2]))
        self.reached = max(self.reached, self._phase())
        for phase, text in list(self.waiting):
            if PHASES.index(phase) <= self.reached:
                self.waiting.remove((phase, text))
                self.practice.cloud.faults.arm_text(text)
                name = read_fault(text)[0]
                self.settles += [(one, time.monotonic() + after) for one, after in self.cell.settle if one == name]
        for name, at in list(self.settles):
            if time.monotonic() >= at:
                self.settles.remove((name, at))
                self.practice.cloud.faults.settle(name)
        there = self.nodes() if self.had_node else self.nodes() or self.requests()
        self.had_node = self.had_node or bool(self.nodes())
        if there:
            self.empty_at = None
        elif self.empty_at is None and self.reached >= 1:
            self.empty_at = self.clock.now()

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
        give_up = time.monotonic() + patience_s
        desktop: subprocess.Popen[bytes] | None = self.desktop("--kill", kills.pop(0) if kills else "")
        off = False
        try:
            while time.monotonic() < give_up:
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
                        return
                    if desktop.returncode != -signal.SIGKILL:
                        self.problems.append(f"the desktop ended with {desktop.returncode}")
                        return
                    if cell.off == "killed" and not off:
                        desktop, off = None, True
                        continue
                    desktop = self.desktop("--kill", kills.pop(0) if kills else "")
                time.sleep(POLL_S)
            self.problems.append(f"not settled after {patience_s:.0f} s")
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

    # --------------------------------------------------------------------------------------------------------- judging

    def judge(self) -> Verdict:
        verdict = Verdict(self.cell.name, list(self.problems))
        folders = [path.parent for path in (self.home / "runs").glob("*/plan.json")]
        verdict.check(len(folders) == 1, f"{len(folders)} runs instead of one")
        if len(folders) != 1:
            return verdict
        run = folders[0]
        self._nothing_left(verdict)
        self._nothing_twice(verdict)
        self._events(verdict, run)
        self._money(verdict, run)
        self._end_and_reason(verdict, run)
        self._in_time(verdict)
        passed = (self.home / "transitions.log").read_text()
        kills = [one for one in (self.cell.kill, *self.cell.again, self.cell.verb_kill) if one]
        verdict.check(passed.count("KILLED") == len(kills), f"a place to be killed at was never reached: {kills}")
        happened = {event["name"] for event in self.practice.cloud.faults.events() if event["what"] == "happened"}
        verdict.facts["met"] = all(read_fault(text)[0] in happened for _, text in self.cell.faults)
        return verdict

    def _nothing_left(self, verdict: Verdict) -> None:
        left = [*self.nodes(), *self.requests(), *self.fleet.names()]
        verdict.check(not left, f"left over: {left}")
        targets = {name.rpartition("/")[2] for name in (*self.nodes(), *self.requests())}
        tasks = [name.rpartition("/")[2] for name, _ in self.db.list("task")]
        leaked = [name for name in tasks if any(name.startswith(f"{target}-") for target in targets)]
        verdict.check(not leaked, f"outside stops of what still exists: {leaked}")
        verdict.facts["tasks_left"] = len(tasks)
        journal = JournalFile(self.home / "journal.db")
        opened = [one.facts.get("id") for one in journal.open_intents() if one.action in CLOUD_INTENTS]
        journal.disconnect()
        verdict.check(not opened, f"intents still open: {opened}")

    def _nothing_twice(self, verdict: Verdict) -> None:
        """By the practice cloud's own operations and bill."""
        made = [record["target"] for _, record in self.db.list("tpu-operation") if record["verb"] == "create"]
        twice = {name for name in made if made.count(name) > 1}
        verdict.check(not twice, f"created twice: {sorted(twice)}")
        lines = sorted(((line["begin"], line["end"], line["name"]) for line in self._bill()), key=lambda line: line[0])
        for (_, end, one), (begin, _, other) in itertools.pairwise(lines):
            verdict.check(begin >= end, f"{one.rpartition('/')[2]} and {other.rpartition('/')[2]} at the same time")
        verdict.facts["creates"] = len(made)

    def _bill(self) -> list[dict[str, Any]]:
        return [line for line in self.practice.cloud.meter.bill() if "/ts-" in str(line["name"]) and "begin" in line]

    def _events(self, verdict: Verdict, run: Path) -> None:
        before: list[int] = []
        replays, attempts = [], 0
        for name in sorted(path.name for path in (run / "events").glob("a*-w000.jsonl")):
            attempts += 1
            here = (run / "events" / name).read_bytes()
            there = self.kept[name].read_bytes() if name in self.kept else None
            if there is not None:
                over = b'"kind":"end"' in there and self.cell.ends == COMPLETED
                same = here == there if over else there.startswith(here)
                verdict.check(same, f"{name} is not what the machine wrote: {len(here)} of {len(there)} bytes")
            steps = steps_of(run / "events" / name)
            verdict.check(steps == list(range(steps[0], steps[-1] + 1)) if steps else True, f"{name}: steps {steps}")
            if steps and before:
                first, last = steps[0], before[-1]
                verdict.check(first <= last + 1, f"{name}: steps {last + 1} to {first - 1} were never made")
                replays.append(last + 1 - first)
                verdict.check(replays[-1] <= self.cell.save_every, f"{name}: {replays[-1]} steps were made again")
            elif steps and not before:
                verdict.check(steps[0] == 1 or "gone" in self.cell.name, f"{name}: the first step is {steps[0]}")
            before = steps or before
        self._all_came_down(verdict, run)
        verdict.facts.update(attempts=attempts, replays=replays, last_step=before[-1] if before else 0)

    def _all_came_down(self, verdict: Verdict, run: Path) -> None:
        """Whatever a machine brought to the bucket before it died is here, to the byte; its disk died with it."""
        if not self._has_bucket():
            return
        prefix = f"runs/{run.name}/events/"
        side = practice_side(
            self.practice.url, self.practice.token, self.practice.cloud.settings.project,
            self.practice.cloud.settings.bucket,
        )  # fmt: skip
        carried: dict[str, int] = {}
        for one in side.mailbox.list(prefix):
            name, slash, _ = one.name.removeprefix(prefix).partition("/")
            if slash and name.startswith("a"):
                carried[name] = carried.get(name, 0) + one.size
        here = {path.stem: path.stat().st_size for path in (run / "events").glob("a*.jsonl")}
        short = {name: (here.get(name, 0), size) for name, size in carried.items() if here.get(name, 0) != size}
        verdict.check(not short, f"never came down: {short}")
        verdict.facts["unsent"] = [name for name in self.kept if Path(name).stem not in carried]

    def _has_bucket(self) -> bool:
        """Whether no fault is left that keeps it from being read."""
        armed = {one["name"] for one in self.practice.cloud.faults.listed()}
        return not armed & {"bucket-gone", "token-revoked", "service-disabled", "storage-unavailable"}

    def _told(self, line: dict[str, Any]) -> bool:
        """Whether the cloud's own record of a deletion has the end of this line of the bill."""
        name = str(line["name"]).rpartition("/")[2]
        return any(
            record["verb"] == "delete" and record["done"] and record["target"].endswith(f"/{name}")
            and abs(record["end"] - float(line["end"] or 0.0)) <= TOLD_S
            for _, record in self.db.list("tpu-operation")
        )  # fmt: skip

    def _money(self, verdict: Verdict, run: Path) -> None:
        lines = self._bill()
        verdict.check(all(not line["open"] for line in lines), "still being billed")
        billed = sum(float(line["usd"] or 0.0) for line in lines)
        try:
            receipt = json.loads((run / "result" / "receipt.json").read_bytes())
        except FileNotFoundError:
            verdict.failures.append("no receipt")
            return
        shown, rate = float(receipt["usd"] or 0.0), float(receipt["usd_per_hour"] or 0.0)
        real_s = REAL_LATE_S + (RETRIES_S if self.cell.on_the_line else 0.0)
        late_s = LOOK_S + real_s * self.cell.speed
        guessed = sum(not self._told(line) for line in lines)  # taken back or vanished: seen at the next look only
        allowed = 0.01 * billed + rate / 3600.0 * (late_s * guessed + TOLD_S * len(lines))
        at_most = float(receipt["usd_at_most"] or 0.0)
        verdict.check(shown - allowed <= billed <= at_most + allowed, f"shown ${shown:.4f}, billed ${billed:.4f}")
        limit = min(rate * float(self.plan.limits["hours"]), float(self.plan.limits["money_usd"] or 1e9))
        cap = limit + rate * self._margin_s() / 3600.0
        verdict.check(billed <= cap, f"${billed:.3f} billed, cap and margin are ${cap:.3f}")
        verdict.facts.update(
            usd=round(shown, 5), billed=round(billed, 5), cap=round(cap, 5), usd_per_hour=rate,
            error_s=round((shown - billed) / rate * 3600.0, 1) if rate else 0.0, guessed=guessed,
            speed=self.cell.speed,
        )  # fmt: skip

    def _margin_s(self) -> float:
        """As the review states it, and what a call takes."""
        stated = self.plan.limits["margin_boot_s" if self.cell.boot_hang else "margin_s"]
        return float(stated) + 0.5 * self.cell.speed

    def _end_and_reason(self, verdict: Verdict, run: Path) -> None:
        ends = [event for event in self._all_events(run) if event.kind == "end"]
        if not ends:
            verdict.failures.append("no end was ever said")
            return
        end = ends[-1]
        reason = str(end.get("reason"))
        verdict.facts["reason"] = reason
        verdict.check(reason in self.cell.ends, f"ended as {reason}: {json.dumps(end.get('facts'))[:300]}")
        facts = end.get("facts")
        said = say_reason(Reason(reason), facts if isinstance(facts, dict) else {}, place="practice", usd=1.0)
        verdict.check(bool(said.title and said.meaning), f"{reason} has no words")
        verdict.check(bool(said.action), f"{reason} has no next action")
        verdict.check(fold(desk_events(run)).settled, "not settled")
        if reason == "completed" and not self.cell.real:
            extended = b'"extend"' in b"".join(path.read_bytes() for path in (run / "control").glob("*.json"))
            want = self.cell.steps + (10 if extended else 0)
            steps = verdict.facts.get("last_step")
            verdict.check(steps == want, f"{steps} steps instead of {want}")
            verdict.facts["extended"] = extended
        verdict.facts["final"] = end.get("final")

    def _in_time(self, verdict: Verdict) -> None:
        if not self.cell.off or self.empty_at is None:
            return
        last = max(self.deadlines.values(), default=self.empty_at)
        late = self.empty_at - last
        verdict.facts["before_last_stop_s"] = round(-late)
        verdict.check(
            late <= 120.0 + REAL_LATE_S * self.cell.speed, f"deleted {late:.0f} s after the last outside stop"
        )

    def _all_events(self, run: Path) -> Iterator[Event]:
        yield from sorted(
            (event for path in (run / "events").glob("*.jsonl") for event in events_of(path)), key=lambda one: one.t
        )


def events_of(path: Path) -> list[Event]:
    lines, _ = complete_lines(path.read_bytes())
    return [event for line in lines if (event := decode(line)) is not None]


def steps_of(path: Path) -> list[int]:
    """Of the training's own metrics; an evaluation repeats the step that it is of."""
    found = [event for event in events_of(path) if event.kind == "metric" and event.get("loss") is not None]
    return [int(step) for event in found for step in event.get("step")]


def kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("--speed", type=float, default=1.0, help="the cell's clock, so many times as fast")
    arguments = parser.parse_args()
    cell = next(one for one in (*matrix(), *real_cells()) if one.name == arguments.name)
    cell = replace(cell, speed=cell.speed * arguments.speed)
    began = time.monotonic()
    play = Play(cell, arguments.folder)
    try:
        play.play()
        verdict = play.judge()
    finally:
        play.end()
    record = {"name": cell.name, "passed": not verdict.failures, "failures": verdict.failures,
              "seconds": round(time.monotonic() - began, 1), **verdict.facts}  # fmt: skip
    (arguments.folder / "verdict.json").write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record))
    return 0 if record["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
