"""Partial answers of the APIs that are described by discovery documents: the system parameter ``fields``.

A field that the reply's schema does not have is 400, as at Google. Cloud Storage has its own (`storage.service`).
"""

from __future__ import annotations

from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.discovery import schemas
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.routing import Request
from tpu_studio.practice.storage import fields


def part_of(cloud: Cloud, request: Request, body: dict[str, object], schema: str, document: str) -> dict[str, object]:
    """*body*, or what the request's ``fields`` names of it. Raises GoogleError 400."""
    wanted, way = request.one("fields"), cloud.doubts.way("partial-answers")
    if not wanted or way == "ignored":
        return body
    try:
        mask = fields.parse(wanted)
        if way == "refused":
            raise fields.BadFields(wanted)
        _check(mask, schema, document)
    except fields.BadFields as error:
        raise GoogleError(
            400, "INVALID_ARGUMENT", f"Invalid field selection {error}", reason="invalidParameter"
        ) from None
    return dict(fields.apply(mask, body))


def _check(mask: fields.Mask, schema: str, document: str) -> None:
    """Raises BadFields with the first name that the schema does not have."""
    known = schemas(document).get(schema, {})
    for name, below in mask.items():
        about = known.get("properties", {}).get(name) or known.get("additionalProperties")
        if about is None and name != "*":
            raise fields.BadFields(name)
        inner = (about or {}).get("$ref") or ((about or {}).get("items") or {}).get("$ref", "")
        if below and inner:
            _check(below, inner, document)
