"""Language models of the Hugging Face Hub that are known by name: enough for a plan before anything is asked there.

`resources/hub/models.json` has their descriptions out of public artefacts, each named; a model stands there if the
tensors that its description has add up to the count that is published. What the Hub says, once it was asked, counts.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tpu_studio.wire import hub
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.pretrained import decoder, template
from tpu_studio.wire.pretrained.folder import MOST_READ
from tpu_studio.wire.resources import resource_path


@dataclass(frozen=True)
class Known:
    """Attributes:
    name: `owner/name`.
    parameters: Weights.
    size_bytes: Of its files of weights: what is to be downloaded.
    licence: Its id on the Hub.
    gated: Its owner wants to be asked first; None: not known.
    instruct: It has learned to answer; else to continue a text.
    template: Of its chats (`wire.pretrained.template`); "": none, and of one that has learned to answer none that is
        known: plain headings are to be agreed to, as they are once its folder is here.
    config: What its `config.json` says of the network.
    sources: The artefacts that say so.
    """

    name: str
    parameters: int
    size_bytes: int
    licence: str
    gated: bool | None
    instruct: bool
    template: str
    config: Mapping[str, object]
    sources: tuple[str, ...]

    @property
    def preset(self) -> str:
        return hub.PREFIX + self.name

    @property
    def is_read(self) -> bool:
        """Whether it is not too large."""
        return self.size_bytes <= MOST_READ


@functools.cache
def all_known() -> tuple[Known, ...]:
    """The smallest first."""
    tree = read_json(resource_path("hub", "models.json"))
    found = (
        Known(
            one["name"],
            one["parameters"],
            one["bytes"],
            one["licence"],
            one["gated"],
            one["instruct"],
            one["template"],
            one["config"],
            tuple(one["sources"]),
        )
        for one in tree["models"]
    )
    return tuple(sorted(found, key=lambda one: (one.parameters, one.name)))


def by_preset(preset: str) -> Known | None:
    return next((one for one in all_known() if one.preset == preset), None)


def preset_of(name: str, folder: Path) -> Preset:
    """Of a model that was not looked up: nothing of it is here.

    Args:
        name: `hf:owner/name`.
        folder: Where it would be.

    Raises:
        ModelError: ``preset-not-looked-up``: nothing is known of it; ``preset-too-large``.
    """
    known = by_preset(name)
    if known is None:
        raise ModelError("preset-not-looked-up", preset=name)
    if not known.is_read:
        raise ModelError("preset-too-large", preset=name, size=known.size_bytes, most=MOST_READ)
    network = decoder.describe(known.config)
    return Preset(
        folder,
        str(known.config["model_type"]),
        known.config,
        {},
        known.size_bytes,
        hashlib.sha256(json.dumps([name, known.config], sort_keys=True).encode()).hexdigest(),
        vocabulary=network.vocabulary,
        longest=network.longest,
        template=known.template or (template.UNKNOWN if known.instruct else ""),
        templates=(known.template,) if known.template else (template.PLAIN,),
        files_bytes=known.size_bytes,
        absent=known.size_bytes,
    )
