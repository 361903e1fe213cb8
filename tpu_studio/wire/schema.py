"""The schema of a job as plain data: what makes the parser, the form on screen, the reference page and the tests.

``KEYS`` holds one `Key` for each key of a job file, in the order a person meets them. Nothing here reads a file;
``wire.job`` checks values against it and ``domain.jobfile`` adds the lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tpu_studio.wire import frameworks, kinds, loans, places, tasks
from tpu_studio.wire.kinds import Example
from tpu_studio.wire.stops import MOST_HOURS

AUTO = "auto"
Affects = Literal["step", "machine", "result"]
Kind = Literal["text", "integer", "number", "boolean", "choice", "table", "list", "path"]


@dataclass(frozen=True)
class Key:
    """One key of a job file.

    Attributes:
        table: Table it stands in; "" for the top of the file.
        kind: What its value is. A ``choice`` is one of *choices*; ``list`` is a list of texts.
        default: Value when absent; None where it has none (absent and required, or absent means "not set").
        auto: Whether "auto" is a value (the plan resolves it and says why).
        minimum, maximum: Inclusive bounds of a number; *above* makes the lower bound exclusive.
        group: Of the form's further settings in which it stands (`GROUPS`); "" for none.
        affects: What it changes: the program of a ``step`` (its time, its memory), the ``machine`` that the step runs
            on, or the ``result`` only: which run it is, how long, how well it learns.
        example: The kind of example it is about; None: any.
        words: What its choices are called.
        title, help: Plain words for the screen; *term* is the field's word for it, *unit* stands in the field.
    """

    table: str
    name: str
    kind: Kind
    default: Any = None
    auto: bool = False
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: bool = False
    title: str = ""
    term: str = ""
    unit: str = ""
    help: str = ""
    group: str = ""
    affects: Affects = "step"
    example: Example | None = None
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"{self.table}.{self.name}" if self.table else self.name


KEYS: tuple[Key, ...] = (
    Key("", "format", "integer", 1, minimum=1, maximum=1, title="File format", affects="result"),
    Key(
        "",
        "name",
        "text",
        "run",
        title="Name",
        help="What you call the run. Its folder is named after it.",
        group="run",
        affects="result",
    ),
    Key("model", "name", "text", None, title="Model", help="A model that comes with TPU Studio."),
    Key(
        "model",
        "file",
        "path",
        None,
        title="Your own model",
        help="A Python file with build_model(job) that returns a keras.Model. It runs only after you agree.",
    ),
    Key("model", "options", "table", {}, title="Model options", help="Sizes of the model; each model has its own."),
    Key("data", "kind", "choice", None, choices=kinds.IDS, title="Kind of data"),
    Key("data", "path", "path", None, title="Where the data is", help="A folder or a file on this computer."),
    Key("data", "target", "text", None, title="What to predict", term="target column"),
    Key(
        "data",
        "task",
        "choice",
        AUTO,
        auto=True,
        choices=tasks.IDS,
        title="What to learn",
        term="task",
        group="data",
        words={one.id: one.does for one in tasks.all_tasks()},
    ),
    Key(
        "data",
        "validation",
        "number",
        0.2,
        minimum=0.01,
        maximum=0.9,
        title="Kept aside for testing",
        term="validation share",
        help="This share of the data is never trained on; it shows how well the model does on unseen data.",
        group="data",
    ),
    Key(
        "data",
        "image_size",
        "integer",
        AUTO,
        auto=True,
        minimum=8,
        maximum=1024,
        title="Picture size",
        unit="pixels",
        help="Pictures are scaled to this many pixels on each side.",
        group="data",
        example="picture",
    ),
    Key(
        "data",
        "augment",
        "boolean",
        AUTO,
        auto=True,
        title="Vary the pictures a little",
        term="augmentation",
        help="Small random shifts, turns and changes of light make more of few pictures.",
        group="data",
        example="picture",
    ),
    Key(
        "data",
        "sequence_length",
        "integer",
        AUTO,
        auto=True,
        minimum=8,
        maximum=8192,
        title="Text the model sees at once",
        term="context length",
        unit="tokens",
        group="data",
        example="text",
    ),
    Key(
        "data",
        "tokenizer",
        "choice",
        AUTO,
        auto=True,
        choices=("bytes",),
        title="How text is cut up",
        term="tokenizer",
        group="data",
        example="text",
        words={"bytes": "letter by letter (bytes)"},
    ),
    Key(
        "data",
        "columns",
        "table",
        {},
        title="Columns",
        help='What a column is: "number", "category", "date" or "ignore".',
    ),
    Key(
        "data",
        "max_broken_share",
        "number",
        0.05,
        minimum=0.0,
        maximum=1.0,
        title="Broken items to put up with",
        help="Broken pictures or rows are left out and named. Above this share the run stops.",
        group="data",
    ),
    Key(
        "training",
        "framework",
        "choice",
        AUTO,
        auto=True,
        choices=frameworks.IDS,
        title="Framework",
        words={one.id: one.title for one in frameworks.all_frameworks()},
    ),
    Key(
        "training",
        "precision",
        "choice",
        AUTO,
        auto=True,
        choices=("bfloat16", "float32"),
        title="Number format",
        term="precision",
        help="bfloat16 halves the memory; the weights and sums that need it stay float32.",
    ),
    Key(
        "training",
        "epochs",
        "number",
        None,
        minimum=0.0,
        above=True,
        maximum=100_000,
        title="Times through the data",
        term="epochs",
        unit="epochs",
        group="learning",
        affects="result",
    ),
    Key(
        "training",
        "steps",
        "integer",
        None,
        minimum=1,
        maximum=1_000_000_000,
        title="Steps",
        term="optimizer steps",
        unit="steps",
        group="learning",
        affects="result",
    ),
    Key(
        "training",
        "global_batch",
        "integer",
        AUTO,
        auto=True,
        minimum=1,
        maximum=1_048_576,
        title="Examples per step",
        term="batch size",
        unit="batch size",
    ),
    Key(
        "training",
        "optimizer",
        "choice",
        "adamw",
        choices=("adamw", "sgd"),
        title="Optimizer",
        group="learning",
        words={"adamw": "AdamW", "sgd": "SGD"},
    ),
    Key(
        "training",
        "learning_rate",
        "number",
        AUTO,
        auto=True,
        minimum=0.0,
        above=True,
        maximum=100.0,
        title="Learning rate",
        help="How big each correction is.",
        affects="result",
    ),
    Key(
        "training",
        "schedule",
        "choice",
        "cosine",
        choices=("cosine", "constant"),
        title="Learning rate over time",
        term="schedule",
        group="learning",
        affects="result",
        words={"cosine": "falling like a cosine", "constant": "always the same"},
    ),
    Key(
        "training",
        "warmup",
        "number",
        AUTO,
        auto=True,
        minimum=0.0,
        maximum=0.9,
        title="Gentle start",
        term="warm-up share",
        help="The learning rate grows from zero over this share of the steps.",
        group="learning",
        affects="result",
    ),
    Key(
        "training",
        "weight_decay",
        "number",
        AUTO,
        auto=True,
        minimum=0.0,
        maximum=1.0,
        title="Pull towards small weights",
        term="weight decay",
        group="learning",
    ),
    Key(
        "training",
        "clip_norm",
        "number",
        AUTO,
        auto=True,
        minimum=0.0,
        maximum=1e6,
        title="Largest correction",
        term="gradient clipping",
        help="0 switches it off.",
        group="learning",
    ),
    Key(
        "training",
        "label_smoothing",
        "number",
        AUTO,
        auto=True,
        minimum=0.0,
        maximum=0.5,
        title="Soften the answers",
        term="label smoothing",
        group="learning",
    ),
    Key(
        "training",
        "accumulate",
        "integer",
        1,
        minimum=1,
        maximum=1024,
        title="Parts per step",
        term="gradient accumulation",
        help="A step's examples are worked through in this many parts, which saves memory.",
        group="learning",
    ),
    Key(
        "training",
        "on_nan",
        "choice",
        "stop",
        choices=("stop", "rollback"),
        title="When the loss stops being a number",
        help="Stop, or go back to the last good copy with half the learning rate.",
        group="learning",
        affects="result",
        words={"stop": "Stop", "rollback": "Go back, halve the rate"},
    ),
    Key(
        "training",
        "evaluate_every",
        "integer",
        AUTO,
        auto=True,
        minimum=1,
        title="Check on unseen data every",
        unit="steps",
        group="saving",
        affects="result",
    ),
    Key(
        "training",
        "early_stopping",
        "integer",
        0,
        minimum=0,
        maximum=1000,
        title="Stop early when it no longer improves",
        term="early stopping",
        unit="checks",
        help="After this many checks on unseen data without a better result. 0 switches it off.",
        group="saving",
        affects="result",
    ),
    Key(
        "training",
        "checkpoint_every",
        "integer",
        AUTO,
        auto=True,
        minimum=1,
        title="Save a copy every",
        unit="steps",
        group="saving",
        affects="result",
    ),
    Key(
        "training",
        "steps_per_call",
        "integer",
        AUTO,
        auto=True,
        minimum=1,
        maximum=10_000,
        title="Steps per call of the device",
        group="saving",
    ),
    Key(
        "training",
        "rematerialize",
        "boolean",
        AUTO,
        auto=True,
        title="Recompute instead of remember",
        term="rematerialisation",
        help="Less memory for a third more work.",
        group="saving",
    ),
    Key(
        "training",
        "seed",
        "integer",
        0,
        minimum=0,
        maximum=2**31 - 1,
        title="Seed of the random numbers",
        group="run",
        affects="result",
    ),
    Key(
        "limits",
        "hours",
        "number",
        AUTO,
        auto=True,
        minimum=0.0,
        above=True,
        maximum=MOST_HOURS,
        title="Stop after",
        unit="hours",
        group="limits",
        affects="result",
    ),
    Key(
        "limits",
        "money_usd",
        "number",
        AUTO,
        auto=True,
        minimum=0.0,
        above=True,
        maximum=1_000_000,
        title="Stop when it has cost",
        unit="$",
        group="limits",
        affects="result",
    ),
    Key(
        "limits",
        "idle_minutes",
        "number",
        15,
        minimum=1,
        maximum=1440,
        title="Stop when nothing happens for",
        unit="minutes",
        group="limits",
        affects="result",
    ),
    Key(
        "limits",
        "wait_hours",
        "number",
        4,
        minimum=0.0,
        maximum=MOST_HOURS - 1.0,
        title="Wait for a TPU at most",
        unit="hours",
        group="limits",
        affects="result",
    ),
    Key("where", "place", "choice", places.IDS[0], choices=places.IDS, title="Where", affects="machine"),
    Key("where", "accelerator", "text", AUTO, auto=True, title="Accelerator", affects="machine"),
    Key(
        "where",
        "tier",
        "choice",
        loans.usual().word,
        choices=tuple(loan.word for loan in loans.LOANS),
        title="Kind of loan",
        affects="result",
    ),
    Key("where", "zones", "list", [], title="Areas", term="zones", affects="result"),
    Key(
        "where",
        "backend",
        "choice",
        None,
        choices=("tpu-api", "compute-engine"),
        title="Lent by",
        help="The Cloud TPU API, where it lends that TPU. Compute Engine lends single machines of v5p, v6e and TPU7x, "
        "and deletes them by itself at the time limit.",
        affects="machine",
    ),
    Key("where", "project", "text", None, title="Google Cloud project", affects="result"),
    Key(
        "where",
        "usd_per_hour",
        "number",
        None,
        minimum=0.0,
        maximum=100_000,
        title="Pretended price",
        unit="$/hour",
        help="On this computer only: rehearse the cost limit with a price you choose.",
        group="limits",
        affects="result",
    ),
)

TABLES: tuple[str, ...] = ("model", "data", "training", "limits", "where")
GROUPS = {
    "run": "The run",
    "data": "The data",
    "learning": "Learning",
    "saving": "Checking and saving",
    "limits": "Limits",
}
BY_PATH: dict[str, Key] = {key.path: key for key in KEYS}


def step_values(values: Mapping[str, Any], *, machine: bool = False) -> dict[str, Any]:
    """The *values* of a resolved job that a step's time and memory may depend on; with *machine*, where it runs too."""
    kinds_of = ("step", "machine") if machine else ("step",)
    return {path: value for path, value in values.items() if BY_PATH[path].affects in kinds_of}


def concerns(key: Key, kind: object, task: str = "") -> bool:
    """Whether *key* means something for data of *kind*; any may while none is chosen. What was converted tells by *task*
    whether it was text."""
    known = kinds.find(kind)
    if key.example is None or known is None or (known.is_converted and not task):
        return True
    if known.is_converted:
        return (key.example == "text") == tasks.by_id(task).has_tokens
    return known.example == key.example
