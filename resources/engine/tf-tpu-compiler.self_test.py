"""Prove that TensorFlow's TPU lowering works: run by its own Python, nothing of ours imported.

Lowers a small function for a TPU, and has an operation refused that no TPU has; no TPU and no network are used. Says
`testing N of M: part` before each part; the last line is one JSON object with versions and seconds.
"""

import json
import os
import platform
import time
from importlib.metadata import version

# Without a libtpu to load TensorFlow takes the processor; its TPU lowering is in its own library.
os.environ.update(
    TPU_LIBRARY_PATH="/nonexistent", TPU_SKIP_MDS_QUERY="1", TF_CPP_MIN_LOG_LEVEL="3", KERAS_BACKEND="tensorflow"
)
PARTS = ["tensorflow-tpu", "keras", "safetensors", "libtpu"]


def tensorflow_tpu() -> None:
    import tensorflow as tf

    def lowered(function):  # type: ignore[no-untyped-def]
        spec = tf.TensorSpec((8, 8), tf.float32)
        return tf.function(function, autograph=False, jit_compile=True).experimental_get_compiler_ir(spec)(
            stage="stablehlo", platform_name="TPU"
        )

    assert "stablehlo.dot" in lowered(lambda a: tf.matmul(a, a))
    try:
        lowered(lambda a: tf.strings.length(tf.strings.as_string(a)))
    except Exception as error:
        if "AsString" not in str(error):
            raise
    else:
        raise AssertionError("strings were lowered for a TPU")


def keras() -> None:
    import keras
    import numpy as np

    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, kernel_initializer="ones")])
    np.testing.assert_allclose(model(np.ones((1, 3), "float32")), [[3.0, 3.0]])


def safetensors() -> None:
    import safetensors.numpy  # noqa: F401


def libtpu() -> None:
    import importlib.util

    found = importlib.util.find_spec("libtpu")
    assert found is not None and found.submodule_search_locations
    library = os.path.join(next(iter(found.submodule_search_locations)), "libtpu.so")
    assert os.path.getsize(library) > 100_000_000, library


def main() -> None:
    told = {"python": platform.python_version(), "seconds": {}}
    for number, part in enumerate(PARTS, start=1):
        print(f"testing {number} of {len(PARTS)}: {part}", flush=True)
        started = time.perf_counter()
        told[part] = version(part)
        globals()[part.replace("-", "_")]()
        told["seconds"][part] = round(time.perf_counter() - started, 2)
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
