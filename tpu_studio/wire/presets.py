"""A folder on the person's disk that a picture model begins from: KerasHub's "preset", as `save_to_preset` writes it.

    preset = read(folder_of(job))     what the planner and the trainer need of it, or the reason why it is not taken

A folder is data, and may be a stranger's: nothing of it runs, no name in it is imported, nothing outside it is read.
`trainer.models.kerashub` has the networks and knows where their weights stand.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tpu_studio.wire import homes, owncode
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.presetconfig import (
    check_format,
    check_names,
    check_values,
    converter_of,
    only_side,
    patch_of,
    seeing,
)
from tpu_studio.wire.presetfolder import (
    CONFIG,
    CONVERTER,
    INDEX,
    PREPROCESSOR,
    TASK,
    WEIGHTS,
    Folder,
    Signature,
    check_sums,
    check_whole,
    sha256_of,
    weights_of,
)

_DESCRIPTIONS = (CONFIG, CONVERTER, PREPROCESSOR, TASK)
BROUGHT = ("resources", homes.STARTER_WEIGHTS, "preset")  # in the package, on a rented machine
_BROUGHT = Path(__file__).resolve().parent.parent.joinpath(*BROUGHT)
MOST_BROUGHT = 128_000_000  # bytes that travel within the program's archive

# That choosing another folder mends.
PROBLEMS = tuple(
    f"preset-{what}"
    for what in (
        "not-chosen", "missing", "in-a-share", "links-out", "unreadable", "other-format", "pickled", "foreign",
        "other-network", "in-part", "differs", "unfit", "needs-memory", "too-large-to-bring",
    )
)  # fmt: skip

_LONGEST_PATH = 4_096
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_HUB = re.compile(r"(?:hf|kaggle|modelscope)://")  # as KerasHub's own loader has them


@dataclass(frozen=True)
class Network:
    """A backbone that is known.

    Attributes:
        builder: Its module of `trainer.models.kerashub`.
        sizes: Of the pictures that it sees: any, the one that it learned with, or multiples of its patches.
    """

    title: str
    builder: str
    sizes: Literal["any", "one", "patches"] = "any"


NETWORKS: Mapping[str, Network] = {
    "ResNetBackbone": Network("ResNet", "resnet"),
    "EfficientNetBackbone": Network("EfficientNet", "efficientnet"),
    "MobileNetBackbone": Network("MobileNet", "mobilenet"),
    "ViTBackbone": Network("ViT", "vit", "one"),
    "DINOV2Backbone": Network("DINOv2", "dinov2", "patches"),
}


@dataclass(frozen=True)
class Preset:
    """Attributes:
    kind: Of `NETWORKS`.
    config: What the network is built with.
    scale, offset: What is multiplied with a pixel from 0 to 255 of each colour, and then added to it.
    says_scale: Whether the folder says these; else pixels go from −1 to 1.
    side: Pixels of a picture's side that it learned with; 0 where the folder does not say it. *patch*: Of a patch's.
    files: Names of all files that are read.
    size_bytes: Of its weights.
    sha256: Of all that counts: the same base.
    """

    folder: Path
    kind: str
    config: Mapping[str, object]
    scale: tuple[float, ...]
    offset: tuple[float, ...]
    says_scale: bool
    side: int
    patch: int
    files: tuple[str, ...]
    size_bytes: int
    sha256: str

    @property
    def network(self) -> Network:
        return NETWORKS[self.kind]

    def takes(self, side: int) -> bool:
        """Whether it can see pictures of that many pixels a side."""
        match self.network.sizes:
            case "one":
                return side == self.side
            case "patches":
                return side % self.patch == 0
            case _:
                return True

    def nearest(self, side: int) -> int:
        """What it takes of pictures of *side*, no larger than these if it can be."""
        if self.network.sizes == "one":
            return self.side
        return max(1, side // self.patch) * self.patch

    @property
    def title(self) -> str:
        return f"{self.network.title} “{self.folder.name}”"

    @property
    def in_one_file(self) -> bool:
        return WEIGHTS in self.files

    @property
    def weights(self) -> Path:
        """The file that Keras reads the weights from, or their index."""
        return self.folder / (WEIGHTS if self.in_one_file else INDEX)


def is_folder(value: str) -> bool:
    """Whether *value* of `model.preset` is a path: it has a separator, or begins as one, and is no `hub:name`."""
    if _HUB.match(value) or (_SCHEME.match(value) and not owncode.in_a_share(value)):
        return False
    return value.startswith(("~", ".")) or any(mark in value for mark in "/\\")


def folder_of(value: str, base: str) -> Path:
    """Where that preset of a job whose relative paths begin at *base* is; on a machine that was brought it, there."""
    return _BROUGHT if _BROUGHT.is_dir() else Path(base or os.sep, os.path.expanduser(value))


def read(folder: Path) -> Preset:
    """The preset in *folder*. Its weights are read once, for their hash, as long as no file changes.

    Raises:
        ModelError: ``preset-in-a-share``, ``preset-missing``, ``preset-unreadable``, ``preset-other-format``,
            ``preset-pickled``, ``preset-foreign``, ``preset-other-network``, ``preset-in-part``, ``preset-differs``,
            ``preset-links-out``; facts ``path`` and, where it is about one, ``file`` and ``why``.
    """
    if owncode.in_a_share(folder) or len(str(folder)) > _LONGEST_PATH:
        raise ModelError("preset-in-a-share", path=str(folder)[:_LONGEST_PATH])
    try:
        whole = owncode.located(folder)
        if whole is None:
            raise ModelError("preset-in-a-share", path=str(folder))
        if not whole.is_dir():
            raise ModelError("preset-missing", path=str(folder))
        found = Folder(folder, whole)
        return _read(found, found.signature())
    except OSError as error:
        raise ModelError("preset-unreadable", path=str(folder), file=_name(error), why=error.strerror) from error


def stamp(folder: Path) -> object:
    """What is another one when a file of *folder* was changed; quick. None where it cannot be looked at."""
    if owncode.in_a_share(folder):
        return None
    try:
        whole = owncode.located(folder)
        return whole and Folder(folder, whole).signature()
    except OSError:
        return None


def check_same(preset: Preset, sha256: str) -> None:
    """Raises ModelError ``preset-changed``: it is not the one of *sha256*, that was planned with."""
    if sha256 and preset.sha256 != sha256:
        raise ModelError("preset-changed", path=str(preset.folder), file=preset.folder.name)


@functools.lru_cache(maxsize=8)
def _read(folder: Folder, signature: Signature) -> Preset:
    described = {name: tree for name in _DESCRIPTIONS if (tree := folder.json(name)) is not None}
    check_format(folder, described.get(CONFIG))
    for name, tree in described.items():
        check_names(folder, name, tree)
    config = described[CONFIG]
    kind, values = str(config.get("class_name")), config.get("config")
    if kind not in NETWORKS or not isinstance(values, dict):
        raise ModelError("preset-other-network", path=str(folder.given), file=CONFIG, network=kind[:60])
    check_values(folder, values)
    converter = described.get(CONVERTER) or converter_of(described.get(PREPROCESSOR))
    scale, offset, side = seeing(folder, (converter or {}).get("config"))
    sizes, patch = NETWORKS[kind].sizes, 1
    if sizes == "one":
        side = only_side(folder, values)
    elif sizes == "patches":
        patch = patch_of(folder, values)
    weights = weights_of(folder)
    check_whole(folder, weights)
    files = (*described, *weights)
    sums = {name: sha256_of(folder.whole / name) for name in files}
    check_sums(folder, sums)
    read = [name for name in files if name != TASK]  # what its own head was is not used
    counts = "\n".join(f"{name} {sums[name]}" for name in sorted(read))
    return Preset(
        folder.given,
        kind,
        values,
        scale or (1 / 127.5,),
        offset or ((0.0,) if scale else (-1.0,)),
        bool(scale),
        side,
        patch,
        files,
        sum((folder.whole / name).stat().st_size for name in weights if name != INDEX),
        hashlib.sha256(counts.encode()).hexdigest(),
    )


def _name(error: OSError) -> str:
    return os.path.basename(str(error.filename or "")) or "the folder"
