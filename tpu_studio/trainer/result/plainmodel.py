"""What a saved model of ours is made of, and no other is: Keras' description of one is read before Keras builds it.

Keras' safe mode knows what is dangerous by name (3.15), and a class under the name of a function, or an argument that
is a path, passes it: TensorFlow then runs what lies there. Here each class stands in `MADE_OF`, which is what the
builders of ``trainer.models`` use, and each word and argument is one that they write. A model of the person's own is
built by its own file instead. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MADE_OF: Mapping[str | None, frozenset[str]] = {
    "keras": frozenset({"DTypePolicy"}),
    "keras.src.models.functional": frozenset({"Functional"}),
    "keras.initializers": frozenset(
        {"GlorotUniform", "HeNormal", "Ones", "RandomNormal", "RandomUniform", "TruncatedNormal", "Zeros"}
    ),
    "keras.layers": frozenset(
        {
            *("Activation", "Add", "AveragePooling2D", "BatchNormalization", "Concatenate", "Conv2D", "Cropping1D"),
            *("Dense", "DepthwiseConv2D", "Dropout", "Embedding", "Flatten", "GlobalAveragePooling1D"),
            *("GlobalAveragePooling2D", "InputLayer", "LayerNormalization", "MaxPooling2D", "Multiply", "ReLU"),
            *("Rescaling", "Reshape", "ReversibleEmbedding", "UnitNormalization", "ZeroPadding1D", "ZeroPadding2D"),
        }
    ),
    "keras.src.ops.core": frozenset({"Cast"}),
    "keras.src.ops.nn": frozenset({"Gelu", "Silu", "Softmax"}),
    "keras.src.ops.numpy": frozenset(
        {
            *("Add", "Cumsum", "Divide", "ExpandDims", "GetItem", "Greater", "Matmul", "Maximum", "Multiply"),
            *("OnesLike", "Pad", "Reshape", "Split", "Subtract", "Sum", "Transpose", "TrueDivide", "ZerosLike"),
        }
    ),
    None: frozenset({"__keras_tensor__", "__slice__"}),
}
ACTIVATIONS = frozenset(
    {
        *("elu", "gelu", "hard_sigmoid", "hard_silu", "hard_swish", "leaky_relu", "linear", "mish", "relu", "relu6"),
        *("selu", "sigmoid", "silu", "softmax", "softplus", "swish", "tanh"),
    }
)
_FLOATS = frozenset({"float32", "float16", "bfloat16", "float64", "mixed_float16", "mixed_bfloat16"})
_TYPES = _FLOATS | {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"}
_WORDS = {"padding": {"valid", "same"}, "data_format": {"channels_last", "channels_first"}, "mode": {"constant"}}
_NEVER = ("_regularizer", "_constraint", "quantization_config")
_NODES = 40_000  # of the largest network, 400 blocks of some forty layers and operations


def check(tree: Mapping[str, Any]) -> None:
    """*tree*: Keras' description of a model (`config.json`).

    Raises:
        ValueError: It is made of anything else; one sentence.
    """
    if tree.get("class_name") != "Functional":
        raise ValueError("it is no model of layers that are known here")
    left = _NODES
    for part in _objects({name: tree.get(name) for name in ("module", "class_name", "registered_name", "config")}):
        if "class_name" in part:
            _check_class(part)
        for node in _list(part.get("inbound_nodes")):
            left -= 1
            _check_node(node)
        if left < 0:
            raise ValueError(f"it has more than {_NODES:,} layers")
        for name, value in part.items():
            _check_word(str(name), value)


def _check_class(part: Mapping[str, Any]) -> None:
    module, name, registered = part.get("module"), part.get("class_name"), part.get("registered_name")
    known = MADE_OF.get(module) if module is None or isinstance(module, str) else None
    if known is None or not isinstance(name, str) or name not in known or registered not in (None, name):
        raise ValueError(f"it has “{str(module)[:60]}.{str(name)[:60]}”, which no model of ours has")
    config = part.get("config")
    if not isinstance(config, dict):
        raise ValueError(f"a “{name}” of it is not described")
    if name == "DTypePolicy":
        _check_word("dtype", str(config.get("name")))


def _check_node(node: object) -> None:
    """What is called without any tensor is worked out at once, whatever it takes."""
    given = node if isinstance(node, dict) else {}
    inner = _objects([given.get("args"), given.get("kwargs")])
    if not any(one.get("class_name") == "__keras_tensor__" for one in inner):
        raise ValueError("a layer of it is called with something else than what another one gives")
    if set(given) - {"args", "kwargs"} or any(isinstance(one, str) for one in _arguments(given)):
        raise ValueError("a layer of it is called with a word")


def _arguments(tree: object) -> Iterator[object]:
    """What is in *tree* but not within a tensor that another layer gives."""
    if isinstance(tree, dict):
        if "class_name" not in tree:
            for one in tree.values():
                yield from _arguments(one)
    elif isinstance(tree, list):
        for one in tree:
            yield from _arguments(one)
    else:
        yield tree


def _check_word(name: str, value: object) -> None:
    if name.endswith(_NEVER) and value is not None:
        raise ValueError(f"a layer of it has a “{name[:60]}”")
    if name == "activation" and not (value is None or (isinstance(value, str) and value in ACTIVATIONS)):
        raise ValueError(f"an activation of it is {str(value)[:60]}")
    if name == "dtype" and isinstance(value, str) and value not in _TYPES:
        raise ValueError(f"a number format of it is “{value[:60]}”")
    if name.endswith("_dtype") and not (value is None or (isinstance(value, str) and value in _TYPES)):
        raise ValueError(f"a number format of it is {str(value)[:60]}")
    if name in _WORDS and isinstance(value, str) and value not in _WORDS[name]:
        raise ValueError(f"a “{name}” of it is “{value[:60]}”")
    if name.endswith("_initializer") and isinstance(value, str):
        raise ValueError(f"a “{name[:60]}” of it is a word")


def _objects(tree: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for one in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _objects(one)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
