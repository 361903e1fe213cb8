"""``run`` and ``watch``: start a run and watch it to its end. Ctrl-C leaves it running."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.studio import Studio, studio
from tpu_studio.domain import chips, figures
from tpu_studio.domain.run import RunView
from tpu_studio.wire import places
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import BadInput, NotReady, RunError, StudioError
from tpu_studio.wire.homes import home_folder
from tpu_studio.wire.phases import Phase, Status
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runfolder import model_from_before, result_folder
from tpu_studio.wire.visible import one_line

if TYPE_CHECKING:
    from tpu_studio.workflow.cloudruns.offer import Offer

POLL_S = 0.2
LINE_EVERY_S = 1.0
LOST_AFTER_S = 2.0
DETACHED = 130
_BEFORE = (Phase.PLANNED, Phase.QUEUED, Phase.PROVISIONING)


def run(arguments: Arguments, output: Output) -> int:
    from tpu_studio.cli.engine import cancelling
    from tpu_studio.cli.planning import note, prepare

    with studio() as services:
        made = prepare(services, arguments, output, measure=arguments.measure)
        if made.blocking:
            for check in made.blocking:
                output.say("\n".join(note(check)))
            raise BadInput("plan-has-errors", checks=[check.title for check in made.blocking])
        if places.by_id(made.place).notebook:
            from tpu_studio.cli.colab import write

            return write(services, made, arguments, output)
        if arguments.notebook or arguments.open:
            raise BadInput("colab-only")
        if not places.by_id(made.place).charges:
            _need_engine(services, output)
        if arguments.without_outside_stop:
            made = _without_outside_stop(made)
        if places.by_id(made.place).rents:
            _agree(made, arguments, output)
        with cancelling() as pressed:  # half a launch would leave a run that nobody was told of
            started = services.runs.launch(made, beside=arguments.beside)
            output.say(f"{started} has started. {_promise(made)}")
            following = services.reading.follow(started)  # from here on somebody listens to Ctrl-C all the time
        if pressed() and arguments.stop_on_interrupt:
            _stop(services, started)
        elif pressed():
            following.close()
            return _detach(services, started, output)
        if arguments.detach:
            following.close()
            carry(services, started, output)
            output.answer(result(services, started), started)
            return 0
        return to_the_end(services, started, output, following, stop_on_interrupt=arguments.stop_on_interrupt)


def watch(arguments: Arguments, output: Output) -> int:
    with studio() as services:
        name = arguments.run
        if name.startswith("gs://"):
            offer = _agree_to_take_over(services, arguments, output)
            name = services.runs.take_over_from(arguments.on, name, offer)
            output.say(f"{name} is driven from this computer from now on.")
        return to_the_end(services, name, output, stop_on_interrupt=arguments.stop_on_interrupt)


def _agree_to_take_over(services: Studio, arguments: Arguments, output: Output) -> Offer:
    """A yes before a run on Google Cloud is driven from here: what stands in the bucket, whoever wrote it, says what is
    rented, and what is read on this computer. What was agreed to; raises BadInput ``needs-yes``."""
    offer = services.runs.offer(arguments.on, arguments.run)
    plan, limits = offer.plan, offer.limits
    if offer.agreed or not places.by_id(plan.place).charges:
        return offer
    output.say(f"{plan.run} is to be driven from this computer: {plan.accelerator}, which is charged.")
    output.say(limits_in_words(limits.money_usd, limits.hours))
    output.say(_price_in_words(offer))
    for line in _worst_in_words(offer):
        output.say(line)
    if path := plan.job.data.path:
        path = one_line(str(Path(plan.job.base, path)))
        output.say(f"Where its data is not in the bucket yet, it is read here: {path}")
    if plan.job.model.folder:
        output.say(
            f"The folder that it begins from is copied to the bucket from here: {one_line(plan.job.model.starts_from)}"
        )
    if plan.job.model.is_own:
        output.say(f"It runs Python code of its own on the rented machine: {one_line(str(plan.job.model.file))}")
    if not arguments.yes and (output.as_json or not output.ask("Take it over?")):
        raise BadInput("needs-yes", usd=offer.most_usd)
    return offer


def _price_in_words(offer: Offer) -> str:
    """By which price the limit of money is watched, and what the list says where that is more."""
    told, listed, most = offer.limits.usd_per_hour, offer.listed_usd_per_hour, offer.most_usd
    by = "Its plan has no price" if told is None else f"Its plan counts {figures.money(told)} an hour"
    if not offer.is_underpriced:
        unknown = "what such a machine costs is not known here" + ("" if told else ", so its cost limit does not count")
        return f"{by}." if listed is not None else f"{by}; {unknown}."
    return (
        f"{by}, and Google's list says {figures.money(listed or 0.0)}: a limit of money comes too late. "
        f"{'Nothing ends it' if most is None else f'It may cost {figures.money(most)}'}."
    )


def _worst_in_words(offer: Offer) -> list[str]:
    """What a machine of it may cost that hangs while no computer is on, and whether it has a shut-off timer now."""
    told = []
    if offer.worst_usd is not None:
        late = figures.duration(offer.beyond_s)
        told.append(
            f"At worst {figures.money(offer.worst_usd)}: up to {late} of rent come on top if its machine hangs before "
            "training starts while no computer is on."
        )
    if offer.plan.limits.without_outside_stop:
        told.append(
            "It was launched without shut-off timers: the machine that it may have now has none, and costs money "
            "until a computer deletes it. The next one that is rented from here gets its timers."
        )
    return told


def limits_in_words(usd: float | None, hours: float | None) -> str:
    told = [*([f"${usd:,.2f}"] if usd is not None else []), *([f"{hours:g} hours"] if hours is not None else [])]
    if not told:
        return "It has no cost limit."
    return f"The whole run stops at {' or '.join(told)}, what it has cost so far counted in."


def to_the_end(
    services: Studio, name: str, output: Output, following: Any = None, *, stop_on_interrupt: bool = False
) -> int:
    """Watch until the run is over; the exit code that its end stands for. *following*: of it, closed here."""
    stopping = False
    following = following or services.reading.follow(name)
    try:
        while True:
            try:
                _until_over(services, name, following, output)
                break
            except KeyboardInterrupt:
                if stop_on_interrupt and not stopping:
                    stopping = True
                    output.say("Stopping, the model is kept. Ctrl-C once more leaves it to end by itself.")
                    _stop(services, name)
                    continue
                return _detach(services, name, output)
    finally:
        following.close()
    output.answer(result(services, name))
    _tell_end(following.folder.name, following.view, following.folder, output)
    return exit_code(following.view)


def _detach(services: Studio, name: str, output: Output) -> int:
    following = services.runs.follow(name)
    try:
        following.poll()
        output.say(_goes_on(following.folder.name, following.view, following.plan.place))
    finally:
        following.close()
    output.answer(result(services, name))
    return DETACHED


def result(services: Studio, name: str) -> dict[str, Any]:
    """The keys that scripts rely on; while a run goes on, ``status`` is its phase and ``reason`` null."""
    following = services.reading.follow(name)
    try:
        following.poll()
        view = following.view
    finally:
        following.close()
    end = view.end
    return {
        "run": following.folder.name,
        "status": view.status,
        "reason": end.reason if end else None,
        "steps": end.steps if end else view.step,
        "final": dict(end.final) if end and end.final else dict(view.last),
        "examples_per_s": view.examples_per_s,
        "cost_usd": view.usd,
        "folder": str(following.folder),
    }


def exit_code(view: RunView) -> int:
    """0 done (also when it was stopped and kept), 1 failed or discarded, 3 stopped by a limit, 4 the account is not
    ready: nobody was shown to be able to end the bill, and nothing was rented."""
    if view.end is None:
        return 0
    if view.end.reason in (Reason.NO_OUTSIDE_STOP.value, Reason.STOPS_UNPROVED.value):
        return NotReady.exit_code
    if view.end.reason in (Reason.TIME_LIMIT.value, Reason.MONEY_LIMIT.value):
        return 3
    if view.end.status is Status.FAILED or view.end.reason == Reason.DISCARDED.value:
        return 1
    return 0


def _until_over(services: Studio, name: str, following: Any, output: Output) -> None:
    line_at = changed_at = turn_at = 0.0
    last_line: dict[str, object] = {}
    told_clock, told_lost, rents = False, "", places.by_id(following.plan.place).rents
    is_asked = False
    while True:
        changes: object = None
        try:
            changes = following.poll()
        except RunError as error:  # of this computer's disk: a machine is seen to all the same
            if not rents or error.id != "disk-full":
                raise
        view, now = following.view, time.monotonic()
        if view.settled and (not rents or services.driver.is_over(following.folder)):
            if not rents or is_asked or services.driver.is_done_with(following.folder):
                return
            is_asked, turn_at = True, 0.0  # others say so: whether they still do, the turn asks the bucket
        if rents:
            turn_at = drive(services, following.folder.name, turn_at)
        elif changes:
            changed_at = now
        elif now - changed_at > LOST_AFTER_S:
            changed_at = now
            services.reading.settle(name)  # a run whose guardian was killed never says its end
        if (
            not told_clock
            and places.by_id(following.plan.place).charges
            and (off := _clock_off(services, following.folder.name))
        ):
            told_clock = True
            output.say(off)
        lost = _lost(services, following.folder.name, view)
        if lost and lost != told_lost:
            output.say(lost)
        told_lost = lost
        if output.as_json and now - line_at >= LINE_EVERY_S:
            line_at = now
            line = _line(following.folder.name, view, time.time())
            if line != last_line:
                output.answer({"t": round(time.time(), 3), **line})
                last_line = line
        words, same = _words(services, following.folder.name, view, following.plan.place)
        output.progress(_share(view), words, same=same)
        time.sleep(POLL_S)


def _clock_off(services: Studio, run_id: str) -> str:
    """That this computer's clock is minutes or days off, in words; "" where it is right, or Google was not reached."""
    from tpu_studio.viewmodels.runwords import clock_off

    said = clock_off(services.driver.cloud_now(run_id), time.time())
    return "" if said is None else f"{said.title}. {said.meaning} {said.action}"


