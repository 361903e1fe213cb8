"""Results of runs that another training begins from, as a home has them; their weights are bytes that nobody opens."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from tests.fakes.presets import decoder, unpacked
from tpu_studio.wire import models
from tpu_studio.wire.events import encode, event
from tpu_studio.wire.pretrained import decoder as decoders
from tpu_studio.wire.pretrained import reading, tokenizer
from tpu_studio.wire.pretrained import tuned as networks

RUN = "hands-ab12"
PICTURES: dict[str, Any] = {
    "kind": "images",
    "task": "classification",
    "image_size": 64,
    "channels": 3,
    "input_shape": [64, 64, 3],
    "classes": [str(digit) for digit in range(10)],
}


def card(model: str = "small-cnn", data: dict[str, Any] = PICTURES, **more: Any) -> dict[str, Any]:
    options = models.options(model, more.pop("options", {})) if model in models.BY_NAME else {}
    return {
        "format": 1,
        "name": "hands",
        "run": RUN,
        "model": model,
        "options": options,
        "task": data["task"],
        "classes": data.get("classes", []),
        "input": {"shape": [None, *data["input_shape"]], "dtype": "uint8"},
        "data": data,
        "own": None,
    } | more


def result(folder: Path, tree: dict[str, Any] | None = None, files: dict[str, bytes] | None = None) -> Path:
    """The *folder*, with that card, weights, and what else there is."""
    folder.mkdir(parents=True, exist_ok=True)
    held = {"model.keras": b"weights", **(files or {})}
    for name, data in held.items():
        (folder / name).write_bytes(data)
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in held.items()}
    (folder / "model.json").write_text(json.dumps((tree or card()) | {"sha256": sums}))
    return folder


def tuned(name: str, to: Path, *, chats: str = "", **network: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Card and further files of a result that began from that language model (`fakes.presets.decoder`), whose folder is
    not kept; *network*: what its card says of that. *chats*: the template of those that it has learned."""
    folder = decoder(name, to)
    seen = reading.read(folder)
    file = tokenizer.tidied((folder / "tokenizer.json").read_bytes()).text.encode()
    shutil.rmtree(folder)
    data: dict[str, Any] = {"kind": "text", "task": "instruction" if chats else "language-model", "input_shape": [16]}
    data |= {"vocabulary": seen.vocabulary, "tokenizer": "preset", "tokenizer_sha256": hashlib.sha256(file).hexdigest()}
    told = {"config": decoders.traits(seen.config), "template": chats or seen.template} | network
    tree = card("pretrained-lm", data | ({"chat_template": chats} if chats else {}), network=told)
    return tree, {"tokenizer.json": file, "model.keras": bytes(4 * decoders.describe(seen.config).numbers)}


def pictured(name: str, to: Path, side: int = 32, **network: Any) -> dict[str, Any]:
    """Card of a result that began from that folder of KerasHub's (`fakes.presets.unpacked`), which is not kept;
    *network*: what its card says of that."""
    folder = unpacked(name, to)
    told = networks.told(reading.read(folder), "") | network
    shutil.rmtree(folder)
    data = PICTURES | {"image_size": side, "input_shape": [side, side, 3]}
    return card("kerashub-backbone", data, network=json.loads(json.dumps(told)))


def run(
    home: Path,
    tree: dict[str, Any] | None = None,
    files: dict[str, bytes] | None = None,
    *,
    name: str = RUN,
    status: str = "finished",
) -> Path:
    """The folder of a run of *home* that has ended with *status* and that result; "": it has not ended."""
    folder = home / "runs" / name
    (folder / "events").mkdir(parents=True)
    (folder / "plan.json").write_text("{}")
    told = [event("phase", t=1.0, phase="training")]
    told += [event("end", t=9.0, status=status, reason="completed")] if status else []
    (folder / "events" / "a0001-w000.jsonl").write_bytes(b"".join(map(encode, told)))
    if status != "failed":
        result(folder / "result", tree, files)
    return folder
