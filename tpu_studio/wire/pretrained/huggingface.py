"""A folder of Hugging Face Transformers as a `Preset`: a causal language model, its weights and its tokenizer.

The window reads of it the descriptions, and where each tensor lies; that all are there in the shapes that the network
has, so that nothing larger is made of it than its files hold.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence, Set

from tpu_studio.wire import hub
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.presets import NETWORKS, SAFETENSORS, SAFETENSORS_INDEX, Preset
from tpu_studio.wire.pretrained import decoder, template, tensors, tokenizer
from tpu_studio.wire.pretrained.description import PICKLES
from tpu_studio.wire.pretrained.folder import CONFIG, MOST_READ, Folder, check_sums, sha256_of
from tpu_studio.wire.starters import TOKENIZER

TEMPLATE, TOKENIZER_CONFIG = "chat_template.jinja", "tokenizer_config.json"
_OF_PICTURES = ("vit", "dinov2")  # that KerasHub opens and saves as its own
_TOKENIZER_BYTES = 64_000_000  # Gemma 3's has 33 million


def is_one(folder: Folder, config: Mapping[str, object]) -> bool:
    """Whether it is such a folder; else what KerasHub writes, or neither, or its weights are pickles alone."""
    kind = config.get("model_type")
    if "model_type" not in config or kind in _OF_PICTURES:
        return False
    if any(map(folder.has, (SAFETENSORS, SAFETENSORS_INDEX))):
        return True
    return _reads_text(str(kind)) and not any(name.endswith(PICKLES) for name, *_ in folder.signature())


def read(folder: Folder, config: Mapping[str, object]) -> Preset:
    """Raises ModelError: as `reading.read`."""
    kind = str(config.get("model_type"))
    if not _reads_text(kind):
        folder.refuse_network(CONFIG, kind)
    if config.get("quantization_config"):
        folder.refuse("preset-other-format", CONFIG, "quantised weights")
    if config.get("auto_map"):
        folder.refuse("preset-foreign", CONFIG, "It names code of its own (“auto_map”).")
    try:
        network = decoder.describe(config)
    except decoder.Unknown as error:
        folder.refuse("preset-unreadable", CONFIG, str(error))
    if not folder.has(TOKENIZER):
        folder.refuse("preset-in-part", TOKENIZER, f"There is no {TOKENIZER}.")
    folder.check_inside(TOKENIZER)
    with folder.open(TOKENIZER) as file:
        tensors.refuse_note(folder, TOKENIZER, file.read(8))
        if (size := os.fstat(file.fileno()).st_size) > _TOKENIZER_BYTES:
            folder.refuse("preset-unreadable", TOKENIZER, "It is larger than any tokenizer.")
        file.seek(0)
        tokens = _tokens(folder, file.read(size), network.vocabulary)
    of_hub = hub.entry(folder.whole)
    files, absent = _files(folder, of_hub)
    if absent:
        size = sum(of_hub.files[name].size for name in files if hub.is_of_weights(name)) if of_hub else 0
    else:
        placed = tensors.places_of(folder, files)
        check_whole(folder, network, placed)
        size = sum(place.size for place in placed.values() if place.is_of_weights)
    here = [name for name in (CONFIG, TOKENIZER, *files) if name not in absent]
    sums = {name: sha256_of(folder, name) for name in here}
    check_sums(folder, sums)
    _check_listed(folder, of_hub, sums)
    sums |= {name: one.sha256 for name, one in absent.items()}
    lacking = sum(one.size for one in absent.values())
    counts = "\n".join(f"{name} {sums[name]}" for name in sorted(sums))
    base = hashlib.sha256(counts.encode()).hexdigest()
    usable = template.usable(tokens.standing.keys())
    return Preset(
        folder.given,
        kind,
        config,
        sums,
        size,
        base,
        vocabulary=network.vocabulary,
        longest=network.longest,
        template=_template(folder, tokens.standing.keys(), usable),
        templates=usable,
        files_bytes=folder.bytes_of(here) + lacking,
        absent=lacking,
    )


def _files(folder: Folder, of_hub: hub.Entry | None) -> tuple[tuple[str, ...], dict[str, hub.Listed]]:
    """Names of the files of weights, and of those what the Hub says of the ones that were not downloaded yet."""
    if of_hub is None or folder.has(SAFETENSORS):
        return tensors.files_of(folder), {}
    files = (SAFETENSORS,) if SAFETENSORS in of_hub.files else tensors.files_of(folder)
    absent = {name: of_hub.files[name] for name in files if name in of_hub.files and not folder.has(name)}
    if total := sum(one.size for one in absent.values()):
        if total > MOST_READ:
            why = f"Its weights have {total:,} bytes or more; {MOST_READ:,} are read at most."
            folder.refuse("preset-unreadable", files[-1], why)
        for name, one in absent.items():
            if not one.sha256:
                folder.refuse("preset-unreadable", name, "The Hub does not say its sha256.")
    return files, absent


def _check_listed(folder: Folder, of_hub: hub.Entry | None, sums: Mapping[str, str]) -> None:
    """What was downloaded is what the Hub has said."""
    for name, sha256 in sums.items():
        if of_hub and name in of_hub.files and of_hub.files[name].sha256 not in ("", sha256):
            folder.refuse("preset-differs", name, "It is not the file of the Hub: its sha256 is another one.")


def _tokens(folder: Folder, file: bytes, vocabulary: int) -> tokenizer.Tidied:
    """It is of a kind that is known, and its tokens are among those of the network."""
    try:
        tokens = tokenizer.tidied(file)
    except ValueError as error:
        folder.refuse("preset-unreadable", TOKENIZER, f"{str(error)[:1].upper()}{str(error)[1:]}.")
    if tokens.vocabulary > vocabulary:
        folder.refuse("preset-unfit", TOKENIZER, f"It has {tokens.vocabulary:,} tokens, and the model {vocabulary:,}.")
    return tokens


def _template(folder: Folder, tokens: Set[str], usable: Sequence[str]) -> str:
    """Its own, as Transformers would choose it. What cannot be read is one that is not known: a text to continue needs
    none."""
    try:
        jinja = _jinja(folder)
    except (ModelError, OSError):
        return template.UNKNOWN
    found = template.recognised(jinja, tokens) if jinja else ""
    return found if not found or found in usable else template.UNKNOWN


def _jinja(folder: Folder) -> str:
    if folder.has(TEMPLATE):
        folder.check_inside(TEMPLATE)
        with folder.open(TEMPLATE) as file:
            return file.read(4 * template.LONGEST).decode("utf-8", "replace")
    return template.of_config((folder.json(TOKENIZER_CONFIG) or {}).get("chat_template"))


def _reads_text(kind: str) -> bool:
    return kind in NETWORKS and NETWORKS[kind].reads_text


def check_whole(folder: Folder, network: decoder.Decoder, placed: Mapping[str, tensors.Place]) -> None:
    """Each tensor of *network* is there, in its shape and in floats."""
    for wanted in network.tensors():
        place = located(placed, wanted.name)
        if place is None:
            folder.refuse("preset-in-part", CONFIG, f"Its files have no “{wanted.name}”.")
        if not place.is_of_weights:
            why = f"“{wanted.name}” is in numbers of the kind {place.kind[:20]}, which are not read."
            folder.refuse("preset-unreadable", place.file, why)
        if place.shape != wanted.shape:
            why = f"“{wanted.name}” has the shape {place.shape}, and {wanted.shape} by its description."
            folder.refuse("preset-unfit", place.file, why)


def located(placed: Mapping[str, tensors.Place], name: str) -> tensors.Place | None:
    """By its name, as the network alone saves it and as one with its answers does."""
    short = name.removeprefix("model.")
    return next((placed[one] for one in (name, short, f"transformer.{name}") if one in placed), None)
