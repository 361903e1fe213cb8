"""``plan``: from a job file to a plan with an estimate and checks; `prepare` is also how ``run`` gets its plan."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.cli.output import Output, check_absent
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.studio import Studio, studio
from tpu_studio.cli.trusting import ask
from tpu_studio.domain.renewed import catalogues
from tpu_studio.domain.sentences.bases import begins_from
from tpu_studio.wire import loans, places
from tpu_studio.wire.errors import BadInput, CloudRefused, CloudUnclear, NotReady, RunError, StudioError
from tpu_studio.wire.job import Job, parse_setting, set_values
from tpu_studio.wire.plan import Check, Plan, Range
from tpu_studio.wire.planparts import PlanLimits
from tpu_studio.workflow import ownfile
from tpu_studio.workflow.ownfile import OwnFile
from tpu_studio.workflow.planning import Bucket, Draft, Planning, Sources, plan_job, wants_count, wants_timing

if TYPE_CHECKING:
    from tpu_studio.data.looked import Look
    from tpu_studio.planner.timing import Timing

MEASURE_S = 4.0
_MARKS = {"ok": "✓", "info": "·", "warning": "!", "error": "✗"}


def plan(arguments: Arguments, output: Output) -> int:
    """Exit code 0; 1 when it does not fit into memory; 2 when a check of level error stands in the way."""
    from tpu_studio.planner.public import plan_to_public_json

    check_absent(arguments.report, force=arguments.force)
    with studio() as services:
        made = prepare(services, arguments, output, measure=not arguments.no_measure)
        if arguments.commands:
            commands = _commands(services, made)
            output.answer({"commands": commands}, commands.rstrip("\n"))
            return BadInput.exit_code if made.blocking else 0
    if arguments.report:
        _write_report(made, arguments.report)
        output.say(f"The plan as a page: {arguments.report}")
    output.answer(plan_to_public_json(made), as_text(made))
    if places.by_id(made.place).rents and not made.blocking and (next_step := account_words(made.place)):
        output.say(next_step)
    if made.blocking:
        return BadInput.exit_code
    return 0 if made.fits else 1


def account_words(place: str) -> str:
    """What the account still needs before *place* lends a TPU, by what this computer knows of it; "" when nothing."""
    from tpu_studio.places.known import cloud_known, practice_is_bare
    from tpu_studio.wire.homes import home_folder

    if places.by_id(place).rehearses:
        if not practice_is_bare(home_folder()):
            return ""
        return (
            "Next: set the practice account up. It is a new one, in which nothing can start yet. Run "
            "“tpu-studio doctor --on practice --project my-first-tpu --fix all”, or open the Account page."
        )
    known = cloud_known(home_folder())
    if not known.signed_in:
        return (
            "Next: sign in to Google. Nobody is signed in here, so this cannot start yet; planning needs no account. "
            "Run “tpu-studio doctor --use-gcloud --project ID --fix all”, or open the Account page."
        )
    if known.project and known.prepared:
        return ""
    return (
        f"Next: set the account up. {'It has no storage bucket' if known.project else 'No project is chosen'} yet. "
        f"Run “tpu-studio doctor --project {known.project or 'ID'} --fix all”, or open the Account page."
    )


def _commands(services: Studio, made: Plan) -> str:
    """Raises BadInput: the plan rents nothing; SignedOut, NotReady."""
    from tpu_studio.places.launching import launch_script
    from tpu_studio.workflow import desk

    if not places.by_id(made.place).rents:
        raise BadInput("commands-need-a-cloud", place=made.place)
    run = services.runs.new_id(made.job.name)
    return launch_script(made, run, services.driver.side(made), desk.install_id(services.home))


def _write_report(made: Plan, file: Path) -> None:
    """Raises BadInput ``plan-report-unwritable``."""
    from tpu_studio.planner.report.page import page
    from tpu_studio.wire.runfolder import write_atomically

    if file.suffix.lower() == ".pdf":
        from tpu_studio.local import planpdf

        planpdf.write(made, file)
        return
    try:
        write_atomically(file, page(made).encode())
    except OSError as error:
        raise BadInput("plan-report-unwritable", file=str(file), raw=error.strerror or str(error)) from error


def prepare(services: Studio, arguments: Arguments, output: Output, *, measure: bool, checked: bool = True) -> Plan:
    """The plan of the job file with ``--set`` and ``--on`` applied.

    Args:
        measure: Time a few real steps when the engine is ready; what was timed before is used in any case.
        checked: Use what `check` has found for this very plan before; False leaves the model to `check`.

    Raises:
        BadInput: the job, its data, its model or its place.
    """
    from tpu_studio.domain.jobfile import load

    job = load(arguments.job)
    changes = dict(parse_setting(text) for text in arguments.set)
    if arguments.on:
        changes["where.place"] = arguments.on
    if changes:
        job = set_values(job, changes)
    rents = places.by_id(job.where.place).rents
    if rents:
        from tpu_studio.places import renewing

        renewing.kept(job.where.place, services.home)
    if places.by_id(job.where.place).charges:
        from tpu_studio.places.pricing import refresh

        priced = refresh(services.home)
        if isinstance(priced.error, (CloudRefused, CloudUnclear)):
            from tpu_studio.domain.sentences import say

            why = say(priced.error).title
            output.say(f"Google's price list could not be read today: {why}. The plan says from when its prices are.")
    output.progress(None, "Looking at the data…")
    own = _own_file(services, job, trusted=arguments.trust_code, output=output)
    steps = _Steps(services, output, Draft(job, _look(job), own), asks_check=checked)
    planning = steps.plan(advise=False)
    if planning.plan.faults:
        return steps.plan().plan
    if checked and wants_count(steps.draft, planning.plan):
        steps.inspect(planning.plan)
        planning = steps.plan(advise=False)
    if measure:
        steps.measure(planning)
    return steps.plan().plan


class _Steps:
    """One job's way to its plan at a terminal: each step asks for more that is known."""

    def __init__(self, services: Studio, output: Output, draft: Draft, *, asks_check: bool) -> None:
        self.draft = draft
        self._services, self._output, self._asks_check = services, output, asks_check
        self._own_runs, self._now = services.own_runs(), time.time()
        self._picture_s: float | None = None
        self._seen: Mapping[str, object] | None = None

    def plan(self, *, advise: bool = True) -> Planning:
        """With all that is known by now."""
        from tpu_studio.workflow.desk import free_bytes

        sources = Sources(
            catalogues(),
            timing=self._timing,
            model=lambda plan: self._seen or self._services.stopwatch.counted(plan),
            picture_s=lambda plan: self._picture_s,
            checked=self._checked,
            bucket=self._bucket,
            own=self._own_runs,
            free_bytes=lambda: free_bytes(self._services.home),
        )
        return plan_job(self.draft, sources, self._now, advise=advise)

    def inspect(self, plan: Plan) -> None:
        """What the model is made of and what it works, as far as the engine can tell now."""
        self._output.progress(None, "Building the model…")
        try:
            self._seen = self._services.stopwatch.inspect(plan)
        except NotReady:
            return  # without an engine nothing is built; the launch itself says so
        except RunError as error:
            if error.id != "timing-failed" or not plan.job.model.is_own:
                raise
            self._seen = {"problem": "model-ended", "facts": {**error.facts, "file": str(plan.job.model.file)}}

    def measure(self, planning: Planning) -> None:
        """A few real steps, where they tell something; how quickly pictures are read, where a TPU may wait for them."""
        from tpu_studio.viewmodels.planpace import needs_pace, read_pace

        if needs_pace(planning.plan):
            self._output.progress(None, "Timing how quickly the pictures are read…")
            self._picture_s = read_pace(planning.plan)
        elif wants_timing(self.draft, planning):
            _time(self._services, planning.plan, self._output)

    def _timing(self, plan: Plan) -> Timing | None:
        from tpu_studio.planner.timing import Timing

        kept = self._services.stopwatch.known(plan)
        return Timing.from_json(kept) if kept else None

    def _checked(self, plan: Plan) -> Mapping[str, object] | None:
        """The TPU compiler's answer, when `check` has asked it before."""
        from tpu_studio.local.preflight import slice_of

        target = slice_of(plan)
        if not self._asks_check or target is None or plan.faults:
            return None
        kept = self._services.preflight.known(plan, target)
        return kept if kept and _says(kept) else None

    def _bucket(self, place: str) -> Bucket:
        from tpu_studio.places.known import bucket_known

        return Bucket(*bucket_known(place, self._services.home))


