"""The schema of a job: one frozen dataclass for each table of a job file, whose fields are its keys.

A value that may be left to the planner has the type ``… | A``: ``wire.job.Job`` is written with "auto" there,
``wire.job.ResolvedJob``, of a plan, is without. ``KEYS`` holds one `Key` for each field, in the order a person meets
them. Nothing here reads a file; ``wire.job`` checks values against it and ``domain.jobfile`` adds the lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal

from tpu_studio.wire import frameworks, kinds, loans, places, presets, starters, tasks
from tpu_studio.wire.keys import AUTO, A, Affects, Auto, Key, key, keys_of
from tpu_studio.wire.stops import MOST_HOURS


@dataclass(frozen=True)
class Top:
    """The top of a job file."""

    format: int = key(1, "File format", minimum=1, maximum=1, affects="result")
    name: str = key(
        "run", "Name", help="What you call the run. Its folder is named after it.", group="run", affects="result"
    )


@dataclass(frozen=True)
class Model:
    """What is trained."""

    name: str | None = key(None, "Model", help="A model that comes with TPU Studio.", affects="work")
    file: str | None = key(
        None,
        "Your own model",
        path=True,
        help="A Python file with build_model(job) that returns a keras.Model. It runs only after you agree.",
    )
    preset: str | Auto = key(
        AUTO,
        "Pretrained weights",
        help='What it has learned before: "starter:" and the model\'s name, a run of yours as "run:" and its id, a folder '
        "of KerasHub's or Hugging Face's such as \"./resnet_50\", a model of the Hugging Face Hub such as "
        '"hf:Qwen/Qwen2.5-0.5B", or "none" to begin from nothing.',
        group="learning",
        affects="work",
        before=starters.NONE,
    )
    lora_rank: int | Auto = key(
        AUTO,
        "LoRA rank",
        minimum=0,
        maximum=256,
        help="Of a pretrained language model: small matrices learn beside its weights, so wide at their narrowest. 0: all "
        "of its weights learn, which takes several times the memory.",
        group="learning",
        affects="work",
        examples=("text",),
        before=0,
    )
    options: Mapping[str, object] = key({}, "Model options", help="Sizes of the model; each model has its own.")

    @property
    def is_own(self) -> bool:
        """Whether it is the user's own file."""
        return bool(self.file)

    @property
    def id(self) -> str:
        """Its name, or "file" for the user's own."""
        return "file" if self.is_own else str(self.name)

    @property
    def starts_from(self) -> str:
        """The preset that it begins from; "" where it begins from nothing."""
        return "" if self.preset in (AUTO, starters.NONE) else str(self.preset)

    @property
    def rank(self) -> int:
        """Of the small matrices that learn in place of its weights; 0: there are none."""
        return 0 if self.lora_rank == AUTO else int(self.lora_rank)

    @property
    def folder(self) -> str:
        """The folder that it begins from, or what stands for one (`wire.presets.is_name`); "" where there is none."""
        return self.starts_from if presets.is_folder(self.starts_from) else ""


