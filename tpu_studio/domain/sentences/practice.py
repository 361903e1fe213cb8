"""Words for the practice cloud's own troubles: it does not start, or somebody has it already."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import Entry, Sentence

_FREE = "Nothing was charged: practice costs nothing."

ERRORS: dict[str, Entry] = {
    "practice-running": lambda f: Sentence(
        "The practice cloud runs already",
        f"It has these files and listens at {f.text('url', 'another port')}. {_FREE}",
        "Use that one, or end it with “tpu-studio practice --stop”.",
    ),
    "practice-account-other": lambda f: Sentence(
        f"This practice cloud began as a {f.text('account', 'different')} account",
        f"What an account began as it stays; its projects and files are in {f.text('folder', 'its folder')}. {_FREE}",
        "Leave --account out to go on with it, or set TPU_STUDIO_HOME to another folder for a fresh one.",
    ),
    "practice-failed": Sentence(
        "The practice cloud did not start",
        f"Its server ended or never answered. {_FREE}",
        "Try again; if it stays, the details show what it said.",
    ),
    "practice-damaged": lambda f: Sentence(
        "The practice cloud's memory is damaged",
        f"What it had written in {f.text('folder', 'its folder')} cannot be read, so its machines and buckets are not there any "
        f"more. {_FREE} Your runs on this computer and at Google are untouched.",
        "Delete that folder, or move it away: the next start makes a new practice cloud. The details name the place.",
    ),
    "practice-port-taken": lambda f: Sentence(
        f"Port {f.text('port', '--port')} cannot be used",
        f"Another program has it, or it needs more rights. {_FREE}",
        "Choose another with --port, or leave it out and any free port is taken.",
    ),
    "practice-stop-unrecorded": lambda f: Sentence(
        "The practice cloud has ended, but could not write that down",
        f"Its machines are ended. The disk with {f.text('folder', 'its folder')} took nothing more, so what was asked for "
        f"comes back at the next start. {_FREE}",
        "Make room on that disk, then run “tpu-studio practice --detached” and “tpu-studio practice --stop” once more.",
    ),
    "practice-does-not-stop": lambda f: Sentence(
        "The practice cloud does not end",
        f"It was told to and still listens at {f.text('url')}. {_FREE}",
        "Wait a moment and try again.",
    ),
    "practice-fault-unknown": lambda f: Sentence(
        f"There is no fault called “{f.text('fault', 'that')}”",
        f"The practice cloud can do these: {f.text('known', 'those in its list')}. {_FREE}",
        "Choose one of them.",
    ),
    "practice-fault-wrong": lambda f: Sentence(
        "A fault is written wrongly",
        f"{f.text('raw', 'A value is missing')}. {_FREE}",
        "Write it as NAME or NAME:key=value,key=value, for example preempted-at-step:step=40.",
    ),
    "doubt-unknown": lambda f: Sentence(
        f"There is no doubt called “{f.text('doubt', 'that')}”",
        f"The table of what the program assumes of Google has {f.text('nearest', 'other names')}. {_FREE}",
        "Choose one of them; “tpu-studio practice --doubts” lists all.",
    ),
    "doubt-way-unknown": lambda f: Sentence(
        f"“{f.text('doubt', 'This doubt')}” has no other way called “{f.text('way', 'that')}”",
        f"Google may answer there otherwise by: {f.text('known', 'one way only')}. {_FREE}",
        "Write it as ID or ID=other; “tpu-studio practice --doubts” says what each means.",
    ),
    "doubt-unplayable": lambda f: Sentence(
        f"The practice cloud cannot answer “{f.text('doubt', 'this doubt')}” the other way",
        f"Why: {f.text('why', 'only a live account shows it')}. {_FREE}",
        "Choose another; “tpu-studio practice --doubts” says which are played.",
    ),
    "practice-speed": lambda f: Sentence(
        f"Practice time cannot run {f.text('speed', 'that many')} times as fast as real time",
        f"The speed must be above 0; 1 is real time. {_FREE}",
        "Choose a number above 0.",
    ),
}