def _lost(services: Studio, run_id: str, view: RunView) -> str:
    """What a title alone does not tell: that the project of a run was shut down while its machine may be there, or that
    this computer's disk is full."""
    from tpu_studio.domain.sentences import say, say_untended

    problem = services.driver.problems.get(run_id)
    if problem is not None and problem.id == "run-not-recorded":
        return str(say(problem))
    return (
        str(say_untended(problem)) if problem is not None and problem.id == "project-deleted" and view.unproved else ""
    )


def drive(services: Studio, run_id: str, turn_at: float) -> float:
    """See to the rented machine; when to do so again."""
    now = time.monotonic()
    if now < turn_at:
        return turn_at
    driver = services.driver
    driver.watch(run_id)
    wait = driver.turn(run_id)
    problem = driver.problems.get(run_id)
    if problem is not None and problem.id == "run-imported":  # nothing will ever be heard of it here
        raise problem
    return time.monotonic() + wait


def _words(services: Studio, run_id: str, view: RunView, place: str) -> tuple[str, str]:
    """See `words.doing`; a cloud that cannot be reached is told instead, and asked again."""
    from tpu_studio.cli.words import doing
    from tpu_studio.domain.sentences import say, say_untended

    problem = services.driver.problems.get(run_id) if places.by_id(place).rents else None
    if problem is None:
        return doing(view, place, time.time())
    told = f"{(say_untended(problem) if view.unproved else say(problem)).title}…"
    return told, told


