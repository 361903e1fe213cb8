"""What a model can learn to do: how each task is called, what its answers are, and which metrics it leads with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tpu_studio.wire.metrics import all_metrics


@dataclass(frozen=True)
class Task:
    """One task, as ``data.task`` names it.

    Attributes:
        answers: ``classes`` (one of a few), ``labels`` (each by itself there or not), a ``number``, or the next
            ``tokens`` of a text.
        title: The field's term for it; *doing*: the same within a sentence.
        why: The plan's reason for choosing it.
        learned: The report's sentence; fields ``classes`` (how many) and ``target``.
        metrics: Ids of its metrics on unseen data and in training, the one that people look at first.
        loss: Id of the loss on unseen data that stands beside the training loss.
        quality: Ids of the curves of the second plot, the one on training data first where there is one.
        items: What its examples are called, where the kind of data says it too generally; "" else.
        of_any_tokens: Id of the metric that means the same however text is cut into tokens; "": they all do.
        has_chats: Its examples are questions with answers, each by itself, and the answers alone are learned.
    """

    id: str
    answers: Literal["classes", "labels", "number", "tokens"]
    title: str
    doing: str
    why: str
    learned: str
    metrics: tuple[str, ...]
    quality: tuple[str, ...]
    loss: str = "val_loss"
    items: str = ""
    of_any_tokens: str = ""
    has_chats: bool = False

    @property
    def has_classes(self) -> bool:
        return self.answers == "classes"

    @property
    def has_labels(self) -> bool:
        return self.answers == "labels"

    @property
    def has_names(self) -> bool:
        """Whether each number of an answer stands for something that has a name: a class, or a label."""
        return self.answers in ("classes", "labels")

    @property
    def has_number(self) -> bool:
        return self.answers == "number"

    @property
    def has_tokens(self) -> bool:
        return self.answers == "tokens"

    @property
    def continues(self) -> bool:
        """Whether a text is gone on with, of which any place may be the start."""
        return self.has_tokens and not self.has_chats

    @property
    def others(self) -> tuple[str, ...]:
        """Ids of what is shown beside them, of unseen data."""
        return tuple(metric.id for metric in all_metrics() if self.id in metric.beside)

    @property
    def metric(self) -> str:
        """Id of the metric on unseen data that people look at."""
        return self.metrics[0]


_TASKS = (
    Task(
        "classification",
        "classes",
        "Classification",
        "classification",
        "The answers are a few classes, so the model learns to tell them apart.",
        "Learned to tell {classes} classes apart.",
        ("val_accuracy", "accuracy", "val_loss", "loss"),
        ("accuracy", "val_accuracy"),
    ),
    Task(
        "regression",
        "number",
        "Regression",
        "regression",
        "The answers are numbers, so the model learns to estimate them.",
        "Learned to predict {target}.",
        ("val_r2", "val_mae", "val_loss", "loss"),
        ("val_r2",),
    ),
    Task(
        "language-model",
        "tokens",
        "Language modelling",
        "language modelling",
        "Plain text: the model learns to continue it.",
        "Learned to write like the text it was given.",
        ("val_nats_per_token", "val_loss", "loss"),
        ("loss", "val_nats_per_token"),
        loss="val_nats_per_token",
        of_any_tokens="val_bits_per_byte",
    ),
    Task(
        "instruction",
        "tokens",
        "Instruction tuning",
        "instruction tuning",
        "Each example has a question and its answer, so the model learns to answer as they do.",
        "Learned to answer like the examples it was given.",
        ("val_nats_per_token", "val_accuracy", "val_loss", "loss"),
        ("loss", "val_nats_per_token"),
        loss="val_nats_per_token",
        items="chats",
        of_any_tokens="val_bits_per_byte",
        has_chats=True,
    ),
    Task(
        "text-classification",
        "classes",
        "Text classification",
        "text classification",
        "Each text has its class, so the model learns to tell the classes apart.",
        "Learned to tell {classes} classes of text apart.",
        ("val_accuracy", "accuracy", "val_loss", "loss"),
        ("accuracy", "val_accuracy"),
        items="texts",
    ),
    Task(
        "multi-label",
        "labels",
        "Multi-label classification",
        "multi-label classification",
        "A table gives each picture its labels, of which it may have several, so each is learned as a yes or no.",
        "Learned to tell which of {classes} labels a picture has.",
        ("val_macro_f1", "val_loss", "loss"),
        ("val_macro_f1",),
    ),
)
_BY_ID = {task.id: task for task in _TASKS}
IDS = tuple(_BY_ID)


def all_tasks() -> tuple[Task, ...]:
    return _TASKS


def by_id(name: str) -> Task:
    """The task of that id.

    Raises:
        KeyError: no such task; a job and a plan that were read name only those that exist.
    """
    return _BY_ID[name]
