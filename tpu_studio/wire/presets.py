"""A folder on the person's disk that a model begins from: KerasHub's "preset", as `save_to_preset` writes it, of a
picture network, a language model as Hugging Face Transformers writes it (`config.json`, safetensors, tokenizer), or a
result of ours (`wire.bases`).

A folder is data, and may be a stranger's: nothing of it runs, no name in it is imported, nothing outside it is read.
`wire.pretrained` reads it; `trainer.models` has the networks and knows where their weights stand.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tpu_studio.wire import bases, hub, owncode
from tpu_studio.wire.bases import Base
from tpu_studio.wire.errors import ModelError

WEIGHTS, INDEX = "model.weights.h5", "model.weights.json"
SAFETENSORS, SAFETENSORS_INDEX = "model.safetensors", "model.safetensors.index.json"

# That choosing another folder mends.
PROBLEMS = tuple(
    f"preset-{what}"
    for what in (
        *("not-chosen", "missing", "in-a-share", "links-out", "unreadable", "other-format", "pickled", "foreign"),
        *("other-network", "in-part", "differs", "unfit", "needs-memory", "needs-disk", "needs-host"),
    )
)

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_HUB = re.compile(
    r"(?:hf|kaggle|modelscope)://"
)  # of KerasHub's own loader; its gs:// and TensorFlow's others are `_SCHEME`


@dataclass(frozen=True)
class Network:
    """A network that is known.

    Attributes:
        builder: Its module of `trainer.models.kerashub`; of texts "".
        reads: What its examples are.
        sizes: Of the pictures that it sees: any, the one that it learned with, or multiples of its patches.
    """

    title: str
    builder: str = ""
    sizes: Literal["any", "one", "patches"] = "any"
    reads: str = "picture"

    @property
    def reads_text(self) -> bool:
        return self.reads == "text"


NETWORKS: Mapping[str, Network] = {
    "ResNetBackbone": Network("ResNet", "resnet"),
    "EfficientNetBackbone": Network("EfficientNet", "efficientnet"),
    "MobileNetBackbone": Network("MobileNet", "mobilenet"),
    "ViTBackbone": Network("ViT", "vit", "one"),
    "DINOV2Backbone": Network("DINOv2", "dinov2", "patches"),
    "gpt2": Network("GPT-2", reads="text"),
    "llama": Network("Llama", reads="text"),
    "mistral": Network("Mistral", reads="text"),
    "qwen2": Network("Qwen2", reads="text"),
    "qwen3": Network("Qwen3", reads="text"),
    "gemma3_text": Network("Gemma 3", reads="text"),
}
"""By what a KerasHub folder calls the class, and a Hugging Face folder the `model_type`."""


@dataclass(frozen=True)
class Preset:
    """Attributes:
    kind: Of `NETWORKS`.
    config: What the network is built with.
    vocabulary, longest: Of one that reads texts: different tokens, and how many at once.
    template: Of one that reads texts: its own chat template (`wire.pretrained.template`), "" where it has none.
    templates: Those that its tokenizer has the tokens for.
    scale, offset: What is multiplied with a pixel from 0 to 255 of each colour, and then added to it.
    says_scale: Whether the folder says these; else pixels go from −1 to 1.
    side: Pixels of a picture's side that it learned with; 0 where the folder does not say it. *patch*: Of a patch's.
    sums: The sha256 of each file that is read, by name: its descriptions, then its weights.
    size_bytes: Of its weights.
    files_bytes: Of all files that are read, which is what travels.
    absent: Bytes of those that the Hub has and that were not downloaded yet.
    sha256: Of all that counts: the same base.
    base: Of a result of ours, what its card says; *kind* is its model, then, but of a network that began from a folder:
        that is described as the folder was.
    """

    folder: Path
    kind: str
    config: Mapping[str, object]
    sums: Mapping[str, str]
    size_bytes: int
    sha256: str
    scale: tuple[float, ...] = ()
    offset: tuple[float, ...] = ()
    says_scale: bool = False
    side: int = 0
    patch: int = 1
    vocabulary: int = 0
    longest: int = 0
    template: str = ""
    templates: tuple[str, ...] = ()
    files_bytes: int = 0
    absent: int = 0
    base: Base | None = None

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(self.sums)

    @property
    def network(self) -> Network:
        if self.base and self.kind not in NETWORKS:
            return Network(self.base.title, reads=self.base.reads)
        return NETWORKS[self.kind]

    @property
    def is_decoder(self) -> bool:
        """Whether *config* is that of a causal language model (`wire.pretrained.decoder`)."""
        return self.kind in NETWORKS and NETWORKS[self.kind].reads_text

    def takes(self, side: int) -> bool:
        """Whether it can see pictures of that many pixels a side."""
        if self.base:
            return self.base.takes(side)
        match self.network.sizes:
            case "one":
                return side == self.side
            case "patches":
                return side % self.patch == 0
            case _:
                return True

    def nearest(self, side: int) -> int:
        """What it takes of pictures of *side*, no larger than these if it can be."""
        if self.base:
            return self.base.only or max(side, self.base.least)
        if self.network.sizes == "one":
            return self.side
        return max(1, side // self.patch) * self.patch

    @property
    def name(self) -> str:
        """Of a model of the Hub as it is called there, of a result of ours its run's; else of its folder."""
        return self.base.called if self.base else hub.name_of(self.folder) or self.folder.name

    @property
    def title(self) -> str:
        return f"{self.network.title} “{self.name}”"

    @property
    def reads_text(self) -> bool:
        return self.network.reads_text

    @property
    def in_one_file(self) -> bool:
        return WEIGHTS in self.files

    @property
    def weights(self) -> Path:
        """The file that Keras reads the weights from, or their index."""
        return self.folder / (WEIGHTS if self.in_one_file else INDEX)


