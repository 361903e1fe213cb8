"""Run in the engine with 8 processors that stand for chips: programs as they would be traced on a TPU.

With `few` or `more` of the variants. Prints, for steps cut into parts, FLOPs (of one part: a loop's inside is counted
once), temporary bytes of a device and what the steps gave; how wide evaluation and training are; what attention layers
come to.
"""

from __future__ import annotations

import functools
import gc
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] += " --xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "models"))
from programs_plans import PICTURES, ROWS, TEXT, plan

from tpu_studio.trainer import backend, recipe, state
from tpu_studio.trainer.check.standing_in import as_on_a_tpu
from tpu_studio.trainer.frameworks import without_tensorflow
from tpu_studio.trainer.models import attention, build
from tpu_studio.trainer.models.widest import widest
from tpu_studio.trainer.step_jax import JaxSteps
from tpu_studio.trainer.work.walk import inner

BATCH, INPUTS, WIDTH, STEPS = 2048, 32, 64, 3


def made(parts: int, devices: int, *, sharded: bool = False) -> JaxSteps:
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    x = inputs = keras.Input((INPUTS,))
    for _ in range(4):
        x = keras.layers.Dense(WIDTH, activation="gelu")(x)
    model = keras.Model(inputs, keras.layers.Dense(10)(x))
    constants = recipe.Recipe("classification", accumulate=parts)
    return JaxSteps(model, constants, state.layout(model, constants), devices=devices, sharded=sharded)


def told(parts: int, devices: int, *, sharded: bool = False) -> dict[str, Any]:
    steps = made(parts, devices, sharded=sharded)
    numbers = np.random.default_rng(0)
    stack = {
        "x": numbers.normal(size=(STEPS, BATCH, INPUTS)).astype(np.float32),
        "y": numbers.integers(0, 10, (STEPS, BATCH)).astype(np.int32),
    }
    rates = np.full(STEPS, 1e-2, np.float32)
    placed = steps._placed(stack, steps._by_stacked_example)
    compiled = steps._many.lower(steps._state, placed, jnp.array(rates), np.int32(0), np.int32(STEPS)).compile()
    begin = steps.snapshot()
    loss = steps.fetch(steps.train(stack, rates, 0, STEPS))["loss"]
    ended = steps.snapshot()
    return {
        "flops": compiled.cost_analysis()["flops"],
        "temporary_bytes": compiled.memory_analysis().temp_size_in_bytes,
        "loss": [float(value) for value in loss],
        "same_when_resumed": same(ended, resumed(steps, begin, stack, rates)),
    }


def resumed(steps: JaxSteps, begin: state.Arrays, stack: dict[str, Any], rates: Any) -> state.Arrays:
    """The state after the same steps, with a copy written and read again after the first."""
    steps.restore(begin)
    steps.fetch(steps.train(stack, rates, 0, 1))
    steps.restore(steps.snapshot())
    rest = {name: np.concatenate([array[1:], array[:1]]) for name, array in stack.items()}
    steps.fetch(steps.train(rest, rates, 1, STEPS - 1))
    return steps.snapshot()


def same(one: state.Arrays, other: state.Arrays) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one)


TOKENS, ANSWERS, EXAMPLES, LABELS = 64, 50_000, 5000, 10
GPT = {"layers": 2, "width": 64, "heads": 4, "vocabulary": ANSWERS}


def unseen() -> dict[str, Any]:
    """Bytes of the widest array that is made in training and in evaluation of a GPT; what models say of themselves."""
    text = {**TEXT, "outputs": ANSWERS}
    planned = plan("gpt-nano", text, options=GPT, global_batch=8, accumulate=2)
    model = build(planned, text)
    constants = recipe.Recipe("language-model", accumulate=2)
    steps = JaxSteps(model, constants, state.layout(model, constants), devices=1)
    found = {}
    for name, count in (("train", 8), ("evaluate", backend.evaluation_batch(planned, model, EXAMPLES))):
        batch = {"x": np.zeros((count, TOKENS), np.int32), "y": np.zeros((count, TOKENS), np.int32)}
        if name == "train":
            jaxpr = jax.make_jaxpr(steps._one)(steps._state, batch, 1e-3, 1.0)
        else:
            held = steps._state[: -2 * len(model.trainable_variables)]
            jaxpr = jax.make_jaxpr(steps.run_evaluate)(held, batch | {"weight": np.ones(count, np.float32)})
        found[name] = max(math.prod(one.aval.shape) * 4 for one in made_by(jaxpr.jaxpr))
    seen = {"gpt-nano": widest(model)}
    for named, description in (("small-cnn", PICTURES), ("mlp", ROWS)):
        seen[named] = widest(build(plan(named, description), description))
    return {"bytes": found, "widest": seen | {"own": widest(attending({}, {}))}}


def made_by(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield from equation.outvars
        for one in inner(equation):
            yield from made_by(one)


WORDS, POSITIONS = 16, 128
MORE = ("causal", "masked")
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "causal": ({}, {"use_causal_mask": True}),
    "masked": ({"mask_zero": True}, {}),
    "masked and causal": ({"mask_zero": True}, {"use_causal_mask": True}),
    "asks for the kernel": ({}, {"flash_attention": True}),
}


