"""Google's generic client (google-api-python-client), built from the discovery documents that the practice cloud is
held to, and pointed at it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import google_auth_httplib2
import httplib2
from google.oauth2.credentials import Credentials
from googleapiclient.discovery import build_from_document

from tpu_studio.practice.main import Practice
from tpu_studio.wire.resources import resource_path


@contextmanager
def google_client(practice: Practice, document: str, token: str = "") -> Iterator[Any]:
    """*document*: ``cloudtasks.v2``; the caller is the owner unless *token* says otherwise."""
    text = json.loads(resource_path("discovery", f"{document}.json").read_text("utf-8"))
    root = f"{practice.url}/cloudtasks/" if document.startswith("cloudtasks") else f"{practice.url}/"
    text |= {"rootUrl": root, "baseUrl": root + text.get("servicePath", "")}
    for dotted in [name for name in text.get("methods", {}) if "." in name]:  # the derived document's way
        place, (*path, last) = text, dotted.split(".")
        for resource in path:
            place = place.setdefault("resources", {}).setdefault(resource, {})
        place.setdefault("methods", {})[last] = text["methods"].pop(dotted)
    credentials = Credentials(token or practice.token)  # type: ignore[no-untyped-call]
    line = google_auth_httplib2.AuthorizedHttp(credentials, http=httplib2.Http(timeout=20, proxy_info=None))
    with build_from_document(text, http=line) as client:
        yield client
    line.close()
