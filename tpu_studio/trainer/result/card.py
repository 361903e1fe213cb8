"""`model.json`: what the model is, what goes in and comes out, how well it did, and how to use it without us."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import keras

from tpu_studio.trainer.models import Shapes, count_params, shapes, starting
from tpu_studio.trainer.models.own import own_job
from tpu_studio.trainer.result import files
from tpu_studio.wire import frameworks, tasks
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import tuned
from tpu_studio.wire.starters import TOKENIZER

SAVED_MODEL_USE = {"tensorflow": "model = tf.saved_model.load('saved_model'), then model.serve(x)"}
PACKAGES = {"keras": ("keras",), **{one.id: one.packages for one in frameworks.all_frameworks()}, "numpy": ("numpy",)}


def card(
    plan: Plan,
    description: Mapping[str, object],
    model: keras.Model,
    final: Mapping[str, float],
    *,
    step: int,
    reason: str,
    labels: Sequence[Sequence[int]] = (),
) -> dict[str, Any]:
    """*labels*: as `evaluation.Checked` has it."""
    sizes = shapes(plan, description)
    own = None
    if plan.job.model.is_own:
        own = {"sha256": plan.consent, "file": files.OWN_MODEL, "job": asdict(own_job(plan, sizes))}
    network = starting.network(plan, description)
    return {
        "format": files.FORMAT,
        "name": plan.job.name,
        "run": plan.run,
        "model": plan.job.model.id,
        "options": plan.options,
        "task": plan.task,
        "classes": list(sizes.classes),
        "params": count_params(model),
        "input": {
            "shape": [None, *sizes.input],
            "dtype": sizes.dtype,
            "largest": sizes.white if sizes.dtype == "uint8" else None,
        },
        "output": {"shape": [None, *sizes.output], "meaning": _meaning(plan.task, description)},
        "data": dict(description),
        "trained": {
            "framework": plan.framework,
            "precision": plan.job.training.precision,
            "steps": step,
            "ended": reason,
            "final": {name: _plain(value) for name, value in final.items()},
            **({"labels": _by_label(sizes.classes, labels)} if labels else {}),
        },
        "versions": {"python": platform.python_version()} | _versions(),
        "own": own,
        "began_from": starting.origin(plan),
        **({tuned.KEY: network} if network else {}),
        "use": _use(own is not None) | _text_use(sizes, description),
    }


def write_card(path: Path, tree: Mapping[str, object]) -> None:
    path.write_text(
        json.dumps(tree, indent=1, ensure_ascii=False, allow_nan=False), encoding="utf-8", errors="backslashreplace"
    )


def _by_label(names: Sequence[str], labels: Sequence[Sequence[int]]) -> list[dict[str, object]]:
    """Of unseen examples; precision where the model says a label of any, recall where any has it."""
    return [
        {
            "name": name,
            "precision": hits / said if said else None,
            "recall": hits / has if has else None,
            "examples": has,
        }
        for name, (hits, said, has) in zip(names, labels, strict=True)
    ]


def _meaning(task: str, description: Mapping[str, object]) -> str:
    if tasks.by_id(task).has_number:
        return "one standardised number; undo it with data.target_transform"
    if tasks.by_id(task).has_tokens:
        are = f"those of {TOKENIZER}" if description.get("tokenizer_sha256") else "the bytes of UTF-8 text"
        return f"a logit for each next token at each place; tokens are {are}"
    if tasks.by_id(task).has_labels:
        return "a logit for each label by itself; a sigmoid makes it a probability"
    return "a logit for each class; a softmax makes them probabilities"


def _use(own: bool) -> dict[str, str]:
    """Of a result without TensorFlow's SavedModel; `SAVED_MODEL_USE` once that is there."""
    keras_line = "keras.models.load_model('model.keras', compile=False)"
    if own:
        keras_line = "model = build_model(job) of own_model.py, then model.load_weights('model.keras')"
    return {
        "keras": keras_line,
        "tensorflow": "with KERAS_BACKEND=tensorflow: the model as with Keras, then model.export('saved_model')",
    }


def _text_use(sizes: Shapes, description: Mapping[str, object]) -> dict[str, str]:
    """How a text becomes the input, where texts are told apart, or continued in learned tokens."""
    length = sizes.input[0]
    if tasks.by_id(sizes.task).has_tokens and description.get("tokenizer_sha256"):
        cut = f"cut = tokenizers.Tokenizer.from_file('{TOKENIZER}'); cut.encode_special_tokens = True"
        if tasks.by_id(sizes.task).has_chats:
            asked = f"the tokens of a question, written down by the chat template {description.get('chat_template')!r}"
            return {"text": f"x = {asked} and the head of an answer, then zeros up to {length}"}
        return {"text": f"{cut}; x = cut.encode(text).ids[-{length}:], then zeros up to {length}; cut.decode(ids)"}
    if not sizes.vocabulary:
        return {}
    cut = f"x = [byte + 1 for byte in text.encode()][:{length}]"
    if description.get("tokenizer_sha256"):
        cut = (
            f"cut = tokenizers.Tokenizer.from_file('{TOKENIZER}'); cut.no_padding(); cut.enable_truncation({length}); "
        )
        cut += "x = cut.encode(text).ids"
    return {"text": f"{cut}, then zeros up to {length}"}


def _versions() -> dict[str, str]:
    """Package → version; TensorFlow comes under two names. What is not installed is left out."""
    found = {}
    for name, distributions in PACKAGES.items():
        for distribution in distributions:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                found[name] = importlib.metadata.version(distribution)
    return found


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
