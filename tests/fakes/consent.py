"""A browser with a person before it, for the practice sign-in: reads the page, ticks, presses, follows."""

from __future__ import annotations

import threading
from html.parser import HTMLParser
from urllib import error, parse, request


class Person:
    """What `webbrowser.register` takes.

    Args:
        account: Chosen on the page; "" = the one that the page suggests.
        untick: Scopes whose box this person unticks.
        cancels: Presses the other button.
        instead: A beginning of addresses, and the one to which this browser goes for it.

    Attributes:
        pages: What was seen, as HTML.
    """

    def __init__(
        self,
        account: str = "",
        untick: tuple[str, ...] = (),
        *,
        cancels: bool = False,
        instead: tuple[str, str] = ("", ""),
    ) -> None:
        self.account, self.untick, self.cancels, self.instead = account, untick, cancels, instead
        self.pages: list[str] = []
        self._thread: threading.Thread | None = None

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
        self._thread = threading.Thread(target=self.visit, args=(url,), name="person")
        self._thread.start()
        return True

    def leave(self) -> None:
        if self._thread is not None:
            self._thread.join(20)

    def visit(self, url: str) -> None:
        url = address_behind(url).replace(*self.instead)
        status, page, location = _fetch(url)
        self.pages.append(page)
        if location:
            self.pages.append(_fetch(location)[1])
        if status != 200:
            return
        form = _Form(page)
        fields = [(name, value) for name, value in form.fields if not (name == "scope" and value in self.untick)]
        if self.account:
            fields = [(name, value) for name, value in fields if name != "account"] + [("account", self.account)]
        fields.append(("action", "deny" if self.cancels else "allow"))
        status, page, location = _fetch(parse.urljoin(url, form.action), parse.urlencode(fields).encode())
        self.pages.append(page)
        if location:
            self.pages.append(_fetch(location)[1])


def address_behind(url: str) -> str:
    """Where the page of the program's own leads that a browser is given at a sign-in; any other address is itself."""
    return _fetch(url)[2] if "/go/" in url else url


class _Form(HTMLParser):
    """The only form of a page: its action, and the fields as they would be sent."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action = ""
        self.fields: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        have = {name: value or "" for name, value in attributes}
        if tag == "form":
            self.action = have["action"]
        if tag == "input" and (have["type"] == "hidden" or "checked" in have):
            self.fields.append((have["name"], have["value"]))


class _Stay(request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def _fetch(url: str, body: bytes | None = None) -> tuple[int, str, str]:
    """Status, text, and where it sends one."""
    opener = request.build_opener(request.ProxyHandler({}), _Stay())
    try:
        with opener.open(request.Request(url, body), timeout=60) as reply:
            return reply.status, reply.read().decode(), ""
    except error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode(), refused.headers.get("Location", "")
