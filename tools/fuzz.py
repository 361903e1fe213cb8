"""`make fuzz`: every reader of files and answers that others make, with damaged ones, for as long as you like.

    python tools/fuzz.py [--seconds 3600] [--seed S] [--jobs 2] [--only jobs,zips] [--first] [--out out/fuzz]
    python tools/fuzz.py --repeat TARGET:SEED:NUMBER

The targets stand in tests/fakes/fuzz and take turns of a second in a process of their own for each job (fuzz_work.py).
A crash (anything raised but a sentence, or a dead process), a hang (more than 10 s of a processor, or a minute of
waiting: a busy computer is none) or more than 1 GB of memory: exit 1, the input and the traceback in OUT with the line
that repeats it, and a fresh process goes on after it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.fakes.fuzz.registry import SELF_TESTS, TARGETS

WORK = Path(__file__).resolve().with_name("fuzz_work.py")
HANG_S, WAIT_S, MOST_BYTES = 10.0, 60.0, 1 << 30
STARTING_S = 120.0  # a process makes its runs and data sets first
KEPT = 3  # inputs of the same failure
TOLD_EVERY_S = 60.0


@dataclass
class Score:
    """Of one target."""

    executions: int = 0
    seconds: float = 0.0
    slowest_s: float = 0.0
    failures: dict[str, int] = field(default_factory=dict)


@dataclass
class Fuzz:
    """Attributes:
    first: It is over with the first failure.
    scores: By target; failures by kind (crash, hang, memory).
    peak: Most memory that a process had, in bytes.
    seen: Failures by what they have in common, with how many there were.
    """

    seed: int
    names: list[str]
    out: Path
    first: bool = False
    scores: dict[str, Score] = field(default_factory=dict)
    peak: int = 0
    seen: dict[str, int] = field(default_factory=dict)
    begun: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def job(self, number: int) -> None:
        """Processes one after another, each from where the one before ended, until it is over."""
        begin = dict.fromkeys(self.names, 0)
        seed = self.seed + 1000 * number
        while not self.over.is_set():
            with tempfile.TemporaryDirectory(prefix="tpu-studio-fuzz-") as scratch:
                self._process(seed, begin, Path(scratch))

    def _process(self, seed: int, begin: dict[str, int], scratch: Path) -> None:
        asked = json.dumps({"names": self.names, "seed": seed, "begin": begin, "scratch": str(scratch)})
        with open(scratch / "errors", "wb") as errors:
            process = subprocess.Popen(
                [sys.executable, str(WORK), asked], stdout=subprocess.PIPE, stderr=errors, text=True
            )
        assert process.stdout is not None
        known: dict[str, Any] = {"target": "", "number": 0, "at": time.monotonic() + STARTING_S - WAIT_S}
        watch = threading.Thread(target=self._watch, args=(process, known), daemon=True)
        watch.start()
        crash = ""
        for line in process.stdout:
            told = json.loads(line)
            self.begun.set()
            known |= {"at": time.monotonic(), "worked": _processor_s(process.pid), **told.get("now", {})}
            if "done" in told:
                self._count(told, begin)
            crash = told.get("crash", crash)
        code = process.wait()
        watch.join()
        if not known["target"] or (self.over.is_set() and not crash and "why" not in known):
            if not self.over.is_set():
                raise SystemExit(f"no target could be made:\n{(scratch / 'errors').read_text()[-4000:]}")
            return
        why = known.get("why", "crash" if crash or code else "")
        if why:
            told_of = crash or (scratch / "errors").read_text(errors="replace")[-6000:]
            self._fail(why, known["target"], seed, known["number"], told_of)
            begin[known["target"]] = known["number"] + 1

    def _count(self, told: dict[str, Any], begin: dict[str, int]) -> None:
        with self.lock:
            score = self.scores.setdefault(told["target"], Score())
            score.executions += told["done"]
            score.seconds += told["seconds"]
            score.slowest_s = max(score.slowest_s, told["slowest_s"])
            self.peak = max(self.peak, told["peak"])
            begin[told["target"]] = told["next"]

    def _watch(self, process: subprocess.Popen[str], known: dict[str, Any]) -> None:
        """Ends a process that hangs, takes too much, or is to go."""
        while process.poll() is None:
            if self.over.wait(0.5):
                process.kill()
                return
            held = _peak_of(process.pid)
            self.peak = max(self.peak, held)
            worked = _processor_s(process.pid) - known.get("worked", STARTING_S)
            if held > MOST_BYTES or worked > HANG_S or time.monotonic() - known["at"] > WAIT_S:
                known["why"] = "memory" if held > MOST_BYTES else "hang"
                process.send_signal(signal.SIGUSR1)  # it says where it stands
                time.sleep(0.5)
                process.kill()
                return

    def _fail(self, why: str, target: str, seed: int, number: int, told: str) -> None:
        common = f"{why} {target}: {_last_of(told)}"
        repeat = f"{target}:{seed}:{number}"
        with self.lock:
            score = self.scores.setdefault(target, Score())
            score.failures[why] = score.failures.get(why, 0) + 1
            count = self.seen[common] = self.seen.get(common, 0) + 1
        if count > KEPT:
            return
        folder = self.out / f"{why}-{repeat.replace(':', '-')}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "told.txt").write_text(f"python tools/fuzz.py --repeat {repeat}\n\n{told}\n", "utf-8", "replace")
        save_input(repeat, folder)
        print(f"{why.upper()} {repeat}  {common}\n  {folder}", flush=True)
        if self.first:
            self.over.set()

    def table(self, seconds: float) -> str:
        lines = [
            f"{'target':<12}{'executions':>12}{'a second':>10}{'slowest':>10}{'crashes':>9}{'hangs':>7}{'memory':>8}"
        ]
        for name in self.names:
            one = self.scores.get(name, Score())
            counts = [one.failures.get(kind, 0) for kind in ("crash", "hang", "memory")]
            pace = one.executions / one.seconds if one.seconds else 0.0
            told = "".join(f"{count:>{width}}" for count, width in zip(counts, (9, 7, 8), strict=True))
            lines.append(f"{name:<12}{one.executions:>12,}{pace:>10,.0f}{one.slowest_s:>8.2f} s{told}")
        total = sum(one.executions for one in self.scores.values())
        lines.append(
            f"{total:,} executions in {seconds:,.0f} s, seed {self.seed}, {len(self.seen)} different failures, "
            f"at most {self.peak / 1e6:,.0f} MB in a process"
        )
        return "\n".join(lines)


def save_input(repeat: str, folder: Path) -> None:
    """The damaged files of an execution, made again from its seed; what it does then is not waited for."""
    with tempfile.TemporaryDirectory(prefix="tpu-studio-fuzz-") as scratch:
        name, seed, number = repeat.rsplit(":", 2)
        asked = {"names": [name], "seed": int(seed), "only": int(number), "scratch": scratch, "save": str(folder)}
        try:
            subprocess.run([sys.executable, str(WORK), json.dumps(asked)], capture_output=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            pass  # it hangs; the input was written before


def _peak_of(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def _processor_s(pid: int) -> float:
    """Seconds of a processor that the process has had; 0 once it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _last_of(told: str) -> str:
    """What failures of the same cause have in common: the last place of ours, and the kind of error."""
    lines = [line.strip() for line in told.strip().splitlines()]
    ours = [line for line in lines if "tpu_studio" in line and ("File" in line or ".py" in line)]
    error = lines[-1].partition(":")[0] if lines else "died"
    return f"{ours[-1] if ours else 'nowhere of ours'} {error}"[:200]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default=",".join(TARGETS))
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    parser.add_argument("--first", action="store_true", help="end with the first failure")
    parser.add_argument("--repeat", metavar="TARGET:SEED:NUMBER")
    asked = parser.parse_args()
    if asked.repeat:
        name, seed, number = asked.repeat.rsplit(":", 2)
        with tempfile.TemporaryDirectory(prefix="tpu-studio-fuzz-") as scratch:
            told = {"names": [name], "seed": int(seed), "only": int(number), "scratch": scratch}
            return subprocess.run([sys.executable, str(WORK), json.dumps(told)], check=False).returncode
    names = asked.only.split(",")
    if unknown := [name for name in names if name not in TARGETS | SELF_TESTS]:
        parser.error(f"no target {unknown[0]!r}; there are {', '.join(TARGETS)}")
    fuzz = Fuzz(asked.seed, names, asked.out, asked.first)
    jobs = [threading.Thread(target=fuzz.job, args=(number,)) for number in range(max(1, asked.jobs))]
    for job in jobs:
        job.start()
    try:
        while not fuzz.begun.wait(0.05) and any(job.is_alive() for job in jobs):
            continue  # a busy computer takes a while to make the targets
        began = time.monotonic()
        next_at = began + TOLD_EVERY_S
        while time.monotonic() - began < asked.seconds and any(job.is_alive() for job in jobs):
            time.sleep(min(1.0, asked.seconds))
            if time.monotonic() >= next_at:
                print(fuzz.table(time.monotonic() - began), flush=True)
                next_at += TOLD_EVERY_S
    finally:
        fuzz.over.set()
        for job in jobs:
            job.join()
    print(fuzz.table(time.monotonic() - began), flush=True)
    return 1 if fuzz.seen or not fuzz.scores else 0


if __name__ == "__main__":
    sys.exit(main())
