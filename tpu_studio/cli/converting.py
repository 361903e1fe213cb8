"""``convert``: a data set to sharded TFRecord files. Ctrl-C stops cleanly; the same command goes on from there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.job import Job, parse_setting, set_values

if TYPE_CHECKING:
    from tpu_studio.data.convert import ConvertProgress


def convert(arguments: Arguments, output: Output) -> int:
    from tpu_studio.cli.engine import cancelling
    from tpu_studio.data.convert import convert as convert_data
    from tpu_studio.data.watching import Cancelled
    from tpu_studio.domain import figures

    if arguments.processes < 1:
        raise BadInput("command-line", raw="--processes needs a number above 0", help="tpu-studio convert --help")
    job = _job(arguments.source, arguments.set)
    with cancelling() as cancelled:
        try:
            report = convert_data(
                job,
                arguments.destination,
                workers=arguments.processes,
                decoded=arguments.decoded,
                cancelled=cancelled,
                progress=lambda progress: _tell(output, progress),
            )
        except Cancelled:
            output.say("Stopped. What is written stays; the same command goes on from there.")
            return 130
    examples = ", ".join(f"{count:,} {name}" for name, count in report.examples.items())
    output.say(
        f"{examples} in {report.shards} files, {figures.size(report.bytes)}, {figures.duration(report.seconds)}."
    )
    if report.broken_count:
        left = "1 broken item was" if report.broken_count == 1 else f"{report.broken_count:,} broken items were"
        output.say(f"{left} left out and named in {report.path}/dataset.json.")
    output.answer(report.to_json(), report.path)
    return 0


def _job(source: Path, settings: list[str]) -> Job:
    """The job file, or a job for the bare data at *source*."""
    changes = dict(parse_setting(text) for text in settings)
    if source.suffix == ".tpujob":
        from tpu_studio.domain.jobfile import load

        job = load(source)
    else:
        from tpu_studio.data.guess import guess_job

        job = guess_job(source)
    return set_values(job, changes) if changes else job


def _tell(output: Output, progress: ConvertProgress) -> None:
    from tpu_studio.domain import figures

    if progress.phase == "looking" or not progress.shards:
        output.progress(None, "Looking at the data…")
        return
    share = (
        progress.bytes_done / progress.bytes_total if progress.bytes_total else progress.shards_done / progress.shards
    )
    output.progress(share, f"{progress.shards_done} of {progress.shards} files · {figures.size(progress.bytes_done)}")
