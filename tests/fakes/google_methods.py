"""Which of Google's methods a call is, by the discovery documents: for fakes that must not invent any."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from tpu_studio.practice.discovery import checked
from tpu_studio.practice.errors import GoogleError
from tpu_studio.wire.resources import resource_path

DOCUMENTS = {
    "tpu": ("tpu.v2", "tpu.v2alpha1"),
    "compute": ("compute.v1",),
    "tasks": ("cloudtasks.v2",),
    "resourcemanager": ("cloudresourcemanager.v3",),
}
_FILES = {"compute.v1": "compute.v1.subset"}


def what_is_wrong(service: str, method: str, path: str, query: dict[str, str], body: bytes) -> str:
    """Why Google would not know this call: no such method, an unknown query parameter or body field; "": it would.

    Args:
        path: Without the host, ``v2/projects/…``.
    """
    for document in DOCUMENTS[service]:
        for pattern, verb, parameters, schema in _methods(document):
            if verb != method or not pattern.fullmatch(path.lstrip("/")):
                continue
            if unknown := sorted(set(query) - parameters):
                return f"{method} {path} has no parameter {unknown[0]}"
            if body and not schema:
                return f"{method} {path} takes no body"
            try:
                checked(f"{document}:{schema}", json.loads(body)) if schema else None
            except GoogleError as error:
                return f"{method} {path}: {error}"
            return ""
    return f"there is no {method} {path} in {', '.join(DOCUMENTS[service])}"


@cache
def _methods(document: str) -> tuple[tuple[re.Pattern[str], str, frozenset[str], str], ...]:
    """(path, HTTP method, query parameters, schema of the body) of each."""
    tree = json.loads(resource_path("discovery", f"{_FILES.get(document, document)}.json").read_text("utf-8"))
    found = []

    def walk(resources: dict[str, Any]) -> None:
        for resource in resources.values():
            for one in (resource.get("methods") or {}).values():
                path = tree["servicePath"] + (one.get("flatPath") or one["path"])
                pattern = re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(path))
                pattern = pattern.replace("[^/]+:", "[^/:]+:")
                known = {name for name, about in one.get("parameters", {}).items() if about["location"] == "query"}
                known |= set(tree["parameters"])
                body = (one.get("request") or {}).get("$ref", "")
                found.append((re.compile(pattern), one["httpMethod"], frozenset(known), body))
            walk(resource.get("resources") or {})

    walk(tree["resources"])
    return tuple(found)
