"""Looks at the GPT family more closely: size, causality, recomputing. Run by test_gpt in each framework."""

from __future__ import annotations

import functools
import gc
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import keras
import numpy as np
from programs_plans import TEXT, plan

from tpu_studio.trainer.frameworks import without_tensorflow
from tpu_studio.trainer.models import build, count_params
from tpu_studio.trainer.models.initial import without_weights

SMALL = {"layers": 2, "width": 32, "heads": 4}


def main() -> None:
    found: dict[str, Any] = {}
    gc.freeze()  # each new model has Keras look through all that the frameworks loaded
    with without_weights():
        big = build(plan("gpt-124m", TEXT, options={"vocabulary": 50_257}), TEXT)
    found["gpt-124m"] = [count_params(big), *big.output.shape[1:]]
    del big
    model = build(plan("gpt-nano", TEXT, options=SMALL), TEXT)
    x = np.random.default_rng(0).integers(0, 256, (8, 64)).astype("int32")
    changed = x.copy()
    changed[:, 40:] = 7
    one, other = model.predict_on_batch(x), model.predict_on_batch(changed)
    found["before"], found["after"] = float(np.abs(one - other)[:, :40].max()), float(np.abs(one - other)[:, 40:].max())
    found["by_hand"] = float(np.abs(by_hand(model, x) - one).max())
    deviations = {weight.path: float(np.std(np.asarray(weight))) for weight in model.weights}
    found["deviations"] = deviations
    kept, again = (
        gradients(build(plan("gpt-nano", TEXT, options={**SMALL, "dropout": 0.2}, rematerialize=remat), TEXT), x)
        for remat in (False, True)
    )
    found["recomputed"] = max(float(np.abs(a - b).max()) for a, b in zip(kept, again, strict=True))
    found["gradient"] = max(float(np.abs(a).max()) for a in kept)
    if keras.backend.backend() == "jax":
        found |= quickened(x)
    print(json.dumps(found))


def quickened(x: np.ndarray[Any, Any]) -> dict[str, float | bool]:
    """Gradients and the saved file as Keras has it and as it is quicker."""
    import jax

    from tpu_studio.trainer.models import quick

    found: dict[str, float | bool] = {}
    for precision in ("float32", "bfloat16"):
        plain = build(plan("gpt-nano", TEXT, options=SMALL, precision=precision), TEXT)
        config, before = plain.to_json(), gradients(plain, x)
        quick.quicken(plain)
        after = gradients(plain, x)
        weights, others = (
            [v.value for v in each] for each in (plain.trainable_variables, plain.non_trainable_variables)
        )
        traced = jax.make_jaxpr(functools.partial(plain.stateless_call, training=True))(weights, others, x)
        found[f"quick_products_{precision}"] = str(traced).count("name=product")
        found[f"quick_{precision}"] = max(
            float(np.abs(a - b).max() / np.abs(a).max())
            for a, b in zip(before, after, strict=True)
            if np.abs(a).max() > 1e-7
        )
        found[f"quick_differs_{precision}"] = any(not np.array_equal(a, b) for a, b in zip(before, after, strict=True))
        found[f"quick_kept_{precision}"] = plain.to_json() == config
    return found


def by_hand(model: keras.Model, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same function in numpy, written from GPT-2's description."""
    w = {weight.path: np.asarray(weight, np.float64) for weight in model.weights}

    def norm(h: Any, name: str) -> Any:
        return (h - h.mean(-1, keepdims=True)) / np.sqrt(h.var(-1, keepdims=True) + 1e-5) * w[f"{name}/gamma"] + w[
            f"{name}/beta"
        ]

    def dense(h: Any, name: str) -> Any:
        return h @ w[f"{name}/kernel"] + w[f"{name}/bias"]

    h = w["tokens/embeddings"][x] + w["positions/embeddings"]
    for block in range(2):
        q, k, v = np.split(dense(norm(h, key(w, block, "attention_norm")), key(w, block, "attention_in")), 3, axis=-1)
        mixed = []
        for head in range(4):
            part = slice(8 * head, 8 * head + 8)
            scores = q[..., part] @ k[..., part].transpose(0, 2, 1) / np.sqrt(8)
            scores[:, np.triu(np.ones((64, 64), bool), 1)] = -np.inf
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            mixed.append(shares / shares.sum(-1, keepdims=True) @ v[..., part])
        h = h + dense(np.concatenate(mixed, -1), key(w, block, "attention_out"))
        inner = dense(norm(h, key(w, block, "mlp_norm")), key(w, block, "mlp_in"))
        inner = 0.5 * inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        h = h + dense(inner, key(w, block, "mlp_out"))
    return norm(h, "norm") @ w["tokens/embeddings"].T  # type: ignore[no-any-return]


def key(weights: dict[str, Any], block: int, layer: str) -> str:
    (found,) = {path.rpartition("/")[0] for path in weights if f"block_{block}_{layer}/" in path}
    return found


def gradients(model: keras.Model, x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    weights = [np.asarray(variable) for variable in model.trainable_variables]
    others = [np.asarray(variable) for variable in model.non_trainable_variables]

    def loss(weights: Any, others: Any) -> Any:
        logits, _ = model.stateless_call(weights, others, x, training=True)
        return keras.ops.mean(keras.ops.square(logits))

    if keras.backend.backend() == "jax":
        import jax

        return [np.asarray(gradient) for gradient in jax.jit(jax.grad(loss))(weights, others)]
    import tensorflow as tf

    @tf.function(jit_compile=True)
    def run(weights: Any, others: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(weights)
            value = loss(weights, others)
        return [tf.convert_to_tensor(gradient) for gradient in tape.gradient(value, weights)]

    return [gradient.numpy() for gradient in run([tf.constant(a) for a in weights], [tf.constant(a) for a in others])]


with without_tensorflow():
    main()
