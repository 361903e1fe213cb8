"""Bodies held to Google's discovery documents (resources/discovery): what is refused, what is ignored, in its words.

Unknown fields are a 400, output-only fields are ignored (`gcloud … update` sends a whole node back), enums may come by
number as Google's own clients send them.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache
from typing import Any

from tpu_studio.practice.clock import parse_duration, parse_rfc3339
from tpu_studio.practice.errors import GoogleError, bad_request
from tpu_studio.practice.state import Record
from tpu_studio.wire.resources import resource_path

Schemas = Record


@cache
def schemas(document: str) -> Schemas:
    """*document*: ``tpu.v2`` and so on."""
    names = {"compute.v1": "compute.v1.subset", "cloudquotas.v1": "cloudquotas.v1.derived"}
    text = resource_path("discovery", f"{names.get(document, document)}.json").read_text("utf-8")
    found: Schemas = json.loads(text)["schemas"]
    return found


@cache
def enum_numbers() -> dict[str, dict[str, int]]:
    """Schema.field → name → number, of the Cloud TPU API."""
    text = resource_path("discovery", "tpu.v2.enums.json").read_text("utf-8")
    found: dict[str, dict[str, int]] = json.loads(text)
    return found


def checked(reference: str, body: object) -> dict[str, object]:
    """*body* without its output-only fields.

    Args:
        reference: Document and schema, ``tpu.v2:QueuedResource``.

    Raises:
        GoogleError: 400 INVALID_ARGUMENT, with all unknown fields and wrong values.
    """
    document, _, name = reference.partition(":")
    check = _Check(document)
    clean = check.message(name, body, "")
    if check.faults:
        lines = [description for _, description in check.faults]
        raise GoogleError(400, "INVALID_ARGUMENT", "\n".join(lines), [bad_request(*check.faults)], reason="invalid")
    return clean


class _Check:
    def __init__(self, document: str) -> None:
        self.document, self.schemas = document, schemas(document)
        self.faults: list[tuple[str, str]] = []

    def message(self, schema: str, value: object, where: str) -> dict[str, object]:
        return self._object(self.schemas[schema], value, where)

    def _object(self, schema: Record, value: Any, where: str) -> Record:
        if not isinstance(value, dict):
            self._wrong(where, f"Proto field is not repeating, cannot start list. {type(value).__name__}")
            return {}
        properties, more = schema.get("properties", {}), schema.get("additionalProperties")
        clean = {}
        for key, item in value.items():
            known = properties.get(key) or properties.get(camel(key))
            if known is None and more is None:
                self._unknown(key, where)
            elif known is None:
                clean[key] = self._value(more or {}, item, f"{where}[{key}]", schema.get("id", ""), key)
            elif not known.get("readOnly") and item is not None:
                name = key if key in properties else camel(key)
                clean[name] = self._value(known, item, f"{where}.{snake(name)}".lstrip("."), schema.get("id", ""), name)
        return clean

    def _value(self, schema: Record, value: Any, where: str, owner: str, key: str) -> Any:
        if "$ref" in schema:
            return self.message(schema["$ref"], value, where)
        kind = schema.get("type", "any")
        if kind == "array":
            if not isinstance(value, list):
                self._wrong(where, "expected a list")
                return []
            return [self._value(schema["items"], one, f"{where}[{at}]", owner, key) for at, one in enumerate(value)]
        if kind == "object":
            return self._object(schema, value, where)
        if kind == "any":
            return value
        if "enum" in schema:
            return self._enum(schema["enum"], value, where, owner, key)
        return self._scalar(kind, schema.get("format", ""), value, where)

    def _enum(self, names: list[str], value: object, where: str, owner: str, key: str) -> object:
        if isinstance(value, int) and not isinstance(value, bool):
            numbers = enum_numbers().get(f"{owner}.{key}", {})
            return next((name for name, number in numbers.items() if number == value), names[0])
        if value not in names:
            self._invalid(where, owner, key, value)
        return value

    def _scalar(self, kind: str, form: str, value: Any, where: str) -> Any:
        try:
            if kind == "boolean":
                if not isinstance(value, bool):
                    raise ValueError
            elif kind in ("integer", "number"):
                if isinstance(value, bool):
                    raise ValueError
                return _within(int(value), form or "int32") if kind == "integer" else _finite(float(value))
            elif not isinstance(value, str):
                if form in _BITS and isinstance(value, int) and not isinstance(value, bool):
                    return str(_within(value, form))
                raise ValueError
            elif form in _BITS:
                _within(int(value), form)
            elif form == "google-duration":
                parse_duration(value)
            elif form == "google-datetime":
                parse_rfc3339(value)
        except (ValueError, TypeError, OverflowError):
            types = {"boolean": "TYPE_BOOL", "integer": "TYPE_INT32", "number": "TYPE_DOUBLE"}
            said = {"google-duration": "type.googleapis.com/google.protobuf.Duration", "int64": "TYPE_INT64"}
            self._wrong(where, f"({said.get(form) or types.get(kind, 'TYPE_STRING')}), {json.dumps(value)}")
        return value

    def _unknown(self, key: str, where: str) -> None:
        at = f" at '{where}'" if where else ""
        text = f'Invalid JSON payload received. Unknown name "{key}"{at}: Cannot find field.'
        self.faults.append((where, text))

    def _wrong(self, where: str, what: str) -> None:
        self.faults.append((where, f"Invalid value at '{where}' {what}"))

    def _invalid(self, where: str, owner: str, key: str, value: object) -> None:
        service, _, version = self.document.partition(".")
        kind = f"type.googleapis.com/google.cloud.{service}.{version}.{owner}.{key[:1].upper()}{key[1:]}"
        self._wrong(where, f"({kind}), {json.dumps(value)}")


_BITS = {"int32": (-(2**31), 2**31), "uint32": (0, 2**32), "int64": (-(2**63), 2**63), "uint64": (0, 2**64)}


def _within(value: int, form: str) -> int:
    """Raises ValueError."""
    least, most = _BITS[form]
    if not least <= value < most:
        raise ValueError(value)
    return value


def _finite(value: float) -> float:
    """Raises ValueError."""
    if not math.isfinite(value):
        raise ValueError(value)
    return value


def with_numbers(value: Any, schema: str, document: str) -> Any:
    """*value* as ``$alt=json;enum-encoding=int`` wants it: enum names of the TPU API replaced by their numbers.

    A name that has none here (a state of the future) becomes 99: numbers survive in Google's clients, names do not.
    """
    if isinstance(value, list):
        return [with_numbers(one, schema, document) for one in value]
    if not isinstance(value, dict):
        return value
    inside = str(value.get("@type", "")).rpartition(".")[2]
    if inside in schemas(document):
        schema = inside
    properties = schemas(document).get(schema, {}).get("properties", {})
    found = {}
    for key, item in value.items():
        known = properties.get(key, {})
        numbers = enum_numbers().get(f"{schema}.{key}")
        if numbers and isinstance(item, str):
            found[key] = numbers.get(item, 99)
        elif schema == "Operation" and key in ("response", "metadata"):
            found[key] = with_numbers(item, "", document)
        else:
            found[key] = with_numbers(item, known.get("$ref") or known.get("items", {}).get("$ref", ""), document)
    return found


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), name)


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)
