"""The user's own model file: read, shown, and agreed to by its sha256 before any of it runs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

from tpu_studio.wire import owncode, ownimports, places, presets
from tpu_studio.wire.secrets import line_of_secret
from tpu_studio.wire.visible import numbered


class Consents(Protocol):
    """The remembered agreements."""

    def agreed(self, sha256: str, place: str) -> bool: ...
    def agree(self, sha256: str, path: str, place: str) -> None: ...


@dataclass(frozen=True)
class OwnFile:
    """The file as it stands on the disk. *sha256* is "" until it was read, and stays so when it is *missing*.

    Attributes:
        text: What Python would read, each character that cannot be seen as its number.
        agreed: The places at which it may run.
        instead: What is there where no file is *missing* only: "folder", or "weights" for a folder of KerasHub weights.
    """

    path: Path
    sha256: str = ""
    text: str = ""
    agreed: frozenset[str] = frozenset()
    missing: bool = False
    instead: Literal["", "folder", "weights"] = ""

    @cached_property
    def secret_line(self) -> int | None:
        """Where it holds what looks like a credential."""
        return line_of_secret(self.text)

    @cached_property
    def asked(self) -> dict[str, object]:
        """What it imports, and whether it names a framework (`wire.ownimports`)."""
        return ownimports.asked(self.text)


def read(path: Path, consents: Consents | None) -> OwnFile:
    """Blocks. Raises OSError for a file that is there and cannot be read, else as ``owncode.read``."""
    data = owncode.read(path)
    if data is None:
        return OwnFile(path, missing=True, instead=_instead(path))
    sha256 = hashlib.sha256(data).hexdigest()
    agreed = frozenset(place for place in places.IDS if consents is not None and consents.agreed(sha256, place))
    return OwnFile(path, sha256, numbered(data.decode("utf-8", "backslashreplace")), agreed)


def _instead(path: Path) -> Literal["", "folder", "weights"]:
    if not path.is_dir():
        return ""
    return "weights" if presets.lies_in(path) else "folder"


def agree(own: OwnFile, consents: Consents | None, place: str) -> OwnFile:
    """Remember the agreement to *own* at *place* if the file is still what the person has read; else the file as it is
    now."""
    found = read(own.path, consents)
    if found.sha256 != own.sha256 or consents is None or not own.sha256:
        return found
    consents.agree(own.sha256, str(own.path), place)
    return read(own.path, consents)
