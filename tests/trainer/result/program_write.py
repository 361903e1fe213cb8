"""Writes results of untrained models for run folders with a plan, and looks at what was written.

program_write.py RUN…       → {run name: {…}}
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tpu_studio.data.sources import open_data
from tpu_studio.trainer import models, result
from tpu_studio.trainer.result import loading
from tpu_studio.wire import plan as plans
from tpu_studio.wire import sums
from tpu_studio.wire.errors import StudioError

FILES = ("model.keras", "saved_model/variables/variables.data-00000-of-00001", "saved_model/saved_model.pb")


def main() -> None:
    found = {}
    for name in sys.argv[1:]:
        run = Path(name)
        plan = plans.loads((run / "plan.json").read_bytes())
        opened = open_data(plan.job, None, memory_budget_bytes=2**30, workers=1)
        model = models.build(plan, opened.description)
        x = opened.validation.batch(np.arange(4), rng=np.random.default_rng(0))["x"]
        before = np.asarray(model(x, training=False))
        card = result.write(
            run, plan, opened.description, model, [{"step": 20, "val_loss": 0.25}], reason="stopped-by-user"
        )
        saved = tf.saved_model.load(str(run / "result" / "saved_model"))  # kept: its variables live as long as it does
        found[run.name] = {
            "card": card,
            "entries": sorted(path.name for path in (run / "result").iterdir()),
            "left_over": sorted(path.name for path in run.glob(".result*")),
            "saved_model": difference(saved.serve(x), before),
            "keras": difference(loading.load(run / "result", consent=plan.consent)(x, training=False), before),
            "backend": keras.backend.backend(),
            "damaged": [told_of(run / "result", plan.consent, config) for config in (b"[" * 200_000, b"{}", b"\xff")],
            "one_byte": [with_one_byte_changed(run / "result", plan.consent, file) for file in FILES],
        }
    print(json.dumps(found))


def told_of(written: Path, consent: str, config: bytes) -> str:
    """What is said of the model when its description is *config*, and its card agrees; the files are as they were
    afterwards."""
    path, card = written / "model.keras", written / "model.json"
    whole, kept = path.read_bytes(), card.read_bytes()
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()} | {"config.json": config}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    card.write_text(json.dumps({**json.loads(kept), "sha256": sums.of_files(written, ["model.keras"])}))
    try:
        return loaded(written, consent)
    finally:
        path.write_bytes(whole)
        card.write_bytes(kept)


def with_one_byte_changed(written: Path, consent: str, file: str) -> str:
    path = written / file
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    try:
        return loaded(written, consent)
    finally:
        path.write_bytes(whole)


def loaded(written: Path, consent: str) -> str:
    try:
        loading.load(written, consent=consent)
    except StudioError as error:
        return error.id
    return "loaded"


def difference(one: Any, other: Any) -> float:
    return float(np.abs(np.asarray(one) - np.asarray(other)).max())


main()
