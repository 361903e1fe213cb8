"""What Keras' description of a saved model may name before Keras is asked to build it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.trainer.result.plainmodel import check

Tree = dict[str, Any]


def tensor(layer: str) -> Tree:
    return {
        "class_name": "__keras_tensor__",
        "config": {"shape": [None, 4], "dtype": "float32", "keras_history": [layer, 0, 0]},
    }


def layer(name: str, kind: str, config: Tree, before: str = "") -> Tree:
    nodes = [{"args": [tensor(before)], "kwargs": {}}] if before else []
    return {
        "module": "keras.layers",
        "class_name": kind,
        "config": {"name": name, "dtype": "float32", **config},
        "registered_name": None,
        "name": name,
        "inbound_nodes": nodes,
    }


def model() -> Tree:
    zeros = {"module": "keras.initializers", "class_name": "Zeros", "config": {}, "registered_name": None}
    dense = {"units": 3, "activation": "relu", "kernel_initializer": zeros, "kernel_regularizer": None}
    layers = [layer("input", "InputLayer", {"batch_shape": [None, 4]}), layer("dense", "Dense", dense, "input")]
    config = {"name": "m", "trainable": True, "layers": layers, "input_layers": ["input", 0, 0]}
    named = {"module": "keras.src.models.functional", "class_name": "Functional", "registered_name": "Functional"}
    return {**named, "config": config, "build_config": {"input_shape": None}}


def test_a_model_as_keras_saves_it_passes() -> None:
    check(model())


def changed(change: Callable[[Tree, Tree], object]) -> Tree:
    tree = copy.deepcopy(model())
    change(tree, tree["config"]["layers"][1])
    return tree


ZEROS, ONES = (
    {"module": "keras.initializers", "class_name": one, "config": {}, "registered_name": None}
    for one in ("Zeros", "Ones")
)


def layers_of(count: int, kind: str) -> list[Tree]:
    return [layer(f"{kind} {number}", kind, {}) for number in range(count)]


def backwards(count: int) -> list[Tree]:
    return [layer(f"l{number}", "ReLU", {}, f"l{number + 1}") for number in range(count)]


def hidden() -> Tree:
    cut = {"class_name": "__slice__", "config": {"start": tensor("input"), "stop": None, "step": None}}
    return {"args": [3.0], "kwargs": {"training": cut}}


SIDE_DOOR = {"class_name": "function", "module": "keras.layers", "config": "TFSMLayer", "registered_name": "TFSMLayer"}
HOSTILE: dict[str, Callable[[Tree, Tree], object]] = {
    "a class under the name of a function": lambda m, d: d.update(
        class_name="Lambda", config={"name": "l", "function": SIDE_DOOR, "arguments": {"call_endpoint": "serve"}}
    ),
    "the same as an initializer": lambda m, d: d["config"].update(kernel_initializer=SIDE_DOOR),
    "the same as an argument": lambda m, d: d["inbound_nodes"][0]["args"].append(SIDE_DOOR),
    "the same in a number format": lambda m, d: d["config"].update(dtype=SIDE_DOOR),
    "a layer that runs what a folder holds": lambda m, d: d.update(class_name="TFSMLayer"),
    "a path as an argument": lambda m, d: d["inbound_nodes"][0]["kwargs"].update(inputs="/tmp/saved_model"),
    "a path within a list": lambda m, d: d["inbound_nodes"][0]["args"].append([["/tmp/saved_model"]]),
    "a call that no layer gives anything to": lambda m, d: d.update(inbound_nodes=[{"args": [7], "kwargs": {}}]),
    "a call that is none": lambda m, d: d.update(inbound_nodes=["input"]),
    "another module": lambda m, d: d.update(module="os"),
    "a module that is no word": lambda m, d: d.update(module=["keras.layers"]),
    "another registered name": lambda m, d: d.update(registered_name="theirs>Dense"),
    "an initializer by its name": lambda m, d: d["config"].update(kernel_initializer="TFSMLayer"),
    "a regulariser": lambda m, d: d["config"].update(kernel_regularizer={"class_name": "L2", "config": {}}),
    "a regulariser by its name": lambda m, d: d["config"].update(kernel_regularizer="l2"),
    "an activation that is none": lambda m, d: d["config"].update(activation="theirs"),
    "an activation that is an object": lambda m, d: d["config"].update(activation=SIDE_DOOR),
    "a number format that is none": lambda m, d: d["config"].update(dtype="int8_from_float32"),
    "numbers of eight bytes": lambda m, d: d["config"].update(dtype="float64"),
    "layers that are upsampled": lambda m, d: d.update(class_name="UpSampling2D", config={"size": 150}),
    "a model of another kind": lambda m, d: m.update(class_name="Sequential"),
    "a model of somebody's package": lambda m, d: m.update(module="theirs"),
    "no description of a layer": lambda m, d: d.update(config="Dense"),
    "more calls than any network": lambda m, d: d.update(inbound_nodes=d["inbound_nodes"] * 5_001),
    "more layers than any network": lambda m, d: m["config"]["layers"].extend(layers_of(5_001, "Add")),
    "layers that take what later ones give": lambda m, d: m["config"]["layers"].extend(backwards(70)),
    "layers that are called again and again": lambda m, d: d.update(inbound_nodes=d["inbound_nodes"] * 20),
    "two layers of one name": lambda m, d: d.update(name="input"),
    "a model that is called twice": lambda m, d: d.update(
        module="keras.src.models.functional", class_name="Functional", inbound_nodes=d["inbound_nodes"] * 2
    ),
    "a layer that gets a number beside a tensor": lambda m, d: d["inbound_nodes"][0]["args"].append(3),
    "a tensor that hides in a slice": lambda m, d: d.update(inbound_nodes=[hidden()]),
    "a tensor by its name": lambda m, d: d["inbound_nodes"][0]["kwargs"].update(mask=tensor("input")),
    "a border of a million places": lambda m, d: d.update(class_name="ZeroPadding2D", config={"padding": [10**6] * 2}),
    "a hundred thousand axes": lambda m, d: m["config"]["layers"][0]["config"].update(batch_shape=[None] + [9] * 10**5),
    "as many of a tensor": lambda m, d: d["inbound_nodes"][0]["args"][0]["config"].update(shape=[9] * 10**5),
    "a million pieces": lambda m, d: d.update(
        module="keras.src.ops.numpy", class_name="Split", config={"indices_or_sections": 10**6, "axis": -1}
    ),
    "more running sums than any network": lambda m, d: m["config"]["layers"].extend(
        {**one, "module": "keras.src.ops.numpy"} for one in layers_of(17, "Cumsum")
    ),
    "a model that is to be compiled": lambda m, d: d.update(compile_config={"optimizer": "adam"}),
    "one object of two kinds": lambda m, d: d["config"].update(
        kernel_initializer={**ZEROS, "shared_object_id": 7}, bias_initializer={**ONES, "shared_object_id": 7}
    ),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_what_no_model_of_ours_has_is_refused(how: str) -> None:
    with pytest.raises(ValueError, match=r"it|layer|activation|format|initializer|slice|object"):
        check(changed(HOSTILE[how]))


PLACES = st.sampled_from(["class_name", "module", "registered_name", "config", "inbound_nodes", "name"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("TFSMLayer") | st.just("keras.layers"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLACES | st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(PLACES, VALUES)
def test_whatever_stands_in_it_is_refused_or_names_what_is_known(place: str, value: object) -> None:
    tree = changed(lambda m, d: d.update({place: value}))
    try:
        check(tree)
    except ValueError:
        return
    assert "TFSMLayer" not in json.dumps({"class": tree["config"]["layers"][1].get("class_name")})
    assert all(one in ("keras.layers",) for one in [tree["config"]["layers"][1].get("module")])
