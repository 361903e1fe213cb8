"""A yes to Python code of a person's own, asked for in a terminal or given with ``--trust-code``."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tpu_studio.cli.output import Output
from tpu_studio.cli.studio import Studio
from tpu_studio.wire import owncode
from tpu_studio.wire.runfolder import result_folder
from tpu_studio.wire.visible import one_line
from tpu_studio.workflow.consent import is_imported, place_kind

_OF_RUN = "own_model.py"  # in a run's result


def ask(path: Path, place: str, output: Output) -> bool:
    """Tell what the file may reach at *place* and how to agree; whether a person at a terminal says yes."""
    from tpu_studio.domain.sentences import consent as consentwords

    output.say(f"This job runs Python code of its own, {consentwords.where(place)}: {one_line(str(path))}")
    for words in consentwords.reach(place):
        output.say(f"  {words}")
    output.say("  Run it only if you know what is in it.")
    output.say("  To agree to it, add --trust-code.")
    return output.ask("Run it?")


def of_run(services: Studio, run: str, output: Output, *, trusted: bool, place: str = "") -> None:
    """Ask for the yes that a run's own file needs. Only bytes in the run's result, which a person can read, are agreed
    to; a rented run of somebody else's is not gone on with, and nothing is asked for that.

    Args:
        place: Where the file is to run; "": where the run runs.
    """
    plan, folder = services.reading.plan(run), services.reading.folder(run)
    where = place or plan.place
    if not plan.job.model.is_own or (where != place_kind() and is_imported(folder)):
        return
    path = result_folder(folder) / _OF_RUN
    try:
        source = owncode.read(path)
    except OSError:
        source = None
    sha256 = hashlib.sha256(source).hexdigest() if source is not None else ""
    if not sha256 or sha256 != plan.consent or services.consents.agreed(sha256, where):
        return
    if trusted or ask(path, where, output):
        services.consents.agree(sha256, str(path), where)
