"""Words for why runs end, and for errors around starting, reading and changing them."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.sentences import bases, model
from tpu_studio.domain.sentences.sentence import Entry, Facts, Sentence
from tpu_studio.wire import places
from tpu_studio.wire.reasons import Reason

_WEIGHTS = {id: one for id, one in {**model.CHECKS, **bases.CHECKS}.items() if id.startswith(("base-", "preset-"))}
_AS_IT_WAS = "Nothing was changed by this, or charged for it, and the last checkpoint of the model is safe."


def _resume(f: Facts) -> str:
    """Button and verb; *run* is told where a person may copy it out of a terminal."""
    return f"“Resume” (tpu-studio resume {f.text('run', 'RUN')})"


def _kept(f: Facts) -> str:
    """What is left to go on from; ``saved_step`` is None where no copy had been made."""
    copy = (
        "No copy of the model had been saved yet"
        if f.none("saved_step")
        else "The last checkpoint of the model is safe"
    )
    return f"Nothing was charged. {copy}."


def _refused(f: Facts) -> Sentence:
    """A model of the person's own file; or what is wrong with the weights that it was to begin from."""
    if (entry := _WEIGHTS.get(f.text("error"))) is not None:
        return entry if isinstance(entry, Sentence) else entry(f)
    return Sentence(
        "Your model could not be used",
        f"{f.text('raw', 'It could not be built or does not fit the data').rstrip('.')}. Nothing was charged.",
        "Correct the model file and start again.",
    )


def _carry_on(f: Facts) -> str:
    return f"{_resume(f)} {'starts it from the beginning' if f.none('saved_step') else 'goes on from the last checkpoint'}."


def model_from_before(f: Facts) -> str:
    """The model that an earlier stop kept (`kept_step`), or ""."""
    return f"The model of step {f.text('kept_step')} from before is still on this computer." if "kept_step" in f else ""


def _without_model(f: Facts, title: str) -> Sentence | None:
    """For an end at which no model could be saved; what was copied until then is still there."""
    if f.raw("result") is not False:
        return None
    if before := model_from_before(f):
        return Sentence(
            f"{title} before a new model was written",
            f"Nothing was charged. {before}",
            f"Try it, or go on: {_resume(f)}.",
        )
    kept = (
        "No copy of the model had been saved yet." if f.none("saved_step") else "A copy that was saved before is safe."
    )
    return Sentence(
        f"{title} before a model was written",
        f"Nothing was charged. {kept}",
        _carry_on(f),
    )


def _loss(f: Facts) -> Sentence:
    at = f" at step {f.text('step')}" if "step" in f else ""
    return Sentence(
        f"The loss stopped being a number{at}",
        f"The corrections grew too large. {_kept(f)}",
        "Train again with a smaller learning rate, or with “go back and halve the rate”.",
    )


