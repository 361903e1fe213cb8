"""The verbs on runs that are there: ``runs show stop extend resume delete``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.cli.marking import tell_unread
from tpu_studio.cli.output import Output, table
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.saved import show_page
from tpu_studio.cli.studio import Studio, studio
from tpu_studio.cli.trusting import of_run
from tpu_studio.domain import figures
from tpu_studio.viewmodels.onepage import ENDINGS
from tpu_studio.wire import places
from tpu_studio.wire.errors import BadInput, RunError, StudioError
from tpu_studio.wire.runfolder import newest_copy
from tpu_studio.wire.visible import one_line, visible
from tpu_studio.workflow.consent import is_imported
from tpu_studio.workflow.desk import is_full
from tpu_studio.workflow.ports import RunSummary

if TYPE_CHECKING:
    from tpu_studio.domain.explaining import Cause
    from tpu_studio.domain.run import RunView
    from tpu_studio.viewmodels.review import Fact
    from tpu_studio.wire.plan import Plan
    from tpu_studio.workflow.runs import Runs
    from tpu_studio.workflow.trash import Deleted

FOLLOWED_S = 90.0  # a machine speaks every 30 s: older than this, nobody brings down what it says


def runs(arguments: Arguments, output: Output) -> int:
    with studio() as services:
        reading = services.reading
        if arguments.forget_taught:
            return _forget(services, arguments, output)
        if arguments.empty_trash:
            return _empty(reading, arguments, output)
        if arguments.deleted:
            return _deleted(reading.deleted(), output)
        rows = reading.list()
        tell_only_reading(services, output)
        tell_unread(services, output)
        full = is_full(services.home)
    if any(_unheard(row, time.time()) and not _is_copy(row) for row in rows):
        output.say("“ago”: nobody has looked since. “tpu-studio watch RUN” or the window brings it up to date.")
    if full and (mine := [row for row in rows if row.goes_on_rented and not _is_copy(row)]):
        output.say(_disk_full(mine[0]))
    if any(row.unread for row in rows):
        output.say(
            "“being read”: it has megabytes of events. “tpu-studio runs” goes on where it ended; “show RUN” reads all."
        )
    output.answer({"runs": [as_json(row) for row in rows]}, _as_table(rows, full) if rows else "No runs yet.")
    return 0


def show(arguments: Arguments, output: Output) -> int:
    from tpu_studio.cli.running import result
    from tpu_studio.domain import chips
    from tpu_studio.domain.forecast import forecast
    from tpu_studio.viewmodels.runpace import to_json
    from tpu_studio.viewmodels.runstory import story_of

    if arguments.run.lower().endswith(ENDINGS):
        return show_page(Path(arguments.run), output)
    with studio() as services:
        row = services.reading.summary(arguments.run)
        following = services.reading.follow(arguments.run)
        tell_only_reading(services, output)
        tell_unread(services, output)
        following.poll()
        full = row.goes_on_rented and not _is_copy(row) and is_full(services.home)
        logs = [str(event.get("text", "")) for event in following.recent_logs(arguments.log)] if arguments.log else []
        causes = _causes(following) if row.status == "failed" else None
        following.close()
        if arguments.job is not None:
            return _save_job(following.plan, row.folder, arguments.job, output)
        told = {**as_json(row), **result(services, arguments.run), "plan": following.plan.to_json()}
        told["detail"] = following.view.detail or None
        profile = following.view.profiled
        told["mfu"], told["profile"] = following.view.mfu, profile.to_json() if profile else None
        told["duty_cycle"], told["devices"] = following.view.duty_cycle, chips.as_json(following.view.chips)
        told["interruptions"] = [asdict(one) for one in following.view.interruptions]
        told["pace"] = to_json(following.plan, following.view, forecast(following.plan, following.view))
        between = following.view.usd_between or (row.usd, row.usd)
        told["cost_usd_at_least"], told["cost_usd_at_most"] = between
        if (parts := _parts(Path(told["folder"]))) is not None:
            told["cost_parts"] = parts
        if arguments.log:
            told["log"] = logs
        if causes is not None:
            told["causes"] = [cause.to_json() for cause in causes]
        story = story_of(row.place, following.view)
        spoken = [visible(story.spoken)] if story is not None else []
        if full:
            spoken.append(_disk_full(row, rented=bool(following.view.unproved)))
        receipt = _receipt(Path(told["folder"]), parts or [])
        told["receipt"] = [asdict(fact) for fact in receipt]
        bill = [*_part_lines(parts or []), *_receipt_lines(receipt)]
        output.answer(told, "\n".join([_as_text(row, following), *spoken, *bill, *_known(causes), *logs]))
    return 0


def _causes(following: Any) -> tuple[Cause, ...]:
    """What the log of a run that failed shows, by the rules of `explain`."""
    from tpu_studio.domain.explaining import explain

    log = "\n".join(str(event.get("text", "")) for event in following.recent_logs())
    return explain(log, rented=places.by_id(following.plan.place).rents).causes


def _known(causes: tuple[Cause, ...] | None) -> list[str]:
    if not causes:
        return []
    return [f"Its log shows: {causes[0].title}.", causes[0].means, *(f"  {step}" for step in causes[0].do)]


def _save_job(plan: Plan, folder: Path, path: Path, output: Output) -> int:
    """Write what the run was asked to do as a job file. Raises BadInput: a file is there."""
    from tpu_studio.domain.jobfile import save
    from tpu_studio.viewmodels.draft import of_plan

    if path.exists():
        raise BadInput("command-line", raw=f"{path} is there already", help="tpu-studio show --help")
    save(of_plan(plan, folder), path.absolute())
    output.say(f"What it was asked to do is in {path}. Price it anew: tpu-studio plan {path}")
    output.answer({"job": str(path)}, str(path))
    return 0


def _parts(folder: Path) -> list[dict[str, object]] | None:
    """What the cost of a rented run is the sum of, from its receipt; None: there is none yet, or it is an old one."""
    from tpu_studio.viewmodels.receipt import read_receipt

    try:
        told = read_receipt(folder).get("parts")
    except (OSError, ValueError):
        return None
    return [one for one in told if isinstance(one, dict)] if isinstance(told, list) and told else None


def _receipt(folder: Path, parts: list[dict[str, object]]) -> tuple[Fact, ...]:
    """What the receipt of a rented run says beside its cost and the *parts* of that: each machine, from when to when,
    how its end is proved, and what stays. Nothing of a run that has none yet."""
    from tpu_studio.viewmodels.receipt import AT_MOST, facts_in

    try:
        return facts_in(folder)[1 + min(len(parts), AT_MOST + 1) :]
    except (OSError, ValueError):
        return ()


def _receipt_lines(receipt: tuple[Fact, ...]) -> list[str]:
    return [one_line(f"{fact.label}: {fact.value}. {fact.more}".strip()) for fact in receipt]


def _part_lines(parts: list[dict[str, object]]) -> list[str]:
    from tpu_studio.viewmodels.receipt import part_of_bill

    facts = [part_of_bill(one) for one in parts]
    return [one_line(f"  {fact.label + ':':<27} {fact.value}") for fact in facts]


def stop(arguments: Arguments, output: Output) -> int:
    from tpu_studio.cli.running import carry, result, to_the_end

    with studio() as services:
        services.runs.stop(arguments.run, keep=not arguments.discard)
        if arguments.no_wait:
            carry(services, arguments.run, output)
            output.say("It was told to stop.")
            output.answer(result(services, arguments.run))
            return 0
        to_the_end(services, arguments.run, output)
        return 0  # it was asked to end, and it has


def extend(arguments: Arguments, output: Output) -> int:
    from tpu_studio.cli.running import carry

    epochs, only_limits = arguments.epochs, arguments.hours is not None or arguments.money is not None
    if epochs is None and not only_limits:
        epochs = 1.0
    with studio() as services:
        of_run(services, arguments.run, output, trusted=arguments.trust_code)
        _agree_to_rent(services, arguments, output)
        services.runs.extend(arguments.run, epochs, hours=arguments.hours, money_usd=arguments.money)
        carry(services, arguments.run, output)
        run_id = services.runs.folder(arguments.run).name
    output.say(f"{_extended(run_id, epochs, arguments)} Watch it: tpu-studio watch {run_id}")
    output.answer({"run": run_id, "epochs": epochs})
    return 0


def _extended(run: str, epochs: float | None, arguments: Arguments) -> str:

    if epochs is not None:
        return f"{run} goes {'once' if epochs == 1 else f'{epochs:g} times'} more through the data."
    hours = [] if arguments.hours is None else [f"its time limit is {figures.duration(arguments.hours * 3600.0)}"]
    money = [] if arguments.money is None else [f"its cost limit is {figures.money(arguments.money)}"]
    return f"{run} trains as long as it would have; {' and '.join(hours + money)} now."


def resume(arguments: Arguments, output: Output) -> int:
    from tpu_studio.cli.running import carry

    with studio() as services:
        of_run(services, arguments.run, output, trusted=arguments.trust_code)
        _agree_to_rent(services, arguments, output)
        copied = _has_copy(services, arguments.run)
        services.runs.resume(arguments.run, hours=arguments.hours, money_usd=arguments.money)
        carry(services, arguments.run, output)
        run_id = services.runs.folder(arguments.run).name
    begins = "goes on from its last checkpoint" if copied else "has no checkpoint, so it starts from the beginning"
    output.say(f"{run_id} {begins}. Watch it: tpu-studio watch {run_id}")
    output.answer({"run": run_id, "from_copy": copied})
    return 0


def _has_copy(services: Studio, run: str) -> bool:
    """Whether a copy of it was saved that it can go on from: in its folder, or as a rented run's events tell."""
    if newest_copy(services.runs.folder(run)) is not None:
        return True
    following = services.runs.follow(run)
    following.poll()
    following.close()
    return places.by_id(following.plan.place).rents and following.view.checkpoint_step is not None