def carry(services: Studio, name: str, output: Output) -> None:
    """Bring to a rented run what it was told, and a machine where it needs one: from then on it goes on by itself.

    Ctrl-C ends the waiting; the run is then asked for again by whoever watches it, or by the window.
    """
    following = services.runs.follow(name)
    try:
        if not places.by_id(following.plan.place).rents:
            return
        turn_at = drive(services, following.folder.name, 0.0)
        while True:
            following.poll()
            view = following.view
            if view.over or view.phase not in _BEFORE:
                return
            words, same = _words(services, following.folder.name, view, following.plan.place)
            output.progress(None, words, same=same)
            time.sleep(POLL_S)
            turn_at = drive(services, following.folder.name, turn_at)
    except KeyboardInterrupt:
        output.say(f"It has no machine yet. Watch it, and it gets one: tpu-studio watch {following.folder.name}")
    finally:
        following.close()


def _share(view: RunView) -> float | None:
    if view.step:
        return view.progress
    done, total = view.uploaded
    return done / total if total and done < total else None


def _without_outside_stop(made: Plan) -> Plan:
    """Raises BadInput where nothing is rented."""
    if not places.by_id(made.place).rents:
        raise BadInput("waiver-not-rented", place=made.place)
    return replace(made, limits=replace(made.limits, without_outside_stop=True))


def _agree(made: Plan, arguments: Arguments, output: Output) -> None:
    """The plan, then a yes: on the cloud always, unless --yes said so. Practice costs nothing."""
    from tpu_studio.cli.planning import as_text

    output.say(as_text(made))
    if places.by_id(made.place).rehearses:
        return
    if told := _outlives(made):
        output.say(told)
    if arguments.yes:
        return
    if output.as_json or not output.ask("Rent it?"):
        raise BadInput("needs-yes", usd=made.limits.money_usd)