def is_folder(value: str) -> bool:
    """Whether *value* of `model.preset` is a path: it has a separator, or begins as one, and is no `hub:name`; or a
    result of ours, which lies in a folder, too."""
    if is_name(value):
        return True
    if _HUB.match(value) or (_SCHEME.match(value) and not owncode.in_a_share(value)):
        return False
    return value.startswith(("~", ".")) or any(mark in value for mark in "/\\")


def is_name(value: str) -> bool:
    """Whether *value* of `model.preset` is found by its name, not by a path: a run of ours, or a model of the Hub."""
    return bases.is_run(value) or hub.is_name(value)


def lies_in(folder: Path) -> bool:
    """Whether *folder* has what such a folder has; for words to who offers one as data, or as a run."""

    def is_there(name: str) -> bool:
        path = folder / name
        return not path.is_symlink() and path.is_file()  # a link of a stranger's may lead to a share

    return is_there("config.json") and any(map(is_there, (WEIGHTS, INDEX, SAFETENSORS, SAFETENSORS_INDEX)))


def folder_of(value: str, base: str) -> Path:
    """Where that preset of a job is, whose relative paths begin at *base*."""
    if bases.is_run(value):
        return bases.folder_of_run(value)
    if hub.is_name(value):
        return hub.folder(value)
    path = path_of(value, base)
    return path.parent if bases.is_one(value) else path


def path_of(value: str, base: str) -> Path:
    """The folder's path, or that of the model in it, as a plan has it."""
    return Path(base or os.sep, os.path.expanduser(value))


def check_same(preset: Preset, sha256: str) -> None:
    """Raises ModelError ``preset-changed``, ``base-changed``: it is not the one of *sha256*, that was planned with."""
    if sha256 and preset.sha256 != sha256:
        raise changed(preset)


def changed(preset: Preset) -> ModelError:
    if preset.base:
        return ModelError("base-changed", base=preset.base.called, path=str(preset.folder))
    return ModelError("preset-changed", path=str(preset.folder), file=preset.name)
