"""The Colab notebook, executed from a clean kernel: its runtime is lost, a new one goes on, its zip comes home."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.fakes.studio import Studio
from tests.trainer.in_engine import ROOT, engine_python
from tests.trainer.training import DIGITS, Training, curve, planned, put
from tpu_studio.cloud import colab
from tpu_studio.wire.runfolder import COMMITTED, PLAN
from tpu_studio.workflow.notebooks import launched

pytestmark = [pytest.mark.engine, pytest.mark.slow]
PATIENCE_S = 900.0  # never needed; two loaded cores take minutes for three starts of a framework


class Runtime:
    """A machine that Colab lends: a kernel in a process of its own, a disk that goes with it; Drive stays."""

    def __init__(self, notebook: Path, disk: Path, drive: Path, engine: Path) -> None:
        self.disk, self.out = disk, disk.with_suffix(".ipynb")
        env = {name: value for name, value in os.environ.items() if not name.startswith(("TPU_STUDIO", "PYTEST"))}
        env |= {"TPU_STUDIO_COLAB_ENGINE": str(engine), "TPU_STUDIO_COLAB_ROOT": str(disk), "JAX_PLATFORMS": "cpu"}
        env |= {"TPU_STUDIO_COLAB_DRIVE": str(drive), "IPYTHONDIR": str(disk.with_suffix(".ipython"))}
        argv = [sys.executable, str(ROOT / "tests" / "fakes" / "notebook.py"), str(notebook), str(self.out)]
        with open(disk.with_suffix(".log"), "wb") as log:
            self.process = psutil.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def until(self, seen: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not seen():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.05)

    def ended(self) -> int:
        return int(self.process.wait(PATIENCE_S))

    def said(self) -> str:
        return self.disk.with_suffix(".log").read_text(errors="replace")[-3000:]

    def lose(self) -> None:
        """Everything ends at once, the guardian in its own session too, and the disk with it."""
        mine = str(self.disk)
        found = [self.process]
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end while it is asked
            found += self.process.children(recursive=True)
        everyone = psutil.process_iter(["cmdline"])
        found += [each for each in everyone if any(mine in word for word in each.info["cmdline"] or ())]
        for each in found:
            try:
                each.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(found, timeout=30)
        shutil.rmtree(self.disk, ignore_errors=True)


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    made = Studio(tmp_path / "home")
    yield made
    made.close()


def test_a_lost_runtime_loses_nothing_and_the_zip_completes_the_very_run_bit_for_bit(
    studio: Studio, tmp_path: Path
) -> None:
    where = {"place": "colab"}
    plan = planned({**DIGITS, "where": where}, framework="jax", steps=600, checkpoint_every=200, evaluate_every=200)
    notebook = tmp_path / "digits.ipynb"
    run, _ = launched(studio.runs, plan, lambda frozen: colab.write(frozen, notebook))
    engine, drive = engine_python(), tmp_path / "drive"
    freezing = tmp_path / "freezing"
    freezing.write_text(f'#!/bin/sh\nexec "{engine}" "{ROOT / "tests" / "fakes" / "stopping_engine.py"}" "$@"\n')
    freezing.chmod(0o755)

    first = Runtime(notebook, tmp_path / "first", drive, freezing)
    try:
        first.until(lambda: any((drive / "TPU Studio" / run).glob(f"checkpoints/*/{COMMITTED}")))
    finally:
        first.lose()
    second = Runtime(notebook, tmp_path / "second", drive, engine)
    try:
        assert second.ended() == 0, second.said()
        shown = json.dumps(json.loads(second.out.read_bytes()))
        zipped = (tmp_path / "home.zip").absolute()
        shutil.copy(second.disk / f"{run}.zip", zipped)
    finally:
        second.lose()

    assert "polyline" in shown
    assert f"{run} is ready." in shown
    assert (drive / "TPU Studio" / f"{run}.zip").read_bytes() == zipped.read_bytes()
    assert not studio.runs.import_folder(zipped).already
    assert studio.runs.import_folder(zipped).already
    row = studio.runs.summary(run)
    assert (row.status, row.reason, row.step, row.attempt) == ("finished", "completed", 600, 2)
    whole = put(tmp_path / "whole", plan)
    (whole / PLAN).write_bytes((studio.runs.folder(run) / PLAN).read_bytes())
    on_this_computer = {"JAX_PLATFORMS": "cpu", "TPU_STUDIO_COLAB_ENGINE": str(engine)}
    with Training(whole, environment=on_this_computer) as unbroken:  # its model need not be written
        unbroken.until(lambda event: event.get("phase") == "saving", PATIENCE_S)
    for name in ("loss", "grad_norm", "val_loss", "val_accuracy"):
        assert studio.points(run, name) == sorted(curve(unbroken, name=name).items())
    assert [step for step, _ in studio.points(run)] == list(range(1, 601))
    assert (studio.runs.folder(run) / "result" / "model.keras").exists()