def _agree_to_rent(services: Studio, arguments: Arguments, output: Output) -> None:
    """A yes before a run on Google Cloud goes on, which is charged. Raises BadInput ``needs-yes``."""
    from tpu_studio.cli.running import limits_in_words

    plan = services.runs.plan(arguments.run)
    if not places.by_id(plan.place).charges or arguments.yes:
        return
    from tpu_studio.workflow.cloudruns import believed

    now = believed.limits(services.runs.folder(arguments.run), plan)  # which may have been raised since the launch
    usd = arguments.money if arguments.money is not None else now.money_usd
    hours = arguments.hours if arguments.hours is not None else now.hours
    output.say(f"{services.runs.folder(arguments.run).name} goes on on a rented {plan.accelerator}, which is charged.")
    output.say(limits_in_words(usd, hours))
    if output.as_json or not output.ask("Go on?"):
        raise BadInput("needs-yes", usd=usd)


def delete(arguments: Arguments, output: Output) -> int:
    with studio() as services:
        run_id = _deleting(services.reading, arguments, output)
        if services.only_reading is not None and not arguments.undo and services.reading.deleted():
            output.say("The disk is full. What is in the trash takes room still: tpu-studio runs --empty-trash")
    output.answer({"run": run_id})
    return 0


def _deleting(runs: Runs, arguments: Arguments, output: Output) -> str:
    if arguments.undo and arguments.for_good:
        raise BadInput("command-line", raw="--undo or --for-good, not both", help="tpu-studio delete --help")
    if arguments.undo:
        run_id = runs.undo_delete(arguments.run)
        output.say(f"{run_id} is back.")
    elif arguments.for_good:
        run_id = runs.remove_for_good(arguments.run)
        output.say(f"{run_id} is gone for good.")
    else:
        run_id = runs.delete(arguments.run)
        output.say(f"{run_id} is in the trash. Restore it: tpu-studio delete --undo {run_id}")
    return run_id


