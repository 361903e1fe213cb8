"""The model as a TensorFlow SavedModel, whatever framework it was trained in.

A model that was trained in JAX is loaded by a second process that runs TensorFlow; Keras's file is the bridge. The
result is called as ``model = tf.saved_model.load(folder)``, ``model.serve(x)`` and answers as the model does: logits,
or one value.

    python -m tpu_studio.trainer.result.savedmodel --result FOLDER --to FOLDER
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras

from tpu_studio.trainer import leaving
from tpu_studio.trainer.result import files, loading
from tpu_studio.wire import frameworks, ownpython

LIMIT_S = 600.0
FULL = "no space left on device"
NOTICE = "savedmodel-failed"
_RAW, _LOGGED = 300, 8000  # characters of what was said: in the notice, in the log


def write_saved_model(result: Path, to: Path, model: keras.Model) -> dict[str, object]:
    """Write *model*, which also lies in the folder *result*, to the folder *to*.

    Returns:
        {} when it is there; else ``why`` it is not (``failed``, ``time``, ``disk``) and ``raw``, the last that was
        said. What *to* holds then is worth nothing.
    """
    try:
        if frameworks.by_id(keras.backend.backend()).writes_saved_model:
            export(model, to, files.read_card(result))
            return {}
        return _by_a_second_process(result, to)
    except subprocess.TimeoutExpired:
        return {"why": "time", "limit_s": LIMIT_S}
    except Exception as error:  # noqa: BLE001  TensorFlow may raise anything; the model is there all the same
        return _missing(f"{type(error).__name__}: {error}")


def _by_a_second_process(result: Path, to: Path) -> dict[str, object]:
    environment = ownpython.environment() | {
        "KERAS_BACKEND": next(one.id for one in frameworks.all_frameworks() if one.writes_saved_model),
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
    command = ownpython.module(sys.executable, __name__, "--result", result.absolute(), "--to", to.absolute())
    done = subprocess.run(
        command,
        cwd=ownpython.NEUTRAL_FOLDER,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode == 0:
        return {}
    return _missing(done.stdout.decode(errors="replace")) | {"code": done.returncode}


def _missing(said: str) -> dict[str, object]:
    print(said[-_LOGGED:], file=sys.stderr)  # for the run's log
    last = (said.strip().splitlines() or ["it ended without a word"])[-1]
    return {"why": "disk" if FULL in said.lower() else "failed", "raw": last[:_RAW]}


def export(model: Any, to: Path, card: Mapping[str, Any]) -> None:
    """Write *model*, which runs in TensorFlow, with the input that its card tells of and any number of examples."""
    told = card["input"]
    model.export(
        str(to),
        format="tf_saved_model",
        verbose=False,
        input_signature=[keras.InputSpec(dtype=told["dtype"], shape=tuple(told["shape"]), name="input")],
    )


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="savedmodel")
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--to", type=Path, required=True)
    asked = parser.parse_args(argv)
    card = files.read_card(asked.result)
    consent = files.own_sha256(card)  # given before the run that has just ended
    export(loading.load(asked.result, consent=consent), asked.to, card)
    return 0


if __name__ == "__main__":
    leaving.run(lambda: main(sys.argv[1:]))
