"""What the planner needs of a look at data: counts, sizes, words; and its findings as checks with their fixes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tpu_studio.data.looked import Finding, Look
from tpu_studio.domain import figures
from tpu_studio.domain.sentences import say_finding
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Check


@dataclass(frozen=True)
class DataFacts:
    """Attributes:
    kind: images, digits, table or text; for converted data, what it was converted from.
    task: An id of `wire.tasks`.
    train, validation: Examples to learn from and to check on; of text, tokens.
    inputs: Numbers that describe one row of a table, categories spread out; 0 for others.
    answers: Classes, or labels, or 1 for a number, or tokens of the vocabulary.
    side: Pixels of the shorter side of a typical picture; 0 for others.
    channels: Colours of a picture.
    class_least, class_most: Examples of the rarest class, and of the most frequent; 0 when there are no classes.
    sizes: Of texts to tell apart: what `data.sorting` counted of them.
    converted: The data is TFRecord of ours: its pictures have their size already.
    """

    kind: str
    task: str
    train: int
    validation: int
    inputs: int = 0
    answers: int = 1
    side: int = 0
    channels: int = 3
    class_least: int = 0
    class_most: int = 0
    converted: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def has_pictures(self) -> bool:
        return kinds.by_id(self.kind).has_pictures

    @property
    def noun(self) -> str:
        """Plural: "pictures"."""
        return figures.noun(self.kind, self.task)


def facts_of(look: Look, job: Job) -> DataFacts:
    known = kinds.by_id(look.kind)
    kind = look.kind if not known.is_converted else _converted_kind(look)
    example = kinds.by_id(kind)
    pictures = example.has_pictures
    train, validation = look.train, look.validation
    if tasks.by_id(look.task).has_tokens and (tokens := look.numbers.get("tokens")):
        validation = round(tokens * job.data.validation)
        train = tokens - validation
    return DataFacts(
        kind=kind,
        task=look.task,
        train=train,
        validation=validation,
        inputs=math.prod(look.input_shape) if example.has_rows else 0,
        answers=max(1, look.outputs),
        side=_side(look) if pictures else 0,
        channels=look.input_shape[2] if pictures and len(look.input_shape) == 3 else 1 if example.is_built_in else 3,
        class_least=min((count for _, count in look.classes), default=0),
        class_most=max((count for _, count in look.classes), default=0),
        converted=known.is_converted,
        sizes=look.numbers if "tokens_each" in look.numbers else {},
    )


def checks_of(look: Look, job: Job, image_size: int) -> Iterator[Check]:
    """The look's findings as checks, with the repair that one press can do.

    Args:
        image_size: What the plan brings pictures to; the look did not know for which model.
    """
    for finding in look.findings:
        facts = {**finding.facts, **({"image_size": image_size} if "image_size" in finding.facts else {})}
        yield Check(finding.id, finding.level, say_finding(finding.id, facts).title, _fix(finding, job), facts)


def _fix(finding: Finding, job: Job) -> Mapping[str, object] | None:
    """What to set so that the finding goes away, for findings that name a column or a share."""
    facts = finding.facts
    column = facts.get("column")
    if isinstance(column, str) and finding.id.startswith("leak-"):
        return {"data.columns": {**job.data.columns, column: "ignore"}}
    return None


def _converted_kind(look: Look) -> str:
    if tasks.by_id(look.task).has_tokens:
        return kinds.first(lambda kind: kind.has_text).id
    return kinds.first(lambda kind: kind.has_pictures if len(look.input_shape) == 3 else kind.has_rows).id


def _side(look: Look) -> int:
    if look.image_sizes is not None:
        return min(look.image_sizes.median_width, look.image_sizes.median_height)
    return int(look.input_shape[0]) if look.input_shape else 0
