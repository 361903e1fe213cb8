"""The archive of compiled programs and the bundle, as a machine unpacks them, and what tells of them."""

from __future__ import annotations

import io
import json
import random
import shutil
import tarfile

from tests.fakes.fuzz.target import Base
from tests.fakes.hostile import VALUES, Damage
from tpu_studio.trainer.guardian.vm.config import BadConfig, _compiled
from tpu_studio.trainer.guardian.vm.unpack import BadArchive, is_unpacked, unpack
from tpu_studio.wire.compiled import is_sealed, object_name, piece_of, seal

NAMES = ("a-cache", "b-cache", "d/e", "d", "../x", "/x", "a\\b", "x" * 300, "\udce9", ".", "", "d/../../x", "a-cache/")
TYPES = (tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, b"S", b"L", b"x")
TIMES = (0, -1, 2**62, 1e300, -1e300, 1795388000.5)
KEY, SHA256 = "1" * 64, "a" * 64
LIMIT = 1_000_000


class Programs(Base):
    """Refused as no archive, or unpacked in its folder, with nothing outside and no more than was agreed."""

    def one(self, chance: random.Random) -> None:
        inside = self.folder / "inside"
        shutil.rmtree(inside, ignore_errors=True)
        inside.mkdir()
        archive = self.write("programs.tar", self._archive(chance))
        before = {path.name for path in self.folder.iterdir()}
        try:
            unpack(archive, inside / "compiled", SHA256, limit_bytes=LIMIT)
            assert is_unpacked(inside / "compiled", SHA256)
        except (BadArchive, OSError):
            assert not is_unpacked(inside / "compiled", SHA256)
        held = list(inside.rglob("*"))
        assert not any(path.is_symlink() or path.is_fifo() for path in held)
        assert sum(path.stat().st_size for path in held if path.is_file()) <= LIMIT + 100
        assert {path.name for path in self.folder.iterdir()} == before
        assert {path.name for path in inside.iterdir()} <= {"compiled", ".compiled.unpacked"}
        self._tell(chance)

    def _archive(self, chance: random.Random) -> bytes:
        stored = io.BytesIO()
        packed = chance.choice(("w:", "w:", "w:gz", "w:bz2", "w:xz"))
        with tarfile.open(fileobj=stored, mode=packed, format=chance.choice((0, 1, 2))) as tar:  # type: ignore[call-overload]
            for _ in range(chance.randint(0, 5)):
                member = tarfile.TarInfo(chance.choice(NAMES))
                member.type = chance.choice((tarfile.REGTYPE, tarfile.REGTYPE, chance.choice(TYPES)))
                member.size = chance.choice((0, 10, 700, 200_000)) if member.isreg() else 0
                member.mtime, member.linkname = chance.choice(TIMES), "../programs.tar"
                member.pax_headers = chance.choice(
                    ({}, {"mtime": "nan"}, {"mtime": "inf"}, {"size": "-7"}, {"path": "/x"})
                )
                try:
                    tar.addfile(member, io.BytesIO(b"x" * member.size))
                except (ValueError, UnicodeError, OverflowError):
                    continue  # that nobody can write
        data = stored.getvalue()
        return Damage(chance).mutated_bytes(data) if chance.random() < 0.6 else data

    def _tell(self, chance: random.Random) -> None:
        damage, name = Damage(chance), object_name("runs/x/", SHA256)
        facts = {"object": name, "sha256": SHA256, "bytes": 7, "seal": seal(KEY, name, SHA256, 7)}
        odd = json.loads(json.dumps(damage.mutated_value(facts)))
        self.given("facts", repr(odd).encode())
        piece = piece_of(odd)
        if piece is not None:
            is_sealed(KEY, piece, odd.get("seal"))
            assert not is_sealed(KEY, {**piece, "bytes": 8}, odd.get("seal"))
        is_sealed(KEY, {"object": name, "sha256": SHA256, "bytes": 7}, chance.choice(VALUES))
        try:
            _compiled(odd)
        except BadConfig as error:
            assert str(error)