def _outlives(made: Plan) -> str:
    """That the sign-in ends before the run may; "" where it does not."""
    from tpu_studio.places.known import cloud_known
    from tpu_studio.viewmodels.review import longest_s
    from tpu_studio.viewmodels.signin import outlives

    known = cloud_known(home_folder())
    return outlives(known.kind, known.until, time.time(), longest_s(made))


def _line(run_id: str, view: RunView, now: float) -> dict[str, object]:
    """One line while watching."""
    from tpu_studio.cli.words import silent_s, usd_now

    return {
        "run": run_id,
        "phase": view.phase.value,
        "detail": view.detail,
        "step": view.step,
        "steps": view.steps_planned,
        "metrics": dict(view.last),
        "examples_per_s": view.examples_per_s,
        "time_left_s": view.time_left_s(),
        **({"mfu": view.mfu} if view.mfu is not None else {}),
        "cost_usd": round(usd_now(view, now), 6),
        "silent_s": round(silent_s(view, now)),
        **({"devices": chips.as_json(view.chips)} if view.chips.workers else {}),
        **_rented_line(view),
    }


def _rented_line(view: RunView) -> dict[str, object]:
    if not view.rented:
        return {}
    return {
        "attempt": max(1, view.attempt),
        "zone": view.machine.get("zone"),
        "machine": view.machine.get("state"),
        "waiting": dict(view.waiting) or None,
        "forecast_usd": view.forecast_usd(),
        "unproved": list(view.unproved),
    }


def _tell_end(run_id: str, view: RunView, folder: Any, output: Output) -> None:
    from tpu_studio.domain.sentences import say, say_reason
    from tpu_studio.domain.sentences.sentence import Sentence

    assert view.end is not None
    cause = view.end.facts.get("error")
    place = plans.read(folder).place
    try:
        facts = {**view.end.facts, **model_from_before(folder), "run": run_id}
        said = say_reason(Reason(view.end.reason), facts, place=place, usd=view.usd)
    except ValueError:  # a reason of a newer version
        said = Sentence(f"It ended: {view.end.reason}")
    if (
        isinstance(cause, str) and not places.by_id(place).rents
    ):  # the reason is a kind of trouble; this is the trouble itself
        said = say(StudioError(cause, **{name: fact for name, fact in facts.items() if name != "id"}))
    after = f" after {view.end.steps:,} steps" if view.end.steps else ""
    output.say(f"{run_id}: {said.title}{after}.")
    for line in (said.meaning, said.action):
        if line:
            output.say(f"  {line}")
    from tpu_studio.domain import figures

    final = ", ".join(f"{name} {figures.metric(name, value)}" for name, value in view.end.final.items())
    if final:
        output.say(f"  {final}")
    output.say(f"  {folder}")
    if (result_folder(folder) / "model.json").is_file():
        output.say(f"  To try it: tpu-studio predict {run_id} --samples 5")


def _rented_rate(view: RunView, place: str) -> str:
    from tpu_studio.domain import figures

    if not view.unproved or not view.usd_per_hour:
        return "and costs nothing while it waits for a machine"
    practice = ", in practice dollars" if places.by_id(place).rehearses else ""
    return f"at {figures.money(view.usd_per_hour)} an hour{practice}; it ends at its limits also with this computer off"


def _goes_on(run_id: str, view: RunView, place: str) -> str:
    from tpu_studio.domain import figures

    rate = f"at {figures.money(view.usd_per_hour)} an hour, simulated" if view.usd_per_hour else "and costs nothing"
    if view.rented:
        rate = _rented_rate(view, place)
    return (
        f"{run_id} goes on without this window, {rate}.\n  Watch it: tpu-studio watch {run_id}\n"
        f"  Stop it:  tpu-studio stop {run_id}"
    )


def _promise(made: Plan) -> str:
    from tpu_studio.domain import figures

    hours = made.limits.hours
    return f"It stops by itself after {figures.duration(float(hours) * 3600)} at the latest." if hours else ""


def _stop(services: Studio, name: str) -> None:
    try:
        services.runs.stop(name, keep=True)
    except RunError as error:
        if error.id != "run-is-over":
            raise


def _need_engine(services: Studio, output: Output) -> None:
    """The engine, installed now if the person at the terminal says so. Raises NotReady."""
    try:
        services.engine.python()
    except NotReady:
        output.say(
            "Training needs the training engine (TensorFlow, JAX and Keras in a folder of their own, about 2 GB)."
        )
        output.say("  Get it with: tpu-studio engine --install")
        if not output.ask("Install it now?"):
            raise
        from tpu_studio.cli.engine import install

        install(services, output)
