"""A process of `make fuzz` (fuzz.py): executes targets in turns and says on its output what it does.

Its argument is JSON: names, seed, scratch (a folder), and begin (the next number by target) or only (one execution;
with save, a folder that gets its input first). Each line of the output is a JSON object: ``now`` before, ``done``
after.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

TURN_S = 1.0
TOLD_EVERY_S = 1.0


def main() -> int:
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    asked: dict[str, Any] = json.loads(sys.argv[1])
    os.environ["TPU_STUDIO_HOME"] = str(Path(asked["scratch"]) / "home")
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=UserWarning, module="PIL")

    from tests.fakes.fuzz.registry import SELF_TESTS, TARGETS
    from tests.fakes.fuzz.target import Base, chance_of

    say = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # nothing that a target prints gets between
    targets: dict[str, Base] = {}
    for name in asked["names"]:
        folder = Path(asked["scratch"]) / name
        folder.mkdir()
        targets[name] = (TARGETS | SELF_TESTS)[name](folder)
    if "only" in asked:
        name = asked["names"][0]
        if "save" in asked:
            targets[name].given = _saving(Path(asked["save"]))
        targets[name].one(chance_of(name, asked["seed"], asked["only"]))
        targets[name].close()
        print(f"{name}:{asked['seed']}:{asked['only']} held", file=sys.stderr)
        return 0
    numbers: dict[str, int] = asked["begin"]
    while True:
        for name, target in targets.items():
            began, last, count, slowest = time.monotonic(), 0.0, 0, 0.0
            while time.monotonic() - began < TURN_S:
                number, at = numbers[name], time.monotonic()
                say.write(json.dumps({"now": {"target": name, "number": number}}) + "\n")
                try:
                    target.one(chance_of(name, asked["seed"], number))
                except Exception:  # noqa: BLE001  whatever it is, it is what is looked for
                    say.write(json.dumps({"crash": traceback.format_exc()}) + "\n")
                    return 3
                last = time.monotonic() - at
                numbers[name], count, slowest = number + 1, count + 1, max(slowest, last)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            told = {
                "target": name,
                "done": count,
                "seconds": time.monotonic() - began,
                "slowest_s": slowest,
                "peak": peak,
            }
            say.write(json.dumps({**told, "next": numbers[name]}) + "\n")


def _saving(folder: Path) -> Any:
    count = 0

    def save(name: str, data: bytes) -> None:
        nonlocal count
        count += 1
        plain = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name)[-80:]
        (folder / f"{count:03d}-{plain}").write_bytes(data)

    return save


if __name__ == "__main__":
    sys.exit(main())