@dataclass(frozen=True)
class Data(Generic[A]):
    """What it learns from."""

    kind: str = key("", "Kind of data", choices=kinds.IDS)
    path: str | None = key(None, "Where the data is", path=True, help="A folder or a file on this computer.")
    target: str | None = key(None, "Target column", help="What to predict.")
    task: str | A = key(
        AUTO,
        "Task",
        choices=tasks.IDS,
        help="What the model learns to do.",
        group="data",
        affects="work",
        words={one.id: one.title for one in tasks.all_tasks()},
    )
    validation: float = key(
        0.2,
        "Validation split",
        minimum=0.01,
        maximum=0.9,
        help="This share of the data is never trained on; it shows how well the model does on unseen data.",
        group="data",
    )
    image_size: int | A = key(
        AUTO,
        "Image size",
        minimum=8,
        maximum=1024,
        unit="pixels",
        help="Pictures are resized to this many pixels on each side.",
        group="data",
        affects="work",
        examples=("picture",),
    )
    augment: bool | A = key(
        AUTO,
        "Data augmentation",
        help="Small random shifts, turns and changes of light make more of few pictures.",
        group="data",
        examples=("picture",),
    )
    sequence_length: int | A = key(
        AUTO,
        "Context length",
        minimum=8,
        maximum=8192,
        unit="tokens",
        help="How much text the model sees at once.",
        group="data",
        affects="work",
        examples=("text",),
    )
    tokenizer: Literal["bytes", "bpe", "preset"] | A = key(
        AUTO,
        "Tokenizer",
        help="How text is cut up: bytes, pieces of words learned from your text, or those that starter weights know. "
        "To write like a text, pieces let the model see two to three times as much of it at once, and suit some "
        "hundred pages and more; bytes need no learning and suit short texts.",
        group="data",
        examples=("text",),
        words={
            "bytes": "letter by letter (bytes)",
            "bpe": "pieces of words, learned (BPE)",
            "preset": "the pieces that the starter weights know",
        },
    )
    chat_template: str | A = key(
        AUTO,
        "Chat template",
        choices=(
            *("chatml", "qwen2", "qwen2.5", "qwen3", "smollm2", "llama3", "llama3.1", "gemma", "mistral"),
            *("mistral-nemo", "plain"),
        ),
        help="Of instruction tuning: how questions and answers are written down for the model. Its own, where its folder "
        "brings one that is known here; plain headings where it has none.",
        group="data",
        affects="result",
        examples=("text",),
        tasks=tuple(one.id for one in tasks.all_tasks() if one.has_chats),
        before="plain",
        words={"plain": "plain headings"},
    )
    columns: Mapping[str, object] = key(
        {},
        "Columns",
        help='What a column is: "number", "category", "date" or "ignore"; of texts to tell apart, "text", and of '
        "instruction tuning the column of questions.",
    )
    max_broken_share: float = key(
        0.05,
        "Tolerate unreadable items up to",
        minimum=0.0,
        maximum=1.0,
        help="Unreadable items are left out and named. Above this share the run stops.",
        group="data",
    )


