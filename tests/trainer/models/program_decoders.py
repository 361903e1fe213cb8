"""Run in the engine: language models of Hugging Face folders.

`seen FOLDER` prints how far from Transformers' own answers each network's are, and whether its saved file opens as it
was; `adapted FOLDER` what learns beside the weights of one, and what is left of it in a result; `narrow FOLDER` what
is held in bfloat16 under it, and how far that answers from float32.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np

from tests.fakes.presets import decoder, decoders
from tpu_studio.trainer import recipe, state
from tpu_studio.trainer.frameworks import running, without_tensorflow
from tpu_studio.trainer.models import causal
from tpu_studio.trainer.models.build import precision
from tpu_studio.trainer.models.shapes import Shapes
from tpu_studio.trainer.result import inspected
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.pretrained import reading

EACH = 8  # of `make_decoder_samples`


def answers(model: Any, tokens: Any) -> Any:
    return np.asarray(running().compiled(model)(tokens))


def seen(root: Path) -> dict[str, Any]:
    return {name: _seen(decoder(name, root)) for name in decoders()}


def _seen(folder: Path) -> dict[str, Any]:
    preset, recorded = reading.read(folder), np.load(folder / "seen.npz")
    model = causal.decoder(causal.describe(preset.config), recorded["tokens"].shape[1], rematerialize=False)
    causal.fill(model, preset)
    found = answers(model, recorded["tokens"])
    file = folder / "model.keras"
    with without_tensorflow():
        model.save(file)
    inspected.check(file)
    again = answers(keras.saving.load_model(file, safe_mode=True), recorded["tokens"])
    later = recorded["tokens"].copy()
    later[:, 12:] = 5
    return {
        "difference": float(np.abs(found[..., ::EACH] - recorded["seen"]).max()),
        "spread": float(recorded["seen"].std()),
        "opens": bool(np.allclose(found, again, atol=1e-5)),
        "looks_ahead": float(np.abs(answers(model, later)[:, :12] - found[:, :12]).max()),
    }


def adapted(root: Path) -> dict[str, Any]:
    return {name: _adapted(decoder(name, root)) for name in ("gpt2", "gemma3")}


def _planned(folder: Path) -> tuple[Preset, Any, Shapes, Any]:
    """The folder, what its network was seen to answer, and a plan that learns beside it by four ranks."""
    preset, recorded = reading.read(folder), np.load(folder / "seen.npz")
    shapes = Shapes("text", "language-model", recorded["tokens"].shape[1:], "int32", preset.vocabulary)
    model = SimpleNamespace(folder=str(folder), rank=4, id="pretrained-lm")
    job = SimpleNamespace(model=model, base="", training=SimpleNamespace(rematerialize=False, seed=3))
    return preset, recorded, shapes, SimpleNamespace(job=job, preset_sha256=preset.sha256)


def _adapted(folder: Path) -> dict[str, Any]:
    preset, recorded, shapes, plan = _planned(folder)
    tokens = recorded["tokens"]
    built, same = (causal.build(shapes, {}, 3, plan) for _ in range(2))
    causal.fill(built, preset)
    before = answers(built, tokens)
    layout = state.layout(built, recipe.Recipe("language-model"))
    drawn = [bool(np.array_equal(a, b)) for a, b in zip(built.trainable_weights, same.trainable_weights, strict=True)]
    rng = np.random.default_rng(0)
    for weight in built.trainable_weights:
        weight.assign(rng.normal(0, 0.2, weight.shape))
    after = answers(built, tokens)
    whole = causal.merged(built, plan, shapes)
    return {
        "begins": float(np.abs(before[..., ::EACH] - recorded["seen"]).max()),
        "learn": sorted({weight.path.rpartition("/")[2] for weight in built.trainable_weights}),
        "frozen": len(layout.frozen) == len(built.non_trainable_weights),
        "numbers": [sum(int(np.prod(one.shape)) for one in built.trainable_weights), built.count_params()],
        "same_seed": all(drawn),
        "changed": float(np.abs(after - before).max()),
        "merged": float(np.abs(answers(whole, tokens) - after).max()),
        "plain": not any(getattr(layer, "lora_enabled", False) for layer in whole._flatten_layers()),
    }


def narrow(root: Path) -> dict[str, Any]:
    return {name: _narrow(decoder(name, root)) for name in ("gpt2", "llama", "gemma3")}


def _narrow(folder: Path) -> dict[str, Any]:
    """Under bfloat16, with weights held in four bytes and in two; both learn the same beside them."""
    preset, recorded, shapes, plan = _planned(folder)
    tokens = recorded["tokens"]
    with precision("bfloat16"):
        built = causal.build(shapes, {}, 3, plan)
        wide = causal.decoder(causal.describe(preset.config), tokens.shape[1], rematerialize=False)
        causal._add_lora(wide, 4)
        causal.fill(built, preset)
        causal.fill(wide, preset)
        rng = np.random.default_rng(0)
        for one, other in zip(built.trainable_weights, wide.trainable_weights, strict=True):
            drawn = rng.normal(0, 0.2, one.shape)
            one.assign(drawn)
            other.assign(drawn)
        found, whole = answers(built, tokens), answers(wide, tokens)
        result = causal.merged(built, plan, shapes)
    frozen = [one for one in built.weights if not one.trainable]
    return {
        "learns_in": sorted({str(one.dtype) for one in built.trainable_weights}),
        "result_in": sorted({str(one.dtype) for one in result.weights}),
        "narrow": sum(one.dtype == "bfloat16" for one in frozen),
        "wide": sorted(one.path for one in frozen if one.dtype != "bfloat16"),
        "as_wide": float(np.abs(found - whole).max()),
        "spread": float(whole.std()),
    }


WAYS = {"seen": seen, "adapted": adapted, "narrow": narrow}
print(json.dumps(WAYS[sys.argv[1]](Path(sys.argv[2]))))
