"""What a machine needs before it has a way to install anything: the installer, brought through the bucket.

Images of Compute Engine have Python without pip, and of a version that frameworks do not support. uv's wheel holds one
static program that brings both. It is fetched on this computer with pip, checked by the hash that stands in the
catalogue, and kept in the home; a machine gets it as a data object, so that no package index is named to it for that.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from tpu_studio.wire.errors import RunError
from tpu_studio.wire.homes import home_folder
from tpu_studio.wire.secrets import without_secrets

_PATIENCE_S = 600.0


def installer(wanted: Mapping[str, object]) -> Path:
    """The wheel that *wanted* (``installer`` of vm.json) names, on this computer.

    Raises:
        RunError: ``installer-unfetched``: no Python here has pip, nothing was reached, or it is another file.
    """
    kept = home_folder() / "carried" / f"{wanted['sha256']}.whl"
    if kept.is_file() and _sha256(kept) == wanted["sha256"]:
        return kept
    said = "no Python with pip was found on this computer"
    for python in _pythons():
        with tempfile.TemporaryDirectory(prefix="tpu-studio-") as folder:
            said = _download(python, wanted, Path(folder)) or said
            for path in Path(folder).glob("*.whl"):
                if _sha256(path) == wanted["sha256"]:
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    shutil.move(path, kept)
                    return kept
    raise RunError("installer-unfetched", raw=said)


def _download(python: str, wanted: Mapping[str, object], folder: Path) -> str:
    """Have pip fetch it into *folder*; its last words where it could not."""
    lock = folder / "wanted.txt"
    lock.write_text(f"{wanted['name']}=={wanted['version']} --hash=sha256:{wanted['sha256']}\n", "utf-8")
    argv = [python, "-I", "-m", "pip", "download", "--disable-pip-version-check", "--no-input", "--no-deps"]
    argv += ["--only-binary=:all:", "--require-hashes", "--platform", str(wanted["platform"])]
    argv += ["--python-version", "3.11", "--dest", str(folder), "-r", str(lock)]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_PATIENCE_S, cwd=folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{python}: {error}"
    lines = without_secrets(done.stderr or done.stdout).strip().splitlines()
    return "" if done.returncode == 0 else "\n".join(lines[-3:])


def _pythons() -> Iterable[str]:
    """Those that may have pip: the program's own, the training engine's, the system's."""
    if not getattr(sys, "frozen", False):
        yield sys.executable
    engine = Path(os.environ.get("TPU_STUDIO_ENGINE") or home_folder() / "engine").expanduser()
    own = engine / "main" / "bin" / "python"
    if own.is_file():
        yield str(own.absolute())
    if system := shutil.which("python3"):
        yield system


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