def _forget(services: Studio, arguments: Arguments, output: Output) -> int:
    from tpu_studio.workflow.forgetting import own_runs

    count = len(own_runs(services.reading.list()).runs)
    output.say(f"{count} of your runs count in estimates. Forgotten, they never do again; the runs themselves stay.")
    if count and not arguments.yes and not output.ask("Forget what they taught?"):
        raise BadInput("needs-yes-to-forget")
    services.reading.forget_taught()
    output.answer({"forgotten": count}, "Forgotten.")
    return 0


def _empty(runs: Runs, arguments: Arguments, output: Output) -> int:
    names = [one.run for one in runs.deleted()]
    if names:
        output.say(f"In the trash: {', '.join(names)}. Removed from there, nothing brings them back.")
        if not arguments.yes and not output.ask("Remove them for good?"):
            raise BadInput("needs-yes-to-empty")
    count = runs.empty_trash()
    output.answer({"removed": count}, f"{count} removed for good." if count else "The trash is empty.")
    return 0


def _deleted(found: Sequence[Deleted], output: Output) -> int:
    told = [{"run": one.run, "name": one.name, "deleted": one.at} for one in found]
    when = [[one.run, one.name, time.strftime("%d %b %H:%M", time.localtime(one.at))] for one in found]
    output.answer({"deleted": told}, table([["RUN", "NAME", "DELETED"], *when]) if when else "Nothing is deleted.")
    return 0


