"""`check` of GPT-2 small with its vocabulary of 50,257 as it is planned by "auto", by the TPU compiler at full effort.

The bound on MFU: low where a chip computes and moves one after the other, high where both overlap perfectly; kernels
count by their formulas. Bytes a token stand beside those of the program without kernel (`plain_program`), compiled in
the same run at the same effort.
Needs the TPU compiler's environment (`engine --install --with tpu-compiler --accept-licence`); says so without it.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import apart

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tpu_studio.data.look import look  # noqa: E402
from tpu_studio.domain.jobfile import load  # noqa: E402
from tpu_studio.local.engine import compiler, engine_root  # noqa: E402
from tpu_studio.planner.make import make_plan  # noqa: E402
from tpu_studio.wire.job import set_values  # noqa: E402
from tpu_studio.wire.plan import Plan  # noqa: E402

make_golden: Any = importlib.import_module("tools.make_golden")
TOKENS = 1024
# Slice: bound on MFU to reach, low and high.
GOALS = {"v5litepod-8": (0.40, 0.62), "v6e-8": (0.25, 0.33)}


def run() -> list[dict[str, Any]]:
    if not compiler(engine_root()).state().is_ready:
        return [{"name": "no TPU compiler on this computer: nothing to measure", "passed": None}]
    return [figure for accelerator in GOALS for figure in _of(accelerator)]


def _of(accelerator: str) -> Iterator[dict[str, Any]]:
    told = checked(accelerator)
    train, batch, chips = told["programs"]["train"], told["batch"], int(accelerator.rpartition("-")[2])
    if train["effort"] != "full":
        raise RuntimeError(f"compiled with the effort {train['effort']}")
    what = f"GPT-2 small, {accelerator}, batch {batch}"
    for which, bound, goal in zip(("serial", "overlapped"), train["mfu_bound"], GOALS[accelerator], strict=True):
        yield {
            "name": f"{what}: bound on MFU, {which}",
            "ours": bound * 100,
            "unit": "%",
            "goal": f"at least {goal:.0%}",
            "passed": bound >= goal,
        }
    a_token = train["bytes_accessed"] / (batch / chips * TOKENS)
    if accelerator == "v5litepod-8":
        plain = plain_program(accelerator, batch)
        before = plain["traffic_bytes"] / (batch / chips * TOKENS)
        yield {
            "name": f"{what}: memory traffic a token, against the program without kernel",
            "ours": a_token / 1e6,
            "peer": before / 1e6,
            "unit": "MB",
            "ratio": a_token / before,
            "goal": "at most 0.5",
            "passed": a_token <= 0.5 * before,
        }
        yield {
            "name": f"{what}: memory of a chip, against the program without kernel",
            "ours": train["memory_bytes"] / 2**30,
            "peer": plain["device_bytes"] / 2**30,
            "unit": "GiB",
            "ratio": train["memory_bytes"] / plain["device_bytes"],
        }
    yield {
        "name": f"{what}: memory of a chip, of {train['capacity_bytes'] / 2**30:.2f} GiB",
        "ours": train["memory_bytes"] / 2**30,
        "unit": "GiB",
        "passed": bool(train["fits"]),
    }


def plain_program(accelerator: str, batch: int) -> dict[str, Any]:
    """What the compiler says of the step without attention kernel, filled tiles, and scores a few at a time."""
    plan = gpt(accelerator, {"vocabulary": 50_257}, {"training.global_batch": batch})
    plain = replace(plan, table_rows=0, scored_at_once=0)
    program = (str(Path(__file__).with_name("plain_program.py")),)
    told: dict[str, Any] = make_golden.ask_of(plain, (batch,), full=True, program=program)[0]
    return told


def gpt(accelerator: str, options: dict[str, int], settings: dict[str, Any]) -> Plan:
    """The plan of the shipped GPT with *options* and *settings*."""
    job = load(make_golden.EXAMPLES / "gpt-124m.tpujob")
    job = set_values(job, {"model.options": options, "where.accelerator": accelerator, **settings})
    return make_plan(job, look(job), now=1.0)


def checked(accelerator: str, more: Mapping[str, Any] | None = None) -> Any:
    """What `tpu-studio check --json` says of the shipped example with GPT-2's vocabulary, and *more* settings."""
    text = (ROOT / "resources" / "examples" / "gpt-124m.tpujob").read_text("utf-8")
    with tempfile.TemporaryDirectory() as home:
        job = Path(home) / "gpt-124m.tpujob"
        job.write_text(text.replace('name = "gpt-124m"     #', 'name = "gpt-124m"\noptions = { vocabulary = 50257 } #'))
        data = ROOT / "resources" / "samples" / "shakespeare" / "shakespeare.txt"
        settings = [f"where.accelerator={accelerator}", f"data.path={data}"]
        settings += [f"{name}={value}" for name, value in (more or {}).items()]
        done = subprocess.run(
            [sys.executable, "-m", "tpu_studio", "check", str(job), "--json"]
            + [part for setting in settings for part in ("--set", setting)],
            env=apart.environment() | {"TPU_STUDIO_HOME": home, "TPU_STUDIO_ENGINE": str(engine_root())},
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr[-500:])
    told = json.loads(done.stdout)
    if "train" not in told["programs"]:
        raise RuntimeError(f"nothing was compiled: {told['checks']}")
    return told


if __name__ == "__main__":
    for one in run():
        print(one)
