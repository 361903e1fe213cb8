"""What a saved model of ours is made of, and no other is: Keras' description of one is read before Keras builds it.

Keras' safe mode knows what is dangerous by name (3.15), and a class under the name of a function, or an argument that
is a path, passes it: TensorFlow then runs what lies there. Here each class stands in `MADE_OF`, which is what the
builders of ``trainer.models`` use, and each word and argument is one that they write. A model of the person's own is
built by its own file instead. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from tpu_studio.wire.pretrained import description

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
            *("Rescaling", "Reshape", "ReversibleEmbedding", "RMSNormalization", "UnitNormalization", "ZeroPadding1D"),
            "ZeroPadding2D",
        }
    ),
    "keras.src.ops.core": frozenset({"Cast"}),
    "keras.src.ops.nn": frozenset({"Gelu", "Silu", "Softmax"}),
    "keras.src.ops.numpy": frozenset(
        {
            *("Add", "Concatenate", "Cos", "Cumsum", "Divide", "ExpandDims", "GetItem", "Greater", "Less", "LogicalOr"),
            *("Matmul", "Maximum", "Multiply", "OnesLike", "Pad", "Reshape", "Sin", "Split", "Subtract", "Sum"),
            *("Transpose", "TrueDivide", "ZerosLike"),
        }
    ),
    None: frozenset({"__keras_tensor__", "__slice__"}),
}
ACTIVATIONS = frozenset((*description.ACTIVATIONS, "softmax"))
_FLOATS = frozenset({"float32", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16"})
_TYPES = _FLOATS | {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"}
_WORDS = {"padding": {"valid", "same"}, "data_format": {"channels_last", "channels_first"}, "mode": {"constant"}}
_NEVER = ("_regularizer", "_constraint", "quantization_config")
_LAYERS = 5_000  # and operations: GPT of 96 blocks has some three thousand
_LATE = 64  # that take what a later one gives: two tables of places, asked in turn
_GIVEN = 100  # arguments of a call
_AGAIN = 16  # calls of layers that were called before
_SUMS = 16  # running ones, each of which is a program of its own to compile; language models have one
_AXES = 100  # of all that a layer takes at once
_PADDED, _PIECES = 1_000, 64  # places around a picture, and pieces that something is cut into


def check(tree: Mapping[str, Any]) -> None:
    """*tree*: Keras' description of a model (`config.json`).

    Raises:
        ValueError: It is made of anything else; one sentence.
    """
    if tree.get("class_name") != "Functional":
        raise ValueError("it is no model of layers that are known here")
    if tree.get("compile_config"):
        raise ValueError("it is to be compiled")
    left, sums, shared = _LAYERS, 0, dict[object, object]()
    for part in _objects({name: tree.get(name) for name in ("module", "class_name", "registered_name", "config")}):
        if "class_name" in part:
            _check_class(part)
            sums += part["class_name"] == "Cumsum"
            if shared.setdefault(id := part.get("shared_object_id"), name := part["class_name"]) != name and id:
                raise ValueError("one object of it is of two kinds")
        if "inbound_nodes" in part:
            left -= max(1, len(_list(part["inbound_nodes"])))
            _check_called(part)
        if left < 0:
            raise ValueError(f"it has more than {_LAYERS:,} layers")
        if sums > _SUMS:
            raise ValueError(f"it has more than {_SUMS} running sums")
        if part.get("class_name") == "Functional":
            _check_order(part["config"])
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
    if name == "__slice__" and any(one is not None and type(one) is not int for one in config.values()):
        raise ValueError("a slice of it has no numbers for ends")
    if name == "DTypePolicy":
        _check_word("dtype", str(config.get("name")))


def _check_called(part: Mapping[str, Any]) -> None:
    """What is called without any tensor is worked out at once, whatever it takes: layers and models get tensors alone,
    operations one at least. A model is called once."""
    whole = part.get("module") != "keras.layers" and part.get("class_name") != "Functional"
    nodes = _list(part.get("inbound_nodes"))
    if part.get("class_name") == "Functional" and len(nodes) > 1:
        raise ValueError("a model in it is called twice")
    for node in nodes:
        given = node if isinstance(node, dict) else {}
        leaves, more = (list(islice(_arguments(given.get(name)), _GIVEN + 1)) for name in ("args", "kwargs"))
        if len(leaves) + len(more) > _GIVEN:
            raise ValueError("a layer of it is called with more than any of a model's")
        tensors = [one for one in leaves if isinstance(one, dict) and one["class_name"] == "__keras_tensor__"]
        if not tensors or (not whole and len(tensors) != len(leaves)):
            raise ValueError("a layer of it is called with something else than what another one gives")
        if set(given) - {"args", "kwargs"} or any(isinstance(one, str) for one in (*leaves, *more)):
            raise ValueError("a layer of it is called with a word")
        if any(isinstance(one, dict) for one in more):
            raise ValueError("a layer of it is called with a tensor by its name")


def _check_order(config: Mapping[str, Any]) -> None:
    """Each layer takes what one before it gives: in another order Keras goes through all of them again and again."""
    seen, again, late = set[str](), 0, 0
    for one in _list(config.get("layers")):
        layer = one if isinstance(one, dict) else {}
        nodes = _list(layer.get("inbound_nodes"))
        again += max(0, len(nodes) - 1)
        if again > _AGAIN:
            raise ValueError("its layers are called again and again")
        for inner in _objects(nodes[:1]):  # a table of tokens is asked once more, behind all blocks
            history = inner.get("keras_history")
            late += history is not None and (not isinstance(history, list) or not set(map(str, history[:1])) <= seen)
            if late > _LATE:
                raise ValueError("layers of it take what none before them gives")
        name = layer.get("name")
        if not isinstance(name, str) or name in seen:
            raise ValueError("two layers of it have one name")
        seen.add(name)


def _arguments(tree: object) -> Iterator[object]:
    """What is in *tree*, tensors and slices as wholes."""
    if isinstance(tree, dict):
        if "class_name" in tree:
            yield tree
        else:
            for one in tree.values():
                yield from _arguments(one)
    elif isinstance(tree, list):
        for one in tree:
            yield from _arguments(one)
    else:
        yield tree


def _check_word(name: str, value: object) -> None:
    if name in ("padding", "pad_width", "cropping") and any(not _is_size(one, _PADDED) for one in _flat(value)):
        raise ValueError(f"a “{name}” of it is larger than any picture's")
    if name == "indices_or_sections" and not _is_cut(value):
        raise ValueError("it is cut into more pieces than any model's")
    if name.endswith("shape") and len(_flat(value)) > _AXES:
        raise ValueError(f"a “{name[:60]}” of it has more axes than any layer's")
    if name == "compile_config" and value:
        raise ValueError("a model in it is to be compiled")
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


def _flat(value: object) -> list[object]:
    """Numbers of lists in lists; of words, which stand for a way of padding, nothing."""
    if isinstance(value, list):
        return [inner for one in value for inner in _flat(one)]
    return [] if value is None or isinstance(value, str) else [value]


def _is_cut(value: object) -> bool:
    """Into so many pieces, or at so few places."""
    return _is_size(value) or (isinstance(value, list) and len(value) <= _PIECES)


def _is_size(value: object, most: int = _PIECES) -> bool:
    return type(value) is int and 0 <= value <= most