def _pace_lines(plan: Plan, view: RunView) -> list[list[str]]:
    """What the measured steps tell, once there are enough."""
    from tpu_studio.domain.forecast import forecast
    from tpu_studio.viewmodels import runpace

    found = forecast(plan, view)
    if found is None:
        return []
    lines = [["Step", runpace.beside_plan(found)]]
    if found.left_s is not None:
        lines.append(["Time left", runpace.time_between(found.left_s)])
    if found.usd is not None:
        charged = "" if places.by_id(plan.place).charges else ", not charged"
        lines.append(["At the end", f"{runpace.money_between(found.usd)}{charged}"])
    if found.epochs is not None:
        lines.append(["Limits allow", f"{runpace.epochs_between(found.epochs)} epochs"])
    return lines


def tell_only_reading(services: Studio, output: Output) -> None:
    """Say so when this home can only be looked at."""
    if services.only_reading is not None:
        from tpu_studio.domain.sentences import say

        said = say(services.only_reading)
        output.say(f"Only reading: {said.title}. {said.action}".strip())


def as_json(row: RunSummary) -> dict[str, object]:
    """A row of the list for scripts."""
    metric = {"name": row.key_metric[0], "value": row.key_metric[1]} if row.key_metric else None
    return {
        "run": row.run,
        "name": row.name,
        "place": row.place,
        "model": row.model,
        "framework": row.framework,
        "status": row.status,
        "reason": row.reason or None,
        "alive": row.alive,
        "steps": row.step,
        "steps_planned": row.steps_planned,
        "metric": metric,
        "time_s": round(row.duration_s, 3),
        "cost_usd": row.usd,
        "attempt": row.attempt,
        "created": row.created,
        "folder": str(row.folder),
        "problem": row.problem or None,
        "settled": row.settled,
        "unread_bytes": row.unread,
        "star": row.mark.star,
        "tags": list(row.mark.tags),
        "note": row.mark.note,
    }


def _as_table(rows: list[RunSummary], full: bool = False) -> str:
    """*full*: the disk is, and of a rented run nothing more comes here."""
    from tpu_studio.domain.sentences import say
    from tpu_studio.viewmodels.runrows import cost_kind

    head = ["RUN", "STATE", "STEPS", "RESULT", "TIME", "COST", "STARTED"]
    marks = any(row.mark.star or row.mark.tags for row in rows)
    lines = [[*head, *(["TAGS"] if marks else [])]]
    for row in rows:
        metric = f"{row.key_metric[0]} {figures.metric(*row.key_metric)}" if row.key_metric else ""
        state = (
            say(StudioError(row.problem)).title
            if row.problem
            else f"being read, {figures.size(row.unread)} left"
            if row.unread
            else (f"{row.status}: {row.reason}" if row.reason and row.reason != "completed" else _state(row))
        )
        steps = f"{row.step:,} of {row.steps_planned:,}" if row.steps_planned else ""
        most = max(row.usd, row.usd_most)
        if _is_copy(row):
            state += ", imported"
        else:
            old = _unheard(row, time.time())
            state += (f", {old} ago" if old else "") + (", disk full here" if full and row.goes_on_rented else "")
        lines.append(
            [
                row.run,
                state,
                steps,
                metric,
                figures.duration(row.duration_s),
                f"{cost_kind(row.place, row.usd, most)} {figures.money(most)}".strip() if most else "",
                time.strftime("%d %b %H:%M", time.localtime(row.created)),
                *([f"{'★ ' if row.mark.star else ''}{', '.join(row.mark.tags)}".strip()] if marks else []),
            ]
        )
    return table(lines, right=(2, 4, 5))


