"""The bill of materials that is packaged is CycloneDX 1.6; one that is not stops `make package`."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

LINUX = Path(__file__).resolve().parents[3] / "packaging" / "linux"
SUM = {"alg": "SHA-256", "content": "9dab55f57c74c3cad24c323bacbbd04be4705ba6eb0d92e920b1fc4837ed5079"}
BILL: dict[
    str, Any
] = {  # some parts of one that cyclonedx-python-lib 11.12 wrote, and the schema's own validator passed
    "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
    "bomFormat": "CycloneDX",
    "specVersion": "1.6",
    "serialNumber": "urn:uuid:946b707b-96bc-545c-922e-1e89105d0f0e",
    "version": 1,
    "metadata": {
        "component": {
            "bom-ref": "tpu-studio",
            "licenses": [{"license": {"id": "Apache-2.0"}}],
            "name": "tpu-studio",
            "type": "application",
            "version": "0.1.0",
        },
        "timestamp": "2026-11-25T11:08:29.299481+00:00",
    },
    "components": [
        {
            "bom-ref": "asset/Lucide",
            "licenses": [{"expression": "ISC AND MIT"}],
            "name": "Lucide",
            "type": "file",
        },
        {
            "bom-ref": "package/google-auth",
            "hashes": [SUM],
            "licenses": [{"license": {"name": "Apache Software License"}}],
            "name": "google-auth",
            "purl": "pkg:pypi/google-auth@2.62.2",
            "type": "library",
            "version": "2.62.2",
        },
        {
            "bom-ref": "library/libpython3.11.so.1.0",
            "hashes": [SUM],
            "name": "libpython3.11.so.1.0",
            "type": "library",
        },
    ],
    "dependencies": [
        {"ref": "asset/Lucide"},
        {"ref": "library/libpython3.11.so.1.0"},
        {"ref": "package/google-auth"},
        {"ref": "tpu-studio", "dependsOn": ["asset/Lucide", "library/libpython3.11.so.1.0", "package/google-auth"]},
    ],
}
PACKAGE = 1  # its place among the components
AMISS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another format": lambda bill: bill.update(bomFormat="SPDX"),
    "another version of it": lambda bill: bill.update(specVersion="1.5"),
    "no version of it": lambda bill: bill.pop("specVersion"),
    "a serial number of another form": lambda bill: bill.update(serialNumber="946b707b-96bc-545c-922e-1e89105d0f0e"),
    "version 0": lambda bill: bill.update(version=0),
    "a version that is a text": lambda bill: bill.update(version="1"),
    "a field that nobody knows": lambda bill: bill.update(comment="made by hand"),
    "no parts": lambda bill: bill.update(components=[]),
    "parts that are no list": lambda bill: bill.update(components=7),
    "no time": lambda bill: bill["metadata"].pop("timestamp"),
    "a time of nowhere": lambda bill: bill["metadata"].update(timestamp="2026-11-25T11:08:29"),
    "no time at all": lambda bill: bill["metadata"].update(timestamp="yesterday"),
    "a part without a name": lambda bill: bill["components"][PACKAGE].pop("name"),
    "a part with an empty name": lambda bill: bill["components"][PACKAGE].update(name=""),
    "a part of no type": lambda bill: bill["components"][PACKAGE].update(type="package"),
    "a part with a field of its own": lambda bill: bill["components"][PACKAGE].update(sha256="9dab"),
    "a package without a version": lambda bill: bill["components"][PACKAGE].pop("version"),
    "a package without its address": lambda bill: bill["components"][PACKAGE].pop("purl"),
    "an address that is none": lambda bill: bill["components"][PACKAGE].update(purl="google-auth==2.62.2"),
    "a package without its sum": lambda bill: bill["components"][PACKAGE].pop("hashes"),
    "a sum cut short": lambda bill: bill["components"][PACKAGE].update(hashes=[{**SUM, "content": "9dab"}]),
    "a sum as pip writes it": lambda bill: bill["components"][PACKAGE].update(hashes=[{**SUM, "alg": "sha256"}]),
    "a licence as a text": lambda bill: bill["components"][PACKAGE].update(licenses=["Apache-2.0"]),
    "a licence by id and name": lambda bill: bill["components"][PACKAGE]["licenses"][0]["license"].update(id="MIT"),
    "two expressions": lambda bill: bill["components"][0].update(
        licenses=[{"expression": "ISC"}, {"expression": "MIT"}]
    ),
    "two parts of one reference": lambda bill: bill["components"][0].update({"bom-ref": "package/google-auth"}),
    "a part in no dependency": lambda bill: bill["dependencies"].pop(0),
    "a dependency told twice": lambda bill: bill["dependencies"].append({"ref": "asset/Lucide"}),
    "a dependency of nothing": lambda bill: bill["dependencies"].append({"ref": "package/numpy"}),
    "a dependency on nothing": lambda bill: bill["dependencies"][0].update(dependsOn=["package/numpy"]),
}


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """packaging/linux/build.py, whose bill is written to *tmp_path*."""
    monkeypatch.syspath_prepend(str(LINUX))
    for name in ("bill", "bomcheck", "deb", "build", "libraries"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import build  # type: ignore[import-not-found]

    monkeypatch.setattr(build, "TOP", tmp_path)
    monkeypatch.setattr(build, "SBOM", tmp_path / "tpu-studio_0.1.0.cdx.json")
    return build  # type: ignore[no-any-return]


def written(monkeypatch: pytest.MonkeyPatch, build: ModuleType, bill: dict[str, Any]) -> None:
    """Have `sbom.py` write *bill*."""
    monkeypatch.setattr(build.subprocess, "run", lambda argv, **more: build.SBOM.write_text(json.dumps(bill)))
    build.bill_of_materials()


def test_what_the_library_writes_is_in_order(monkeypatch: pytest.MonkeyPatch, build: ModuleType) -> None:
    written(monkeypatch, build, BILL)


@pytest.mark.parametrize("what", AMISS)
def test_a_bill_that_is_not_in_order_stops_the_package(
    monkeypatch: pytest.MonkeyPatch, build: ModuleType, what: str
) -> None:
    bill = copy.deepcopy(BILL)
    AMISS[what](bill)
    with pytest.raises(SystemExit, match=r"is not what CycloneDX 1\.6 asks for:\n."):
        written(monkeypatch, build, bill)
