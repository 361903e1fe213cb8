"""What a run measures: each metric's names, which way is better, how it is read, and where it is drawn.

A metric point on disk carries nothing but an id and numbers (``wire.events``); whatever else window, command line,
report and notebook need to know of it stands here, once. Which of them a task leads with: ``wire.tasks``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Unit = Literal["share", "score", "nats", "number"]
MOST_NATS = 50.0  # e to more than that says no more


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        title: The field's term, which heads a curve and stands before a figure: "Accuracy".
        row: The same within a line: "accuracy".
        label: What a big figure of it is called; *report*: the same in the report.
        unit: ``share`` reads as percent; ``score`` is at most 1 (1 is perfect); ``nats`` are natural logarithms of a
            perplexity; ``number`` is as it is.
        better: Which way is better.
        unseen: Measured on unseen data, at checks, rather than at each step of training.
        course: Tells how training goes, not how good the model is.
        noisy: It jumps from step to step, so that a curve of it is smoothed.
        beside: Tasks that show it on unseen data, beside their own.
        headline: Stands in the one line that tells how far a run is.
        said: Beside the metric that people look at, with *row* and ``value``; *means* explains it, with ``target``.
        context: What a figure of it means, in a line.
    """

    id: str
    title: str
    row: str
    label: str
    unit: Unit = "number"
    better: Literal["higher", "lower"] = "lower"
    unseen: bool = False
    course: bool = False
    noisy: bool = True
    beside: tuple[str, ...] = ()
    headline: bool = False
    context: str = ""
    report: str = ""
    said: str = "{row} {value}"
    means: str = ""

    @property
    def percent(self) -> bool:
        return self.unit == "share"

    @property
    def top(self) -> float | None:
        """What it can be at most; None: there is no such figure."""
        return 1.0 if self.unit in ("share", "score") else None

    @property
    def best(self) -> str:
        """Of unseen data, within a line: "validation accuracy"."""
        return f"validation {self.row}" if self.unseen and not self.row.startswith("validation") else self.row

    @property
    def sided(self) -> str:
        """Where those of training and of unseen data stand side by side: "Loss (validation)"."""
        return self.title if self.course else f"{self.title} ({'validation' if self.unseen else 'training'})"

    def may_be(self, value: float) -> bool:
        """Whether *value* is a figure of it: a share is none beyond 0 and 1, as damaged events tell."""
        low = 0.0 if self.percent else -math.inf
        return is_figure(value) and low <= value <= (math.inf if self.top is None else self.top + _ROUNDING)

    def beats(self, new: float, old: float) -> bool:
        """Whether *new* is better than *old*."""
        return new > old if self.better == "higher" else new < old


# In the order in which a table of them has its columns.
_METRICS = (
    Metric("loss", "Loss", "loss", "Loss", headline=True),
    Metric("val_loss", "Loss", "validation loss", "Validation loss", unseen=True, headline=True),
    Metric("accuracy", "Accuracy", "accuracy", "Training accuracy", "share", "higher"),
    Metric(
        "val_accuracy",
        "Accuracy",
        "accuracy",
        "Validation accuracy",
        "share",
        "higher",
        unseen=True,
        headline=True,
        report="Validation accuracy",
    ),
    Metric(
        "val_macro_f1",
        "Macro F1",
        "macro F1",
        "Macro F1 (validation)",
        "score",
        "higher",
        unseen=True,
        headline=True,
        context="1 is perfect: the mean over the labels, each said from 50 % on",
        report="Validation macro F1",
    ),
    Metric(
        "val_r2",
        "R²",
        "R²",
        "R² (validation)",
        "score",
        "higher",
        unseen=True,
        headline=True,
        context="1 is perfect, 0 is guessing the mean",
        report="Validation R²",
    ),
    Metric(
        "val_mae",
        "Typical error",
        "mean error",
        "Typical error",
        unseen=True,
        beside=("regression",),
        context="mean absolute error, in the column's own unit",
        report="Typical error",
        said="typical error ±{value}",
        means="Mean absolute error: by how much its answers miss {target} on unseen rows, on average, in the unit of "
        "{target}.",
    ),
    Metric(
        "val_nats_per_token",
        "Perplexity",
        "perplexity",
        "Perplexity",
        "nats",
        unseen=True,
        headline=True,
        report="Validation loss (nats a token)",
    ),
    Metric(
        "val_bits_per_byte",
        "Bits per byte",
        "bits per byte",
        "Bits per byte",
        unseen=True,
        beside=("language-model", "instruction"),
        context="comparable however the text is cut into tokens",
        report="Bits per byte",
        means="How many bits each byte of unseen text takes, on average, when the model foretells it. It means the "
        "same whatever tokens the text is cut into, which perplexity doesn't.",
    ),
    Metric("learning_rate", "Learning rate", "learning rate", "Learning rate", course=True, noisy=False),
    Metric("grad_norm", "Gradient norm", "gradient norm", "Gradient norm", course=True),
)
_BY_ID = {metric.id: metric for metric in _METRICS}


def training_loss() -> Metric:
    """What every run makes smaller, at each step."""
    return _METRICS[0]


def learning_rate() -> Metric:
    """What each step of training was made with."""
    return next(metric for metric in _METRICS if not metric.noisy)


_ROUNDING = 1e-6  # of a mean in 32 bits
LARGEST = 1e100
"""In size: whoever adds, squares or draws figures up to here overflows nowhere. No training that learns is beyond."""


def is_figure(value: float) -> bool:
    """Whether *value* can be ranked, averaged and drawn: a number, with an end, and none of a run that diverged."""
    return -LARGEST <= value <= LARGEST


def all_metrics() -> tuple[Metric, ...]:
    return _METRICS


def by_id(name: str) -> Metric:
    """The metric of that id; of one that a newer version or a model of one's own reports, what its name tells."""
    if (metric := _BY_ID.get(name)) is not None:
        return metric
    words = name.removeprefix("val_").replace("_", " ")
    share = name.endswith("accuracy")
    score = name.endswith("r2")
    unit: Unit = "share" if share else "score" if score else "number"
    better: Literal["higher", "lower"] = "higher" if share or score else "lower"
    return Metric(name, words[:1].upper() + words[1:], words, words, unit, better, unseen=name.startswith("val_"))


def is_known(name: str) -> bool:
    """Whether this version has words of its own for it."""
    return name in _BY_ID


def rank(name: str) -> tuple[int, str]:
    """Sorts ids as a table of them has its columns; unknown ones last, by name."""
    metric = _BY_ID.get(name)
    return (_METRICS.index(metric) if metric else len(_METRICS), name)


def perplexity(nats: float) -> float:
    """Between how many tokens a model hesitates that loses *nats* a token."""
    return math.exp(min(nats, MOST_NATS))
