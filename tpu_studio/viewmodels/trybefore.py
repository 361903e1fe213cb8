"""Whether the model before training can be asked beside the one that has learned, here and now, or why not.

Of language models that began from pretrained weights. What they began from is looked for where the plan says, by its
files' names and sizes; the program that reads it checks its sha256.
"""

from __future__ import annotations

from pathlib import Path

from tpu_studio.domain import figures
from tpu_studio.wire import bases, hub, owncode, presets, tasks
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import result_folder

EACH = 3  # bytes for each of the file of a model while it is opened: what is read, what is turned, what stays
PROGRAM = 1 << 30  # bytes of a program with its framework, and what it computes with


def is_offered(plan: Plan) -> bool:
    """Whether there is such a model at all, here or elsewhere."""
    model = plan.job.model
    return tasks.by_id(plan.task).has_tokens and not model.is_own and bool(model.folder and plan.preset_sha256)


def problem(plan: Plan, run: Path, *, imported: bool, memory_bytes: int) -> str:
    """A sentence; "" where it can be asked. For another thread: it looks at the disk.

    Args:
        run: The run's folder.
        imported: It was brought here as files, so its plan may be a stranger's: a path in it is not followed.
        memory_bytes: That this computer has.
    """
    given = plan.job.model.folder
    if imported and not presets.is_name(given):
        return "This run was brought here, and what it began from is named by a path of another computer."
    folder = presets.folder_of(given, plan.job.base)
    if owncode.in_a_share(folder) or not folder.is_dir():
        return f"What it began from, {_name(given, folder)}, is not on this computer (any more)."
    if hub.is_name(given) and ((entry := hub.entry(folder)) is None or not entry.is_whole(folder)):
        return (
            f"The weights of {given.removeprefix(hub.PREFIX)} are not on this computer. Models → Download brings them."
        )
    return _too_little(run, memory_bytes)


def _too_little(run: Path, memory_bytes: int) -> str:
    try:
        size = (result_folder(run) / bases.MODEL).stat().st_size
    except OSError:
        return ""  # what is wrong with the model is told when it is asked
    wanted = 2 * (EACH * size + PROGRAM)
    if wanted <= memory_bytes:
        return ""
    return (
        f"Both models take about {figures.size(wanted)} of memory, and this computer has {figures.size(memory_bytes)}."
    )


def _name(given: str, folder: Path) -> str:
    return f"run {bases.run_of(given)}" if bases.is_run(given) else f"“{folder.name}”"
