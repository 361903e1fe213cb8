"""A language model that began from a Hugging Face folder, as such a folder again, for whatever reads one; or from a run
of ours that did, whichever number of runs lies between.

Its files of weights are those that it began from, with the numbers of what has learned in their places: as many files,
in the same order and kind of number. What has not learned stays to the bit. Tokenizer and licence are copied.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.trainer.models import decoders, pretrained
from tpu_studio.trainer.models.kerashub.stored import Array
from tpu_studio.wire import bases, metrics, owncode, presets
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.jsonfile import parse_json
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.pretrained import reading, template, tokenizer, tuned
from tpu_studio.wire.pretrained.decoder import describe
from tpu_studio.wire.pretrained.folder import Folder
from tpu_studio.wire.pretrained.huggingface import TEMPLATE
from tpu_studio.wire.pretrained.tensors import Place
from tpu_studio.wire.records import inner
from tpu_studio.wire.starters import TOKENIZER

FORMAT, CARD = "huggingface", "README.md"
COPIED = (
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt"),
    *("tokenizer.model", "chat_template.jinja", "generation_config.json", "LICENSE", "LICENSE.txt", "LICENSE.md"),
    *("NOTICE", "NOTICE.txt", "USE_POLICY.md"),
)
"""What is there of these, beside the files of the folder that we read."""
_MOST = 64_000_000  # bytes of one of them; vocab.json of Qwen has three million
_TABLE, _SCORES = "tokens/embeddings", "lm_head.weight"
_RUNS = 20  # each of which began from the one before
_TEXTS, _EACH = 4, 16  # that both are asked, and of these each so-manieth token
_NEAR = {"F32": 1e-4, "F16": 1e-2, "BF16": 5e-2}  # of the largest score: what fewer digits of weights make of it


def write(
    load: Callable[[], Any], card: Mapping[str, Any], run: Path, to: Path, texts: Iterable[Any]
) -> tuple[int, float]:
    """Write the model of *run* to the folder *to*, which is not there.

    How many tensors it has, and the largest difference of its answers to those of the model.

    Args:
        texts: Examples, one at a time; the model's answers to some are held against those of the folder's weights.

    Raises:
        ModelError: ``preset-…``: the folder that it began from is not there, or not as it was.
        RunError: ``export-unsupported``: it did not begin from one; ``export-differs``.
        OSError: It cannot be written.
    """
    preset = _base(run)
    network, folder, placed = describe(preset.config), decoders.opened(preset), decoders.places_of(preset)
    model = load()
    weights = {weight.path: weight for weight in model.weights}
    asked = list(islice(texts, _TEXTS))
    before = [_answers(model, x) for x in asked]
    _copy(folder, preset, to)
    coarsest = "F32"
    names = decoders.by_name(network)
    for name, parts in names.items():
        place = decoders.located(placed, name)
        values, same = decoders.numbers(folder, place), True
        for part in parts:
            if part.path not in weights:
                raise _unsupported(f"its model has no {part.path}")
            learned, before_it = np.array(weights[part.path], np.float32), decoders.cut(part, values)
            if learned.shape != before_it.shape:
                raise _unsupported(f"{part.path} of its model has another shape than in the folder")
            if not np.array_equal(learned, before_it):
                decoders.put(part, values, learned)
                same = False
        if not same:
            _write_numbers(to, place, values)
            coarsest = max(coarsest, place.kind, key=lambda one: _NEAR[one])
            if network.tied and parts[0].path == _TABLE and _SCORES in placed:  # the same, kept twice
                _write_numbers(to, placed[_SCORES], values)
    for path, numbers in decoders.read(reading.read(to), network):
        weights[path].assign(numbers)
    largest = _difference(before, [_answers(model, x) for x in asked], _NEAR[coarsest])
    _write_template(card, preset, to)
    (to / CARD).write_text(_about(card, preset), encoding="utf-8", newline="\n")
    return len(names), largest


def _base(run: Path) -> Preset:
    """The folder that *run* began from, or the first of the runs that it began from one after the other, as it was
    then."""
    plan = _first(run)
    preset = pretrained.preset_of(plan)
    if preset.base is not None or not preset.is_decoder:
        raise _unsupported("it did not begin from a language model")
    return preset


def _first(run: Path) -> Plan:
    """The plan of the run that began from a folder. The runs between lend nothing: *run* has all weights."""
    missing = "what it began from stands in the run's plan, which is not here"
    for _ in range(_RUNS):
        try:
            plan = _plan_of(run)
        except (OSError, RunError) as error:
            raise _unsupported(missing) from error
        folder = plan.job.model.folder
        if not (folder and plan.preset_sha256):
            raise _unsupported("it did not begin from a Hugging Face folder")
        if not bases.is_one(folder):
            return plan
        called = bases.run_of(folder) or "that its model file is of"
        missing = f"the run {called}, which it began from and whose plan names the Hugging Face folder, is not here"
        run = presets.folder_of(folder, plan.job.base).parent
    raise _unsupported("too many runs lie between it and its Hugging Face folder")


def _plan_of(run: Path) -> Plan:
    """Of a folder that a plan of anybody's may name. Raises OSError, RunError."""
    whole = owncode.located(run)
    if whole is None:
        raise OSError("it is in another computer's folder")
    return plans.read(whole)