def _says(answer: Mapping[str, Any]) -> bool:
    """Whether a kept answer has something that the plan does not know by itself."""
    traced = answer.get("traced") or {}
    wrong = traced.get("problems") or any(one.get("level") == "error" for one in traced.get("operations") or ())
    return bool(wrong) or "fits" in (answer.get("compiled") or {})


def _look(job: Job) -> Look:
    from tpu_studio.data.look import look

    return look(job)


def _own_file(services: Studio, job: Job, *, trusted: bool, output: Output) -> OwnFile | None:
    """The job's own file, if it has one; ``--trust-code`` or a yes at the terminal lets it run, and is remembered."""
    if not job.model.is_own:
        return None
    path, place = Path(job.base or ".", os.path.expanduser(str(job.model.file))), job.where.place
    try:
        own = ownfile.read(path, services.consents)
    except OSError:
        return OwnFile(path, missing=True)
    if own.missing or place in own.agreed:
        return own
    if own.secret_line:
        from tpu_studio.domain.sentences import say_finding

        output.say(str(say_finding("model-file-secret", {"file": str(path), "line": own.secret_line})))
    return ownfile.agree(own, services.consents, place) if trusted or ask(path, place, output) else own


def _time(services: Studio, plan: Plan, output: Output) -> None:
    """A short timing, kept for plans of the same work; where none can be had, the estimate stays wide."""
    try:
        services.engine.python()
    except NotReady:
        output.say(
            "The training engine is not installed: the estimate is wide. Get it with: tpu-studio engine --install"
        )
        return
    output.progress(None, "Timing a few real steps…", now=True)
    try:
        services.stopwatch.time(plan, MEASURE_S)
    except BadInput:
        raise
    except StudioError as error:
        from tpu_studio.domain.sentences import say

        output.say(f"The steps could not be timed, so the estimate is wide: {say(error).title}.")


