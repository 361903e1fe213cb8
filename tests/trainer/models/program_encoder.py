"""Run in the engine: the text encoder beside its formulas in numpy, and how text becomes tokens.

`drawn` fills MiniLM's shape with weights drawn by chance, by their published names; `published` takes the starter
weights that are installed; `learned` learns tokens from a few texts.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from typing import Any

import numpy as np

Tensors = dict[str, Any]
erf = np.vectorize(math.erf)


def meaning(tensors: Tensors, ids: list[int]) -> Any:
    """BERT (Devlin et al. 2019) with the exact GELU, the mean of its last tokens, brought to length 1."""

    def norm(x: Any, name: str) -> Any:
        spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-12)
        return (x - x.mean(axis=-1, keepdims=True)) / spread * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    def dense(x: Any, name: str) -> Any:
        return x @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]

    count = len(ids)
    x = tensors["embeddings.word_embeddings.weight"][ids] + tensors["embeddings.position_embeddings.weight"][:count]
    x = norm(x + tensors["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for number in range(6):
        block = f"encoder.layer.{number}"
        q, k, v = (
            dense(x, f"{block}.attention.self.{part}").reshape(count, 12, 32).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(32)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (shares / shares.sum(axis=-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(count, 384)
        x = norm(x + dense(mixed, f"{block}.attention.output.dense"), f"{block}.attention.output.LayerNorm")
        h = dense(x, f"{block}.intermediate.dense")
        x = norm(x + dense(h * 0.5 * (1 + erf(h / math.sqrt(2))), f"{block}.output.dense"), f"{block}.output.LayerNorm")
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def built(vocabulary: int, tokens: int) -> Any:
    from tpu_studio.trainer.models import encoder, initial
    from tpu_studio.trainer.models.shapes import Shapes

    told = Shapes("text", "text-classification", (tokens,), "int32", 3, vocabulary=vocabulary)
    with initial.to_fill():
        return encoder._built(told, encoder.MINILM, 0.1, 0)


def fill(model: Any, tensors: Tensors) -> list[str]:
    """Names of the weights that none of *tensors* was for."""
    from tpu_studio.trainer.models import encoder

    weights = {weight.path: weight for weight in model.weights}
    for path, name, turned in encoder.starters():
        weights.pop(path).assign(np.transpose(tensors[name], turned))
    return sorted(weights)


def features(model: Any, ids: list[list[int]], tokens: int) -> Any:
    import keras

    x = np.zeros((len(ids), tokens), np.int32)
    for row, one in enumerate(ids):
        x[row, : len(one)] = one
    told = keras.Model(model.inputs, model.get_layer("features").output)
    return told.predict_on_batch(x)  # one program, not hundreds


def drawn() -> dict[str, object]:
    from tpu_studio.trainer.models import encoder

    model, rng = built(50, 12), np.random.default_rng(3)
    shapes = {weight.path: tuple(weight.shape) for weight in model.weights}
    tensors = {}
    for path, name, turned in encoder.starters():
        size = rng.normal(1.0 if path.endswith("gamma") else 0.0, 0.1, shapes[path])
        tensors[name] = np.ascontiguousarray(np.transpose(size, np.argsort(turned)))
    left = fill(model, tensors)
    ids = [rng.integers(1, 50, count).tolist() for count in (3, 7, 12)]
    wanted = np.stack([meaning(tensors, one) for one in ids])
    return {
        "left": [path for path in left if not path.startswith("seed")],
        "off": float(np.abs(features(model, ids, 12) - wanted).max()),
        "padding": float(np.abs(features(model, ids[:2], 12) - features(built_like(model, 9), ids[:2], 9)).max()),
    }


def built_like(model: Any, tokens: int) -> Any:
    other = built(50, tokens)
    weights = {weight.path: weight for weight in model.weights}
    for weight in other.weights:
        if not weight.path.startswith("seed"):
            weight.assign(weights[weight.path])
    return other


def published() -> dict[str, object]:
    from safetensors.numpy import load_file

    from tpu_studio.data import tokens
    from tpu_studio.wire.models import starter

    preset = "starter:all-minilm-l6-v2"
    if starter(preset).problem():
        return {"installed": False}
    tensors = load_file(starter(preset).path)
    texts = ["A man is eating food.", "A man is eating a piece of bread.", "A man is riding a horse.", "Ünï, 中文 …"]
    cutter = tokens.of_starter(starter(preset), preset)
    x = cutter.encode(texts, 24)
    ids = [[int(one) for one in row if one] for row in x]
    model = built(cutter.vocabulary, 24)
    fill(model, tensors)
    found, wanted = features(model, ids, 24), np.stack([meaning(tensors, one) for one in ids])
    alike = (found @ found.T).round(4).tolist()
    return {
        "installed": True,
        "ids": ids[0],
        "off": float(np.abs(found - wanted).max()),
        "alike": alike[0],
        "shortened": cutter.encode(texts, 5)[1].tolist(),
    }


def learned() -> dict[str, object]:
    from tpu_studio.data import tokens

    texts = [f"The quick brown fox number {number} jumps over the lazy dog. 中文 é" for number in range(50)]
    cutter = tokens.learn(texts, 512)
    x = cutter.encode(["The quick brown fox", "中文 é 🦊"], 16)
    whole = [cutter._tokenizer.decode([int(one) for one in row if one]) for row in x]
    again = tokens.PieceTokens(cutter.file)
    try:
        tokens.PieceTokens(b'{"version": "1.0"}')
        broken = ""
    except ValueError as error:
        broken = type(error).__name__
    return {
        "vocabulary": cutter.vocabulary,
        "sha256": hashlib.sha256(cutter.file).hexdigest(),
        "pieces": int((x[0] > 0).sum()),
        "texts": whole,
        "same": bool((again.encode(texts, 30) == cutter.encode(texts, 30)).all()),
        "broken": broken,
    }


def opened(result: str, text: str) -> dict[str, object]:
    """What a result answers, asked as its card says, with Keras and `tokenizers` alone."""
    import keras
    import tokenizers

    os.chdir(result)
    with open("model.json") as file:
        card = json.load(file)
    cut, _, zeros = card["use"]["text"].rpartition(", then zeros up to ")
    names: dict[str, Any] = {"tokenizers": tokenizers, "text": text}
    exec(cut, names)
    x = np.array([names["x"] + [0] * (int(zeros) - len(names["x"]))], np.int32)
    model = keras.models.load_model("model.keras", compile=False)
    return {"kind": card["classes"][int(np.argmax(np.asarray(model(x))))], "length": x.shape[1]}


if __name__ == "__main__":
    print(
        json.dumps(
            {"drawn": drawn, "published": published, "learned": learned, "opened": opened}[sys.argv[1]](*sys.argv[2:])
        )
    )
