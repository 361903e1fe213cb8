"""``export``: the result of a run as a folder, the run as one page or one zip, or its model in another format."""

from __future__ import annotations

from dataclasses import asdict

from tpu_studio.cli import paging
from tpu_studio.cli.keeping import tell_only_reading
from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.studio import studio
from tpu_studio.cli.trusting import of_run
from tpu_studio.domain import figures
from tpu_studio.wire import exports, places
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.runfolder import has_plan


def export(arguments: Arguments, output: Output) -> int:
    if paging.is_asked_for(arguments):
        if arguments.folder is not None:
            help = "tpu-studio export --help"
            raise BadInput("command-line", raw="one file goes to --to FILE, not to a DIR", help=help)
        saves = {"page": _save_page, "zip": _save_run}.get(arguments.form, _save_model)
        return saves(arguments, output)
    if arguments.folder is None:
        raise BadInput(
            "command-line",
            raw="which folder? Or: --as zip --to FILE (the whole run), --as page --to FILE",
            help="tpu-studio export --help",
        )
    with studio() as services:
        folder = services.reading.export(arguments.run, arguments.folder, output.progress)
        run = services.reading.folder(arguments.run, damaged=True)
        tell_only_reading(services, output)
    output.say(f"{run.name} is exported: its model and its curves are there.")
    if not has_plan(run):
        output.say("The run's own plan.json is missing, so nothing else can be done with it here.")
    output.answer({"run": run.name, "folder": str(folder)}, str(folder))
    return 0


def _save_page(arguments: Arguments, output: Output) -> int:
    """Raises BadInput; RunError ``page-run-goes-on``, ``page-exists`` and of runs that cannot be read."""
    from tpu_studio.viewmodels.onepage.page import page_of

    with studio() as services:
        page = page_of(services.reading, arguments.run)
        tell_only_reading(services, output)
    told = paging.save_page(page, arguments, output)
    output.answer({"run": page.run, **told}, str(told["file"]))
    return 0


def _save_run(arguments: Arguments, output: Output) -> int:
    """Raises RunError: of `Runs.pack`, and of runs that cannot be found."""
    with studio() as services:
        packed = services.reading.pack(arguments.run, arguments.to, output.progress, replace=arguments.force)
        run = services.reading.folder(arguments.run).name
        tell_only_reading(services, output)
    output.say(
        f"{run}: saved whole as a zip ({figures.size(packed.bytes)}): plan, curves, checkpoints, model and report."
    )
    output.say(f"Elsewhere: tpu-studio import {packed.file.name}, or drop it on the window.")
    output.say(
        "Left out: your data, but for what the plan shows of it: first rows or texts, some values, names of classes."
    )
    output.say("The plan also names where the data is on this computer.")
    output.answer({"run": run, "file": str(packed.file), "bytes": packed.bytes}, str(packed.file))
    return 0


def _save_model(arguments: Arguments, output: Output) -> int:
    """Raises ModelError; RunError ``result-…`` and ``export-…``; NotReady without an engine."""
    from tpu_studio.domain.sentences.result import checked_words
    from tpu_studio.local import formats
    from tpu_studio.local.engine import packages_for

    form = exports.by_id(arguments.form)
    with studio() as services:
        folder, plan = services.reading.folder(arguments.run), services.reading.plan(arguments.run)
        if form.runs_own_code:
            of_run(services, arguments.run, output, trusted=arguments.trust_code, place=places.default().id)
        consent = plan.consent if plan.consent and services.consents.agreed(plan.consent) else ""
        output.progress(None, "Writing it, and checking it against Keras…", now=True)
        python, packages = services.engine.python(), packages_for(services.engine.root, form)
        written = formats.write(
            python, folder, form, arguments.to, replace=arguments.force, consent=consent, packages=packages
        )
        tell_only_reading(services, output)
    output.say(f"{folder.name}: saved as {form.title} ({figures.size(written.bytes)}).")
    output.say(checked_words(written.checked, written.count, written.difference))
    if form.note:
        output.say(form.note)
    told = {**asdict(written), "file": str(written.file)}
    output.answer({"run": folder.name, **told}, str(written.file))
    return 0
