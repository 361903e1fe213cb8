"""Training engines whose trainer only counts (`tests/fakes/trainer.py`), for practice machines: TPU_STUDIO_ENGINE."""

from __future__ import annotations

import json
import sys
from pathlib import Path

TRAINER = Path(__file__).resolve().with_name("trainer.py")


def counting_engine(root: Path, *options: str) -> Path:
    """*options*: of the trainer."""
    python = root / "main" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(
        f'#!/bin/sh\ncase "$*" in *"-m tpu_studio.trainer train"*) while [ "$1" != train ]; do shift; done\n'
        f'exec "{sys.executable}" "{TRAINER}" "$@" {" ".join(options)};; esac\nexec "{sys.executable}" "$@"\n',
        "utf-8",
    )
    python.chmod(0o755)
    (root / "engine.json").write_text(json.dumps({"format": 1}), "utf-8")
    return root
