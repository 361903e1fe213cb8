"""`tpu-studio` and `python -m tpu_studio`: the command line for verbs, the window for everything else.

    tpu-studio                      the window
    tpu-studio digits.tpujob        the window, with this job (also a run folder, or a file:// address)
    tpu-studio run digits.tpujob    the command line, which never loads Qt
    tpu-studio --self-test          whether this copy of the program is whole (app/selftest.py)
    tpu-studio --plan-pdf P OUT     the program's own: a plan as a PDF (local/planpdf.py)
    tpu-studio --write-rows OUT P … the program's own: rows of Parquet files (data/columnar.py)
    tpu-studio --practice-machine F the packaged program's own: the supervisor of a practice machine

The one module outside the layers: it imports one of them, when asked. It is also where the packaged program begins.
"""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping, Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    os.environ["PYTHONSAFEPATH"] = "1"  # no Python that we start takes modules from the folder we stand in (ownpython)
    if getattr(sys, "frozen", False):
        import multiprocessing

        multiprocessing.freeze_support()  # a worker process of a packaged program starts here as well
        leave_environment_to_others(os.environ)
        hold_own_file()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["--self-test"]:
        from tpu_studio.app.selftest import main as self_test

        return self_test()
    if arguments[:1] == ["--practice-machine"] and len(arguments) == 2:
        from tpu_studio.practice.machines.__main__ import main as practice_machine

        return practice_machine(Path(arguments[1]))
    if arguments[:1] == ["--write-rows"] and len(arguments) > 2:
        from tpu_studio.data.columnarchild import main as write_rows

        return write_rows(Path(arguments[1]), [Path(one) for one in arguments[2:]])
    if arguments[:1] == ["--plan-pdf"] and len(arguments) == 3:
        from tpu_studio.app.planpdf import main as plan_pdf

        return plan_pdf(Path(arguments[1]), Path(arguments[2]))
    if opens_the_window(arguments):
        from tpu_studio.app.main import main as window

        return window(arguments)
    try:
        from tpu_studio.cli.main import main as command_line

        return command_line(arguments)
    except KeyboardInterrupt:  # while it was still being read in
        sys.stderr.write("Cancelled.\n")
        return 130


def opens_the_window(arguments: Sequence[str]) -> bool:
    """Without arguments, and when the first one is a thing to open rather than a verb or an option."""
    if not arguments:
        return True
    first = arguments[0]
    if first.startswith("-"):
        return False
    if first.startswith("file:") or first.endswith(".tpujob") or "/" in first:
        return True
    if not Path(first).is_dir():
        return False
    from tpu_studio.cli.main import VERBS

    return first not in VERBS  # in /, where a folder is called "run", `tpu-studio run` is still the verb


def leave_environment_to_others(environment: MutableMapping[str, str]) -> None:
    """Undo what PyInstaller's start set for itself: our own libraries must not be loaded by the engine's Python, by a
    file manager or by a browser. This process has read them already.
    """
    before = environment.pop("LD_LIBRARY_PATH_ORIG", None)
    if before:
        environment["LD_LIBRARY_PATH"] = before
    else:
        environment.pop("LD_LIBRARY_PATH", None)
    ours = ("QT_PLUGIN_PATH", "QML2_IMPORT_PATH")  # PySide6 finds its plug-ins beside its own libraries anyway
    for name in [name for name in environment if name in ours or name.startswith("_PYI_")]:
        # With _PYI_… a file manager that we opened could not start a second one of us
        del environment[name]


def hold_own_file() -> None:
    """An upgrade may replace a packaged program while it runs: what it has yet to import comes from the old file."""
    import pyimod02_importers  # type: ignore[import-not-found]  # PyInstaller's own, in every packaged program

    if sys.platform == "linux":
        archive = pyimod02_importers.pyz_archive
        archive._filename = f"/proc/self/fd/{os.open(archive._filename, os.O_RDONLY | os.O_CLOEXEC)}"


if __name__ == "__main__":
    sys.exit(main())
