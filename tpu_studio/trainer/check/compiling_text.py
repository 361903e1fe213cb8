"""`python -m tpu_studio.trainer.check.compiling_text`: compiles programs that another process lowered, one a line.

Runs in the TPU compiler's environment, for a TensorFlow of another (`lowered`): the two need different versions of
everything. The first line of stdin is the slice (`compiling.Target`); the answer its devices and its limit. Then each
``{"file": StableHLO text, "full": bool, "kept": N}`` is answered with what the compiler said; the first N inputs are
given back as the first N outputs in the same memory, as variables are. ``TPU_LIBRARY_PATH`` chooses the libtpu.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from tpu_studio.trainer.check import compiling


def main() -> int:
    out = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # libtpu may print
    compiling.settle()
    devices: list[object] = []
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if not devices:
                devices = compiling.devices_of(compiling.Target.from_json(asked))
                told: dict[str, object] = {"devices": len(devices), "limit_bytes": compiling.limit_bytes(devices)}
            else:
                told = compiled(Path(asked["file"]), devices[0], full=bool(asked["full"]), kept=int(asked["kept"]))
        except compiling.Damaged as error:
            told = {"problem": str(error), "damaged": True}
        except Exception as error:  # noqa: BLE001  whatever a compiler dislikes is an answer
            told = {"problem": str(error)[: compiling.WORDS]}
        os.write(out, json.dumps(told).encode() + b"\n")
    return 0


def compiled(file: Path, device: Any, *, full: bool, kept: int) -> dict[str, object]:
    """What one device needs for the program in *file*; bytes.

    Raises:
        Exception: of the compiler, about anything but memory.
    """
    import numpy as np
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir

    with mlir.make_ir_context():
        module = ir.Module.parse(file.read_text(encoding="utf-8"))
        functions = {ir.StringAttr(one.attributes["sym_name"]).value: one for one in module.body.operations}
        function = functions["main"]
        integer = ir.IntegerType.get_signless(32)
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [
                ir.DictAttr.get({"tf.aliasing_output": ir.IntegerAttr.get(integer, at)} if at < kept else {})
                for at in range(len(function.regions[0].blocks[0].arguments))
            ]
        )
        options = compiler.get_compile_options(
            1,
            1,
            device_assignment=np.array([[device.id]]),
            env_options_overrides=None if full else dict(compiling.QUICK),
        )
        begun = time.monotonic()
        try:
            made = device.client.compile(module, xla_client.DeviceList((device,)), options)
        except Exception as error:
            needs = compiling.amounts(str(error))
            if needs is None:
                raise
            words = str(error)[: compiling.WORDS]
            return {"fits": False, "needs": needs[0], "seconds": time.monotonic() - begun, "words": words}
    told = made.get_compiled_memory_stats()
    cost = compiling.first_cost(made.cost_analysis())
    return {
        "fits": True,
        "seconds": time.monotonic() - begun,
        "arguments": int(told.argument_size_in_bytes),
        "temporary": int(told.temp_size_in_bytes)
        + max(0, int(told.output_size_in_bytes) - int(told.alias_size_in_bytes)),
        "code": int(told.generated_code_size_in_bytes),
        "peak": int(getattr(told, "peak_memory_in_bytes", 0) or 0),
        "flops": cost.get("flops"),
        "bytes_accessed": cost.get("bytes accessed"),
    }


if __name__ == "__main__":
    sys.exit(main())
