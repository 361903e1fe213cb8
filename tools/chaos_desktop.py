"""The desktop of a chaos cell: the app's own verbs and driver in a process that ends itself at a chosen transition.

    python tools/chaos_desktop.py HOME ready.json [--kill "after say intent/create"] [--verb drive|extend|stop]

``drive`` launches the run where there is none yet (the plan stands in HOME/plan.json) and gives it turns until it is
settled. Transitions are every write to the journal and to our events file and every call to the cloud, before and
after each; those passed are written to HOME/transitions.log. ``KIND#2`` means the second time.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tpu_studio.cloud.connection import practice_side
from tpu_studio.cloud.preparing import Preparation
from tpu_studio.store.index import Index
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire import controls
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.plan import loads
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.ports import CloudPlace, CloudSide
from tpu_studio.workflow.runs import Runs

EPOCHS_MORE = 1.0


class Transitions:
    """Counts what happens, and ends this process as by ``kill -9`` at the chosen one."""

    def __init__(self, home: Path, kill: str) -> None:
        self._kill, self._counts = kill if "#" in kill or not kill else f"{kill}#1", Counter[str]()
        self._log = open(home / "transitions.log", "a", buffering=1)  # noqa: SIM115  as long as the process

    def __call__(self, label: str) -> None:
        self._counts[label] += 1
        now = f"{label}#{self._counts[label]}"
        if now == self._kill:
            self._log.write(f"KILLED {now}\n")
            self._log.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        self._log.write(f"{now}\n")


class Hooked:
    """A port whose calls are transitions."""

    def __init__(self, inner: Any, name: str, happens: Callable[[str], None]) -> None:
        self._inner, self._name, self._happens = inner, name, happens

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **more: Any) -> Any:
            label = f"call {self._name}.{name}"
            if label == "call stops.set":
                label += f" {arguments[1]}"
            self._happens(f"before {label}")
            answer = found(*arguments, **more)
            self._happens(f"after {label}")
            return answer

        return call


class HookedJournal(JournalFile):
    happens: Callable[[str], None]

    def __init__(self, path: Path, happens: Callable[[str], None]) -> None:
        self.happens = happens
        super().__init__(path)

    def open(self, action: str, run: str, facts: Mapping[str, Any], at: float) -> int:
        self.happens(f"before journal {action}")
        number = super().open(action, run, facts, at)
        self.happens(f"after journal {action}")
        return number

    def close(self, number: int, outcome: str, at: float) -> None:
        self.happens("before journal close")
        super().close(number, outcome, at)
        self.happens("after journal close")


def hook_events(happens: Callable[[str], None]) -> None:
    real_event, real_send = desk.write_event, controls.send

    def write(folder: Path, install: str, kind: str, *, t: float, **fields: Any) -> None:
        more = {
            "intent": fields.get("action"),
            "intent-closed": str(fields.get("id")).partition("/")[0],
            "cloud": fields.get("state"),
            "phase": fields.get("phase"),
            "gate": fields.get("answer"),
        }.get(kind)
        label = f"say {kind}/{more}" if more else f"say {kind}"
        happens(f"before {label}")
        real_event(folder, install, kind, t=t, **fields)
        happens(f"after {label}")

    def send(run: Path, record: Mapping[str, Any]) -> int:
        happens(f"before control {record['verb']}")
        answer = real_send(run, record)
        happens(f"after control {record['verb']}")
        return answer

    desk.write_event = write
    controls.send = send


class Desktop:
    def __init__(self, home: Path, ready: Mapping[str, str], kill: str) -> None:
        self.home, happens = home, Transitions(home, kill)
        hook_events(happens)
        self.journal, self.index = HookedJournal(home / "journal.db", happens), Index(home)

        def connect(plan: Any) -> CloudSide:
            side = practice_side(ready["url"], ready["token"], ready["project"], ready["bucket"])
            return replace(
                side,
                machines={name: Hooked(one, name, happens) for name, one in side.machines.items()},
                stops=Hooked(side.stops, "stops", happens),
                mailbox=Hooked(side.mailbox, "bucket", happens),
            )

        place = CloudPlace(connect, Preparation())
        self.driver = Driver(home, places={"practice": place}, journal=self.journal)
        self.runs = Runs(home, places={}, journal=self.journal, index=self.index, driver=self.driver)

    def drive(self) -> int:
        while True:
            try:
                self.runs.reconcile()
                self.driver.recover()
                rows = self.runs.list()
                run = rows[0].run if rows else self.runs.launch(loads((self.home / "plan.json").read_bytes()))
                break
            except StudioError as error:  # a person would try again
                print(f"not launched: {error.id} {error.facts}", flush=True)
                time.sleep(0.5)
        while self.driver.is_unsettled(run):
            self.driver.watch(run)
            pause = self.driver.turn(run)
            problem = self.driver.problems.get(run)
            if problem is not None:
                print(f"problem: {problem.id} {problem.facts}", flush=True)
            time.sleep(min(pause, 1.0))
        return 0

    def verb(self, name: str) -> int:
        run = self.runs.list()[0].run
        try:
            if name == "extend":
                self.runs.extend(run, EPOCHS_MORE)
            else:
                self.runs.stop(run, keep=name == "stop")
        except StudioError as error:
            print(f"{name}: {error.id} {error.facts}", flush=True)
            return 1
        return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("ready", type=Path)
    parser.add_argument("--kill", default="")
    parser.add_argument("--when", type=Path, help="do the verb when this file is there")
    parser.add_argument("--verb", choices=("drive", "extend", "stop", "discard"), default="drive")
    arguments = parser.parse_args()
    desktop = Desktop(arguments.home, json.loads(arguments.ready.read_text()), arguments.kill)
    if arguments.verb == "drive":
        return desktop.drive()
    while arguments.when is not None and not arguments.when.exists():
        time.sleep(0.02)
    return desktop.verb(arguments.verb)


if __name__ == "__main__":
    sys.exit(main())
