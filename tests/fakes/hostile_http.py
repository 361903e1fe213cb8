"""Hostile requests at the practice cloud, from a seed: any route, with values that fit and values that do not.

`Hostile` makes one; `Target.send` sends it to a practice cloud in this process and raises `Fallen` when the answer is
"internal error", none comes, a thread or the ticker died of it, or the server does not answer its owner afterwards.
`make fuzz` (tests/fakes/fuzz/cloud.py) and a dose in the suite use both.
"""

from __future__ import annotations

import json
import random
import re
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from tests.fakes import hostile_words as words
from tests.fakes import practices
from tests.fakes.hostile import Damage
from tpu_studio.practice.discovery import schemas
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.main import SERVICES, Practice, prepare_account
from tpu_studio.practice.routing import Route
from tpu_studio.practice.settings import Settings

PATIENCE_S = 60.0
EACH = 2000
PREPARED_EACH = 20
"""Requests to one practice cloud; then a fresh one, or its memory would only grow."""


class Fallen(AssertionError):
    """What the practice cloud did not withstand; `request` is what was sent."""

    def __init__(self, why: str, request: bytes) -> None:
        super().__init__(f"{why}: {request[:2000]!r}")
        self.request = request


class Target:
    """A practice cloud in this process, ready, without machines, in a thousandfold time. Close it."""

    def __init__(self, folder: Path) -> None:
        self.practice = Practice(Settings(folder, machines=False, speed=1000.0)).start()
        self.asked = 0
        self.ended: list[str] = []  # threads of it that died
        self._hook, threading.excepthook = threading.excepthook, self._note
        self.practice.server.handle_error = self._noted  # type: ignore[method-assign]
        for timer in self.practice.cloud._timers:
            timer.function = self._watched(timer.function)

    def close(self) -> None:
        threading.excepthook = self._hook
        practices.end(self.practice)

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, request: bytes) -> bytes:
        """*request* as it is, and after it one of the owner's. Raises Fallen."""
        if self.asked % PREPARED_EACH == 0:
            self._prepare()
        self.asked += 1
        got = self._exchange(request)
        if re.match(rb"HTTP/1.1 500 |\{\s*\"error\": ?\{\s*\"code\": 500", got):
            raise Fallen("an internal error", request)
        self.practice.cloud.faults.disarm()  # what it has armed would be no fault of the next one
        self.practice.cloud.doubts.disarm()
        owner = f"GET /practice/ready HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.practice.token}\r\n"
        if not self._exchange(f"{owner}Connection: close\r\n\r\n".encode()).startswith(b"HTTP/1.1 200"):
            raise Fallen("its owner is not answered any more", request)
        if self.ended:
            raise Fallen(f"a thread died of {self.ended.pop()}", request)
        return got

    def _prepare(self) -> None:
        """Put right what earlier requests took away: the project and its services, a bucket, something in it."""
        cloud = self.practice.cloud
        prepare_account(cloud)
        for module in SERVICES:
            if hasattr(found := import_module(f"tpu_studio.practice.{module}"), "prepare"):
                with suppress(GoogleError):  # it is there still
                    found.prepare(cloud)
        bucket = cloud.settings.bucket
        for method, path, body in (
            ("POST", f"/storage/v1/b?project={cloud.settings.project}", f'{{"name":"{bucket}","location":"US-WEST4"}}'),
            ("POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=a", "hello"),
            ("POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name=runs/b", "hello"),
        ):
            head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.practice.token}\r\n"
            self._exchange(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.practice.server.server_port}"

    def _exchange(self, data: bytes) -> bytes:
        got = b""
        with closing(socket.create_connection(("127.0.0.1", self.practice.server.server_port), PATIENCE_S)) as line:
            try:
                line.sendall(data)
                line.shutdown(socket.SHUT_WR)
                while piece := line.recv(1 << 20):
                    got += piece
            except TimeoutError:
                raise Fallen(f"no answer within {PATIENCE_S:g} s", data) from None
            except OSError:
                pass  # it has hung up: its right
        return got

    def _note(self, about: threading.ExceptHookArgs) -> None:
        self.ended.append(f"{about.exc_type.__name__}: {about.exc_value}")

    def _noted(self, request: Any, client_address: Any) -> None:
        if not isinstance(error := sys.exc_info()[1], OSError):
            self.ended.append(f"{type(error).__name__}: {error}")

    def _watched(self, work: Callable[[], None]) -> Callable[[], None]:
        """*work* of the ticker, which goes on whatever one of them raises."""

        def watched() -> None:
            try:
                work()
            except Exception as error:
                self.ended.append(f"{type(error).__name__} in the ticker: {error}")
                raise

        return watched


