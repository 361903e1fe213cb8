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
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from tpu_studio.wire import homes, owncode
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.jsonfile import read_json

CONFIG, CONVERTER, PREPROCESSOR, TASK = "config.json", "image_converter.json", "preprocessor.json", "task.json"
WEIGHTS, INDEX = "model.weights.h5", "model.weights.json"
_DESCRIPTIONS = (CONFIG, CONVERTER, PREPROCESSOR, TASK)
BROUGHT = ("resources", homes.STARTER_WEIGHTS, "preset")  # in the package, on a rented machine
_BROUGHT = Path(__file__).resolve().parent.parent.joinpath(*BROUGHT)
MOST_BROUGHT = 128_000_000  # bytes that travel within the program's archive

# That choosing another folder mends.
PROBLEMS = tuple(
    f"preset-{what}"
    for what in (
        "not-chosen", "missing", "in-a-share", "links-out", "unreadable", "other-format", "pickled", "foreign",
        "other-network", "in-part", "differs", "unfit", "too-large-to-bring",
    )
)  # fmt: skip

_LONGEST_PATH = 4_096
_MOST = 100_000  # of a number in a description: channels, pixels; and _REPEATS of layers alike
_REPEATS = 400
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_HUB = re.compile(r"(?:hf|kaggle|modelscope)://")  # as KerasHub's own loader has them
_PACKAGES = ("keras", "keras_hub", "keras_nlp")
_PICKLES = (".bin", ".pth", ".pt", ".ckpt", ".pkl")
_FLOATS = ("float32", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16")
_LFS = b"version https://git-lfs"
_HDF5 = b"\x89HDF\r\n\x1a\n"


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
    def weights(self) -> Path:
        """The file that Keras reads the weights from, or their index."""
        return self.folder / (WEIGHTS if WEIGHTS in self.files else INDEX)


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
        whole = folder.resolve()
        if owncode.in_a_share(whole):
            raise ModelError("preset-in-a-share", path=str(folder))
        if not whole.is_dir():
            raise ModelError("preset-missing", path=str(folder))
        found = _Folder(folder, whole)
        return _read(found, found.signature())
    except OSError as error:
        raise ModelError("preset-unreadable", path=str(folder), file=_name(error), why=error.strerror) from error


def stamp(folder: Path) -> object:
    """What is another one when a file of *folder* was changed; quick. None where it cannot be looked at."""
    if owncode.in_a_share(folder):
        return None
    try:
        return _Folder(folder, folder).signature()
    except OSError:
        return None


def check_same(preset: Preset, sha256: str) -> None:
    """Raises ModelError ``preset-changed``: it is not the one of *sha256*, that was planned with."""
    if sha256 and preset.sha256 != sha256:
        raise ModelError("preset-changed", path=str(preset.folder), file=preset.folder.name)


@dataclass(frozen=True)
class _Folder:
    """*given*: as the person named it; *whole*: where that is."""

    given: Path
    whole: Path

    def refuse(self, id: str, file: str, why: str) -> NoReturn:
        raise ModelError(id, path=str(self.given), file=file, why=why)

    def signature(self) -> tuple[tuple[str, int, int], ...]:
        with os.scandir(self.whole) as entries:
            seen = [(one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in entries if one.is_file()]
        return tuple(sorted(seen))

    def json(self, name: str) -> dict[str, Any] | None:
        """None where there is no such file."""
        if not os.path.lexists(self.whole / name):
            return None
        self.check_inside(name)
        try:
            tree = read_json(self.whole / name)
        except ValueError as error:
            self.refuse("preset-unreadable", name, str(error))
        if not isinstance(tree, dict):
            self.refuse("preset-unreadable", name, f"{name} holds no object.")
        return tree

    def check_inside(self, name: str) -> None:
        path = self.whole / name
        if Path(name).name != name or not path.resolve().is_relative_to(self.whole):
            self.refuse("preset-links-out", name, "It is a link to somewhere else.")
        if not stat.S_ISREG(path.stat().st_mode):
            self.refuse("preset-unreadable", name, "It is no plain file.")


@functools.lru_cache(maxsize=8)
def _read(folder: _Folder, signature: tuple[tuple[str, int, int], ...]) -> Preset:
    described = {name: tree for name in _DESCRIPTIONS if (tree := folder.json(name)) is not None}
    _check_format(folder, described.get(CONFIG))
    for name, tree in described.items():
        _check_names(folder, name, tree)
    config = described[CONFIG]
    kind, values = str(config.get("class_name")), config.get("config")
    if kind not in NETWORKS or not isinstance(values, dict):
        raise ModelError("preset-other-network", path=str(folder.given), file=CONFIG, network=kind[:60])
    _check_values(folder, values)
    converter = described.get(CONVERTER) or _inside(described.get(PREPROCESSOR))
    scale, offset, side = _seeing(folder, (converter or {}).get("config"))
    sizes, patch = NETWORKS[kind].sizes, 1
    if sizes == "one":
        side = _only_side(folder, values)
    elif sizes == "patches":
        patch = _patch(folder, values)
    weights = _weights(folder)
    _check_whole(folder, weights)
    files = (*described, *weights)
    sums = {name: _sha256(folder.whole / name) for name in files}
    _check_sums(folder, sums)
    read = [name for name in files if name not in (TASK, INDEX)]  # what its own head was is not used
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


def _check_format(folder: _Folder, config: Mapping[str, Any] | None) -> None:
    names = {name for name, _, _ in folder.signature()}
    pickled = sorted(name for name in names if name.endswith(_PICKLES))
    keras = {WEIGHTS, INDEX} & names
    if pickled and not keras and not any(name.endswith(".safetensors") for name in names):
        folder.refuse("preset-pickled", pickled[0], "A pickle runs what it likes when it is opened.")
    if config is None:
        folder.refuse("preset-unreadable", CONFIG, f"There is no {CONFIG}.")
    if "registered_name" not in config:
        known = {"model_type": "Hugging Face Transformers", "architecture": "timm"}
        theirs = next((title for key, title in known.items() if key in config), "")
        folder.refuse("preset-other-format", CONFIG, theirs)


def _check_names(folder: _Folder, file: str, tree: Mapping[str, Any]) -> None:
    """Keras would import the module that a description names, and a Lambda is code."""
    for part in _objects(tree):
        named = part.get("module")
        package = str(part.get("registered_name") or "").partition(">")
        module = str(named).partition(".")[0]
        if "Lambda" in str(part.get("class_name")) or part.get("class_name") == "__lambda__":
            folder.refuse("preset-foreign", file, "It has a layer that is code of its own (Lambda).")
        if named is not None and module not in _PACKAGES:
            folder.refuse("preset-foreign", file, f"It names the module “{str(named)[:60]}”.")
        if package[1] and package[0] not in _PACKAGES:
            folder.refuse("preset-foreign", file, f"It names “{package[0][:60]}”, which is not Keras’s.")


def _objects(tree: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    inner = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    for one in inner:
        yield from _objects(one)


def _check_values(folder: _Folder, values: Mapping[str, Any]) -> None:
    """Sizes that a network can have: the window has it built before any weight is read."""
    dtype = values.get("dtype")
    policy = dtype.get("config") if isinstance(dtype, dict) else None
    format = dtype if isinstance(dtype, str) else policy.get("name") if isinstance(policy, dict) else None
    if dtype is not None and format not in _FLOATS:
        folder.refuse("preset-other-format", CONFIG, "quantised weights")
    named = ("num_layers", "stackwise_num_blocks", "stackwise_num_repeats")
    repeats = [one for name in named for one in _flat(values.get(name))]
    if sum(one for one in repeats if isinstance(one, (int, float))) > _REPEATS:
        folder.refuse("preset-unreadable", CONFIG, f"It has more than {_REPEATS} layers.")
    numbers = [one for one in _flat(list(values.values())) if isinstance(one, (int, float))]
    if any(not -_MOST <= one <= _MOST for one in numbers) or len(numbers) > _MOST:
        folder.refuse("preset-unreadable", CONFIG, "It has sizes that no network has.")


def _flat(value: object) -> Iterator[object]:
    if isinstance(value, list):
        for one in value:
            yield from _flat(one)
    else:
        yield value


def _inside(preprocessor: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    config = (preprocessor or {}).get("config")
    found = config.get("image_converter") if isinstance(config, dict) else None
    return found if isinstance(found, dict) else None


def _seeing(folder: _Folder, config: object) -> tuple[tuple[float, ...], tuple[float, ...], int]:
    """Scale, offset and side of a picture, as the folder says them; empty and 0 where it does not."""
    if not isinstance(config, dict):
        return (), (), 0
    scale, offset = (_colours(folder, config.get(name)) for name in ("scale", "offset"))
    size = config.get("image_size")
    side = size[0] if isinstance(size, list) and len(size) == 2 and size[0] == size[1] else 0
    return scale, offset, side if isinstance(side, int) and 0 < side <= 4096 else 0


def _colours(folder: _Folder, value: object) -> tuple[float, ...]:
    """One number for all colours, or one each; () where there is none."""
    if value is None:
        return ()
    given = value if isinstance(value, list) else [value]
    numbers = tuple(float(one) for one in given if isinstance(one, (int, float)) and abs(one) < 1e6)
    if len(numbers) not in (1, 3) or len(numbers) != len(given):
        folder.refuse("preset-unreadable", CONVERTER, "It scales pixels by something else than three numbers.")
    return numbers


def _only_side(folder: _Folder, values: Mapping[str, Any]) -> int:
    shape = values.get("image_shape")
    if not isinstance(shape, list) or len(shape) != 3 or shape[0] != shape[1] or not isinstance(shape[0], int):
        folder.refuse("preset-unreadable", CONFIG, "It does not say the size of its pictures, or they are not square.")
    if shape[0] < 8:
        folder.refuse("preset-unreadable", CONFIG, "Its pictures are too small.")
    return int(shape[0])


def _patch(folder: _Folder, values: Mapping[str, Any]) -> int:
    patch = values.get("patch_size")
    if not isinstance(patch, int) or not 1 <= patch <= 256:
        folder.refuse("preset-unreadable", CONFIG, "It does not say the size of its patches.")
    return patch


def _weights(folder: _Folder) -> tuple[str, ...]:
    """Names of its weights' files, with their index."""
    if os.path.lexists(folder.whole / WEIGHTS):
        return (WEIGHTS,)
    index = folder.json(INDEX)
    if index is None:
        folder.refuse("preset-in-part", WEIGHTS, f"There is no {WEIGHTS}.")
    places = index.get("weight_map")
    shards = sorted({str(one) for one in _flat(list(places.values()))}) if isinstance(places, dict) else []
    if not shards or len(shards) > 1000:
        folder.refuse("preset-unreadable", INDEX, "It names no files.")
    return (INDEX, *shards)


def _check_whole(folder: _Folder, weights: tuple[str, ...]) -> None:
    total = 0
    for name in weights:
        if not os.path.lexists(folder.whole / name):
            folder.refuse("preset-in-part", name, f"{INDEX} names it, and it is not there.")
        folder.check_inside(name)
        if name != INDEX:
            size, told = (folder.whole / name).stat().st_size, _told_size(folder, name)
            total += size
            if size < told:
                folder.refuse("preset-in-part", name, f"It has {size:,} of the {told:,} bytes that its start names.")
    if weights[0] == INDEX:
        named = _number((folder.json(INDEX) or {}).get("metadata"))
        if total < named:
            folder.refuse("preset-in-part", INDEX, f"Its files have {total:,} of the {named:,.0f} bytes that it names.")


def _number(metadata: object) -> float:
    value = metadata.get("total_size") if isinstance(metadata, dict) else None
    return float(value) if isinstance(value, (int, float)) else 0.0


def _told_size(folder: _Folder, name: str) -> int:
    """Bytes of an HDF5 file, as its superblock says (HDF5 file format 3.0, II.A: "end of file address")."""
    with open(folder.whole / name, "rb") as file:
        start = file.read(64)
    if start.startswith(_LFS):
        folder.refuse("preset-in-part", name, "It is a note of Git LFS about a file that was not fetched.")
    if len(start) < 64 or not start.startswith(_HDF5):
        folder.refuse("preset-in-part", name, "It does not begin as a file of Keras weights (HDF5).")
    version = start[8]
    at, width = {0: (40, start[13]), 1: (44, start[13])}.get(version, (28, start[9]))
    return int.from_bytes(start[at : at + width], "little") if width in (4, 8) else 0


def _check_sums(folder: _Folder, sums: Mapping[str, str]) -> None:
    """What was fetched from Hugging Face says of each large file its sha256, in a file beside the folder's own."""
    notes = folder.whole / ".cache" / "huggingface" / "download"
    for name, sha256 in sums.items():
        note = notes / f"{name}.metadata"
        if not note.is_file() or not note.resolve().is_relative_to(folder.whole) or note.stat().st_size > 4096:
            continue
        lines = note.read_text("utf-8", "replace").split("\n")
        if len(lines) > 1 and re.fullmatch("[0-9a-f]{64}", lines[1].strip()) and lines[1].strip() != sha256:
            folder.refuse("preset-differs", name, "It is not the file that was fetched: its sha256 is another one.")


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _name(error: OSError) -> str:
    return os.path.basename(str(error.filename or "")) or "the folder"
