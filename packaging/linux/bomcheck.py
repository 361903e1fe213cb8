"""Whether a bill of materials is what CycloneDX 1.6 asks for, as far as ours goes. Standard library; for `build.py`.

After bom-1.6.schema.json of CycloneDX/specification: what it requires, the forms of what we write, and no field beside
those that we write. It also says, as the schema cannot, that every reference leads to a part, and each once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

TOP = {"$schema", "bomFormat", "specVersion", "serialNumber", "version", "metadata", "components", "dependencies"}
COMPONENT = {"type", "name", "version", "bom-ref", "purl", "licenses", "hashes"}
TYPES = {"application", "library", "platform", "file"}  # of the schema's thirteen, those that are ours
SERIAL = re.compile(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SHA256 = re.compile(r"[0-9a-f]{64}")
PURL = re.compile(r"pkg:pypi/[a-z0-9][a-z0-9-]*@[A-Za-z0-9.+!%_-]+")


def wrong(tree: Any) -> list[str]:
    """What is wrong with the parsed JSON *tree*, a sentence each; none: it is in order."""
    try:
        return list(_wrong(tree))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        return [f"it has not the shape of a bill of materials: {type(error).__name__}: {error}"]


def _wrong(tree: dict[str, Any]) -> Iterator[str]:
    yield from _fields("the bill", tree, TOP, TOP - {"$schema"})
    for name, value in (("bomFormat", "CycloneDX"), ("specVersion", "1.6")):
        if tree[name] != value:
            yield f"{name} is {tree[name]!r}, not {value!r}"
    if not SERIAL.fullmatch(tree["serialNumber"]):
        yield f"serialNumber is {tree['serialNumber']!r}"
    if type(tree["version"]) is not int or tree["version"] < 1:
        yield f"version is {tree['version']!r}"
    yield from _fields("metadata", tree["metadata"], {"timestamp", "component"}, {"timestamp", "component"})
    if datetime.fromisoformat(tree["metadata"]["timestamp"]).tzinfo is None:
        yield "the timestamp has no zone"
    root, parts = tree["metadata"]["component"], tree["components"]
    if not parts:
        yield "it names no part"
    for one in (root, *parts):
        yield from _component(one)
    yield from _references(root, parts, tree["dependencies"])


def _component(one: dict[str, Any]) -> Iterator[str]:
    name = f"{one.get('type')} {one.get('name')}"
    is_package = one.get("bom-ref", "").startswith("package/")
    needed = {"type", "name", "bom-ref"} | ({"version", "purl", "licenses", "hashes"} if is_package else set())
    yield from _fields(name, one, COMPONENT, needed)
    if one["type"] not in TYPES:
        yield f"{name} is of no type that is ours"
    if not all(
        isinstance(one.get(field, "-"), str) and one.get(field, "-") for field in ("name", "version", "bom-ref")
    ):
        yield f"{name} has an empty name or version"
    if "purl" in one and not PURL.fullmatch(one["purl"]):
        yield f"{name} has the purl {one['purl']!r}"
    for sum_of_it in one.get("hashes", ()):
        if sum_of_it.keys() != {"alg", "content"} or sum_of_it["alg"] != "SHA-256":
            yield f"{name} has a hash that is no SHA-256"
        elif not SHA256.fullmatch(sum_of_it["content"]):
            yield f"{name} has a SHA-256 of another form"
    yield from (f"{name}: {told}" for told in _licences(one.get("licenses", ())))


def _licences(found: Any) -> Iterator[str]:
    """Either licences, each by its SPDX id or by a name, or one SPDX expression alone."""
    for one in found:
        if one.keys() == {"expression"}:
            if len(found) != 1 or not one["expression"]:
                yield "an expression stands beside other licences, or is empty"
        elif one.keys() != {"license"} or len(one["license"].keys() & {"id", "name"}) != 1:
            yield "a licence has not either an id or a name"


def _references(root: dict[str, Any], parts: list[Any], dependencies: list[Any]) -> Iterator[str]:
    known = Counter(one["bom-ref"] for one in (root, *parts))
    yield from (f"{ref} is the bom-ref of {count} parts" for ref, count in known.items() if count > 1)
    told = Counter(one["ref"] for one in dependencies)
    yield from (f"{ref} has its dependencies {count} times" for ref, count in told.items() if count > 1)
    if told.keys() != known.keys():
        yield f"the dependencies are of other parts: {sorted(told.keys() ^ known.keys())[:5]}"
    for one in dependencies:
        needs = one.get("dependsOn", [])
        if one.keys() - {"ref", "dependsOn"} or len(set(needs)) != len(needs) or set(needs) - known.keys():
            yield f"{one['ref']} depends on what is not there, or on something twice"


def _fields(name: str, found: dict[str, Any], known: set[str], needed: set[str]) -> Iterator[str]:
    if lacking := needed - found.keys():
        yield f"{name} lacks {', '.join(sorted(lacking))}"
    if strange := found.keys() - known:
        yield f"{name} has {', '.join(sorted(strange))}, which is not ours"