REASONS: dict[Reason, Entry] = {
    Reason.COMPLETED: Sentence(
        "All steps are done", "The model is saved on this computer. Nothing was charged.", "Try the model."
    ),
    Reason.EARLY_STOPPED: Sentence(
        "It stopped improving, so it stopped early",
        "The best model is saved on this computer. Nothing was charged.",
        "Try the model.",
    ),
    Reason.STOPPED_BY_USER: lambda f: (
        _without_model(f, "You stopped it")
        or Sentence(
            "You stopped it and kept the model",
            "The model so far is saved on this computer. Nothing was charged.",
            "Try the model, or train further.",
        )
    ),
    Reason.DISCARDED: Sentence(
        "You stopped it without keeping the model", "Nothing was charged.", "Train again when you like."
    ),
    Reason.TIME_LIMIT: lambda f: (
        _without_model(f, "The time limit was reached")
        or Sentence(
            "The time limit was reached",
            "The model so far is saved on this computer. Nothing was charged.",
            "Train further with more time, or try the model.",
        )
    ),
    Reason.MONEY_LIMIT: lambda f: (
        _without_model(f, "The cost limit was reached")
        or Sentence(
            "The cost limit was reached",
            "The price was simulated: nothing was charged. The model so far is saved.",
            "Train further with a higher limit, or try the model.",
        )
    ),
    Reason.LOSS_NOT_FINITE: _loss,
    Reason.DATA_MISSING: lambda f: Sentence(
        "The data is not there any more",
        f"{f.file('path', 'The folder or file')} was moved, renamed or deleted. {_kept(f)}",
        f"Put it back, then choose {_resume(f)}.",
    ),
    Reason.DATA_CHANGED: lambda f: Sentence(
        "The data has changed since the plan was made",
        f"Going on would mix two data sets in one curve. {_kept(f)}",
        "Plan a new run on the data as it is now.",
    ),
    Reason.DATA_BROKEN: lambda f: Sentence(
        "Too much of the data is broken",
        f"{f.count('broken', 'item', 'items')} could not be read. Your data is untouched, and nothing was charged.",
        "Repair or remove them, or allow a larger share under “Tolerate unreadable items up to”.",
    ),
    Reason.MODEL_REFUSED: lambda f: _refused(f),
    Reason.MODEL_STUCK: Sentence(
        "Your model did not get ready",
        "Building it took too long and was ended. Nothing was charged.",
        "Look for an endless loop or waiting in the model file.",
    ),
    Reason.OUT_OF_MEMORY: lambda f: Sentence(
        "The computer ran out of memory",
        f"The system ended the training program. {_kept(f)}",
        "Train with fewer examples per step, or close other programs and resume.",
    ),
    Reason.DISK_FULL: lambda f: Sentence(
        "The disk is full",
        f"A copy of the model could not be written. {_kept(f)}",
        f"Free some space, then choose {_resume(f)}.",
    ),
    Reason.FOLDER_UNWRITABLE: lambda f: Sentence(
        "The run's folder cannot be written",
        f"Its rights may have changed, or the disk was removed. {_kept(f)}",
        f"Make the folder writable, then choose {_resume(f)}.",
    ),
    Reason.CHECKPOINT_CORRUPT: lambda f: Sentence(
        "The saved copies are damaged",
        "Not one could be used, so nothing was trained. What the run had before is untouched. Nothing was charged.",
        f"Put “checkpoints” back from a copy of the run's folder, then choose {_resume(f)}, or start a new run.",
    ),
    Reason.DEVICES_DIFFER: lambda f: Sentence(
        "The computer has other devices than the plan expects", _kept(f), "Plan the run again on this computer."
    ),
    Reason.PLAN_UNREADABLE: Sentence(
        "The plan of this run cannot be read",
        "The file plan.json is damaged or from a newer version. Nothing was charged.",
        "Open it with a newer version, or plan the run again.",
    ),
    Reason.TRAINER_KILLED: lambda f: Sentence(
        "Something ended the training program", f"It was stopped from outside{_signal(f)}. {_kept(f)}", _carry_on(f)
    ),
    Reason.TRAINER_FAILED: lambda f: Sentence(
        "The training program failed",
        f"It ended with an error that we did not foresee. {_kept(f)}",
        "Read what it said in the log, then resume or train again.",
    ),
    Reason.TRAINER_STUCK: lambda f: Sentence(
        "The training program stopped answering", f"It was ended after a long silence. {_kept(f)}", _carry_on(f)
    ),
    Reason.GUARDIAN_GONE: lambda f: Sentence(
        "The run was interrupted",
        f"The computer was switched off, or the program that watches the run was ended. {_kept(f)}",
        _carry_on(f),
    ),
    Reason.START_FAILED: Sentence(
        "The training program could not be started",
        "Nothing was trained, and nothing was charged.",
        "Repair the training engine in Settings, then start again.",
    ),
}


def _signal(f: Facts) -> str:
    return f" ({f.text('signal')})" if "signal" in f else ""


_UNCHANGED = "Nothing was charged, and nothing was changed."


def _run(f: Facts) -> str:
    return f"“{f.text('run')}”" if "run" in f else "The run"


