"""The models that come with TPU Studio, by name, and their options as they are asked for. Data only, no framework.

``trainer.models`` builds them in Keras; the planner counts their weights and work; the window lists them.
"""

from __future__ import annotations

from collections.abc import Mapping

from tpu_studio.wire import bases, families, hub, kinds, presets, starters
from tpu_studio.wire.bases import Base
from tpu_studio.wire.errors import JobError
from tpu_studio.wire.families import ModelSpec
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.shapes import fits
from tpu_studio.wire.starters import Starter

MODELS: tuple[ModelSpec, ...] = tuple(model for family in families.all_families() for model in family.models)


def image_size(family: str, side: int) -> int:
    """Pixels on each side to which "auto" brings pictures whose shorter side has *side*: the one rule for it.

    The plan writes it down, and from then on the job names it. Pictures that were converted, and those of `digits`,
    keep the size they have: that was chosen before.

    Args:
        family: Of the model that learns; "file" for one of one's own; "" for none yet, when pictures are looked at or
            converted: as much is kept as any model that may come will need.
    """
    if family:
        sizes = families.by_id(family).image_sizes
        return max((size for size in sizes if size <= side), default=sizes[0])
    if side <= 48:
        return max(8, side)
    return 64 if side <= 160 else 96 if side <= 320 else 128


BY_NAME: dict[str, ModelSpec] = {model.name: model for model in MODELS}
OLDER_OPTIONS: dict[str, dict[str, object]] = {"gpt-124m": {"vocabulary": 50_257}}
"""Defaults that were others when plans did not carry their model's options yet."""
_WITHOUT_WEIGHTS = ("dropout",)


def fitting(kind: str | None, task: str | None) -> tuple[ModelSpec, ...]:
    """Models that learn from this kind of data (None: not known yet), the kind's own first; *task*: None as well."""
    known = kinds.find(kind)
    found = tuple(
        model
        for model in MODELS
        if (known is None or known.id in model.takes or known.is_converted) and (task is None or task in model.tasks)
    )
    return tuple(sorted(found, key=lambda model: model.name != known.model)) if known else found


def spec(name: str) -> ModelSpec:
    """The model of that name, or a JobError with the nearest known name."""
    import difflib

    try:
        return BY_NAME[name]
    except KeyError:
        near = difflib.get_close_matches(name, list(BY_NAME), n=1)
        raise JobError(
            "job-not-a-choice", key="model.name", value=name, allowed=list(BY_NAME), nearest=near[0] if near else None
        ) from None


def begins_others(name: str | None) -> bool:
    """Whether another training can begin from results of the model of that name: of any but a person's own; of those
    that began from a folder, where their card says the network (`pretrained.tuned`)."""
    return name in BY_NAME


def preset(name: str, given: str) -> str:
    """What the model of that name begins from, as `model.preset` has it: `starters.NONE`, its starter, a folder, a
    model of the Hub, or a result of ours.

    Raises:
        JobError: ``job-not-a-choice``, of a preset that does not exist; ``job-preset-of-another``, of another model;
            ``job-no-run-id``.
    """
    known = {f"{starters.PREFIX}{model.name}": model for model in MODELS if model.starter}
    mine = next((one for one, model in known.items() if model.name == name), starters.NONE)
    if given == AUTO:
        return mine
    if given in (starters.NONE, mine):
        return given
    if bases.is_run(given) and not bases.run_of(given):
        raise JobError("job-no-run-id", key="model.preset", value=given)
    if bases.is_one(given) and name in BY_NAME:
        return given
    folders = [model.name for model in MODELS if model.from_folder]
    if hub.is_name(given):
        folders = [model.name for model in MODELS if model.from_folder and hub.EXAMPLE in model.examples]
    if folders and presets.is_folder(given):
        if name in folders:
            return given
        of = next((one for one in folders if name in BY_NAME and BY_NAME[one].examples == BY_NAME[name].examples), "")
        raise JobError("job-preset-of-another", key="model.preset", value=given, model=name, of=of or folders[0])
    if given in known:
        raise JobError("job-preset-of-another", key="model.preset", value=given, model=name, of=known[given].name)
    raise _no_preset(given, mine)


