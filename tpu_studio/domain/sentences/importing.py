"""Words for runs that come from elsewhere, and for models that go."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import HUB_FOLDER, Entry, Facts, Sentence

_UNCHANGED = "Nothing was charged, and nothing was changed."
_MODELS = {"damaged": "is damaged", "missing": "is not there", "whole": "is whole"}


def _run(f: Facts) -> str:
    return f"“{f.text('run')}”" if "run" in f else "The run"


def where_they_differ(f: Facts) -> str:
    """What the run here (facts ``here_…``) and its copy (``there_…``) hold, as far as they differ: `workflow.copies`."""
    here, there = f.raw("here_step"), f.raw("there_step")
    if here != there:
        told = [f"The run here ends at step {_step(f, 'here_step')}, the copy at step {_step(f, 'there_step')}."]
    else:
        told = [f"Both end at step {_step(f, 'here_step')}."] if here is not None else []
    ours, theirs = f.raw("here_model"), f.raw("there_model")
    if ours in _MODELS and theirs in _MODELS and ours != theirs:
        told.append(f"Its model {_MODELS[ours]} here, and {_MODELS[theirs]} in the copy.")
    elif f.raw("here_model_step") != f.raw("there_model_step"):
        told.append(
            f"The model here is of step {_step(f, 'here_model_step')}, in the copy of {_step(f, 'there_model_step')}."
        )
    if f.raw("here_checkpoint") != f.raw("there_checkpoint"):
        ours, theirs = _step(f, "here_checkpoint", "none"), _step(f, "there_checkpoint", "none")
        told.append(f"Last checkpoint: {ours} here, {theirs} in the copy.")
    if len(told) < 2 and here == there:
        told.append(f"These differ: {f.text('files', 'some files')}.")
    return " ".join(told)


def _step(f: Facts, name: str, unknown: str = "unknown") -> str:
    return f.text(name, unknown)


ERRORS: dict[str, Entry] = {
    "import-differs": lambda f: Sentence(
        f"{_run(f)} is here already, and the copy differs",
        f"{where_they_differ(f)} {_UNCHANGED}",
        "To have the copy instead, choose “Take the copy” (tpu-studio import … --replace): the run here goes to the trash, "
        "from where it can be brought back beside it.",
    ),
    "zip-run-goes-on": lambda f: Sentence(
        f"{_run(f)} still goes on",
        "A zip is made of a run that is over, for its files change until then. Nothing was written, and nothing more is "
        "charged for asking.",
        "Wait for its end, or stop it and keep its model.",
    ),
    "import-keeps-own": lambda f: Sentence(
        f"{_run(f)} is a rented run of your own",
        f"What it has recorded of its machines and their cost stays where it is. {_UNCHANGED}",
        "To look at the copy all the same, delete the run here first; the trash keeps it.",
    ),
    "result-damaged": lambda f: Sentence(
        f"The model of {_run(f)} is damaged",
        f"{f.text('file', 'A file of it')} is not as the run wrote it, so nothing was copied. {_UNCHANGED}",
        "If the run was copied here, import it again from a whole copy; else resume it, or train one epoch more from its "
        "last checkpoint: the model is written anew then.",
    ),
    "import-not-a-run": lambda f: Sentence(
        f"{f.file('folder', 'The folder')} is not a run",
        f"A run's folder holds a plan.json. {_UNCHANGED}",
        HUB_FOLDER if f.raw("weights") is True else "Choose the run's folder itself.",
    ),
    "import-symlink": lambda f: Sentence(
        "The folder holds a link that leads elsewhere",
        f"{f.file()} could point at anything on this computer, so nothing was copied. {_UNCHANGED}",
        "Copy the run's folder without links.",
    ),
    "import-special-file": lambda f: Sentence(
        "The folder holds something that is no plain file",
        f"{f.file()} is not part of a run. {_UNCHANGED}",
        "Remove it and try again.",
    ),
    "import-failed": lambda f: Sentence(
        "The run could not be copied",
        f"The system says: {f.text('raw', 'no reason')}. The original is untouched.",
        "Try again.",
    ),
}
