"""``run --on colab``: the plan, how free TPUs work and end, the notebook, and the run that waits for its zip."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.studio import Studio
from tpu_studio.wire.plan import Plan


def write(services: Studio, made: Plan, arguments: Arguments, output: Output) -> int:
    """Exit code 0 when run and notebook are there. Raises as `cloud.colab.write`; no run is left then."""
    from tpu_studio.cli.planning import as_text
    from tpu_studio.cli.running import result
    from tpu_studio.cloud import colab
    from tpu_studio.domain import figures
    from tpu_studio.domain.sentences import colab as words
    from tpu_studio.workflow.notebooks import launched

    output.say(as_text(made))
    output.progress(None, "Writing the notebook…")

    def wanted(run: str) -> Path:
        return arguments.notebook or Path(arguments.job).with_name(f"{run}.ipynb")

    run, written = launched(services.runs, made, lambda plan: colab.write(plan, wanted(plan.run)))
    output.say(f"{run} waits for its result. Its notebook: {written.notebook} ({figures.size(written.bytes)})")
    if written.data is not None:
        output.say(f"  Its data does not fit into a notebook: {written.data} ({figures.size(written.data_bytes)})")
    data = written.data.name if written.data is not None else ""
    for number, step in enumerate(words.steps(written.notebook.name, data), 1):
        output.say(f"  {number}. {step}")
    output.say("How free TPUs work and end:")
    for line in words.LIMITS:
        output.say(f"  {line}")
    if arguments.open and not webbrowser.open(colab.OPEN_URL):
        output.say(f"No browser could be opened; the address is {colab.OPEN_URL}")
    told = {"notebook": str(written.notebook), "data": str(written.data) if written.data is not None else None}
    output.answer({**result(services, run), **told}, run)
    return 0
