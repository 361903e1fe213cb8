"""Which data of this computer a rented run takes along. Pure."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.wire import places
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import whole
from tpu_studio.wire.visible import one_line


def data_path(plan: Plan) -> str:
    """Whole; "" where it comes with the program."""
    return one_line(str(plan.job.data.path or ""))


def data_words(plan: Plan) -> str:
    """`2,062 pictures, 4.2 MB: copied to your bucket.`"""
    count, size = whole(plan.data.get("examples")), whole(plan.data.get("bytes_on_disk"))
    told = [f"{count:,} {figures.noun(plan.job.data.kind, plan.task)}"] if count else []
    told += [figures.size(size)] if size else []
    bucket = "the practice bucket" if places.by_id(plan.place).rehearses else "your bucket"
    copied = f"copied to {bucket}."
    return f"{', '.join(told)}: {copied}" if told else copied.capitalize()
