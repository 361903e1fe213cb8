"""Prove that the ONNX exporter's packages work: run by its own Python, nothing of ours imported.

tf2onnx needs the training engine's TensorFlow, so here it is only looked at. Says `testing N of M: part` before each
part; the last line is one JSON object with versions and seconds.
"""

import json
import platform
import time
from importlib.metadata import version
from importlib.util import find_spec

PARTS = ["onnx", "onnxruntime", "tf2onnx"]


def onnx() -> None:
    _model()


def onnxruntime() -> None:
    import numpy as np
    from onnxruntime import InferenceSession

    session = InferenceSession(_model(), providers=["CPUExecutionProvider"])
    (twice,) = session.run(["y"], {"x": np.arange(3, dtype="float32")})
    np.testing.assert_array_equal(twice, [0.0, 2.0, 4.0])


def tf2onnx() -> None:
    assert find_spec("tf2onnx") is not None


def _model() -> bytes:
    """Of one addition: x + x."""
    from onnx import TensorProto, checker, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [None]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "twice", [x], [y])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    checker.check_model(made)
    return made.SerializeToString()


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
