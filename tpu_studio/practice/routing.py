"""Requests, replies, and which function answers which path."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import Message
from typing import IO
from urllib.parse import unquote

from tpu_studio.practice import jsonbody
from tpu_studio.practice.discovery import checked
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.principals import Principal
from tpu_studio.practice.state import Record

NOBODY = Principal("", scopes=())


@dataclass
class Request:
    """Attributes:
    path: As it came (percent-encoded), without the query.
    match: Named groups of the route's pattern, decoded.
    stream: The body to be read in pieces, at most once, instead of `body`.
    route: The route that answers it.
    """

    method: str
    path: str
    query: dict[str, list[str]]
    headers: Message
    stream: IO[bytes]
    match: dict[str, str] = field(default_factory=dict)
    principal: Principal = NOBODY
    route: Route | None = None
    _body: bytes | None = None

    @property
    def body(self) -> bytes:
        if self._body is None:
            self._body = self.stream.read()
        return self._body

    @property
    def call(self) -> str:
        return f"{self.method} {self.path}"

    def one(self, name: str, default: str = "") -> str:
        """A query parameter's first value."""
        return (self.query.get(name) or [default])[0]

    def flag(self, name: str) -> bool:
        """gcloud sends True, others true."""
        return self.one(name).lower() in ("true", "1")

    def number(self, name: str, default: int) -> int:
        """Raises GoogleError 400."""
        text = self.one(name)
        try:
            return int(text) if text else default
        except ValueError as error:
            raise GoogleError(400, "INVALID_ARGUMENT", f"Invalid value at '{name}' (TYPE_INT32), \"{text}\"") from error

    def json(self) -> Record:
        """The body, held to the route's schema, without output-only fields. Raises GoogleError 400."""
        try:
            value = jsonbody.read(self.body)
        except ValueError as error:
            message = f"Invalid JSON payload received. {error}"
            raise GoogleError(400, "INVALID_ARGUMENT", message, reason="parseError") from error
        if self.route is not None and self.route.schema:
            return checked(self.route.schema.format(**self.match), value)
        if not isinstance(value, dict):
            raise GoogleError(400, "INVALID_ARGUMENT", "Invalid JSON payload received. Expected an object.")
        return value


@dataclass
class Reply:
    """Attributes:
    body: A dict is sent as JSON; an iterator in pieces (chunked, unless ``Content-Length`` is among the headers).
    """

    status: int = 200
    body: bytes | Record | Iterator[bytes] = b""
    headers: dict[str, str] = field(default_factory=dict)


Handler = Callable[[Request], "Reply | Record"]


@dataclass(frozen=True)
class Route:
    """Attributes:
    schema: ``document:Schema`` of the body; may name groups of the pattern, ``tpu.{version}:Node``.
    permission: What the caller needs on ``projects/<project>`` or ``buckets/<bucket>``; "" = any valid token.
    service: Refused with SERVICE_DISABLED, or BILLING_DISABLED, unless the project has it on; "" = not asked.
    public: No token needed.
    pages: Browsers come here (sign-in): an Origin is no reason to refuse.
    """

    method: str
    pattern: re.Pattern[str]
    handler: Handler
    schema: str = ""
    permission: str = ""
    service: str = ""
    public: bool = False
    pages: bool = False


class Router:
    def __init__(self) -> None:
        self._routes: list[Route] = []

    def route(
        self,
        method: str,
        pattern: str,
        *,
        schema: str = "",
        permission: str = "",
        service: str = "",
        public: bool = False,
        pages: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Decorator. *pattern* must match the whole path, which is percent-encoded; the groups arrive decoded."""

        def add(handler: Handler) -> Handler:
            compiled = re.compile(pattern)
            self._routes.append(Route(method, compiled, handler, schema, permission, service, public, pages))
            return handler

        return add

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]] | None:
        for route in self._routes:
            if route.method == method and (found := route.pattern.fullmatch(path)):
                return route, {name: unquote(value) for name, value in found.groupdict().items() if value is not None}
        return None