class OwnAttention(keras.layers.Layer):
    """As a person writes it: masked where the layer before says so, causal too."""

    supports_masking = True

    def build(self, shape: Any) -> None:
        self.mix = self.add_weight(shape=(shape[-1], 3 * shape[-1]), initializer="glorot_uniform", name="mix")

    def call(self, x: Any, mask: Any = None) -> Any:
        query, key, value = keras.ops.split(x @ self.mix, 3, axis=-1)
        scores = query @ keras.ops.swapaxes(key, -1, -2) / x.shape[-1] ** 0.5
        seen = keras.ops.tril(keras.ops.ones((x.shape[1], x.shape[1]), bool))[None]
        if mask is not None:
            seen = keras.ops.logical_and(seen, mask[:, None, :])
        return keras.ops.softmax(keras.ops.where(seen, scores, -1e9)) @ value


def attending_by_own(masked: bool) -> keras.Model:
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    ids = keras.Input((POSITIONS,), dtype="int32")
    x = keras.layers.Embedding(WORDS, 64, embeddings_initializer="normal", mask_zero=masked)(ids)
    return keras.Model(ids, keras.layers.Dense(LABELS)(OwnAttention()(x)[:, -1]))


def attending(embedding: dict[str, Any], calling: dict[str, Any]) -> keras.Model:
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    ids = keras.Input((POSITIONS,), dtype="int32")
    x = keras.layers.Embedding(WORDS, 128, embeddings_initializer="normal", **embedding)(ids)
    kernel = {name: calling[name] for name in calling if name == "flash_attention"}
    rest = {name: calling[name] for name in calling if name not in kernel}
    x = keras.layers.MultiHeadAttention(2, 64, **kernel)(x, x, **rest)
    return keras.Model(ids, keras.layers.Dense(LABELS)(x[:, 0]))


def attended(variants: Iterable[str]) -> dict[str, Any]:
    """Each variant on a processor as Keras has it, then as it is traced on a TPU, on one device and on eight."""
    ids = np.random.default_rng(2).integers(0, WORDS, (8, POSITIONS)).astype(np.int32)
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("batch",))
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
    found: dict[str, Any] = {}
    wanted = {}
    for name in {"plain", *variants}:
        embedding, calling = VARIANTS[name]
        plain = {key: value for key, value in calling.items() if key != "flash_attention"}
        wanted[name] = np.asarray(attending(embedding, plain)(ids))
    makers = {name: functools.partial(attending, *each) for name, each in VARIANTS.items() if name in variants}
    makers["own layer"] = functools.partial(attending_by_own, True)
    wanted["own layer"] = np.asarray(attending_by_own(True)(ids))
    unlike = {"own layer": np.asarray(attending_by_own(False)(ids))}
    with as_on_a_tpu():
        found["Keras alone"] = {"kernels": kernels(attending({}, {}), ids)}
    attention.keep_plain()
    for name, make in makers.items():
        with as_on_a_tpu():
            model = make()  # it clears the session, as a person's file may
            call = jax.jit(model)
            one, eight = np.asarray(call(ids)), np.asarray(call(jax.device_put(ids, spread)))
            found[name] = {
                "kernels": kernels(model, ids),
                "one": float(np.abs(one - wanted[name]).max()),
                "eight": float(np.abs(eight - wanted[name]).max()),
                "differs": float(np.abs(wanted[name] - unlike.get(name, wanted["plain"])).max()),
            }
    return found


def kernels(model: keras.Model, ids: Any) -> int:
    return str(jax.make_jaxpr(lambda x: model(x))(ids)).count("pallas_call")


def held(*, sharded: bool = False) -> dict[str, Any]:
    """Bytes on the first chip, over those of the weights; whether the model gets its values back."""
    gc.collect()
    before = on_the_first_chip()
    steps = made(1, 8, sharded=sharded)
    model, shape = steps._model, steps._shape
    gc.collect()
    weights = sum(4 * math.prod(one.shape) for one in model.trainable_variables)
    found: dict[str, Any] = {"times": (on_the_first_chip() - before) / weights}
    arrays = steps.snapshot()
    state.put_into_model(model, shape, arrays)
    back = state.initial(model, shape)
    return found | {"back": all(np.array_equal(back[name], arrays[name]) for name in back), "shapes": len(back)}


class Far:
    """An array on a chip; notes when it is sent for and when it is waited for."""

    def __init__(self, noted: list[str]) -> None:
        self._noted = noted

    def copy_to_host_async(self) -> None:
        self._noted.append("sent for")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        self._noted.append("waited for")
        return np.zeros(1)


def copied() -> list[str]:
    steps, noted = made(1, 1), list[str]()
    steps._state = [Far(noted) for _ in steps._state]
    steps.snapshot()
    return noted


def on_the_first_chip() -> int:
    first = jax.devices()[0]
    shards = (shard for array in jax.live_arrays() for shard in array.addressable_shards if shard.device == first)
    return sum({shard.data.unsafe_buffer_pointer(): shard.data.nbytes for shard in shards}.values())


def main(few: bool) -> dict[str, Any]:
    asked = ("plain", "masked and causal", "asks for the kernel") if few else MORE
    answer: dict[str, Any] = {"attention": attended(asked)}
    if few:
        answer["unseen"], answer["copied"] = unseen(), copied()
        answer["held"], answer["held sharded"] = held(), held(sharded=True)
        cases = {"1 parts, 8 chips": told(1, 8), "4 parts, 8 chips": told(4, 8)}
        cases["4 parts, sharded over 8 chips"] = told(4, 8, sharded=True)
    else:
        cases = {"4 parts, 1 chips": told(4, 1), "sharded over 8 chips": told(1, 8, sharded=True)}
    return answer | {"parts": {"1 parts, 1 chips": told(1, 1), **cases}}


assert len(jax.devices()) == 8
with without_tensorflow():
    json.dump(main(sys.argv[1] == "few"), sys.stdout)
print()
