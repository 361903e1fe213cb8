"""Causal language models that somebody has trained before: a Hugging Face folder of the person's, in plain Keras.

Pre-norm blocks with grouped queries (Ainslie et al. 2023), rotary or learned places, and a layer between that is gated
or not, by the traits of `wire.pretrained.decoder`. Only Keras's layers and operations, so the saved file needs no code
of ours. With a rank (`model.lora_rank`) its weights stay as they are, under bfloat16 in two bytes each, and small
matrices beside each product learn (Hu et al. 2021); a result has them added in, in float32 (`merged`).
B examples, T tokens, W width, H heads of queries in K groups, G = H/K, D numbers a head, V vocabulary, N = B·T.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from tpu_studio.trainer.models import initial, plain, pretrained, remat
from tpu_studio.trainer.models.bounded import weights_at_most
from tpu_studio.trainer.models.decoders import read
from tpu_studio.trainer.models.shapes import Shapes
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.pretrained.decoder import Decoder, describe

NOT_SEEN = -1e9  # added to the score of a token that is not looked at
ALPHA = 2.0  # of the rank: what the small matrices give is multiplied with
Tensor = Any


def build(shapes: Shapes, options: Mapping[str, Any], seed: int, plan: Plan) -> keras.Model:
    """Raises ModelError: those of `pretrained.preset_of`."""
    preset = pretrained.preset_of(plan)
    (tokens,) = shapes.input
    network, rank = describe(preset.config), plan.job.model.rank
    with initial.to_fill(), weights_at_most(preset.size_bytes // pretrained.SMALLEST + pretrained.SPARE):
        with _narrow() if rank else nullcontext():
            model = decoder(network, tokens, rematerialize=plan.job.training.rematerialize is True)
        if rank:
            _add_lora(model, rank)
    if initial.draws():
        for weight in model.trainable_weights:
            if weight.path.endswith("lora_kernel_a"):
                drawn = initial.stream(seed, weight.path).standard_normal(tuple(weight.shape), dtype=np.float32)
                weight.assign(drawn * np.float32(initial.he(weight.shape)))
    return model


def fill(model: keras.Model, preset: Preset) -> None:
    """Give every weight of *model* what the folder has, or the result of ours.

    Raises:
        ModelError: ``preset-changed``, ``preset-unreadable``, ``preset-in-part``, ``preset-unfit``,
            ``preset-not-downloaded``; those of `based.give`.
    """
    if preset.absent:
        raise ModelError("preset-not-downloaded", preset=preset.name, size=preset.absent)
    network = describe(preset.config)
    weights = {weight.path: weight for weight in model.weights}
    if preset.base is not None:
        from tpu_studio.trainer.models import based  # the reader of results, which most trainings do without

        based.give({one.path: weights[one.path] for one in network.tensors()}, preset)
    else:
        for path, values in read(preset, network):
            weights[path].assign(values)
    for row, rope in enumerate(one for one in (network.rope, network.local_rope) if one):
        table = weights["frequencies/embeddings"]
        rows = np.array(table)
        rows[row] = rope.frequencies(network.head_size)
        table.assign(rows)


def merged(model: keras.Model, plan: Plan, shapes: Shapes) -> keras.Model:
    """A model without small matrices that answers as *model* does, of which no other weight needs its value.

    Raises:
        ModelError: as `fill`; what it began from is not here any more, or not as it was.
    """
    added = {layer.path: layer for layer in model._flatten_layers() if getattr(layer, "lora_enabled", False)}
    preset = pretrained.preset_of(plan, again=True)
    with initial.to_fill():
        found = decoder(describe(preset.config), *shapes.input, rematerialize=False)
    fill(found, preset)
    for layer in found._flatten_layers():
        if (lora := added.get(layer.path)) is not None:
            first, second = (np.array(one, np.float32) for one in (lora.lora_kernel_a, lora.lora_kernel_b))
            layer.kernel.assign(np.array(layer.kernel) + first @ second * (lora.lora_alpha / lora.lora_rank))
    return found


def decoder(network: Decoder, tokens: int, *, rematerialize: bool) -> keras.Model:
    d, compute = network, keras.config.dtype_policy().compute_dtype
    ids_BxT = keras.Input((tokens,), dtype="int32", name="input")
    place_T = ops.cumsum(ops.ones_like(ids_BxT[0]), axis=0) - 1
    back_1xTxT = ops.expand_dims(
        ops.expand_dims(place_T, 1) - ops.expand_dims(place_T, 0), 0
    )  # how far a token lies back
    all_bias = _bias(back_1xTxT < 0)
    near_bias = _bias((back_1xTxT < 0) | (back_1xTxT > network.window - 1)) if network.window else all_bias
    table = layers.ReversibleEmbedding(d.vocabulary, d.width, tie_weights=True, reverse_dtype="float32", name="tokens")
    x_BxTxW = table(ids_BxT)
    if d.embedding_scale != 1.0:
        x_BxTxW = x_BxTxW * d.embedding_scale
    if d.rope is None:
        places = layers.Embedding(d.longest, d.width, name="places")
        x_BxTxW = x_BxTxW + ops.expand_dims(places(place_T), 0)
    turns = _turns(network, ids_BxT, place_T, compute)
    for number in range(d.layers):
        local = bool(d.local) and d.local[number]
        turn = turns[min(int(local), len(turns) - 1)] if turns else ()
        block = _block(network, f"block_{number}", tokens, compute, len(turn))
        if rematerialize:
            block = remat.rematerialize(block)
        x_BxTxW = block([x_BxTxW, near_bias if local else all_bias, *turn])
    x_NxW = ops.reshape(_norm(network, "norm")(x_BxTxW), (-1, d.width))
    if d.tied:
        logits_NxV = table(x_NxW, reverse=True)
    else:
        logits_NxV = layers.Dense(d.vocabulary, use_bias=False, dtype="float32", name="answer")(x_NxW)
    logits_BxTxV = ops.reshape(ops.cast(logits_NxV, "float32"), (-1, tokens, d.vocabulary))
    return plain.model(ids_BxT, logits_BxTxV, "causal")


def _bias(unseen_1xTxT: Tensor) -> Tensor:
    return ops.expand_dims(ops.cast(unseen_1xTxT, "float32") * NOT_SEEN, 1)


def _turns(d: Decoder, ids_BxT: Tensor, place_T: Tensor, compute: str) -> list[tuple[Tensor, Tensor]]:
    """Cosine and sine of each place's angles, [1, T, D/2]: of blocks that see all, and of those that do not."""
    ropes = [one for one in (d.rope, d.local_rope) if one]
    if not ropes:
        return []
    frequencies = layers.Embedding(len(ropes), d.head_size // 2, dtype="float32", trainable=False, name="frequencies")
    found = []
    for row in range(len(ropes)):
        of_row = frequencies(ops.zeros_like(ids_BxT[0]) + row)
        angles = ops.expand_dims(of_row * ops.expand_dims(ops.cast(place_T, "float32"), 1), 0)
        found.append((ops.cast(ops.cos(angles), compute), ops.cast(ops.sin(angles), compute)))
    return found


def _block(d: Decoder, name: str, tokens: int, compute: str, turned: int) -> keras.Model:
    """*turned*: tensors that turn queries and keys by their places."""
    group = d.heads // d.kv_heads

    def dense(part: str, size: int, bias: bool) -> Callable[[Tensor], Tensor]:
        layer: Callable[[Tensor], Tensor] = layers.Dense(size, use_bias=bias, name=f"{name}_{part}")
        return layer

    def heads(x_NxW: Tensor, part: str, count: int) -> Tensor:
        found = ops.reshape(dense(part, count * d.head_size, d.qkv_bias)(x_NxW), (-1, tokens, count, d.head_size))
        if d.head_norms and part != "value":
            found = _norm(d, f"{name}_{part}_norm")(found)
        found = ops.transpose(found, (0, 2, 1, 3))
        if turn and part != "value":
            found = _turned(found, turn, d.head_size // 2)
        return found

    x_BxTxW = keras.Input((tokens, d.width), name=f"{name}_input")
    bias = keras.Input((1, tokens, tokens), name=f"{name}_bias")
    turn = [keras.Input((tokens, d.head_size // 2), dtype=compute, name=f"{name}_{one}") for one in ("cos", "sin")][
        :turned
    ]
    start_NxW = ops.reshape(ops.cast(x_BxTxW, compute), (-1, d.width))
    h = _norm(d, f"{name}_attention_norm")(start_NxW)
    q = ops.reshape(heads(h, "query", d.heads), (-1, d.kv_heads, group, tokens, d.head_size)) * d.scale
    k, v = (ops.expand_dims(heads(h, part, d.kv_heads), 2) for part in ("key", "value"))  # BxKx1xTxD
    scores_BxKxGxTxT = ops.matmul(q, ops.transpose(k, (0, 1, 2, 4, 3)))
    shares = ops.softmax(ops.cast(scores_BxKxGxTxT, "float32") + ops.expand_dims(bias, 1), axis=-1)
    mixed = ops.reshape(ops.matmul(ops.cast(shares, compute), v), (-1, d.heads, tokens, d.head_size))
    mixed_NxHD = ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, d.heads * d.head_size))
    attended = dense("attention_out", d.width, d.out_bias)(mixed_NxHD)
    if d.post_norms:
        attended = _norm(d, f"{name}_attention_post_norm")(attended)
    x_NxW = start_NxW + attended
    h = _norm(d, f"{name}_mlp_norm")(x_NxW)
    risen = dense("mlp_in", d.inner, d.inner_bias)(h)
    risen = _activated(d, dense("gate", d.inner, d.inner_bias)(h)) * risen if d.gated else _activated(d, risen)
    fallen = dense("mlp_out", d.width, d.inner_bias)(risen)
    if d.post_norms:
        fallen = _norm(d, f"{name}_mlp_post_norm")(fallen)
    outputs = ops.reshape(x_NxW + fallen, (-1, tokens, d.width))
    return plain.model([x_BxTxW, bias, *turn], outputs, name)


def _turned(x_BxHxTxD: Tensor, turn: list[Tensor], half: int) -> Tensor:
    """Numbers of the first half and of the second turned together, as Transformers lays them."""
    cos, sin = (ops.expand_dims(one, 1) for one in turn)
    first, second = x_BxHxTxD[:, :, :, :half], x_BxHxTxD[:, :, :, half:]
    return ops.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def _activated(d: Decoder, x: Tensor) -> Tensor:
    return ops.silu(x) if d.activation == "silu" else ops.gelu(x, approximate=d.activation == "gelu_tanh")


def _norm(d: Decoder, name: str) -> Callable[[Tensor], Tensor]:
    kind = layers.RMSNormalization if d.rms else layers.LayerNormalization
    layer: Callable[[Tensor], Tensor] = kind(epsilon=d.epsilon, name=name)
    return layer


@contextmanager
def _narrow() -> Iterator[None]:
    """Layers made inside that compute in bfloat16 hold their weights in it, too: what stays as it is needs no more."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(before.compute_dtype)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def _add_lora(model: keras.Model, rank: int) -> None:
    """Beside each product of a block, in the number format that learns; nothing else learns."""
    base, learns = list(model.weights), keras.config.dtype_policy()
    for layer in model._flatten_layers():
        if isinstance(layer, layers.Dense) and layer.name.startswith("block_"):
            layer.dtype_policy = learns
            layer.enable_lora(rank, lora_alpha=ALPHA * rank)
    for weight in base:
        weight.trainable = False
