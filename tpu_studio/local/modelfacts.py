"""What the engine counted in a model, kept in ``models/`` of the home folder by all that it depends on.

`Stopwatch.inspect` and `Preflight.ask` write it, plans read it; give it up at any time by deleting the folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tpu_studio.local.computer import package_folder
from tpu_studio.planner.modelwork import key_of_plan
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import write_atomically

# What counts and what is counted; the answer changes with these parts of our own source.
_SOURCES = ("trainer/models", "trainer/work", "trainer/maths.py", "trainer/step_jax.py", "trainer/step_tf.py")


class ModelFacts:
    def __init__(self, home: Path) -> None:
        self._folder = home / "models"

    def of(self, plan: Plan) -> Mapping[str, Any] | None:
        """What was counted in the model of *plan*, if it ever was, with the ``key`` by which plans know it again."""
        try:
            found = read_json(self._file(plan))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and "flops" in found else None

    def keep(self, plan: Plan, facts: Mapping[str, object]) -> Mapping[str, object]:
        """*facts* with their ``key`` and the number format they were counted in, kept where something was counted."""
        facts = {**facts, "key": key_of_plan(plan), "precision": plan.job.training.precision}
        if "flops" in facts:
            with suppress(OSError):  # a full disk: then it is counted again next time
                write_atomically(self._file(plan), json.dumps(facts).encode() + b"\n")
        return facts

    def _file(self, plan: Plan) -> Path:
        return self._folder / f"{key_of_plan(plan)}-{source_sha256(_SOURCES)[:8]}.json"


def source_sha256(names: tuple[str, ...]) -> str:
    """Of files and folders of our own package."""
    root = package_folder() / "tpu_studio"
    digest = hashlib.sha256()
    for name in names:
        path = root / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.relative_to(root).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()
