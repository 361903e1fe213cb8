"""A page of a run, read as a browser reads it; and curves of any length to make one of."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.store import columns
from tpu_studio.store.columns import ROW
from tpu_studio.store.curve import ColumnCurve

_VOID = {"meta", "link", "br"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str = "") -> Iterator[Element]:
        for child in self.children:
            if tag in ("", child.tag):
                yield child
            yield from child.all(tag)

    def words(self) -> str:
        return self.text + "".join(child.words() for child in self.children)

    def to_json(self) -> dict[str, Any]:
        children = [child.to_json() for child in self.children]
        return {"tag": self.tag, "attributes": self.attributes, "children": children, "text": self.text}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.top = Element("", {})
        self._open = [self.top]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice in {tag}"
        made = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(made)
        if tag not in _VOID:
            self._open.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a page has no comment")


def read(data: bytes) -> Element:
    """The tree of a page; fails where a tag is not closed."""
    reader = _Reader()
    reader.feed(data.decode())
    reader.close()
    assert len(reader._open) == 1
    return reader.top


def shape(page: Element) -> list[tuple[str, tuple[str, ...]]]:
    """Every element with the names of its attributes: what nothing in the data may change."""
    return [(one.tag, tuple(one.attributes)) for one in page.all()]


def sha256(text: str) -> str:
    """As a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def data_of(page: Element) -> Mapping[str, Any]:
    """The block of JSON in it."""
    (block,) = [one for one in page.all("script") if one.attributes.get("id") == "data"]
    found = json.loads(block.text)
    assert isinstance(found, dict)
    return found


def curve_of(folder: Path, values: np.ndarray, number: int = 0) -> ColumnCurve:
    """A point for each step from 1."""
    rows = np.empty(len(values), ROW)
    rows["step"] = np.arange(len(values)) + 1
    rows["t"] = 1000.0 + rows["step"] / 10
    rows["value"] = values
    made = ColumnCurve(folder, number)
    made.show(columns.append(folder, number, 0, rows))
    return made
