"""What comes from elsewhere: a bucket's objects, damaged, changed at any call; and requests by HTTP."""

from __future__ import annotations

import copy
import random
import shutil
from pathlib import Path

from tests.fakes.clouddesk import CloudDesk
from tests.fakes.fuzz.target import Base, told
from tests.fakes.hostile import PIECES, Damage
from tests.fakes.hostile_http import EACH, Hostile, Target
from tests.fakes.skies import Sky

STAGES = (6, 14, 24, 40)  # turns: it waits, it is made, it trains, it is nearly done


class Bucket(Base):
    """A rented run whose bucket is damaged between the turns and in the middle of a read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.stages: list[tuple[Path, Sky]] = []
        desk, turns = CloudDesk(folder / "desk", Sky()), 0
        for number, until in enumerate(STAGES):
            while turns < until and not desk.state.settled:
                desk.turn()
                turns += 1
            kept = folder / f"stage{number}"
            shutil.copytree(folder / "desk", kept)
            self.stages.append((kept, copy.deepcopy(desk.sky)))
        desk.die()

    def one(self, chance: random.Random) -> None:
        kept, sky = chance.choice(self.stages)
        sky, home, damage = copy.deepcopy(sky), self.folder / "home", Damage(chance)
        shutil.copytree(kept, home)
        desk = CloudDesk(home, sky)
        often = chance.choice((0.0, 0.05, 0.3))

        def between(call: str, done: bool) -> None:
            if chance.random() < often:
                self._change(sky, damage)

        for _ in range(chance.randint(1, 3)):
            self._change(sky, damage)
        sky.hook = between
        try:
            for _ in range(6):
                told(desk.turn)
            told(lambda: desk.stop())
            told(desk.turn)
            told(lambda: desk.driver.state(desk.run))
        finally:
            sky.hook = lambda call, done: None
            desk.die()
            shutil.rmtree(home)

    def _change(self, sky: Sky, damage: Damage) -> None:
        """One object is another, gone, a newer one of the same bytes, or there under a name that is nobody's."""
        chance = damage.random
        if not sky.objects:
            return
        name = chance.choice(sorted(sky.objects))
        data, generation, at = sky.objects[name]
        match chance.randrange(6):
            case 0:
                del sky.objects[name]
            case 1:
                sky.objects[name] = (data, generation + chance.randint(1, 3), at + 1)
            case 2:
                odd = chance.choice(
                    ("/../x", "/", "\n", "/a" * 60, "/" + "n" * 300, "é", "/events/a0001-w000/x.jsonl", ".jsonl")
                )
                sky.objects[(name + odd)[:900]] = (data, generation + 1, at)
            case _:
                lines = name.endswith(".jsonl")
                changed = damage.mutated_file(data, lines=lines) if data else chance.choice(PIECES)
                self.given(name.replace("/", "_"), changed)
                sky.objects[name] = (changed, generation + 1, at)


class Http(Base):
    """Requests to the practice cloud, damaged: an answer in time, and afterwards it answers still."""

    METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW")
    PATHS = (
        "/practice/ready",
        "/practice/faults",
        "/token",
        "/o/oauth2/v2/auth?client_id=x&redirect_uri=http://127.0.0.1:1/",
        "/v2/projects/practice-project/locations/us-west4-a/queuedResources?queuedResourceId=a",
        "/v2/projects/practice-project/locations/us-west4-a/nodes",
        "/v2/projects/practice-project/locations",
        "/cloudtasks/v2/projects/practice-project/locations/us-west4/queues?pageSize=2",
        "/compute/v1/projects/practice-project/zones/us-west4-a/instances?filter=((((a",
        "/storage/v1/b?project=practice-project",
        "/storage/v1/b/tpu-studio-0123456789ab/o?prefix=&matchGlob=**",
        "/storage/v1/b/tpu-studio-0123456789ab/o/a%00b?alt=media",
        "/upload/storage/v1/b/tpu-studio-0123456789ab/o?uploadType=media&name=x",
        "/upload/storage/v1/b/tpu-studio-0123456789ab/o?uploadType=resumable&name=x",
        "/v1/projects/practice-project",
        "/v3/projects/practice-project:getIamPolicy",
        "/",
    )
    BODIES = (
        b"",
        b"{}",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"name":"slow-replies","times":' + b"9" * 6000 + b"}",
        b"\xff\xfe",
        b'{"name":"\\ud800"}',
        b'{"acceleratorType":"v5litepod-8","tpu":{"nodeSpec":[{}]}}',
        b"null",
        b"NaN",
        b'{"seconds":NaN}',
        b"grant_type=authorization_code&code=x",
        b"{}" * 3000,
    )
    HEADERS = (
        "Host: evil.example",
        "Origin: null",
        "Content-Length: +4",
        "Content-Length: -1",
        "Content-Length: 99999999999",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: xchunked",
        "Range: bytes=0-,0-",
        "Expect: 100-continue",
        "X: " + "y" * 9000,
        "Content-Type: application/json",
        "Content-Type: multipart/related; boundary=x",
        "If-Match: *",
        "Connection: keep-alive",
        "X-Goog-If-Generation-Match: 9e9",
        "Content-Range: bytes 0-9/*",
        " folded: x",
        "\x00: x",
    )

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._target, self._made = Target(folder / "practice-0"), 0

    def one(self, chance: random.Random) -> None:
        if self._target.asked >= EACH:
            self._target.close()
            shutil.rmtree(self.folder / f"practice-{self._made}")
            self._made += 1
            self._target = Target(self.folder / f"practice-{self._made}")
        if chance.random() < 0.7:
            data = Hostile(self._target.practice, chance).request()
        else:
            data = self._senseless(chance)
        self.given("request", data)
        self._target.send(data)

    def _senseless(self, chance: random.Random) -> bytes:
        damage = Damage(chance)
        path = chance.choice(self.PATHS)
        if chance.random() < 0.3:
            path = damage.mutated_bytes(path.encode()).replace(b" ", b"+").replace(b"\n", b"%0a").decode("latin-1")
        body = chance.choice(self.BODIES)
        if chance.random() < 0.3:
            body = damage.mutated_record(body or b"{}")
        method = chance.choice(self.METHODS)
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self._target.host}", "Connection: close"]
        if chance.random() < 0.9:
            lines.append(f"Authorization: Bearer {self._target.practice.token}")
        lines += chance.sample(self.HEADERS, chance.choice((0, 0, 1, 1, 3)))
        lines.append(f"Content-Length: {len(body)}")
        data = "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body
        return damage.mutated_bytes(data) if chance.random() < 0.2 else data

    def close(self) -> None:
        self._target.close()
