"""Write the bill of materials of the built program (CycloneDX 1.6, JSON): `python sbom.py REPORT APP VERSION OUT`.

`build.py` runs it with the Python of its own environment, which has cyclonedx-python-lib.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

from bill import Part, parts
from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

KINDS = {
    "package": ComponentType.LIBRARY,
    "library": ComponentType.LIBRARY,
    "runtime": ComponentType.PLATFORM,
    "asset": ComponentType.FILE,
}


def main() -> int:
    report, app, version, out = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    out.write_text(bill(parts(json.loads(report.read_text("utf-8")), app), version), encoding="utf-8")
    return 0


def bill(found: list[Part], version: str) -> str:
    """The same parts give the same text, where SOURCE_DATE_EPOCH is set."""
    licences = LicenseFactory()
    root = Component(
        name="tpu-studio",
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref="tpu-studio",
        licenses=[licences.make_from_string("Apache-2.0")],
    )
    when = os.environ.get("SOURCE_DATE_EPOCH")
    stamp = datetime.fromtimestamp(float(when), UTC) if when else datetime.now(UTC)
    made = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"tpu-studio {version} {sorted(map(repr, found))}"))
    made.metadata.component, made.metadata.timestamp = root, stamp
    components = {part.name: _component(part, licences) for part in found}
    made.components.update(components.values())
    made.register_dependency(root, components.values())
    for part in found:
        made.register_dependency(components[part.name], [components[one] for one in part.needs if one in components])
    return JsonV1Dot6(made).output_as_string(indent=1) + "\n"


def _component(part: Part, licences: LicenseFactory) -> Component:
    return Component(
        name=part.name,
        version=part.version or None,
        type=KINDS[part.kind],
        bom_ref=f"{part.kind}/{part.name}",
        purl=PackageURL("pypi", name=part.name, version=part.version) if part.kind == "package" else None,
        licenses=[licences.make_from_string(part.licence)] if part.licence else [],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=part.sha256)] if part.sha256 else [],
    )


if __name__ == "__main__":
    sys.exit(main())
