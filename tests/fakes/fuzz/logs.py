"""Logs that are to be explained: any bytes, around lines that show a cause, with keys in them."""

from __future__ import annotations

import json
import random

from tests.fakes.fuzz.target import Base, told
from tests.fakes.hostile import Damage
from tpu_studio.domain.explaining import explain, log_text

LINES = (
    "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 17.54G of 15.75G hbm.",
    "jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: failed to connect to all addresses",
    "ModuleNotFoundError: No module named 'jax'",
    "ValueError: Incompatible shapes: (32, 10) vs (32, 12)",
    "Quota 'TPUS_PER_PROJECT' exceeded. Limit: 8.0 in region us-central1.",
    "PERMISSION_DENIED: Permission 'tpu.nodes.create' denied",
    "libtpu.so is already in use by another process probably owned by another user.",
)
KEY = "hf_aZ3bQ9cX7dW1eV5fU2gT8hS4"
PIECES = [KEY[at : at + 8] for at in range(3, len(KEY) - 7)]


class Logs(Base):
    """Each log is explained or refused, and no key in it is shown, not even in part."""

    def one(self, chance: random.Random) -> None:
        damage, lines = Damage(chance), []
        for _ in range(chance.choice((1, 5, 40, 400))):
            line = chance.choice(LINES)
            if chance.random() < 0.3:
                at = chance.randrange(len(line) + 1)
                filler = chance.choice((" ", "x ", "x", "(", "\t")) * chance.choice((1, 30, 290, 3000))
                line = f"{line[:at]}{filler} {KEY} {line[at:]}"
            lines.append(line)
        data = "\n".join(lines).encode(chance.choice(("utf-8", "utf-16", "utf-16-be", "latin-1")))
        is_whole = chance.random() < 0.5
        if not is_whole:
            data = damage.mutated_bytes(data)
        self.given("log", data)
        log = told(lambda: log_text(data))
        if log is None:
            return
        shown = json.dumps(explain(log.text).to_json())
        assert not is_whole or not any(piece in shown for piece in PIECES), "no key is shown"