def _no_preset(given: str, mine: str) -> JobError:
    """*mine*: that of the model, `starters.NONE` where it has none or is not known."""
    import difflib

    known = [f"{starters.PREFIX}{model.name}" for model in MODELS if model.starter]
    near = difflib.get_close_matches(given, [*known, starters.NONE], n=1)
    allowed = [mine, starters.NONE] if mine != starters.NONE else [starters.NONE]
    return JobError(
        "job-not-a-choice", key="model.preset", value=given, allowed=allowed, nearest=near[0] if near else None
    )


def tokenizer(name: str, preset: str, given: str, *, sorts: bool, base: Base | None = None) -> str:
    """How the text for the model of that name is cut up, as `data.tokenizer` has it resolved.

    Args:
        preset: Resolved: `starters.NONE`, or what the model begins from, which knows its own pieces only.
        sorts: Texts are told apart; else continued.
        base: The result of ours that it begins from; None where that could not be read, which the plan says.

    Raises:
        JobError: ``job-tokenizer-unfit``.
    """
    model = BY_NAME.get(name)
    starter = model.starter if model is not None and preset != starters.NONE else None
    begins = starter is not None and bool(starter.tokenizer)
    begins = begins or (model is not None and model.from_folder and preset != starters.NONE)
    able = ["preset"] if begins else ["bpe", "bytes"] if sorts else ["bytes", "bpe"]  # the usual one first
    if bases.is_one(preset):
        able = [base.tokenizer] if base and base.tokenizer else ["bytes" if given == AUTO else given]
    if given != AUTO and given not in able:
        raise JobError("job-tokenizer-unfit", key="data.tokenizer", value=given, allowed=able)
    return able[0] if given == AUTO else given


def check_length(name: str, preset: str, tokens: int) -> None:
    """*preset*: resolved; *tokens*: of the longest text that the model of that name is to read.

    Raises:
        JobError: ``job-out-of-range``: its starter weights know no places beyond theirs.
    """
    model = BY_NAME.get(name)
    longest = model.starter.longest if model is not None and model.starter and preset != starters.NONE else 0
    if longest and tokens > longest:
        raise JobError("job-out-of-range", key="data.sequence_length", value=tokens, minimum=1, maximum=longest)


def starter(preset: str) -> Starter:
    """The starter weights of that preset of a plan.

    Raises:
        JobError: ``job-not-a-choice``: no model has it.
    """
    model = BY_NAME.get(preset.removeprefix(starters.PREFIX)) if preset.startswith(starters.PREFIX) else None
    if model is None or model.starter is None:
        raise _no_preset(preset, starters.NONE)
    return model.starter


def options_from(base: Base, given: Mapping[str, object]) -> dict[str, object]:
    """All options of the model that begins from *base*, whose weights fit no others; dropout may be another one.

    Raises:
        JobError: ``job-option-of-base``: another one is asked for; those of `options`.
    """
    found = dict(base.options)
    for name, value in options(base.model, {**base.options, **given}).items():
        if name not in given or value == found[name]:
            continue
        if name not in _WITHOUT_WEIGHTS:
            told = {"value": value, "wanted": found[name], "base": base.called}
            raise JobError("job-option-of-base", key=f"model.options.{name}", **told)
        found[name] = value
    return found


def options(name: str, given: Mapping[str, object]) -> dict[str, object]:
    """All options of the model, the given ones checked, the rest by default.

    Raises:
        JobError: unknown option, wrong type, out of range, or a width that the heads do not divide.
    """
    import difflib

    known = {option.name: option for option in spec(name).options}
    values = {option.name: option.default for option in known.values()}
    for key, value in given.items():
        option = known.get(key)
        if option is None:
            near = difflib.get_close_matches(key, list(known), n=1)
            raise JobError("job-unknown-key", key=f"model.options.{key}", nearest=near[0] if near else None)
        whole = isinstance(option.default, int)
        if not fits(value, float) or not isinstance(value, (int, float)) or (whole and value % 1):
            raise JobError(
                "job-wrong-type",
                key=f"model.options.{key}",
                value=repr(value)[:60],
                wanted="a whole number" if whole else "a number",
            )
        if not (
            (option.minimum is None or value >= option.minimum) and (option.maximum is None or value <= option.maximum)
        ):
            raise JobError(
                "job-out-of-range",
                key=f"model.options.{key}",
                value=value,
                minimum=option.minimum,
                maximum=option.maximum,
                above=False,
            )
        values[key] = int(value) if whole else float(value)
    if "heads" in values and values["width"] % values["heads"]:
        raise JobError("job-heads", key="model.options.width", value=values["width"], heads=values["heads"])
    return values
