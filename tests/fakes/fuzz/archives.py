"""`.keras` archives, their cards and own model files, damaged, as far as our own code reads them before Keras does."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

from tests.fakes.fuzz.target import Base, told
from tests.fakes.hostile import Damage
from tpu_studio.trainer.result import files, inspected
from tpu_studio.wire.runfolder import model_from_before
from tpu_studio.workflow import ownfile

CONFIG: dict[str, Any] = {
    "module": "keras",
    "class_name": "Functional",
    "config": {
        "name": "functional",
        "layers": [
            {
                "module": "keras.layers",
                "class_name": "InputLayer",
                "config": {"batch_shape": [None, 8, 8, 1], "dtype": "float32", "name": "x"},
                "name": "x",
                "inbound_nodes": [],
            },
            {
                "module": "keras.layers",
                "class_name": "Dense",
                "config": {
                    "name": "dense",
                    "units": 10,
                    "activation": "softmax",
                    "dtype": {"class_name": "DTypePolicy"},
                },
                "name": "dense",
                "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"shape": [None, 64]}}]}],
            },
        ],
        "input_layers": [["x", 0, 0]],
    },
}
CARD: dict[str, Any] = {
    "format": 1,
    "trained": {"steps": 20},
    "input": {"shape": [8, 8, 1]},
    "own": {"sha256": "0" * 64, "job": {"input_shape": [8, 8, 1], "class_names": ["a"]}},
}
SOURCE = '''"""A model of one's own."""
import os
from keras import layers, backend
try:
    import jax
except ImportError:
    jax = None
if backend.backend() == "tensorflow":
    import tensorflow as tf

def build_model(job):
    model = layers.Dense(job.classes)
    model.compile(loss="mse")
    return model
'''
PIECES = (
    "-" * 1500 + "1",
    "a" + ".a" * 900,
    "(" * 150,
    "[" * 95 + "]" * 95,
    "if " + "a." * 900 + "backend:\n    import tensorflow\n",
    "import " + "x" * 70_000,
    "\0",
    "\\u202e",
    "lambda: " * 400 + "0",
    "'" * 3,
    "# coding: utf-7\n",
    "1 if 1 else " * 500 + "1",
    "9" * 5000,
)
SIZES = (0, -1, True, 10**12, 10**30, 1e300, float("nan"), [10**9], {"units": 10**12}, "8", None)


class Archives(Base):
    """What `predict` reads of a result before and after its consent, and what is asked of a model file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.result = folder / "run" / "result"
        self.result.mkdir(parents=True)

    def one(self, chance: random.Random) -> None:
        damage = Damage(chance)
        self._put("run/result/model.keras", self._archive(damage))
        self._put("run/result/model.json", self._card(damage))
        self._put("run/result/own_model.py", self._source(damage).encode("utf-8", "surrogatepass"))
        try:
            inspected.check(self.result / files.MODEL)
        except inspected.REFUSED:
            pass
        model_from_before(self.folder / "run")
        card = told(lambda: files.read_card(files.folder_of(self.folder / "run")))
        if card is not None:
            files.own_sha256(card)
        own = told(lambda: ownfile.read(self.result / files.OWN_MODEL, None))
        if own is not None and not own.missing:
            assert own.secret_line is None or own.secret_line > 0
            assert isinstance(own.asked.get("imports", {}), dict)

    def _put(self, name: str, data: bytes) -> None:
        self.write(name, data)

    def _archive(self, damage: Damage) -> bytes:
        chance, tree = damage.random, json.loads(json.dumps(CONFIG))
        if chance.random() < 0.5:
            tree = damage.mutated_value(tree)
        if chance.random() < 0.3:
            tree = {"class_name": "Dense", "config": {chance.choice(("units", "filters")): chance.choice(SIZES)}}
        config = json.dumps(tree).encode()
        if chance.random() < 0.1:
            config = chance.choice((b"[" * 100_000, b'{"a":' * 5000, b"", b"\xff", b" " * 40_000_000))
        stored = io.BytesIO()
        names = ["metadata.json", inspected.CONFIG, inspected.WEIGHTS]
        if chance.random() < 0.2:
            names.remove(chance.choice(names))
        with zipfile.ZipFile(stored, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
            for name in names:
                data = config if name == inspected.CONFIG else b"\x89HDF\r\n\x1a\n" + bytes(500)
                archive.writestr(name, data)
        data = stored.getvalue()
        if chance.random() < 0.6:
            data = self._header(data, chance) if chance.random() < 0.7 else damage.mutated_bytes(data)
        return data

    @staticmethod
    def _header(data: bytes, chance: random.Random) -> bytes:
        """Bytes of a header or of the directory: how it is packed, how large it is, whether it is encrypted."""
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 8))):
            mark = chance.choice((b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"))
            places = [place for place in range(len(data)) if data.startswith(mark, place)] if len(data) < 9000 else [0]
            index = min(len(changed) - 1, chance.choice(places or [0]) + chance.randrange(46))
            changed[index] = chance.choice((0, 1, 8, 9, 12, 14, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        return bytes(changed)

    def _card(self, damage: Damage) -> bytes:
        if damage.random.random() < 0.1:
            return damage.random.choice((b"[" * 100_000, b"", b"null", b'{"format":1,"own":[]}', b"\xff"))
        return json.dumps(damage.mutated_value(json.loads(json.dumps(CARD)))).encode()

    def _source(self, damage: Damage) -> str:
        chance, lines = damage.random, SOURCE.splitlines()
        for _ in range(chance.randint(0, 3)):
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(PIECES))
        text = "\n".join(lines)
        if chance.random() < 0.3:
            text = damage.mutated_bytes(text.encode()).decode("utf-8", "replace")
        return text
