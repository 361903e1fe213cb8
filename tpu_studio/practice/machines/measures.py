"""What a practice machine has in the place of libtpu's measurements: `resources/practice/libtpu`, under libtpu's name.

Training there asks it as it asks libtpu on a TPU VM (``trainer.chips``). Its numbers are of this computer and say so.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tpu_studio.practice.machines import machine as machines
from tpu_studio.practice.machines import shapes
from tpu_studio.practice.machines.machine import Machine
from tpu_studio.wire.resources import resource_path


def install(machine: Machine, folder: Path, worker: int) -> dict[str, str]:
    """Put it on the disk of *worker*; what training needs in its environment to find it."""
    site = machines.worker_folder(folder, worker) / "site"
    source, compiled = resource_path("practice", "libtpu"), shutil.ignore_patterns("__pycache__")
    shutil.copytree(source, site / "libtpu", ignore=compiled, dirs_exist_ok=True)
    return {
        "PYTHONPATH": str(site),
        "TPU_STUDIO_PRACTICE_CHIPS": str(machine.devices),
        "TPU_STUDIO_PRACTICE_HBM_BYTES": str(shapes.hbm_bytes(machine.accelerator_type)),
    }
