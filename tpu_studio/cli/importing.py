"""``import``: a run that comes from elsewhere, as a folder or a zip."""

from __future__ import annotations

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.studio import studio
from tpu_studio.wire.runfolder import has_plan
from tpu_studio.wire.visible import visible


def import_(arguments: Arguments, output: Output) -> int:
    with studio() as services:
        moving: list[str] = []
        try:
            brought = services.runs.import_folder(
                arguments.folder, output.progress, run=arguments.run, moving=moving.append
            )
        except KeyboardInterrupt:
            for name in (name for name in moving if has_plan(services.runs.runs_folder / name)):
                output.say(f"{name} had been taken in by then; tpu-studio delete {name} removes it.")
            raise
    output.say(f"{brought.run} was here already." if brought.already else f"{brought.run} is here now.")
    if brought.left_out:
        first, more = brought.left_out[:10], max(0, len(brought.left_out) - 10)
        named = ", ".join(visible(name) for name in first) + (f" and {more} more" if more else "")
        output.say(f"Left out, as no part of a run: {named}.")
    if brought.damaged:
        output.say(
            f"Its model is damaged: {visible(brought.damaged)} is not as the run wrote it, in what you gave, too."
        )
        output.say("  Its curves can be looked at. Import it again from a whole copy, and its model works.")
    told = {"run": brought.run, "already": brought.already, "left_out": list(brought.left_out)}
    output.answer({**told, "damaged": brought.damaged or None}, brought.run)
    return 0
