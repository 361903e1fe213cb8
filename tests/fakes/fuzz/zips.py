"""Zips of a run, damaged in bytes, names and headers: taken in whole, or refused with nothing left."""

from __future__ import annotations

import io
import json
import random
import shutil
import stat
import zipfile
from pathlib import Path

from tests.fakes.fuzz.target import Base, told
from tests.fakes.hostile import Damage
from tests.fakes.plans import plan
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.plan import dumps
from tpu_studio.workflow import bringing, zips

NAMES = (
    "../../x",
    "/x",
    "a\\b",
    "r/../x",
    "r/events",
    "r/plan.json",
    "R/PLAN.JSON",
    "r/" + "n" * 300,
    "r/result/" + "é" * 140,
    "r/.hidden",
    "r/result/\x1b[2J",
    "r//x",
    "C:x",
    "",
    "/",
    "r/argparse.py",
    "r/tpu_studio/__init__.py",
    "r/events/a0001-w000.jsonl/x",
)


class Zips(Base):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        frozen = dumps(plan().launched("r", 1.8e9, "test"))
        self.files = {
            "r/plan.json": frozen,
            "r/events/a0001-w000.jsonl": b'{"t":1.0,"kind":"phase","phase":"training"}\n',
            "r/claims/a0001.json": b"{}",
            "r/result/model.json": b"{}",
            "r/result/model.keras": b"PK" + bytes(3000),
        }
        self.runs = folder / "runs"
        self.whole = self._zipped(self.files)
        self.plans = [
            frozen.replace(b'"run": "r"', b'"run": ' + json.dumps(run).encode())
            for run in ("..", ".", "", "../x", "x/y", "n" * 300, "\0", "\ud800", "CON", ".hidden")
        ]

    def one(self, chance: random.Random) -> None:
        data = self.whole
        if chance.random() < 0.3:
            extra = {chance.choice(NAMES): b"x" * chance.choice((0, 1, 5000)) for _ in range(chance.randint(1, 3))}
            if chance.random() < 0.3:
                extra["r/plan.json"] = chance.choice(self.plans)
            data = self._zipped({**self.files, **extra}, mode=chance.choice((0, stat.S_IFLNK, stat.S_IFIFO)))
        if chance.random() < 0.8:
            data = Damage(chance).mutated_bytes(data) if chance.random() < 0.4 else self._header(data, chance)
        path = self.write("x.zip", data)
        refused = False
        try:
            with zips.unzipped(path, self.runs) as brought:
                told(lambda: bringing.bring(brought.folder, self.folder / "taken", "installxx", 1.8e9))
        except RunError as error:
            refused = True
            assert error.id.startswith(("zip-", "plan-")), error.id
        assert [one.name for one in self.runs.iterdir()] == []
        assert sorted(one.name for one in self.folder.iterdir() if one.name != "taken") == ["runs", "x.zip"]
        taken = self.folder / "taken"
        if not refused and taken.exists():
            shutil.rmtree(taken)

    def _header(self, data: bytes, chance: random.Random) -> bytes:
        """A byte of a header or of the directory, which say where things lie and how large they are."""
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 8))):
            places = [
                place for mark in (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06") if (place := data.find(mark)) >= 0
            ]
            index = min(len(changed) - 1, chance.choice(places or [0]) + chance.randrange(46))
            changed[index] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        return bytes(changed)

    @staticmethod
    def _zipped(files: dict[str, bytes], mode: int = 0) -> bytes:
        stored = io.BytesIO()
        with zipfile.ZipFile(stored, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                entry = zipfile.ZipInfo(name)
                entry.external_attr = mode << 16 if not name.startswith("r/") else 0
                archive.writestr(entry, data)
        return stored.getvalue()
