"""An honest fake of the training program: counts steps instead of training, but speaks and obeys like the real one.

    python trainer.py train --run FOLDER --attempt N --worker 0 [--steps N] [--step-s S] [--save-every N] [--result-s S]
        [--saves-on-term] [--compiles] [--at STEP:WHAT]…

Target: ``--steps`` plus 10 steps for each epoch of the control files' extensions. Loss at step n is 1/n, so a test
can tell where a point comes from. Checkpoints hold nothing but their step; one whose state is "broken" is refused.
WHAT is one of kill, term, raise, exit, silence (says nothing and hears nothing more), flood (of stderr),
print (to stdout), memory-error, speed (a report of it), chips (a word of them), hold=FILE (waits until it is there),
touch=FILE.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

STEPS_PER_EPOCH = 10
PROGRAM = b"a program" * 1000


class Commands:
    """What the guardian has sent; end of file means that it is gone."""

    def __init__(self) -> None:
        self.stop: bool | None = None  # keep?
        self.gone = False
        self.extended = 0
        self.profile = False
        self.counted: set[int] = set()
        self.answers = False
        self.written, self.asked = threading.Condition(), 0
        self.answered = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            command = json.loads(line)
            if command["verb"] == "stop":
                self.stop = bool(command["keep"])
            elif command["verb"] == "gone":
                self.gone = True
            elif command["verb"] == "profile":
                self.profile = True
            elif command["verb"] == "answers":
                self.answers = True
            elif command["verb"] == "written":
                with self.written:
                    self.answered = command["number"]
                    self.written.notify_all()
            elif command["verb"] == "extend" and command["number"] not in self.counted:
                self.extended += int(command["epochs"] * STEPS_PER_EPOCH)
        os._exit(9)

    def wait_until_written(self) -> None:
        """All that was said is on the guardian's disk, if it is one that says so."""
        if not self.answers:
            return
        self.asked += 1
        say("written", number=self.asked)
        with self.written:
            self.written.wait_for(lambda: self.answered >= self.asked, 60.0)


def say(kind: str, **fields: object) -> None:
    sys.stdout.write(json.dumps({"t": round(time.time(), 3), "kind": kind, **fields}) + "\n")
    sys.stdout.flush()


def outcome(status: str, reason: str, step: int, **facts: object) -> None:
    final = {"loss": 1.0 / step} if step else {}
    say("outcome", status=status, reason=reason, steps=step, final=final, facts=facts)


def last_checkpoint(run: Path) -> int | None:
    found = sorted(path.parent.name for path in (run / "checkpoints").glob("*/COMMITTED"))
    return int(found[-1]) if found else None


def save(run: Path, step: int, commands: Commands) -> None:
    folder = run / "checkpoints" / f"{step:08d}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "state.safetensors").write_bytes(b"state" * 2000)
    commands.wait_until_written()
    (folder / "COMMITTED").write_text("")
    say("checkpoint", step=step, path=f"checkpoints/{step:08d}", seconds=0.01)


def compile_once(entry: Path) -> None:
    """What is there and whole is used, what is there and broken is not."""
    if entry.exists() and entry.read_bytes() == PROGRAM:
        say("notice", id="compiled-before", level="info", facts={"programs": 1, "saved_s": 40.0})
        return
    entry.write_bytes(PROGRAM)


