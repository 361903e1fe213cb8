"""The packages that a person's own model can import on a rented machine: Python's own, and those that it installs."""

from __future__ import annotations

import re
import sys
from functools import cache

from tpu_studio.wire.resources import resource_path

_LINE = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)
# Where the package is imported by another name than it is installed by.
_IMPORTED_AS = {
    "absl-py": "absl",
    "google-pasta": "pasta",
    "grpcio": "grpc",
    "libclang": "clang",
    "pillow": "PIL",
    "protobuf": "google",
    "tensorflow-cpu": "tensorflow",
    "tensorflow-tpu": "tensorflow",
}


@cache
def importable(framework: str) -> frozenset[str]:
    """Top-level names, for the list of `resources/vm` that *framework* trains with."""
    names = _LINE.findall(resource_path("vm", f"{framework}.lock.txt").read_text("utf-8"))
    found = {_IMPORTED_AS.get(name.lower(), name.replace("-", "_")) for name in names}
    return frozenset(found | set(sys.stdlib_module_names) | {"tpu_studio"})