def note(check: Check) -> list[str]:
    """A check in lines; what stands in the way or is amiss also with what it means and what to do."""
    from tpu_studio.domain.sentences import say_check

    said = say_check(check.id, check.title, check.facts)
    more = [said.meaning, said.action] if check.level in ("error", "warning") else []
    if check.id.startswith("advice-"):
        more = [said.meaning, _fix_words(check) or said.action]
    elif check.fix:
        more.append(_fix_words(check))
    return [f"{_MARKS.get(check.level, '·')} {said.title}", *(f"    {line}" for line in more if line)]


def _fix_words(check: Check) -> str:
    """The fix as options of this command: `--set training.precision=bfloat16`."""
    import json

    def words(value: object) -> str:
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{name} = {words(one)}' for name, one in value.items())}}}"
        return json.dumps(value) if isinstance(value, (list, bool)) else str(value)

    return " ".join(f"--set {shlex.quote(f'{path}={words(value)}')}" for path, value in (check.fix or {}).items())


def as_text(made: Plan) -> str:
    """The plan as a person reads it."""
    from tpu_studio.cli.output import table
    from tpu_studio.domain import figures
    from tpu_studio.planner.broken import broken

    def between(found: Range | None, words: Any) -> str:
        return "not known" if found is None else f"{words(found.expected)}  ({words(found.low)} – {words(found.high)})"

    memory = made.memory
    need, there = memory.device_bytes, memory.limit_bytes
    price = made.price.usd_per_hour if made.price else None
    rents, free = places.by_id(made.place).rents, places.by_id(made.place).notebook
    cost = between(made.cost_usd, figures.money)
    if price:
        cost += " (practice dollars)" if places.by_id(made.place).rehearses else "" if rents else " (simulated)"
    batch = made.job.training.global_batch
    noun = figures.noun(made.job.data.kind, made.task)
    begins = begins_from(made.job.model.starts_from)
    rows = [
        ["Model", ", ".join(filter(None, (made.job.model.id, made.framework, runs_on(made), begins)))],
        ["Steps", f"{made.steps:,} of {batch:,} {noun}"],
        ["Time", between(made.time_s, figures.duration)],
        ["Speed", between(made.examples_per_s, lambda value: f"{figures.figure(value)} {noun} a second")],
        ["Memory", "not known" if not there else f"{figures.size(need)} of {figures.size(there)}"],
        ["Cost", cost if price or rents else f"nothing, it is {'a free TPU' if free else 'this computer'}"],
        [
            "Stops after",
            f"{figures.duration(made.limits.hours * 3600)}" if made.limits.hours else "never",
        ],
    ]
    if rents:
        rows += _rented_rows(made)
    if broken(made) is not None:
        rows = [row for row in rows if row[0] in ("Model", "Steps", "Memory")]
    if made.verdict:
        rows.append(["Worth it?", made.verdict.why])
    lines = [f"{made.job.name}", table(rows)]
    for check in made.checks:
        if check.level != "ok":
            lines += note(check)
    if not made.fits:
        lines.append(f"✗ It does not fit into the memory of {'this TPU' if rents or free else 'this computer'}.")
    return "\n".join(lines)


