"""Words for the free path: how Colab's TPUs work and end, the notebook, and the zip that comes back from it.

Limits are what people report and Google's FAQ says; each stands with its date, for Google changes them unannounced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tpu_studio.domain import figures
from tpu_studio.domain.sentences.sentence import DATA_UNTOUCHED, NOTHING_CHARGED, Entry, Sentence

WAITING = "Waiting for its result from Colab"

LIMITS: tuple[str, ...] = (
    "Free TPUs in Colab are one v5e chip with 16 GiB since September 2025; a TPU is not always available.",
    "People report about 1.5 hours of free TPU a day, a v5e (colabtools#5566); Google publishes no figure.",
    "A session ends after 12 hours at the latest, sooner when nobody looks at the page (Colab's FAQ, read in 2026).",
    "Keep the page open while it trains; what was saved before a session ends is not lost.",
    "Nothing is charged, and no payment is set up: a Google account is enough.",
)

_UNCHANGED = "Nothing was charged, and nothing here was changed."


def steps(notebook: str, data: str = "") -> Sequence[str]:
    """What the person does, one sentence each; *notebook* and *data* are names of files."""
    upload = f"Put {data} into the folder “TPU Studio” of your Drive, or choose it when the notebook asks."
    return (
        f"Open colab.research.google.com, choose Upload, and give it {notebook}.",
        *((upload,) if data else ()),
        "Choose Runtime > Run all, and leave the page open.",
        "At the end drop the zip onto TPU Studio, or take it in with “tpu-studio import FILE.zip”.",
    )


def about(run: str, name: str, accelerator: str, outside: Mapping[str, Any] | None = None) -> str:
    """The notebook's first cell, in Markdown. *outside*: the data that the notebook does not hold (name, bytes)."""
    lines = [
        f"# {_plain(name)}: training in Colab",
        f"This notebook trains the run **{run}** on a free TPU ({accelerator}), exactly as TPU Studio planned it.",
        "",
        "1. Choose *Runtime > Run all*. The right accelerator (v5e-1 TPU) is chosen already.",
        "2. Leave this page open. The line below the last cell tells how far it is.",
        "3. At the end your browser saves a zip. Drop it onto TPU Studio: the run has its curve and its model.",
        "",
    ]
    if outside is not None:
        lines += [
            f"**The data is not in this notebook** ({figures.size(float(outside['bytes']))}). It is the file "
            f"`{outside['name']}` beside it on your computer: put it into the folder “TPU Studio” of your Drive before "
            "you start, or choose it when cell 3 asks.",
            "",
        ]
    return "\n".join([*lines, "How free TPUs work and end:", *(f"* {line}" for line in LIMITS)])


def _plain(name: str) -> str:
    """A job's name in Markdown: no picture in it is fetched when the notebook is opened."""
    return re.sub(r"([\\`*_\[\]<>!#|&])", r"\\\1", " ".join(name.split()))


AFTER = (
    "Was the runtime lost? Open this notebook again and run all: it goes on from the last checkpoint. To stop early, "
    "choose *Runtime > Interrupt execution* once: the model is kept and the zip made."
)

CHECKS: dict[str, Entry] = {
    "colab-session": lambda f: Sentence(
        "It may take more than one free session",
        f"People report about {f.text('low_hours', '1.5')} to {f.text('high_hours', '3.5')} hours of free TPU a day "
        f"(2025 and 2026). {NOTHING_CHARGED}",
        "Keep the run in Drive: the notebook goes on from its last checkpoint the next day.",
    ),
}

ERRORS: dict[str, Entry] = {
    "notebook-exists": lambda f: Sentence(
        f"{f.file()} is there already",
        f"It may be the notebook of another run, so it was not overwritten. {DATA_UNTOUCHED}",
        "Choose another name with --notebook, or move the old one away.",
    ),
    "colab-framework": lambda f: Sentence(
        f"No versions of {f.text('framework', 'this framework')} are known that work in Colab",
        NOTHING_CHARGED,
        "Set training.framework to auto.",
    ),
    "colab-only": Sentence(
        "--notebook and --open are for Colab",
        NOTHING_CHARGED,
        "Add --on colab, or leave them out.",
    ),
    "colab-needs-notebook": Sentence(
        "A run in Colab begins with its notebook",
        f"Nothing was started. {NOTHING_CHARGED}",
        "Make it with “tpu-studio run JOB.tpujob --on colab”.",
    ),
    "run-in-colab": lambda f: Sentence(
        f"{f.text('run', 'This run')} trains in its Colab notebook",
        f"TPU Studio cannot steer it from here. {NOTHING_CHARGED}",
        "Go on in the notebook (run all again), then take in its zip.",
    ),
    "zip-unreadable": lambda f: Sentence(
        f"{f.file('file', 'The file')} cannot be read as a zip",
        f"It may have been cut short while it was downloaded. {_UNCHANGED}",
        "Download it again from Colab or Drive.",
    ),
    "zip-not-a-run": lambda f: Sentence(
        f"There is no run in {f.file('file', 'the zip')}",
        f"A run's zip holds one folder with a plan.json. {_UNCHANGED}",
        "Choose the zip that the notebook made, named after the run.",
    ),
    "zip-unsafe": lambda f: Sentence(
        f"{f.file('file', 'The zip')} holds something that no run has",
        f"“{f.text('entry', 'An entry')}”: {f.text('why', 'it could reach outside its folder')}. {_UNCHANGED}",
        "Do not use this file; take the zip from your own Colab or Drive.",
    ),
    "zip-too-large": lambda f: Sentence(
        f"{f.file('file', 'The zip')} says that it holds {f.bytes('claims_bytes')}",
        f"At most {f.bytes('limit_bytes')} can be taken in here. {_UNCHANGED}",
        "If it is the run's own zip, make room on this disk and try again.",
    ),
    "zip-other-run": lambda f: Sentence(
        f"{f.file('file', 'The zip')} is of the run {f.text('found', 'of another name')}, not of {f.text('run', 'this one')}",
        _UNCHANGED,
        f"Choose the zip named {f.text('run', 'like the run')}.zip.",
    ),
    "zip-other-plan": lambda f: Sentence(
        f"{f.file('file', 'The zip')} calls itself {f.text('run', 'a run that is here')}, but its plan is another one",
        f"Two runs cannot share one name. {_UNCHANGED}",
        "Choose the zip that this run's own notebook made.",
    ),
    "zip-other-course": lambda f: Sentence(
        f"{f.text('run', 'The run')} has ended here already, in another way than in {f.file('file', 'the zip')}"
        if f.raw("ended", True)
        else f"{f.text('run', 'The run')} has trained here already, in another way than in {f.file('file', 'the zip')}",
        f"The notebook was run more than once. What is here stays. {_UNCHANGED}",
        "To have the other one instead: tpu-studio import … --replace, or delete the run here first; the trash keeps it.",
    ),
}
