"""A tiny world for practice machines: startup scripts that need no guardian, and an engine that is just a Python.

vms.start(name, machine_spec("n1", steps(every_s=0.01)))
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tpu_studio.practice.settings import Settings
from tpu_studio.practice.vms import MachineSpec

SETTINGS = Settings(folder=Path())  # for its names
EVENTS = "$TPU_STUDIO_VM_ROOT/{name}/run/events"

IDLE = "#!/bin/sh\necho up\nsleep 1000\n"

DAEMONS = """#!/bin/sh
setsid sh -c 'echo setsid $$; sleep 1000; sleep 1' &
sh -c 'sleep 1000 & exec setsid env -i PATH="$PATH" sh -c "sleep 1000; sleep 1" &' &
nohup sh -c 'trap "" TERM HUP INT; while :; do sleep 0.2; done' >/dev/null 2>&1 &
python3 -c '
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.environ.clear()
        time.sleep(1000)
    os._exit(0)
os.wait()
'
echo up
sleep 1000
"""

COUNTS_BOOTS = """#!/bin/sh
echo boot >>"$HOME/boots"
trap 'echo TERM >>"$HOME/signals"' TERM
echo up
while :; do sleep 0.05; done
"""

SAVES = """#!/bin/sh
curl -s -H "Metadata-Flavor: Google" "http://$GCE_METADATA_HOST/computeMetadata/v1/instance/preempted" >"$HOME/saved"
"""
"""A shutdown script."""

DEAF = "#!/bin/sh\ntrap '' TERM\necho up\nwhile :; do sleep 0.05; done\n"


def steps(name: str = "ts-test-a1-t1", every_s: float = 0.02) -> str:
    """Writes an events file as a guardian does, a metric line for each step, and says so when it may write no more."""
    events = EVENTS.format(name=name)
    return f"""#!/bin/sh
mkdir -p "{events}"
step=0
echo up
while :; do
    step=$((step + 1))
    echo "{{\\"t\\":1.0,\\"kind\\":\\"metric\\",\\"step\\":[$step],\\"loss\\":[0.5]}}" >>"{events}/a0001-w000.jsonl" ||
        {{ echo "cannot write"; sleep 1000; }}
    sleep {every_s}
done
"""


def machine_spec(
    node: str, script: str, *, workers: int = 1, chips: int = 8, spot: bool = True, shutdown: str = ""
) -> MachineSpec:
    return MachineSpec(
        resource=f"projects/{SETTINGS.project}/locations/{SETTINGS.zone}/nodes/{node}",
        project=SETTINGS.project,
        zone=SETTINGS.zone,
        node=node,
        accelerator_type=f"v5litepod-{chips}",
        chips=chips,
        topology={8: "2x4", 16: "4x4"}[chips],
        workers=workers,
        service_account=SETTINGS.runner,
        spot=spot,
        metadata={"startup-script": script, "ts-note": "kept as given"}
        | ({"shutdown-script": shutdown} if shutdown else {}),
    )


def make_engine(root: Path) -> Path:
    """What practice machines take for a training engine (`TPU_STUDIO_ENGINE`): this Python, and nothing installed."""
    python = root / "main" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', "utf-8")
    python.chmod(0o755)
    (root / "engine.json").write_text(json.dumps({"format": 1}), "utf-8")
    return root
