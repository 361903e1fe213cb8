"""The network of a result that began from a folder, as the result's card describes it by itself.

    "network": {"config": {"model_type": "qwen2", …}, "template": "chatml"}
    "network": {"kind": "ResNetBackbone", "config": {"input_conv_filters": [64], …}, "scale": [0.017], "offset": [-2.1]}

So another training begins from it whether the folder is still there or not. The card may be a stranger's: of it is
taken what `decoder` and `template`, or `description`, know, and nothing larger is made of it than its file of weights
holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tpu_studio.wire import models
from tpu_studio.wire.bases import CARD, MODEL, Base
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.presets import NETWORKS, Preset
from tpu_studio.wire.pretrained import decoder, description, template, tokenizer
from tpu_studio.wire.pretrained.folder import Folder
from tpu_studio.wire.records import inner
from tpu_studio.wire.starters import TOKENIZER

KEY, CONFIG, TEMPLATE = "network", "config", "template"
_KIND, _SCALE, _OFFSET = "kind", "scale", "offset"
_SMALLEST = 2  # bytes of a weight, in float16
_TOKENIZER_BYTES = 64_000_000


def told(preset: Preset, used: str) -> dict[str, object]:
    """For the card of what began from *preset*, that of a folder, or of a result that did.

    Args:
        used: The chat template that it has learned in; "" where it learned from no chats.
    """
    if not preset.is_decoder:
        network = {_KIND: preset.kind, CONFIG: description.traits(preset.config)}
        return {**network, _SCALE: list(preset.scale), _OFFSET: list(preset.offset)}
    return {CONFIG: decoder.traits(preset.config), TEMPLATE: used or preset.template}


def described(folder: Folder, preset: Preset, card: Mapping[str, Any]) -> Preset:
    """*preset*, of a result, with the network that its *card* says under `KEY`.

    Raises:
        ModelError: ``base-damaged``: it says none that is known, or another one than its files have.
    """
    assert preset.base is not None
    if preset.base.reads not in models.spec(preset.base.model).examples:
        folder.refuse("base-damaged", CARD, "Its model reads no such examples.")
    if preset.base.reads == "picture":
        return _of_pictures(folder, preset, preset.base, card)
    try:
        config = decoder.traits(inner(card.get(CONFIG)))
    except ValueError as error:
        folder.refuse("base-damaged", CARD, str(error))
    network = decoder.describe(config)
    if preset.vocabulary != network.vocabulary or TOKENIZER not in preset.sums:
        folder.refuse("base-damaged", CARD, "Its tokens are not those of its network.")
    if network.numbers * _SMALLEST > preset.size_bytes:
        why = f"It has {preset.size_bytes:,} bytes, and its network {network.numbers:,} weights."
        folder.refuse("base-damaged", MODEL, why)
    tokens = _tokens(folder, network.vocabulary).standing.keys()
    usable = template.usable(tokens)
    return replace(
        preset,
        kind=network.kind,
        config=config,
        longest=network.longest,
        template=_template(card.get(TEMPLATE), usable),
        templates=usable,
    )


def _of_pictures(folder: Folder, preset: Preset, base: Base, card: Mapping[str, object]) -> Preset:
    """One with places for pictures of one size sees no others: those between them were made of the folder's."""
    kind, config = str(card.get(_KIND)), inner(card.get(CONFIG))
    if kind not in NETWORKS or NETWORKS[kind].reads != base.reads:
        folder.refuse("base-damaged", CARD, f"“{kind[:40]}” is no network that is known.")
    side, sizes = base.shape[0], NETWORKS[kind].sizes
    try:
        description.check_values(folder, config)
        scale, offset, _ = description.seeing(folder, card)
        if sizes == "one" and description.only_side(folder, config) != side:
            folder.refuse("base-damaged", CARD, "Its pictures are not those of its network.")
        if sizes == "patches" and side % description.patch_of(folder, config):
            folder.refuse("base-damaged", CARD, "Its pictures are not those of its network.")
    except ModelError as error:
        folder.refuse("base-damaged", CARD, str(error.facts.get("why") or "It has sizes that no network has."))
    if not scale or not offset:
        folder.refuse("base-damaged", CARD, "It does not say how it sees a pixel.")
    base = base if sizes == "any" else replace(base, only=side)
    config = description.traits(config)
    return replace(preset, kind=kind, config=config, scale=scale, offset=offset, side=side, base=base)


def _template(said: object, usable: tuple[str, ...]) -> str:
    """Of those that are known, and that its tokens can write."""
    if said in ("", *usable):
        return str(said)
    return template.UNKNOWN


def _tokens(folder: Folder, vocabulary: int) -> tokenizer.Tidied:
    with folder.open(TOKENIZER) as file:
        data = file.read(_TOKENIZER_BYTES + 1)
    try:
        if len(data) > _TOKENIZER_BYTES:
            raise ValueError("it is larger than any tokenizer")
        found = tokenizer.tidied(data)
        if found.vocabulary > vocabulary:
            raise ValueError(f"it has {found.vocabulary:,} tokens, and the model {vocabulary:,}")
    except ValueError as error:
        folder.refuse("base-damaged", TOKENIZER, f"{str(error)[:1].upper()}{str(error)[1:]}.")
    return found