def runs_on(made: Plan) -> str:
    from tpu_studio.domain.catalogue import title_of

    return "on this computer" if places.by_id(made.place).local else title_of(made.accelerator)


def _worst_row(made: Plan) -> list[list[str]]:
    from tpu_studio.domain import figures
    from tpu_studio.planner.report.worst import worst_case
    from tpu_studio.viewmodels.review import lower_of

    worst = worst_case(made)
    if worst is None or (worst.usd is None and not worst.endless):
        return []
    if worst.usd is not None:
        hang = "if it hangs before training starts while this computer is off"
        told = [["At worst", f"{figures.money(worst.usd)}: {worst.made_of}, {hang}"]]
        for way in lower_of(made):
            amount = dict(way.changes).get(way.key)
            option = f"--set {way.key}={'…' if amount is None else format(amount, 'g')}"
            told.append(["", f"{way.words.rstrip('.')}: {option}"])
        return told
    a_day = f"{figures.money(worst.usd_per_day)} a day, " if worst.usd_per_day else "charged "
    return [["At worst", f"{a_day}until somebody deletes it, should it hang: no shut-off timers"]]


def _waits(limits: PlanLimits) -> str:
    from tpu_studio.domain import figures

    told = f"{figures.duration(limits.wait_hours * 3600)} for a machine at most, at no cost"
    away = limits.wait_hours_away
    return told if not away else f"{told}; with this computer off {figures.duration(away * 3600)} at most"


def _besides_rows(made: Plan) -> list[list[str]]:
    """What it costs besides the chips; the whole of it is held back from the cap."""
    from tpu_studio.planner.report import besides

    parts = besides.besides(made)
    if not parts:
        return []
    held = besides.reserved(made)
    from_start = f"; {held} of it reserved from the start" if held else ""
    rows = [["Besides", f"{besides.total(made)}, in the cap{from_start}"]]
    rows += [["", f"{one.title}: {one.cost}. {one.how}"] for one in parts]
    return [*rows, ["", besides.places(made)], ["", besides.OWN_CODE]]


def _rented_rows(made: Plan) -> list[list[str]]:
    """What is rented, at what price, how the bill is capped, and what happens at the end."""
    from tpu_studio.domain import figures
    from tpu_studio.planner.report import travels
    from tpu_studio.planner.report.cap import cap, nets

    price = made.price
    rate = f"{figures.money(price.usd_per_hour)} an hour" if price else "not known"
    if price and price.as_of:
        rate += f" (as of {price.as_of})"
    elif price and price.from_job:
        rate += " (the price in the job)"
    spot = (
        " Taken back, it waits at $0 an hour until this computer is on."
        if loans.by_id(made.job.where.tier).spare
        else ""
    )
    return [
        ["Machine", f"{made.accelerator}, {made.job.where.tier}, in {', '.join(made.job.where.zones)}"],
        *([one.label, f"{one.path}. {one.words}"] for one in travels.brought(made)),
        ["Price", rate],
        *_besides_rows(made),
        ["Cap", cap(made)],
        *_worst_row(made),
        ["Waits", _waits(made.limits)],
        ["Ended by", nets(made)],
        ["At the end", f"model in the bucket and here, TPU VM deleted and verified to be gone.{spot}"],
    ]
