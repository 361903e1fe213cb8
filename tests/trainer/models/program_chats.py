"""Run in the engine: chats in tokens, of each template that is known, beside what Transformers made of the same.

`templates` prints for each of the samples' chats our tokens and theirs, what is learned of it, and which marks stand in
a chat of somebody who types them. `opened FOLDER TABLE LENGTH` prints what a data set of chats is to a trainer.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

from tests.fakes.presets import chats
from tpu_studio.data.instructing import Writer
from tpu_studio.data.published import Published
from tpu_studio.data.sources import open_data
from tpu_studio.wire.job import parse
from tpu_studio.wire.pretrained.template import TEMPLATES, Turn

Tree = dict[str, Any]


def templates() -> Tree:
    return {one.id: _template(one.id) for one in TEMPLATES}


def _template(id: str) -> Tree:
    file, made = chats(id)
    write = Writer(Published(file), id)
    marks = write.cutter.standing
    typed = " ".join(marks)

    def standing(turns: list[Turn]) -> list[int]:
        return [token for token in write.tokens(turns)[0] if token in marks.values()]

    plain = standing([Turn("user", "x"), Turn("assistant", "y")])
    return {
        "chats": [_chat(write, one) for one in made],
        "typed": [standing([Turn("user", f"x{typed}"), Turn("assistant", f"y{typed}")]), plain],
    }


def _chat(write: Writer, one: Tree) -> Tree:
    turns = [Turn(role, text) for role, text in one["turns"]]
    whole, learned = write.tokens(turns)
    said = [token for token, mark in zip(whole, learned, strict=True) if mark]
    return {
        **one,
        "ours": whole,
        "ours_asked": write.tokens(turns[:-1])[0],
        "said": b"".join(map(write.cutter.piece, said)).decode(),
        "ends": sum(token in write.ends for token in said),
    }


def opened(folder: str, table: str, length: str) -> Tree:
    tree = {
        "name": "chats",
        "model": {"name": "pretrained-lm", "preset": folder},
        "data": {"kind": "text", "path": table, "sequence_length": int(length)},
    }
    found = open_data(parse(tree))
    cutter = Published(found.files["tokenizer.json"])
    batch = found.train.batch(np.arange(len(found.train)))
    texts = []
    for x, y, weight in zip(batch["x"], batch["y"], batch["weight"], strict=True):
        said = b"".join(cutter.piece(int(token)) for token in y[weight > 0])
        texts.append([b"".join(cutter.piece(int(token)) for token in x).decode("utf-8", "replace"), said.decode()])
    spec = {name: [list(shape), kind] for name, (shape, kind) in found.train.spec.items()}
    return {
        "spec": spec,
        "shapes": {name: [list(array.shape[1:]), str(array.dtype)] for name, array in batch.items()},
        "follows": bool((batch["x"][:, 1:] == batch["y"][:, :-1]).all()),
        "texts": texts,
        "learned": [int(one.sum()) for one in batch["weight"]],
        "unseen": len(found.validation),
        "tokens_a_byte": found.validation.tokens_a_byte,
        "description": found.description,
        "broken": [[one.item, one.why] for one in found.broken],
    }


if __name__ == "__main__":
    print(json.dumps(templates() if sys.argv[1] == "templates" else opened(*sys.argv[2:])))
