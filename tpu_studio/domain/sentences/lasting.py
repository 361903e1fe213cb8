"""Words for what lasts through damage: records that were put back, a run that another computer took, copies in a bucket."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.sentences.sentence import Entry, Facts, Sentence
from tpu_studio.wire import places
from tpu_studio.wire.events import is_time


def copy_in_bucket(f: Facts) -> str:
    """What can be gone on from; ``saved_step``: its step, None: there is none, absent: it was not looked for."""
    if "saved_step" not in f and not f.none("saved_step"):
        return "A copy that was saved before is in the bucket."
    if f.raw("saved_step") is None:
        return "No copy of the model had been saved yet."
    return f"The copy of step {f.text('saved_step')} is in the bucket."


def _taken_over(f: Facts) -> Sentence:
    at = f.raw("t")
    when = f" at {figures.clock(float(at))}" if is_time(at) else ""
    on = " --on practice" if places.by_id(f.text("place")).rehearses else ""
    take = f"tpu-studio watch gs://{f.text('bucket', '…')}/runs/{f.text('run')}{on}"
    return Sentence(
        f"Taken over by {f.text('host', 'another computer')}{when}; read only here",
        "That computer sees to the machine now. This one only follows: nothing was changed, and nothing more was charged "
        "by it.",
        f"Stop or extend it there, or take it back with “{take}”. If you know of no such computer: the sweep “Find billable "
        "resources” deletes its machine from here.",
    )


def _not_recorded(f: Facts) -> Sentence:
    """Facts: *full*, else it is not writable; *place*; *rented*: a machine may be there, absent: nobody knows here."""
    full, charges = f.raw("full") is True, "place" not in f or places.by_id(f.text("place")).charges
    if f.raw("rented") is False:
        meaning = "No machine is rented now, so nothing is charged, and none is rented until there is room."
    else:
        meaning = (
            f"Its machine goes on{', and is charged for' if charges else ''}. The limits hold as before: by the machine "
            "itself, by its shut-off timers where it was launched with them, and from here. No new machine is rented, and "
            f"what it says waits in the bucket{'' if charges else '; nothing is charged'}."
        )
    raw = f" The system says: {f.text('raw')}." if "raw" in f else ""
    return Sentence(
        "This computer's disk is full: what the run does cannot be kept here"
        if full
        else "The run's folder cannot be written: what it does cannot be kept here",
        meaning + raw,
        "Free some space; the rest is fetched then." if full else "Make the folder writable; the rest is fetched then.",
    )


ERRORS: dict[str, Entry] = {
    "run-taken-over": _taken_over,
    "stop-not-sent": lambda f: Sentence(
        f"“{f.text('run')}” was not told to stop",
        f"{'It goes on in the cloud and is charged for' if f.raw('charges') is True else 'It goes on; nothing is charged'}"
        f", until its limits end it. The word could be written neither here nor into its bucket. The system says: "
        f"{f.text('raw', 'no reason')}.",
        "Free some space, or see that this computer is connected, and stop it again.",
    ),
    "run-not-recorded": lambda f: _not_recorded(f),
    "journal-put-aside": lambda f: Sentence(
        "The notebook of TPU Studio was damaged, and a new one was begun",
        f"The damaged one is kept as {f.file('file')}. What your runs have open on rented machines was read from their "
        "folders and is looked up at Google; the runs themselves are untouched, and nothing more is charged.",
        "“Find billable resources” (tpu-studio sweep) shows all that is rented.",
    ),
}
NOTICES: dict[str, Entry] = {
    "plan-mended": lambda f: Sentence(
        "The plan of this run was damaged, and is back",
        f"It is the one that was launched, from the {'bucket' if f.text('source') == 'bucket' else 'notebook of this computer'}. "
        "Nothing was lost, and nothing more is charged.",
    ),
    "extended-at-the-end": Sentence(
        "More epochs were asked for as training ended",
        "The machine had done its last step and could not hear of it any more, so another one trains them from the last "
        "copy, within the limits.",
    ),
    "extension-unheard": Sentence(
        "The epochs that were asked for last were not trained",
        "The run ended before its machine heard of them. Nothing was charged for them.",
        "Resume the run, and they are trained too.",
    ),
}