def _unheard(row: RunSummary, now: float) -> str:
    """How long ago a rented run that goes on was last heard of; "" where somebody follows it, or it is over."""
    silent_s = now - row.seen
    return figures.duration(silent_s) if row.goes_on_rented and row.seen and silent_s > FOLLOWED_S else ""


def _disk_full(row: RunSummary, **known: object) -> str:
    """What a full disk here means for a rented run that goes on."""
    from tpu_studio.domain.sentences import say

    return str(say(RunError("run-not-recorded", run=row.run, full=True, place=row.place, **known)))


def _age(row: RunSummary) -> list[list[str]]:
    if _is_copy(row) or not (old := _unheard(row, time.time())):
        return []
    return [["Last heard", f"{old} ago; “tpu-studio watch {row.run}” or the window brings it up to date"]]


def _is_copy(row: RunSummary) -> bool:
    """Whether somebody else rented it, and it came here as files."""
    return not row.problem and places.by_id(row.place).rents and is_imported(row.folder)


def _state(row: RunSummary) -> str:
    from tpu_studio.domain.sentences.colab import WAITING

    return WAITING if places.by_id(row.place).notebook and not row.over else row.status


def _as_text(row: RunSummary, following: Any) -> str:
    from tpu_studio.domain.forecast import forecast
    from tpu_studio.domain.sentences import say_reason
    from tpu_studio.domain.sentences.bases import begins_from
    from tpu_studio.viewmodels import runchips, runpace, runrented
    from tpu_studio.viewmodels.runrows import marked, pretence
    from tpu_studio.wire.reasons import Reason
    from tpu_studio.wire.runfolder import model_from_before

    view, begins = following.view, begins_from(following.plan.job.model.starts_from)
    lines = [
        ["Run", row.run],
        ["Name", f"{visible(row.name)}{' ★' if row.mark.star else ''}"],
        *([["Tags", ", ".join(row.mark.tags)]] if row.mark.tags else []),
        ["State", _state(row)],
        *_age(row),
        ["Model", ", ".join(filter(None, (row.model, row.framework, begins)))],
        ["Steps", f"{row.step:,} of {row.steps_planned:,}"],
        ["Time", figures.duration(row.duration_s)],
    ]
    told = "" if places.by_id(row.place).charges else "; nothing was charged"
    if view.usd_between is not None:
        spans = figures.money_between(*view.usd_between)
        kind = pretence(row.place, view.usd_between[1])
        why = (
            ": no record tells it exactly, and the bill is in between"
            if spans != figures.money(view.usd_between[1])
            else ""
        )
        lines.append(["Cost", f"{kind} {spans}{why}{told}".strip()])
    elif row.usd:
        lines.append(["Cost", f"{marked(row.place, row.usd)}{told}"])
    if chips := runchips.words(view, row.place):
        lines.append(["Chips", chips])
    lines += _pace_lines(following.plan, view)
    lines += [[name, figures.metric(name, value)] for name, value in view.last.items()]
    lines.append(["Folder", str(row.folder)])
    text = "\n".join(filter(None, (table(lines), row.mark.note)))
    if copy := _is_copy(row):
        text = f"{runrented.COPY}\n{text}"
    if said := runpace.notice(following.plan, view, forecast(following.plan, view)):
        text += f"\n{said}"
    if view.end is not None:
        facts = {**view.end.facts, **model_from_before(row.folder), "run": row.run}
        try:
            text += f"\n{say_reason(Reason(view.end.reason), facts, place=row.place, usd=row.usd, copy=copy)}"
        except ValueError:  # a reason of a newer version
            text += f"\n{view.end.reason}"
        if raw := str(view.end.facts.get("raw") or ""):
            text += "\n\n" + "\n".join(f"  {one_line(line)}" for line in raw.splitlines())
    return text
