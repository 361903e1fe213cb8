"""Prove that a new training engine works: run by its own Python, nothing of ours imported.

Says `testing N of M: part` before each part; the last line is one JSON object with versions and seconds. An
exception ends it with its traceback, and the engine does not count.
"""

import json
import os
import platform
import tempfile
import time
from importlib.metadata import version

PARTS = ["tensorflow", "jax", "keras", "grain", "safetensors"]


def tensorflow() -> None:
    import numpy as np
    import tensorflow as tf

    @tf.function(jit_compile=True)
    def product(a_MxK: tf.Tensor, b_KxN: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.matmul(a_MxK, b_KxN))

    ones = tf.ones((8, 8))
    np.testing.assert_allclose(product(ones, ones), 8.0 * 8 * 8)


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
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        again = keras.saving.load_model(path, safe_mode=True)
    np.testing.assert_allclose(again(np.ones((1, 3), "float32")), [[3.0, 3.0]])


def grain() -> None:
    import grain
    import numpy as np

    batches = list(grain.MapDataset.source(range(10)).shuffle(seed=0).batch(5))
    assert sorted(np.concatenate(batches).tolist()) == list(range(10)), batches


def safetensors() -> None:
    import numpy as np
    from safetensors.numpy import load_file, save_file

    weights = {"w": np.arange(6, dtype=np.float32).reshape(2, 3)}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "state.safetensors")
        save_file(weights, path)
        np.testing.assert_array_equal(load_file(path)["w"], weights["w"])


def main() -> None:
    # Versions first: an installed package without its metadata is broken too.
    names = {"tensorflow": "tensorflow-cpu"}
    told = {"python": platform.python_version(), "seconds": {}}
    for number, part in enumerate(PARTS, start=1):
        print(f"testing {number} of {len(PARTS)}: {part}", flush=True)
        started = time.perf_counter()
        told[part] = version(names.get(part, part))
        globals()[part]()
        told["seconds"][part] = round(time.perf_counter() - started, 2)
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
