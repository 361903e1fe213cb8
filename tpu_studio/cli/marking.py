"""What a person notes about a run: ``rename tag note star``. It stays on this computer."""

from __future__ import annotations

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.studio import Studio, studio
from tpu_studio.wire.visible import visible


def tell_unread(services: Studio, output: Output) -> None:
    """Say so when what was noted of the runs cannot be read."""
    from tpu_studio.workflow import marks

    if (problem := marks.problem(services.home)) is not None:
        from tpu_studio.domain.sentences import say

        output.say(str(say(problem)))


def rename(arguments: Arguments, output: Output) -> int:
    with studio() as services:
        tell_unread(services, output)
        name = services.runs.rename(arguments.run, arguments.name)
        run_id = services.runs.folder(arguments.run).name
    output.say(f"{run_id} is shown as “{visible(name)}”.")
    output.answer({"run": run_id, "name": name})
    return 0


def tag(arguments: Arguments, output: Output) -> int:
    with studio() as services:
        tell_unread(services, output)
        run_id = services.reading.folder(arguments.run).name
        if arguments.tags or arguments.remove:
            services.runs.tag(arguments.run, arguments.tags, arguments.remove)
        mark = services.reading.summary(run_id).mark
    output.answer({"run": run_id, "tags": list(mark.tags)}, f"{run_id}: {', '.join(mark.tags) or 'no tags'}")
    return 0


def note(arguments: Arguments, output: Output) -> int:
    with studio() as services:
        tell_unread(services, output)
        run_id = services.reading.folder(arguments.run).name
        if arguments.text is None:
            text = services.reading.summary(run_id).mark.note
            output.answer({"run": run_id, "note": text}, text or "No note.")
            return 0
        before, mark = services.runs.note(arguments.run, arguments.text)
    if before.note and before.note != mark.note:
        output.say(f"Before, its note was: {before.note}")
    output.answer({"run": run_id, "note": mark.note, "before": before.note}, mark.note or "No note.")
    return 0


def star(arguments: Arguments, output: Output) -> int:
    with studio() as services:
        tell_unread(services, output)
        _, mark = services.runs.star(arguments.run, not arguments.off)
        run_id = services.runs.folder(arguments.run).name
    output.answer({"run": run_id, "star": mark.star}, f"{run_id} has {'a' if mark.star else 'no'} star.")
    return 0