class Hostile:
    """Makes one request."""

    def __init__(self, practice: Practice, chance: random.Random) -> None:
        self._practice, self._chance = practice, chance
        self._damage = Damage(chance.randrange(1 << 30))
        settings = practice.cloud.settings
        self._fits = {
            "project": settings.project,
            "home": settings.project,
            "zone": settings.zone,
            "location": settings.zone,
            "region": settings.region,
            "bucket": settings.bucket,
            "to_bucket": settings.bucket,
            "queue": settings.queue,
            "account": settings.runner,
            "email": settings.runner,
            "version": "v2",
            "object": "a",
            "to_object": "b",
        }

    def request(self) -> bytes:
        chance = self._chance
        if chance.random() < 0.5:
            method, path, tree = chance.choice(words.GOOD)
            for _ in range(chance.choice((0, 1, 1, 2))):
                tree = self._damage.mutated_value(tree)
            return self._written(method, path, b"" if method == "GET" else json.dumps(tree).encode())
        route = chance.choice(self._practice.router._routes)
        path = self._path(route)
        names = chance.sample(words.PARAMETERS, chance.choice((0, 0, 1, 1, 2, 4)))
        if query := [(name, self._word()) for name in names]:
            path += "?" + urlencode(query, errors="surrogatepass")
        body = b"" if route.method in ("GET", "HEAD", "DELETE") else self._body(route)
        return self._written(route.method, path, body)

    def _written(self, method: str, path: str, body: bytes) -> bytes:
        chance = self._chance
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self._practice.server.server_port}"]
        if chance.random() < 0.9:
            lines.append(f"Authorization: Bearer {self._practice.token}")
        lines += [f"{name}: {self._header()}" for name in chance.sample(words.HEADERS, chance.choice((0, 0, 0, 1, 2)))]
        if chance.random() < 0.1:
            lines.append("Transfer-Encoding: chunked")
            cut = chance.randrange(len(body) + 1)
            pieces = [one for one in (body[:cut], body[cut:]) if one]
            body = b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in pieces) + b"0\r\n\r\n"
        elif body or chance.random() < 0.9:
            lines.append(f"Content-Length: {len(body)}")
        data = "\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8", "surrogatepass") + body
        return self._broken(data) if chance.random() < 0.15 else data

    # ------------------------------------------------------------------------------------------------------- path

    def _path(self, route: Route) -> str:
        import re._parser as parser  # type: ignore[import-not-found]  # how re itself reads a pattern

        tree = parser.parse(route.pattern.pattern)
        names = {number: name for name, number in tree.state.groupdict.items()}
        return self._walk(tree, names)

    def _walk(self, tree: Any, names: dict[int, str]) -> str:
        chance, out = self._chance, ""
        for op, about in tree:
            kind = str(op)
            if kind == "LITERAL":
                out += chr(about)
            elif kind == "SUBPATTERN":
                name = names.get(about[0] or 0, "")
                fits = self._fits.get(name)
                if fits is not None and chance.random() < 0.8:
                    out += quote(fits, safe="")
                elif name and chance.random() < 0.5:
                    out += quote(self._word(), safe="/:" if chance.random() < 0.5 else "", errors="surrogatepass")
                else:
                    out += self._walk(about[3], names)
            elif kind == "BRANCH":
                out += self._walk(chance.choice(about[1]), names)
            elif kind in ("MAX_REPEAT", "MIN_REPEAT"):
                least, most, inner = about
                for _ in range(chance.randint(least, min(int(most), least + 6))):
                    out += self._walk(inner, names)
            elif kind == "IN":
                letters = [one for one in map(chr, range(33, 127)) if self._is_in(about, one)]
                out += chance.choice(letters or ["x"])
            elif kind in ("ANY", "NOT_LITERAL"):
                out += chance.choice("abz019-_.~")
        return out

    def _is_in(self, about: Any, letter: str) -> bool:
        found, negated = False, False
        for op, inner in about:
            kind = str(op)
            negated = negated or kind == "NEGATE"
            found = found or (kind == "LITERAL" and chr(inner) == letter)
            found = found or (kind == "RANGE" and inner[0] <= ord(letter) <= inner[1])
            found = found or (kind == "CATEGORY" and letter.isalnum())
        return found != negated and letter not in "#?"

    # ------------------------------------------------------------------------------------------------------- body

    def _body(self, route: Route) -> bytes:
        chance = self._chance
        draw = chance.random()
        if draw < 0.05:
            return chance.choice(words.NO_JSON)
        if route.public or draw < 0.1:
            fields = chance.sample((*words.PARAMETERS, *words.FORM), 4)
            return urlencode([(name, self._word()) for name in fields], errors="surrogatepass").encode()
        reference = route.schema.format_map(_Names(self._fits)) if route.schema else "storage.v1:Object"
        tree = self._message(reference, 0)
        if route.pattern.pattern.startswith("/practice/faults"):
            tree = {"name": chance.choice(("slow-replies", "org-policy", "x")), "times": 1, "seconds": 0.0}
        if chance.random() < 0.4:
            tree = self._damage.mutated_value(tree)
        try:
            data = json.dumps(tree).encode()
        except ValueError:
            data = b"{}"
        if chance.random() < 0.15:
            head = b"--b\r\nContent-Type: application/json\r\n\r\n" + data
            return head + b"\r\n--b\r\nContent-Type: text/plain\r\n\r\nhello\r\n--b--\r\n"
        return data

    def _message(self, reference: str, depth: int) -> dict[str, Any]:
        document, _, name = reference.partition(":")
        try:
            properties = schemas(document)[name].get("properties", {})
        except (KeyError, OSError, ValueError):
            return {"name": self._word()}
        writable = [key for key, about in properties.items() if not about.get("readOnly")]
        wanted = self._chance.sample(writable, min(len(writable), self._chance.randint(0, 6)))
        return {key: self._value(document, properties[key], key, depth + 1) for key in wanted}

    def _value(self, document: str, schema: dict[str, Any], key: str, depth: int) -> Any:
        chance = self._chance
        if chance.random() < 0.1:
            return self._word()
        if "$ref" in schema:
            return self._message(f"{document}:{schema['$ref']}", depth) if depth < 5 else {}
        kind = schema.get("type", "any")
        if kind == "array":
            return [self._value(document, schema["items"], key, depth + 1) for _ in range(chance.randint(0, 2))]
        if kind == "object":
            inner = schema.get("additionalProperties", {"type": "string"})
            keys = [self._word()[:40] for _ in range(chance.randint(0, 2))]
            return {one: self._value(document, inner, key, depth + 1) for one in keys}
        if "enum" in schema:
            return chance.choice(schema["enum"])
        if kind == "boolean":
            return chance.random() < 0.5
        if kind in ("integer", "number"):
            return chance.choice((0, 1, -1, 7, 2**31, 10**30, -(10**400), 1e308, 0.5))
        if schema.get("format") in ("int64", "uint64"):
            return chance.choice(("0", "1", "-5", "9" * 18, "9" * 25))
        return self._fits.get(key, self._word()) if chance.random() < 0.7 else self._word()

    # ---------------------------------------------------------------------------------------------------- the rest

    def _word(self) -> str:
        chance = self._chance
        if chance.random() < 0.4:
            return chance.choice(list(self._fits.values()))
        return chance.choice(words.WORDS)

    def _header(self) -> str:
        word = self._chance.choice((*words.HEADER_WORDS, *words.WORDS))
        return re.sub(r"[\r\n]+(?! )", " ", word)

    def _broken(self, data: bytes) -> bytes:
        """Bytes changed, left out, doubled or cut off anywhere."""
        at = self._chance.randrange(len(data))
        ways: tuple[Callable[[], bytes], ...] = (
            lambda: data[:at],
            lambda: data[:at] + bytes([self._chance.randrange(256)]) + data[at + 1 :],
            lambda: data[:at] + data[at + 1 :],
            lambda: data[:at] + self._chance.choice(words.BYTES) + data[at:],
            lambda: data + data[at:],
        )
        return self._chance.choice(ways)()


class _Names(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "v1"
