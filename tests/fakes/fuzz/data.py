"""Job files, tables in all forms, pictures and converted data, damaged: look, open and one batch."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any

import arro3.core as arrow
import arro3.io as arrow_io
import numpy as np
from PIL import Image

from tests.fakes.fuzz.target import Base, told
from tests.fakes.hostile import Damage
from tpu_studio.data.convert import convert
from tpu_studio.data.imaging import BrokenImage, decode, probe
from tpu_studio.data.look import Look, look
from tpu_studio.data.sources import open_data
from tpu_studio.domain import jobfile
from tpu_studio.domain.sentences import say_finding
from tpu_studio.viewmodels.opening import what_is
from tpu_studio.wire.job import Job, parse

LARGE = 50_000_000  # bytes of a damaged file: larger ones only cost time
TOKENS = (
    b'"',
    b'""',
    b"'",
    b",",
    b";",
    b"\t",
    b"|",
    b"\n",
    b"\r",
    b"\r\n",
    b"\0",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"nan",
    b"inf",
    b"-inf",
    b"1e999",
    b"-1e-999",
    b"9" * 400,
    b"0x10",
    b"1,000,000.00",
    b"1.000.000,00",
    b"e4",
    b"E",
    b"9999-99-99",
    b"0000-00-00",
    b"2024-02-30T25:61:61",
    "９".encode(),
    "\u202e\x1b[2J".encode(),
    b"=cmd|' /C calc'!A0",
    b"#",
    b"# ",
    b",,,,,,",
    b"A" * 70_000,
    b"A" * 140_000,  # longer than the csv module reads by itself
    b'"' + b"\n" * 50,
    b"TRUE",
    b"NULL",
    b"N/A",
    b"?",
    b"1e40",
    b"-1e40",
    b"1e308",
    b"-1e308",
    b"1" + b"0" * 310,
    b"12:60",
    b"1970-01-01",
    b"99999999999999999999999",
)


def opened(job: Job) -> None:
    """As a person would: look, and open what was looked at."""
    found = told(lambda: look(job))
    if found is None:
        return
    assert Look.from_json(json.loads(json.dumps(found.to_json()))) == found
    for finding in found.findings:
        assert say_finding(finding.id, finding.facts).title
    data = told(lambda: open_data(job, found, workers=1))
    if data is not None:
        told(lambda: data.train.batch(np.arange(min(4, len(data.train)))))


def claims_size(data: bytes, width: int, height: int) -> bytes:
    """A PNG that says it is of another size, with the checksum that goes with it."""
    head = b"IHDR" + struct.pack(">II", width, height) + data[24:29]
    return data[:12] + head + struct.pack(">I", zlib.crc32(head)) + data[33:]


class Jobs(Base):
    """`.tpujob` files."""

    WHOLE = (
        b'format = 1\n\n[data]\nkind = "digits"\n\n[model]\nname = "small-cnn"\n\n[training]\nepochs = 3\n',
        b'format = 1\n# a comment\n[data]\nkind = "table"\npath = "t.csv"\ntarget = "y"\ncolumns = { a = "ignore" }\n'
        b'validation = 0.2\n[model]\nname = "mlp"\n[training]\nepochs = 0.5\nbatch_size = 32\nseed = 7\n'
        b'[where]\nplace = "cloud"\nzones = ["us-west4-a"]\ntier = "spot"\n[limits]\nmoney = 5\nhours = 2.5\n',
    )
    VALUES = (
        b"9" * 5000,
        b"-" + b"9" * 400,
        b"nan",
        b"inf",
        b"1e999",
        b"0x10",
        b"true",
        b"[[1]]",
        b'"x"',
        b"{a=1}",
        b"1979-05-27",
        b"[" * 900,
    )

    def one(self, chance: random.Random) -> None:
        damage, data = Damage(chance), chance.choice(self.WHOLE)
        lines = data.splitlines()
        for _ in range(chance.randint(0, 2)):
            index = chance.randrange(len(lines))
            name, sign, _ = lines[index].partition(b"=")
            lines[index] = (
                name + sign + b" " + chance.choice(self.VALUES) if sign else lines[chance.randrange(len(lines))]
            )
        data = b"\n".join(lines)
        path = self.write("x.tpujob", damage.mutated_bytes(data) if chance.random() < 0.7 else data)
        job = told(lambda: jobfile.load(path))
        if job is not None:
            told(lambda: jobfile.dumps(job))


class Tables(Base):
    """CSV files, by what they are when they are dropped, look, opening and a batch; as a table, and as texts."""

    WHOLE = (
        (
            "a,b,c,y\n" + "".join(f"{i},{i * 1.5},{'xyz'[i % 3]},{'no' if i % 2 else 'yes'}\n" for i in range(60))
        ).encode(),
        (
            "date;value;text;target\n"
            + "".join(f'2024-01-{1 + i % 28:02d};{i},5;"a ""q"" {i}";{i * 3.3:.2f}\n' for i in range(50)).replace(
                ".", ","
            )
        ).encode(),
        ("id\tname\tprice\n" + "".join(f"{i}\tn{i % 7}\t${i * 10}\n" for i in range(70))).encode("utf-16"),
        ("# comment\n#a,b,y\n" + "".join(f"{i},{i % 5},{i % 3}\n" for i in range(80))).encode(),
    )

    FILE = "t.csv"
    KINDS = ("table", "table", "text")

    def one(self, chance: random.Random) -> None:
        data = chance.choice(self.WHOLE)
        for _ in range(chance.randint(1, 5)):
            data = self._changed(data, chance)
        path = self.write(self.FILE, data)
        csv.field_size_limit(131_072)  # as in a process that has read none
        assert what_is(path).kind in ("data", "unknown")
        target = chance.choice(("auto", "auto", "y", "target", "price", "nope"))
        asked = {"target": target} if target != "auto" else {}
        task = chance.choice(("auto", "auto", "regression", "classification"))
        kind = chance.choice(self.KINDS)
        if kind == "text":
            task, asked = "auto", {**asked, "tokenizer": "bytes"}
        model = {"name": "mlp" if kind == "table" else "text-classifier"}
        opened(parse({"format": 1, "model": model, "data": {"kind": kind, "path": str(path), "task": task, **asked}}))

    def _changed(self, data: bytes, chance: random.Random) -> bytes:
        match chance.randrange(4):
            case 0:
                return Damage(chance).mutated_bytes(data)
            case 1:
                index = chance.randrange(len(data) + 1)
                return data[:index] + chance.choice(TOKENS) + data[index:]
            case 2:
                old = chance.choice((b",", b"1", b"\n", b"a", b"."))
                return data.replace(old, chance.choice(TOKENS[:34]), chance.randint(1, 30))
            case _:  # a column is something else
                comma, column, cell = chance.choice((b",", b";", b"\t")), chance.randrange(4), chance.choice(TOKENS)
                lines = [line.split(comma) for line in data.split(b"\n")]
                cell = cell[: LARGE // len(lines)]
                for cells in lines:
                    if len(cells) > column and chance.random() < 0.9:
                        cells[column] = cell
                return b"\n".join(comma.join(cells) for cells in lines)


class Lines(Tables):
    """JSON lines, objects and lists, by the same."""

    ROWS = tuple({"a": i, "b": i * 1.5, "c": "xyz"[i % 3], "y": ("no", "yes")[i % 2]} for i in range(60))
    TEXTS = tuple({"text": f"It was day number {i}, and a long one.", "y": ("no", "yes")[i % 2]} for i in range(60))
    WHOLE = (
        "\n".join(map(json.dumps, ROWS)).encode(),
        "\n".join(map(json.dumps, TEXTS)).encode(),
        "\n".join(map(json.dumps, [list(ROWS[0]), *(list(row.values()) for row in ROWS)])).encode("utf-16"),
        json.dumps(ROWS).encode(),
    )
    ODD = (
        b"[]",
        b"{}",
        b"null",
        b"[1,[2]]",
        b'{"a":{"b":1}}',
        b'{"a":1,"a":2}',
        b'"\\ud800"',
        b'{"\\udfff":1}',
        b"-Infinity",
        b"[" * 5000,
        b'{"a":' * 5000,
        b'{"%s":1}' % (b"n" * 70_000),
        b"{" + b",".join(b'"k%d":%d' % (i, i) for i in range(11_000)) + b"}",
        b"{}\n" * 20_000,
        b'["a","b"]\n',
    )
    FILE = "t.jsonl"

    def _changed(self, data: bytes, chance: random.Random) -> bytes:
        if chance.random() < 0.5:
            return super()._changed(data, chance)
        lines = data.split(b"\n")
        at = chance.randrange(len(lines))
        if chance.random() < 0.5:
            lines.insert(at, chance.choice(self.ODD))
        else:
            lines[at] = lines[at].replace(b'"%c"' % chance.choice(b"abcy"), chance.choice(self.ODD), 1)
        return b"\n".join(lines)


class Pictures(Base):
    """Pictures of every format and mode: header and pixels."""

    FORMATS = (
        ("PNG", "RGB"),
        ("PNG", "RGBA"),
        ("PNG", "P"),
        ("PNG", "I;16"),
        ("PNG", "1"),
        ("JPEG", "RGB"),
        ("JPEG", "CMYK"),
        ("GIF", "P"),
        ("BMP", "RGB"),
        ("WEBP", "RGBA"),
        ("TIFF", "RGB"),
        ("TIFF", "F"),
        ("TIFF", "I;16"),
        ("PPM", "RGB"),
    )

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.whole: list[bytes] = []
        pixels = np.random.default_rng(1).integers(0, 255, (23, 31, 3), dtype=np.uint8)
        for name, mode in self.FORMATS:
            plain = Image.fromarray(pixels)
            image = Image.fromarray(pixels[..., 0].astype(np.uint16) * 200) if mode == "I;16" else plain.convert(mode)
            stored = io.BytesIO()
            image.save(stored, name)
            self.whole.append(stored.getvalue())

    def one(self, chance: random.Random) -> None:
        data = Damage(chance).mutated_bytes(chance.choice(self.whole))
        if data.startswith(b"\x89PNG") and chance.random() < 0.5:
            data = self._sized(data, chance)
        self.given("picture", data)
        for work in (lambda: probe(data), lambda: decode(data, chance.choice((8, 32, 64)), chance.choice((1, 3)))):
            try:
                work()
            except BrokenImage as error:
                assert error.why

    @staticmethod
    def _sized(data: bytes, chance: random.Random) -> bytes:
        sides = (0, 1, 8, 1000, 9000, 9459, 65_535, 2**31 - 1)
        return claims_size(data, chance.choice(sides), chance.choice(sides))


class Shards(Base):
    """Converted data sets: `dataset.json` and shards."""

    ENDLESS = (b"[" * 100_000, b'{"a":' * 100_000, b'{"format":1,"x":' + b"[" * 500 + b"]" * 500 + b"}")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.whole: list[dict[str, bytes]] = []
        for number, job in enumerate(self._sources()):
            made = folder / f"whole{number}"
            convert(job, made, workers=1)
            self.whole.append(
                {
                    path.relative_to(made).as_posix(): path.read_bytes()
                    for path in sorted(made.rglob("*"))
                    if path.is_file()
                }
            )

    def _sources(self) -> list[Job]:
        for name in "ab":
            (self.folder / "pictures" / name).mkdir(parents=True)
            for number in range(6):
                noise = np.random.default_rng(number).integers(0, 255, (9, 12, 3), dtype=np.uint8)
                Image.fromarray(noise).save(self.folder / "pictures" / name / f"{number}.png")
        (self.folder / "kinds.csv").write_bytes(Tables.WHOLE[0])
        (self.folder / "prices.csv").write_bytes(Tables.WHOLE[1])
        (self.folder / "words.txt").write_text("the cat sat on the mat and so it went on and on\n" * 60)
        asked: tuple[dict[str, Any], ...] = (
            {"kind": "images", "path": "pictures"},
            {"kind": "table", "path": "kinds.csv", "target": "y"},
            {"kind": "table", "path": "prices.csv", "target": "target"},
            {"kind": "text", "path": "words.txt"},
        )
        return [parse({"format": 1, "model": {"name": "mlp"}, "data": data}, base=str(self.folder)) for data in asked]

    def one(self, chance: random.Random) -> None:
        damage, files = Damage(chance), dict(chance.choice(self.whole))
        if chance.random() < 0.04:
            files["dataset.json"] = chance.choice(self.ENDLESS)
        elif chance.random() < 0.65:
            tree = json.loads(files["dataset.json"])
            for _ in range(chance.randint(1, 2)):
                tree = damage.mutated_value(tree)
            files["dataset.json"] = json.dumps(tree).encode()
        else:
            name = chance.choice(sorted(files))
            files[name] = self._shard(files[name], damage)
        place = self.folder / "x"
        for name, data in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            self.write(f"x/{name}", data)
        try:
            opened(parse({"format": 1, "model": {"name": "mlp"}, "data": {"kind": "tfrecord", "path": str(place)}}))
        finally:
            shutil.rmtree(place)

    def _shard(self, data: bytes, damage: Damage) -> bytes:
        chance = damage.random
        if chance.random() < 0.3:
            return chance.choice((b"\xff" * 8, (1 << 40).to_bytes(8, "little"), bytes(8))) + data[8:]
        if chance.random() < 0.5 and len(data) > 100:  # the same size, so that it is read
            index = chance.randrange(len(data))
            return data[:index] + chance.randbytes(1) + data[index + 1 :]
        return damage.mutated_bytes(data)


class Columnar(Base):
    """Parquet and Arrow files, by the process that reads them: what it says is a sentence, what it writes are rows."""

    CODECS = ("snappy", "zstd(1)", "gzip(6)", "brotli(1)", "lz4_raw", "uncompressed")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.whole: list[tuple[str, bytes]] = []
        text, number = arrow.DataType.string(), arrow.DataType.float64()
        offsets = arrow.Array.from_numpy(np.arange(61, dtype=np.int32))
        table = arrow.Table.from_pydict(
            {
                "a": arrow.Array([None if i % 7 == 0 else i * 1.5 for i in range(60)], number),
                "c": arrow.Array(["xyz"[i % 3] for i in range(60)], text),
                "l": arrow.list_array(offsets, arrow.Array(list(range(60)), arrow.DataType.int64())),
                "y": arrow.Array(["no" if i % 2 else "yes" for i in range(60)], text),
            }
        )
        for number_of, codec in enumerate(self.CODECS):
            path = folder / f"whole{number_of}.parquet"
            arrow_io.write_parquet(table, path, compression=codec, max_row_group_size=17)
            self.whole.append((".parquet", path.read_bytes()))
        for write in (arrow_io.write_ipc_stream, arrow_io.write_ipc):
            write(table, folder / "whole.arrow")
            self.whole.append((".arrow", (folder / "whole.arrow").read_bytes()))

    def one(self, chance: random.Random) -> None:
        ending, data = chance.choice(self.whole)
        for _ in range(chance.randint(1, 3)):
            end = max(0, len(data) - 2000)  # where the footer says what is where
            at = chance.choice((0, end, chance.randrange(len(data) + 1)))
            data = data[:at] + Damage(chance).mutated_bytes(data[at:] or b"x")
        path = self.write(f"t{ending}", data or b"x")
        opened(parse({"format": 1, "model": {"name": "mlp"}, "data": {"kind": "table", "path": str(path)}}))