@dataclass(frozen=True)
class Training(Generic[A]):
    """How it learns."""

    framework: str | A = key(
        AUTO, "Framework", choices=frameworks.IDS, words={one.id: one.title for one in frameworks.all_frameworks()}
    )
    precision: Literal["bfloat16", "float32"] | A = key(
        AUTO,
        "Precision",
        help="The number format. bfloat16 halves the memory of what layers pass on; weights and optimizer stay float32.",
    )
    epochs: float | None = key(
        None,
        "Epochs",
        minimum=0.0,
        above=True,
        maximum=100_000,
        unit="passes",
        help="Passes through the data.",
        group="learning",
        affects="result",
    )
    steps: int | None = key(
        None,
        "Steps",
        minimum=1,
        maximum=1_000_000_000,
        help="How often the optimizer moves the weights.",
        group="learning",
        affects="result",
    )
    global_batch: int | A = key(
        AUTO, "Batch size", minimum=1, maximum=1_048_576, help="Examples per step, over all chips."
    )
    optimizer: Literal["adamw", "sgd"] = key(
        "adamw", "Optimizer", group="learning", words={"adamw": "AdamW", "sgd": "SGD"}
    )
    learning_rate: float | A = key(
        AUTO,
        "Learning rate",
        minimum=0.0,
        above=True,
        maximum=100.0,
        help="How far the weights move at each step.",
        affects="result",
    )
    schedule: Literal["cosine", "constant"] = key(
        "cosine",
        "Learning-rate schedule",
        help="How the learning rate changes over the run.",
        group="learning",
        affects="result",
        words={"cosine": "cosine decay", "constant": "constant"},
    )
    warmup: float | A = key(
        AUTO,
        "Warm-up",
        minimum=0.0,
        maximum=0.9,
        help="The learning rate grows from zero over this share of the steps.",
        group="learning",
        affects="result",
    )
    weight_decay: float | A = key(
        AUTO,
        "Weight decay",
        minimum=0.0,
        maximum=1.0,
        help="Pulls the weights towards small values.",
        group="learning",
    )
    clip_norm: float | A = key(
        AUTO,
        "Gradient clipping",
        minimum=0.0,
        maximum=1e6,
        help="The largest norm of a gradient. 0 switches it off.",
        group="learning",
    )
    label_smoothing: float | A = key(
        AUTO,
        "Label smoothing",
        minimum=0.0,
        maximum=0.5,
        help="Softens the answers: the model need not be entirely sure.",
        group="learning",
    )
    class_weights: Literal["balanced", "none"] | A = key(
        AUTO,
        "Class weights",
        help="Where some classes are rare: an error on one of these counts more, so that they are learned as well.",
        group="learning",
        before="none",
        words={"balanced": "rare classes count more", "none": "each example counts the same"},
    )
    mix: Literal["none", "mixup", "cutmix"] = key(
        "none",
        "Mixup or CutMix",
        help="Each picture is mixed with another of its batch, and its class as much: less is learned by heart. Training "
        "accuracy looks worse by it.",
        group="learning",
        examples=("picture",),
        before="none",
        words={
            "none": "no mixing",
            "mixup": "Mixup: one picture shines through the other",
            "cutmix": "CutMix: a rectangle of the other",
        },
    )
    accumulate: int = key(
        1,
        "Gradient accumulation steps",
        minimum=1,
        maximum=1024,
        help="A step's examples are worked through in this many parts, which saves memory.",
        group="learning",
    )
    freeze: Literal["head-first", "backbone", "none"] | A = key(
        AUTO,
        "Fine-tuning",
        help="What learns of a model with pretrained weights: the last layer alone is quick; all of it learns more.",
        group="learning",
        examples=("picture", "text"),
        before="none",
        words={
            "head-first": "the last layer first, then everything",
            "backbone": "the last layer alone",
            "none": "everything from the start",
        },
    )
    unfreeze_at: int | A = key(
        AUTO,
        "Unfreeze after",
        minimum=0,
        maximum=1_000_000_000,
        unit="steps",
        help="Where the last layer learns first: after so many steps the rest learns too, at a lower rate.",
        group="learning",
        examples=("picture", "text"),
        before=0,
    )
    on_nan: Literal["stop", "rollback"] = key(
        "stop",
        "If the loss becomes NaN",
        help="When it stops being a number: stop, or go back to the last good checkpoint with half the learning rate.",
        group="learning",
        affects="result",
        words={"stop": "Stop", "rollback": "Roll back, halve the learning rate"},
    )
    evaluate_every: int | A = key(
        AUTO,
        "Validate every",
        minimum=1,
        maximum=1_000_000_000,
        unit="steps",
        help="How often it is tested on unseen data.",
        group="saving",
        affects="result",
    )
    early_stopping: int = key(
        0,
        "Early stopping",
        minimum=0,
        maximum=1000,
        unit="checks",
        help="Stop after this many checks on unseen data without a better result. 0 switches it off.",
        group="saving",
        affects="result",
    )
    checkpoint_every: int | A = key(
        AUTO,
        "Save a checkpoint every",
        minimum=1,
        maximum=1_000_000_000,
        unit="steps",
        help="A copy of the training to resume from.",
        group="saving",
        affects="result",
    )
    steps_per_call: int | A = key(
        AUTO,
        "Steps per execution",
        minimum=1,
        maximum=10_000,
        help="How many steps the device takes at one call.",
        group="saving",
    )
    rematerialize: bool | A = key(
        AUTO,
        "Gradient checkpointing",
        help="Recompute instead of remember (rematerialization): less memory for a third more work.",
        group="saving",
        affects="work",
    )
    seed: int = key(
        0,
        "Random seed",
        minimum=0,
        maximum=2**31 - 1,
        help="Where the random numbers begin.",
        group="run",
        affects="result",
    )