def _unsupported(why: str) -> RunError:
    return RunError("export-unsupported", format=FORMAT, raw=why)


def _answers(model: Any, x: Any) -> Array:
    return np.asarray(model(x, training=False), np.float32)[:, ::_EACH]


def _copy(folder: Folder, preset: Preset, to: Path) -> None:
    """All that is read of the folder, and what others read besides; no link is followed out of it."""
    to.mkdir()
    for name in preset.files:
        with folder.open(name) as file, open(to / name, "xb") as copy:
            shutil.copyfileobj(file, copy, 1 << 22)
    for name in COPIED:
        if folder.has(name) and not (folder.whole / name).is_symlink():  # to another file of the folder
            folder.check_inside(name)
            with folder.open(name) as file:
                data = file.read(_MOST + 1)
            if len(data) > _MOST:
                folder.refuse("preset-unreadable", name, "It is larger than any such file.")
            if name.endswith(".json"):
                _check_names_no_code(folder, name, data)
            (to / name).write_bytes(data)


def _check_names_no_code(folder: Folder, name: str, data: bytes) -> None:
    """As of `config.json`: what others open would run it."""
    try:
        tree = parse_json(data, name)
    except ValueError as error:
        folder.refuse("preset-unreadable", name, str(error))
    if isinstance(tree, dict) and tree.get("auto_map"):
        folder.refuse("preset-foreign", name, "It names code of its own (“auto_map”).")


def _write_template(card: Mapping[str, Any], preset: Preset, to: Path) -> None:
    """What its answers were learned in, by it or by a run before it, where the folder says another chat template, or
    none."""
    told = inner(card.get(tuned.KEY)).get(tuned.TEMPLATE)
    if (_template(card) or told) == template.PLAIN != preset.template:
        tokens = tokenizer.tidied(reading.content(preset, TOKENIZER)).standing.keys()
        (to / TEMPLATE).write_text(template.plain_jinja(tokens), encoding="utf-8", newline="\n")


def _template(card: Mapping[str, Any]) -> str:
    """The id of the chat template that it learned in, of those that are known: a card may be a stranger's; "": none."""
    data = card.get("data")
    used = data.get("chat_template") if isinstance(data, dict) else ""
    return next((one.id for one in template.TEMPLATES if one.id == used), "")


def _write_numbers(to: Path, place: Place, values: Array) -> None:
    with np.errstate(over="ignore"):
        rounded = decoders.rounded(values, place.kind)
    if not np.isfinite(values if place.kind == "BF16" else rounded).all():
        raise RunError("export-differs", format=FORMAT, difference=float("inf"))
    with open(to / place.file, "r+b") as file:
        file.seek(place.start)
        file.write(rounded.tobytes())


def _difference(before: Sequence[Array], after: Sequence[Array], near: float) -> float:
    """The largest. Raises RunError ``export-differs``."""
    largest = 0.0
    for one, other in zip(before, after, strict=True):
        difference = float(np.max(np.abs(one - other)))
        if not difference <= near * max(1.0, float(np.max(np.abs(one)))):
            raise RunError("export-differs", format=FORMAT, difference=difference)
        largest = max(largest, difference)
    return largest


def _learned(card: Mapping[str, Any]) -> str:
    used = _template(card)
    return f"questions and answers, in the chat template “{used}” that lies here," if used else "a text"


def _about(card: Mapping[str, Any], preset: Preset) -> str:
    """A model card. No name of a folder or of data: it goes to others."""
    trained = card.get("trained", {})
    steps, final = trained.get("steps"), trained.get("final")
    known = {one.id for one in metrics.all_metrics()}
    measured = final.items() if isinstance(final, dict) else ()
    figures = "\n".join(
        f"| {name} | {value:.4g} |" for name, value in measured if name in known and isinstance(value, float)
    )
    return f"""---
library_name: transformers
pipeline_tag: text-generation
---

# A {preset.network.title} model, trained further

It began from the weights of a {preset.network.title} model, whose licence goes on for this one: see what it says about
passing on. The sha256 of what was read of them is `{preset.sha256}`.
TPU Studio trained it on {_learned(card)}{f" for {steps:,} steps" if type(steps) is int else ""}.

| measured at the end | |
| --- | --- |
{figures}

    from transformers import AutoModelForCausalLM, AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained("FOLDER")
    model = AutoModelForCausalLM.from_pretrained("FOLDER")
"""
