"""`python -m tpu_studio.trainer VERB`: what runs in the training engine's Python.

train --run FOLDER --attempt N --worker W    one attempt of a run; events on stdout, commands on stdin;
  [--workers N --coordinator HOST:PORT]        one of several machines that train one model
time --plan FILE --seconds S [--nice N]      real steps on real data for a short time; one JSON object
inspect --plan FILE                          build the model only; one JSON object
predict --run FOLDER [--serve]               ask a trained model
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tpu_studio.trainer import leaving


def main(argv: list[str]) -> int:
    if argv[:1] == ["predict"]:
        from tpu_studio.trainer import predict

        return int(predict.main(argv[1:]))
    parser = argparse.ArgumentParser(prog="tpu_studio.trainer", description=(__doc__ or "").splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    train = verbs.add_parser("train", help="one attempt of a run")
    train.add_argument("--run", type=Path, required=True)
    train.add_argument("--attempt", type=int, default=1)
    train.add_argument("--worker", type=int, default=0)
    train.add_argument("--workers", type=int, default=1)
    train.add_argument("--coordinator", default="", help="host:port of worker 0's distributed runtime")
    train.add_argument("--data", type=Path, help="where the data stands, if not where the plan says")
    train.add_argument("--model-file", type=Path, help="where the model of one's own stands")
    train.add_argument("--preset", type=Path, help="where the folder stands that the model begins from")
    timing = verbs.add_parser("time", help="how long a step takes")
    timing.add_argument("--plan", type=Path, required=True)
    timing.add_argument("--seconds", type=float, default=5.0)
    timing.add_argument("--nice", type=int, default=0, help="this process and its session give way to others so much")
    inspect = verbs.add_parser("inspect", help="what the model is made of")
    inspect.add_argument("--plan", type=Path, required=True)
    asked = parser.parse_args(argv)
    if asked.verb == "train":
        from tpu_studio.trainer.program import train as run_training

        return run_training(
            asked.run,
            asked.attempt,
            asked.worker,
            moved={"data.path": asked.data, "model.file": asked.model_file, "model.preset": asked.preset},
            workers=asked.workers,
            coordinator=asked.coordinator,
        )
    from tpu_studio.trainer import timing as timing_mode

    if asked.verb == "time":
        return timing_mode.main(asked.plan, asked.seconds, asked.nice)
    return timing_mode.inspect(asked.plan)


if __name__ == "__main__":
    leaving.run(lambda: main(sys.argv[1:]))
