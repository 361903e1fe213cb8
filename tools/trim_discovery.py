"""Make resources/discovery/ from Google's discovery documents: without prose, and with enum numbers of TPU v2.

python tools/trim_discovery.py FOLDER     (a folder with the documents of google-api-python-client)
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

NEEDED = (
    "billingbudgets.v1",
    "cloudbilling.v1",
    "cloudquotas.v1.derived",
    "cloudresourcemanager.v3",
    "cloudtasks.v2",
    "compute.v1.subset",
    "iam.v1",
    "oauth2.v2",
    "orgpolicy.v2",
    "serviceusage.v1",
    "serviceusage.v1beta1",
    "storage.v1",
    "tpu.v2",
    "tpu.v2alpha1",
)
PROSE = {"description", "enumDescriptions", "documentationLink", "icons", "enumDeprecated", "deprecated"}
TARGET = Path(__file__).resolve().parent.parent / "resources" / "discovery"


def without_prose(value: Any, *, properties: bool = False) -> Any:
    """A property may be *called* description: names of properties, parameters and schemas stay."""
    if isinstance(value, dict):
        named = {"properties", "parameters", "schemas", "methods", "resources"}
        return {
            key: without_prose(item, properties=key in named and not properties)
            for key, item in value.items()
            if properties or key not in PROSE
        }
    if isinstance(value, list):
        return [without_prose(item) for item in value]
    return value


def enum_numbers() -> dict[str, dict[str, int]]:
    """Schema.field → name → number, as the protocol numbers them (which is not the order in the document)."""
    from google.cloud import tpu_v2

    found: dict[str, dict[str, int]] = {}
    file = tpu_v2.Node.pb(tpu_v2.Node()).DESCRIPTOR.file

    def walk(message: Any, name: str) -> None:
        for field in message.fields:
            if field.enum_type is not None:
                found[f"{name}.{field.json_name}"] = {one.name: one.number for one in field.enum_type.values}
        for nested in message.nested_types:
            if not nested.GetOptions().map_entry:
                walk(nested, name + nested.name)

    for message in file.message_types_by_name.values():
        walk(message, message.name)
    return found


def main() -> None:
    source = Path(sys.argv[1])
    TARGET.mkdir(parents=True, exist_ok=True)
    for name in NEEDED:
        document = without_prose(json.loads((source / f"{name}.json").read_text("utf-8")))
        (TARGET / f"{name}.json").write_text(json.dumps(document, separators=(",", ":")) + "\n", "utf-8")
    (TARGET / "tpu.v2.enums.json").write_text(json.dumps(enum_numbers(), separators=(",", ":")) + "\n", "utf-8")
    shutil.copyfile(source / "LICENSE.google-api-python-client", TARGET / "LICENSE.google-api-python-client")


if __name__ == "__main__":
    main()
