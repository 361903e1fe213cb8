"""``import``: a run that comes from elsewhere, as a folder or a zip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.studio import studio
from tpu_studio.domain.sentences import say
from tpu_studio.domain.sentences.importing import where_they_differ
from tpu_studio.domain.sentences.sentence import Facts
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.runfolder import has_plan
from tpu_studio.wire.visible import one_line

if TYPE_CHECKING:
    from tpu_studio.workflow.bringing import Imported
    from tpu_studio.workflow.runs import Runs


def import_(arguments: Arguments, output: Output) -> int:
    with studio() as services:
        moving: list[str] = []
        try:
            brought = _bring(services.runs, arguments, output, moving)
        except KeyboardInterrupt:
            for name in (name for name in moving if has_plan(services.runs.runs_folder / name)):
                output.say(f"{name} had been taken in by then; tpu-studio delete {name} removes it.")
            raise
    _tell(brought, output)
    told = {"run": brought.run, "already": brought.already, "left_out": list(brought.left_out)}
    told |= {"damaged": brought.damaged or None, "replaced": brought.replaced or None}
    output.answer(told, brought.run)
    return 0


def _bring(runs: Runs, arguments: Arguments, output: Output, moving: list[str]) -> Imported:
    """Asks before a copy takes the place of the run that is here. Raises RunError."""

    def bring(replace: bool) -> Imported:
        return runs.import_folder(
            arguments.folder, output.progress, run=arguments.run, replace=replace, moving=moving.append
        )

    try:
        return bring(arguments.replace)
    except RunError as error:
        if error.id not in ("import-differs", "zip-other-course"):
            raise
        said = say(error)
        if not output.ask(f"{said.title}. {said.meaning}\nTake the copy instead? The run here goes to the trash."):
            raise
    return bring(True)


def _tell(brought: Imported, output: Output) -> None:
    if brought.behind is not None:
        output.say(
            f"{brought.run} was here already, and holds more. {where_they_differ(Facts(brought.behind.facts()))}"
        )
    else:
        output.say(f"{brought.run} was here already." if brought.already else f"{brought.run} is here now.")
    if name := brought.replaced:
        output.say(f"The one that was here is in the trash as {name}. Restore it: tpu-studio delete --undo {name}")
    if brought.left_out:
        first, more = brought.left_out[:10], max(0, len(brought.left_out) - 10)
        named = ", ".join(one_line(name) for name in first) + (f" and {more} more" if more else "")
        output.say(f"Left out, as no part of a run: {named}.")
    if brought.damaged:
        output.say(
            f"Its model is damaged: {one_line(brought.damaged)} is not as the run wrote it, in what you gave, too."
        )
        output.say("  Its curves can be looked at. Import it again from a whole copy, and its model works.")
