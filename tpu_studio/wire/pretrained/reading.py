"""A folder that a model begins from as a `Preset`: what planner and trainer need of it, or why it is not taken."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from tpu_studio.wire import bases, hub, owncode, presets
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.presets import INDEX, NETWORKS, Preset, changed
from tpu_studio.wire.pretrained import huggingface, known, ours
from tpu_studio.wire.pretrained.description import (
    check_format,
    check_names,
    check_values,
    converter_of,
    only_side,
    patch_of,
    seeing,
)
from tpu_studio.wire.pretrained.folder import (
    CONFIG,
    CONVERTER,
    PREPROCESSOR,
    TASK,
    Folder,
    Signature,
    check_sums,
    check_tables,
    check_whole,
    sha256_of,
    weights_of,
)

_DESCRIPTIONS = (CONFIG, CONVERTER, PREPROCESSOR, TASK)
_LONGEST_PATH = 4_096
_MOST_AT_ONCE = 128_000_000  # bytes; the largest tokenizer has a quarter


def read(folder: Path) -> Preset:
    """The preset in *folder*. Its weights are read once, for their hash, as long as no file changes.

    Raises:
        ModelError: ``preset-in-a-share``, ``preset-missing``, ``preset-unreadable``, ``preset-other-format``,
            ``preset-pickled``, ``preset-foreign``, ``preset-other-network``, ``preset-in-part``, ``preset-differs``,
            ``preset-links-out``, ``preset-not-looked-up``; facts ``path`` and, where it is about one, ``file`` and
            ``why``.
    """
    if owncode.in_a_share(folder) or len(str(folder)) > _LONGEST_PATH:
        raise ModelError("preset-in-a-share", path=str(folder)[:_LONGEST_PATH])
    try:
        if (name := hub.name_of(folder)) and hub.entry(folder) is None:
            return known.preset_of(name, folder)
        whole = owncode.located(folder)
        if whole is None:
            raise ModelError("preset-in-a-share", path=str(folder))
        if not whole.is_dir():
            raise ModelError("preset-missing", path=str(folder))
        found = Folder(folder, whole)
        return _read(found, found.signature())
    except OSError as error:
        raise ModelError("preset-unreadable", path=str(folder), file=_name(error), why=error.strerror) from error


def of(value: str, base: str) -> Preset:
    """That of a job's `model.preset`, whose relative paths begin at *base*.

    Raises:
        ModelError: ``base-missing`` of a run that is not there (any more); those of `read`.
    """
    folder = presets.folder_of(value, base)
    if bases.is_run(value) and not folder.is_dir():
        raise ModelError("base-missing", base=value.removeprefix(bases.PREFIX)[:64])
    return read(folder)


def stamp(folder: Path) -> object:
    """What is another one when a file of *folder* was changed; quick. None where it cannot be looked at."""
    if owncode.in_a_share(folder):
        return None
    try:
        whole = owncode.located(folder)
        return whole and Folder(folder, whole).signature()
    except OSError:
        return None


def content(preset: Preset, name: str) -> bytes:
    """Of one of its small files, no other than `read` has hashed.

    Raises:
        ModelError: ``preset-changed``, ``preset-not-looked-up``, and as `opened`.
    """
    if name not in preset.sums:
        raise ModelError("preset-not-looked-up", preset=preset.name)
    with opened(preset, name) as file:
        data = file.read(_MOST_AT_ONCE + 1)
    if hashlib.sha256(data).hexdigest() != preset.sums[name]:
        raise changed(preset)
    return data


@contextmanager
def opened(preset: Preset, name: str) -> Iterator[BufferedReader]:
    """One of its files, to read; no other than lies in the folder, whatever stands in its place by now.

    Raises:
        ModelError: ``preset-in-a-share``, ``preset-links-out``, ``preset-unreadable``.
    """
    try:
        whole = owncode.located(preset.folder)
        if whole is None:
            raise ModelError("preset-in-a-share", path=str(preset.folder))
        file = Folder(preset.folder, whole).open(name)
    except OSError as error:
        raise ModelError("preset-unreadable", path=str(preset.folder), file=name, why=error.strerror) from error
    with file:
        yield file


@functools.lru_cache(maxsize=8)
def _read(folder: Folder, signature: Signature) -> Preset:
    if ours.is_one(folder):
        return ours.read(folder)
    if (told := folder.json(CONFIG)) is not None and huggingface.is_one(folder, told):
        return huggingface.read(folder, told)
    described = {name: tree for name in _DESCRIPTIONS if (tree := folder.json(name)) is not None}
    check_format(folder, described.get(CONFIG))
    for name, tree in described.items():
        check_names(folder, name, tree)
    config = described[CONFIG]
    kind, values = str(config.get("class_name")), config.get("config")
    if kind not in NETWORKS or NETWORKS[kind].reads != "picture" or not isinstance(values, dict):
        folder.refuse_network(CONFIG, kind)
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
    sums = {name: sha256_of(folder, name) for name in files}
    check_sums(folder, sums)
    check_tables(folder, weights)
    read = [name for name in files if name != TASK]  # what its own head was is not used
    counts = "\n".join(f"{name} {sums[name]}" for name in sorted(read))
    return Preset(
        folder.given,
        kind,
        values,
        sums,
        sum((folder.whole / name).stat().st_size for name in weights if name != INDEX),
        hashlib.sha256(counts.encode()).hexdigest(),
        scale or (1 / 127.5,),
        offset or ((0.0,) if scale else (-1.0,)),
        bool(scale),
        side,
        patch,
        files_bytes=folder.bytes_of(sums),
    )


def _name(error: OSError) -> str:
    return os.path.basename(str(error.filename or "")) or "the folder"
