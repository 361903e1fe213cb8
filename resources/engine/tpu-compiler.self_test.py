"""Prove that the TPU compiler's environment works: run by its own Python, nothing of ours imported.

Compiles a small program for one v6e chip; no TPU and no network are used. Says `testing N of M: part` before each
part; the last line is one JSON object with versions and seconds.
"""

import json
import os
import platform
import time
from importlib.metadata import version

os.environ.update(
    JAX_PLATFORMS="cpu",
    TPU_SKIP_MDS_QUERY="1",
    TPU_WORKER_HOSTNAMES="localhost",
    TPU_WORKER_ID="0",
    TPU_ACCELERATOR_TYPE="v6e-1",
    ALLOW_MULTIPLE_LIBTPU_LOAD="1",
    TPU_MIN_LOG_LEVEL="3",
    KERAS_BACKEND="jax",
)
PARTS = ["jax", "keras", "safetensors", "libtpu"]


def jax() -> None:
    import jax
    import jax.numpy as jnp
    import numpy as np

    slope = jax.jit(jax.grad(lambda x: jnp.sum(x**3)))(jnp.arange(4.0))
    np.testing.assert_allclose(slope, [0.0, 3.0, 12.0, 27.0])


def keras() -> None:
    import keras
    import numpy as np

    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, kernel_initializer="ones")])
    np.testing.assert_allclose(model(np.ones((1, 3), "float32")), [[3.0, 3.0]])


def safetensors() -> None:
    import safetensors.numpy  # noqa: F401


def libtpu() -> None:
    import jax
    import jax.numpy as jnp
    from jax.experimental import topologies
    from jax.sharding import SingleDeviceSharding

    described = topologies.get_topology_desc(platform="tpu", topology_name="v6e:1x1", chips_per_host_bounds=(1, 1, 1))
    a = jax.ShapeDtypeStruct((256, 256), jnp.float32, sharding=SingleDeviceSharding(described.devices[0]))
    compiled = jax.jit(lambda a: a @ a).lower(a).compile()
    assert compiled.memory_analysis().argument_size_in_bytes == 256 * 256 * 4


def main() -> None:
    told = {"python": platform.python_version(), "seconds": {}}
    for number, part in enumerate(PARTS, start=1):
        print(f"testing {number} of {len(PARTS)}: {part}", flush=True)
        started = time.perf_counter()
        told[part] = version(part)
        globals()[part]()
        told["seconds"][part] = round(time.perf_counter() - started, 2)
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