ERRORS: dict[str, Entry] = {
    "plan-newer": lambda f: Sentence(
        "This run was made by a newer version of TPU Studio",
        f"Its plan has format {f.text('format')}; this version reads {f.text('known', '1')}. {_UNCHANGED}",
        "Open it with a newer version.",
    ),
    "plan-unreadable": Sentence(
        "The plan of this run cannot be read",
        "The file plan.json is damaged, so nothing can be done with the run here. Its other files are untouched.",
        "Put plan.json back from a copy of the folder. If it was on a rented machine, look at “Find billable "
        "resources” (tpu-studio sweep).",
    ),
    "plan-too-large": lambda f: Sentence(
        f"The plan of this run would have {f.bytes('size')}",
        f"Runs with plans of more than {f.bytes('limit', '16 MB')} could not be opened again. Nothing was started, and nothing "
        "was charged.",
        "Use a table with fewer columns: a plan describes each of them.",
    ),
    "plan-missing": Sentence(
        "The plan of this run is missing",
        "plan.json is not in its folder any more. Its models, copies and curves are still there, and untouched.",
        "Put plan.json back from a copy of the folder, or delete the run. If it was on a rented machine, look at "
        "“Find billable resources”.",
    ),
    "plan-has-errors": lambda f: Sentence(
        "The plan cannot be started as it is",
        f"{f.text('checks', 'Something in the job or the data must be put right first')}. {_UNCHANGED}",
        "Put that right first; the plan tells more about it.",
    ),
    "run-unknown": lambda f: Sentence(
        f"There is no run called “{f.text('run')[:60]}”" if "run" in f else "There is no such run",
        _UNCHANGED,
        f"Did you mean “{f.text('nearest')}”?" if "nearest" in f else "Look at the list of runs.",
    ),
    "run-ambiguous": lambda f: Sentence(
        f"{_run(f)} can mean several runs", f"Found: {f.text('found')}. {_UNCHANGED}", "Use the whole name."
    ),
    "run-busy": lambda f: Sentence(
        f"{_run(f)} is being changed by another window or command", _UNCHANGED, "Try again in a moment."
    ),
    "run-changed": lambda f: Sentence(
        f"{_run(f)} is another one in its bucket now than you agreed to",
        f"Its plan was changed while you were asked. {_UNCHANGED}",
        "Give the command again, and look at what it says now. Where the plan changes by itself, do not take the run over.",
    ),
    "run-goes-on": lambda f: Sentence(
        f"{_run(f)} is still training",
        "Nothing was changed. If it is on a rented machine, that goes on and is charged for.",
        "Stop it first.",
    ),
    "run-is-over": lambda f: Sentence(
        f"{_run(f)} is over already", _UNCHANGED, "Train it further, or start a new one."
    ),
    "run-imported": lambda f: Sentence(
        f"{_run(f)} was rented by somebody else",
        "It came here as a copy: you can look at it, try its model and save it. What it says of limits, data and account was not "
        f"agreed to by you, so it is not gone on with. {_UNCHANGED}",
        "Plan and price it anew, for your own account: “Duplicate and edit” on its page, or in a terminal “tpu-studio "
        f"show {f.text('run', 'RUN')} --job again.tpujob”, then “tpu-studio run again.tpujob”. A run of your own on another "
        "computer is taken over with “tpu-studio watch gs://BUCKET/runs/RUN”.",
    ),
    "run-lies-elsewhere": lambda f: Sentence(
        "This run does not lie among your runs",
        f"{f.file('folder')} is a folder somewhere else, or a link to one. It can be looked at, but nothing is trained, stopped or "
        f"written there: links in it could lead to files of yours. {_UNCHANGED}",
        "Take it in first: “tpu-studio import FOLDER” copies it, checked. Then use the name that it gets here. If it is a link "
        "among your runs, put the folder itself in its place.",
    ),
    "run-has-links": lambda f: Sentence(
        f"{_run(f)} holds a link or something that is no plain file",
        f"What is written to {f.file()} could end up in a file of yours, so nothing was begun. {_UNCHANGED}",
        "Look where it leads, and remove it if it is not yours. Then try again.",
    ),
    "needs-yes-to-forget": Sentence(
        "What runs taught is forgotten only after a yes",
        "Nothing was changed: your runs and what they taught are untouched.",
        "To forget it, add --yes.",
    ),
    "needs-yes-to-empty": Sentence(
        "The trash is emptied only after a yes",
        "Nothing was changed: what is in it can still be brought back.",
        "To remove it for good, add --yes.",
    ),
    "trash-no-room": lambda f: Sentence(
        f"The disk is too full even to move {_run(f)} to the trash",
        _UNCHANGED,
        f"Empty the trash first. Or “tpu-studio delete --for-good {f.text('run', 'RUN')}” removes the run at once: that "
        "needs no room and cannot be undone.",
    ),
    "run-complete": lambda f: Sentence(
        f"{_run(f)} has done all its steps",
        f"There is nothing left to resume. {_UNCHANGED}",
        "Train it further by some epochs.",
    ),
    "run-elsewhere": lambda f: Sentence(
        f"{_run(f)} belongs to another computer",
        f"Only that one can change it. {_UNCHANGED}",
        "Use it there, or copy its settings.",
    ),
    "run-exists": lambda f: Sentence(
        f"There is a run called {_run(f)} already", _UNCHANGED, "Delete or rename one of the two."
    ),
    "run-not-in-trash": lambda f: Sentence(
        f"{_run(f)} is not in the trash",
        f"It was never deleted, is back already, or was removed for good. {_UNCHANGED}",
        "Look at the list of runs.",
    ),
    "checkpoints-damaged": REASONS[Reason.CHECKPOINT_CORRUPT],
    "base-differs": Sentence(
        "The run began from other starter weights than those installed now",
        "Its copies fit only the weights that it began from; they stay as they are. Nothing was charged.",
        "Go on with the version of TPU Studio that began it, or start the job anew.",
    ),
    "tokenizer-differs": Sentence(
        "The run's text was cut into other tokens than it would be now",
        "Its copies fit only the tokens that it began with; they stay as they are. Nothing was charged.",
        "Go on with the version of TPU Studio that began it, or start the job anew.",
    ),
    "no-checkpoint": lambda f: Sentence(
        f"{_run(f)} has no checkpoint to go on from",
        f"It ended before the first one. {_UNCHANGED}",
        "Train it again from the start.",
    ),
    "no-result": lambda f: Sentence(
        f"{_run(f)} has no model yet",
        f"A model is saved when a run is over or stopped. {_UNCHANGED}",
        "Wait, or stop and keep the model.",
    ),
    "extend-by-nothing": Sentence(
        "Training further needs at least a little more", _UNCHANGED, "Give the number of epochs to add."
    ),
    "limits-of-an-ended-run": lambda f: Sentence(
        f"{_run(f)} is over, so there is nothing left to limit",
        _UNCHANGED,
        "To go on with it: resume it with those limits, or train it further by some epochs.",
    ),
    "profile-under-way": lambda f: Sentence(
        f"A profile of {_run(f)} is being made already",
        "The second request gets the same one. " + _UNCHANGED,
        "Wait for it: it takes some seconds.",
    ),
    "profile-stopping": lambda f: Sentence(
        f"{_run(f)} is ending, so no steps are left to profile",
        _UNCHANGED,
        "Profile the next run while it trains.",
    ),
    "profile-not-training": lambda f: Sentence(
        f"{_run(f)} makes no steps yet",
        "A profile is made of steps while they are made. " + _UNCHANGED,
        "Ask again when it trains.",
    ),
    "money-spent": lambda f: Sentence(
        f"{_run(f)} {_has(f)} cost as much as that limit already",
        f"{_unwatched(f)}{'' if f.raw('rented') else 'The price is simulated: nothing is charged. '}{_AS_IT_WAS}",
        f"Give a higher cost limit{_least(f)}: it counts from the run's beginning.",
    ),
    "money-too-little": lambda f: Sentence(
        "With that cost limit nothing would be trained",
        f"{_unwatched(f)}{_run(f)} {_has(f)} cost {figures.money(_number(f, 'usd'))} already, and what is left does not pay for the start of a "
        f"machine and a minute of training. {_AS_IT_WAS}",
        f"Give a higher one{_least(f)}: it counts from the run's beginning.",
    ),
    "time-too-little": lambda f: Sentence(
        "With that time limit nothing would be trained",
        f"{_unwatched(f)}{_run(f)} {_has(f)} used {_lasted(f, 'used_s')}, and what is left is gone before a machine has started and trained for "
        f"a minute. {_AS_IT_WAS}",
        f"Give a longer time, {_number(f, 'least_hours'):g} h at least: it counts from the run's beginning.",
    ),
    "time-spent": lambda f: Sentence(
        f"{_run(f)} {_has(f)} trained longer than that already",
        f"{_unwatched(f)}It {_has(f)} used {_lasted(f, 'used_s')}. {_AS_IT_WAS}",
        "Give a longer time: it counts from the run's beginning.",
    ),
    "disk-full": lambda f: Sentence("The disk is full", f"{_room(f)}{_UNCHANGED}", "Free some space and try again."),
    "folder-unwritable": lambda f: Sentence(
        f"{f.file('folder', 'The folder')} cannot be written",
        f"The system says: {f.text('raw', 'no reason')}. {_UNCHANGED}",
        "Choose another folder, or make this one writable.",
    ),
    "export-exists": lambda f: Sentence(
        f"{f.file('folder', 'The folder')} is there already",
        f"Nothing in it is overwritten. {_UNCHANGED}",
        "Choose another name.",
    ),
    "start-failed": Sentence(
        "The training program could not be started",
        "Nothing was trained, and nothing was charged.",
        "Repair the training engine in Settings, then start again.",
    ),
    "tpu-not-opened": lambda f: Sentence(
        "The machine is there, but its TPU could not be opened",
        f"Nothing was trained.{f.said()} {_UNCHANGED}",
        "Choose TPU in Colab's menu Runtime, Change runtime type, then run the cells again."
        if places.by_id(f.text("place", "")).notebook
        else "Rent it by the TPU API where it was Compute Engine's; else start it again, or take another size or zone.",
    ),
    "devices-differ": lambda f: Sentence(
        "The computer has other devices than the plan expects",
        f"Planned for {f.text('planned', 'some')}, found {f.text('found', 'others')}. {_UNCHANGED}",
        "Plan the run again here.",
    ),
    "run-unreadable": lambda f: Sentence(
        "The run cannot be read at the moment",
        f"The system says: {f.text('raw', 'no reason')}. The run itself goes on, and its files are untouched.",
        "Try again in a moment. If it stays so, check who may read its folder.",
    ),
    "journal-unreadable": lambda f: Sentence(
        "The notebook of TPU Studio cannot be read",
        f"{f.file('file', 'journal.db')} holds what was begun and not yet finished; without it nothing is started "
        "or stopped here. Nothing was changed; a rented machine goes on and is charged for.",
        "Make its folder writable. If the file is damaged, move it away and start again. “Find billable resources” shows "
        "what is rented.",
    ),
    "home-unwritable": lambda f: Sentence(
        "TPU Studio may not write into its folder",
        f"{f.text('folder', 'It')} is where it notes what is begun and what is rented; without that nothing is started or "
        "stopped here. Nothing was changed; a rented machine goes on and is charged for.",
        "Make the folder writable, or set TPU_STUDIO_HOME to one that is, and start again.",
    ),
    "home-not-yours": lambda f: Sentence(
        f"{f.text('folder', 'The folder of TPU Studio')} "
        + ("may be written into by others" if f.raw("open") else "belongs to somebody else"),
        "Programs and agreements that lie in it would count as yours, so nothing in it was opened or run. Nothing was "
        "changed; a rented machine goes on and is charged for.",
        ("Take from others the right to write into it" if f.raw("open") else "Name a folder that is your own")
        + f", in {f.text('variable', 'TPU_STUDIO_HOME')} or by leaving that variable out, and start again.",
    ),
    "journal-newer": Sentence(
        "This folder was last used by a newer version of TPU Studio",
        f"The two would not understand each other. {_UNCHANGED}",
        "Use the newer version.",
    ),
    "command-line": lambda f: Sentence(
        "That command was not understood",
        f"{f.text('raw', 'Something is missing')}. {_UNCHANGED}",
        f"“{f.text('help', 'tpu-studio --help')}” tells what can be said.",
    ),
    "timing-cancelled": Sentence("The timing was given up", "The estimate stays wide. Nothing was charged.", ""),
    "timing-failed": lambda f: Sentence(
        "The steps could not be timed",
        "The estimate stays wide; that keeps nobody from starting. Nothing was charged.",
        "Start anyway, or repair the training engine in Settings.",
    ),
    "unexpected": Sentence(
        "Something in TPU Studio itself went wrong",
        "Your runs go on without this program, and a machine that is rented still ends at its limit. The mistake itself "
        "costs nothing.",
        "Try again. “tpu-studio sweep” lists whatever may cost money. If it happens again, the details help.",
    ),
}


def _room(f: Facts) -> str:
    if isinstance(f.raw("need_bytes"), (int, float)):
        return f"{f.bytes('need_bytes')} are needed, {f.bytes('free_bytes', 'less')} are free. "
    return ""


def _number(f: Facts, name: str) -> float:
    value = f.raw(name)
    return float(value) if isinstance(value, (int, float)) else 0.0


def _has(f: Facts) -> str:
    return "may have" if f.raw("unwatched") else "has"


def _unwatched(f: Facts) -> str:
    """What nobody saw counts towards the limits (`workflow.cloudruns.lasted`)."""
    return "A machine may have been charged for while nobody looked, and that counts. " if f.raw("unwatched") else ""


def _least(f: Facts) -> str:
    return f", {figures.money(_number(f, 'least_usd'))} at least" if f.raw("least_usd") else ""


def _lasted(f: Facts, name: str) -> str:
    seconds = f.raw(name)
    return figures.duration(float(seconds)) if isinstance(seconds, (int, float)) else "more time"