@dataclass(frozen=True)
class Limits(Generic[A]):
    """When it stops, whatever happens."""

    hours: float | A = key(
        AUTO, "Stop after", minimum=0.0, above=True, maximum=MOST_HOURS, unit="hours", group="limits", affects="result"
    )
    money_usd: float | Auto = key(
        AUTO,
        "Spending limit",
        minimum=0.0,
        above=True,
        maximum=1_000_000,
        unit="$",
        group="limits",
        affects="result",
    )
    idle_minutes: float = key(
        15, "Stop when idle for", minimum=1, maximum=1440, unit="minutes", group="limits", affects="result"
    )
    wait_hours: float = key(
        4,
        "Wait for a TPU at most",
        minimum=0.0,
        maximum=MOST_HOURS - 1.0,
        unit="hours",
        group="limits",
        affects="result",
    )


@dataclass(frozen=True)
class Where(Generic[A]):
    """Where it runs."""

    place: str = key(places.IDS[0], "Where", choices=places.IDS, affects="machine")
    accelerator: str | A = key(AUTO, "Accelerator", affects="machine")
    tier: str = key(
        loans.usual().word, "Capacity type", choices=tuple(loan.word for loan in loans.LOANS), affects="result"
    )
    zones: Sequence[str] = key([], "Zones to try", help="They are asked in this order.", affects="result")
    backend: Literal["tpu-api", "compute-engine"] | None = key(
        None,
        "Lent by",
        help="The Cloud TPU API, where it lends that TPU. On Compute Engine TPU Studio rents single machines of v5p, "
        "v6e and TPU7x, which it deletes by itself at the time limit.",
        affects="machine",
    )
    project: str | None = key(None, "Google Cloud project", affects="result")
    usd_per_hour: float | None = key(
        None,
        "Simulated price",
        minimum=0.0,
        maximum=100_000,
        unit="$/hour",
        help="Rehearse the cost limit with a price you choose. On Google Cloud a lower price than the list's does nothing.",
        group="limits",
        affects="result",
    )


SCHEMAS: Mapping[str, type] = {"model": Model, "data": Data, "training": Training, "limits": Limits, "where": Where}
TABLES: tuple[str, ...] = tuple(SCHEMAS)
GROUPS = {
    "run": "The run",
    "data": "The data",
    "learning": "Learning",
    "saving": "Checking and saving",
    "limits": "Limits",
}
KEYS: tuple[Key, ...] = (
    *keys_of("", Top),
    *(one for table, schema in SCHEMAS.items() for one in keys_of(table, schema)),
)
BY_PATH: dict[str, Key] = {one.path: one for one in KEYS}


def work_values(values: Mapping[str, object]) -> dict[str, object]:
    """The *values* of a resolved job that a model's work for one example depends on, beside its options."""
    return _that_affect(("work",), values)


def step_values(values: Mapping[str, object], *, machine: bool = False) -> dict[str, object]:
    """The *values* of a resolved job that a step's time and memory may depend on; with *machine*, where it runs too."""
    return _that_affect(("work", "step", "machine") if machine else ("work", "step"), values)


def _that_affect(affected: tuple[Affects, ...], values: Mapping[str, object]) -> dict[str, object]:
    return {
        path: value
        for path, value in values.items()
        if BY_PATH[path].affects in affected and not _as_before(path, value)
    }


def _as_before(path: str, value: object) -> bool:
    before = BY_PATH[path].before
    return before is not None and value in (before, AUTO)


def concerns(key: Key, kind: object, task: str = "") -> bool:
    """Whether *key* means something for data of *kind*; any may while none is chosen. What was converted tells by *task*
    whether it was text."""
    known = kinds.find(kind)
    if key.tasks and task and task not in key.tasks:
        return False
    if not key.examples or known is None or (known.is_converted and not task):
        return True
    continues = bool(task) and tasks.by_id(task).has_tokens  # a text, for which there are no starter weights
    if known.is_converted or continues:
        return (key.examples == ("text",)) == continues
    return known.example in key.examples
