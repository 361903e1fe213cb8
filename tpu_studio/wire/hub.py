"""Models of the Hugging Face Hub by their name: `hf:owner/name` of `model.preset`, and the folder that stands for one.

Its description and its tokenizer are fetched first, its weights when the person asks for them (`cloud.hub`); `FILE`
beside them says what the Hub has: so a plan is made, and is of the very same bytes, before a weight was downloaded.
The folder lies in this computer's home, and nothing but `cloud.hub` writes there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from tpu_studio.wire import homes
from tpu_studio.wire.jsonfile import read_json

PREFIX = "hf:"
EXAMPLE: Literal["text"] = "text"  # what the models that are named read
FILE = "hub.json"
FORMAT = 1
LOOKED_UP, DOWNLOADED = PROBLEMS = "preset-not-looked-up", "preset-not-downloaded"  # that asking the Hub mends
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,94}[A-Za-z0-9_])?")
_SHA256, _SHA1 = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{40}")
MOST_FILES, _MOST_BYTES = 1_000, 10**13


@dataclass(frozen=True)
class Listed:
    """A file as the Hub lists it: bytes, and the sha256 of a large one (Git LFS), or git's sha1 of a small one."""

    size: int
    sha256: str = ""
    sha1: str = ""


@dataclass(frozen=True)
class Entry:
    """A model of the Hub as it was looked up.

    Attributes:
        name: `owner/name`.
        revision: The commit, 40 hexadecimal digits: what is fetched is of it.
        licence: As its card says it, an id of the Hub's ("apache-2.0", "llama3.2"); "" where it says none.
        gated: Its owner wants to be asked first.
        looked_up: When, in seconds since 1970.
        files: What is fetched of it, by name.
    """

    name: str
    revision: str
    licence: str
    gated: bool
    looked_up: float
    files: Mapping[str, Listed] = field(default_factory=dict)

    @property
    def weights_bytes(self) -> int:
        return sum(one.size for name, one in self.files.items() if is_of_weights(name))

    def is_whole(self, folder: Path) -> bool:
        """Whether its weights are in *folder*, by their sizes; what they hold is looked at where they are read."""
        weights = {name: one for name, one in self.files.items() if is_of_weights(name)}
        return all(
            (folder / name).is_file() and (folder / name).stat().st_size == one.size for name, one in weights.items()
        )

    def dumps(self) -> bytes:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1).encode()


def is_name(value: str) -> bool:
    """Whether *value* is `hf:owner/name`, as the Hub allows them: letters, digits, and "-", "_", "." within."""
    owner, slash, name = value.removeprefix(PREFIX).partition("/")
    return (
        value.startswith(PREFIX)
        and bool(slash)
        and all(_NAME.fullmatch(one) and "--" not in one and ".." not in one for one in (owner, name))
        and not name.endswith(".git")
    )


def folder(value: str) -> Path:
    """Where the model of that preset is, or will be. *value*: for which `is_name`."""
    owner, _, name = value.removeprefix(PREFIX).partition("/")
    return homes.hub() / f"{owner}--{name}"


def name_of(folder: Path) -> str:
    """`hf:owner/name` of a folder of `homes.hub`; "" of any other."""
    owner, marks, name = folder.name.partition("--")
    found = f"{PREFIX}{owner}/{name}"
    return found if marks and folder.parent == homes.hub() and is_name(found) else ""


def is_commit(value: str) -> bool:
    return bool(_SHA1.fullmatch(value))


def is_of_weights(name: str) -> bool:
    return name.endswith(".safetensors")


def entry(folder: Path) -> Entry | None:
    """What the Hub said of the model in *folder* of `homes.hub`; None of any other, or where it was not looked up."""
    if not (name := name_of(folder)):
        return None
    try:
        found = _entry(read_json(folder / FILE))
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if PREFIX + found.name == name else None


def entries() -> list[Entry]:
    """All that were looked up, by name."""
    try:
        folders = sorted(one for one in homes.hub().iterdir() if one.is_dir())
    except OSError:
        return []
    return [found for one in folders if (found := entry(one)) is not None]


def _entry(tree: Any) -> Entry:
    if tree["format"] != FORMAT or len(tree["files"]) > MOST_FILES:
        raise ValueError("It is of another version.")
    files = {name: listed(name, told) for name, told in tree["files"].items()}
    name, revision, licence = (tree[key] for key in ("name", "revision", "licence"))
    texts = all(isinstance(one, str) and len(one) < 200 for one in (name, revision, licence))
    if not texts or not is_commit(revision):
        raise ValueError("It does not say what it is of.")
    return Entry(name, revision, licence, tree["gated"] is True, float(tree["looked_up"]), files)


def listed(name: str, told: Any) -> Listed:
    """As a record of ours has it. Raises ValueError, TypeError, KeyError."""
    size, sha256, sha1 = told["size"], told["sha256"], told["sha1"]
    if Path(name).name != name or type(size) is not int or not 0 <= size <= _MOST_BYTES:
        raise ValueError("It names another kind of file.")
    if not (_SHA256.fullmatch(sha256) or (not sha256 and _SHA1.fullmatch(sha1))):
        raise ValueError("It names a file without its sum.")
    return Listed(size, sha256, sha1)
