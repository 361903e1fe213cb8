"""`check` of GPT-2 small with its vocabulary of 50,257 as it is planned by "auto", by the TPU compiler at full effort.

The bound on MFU: low where a chip computes and moves one after the other, high where both overlap perfectly; kernels
count by their formulas. Bytes a token stand beside those of the program before it had the kernel, at the same effort.
Needs the TPU compiler's environment (`engine --install --with tpu-compiler --accept-licence`); says so without it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apart

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tpu_studio.local.engine import compiler, engine_root  # noqa: E402

TOKENS = 1024
# Slice: bound on MFU to reach, low and high.
GOALS = {"v5litepod-8": (0.40, 0.62), "v6e-8": (0.25, 0.33)}
BEFORE = 141.7e9 / (16 * TOKENS)  # bytes a token of the program before, of 16 sequences a chip: docs/check.md


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
        yield {
            "name": f"{what}: memory traffic a token, against the formula's program",
            "ours": a_token / 1e6,
            "peer": BEFORE / 1e6,
            "unit": "MB",
            "ratio": a_token / BEFORE,
            "goal": "at most 0.5",
            "passed": a_token <= 0.5 * BEFORE,
        }
    yield {
        "name": f"{what}: memory of a chip, of {train['capacity_bytes'] / 2**30:.2f} GiB",
        "ours": train["memory_bytes"] / 2**30,
        "unit": "GiB",
        "passed": bool(train["fits"]),
    }


def checked(accelerator: str) -> Any:
    """What `tpu-studio check --json` says of the shipped example with GPT-2's vocabulary."""
    text = (ROOT / "resources" / "examples" / "gpt-124m.tpujob").read_text("utf-8")
    with tempfile.TemporaryDirectory() as home:
        job = Path(home) / "gpt-124m.tpujob"
        job.write_text(text.replace('name = "gpt-124m"     #', 'name = "gpt-124m"\noptions = { vocabulary = 50257 } #'))
        data = ROOT / "resources" / "samples" / "shakespeare" / "shakespeare.txt"
        settings = (f"where.accelerator={accelerator}", f"data.path={data}")
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
