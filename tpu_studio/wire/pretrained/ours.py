"""A result of ours as a `Preset`, which another training begins from: its card, `model.keras`, and its tokenizer.

It may be a stranger's run that was imported, and is data: of the card is taken what is a known name or a number within
bounds; the model is hashed here, and opened by the trainer's closed reader alone (`trainer.result.loading`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

from tpu_studio.wire import bases, families, models, tasks
from tpu_studio.wire.bases import CARD, MODEL, Base
from tpu_studio.wire.brief import brief_fields, cut
from tpu_studio.wire.errors import JobError
from tpu_studio.wire.families import ModelSpec
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.pretrained import tuned
from tpu_studio.wire.pretrained.folder import CONFIG, MOST_READ, Folder, sha256_of
from tpu_studio.wire.records import inner, items, whole
from tpu_studio.wire.runfolder import is_run_id
from tpu_studio.wire.sizes import PLAN_BYTES
from tpu_studio.wire.starters import TOKENIZER

_AXES, _NUMBERS = 4, 2**26  # of one example
_TOKENS, _LONGEST = 1_000_000, 8192  # of a model's options, of `data.sequence_length`


def is_one(folder: Folder) -> bool:
    return folder.has(CARD) and folder.has(MODEL) and not folder.has(CONFIG)


def read(folder: Folder) -> Preset:
    """Raises ModelError: ``base-damaged``, ``base-of-your-code``, ``base-not-begun-from``, ``preset-links-out``."""
    base, told, network = _described(folder)
    names = (CARD, MODEL, *((TOKENIZER,) if told.get(TOKENIZER) or base.tokenizer == "preset" else ()))
    for name in names:
        if not folder.has(name):
            folder.refuse("base-damaged", name, f"There is no {name}.")
        folder.check_inside(name)
    if folder.bytes_of(names) > MOST_READ:
        folder.refuse("base-damaged", MODEL, f"It is larger than {MOST_READ:,} bytes, which are read at most.")
    sums = {name: sha256_of(folder, name) for name in names}
    for name, wanted in told.items():
        if sums.get(name, wanted) != wanted:
            folder.refuse("base-damaged", name, "It is not the file that the run wrote: its sha256 is another one.")
    counts = "\n".join(f"{name} {sums[name]}" for name in sorted(names))
    starter = models.BY_NAME[base.model].starter
    longest = max(base.shape[0], starter.longest if starter else 0)
    preset = Preset(
        folder.given,
        base.model,
        {},
        sums,
        folder.bytes_of((MODEL,)),
        hashlib.sha256(counts.encode()).hexdigest(),
        says_scale=True,
        side=base.shape[0] if len(base.shape) == 3 else 0,
        vocabulary=whole(base.data.get("vocabulary")),
        longest=longest if base.tokenizer else 0,
        files_bytes=folder.bytes_of(names),
        base=base,
    )
    return tuned.described(folder, preset, network) if network else preset


def _described(folder: Folder) -> tuple[Base, dict[str, str], Mapping[str, Any]]:
    """And the sha256 of its files, as the card tells them, and what it says of a network that no model's name says."""
    folder.check_inside(CARD)
    try:
        card = read_json(folder.whole / CARD, PLAN_BYTES)
    except ValueError as error:
        folder.refuse("base-damaged", CARD, str(error))
    if not isinstance(card, dict):
        folder.refuse("base-damaged", CARD, "It is no card of a result.")
    if card.get("own"):
        folder.refuse("base-of-your-code", CARD, "")
    model = models.BY_NAME.get(str(card.get("model")))
    if model is None:
        folder.refuse("base-damaged", CARD, "Its model is none of this version.")
    network = inner(card.get(tuned.KEY)) if model.from_folder else {}
    if model.from_folder and not network:
        exported = families.by_id(model.family).back_into_folder
        folder.refuse("base-not-begun-from", model.title, "exported" if exported else "")
    try:
        base = _base(card, model)
    except (JobError, KeyError, ValueError, TypeError) as error:
        folder.refuse("base-damaged", CARD, f"What it says of its model makes no sense: {cut(str(error), 100)}")
    sums = inner(card.get("sha256"))
    return base, {name: str(sums[name]) for name in (MODEL, TOKENIZER) if name in sums}, network


def _base(card: Mapping[str, Any], model: ModelSpec) -> Base:
    """Raises JobError, KeyError, ValueError, TypeError: it is no card of ours."""
    data, task = brief_fields(inner(card["data"])), tasks.by_id(card["task"])
    shape = tuple(card["input"]["shape"][1:])
    sized = 0 < len(shape) <= _AXES and all(type(one) is int and 0 < one <= _NUMBERS for one in shape)
    if not sized or math.prod(shape) > _NUMBERS:
        raise ValueError("its examples have no size")
    if whole(data.get("vocabulary")) > _TOKENS:
        raise ValueError("it has more tokens than any text")
    run, family = str(card.get("run") or ""), families.by_id(model.family)
    options = models.options(model.name, inner(card["options"]))
    if family.halves and len(shape) == 3:
        options[family.halves] = families.halvings(whole(options[family.halves]), min(shape[:2]))
    reads = bases.reads(shape, str(data["kind"]), task.id)
    if reads == "text" and shape[0] > _LONGEST:
        raise ValueError("its texts are longer than any")
    return Base(
        run=run if is_run_id(run) else "",
        name=cut(str(card.get("name") or ""), 100),
        model=model.name,
        title=model.title,
        options=options,
        task=task.id,
        classes=tuple(str(one) for one in items(card.get("classes"))),
        data=data,
        shape=shape,
        reads=reads,
        tokenizer=("preset" if data.get("tokenizer_sha256") else "bytes") if reads == "text" else "",
        only=shape[0] if family.looks_at_pixels and reads == "picture" else 0,
        least=2 ** whole(options[family.halves]) if family.halves else 1,
    )