def do(what: str, step: int) -> None:
    if what.startswith("touch="):
        Path(what.removeprefix("touch=")).touch()
    if what.startswith("hold="):
        while not Path(what.removeprefix("hold=")).exists():
            time.sleep(0.02)
    if what == "speed":
        say("speed", step=step, steps=1, examples=32, seconds=0.5, waiting_for_data_s=0.1, device_s=0.3)
    if what == "chips":
        say("device", worker=0, duty_cycle=0.71, hbm_used_bytes=9.1e9, hbm_total_bytes=1.6e10)
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "term":
        os.kill(os.getpid(), signal.SIGTERM)
    if what == "raise":
        raise RuntimeError("the fake trainer was asked to fail")
    if what == "memory-error":
        raise MemoryError
    if what == "exit":
        sys.exit(7)
    if what == "silence":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(0.05)
    if what == "flood":
        for number in range(5000):
            sys.stderr.write(f"warning {number} {'x' * 3000}\n")
        sys.stderr.flush()
    if what == "print":
        sys.stdout.write("a model prints here\n")
        sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb")
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--attempt", type=int, required=True)
    parser.add_argument("--worker", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--coordinator", default="")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--preset", type=Path)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--step-s", type=float, default=0.01)
    parser.add_argument("--save-every", type=int, default=5)
    parser.add_argument("--result-s", type=float, default=0.0)
    parser.add_argument("--saves-on-term", action="store_true", help="SIGTERM: save, and end, as the real one does")
    parser.add_argument("--compiles", action="store_true", help="keeps a program in JAX's cache, or finds it there")
    parser.add_argument("--at", action="append", default=[])
    arguments = parser.parse_args([*sys.argv[1:], *os.environ.get("FAKE_TRAINER", "").split()])
    run: Path = arguments.run
    happens = {int(step): what for step, _, what in (at.partition(":") for at in arguments.at)}

    commands = Commands()
    if arguments.saves_on_term:
        signal.signal(signal.SIGTERM, lambda *_: setattr(commands, "gone", True))
    for path in sorted((run / "control").glob("*.json")):
        try:
            record = json.loads(path.read_text())
        except (ValueError, RecursionError):
            continue
        if record["verb"] == "extend":
            commands.counted.add(int(path.stem))
            commands.extended += int(record["epochs"] * STEPS_PER_EPOCH)

    say("phase", phase="compiling", detail="")
    step = last_checkpoint(run) or 0
    if step:
        if (run / f"checkpoints/{step:08d}/state.safetensors").read_bytes() == b"broken":
            outcome("failed", "checkpoint-corrupt", step, path=f"checkpoints/{step:08d}")
            return 3
        say("resume", step=step, attempt=arguments.attempt)
    if arguments.compiles:
        compile_once(Path(os.environ["JAX_COMPILATION_CACHE_DIR"]) / "jit_step-0123456789abcdef-cache")
    say("phase", phase="training", detail="")
    target = -1
    while True:
        if target != arguments.steps + commands.extended:
            target = arguments.steps + commands.extended
            say("target", steps=target)
        if step >= target or commands.stop is not None or commands.gone:
            break
        step += 1
        time.sleep(arguments.step_s)
        say("metric", step=[step], loss=[1.0 / step])
        if step % arguments.save_every == 0:
            try:
                save(run, step, commands)
            except OSError as error:
                outcome("failed", "disk-full" if error.errno == 28 else "folder-unwritable", step, raw=str(error))
                return 3
        if commands.profile:
            commands.profile = False
            shares = {"matrix": 0.5, "memory": 0.2, "collectives": 0.0, "data": 0.0, "host": 0.3, "compile": 0.0}
            told = {"steps": 24, "seconds": 1.2, "on": "cpu", "shares": shares, "top": [["dot.1", "matrix", 0.4]]}
            say("profile", state="begun", step=step)
            raw = run / f"profile/{step:08d}/plugins/profile/steps/host.xplane.pb"
            raw.parent.mkdir(parents=True)
            raw.write_bytes(b"trace")
            say("profile", state="done", step=step, **told, path=f"profile/{step:08d}", bytes=4096)
        if step in happens:
            do(happens[step], step)
    if commands.gone:
        save(run, step, commands)
        outcome("failed", "guardian-gone", step)
        return 3
    if commands.stop is False:
        outcome("stopped", "discarded", step)
        return 0
    say("phase", phase="saving", detail="")
    save(run, step, commands)
    time.sleep(arguments.result_s)
    (run / "result").mkdir(exist_ok=True)
    (run / "result" / "model.keras").write_bytes(b"model" * 100)
    if commands.stop:
        outcome("stopped", "stopped-by-user", step)
    else:
        outcome("finished", "completed", step)
    return 0


if __name__ == "__main__":
    sys.exit(main())
