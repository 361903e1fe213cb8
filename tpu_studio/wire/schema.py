"""The schema of a job as plain data: what makes the parser, the form on screen, the reference page and the tests.

``KEYS`` holds one `Key` for each key of a job file, in the order a person meets them. Nothing here reads a file;
``wire.job`` checks values against it and ``domain.jobfile`` adds the lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tpu_studio.wire.stops import MOST_HOURS

AUTO = "auto"
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

    @property
    def path(self) -> str:
        return f"{self.table}.{self.name}" if self.table else self.name


DATA_KINDS = ("images", "table", "text", "digits", "tfrecord")
TASKS = ("classification", "regression", "language-model")
FRAMEWORKS = ("tensorflow", "jax")
PLACES = ("computer", "practice", "cloud", "colab")

KEYS: tuple[Key, ...] = (
    Key("", "format", "integer", 1, minimum=1, maximum=1, title="File format"),
    Key("", "name", "text", "run", title="Name", help="What you call the run. Its folder is named after it."),
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
    Key("data", "kind", "choice", None, choices=DATA_KINDS, title="Kind of data"),
    Key("data", "path", "path", None, title="Where the data is", help="A folder or a file on this computer."),
    Key("data", "target", "text", None, title="What to predict", term="target column"),
    Key("data", "task", "choice", AUTO, auto=True, choices=TASKS, title="What to learn", term="task"),
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
    ),
    Key(
        "data", "tokenizer", "choice", AUTO, auto=True, choices=("bytes",), title="How text is cut up", term="tokenizer"
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
    ),
    Key("training", "framework", "choice", AUTO, auto=True, choices=FRAMEWORKS, title="Framework"),
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
        "accumulate",
        "integer",
        1,
        minimum=1,
        maximum=1024,
        title="Parts per step",
        term="gradient accumulation",
        help="A step's examples are worked through in this many parts, which saves memory.",
    ),
    Key("training", "optimizer", "choice", "adamw", choices=("adamw", "sgd"), title="Optimizer"),
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
    ),
    Key(
        "training",
        "schedule",
        "choice",
        "cosine",
        choices=("cosine", "constant"),
        title="Learning rate over time",
        term="schedule",
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
    ),
    Key("training", "checkpoint_every", "integer", AUTO, auto=True, minimum=1, title="Save a copy every", unit="steps"),
    Key(
        "training",
        "on_nan",
        "choice",
        "stop",
        choices=("stop", "rollback"),
        title="When the loss stops being a number",
        help="Stop, or go back to the last good copy with half the learning rate.",
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
    ),
    Key("training", "seed", "integer", 0, minimum=0, maximum=2**31 - 1, title="Seed of the random numbers"),
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
    ),
    Key("limits", "wait_hours", "number", 4, minimum=0.0, maximum=MOST_HOURS - 1.0, title="Wait for a TPU at most", unit="hours"),
    Key("where", "place", "choice", "computer", choices=PLACES, title="Where"),
    Key("where", "accelerator", "text", AUTO, auto=True, title="Accelerator"),
    Key("where", "tier", "choice", "on-demand", choices=("on-demand", "spot", "flex-start"), title="Kind of loan"),
    Key("where", "zones", "list", [], title="Areas", term="zones"),
    Key(
        "where",
        "backend",
        "choice",
        None,
        choices=("tpu-api", "compute-engine"),
        title="Lent by",
        help="The Cloud TPU API, where it lends that TPU. Compute Engine lends single machines of v5p, v6e and TPU7x, "
        "and deletes them by itself at the time limit.",
    ),
    Key("where", "project", "text", None, title="Google Cloud project"),
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
    ),
)

TABLES: tuple[str, ...] = ("model", "data", "training", "limits", "where")
BY_PATH: dict[str, Key] = {key.path: key for key in KEYS}
