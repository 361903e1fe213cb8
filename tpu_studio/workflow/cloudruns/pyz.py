"""What a VM is started with: ``guardian.pyz``, the guardian and what it imports in one file for any Python ≥ 3.10, and
its script.

The same sources give the same bytes (times fixed, names sorted), so the sha256 can be told beforehand. Made from the
files of this program, from source, installed or frozen; used by ``cloud`` at launch and by ``tools/build_guardian.py``.
"""

from __future__ import annotations

import ast
import io
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tpu_studio.wire.resources import resource_path

LIMIT_BYTES = 170 * 1024  # as base64 it stays under the 256 KiB of one metadata value
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MAIN = b"import sys\n\nfrom tpu_studio.trainer.guardian.main import main\n\nsys.exit(main())\n"


def guardian_pyz() -> bytes:
    """The archive.

    Raises:
        ValueError: It has grown beyond its limit.
        FileNotFoundError: The installation is incomplete.
    """
    root = _sources()
    files = sorted(_with_imports(root, (root / "tpu_studio" / "trainer" / "guardian").rglob("*.py")))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(_entry("__main__.py"), _MAIN)
        for path in files:
            archive.writestr(_entry(path.relative_to(root).as_posix()), path.read_bytes())
    data = buffer.getvalue()
    if len(data) > LIMIT_BYTES:
        raise ValueError(f"guardian.pyz has {len(data)} bytes, more than {LIMIT_BYTES}")
    return data


def _with_imports(root: Path, files: Iterable[Path]) -> set[Path]:
    """*files*, and what they import of ours, wherever in them, with the packages that it is in."""
    found: set[Path] = set()
    left = list(files)
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += _imported(root, path)
            left += [
                init for folder in path.relative_to(root).parents if (init := root / folder / "__init__.py").exists()
            ]
    return found


def _imported(root: Path, path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tpu_studio":
            module = root.joinpath(*node.module.split("."))
            for one in (module, *(module / name.name for name in node.names)):
                yield from (file for file in (one.with_suffix(".py"), one / "__init__.py") if file.exists())


def startup_script() -> str:
    """The VM's startup script, the same for every run: what differs stands in the VM's other metadata."""
    return resource_path("vm", "startup.sh").read_text(encoding="utf-8")


def shutdown_script() -> str:
    """What the VM's own agent runs when the VM goes down."""
    return resource_path("vm", "shutdown.sh").read_text(encoding="utf-8")


def _sources() -> Path:
    """The folder that holds ``tpu_studio`` as ``.py`` files; a frozen program carries them beside itself."""
    frozen = getattr(sys, "_MEIPASS", None)
    return Path(frozen) / "engine-source" if frozen is not None else Path(__file__).resolve().parents[3]


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry
