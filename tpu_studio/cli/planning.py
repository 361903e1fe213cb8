"""``plan``: from a job file to a plan with an estimate and checks; `prepare` is also how ``run`` gets its plan."""

from __future__ import annotations

import hashlib
import os
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.studio import Studio, studio
from tpu_studio.cli.trusting import ask
from tpu_studio.wire import owncode, ownimports, places
from tpu_studio.wire.errors import BadInput, CloudRefused, CloudUnclear, NotReady, RunError, StudioError
from tpu_studio.wire.job import Job, parse_setting, set_values
from tpu_studio.wire.plan import Check, Plan, Range
from tpu_studio.wire.secrets import line_of_secret

if TYPE_CHECKING:
    from tpu_studio.local.preflight import Slice
    from tpu_studio.planner.own import OwnRuns

MEASURE_S = 4.0
_MARKS = {"ok": "✓", "info": "·", "warning": "!", "error": "✗"}


def plan(arguments: Arguments, output: Output) -> int:
    """Exit code 0; 1 when it does not fit into memory; 2 when a check of level error stands in the way."""
    from tpu_studio.planner.public import plan_to_public_json

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
            "“tpu-studio doctor --on practice --project my-first-tpu --fix all”, or open the account page."
        )
    known = cloud_known(home_folder())
    if not known.signed_in:
        return (
            "Next: sign in to Google. Nobody is signed in here, so this cannot start yet; planning needs no account. "
            "Run “tpu-studio doctor --use-gcloud --project ID --fix all”, or open the account page."
        )
    if known.project and known.prepared:
        return ""
    return (
        f"Next: set the account up. {'It has no place for results' if known.project else 'No project is chosen'} yet. "
        f"Run “tpu-studio doctor --project {known.project or 'ID'} --fix all”, or open the account page."
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
    rents = places.by_id(job["where.place"]).rents
    if rents:
        from tpu_studio.places import renewing

        renewing.kept(str(job["where.place"]), services.home)
    if places.by_id(job["where.place"]).charges:
        from tpu_studio.places.pricing import refresh

        priced = refresh(services.home)
        if isinstance(priced.error, (CloudRefused, CloudUnclear)):
            from tpu_studio.domain.sentences import say

            why = say(priced.error).title
            output.say(f"Google's price list could not be read today: {why}. The plan says from when its prices are.")
    output.progress(None, "Looking at the data …")
    draft = _Draft(job, _look(job), _own_model(services, job, trusted=arguments.trust_code, output=output))
    draft.taught = services.own_runs()
    made = draft.plan()
    if made.blocking:
        return made
    if draft.own.sha256 and draft.own.consent and checked:
        draft.facts |= _inspected(services, made, draft.own, output)
        made = draft.plan()
    if not places.by_id(job["where.place"]).local:
        draft.compare(services)
        made = draft.plan()
    if places.by_id(job["where.place"]).has_chips:
        if measure and (picture_s := _paced(made, output)):
            draft.picture_s = picture_s
            made = draft.plan()
        return _as_checked(services, made) if checked else made  # steps here tell nothing about a TPU
    timing = services.stopwatch.known(made)
    may_build = draft.own.consent or not draft.own.sha256
    known = (made.basis.get("own") or {}).get("well")  # own runs of this very work tell as much as a timing would
    if timing is None and measure and may_build and not made.blocking and not rents and not known:
        timing = _timed(services, made, output)
    made = draft.plan(timing) if timing is not None else made
    return _as_checked(services, made) if checked else made


def slice_of(made: Plan) -> Slice | None:
    """The slice of a plan for a TPU, for the compiler; None on this computer."""
    if not (at := places.by_id(made.place)).rents and not at.notebook:
        return None
    from tpu_studio.domain.catalogue import catalogue
    from tpu_studio.local.preflight import Slice

    part = catalogue().slice(made.accelerator)
    unit = catalogue().generation(part.generation).matrix_unit
    return Slice(part.accelerator_type, part.generation, part.topology, part.devices, unit)


def _as_checked(services: Studio, made: Plan) -> Plan:
    """With the TPU compiler's answer, when `check` has asked it before."""
    from tpu_studio.planner.compiled import with_compiler

    target = slice_of(made)
    known = services.preflight.known(made, target) if target and not made.blocking else None
    return with_compiler(made, known) if known and _says(known) else made


def _says(known: Mapping[str, Any]) -> bool:
    """Whether a kept answer has something that the plan does not know by itself."""
    traced = known.get("traced") or {}
    wrong = traced.get("problems") or any(one.get("level") == "error" for one in traced.get("operations") or ())
    return bool(wrong) or "fits" in (known.get("compiled") or {})


@dataclass(frozen=True)
class _OwnModel:
    """The job's own Python file: *consent* is its sha256 when it may run. All empty for a model of ours."""

    sha256: str = ""
    consent: str = ""
    missing: bool = False
    secret_line: int | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)


class _Draft:
    """A plan made again with each thing that is found out."""

    def __init__(self, job: Job, look: Any, own: _OwnModel) -> None:
        self.job, self.look, self.own = job, look, own
        self.facts: dict[str, Any] = {}
        if own.sha256:
            self.facts["sha256"] = own.sha256
        if own.missing:
            self.facts["missing"] = True
        if own.secret_line:
            self.facts["secret_line"] = own.secret_line
        self.facts |= own.asked
        self.here: Mapping[str, Any] | None = None
        self.bucket_region, self.kept_days = "", 0
        self.picture_s: float | None = None
        self.taught: OwnRuns | None = None

    def compare(self, services: Studio) -> None:
        """For a rented place: what was timed of the same job on this computer, and where the person's bucket is."""
        from tpu_studio.places.accounts import cloud_side
        from tpu_studio.places.known import bucket_known
        from tpu_studio.planner.make import make_plan
        from tpu_studio.planner.outlook import HERE

        here = set_values(self.job, HERE)
        consent = self.own.consent
        made = make_plan(here, self.look, model_facts=self.facts, now=time.time(), consent=consent, advise=False)
        self.here = services.stopwatch.known(made)
        place = str(self.job["where.place"])
        if places.by_id(place).rehearses:
            self.bucket_region, self.kept_days = bucket_known(place, services.home)
        elif places.by_id(place).charges:
            side = cloud_side(services.home)
            active = side.signing.active()
            if active:
                choices = side.choices.of(active.id)
                self.bucket_region, self.kept_days = choices.region, choices.kept_days

    def plan(self, timing: Mapping[str, Any] | None = None) -> Plan:
        from tpu_studio.planner.make import make_plan
        from tpu_studio.planner.timing import Timing

        return make_plan(
            self.job,
            self.look,
            timing=Timing.from_json(timing) if timing else None,
            model_facts=self.facts,
            now=time.time(),
            consent=self.own.consent,
            here=Timing.from_json(self.here) if self.here else None,
            bucket_region=self.bucket_region,
            kept_days=self.kept_days,
            picture_s=self.picture_s,
            own=self.taught,
        )


def _look(job: Job) -> Any:
    from tpu_studio.data.look import look

    return look(job)


def _own_model(services: Studio, job: Job, *, trusted: bool, output: Output) -> _OwnModel:
    """Whether the job's own file is there and may run; ``--trust-code`` or a yes at the terminal is remembered."""
    if not job.has_own_model:
        return _OwnModel()
    path = Path(job.base or ".", os.path.expanduser(str(job["model.file"])))
    try:
        source = owncode.read(path)
    except OSError:
        source = None
    if source is None:
        return _OwnModel(missing=True)
    text = source.decode("utf-8", "replace")
    sha256, secret_line, asked = hashlib.sha256(source).hexdigest(), line_of_secret(text), ownimports.asked(text)
    place = str(job["where.place"])
    if not services.consents.agreed(sha256, place):
        if secret_line:
            from tpu_studio.domain.sentences import say_finding

            output.say(str(say_finding("model-file-secret", {"file": str(path), "line": secret_line})))
        if not (trusted or ask(path, place, output)):
            return _OwnModel(sha256, secret_line=secret_line, asked=asked)
        services.consents.agree(sha256, str(path), place)
    return _OwnModel(sha256, sha256, secret_line=secret_line, asked=asked)


def _inspected(services: Studio, made: Plan, own: _OwnModel, output: Output) -> dict[str, Any]:
    """What the person's own model is made of, as far as the engine can tell now."""
    output.progress(None, "Building the model …")
    try:
        return {"sha256": own.sha256, **services.stopwatch.inspect(made)}
    except NotReady:
        return {"sha256": own.sha256}  # without an engine nothing is built; the launch itself says so
    except RunError as error:
        if error.id != "timing-failed":
            raise
        facts = {**error.facts, "file": str(made.job["model.file"])}
        return {"sha256": own.sha256, "problem": "model-ended", "facts": facts}


def _timed(services: Studio, made: Plan, output: Output) -> Mapping[str, Any] | None:
    """A short timing, or None where none can be had: then the estimate stays wide."""
    try:
        services.engine.python()
    except NotReady:
        output.say(
            "The training engine is not installed: the estimate is wide. Get it with: tpu-studio engine --install"
        )
        return None
    output.progress(None, "Timing a few real steps …", now=True)
    try:
        return services.stopwatch.time(made, MEASURE_S)
    except BadInput:
        raise
    except StudioError as error:
        from tpu_studio.domain.sentences import say

        output.say(f"The steps could not be timed, so the estimate is wide: {say(error).title}.")
        return None


def _paced(made: Plan, output: Output) -> float | None:
    """What a picture takes to be read, where a TPU may have to wait for pictures."""
    from tpu_studio.viewmodels.planpace import needs_pace, read_pace

    if not needs_pace(made):
        return None
    output.progress(None, "Timing how quickly the pictures are read …")
    return read_pace(made)


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

    def words(value: Any) -> str:
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
    need, there = memory.get("device_bytes"), memory.get("limit_bytes")
    price = (made.price or {}).get("usd_per_hour")
    rents, free = places.by_id(made.place).rents, places.by_id(made.place).notebook
    cost = between(made.cost_usd, figures.money)
    if price:
        cost += " (practice dollars)" if places.by_id(made.place).rehearses else "" if rents else " (pretended)"
    batch = int(made.job["training.global_batch"])
    noun = figures.noun(str(made.job["data.kind"]))
    rows = [
        ["Model", f"{made.job.model}, {made.framework}, {runs_on(made)}"],
        ["Steps", f"{made.steps:,} of {batch:,} {noun}"],
        ["Time", between(made.time_s, figures.duration)],
        ["Speed", between(made.examples_per_s, lambda value: f"{figures.figure(value)} {noun} a second")],
        ["Memory", "not known" if need is None or there is None else f"{figures.size(need)} of {figures.size(there)}"],
        ["Cost", cost if price or rents else f"nothing, it is {'a free TPU' if free else 'this computer'}"],
        [
            "Stops after",
            f"{figures.duration(float(made.limits['hours']) * 3600)}" if made.limits.get("hours") else "never",
        ],
    ]
    if rents:
        rows += _rented_rows(made)
    if broken(made) is not None:
        rows = [row for row in rows if row[0] in ("Model", "Steps", "Memory")]
    if made.verdict:
        rows.append(["Worth it?", str(made.verdict["why"])])
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
        hang = "should it hang before it has begun and this computer be off"
        told = [["At worst", f"{figures.money(worst.usd)}: {worst.made_of}, {hang}"]]
        for way in lower_of(made):
            amount = dict(way.changes).get(way.key)
            option = f"--set {way.key}={'…' if amount is None else format(amount, 'g')}"
            told.append(["", f"{way.words.rstrip('.')}: {option}"])
        return told
    a_day = f"{figures.money(worst.usd_per_day)} a day, " if worst.usd_per_day else "charged "
    return [["At worst", f"{a_day}until somebody deletes it, should it hang: no stop from outside"]]


def _waits(limits: Mapping[str, Any]) -> str:
    from tpu_studio.domain import figures

    told = f"{figures.duration(float(limits['wait_hours']) * 3600)} for a machine at most, at no cost"
    away = limits.get("wait_hours_away")
    return told if not away else f"{told}; with this computer off {figures.duration(float(away) * 3600)} at most"


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
    from tpu_studio.planner.report.cap import cap, nets

    price, limits = made.price or {}, made.limits
    rate = f"{figures.money(price['usd_per_hour'])} an hour" if price else "not known"
    if price.get("as_of"):
        rate += f" (as of {price['as_of']})"
    spot = " Taken back, it waits at $0 an hour until this computer is on." if made.job["where.tier"] == "spot" else ""
    return [
        ["Machine", f"{made.accelerator}, {made.job['where.tier']}, in {', '.join(made.job['where.zones'])}"],
        ["Price", rate],
        *_besides_rows(made),
        ["Cap", cap(made)],
        *_worst_row(made),
        ["Waits", _waits(limits)],
        ["Ended by", nets(made)],
        ["At the end", f"model in the bucket and here, machine deleted, deletion proved.{spot}"],
    ]
