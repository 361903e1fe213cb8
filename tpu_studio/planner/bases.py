"""Whether a result of ours suits the model that is to begin from it, and the data that this learns from. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpu_studio.data.looked import Look
from tpu_studio.domain.sentences import say_finding
from tpu_studio.planner.auto import Resolved
from tpu_studio.wire import bases, tasks
from tpu_studio.wire.bases import Base
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.plan import Check
from tpu_studio.wire.records import inner, items

_SHOWN = 5


def checks(resolved: Resolved, base: Base, look: Look) -> Iterator[Check]:
    job = resolved.job
    facts: dict[str, object] = {"base": base.called, "model": base.title}
    if base.model != job.model.id:
        right = {"model.name": base.model, "model.preset": job.model.preset}
        yield _check("base-of-another-model", facts | {"name": base.model}, right)
        return
    reads = bases.reads(look.input_shape, look.kind, look.task)
    if reads != base.reads:
        yield _check("base-reads-other", facts | {"reads": base.reads, "wanted": reads})
    elif reads == "picture" and not base.takes(side := job.data.image_size):
        fix = {"data.image_size": AUTO} if "data.image_size" in resolved.asked.given else None
        id = "base-one-size" if base.only else "base-too-small-pictures"
        yield _check(id, facts | {"side": base.only or base.least, "given": side}, fix)
    elif reads == "row" and (lacking := _lacking(base, look)):
        yield _check("base-other-columns", facts | {"columns": lacking[:_SHOWN], "count": len(lacking)})
    else:
        facts |= _head(base, look)
        yield Check("base-taken-over", "info", say_finding("base-taken-over", facts).title, None, facts)


def _lacking(base: Base, look: Look) -> list[str]:
    """Columns that the result reads and *look* has not, or has as something else."""
    there = {column.name: column.kind for column in look.columns if not column.target}
    wanted = [inner(one) for one in items(base.data.get("columns"))]
    return [str(one.get("name")) for one in wanted if there.get(str(one.get("name"))) != one.get("kind")]


def _head(base: Base, look: Look) -> dict[str, object]:
    """Whether its last layer is taken over as well."""
    head = base.answers(look.task, look.target, tuple(name for name, _ in look.classes))
    return {"head": head, "tokens": tasks.by_id(look.task).has_tokens}


def _check(id: str, facts: Mapping[str, Any], fix: Mapping[str, object] | None = None) -> Check:
    return Check(id, "error", say_finding(id, facts).title, fix, facts)
