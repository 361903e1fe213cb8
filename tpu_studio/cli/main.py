"""Entry of the command line. Every error that a person can meet leaves here as a sentence and an exit code.

Exit codes: 0 done, 1 failed, 2 bad input, 3 stopped by a limit, 4 something must be put in order first, 130 detached.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import make_dataclass
from importlib import import_module
from pathlib import Path

from tpu_studio.cli.output import AnswerLost, Output, never_fail_on_letters
from tpu_studio.cli.parser import Arguments, parse
from tpu_studio.wire import places
from tpu_studio.wire.errors import NotReady, StudioError
from tpu_studio.wire.homes import check_own, home_folder

FAILED, BAD_INPUT, BY_LIMIT, NOT_READY, DETACHED = 1, 2, 3, 4, 130

VERBS = {
    "check": "checking",
    "plan": "planning",
    "run": "running",
    "watch": "running",
    "runs": "keeping",
    "show": "keeping",
    "stop": "keeping",
    "extend": "keeping",
    "resume": "keeping",
    "rename": "marking",
    "tag": "marking",
    "note": "marking",
    "star": "marking",
    "profile": "profiling",
    "delete": "keeping",
    "export": "exporting",
    "import": "importing",
    "convert": "converting",
    "estimate": "estimating",
    "explain": "explaining",
    "compare": "comparing",
    "models": "models",
    "data": "hubdata",
    "engine": "engine",
    "predict": "predicting",
    "doctor": "doctor",
    "practice": "practice",
    "sweep": "sweeping",
    "catalogue": "catalogue",
    "live-check": "livechecking",
}
FUNCTIONS = {"import": "import_", "catalogue": "catalogue_", "live-check": "live_check"}
"""Verbs whose name is something else in Python, or in their module."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code. Never raises but SystemExit of ``--help``."""
    never_fail_on_letters()
    output = Output(as_json="--json" in (sys.argv if argv is None else argv))
    try:
        arguments = parse(sys.argv[1:] if argv is None else list(argv))
        check_own()
        verb: Callable[[Arguments, Output], int] = getattr(
            import_module(f"tpu_studio.cli.{VERBS[arguments.verb]}"), FUNCTIONS.get(arguments.verb, arguments.verb)
        )
        return verb(arguments, output)
    except StudioError as error:
        return _tell(output, error)
    except KeyboardInterrupt:
        output.say("Cancelled. What was started before goes on.")
        return DETACHED
    except AnswerLost as error:
        output.say(f"The answer could not be written: {error}.")
        return FAILED
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has left; nothing more can be said
        return FAILED
    except OSError as error:
        if (told := _of_the_home(error)) is not None:
            return _tell(output, told)
        output.unexpected(error)
        return FAILED
    except Exception as error:  # noqa: BLE001  the boundary of main: no traceback reaches a person, but the log has it
        output.unexpected(error)
        return FAILED
    finally:
        _forget_heard_interrupt()


def _forget_heard_interrupt() -> None:
    """A Ctrl-C that came while Python ran code out of a text, as it makes dataclasses, and that was caught, still ends
    the process as if nobody had heard it: its exit code is lost. The next such text makes Python forget it (CPython
    3.8 to 3.13, `run_eval_code_obj` in pythonrun.c)."""
    make_dataclass("Heard", ())


def _of_the_home(error: OSError) -> StudioError | None:
    """Where the disk has refused what belongs to a person's home; None: it was something else."""
    home, full = home_folder(), error.errno in (errno.ENOSPC, errno.EDQUOT)
    refused = full or error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    if not refused or not isinstance(error.filename, (str, bytes)):
        return None
    path = Path(os.fsdecode(error.filename)).absolute()
    if home != path and home not in path.parents and path not in home.parents:
        return None
    return NotReady("disk-full" if full else "home-unwritable", folder=str(home), raw=str(error))


def _nothing_rented(home: Path) -> bool:
    """Whether this computer knows of nothing of ours that may be going on at Google; in doubt it does not."""
    from tpu_studio.cli.studio import Studio
    from tpu_studio.workflow.livecheck import left

    if (home / left.NAME).exists():
        return False
    if not (home / "runs").is_dir():
        return True
    services = Studio(home)
    try:
        rows = services.reading.list()
        return not any(
            row.problem or (places.by_id(row.place).charges and not (row.over and row.settled and not row.unread))
            for row in rows
        )
    except (StudioError, OSError):
        return False
    finally:
        services.close()


def _tell(output: Output, error: StudioError) -> int:
    if error.id == "signed-out" and _nothing_rented(home_folder()):
        error.facts["nothing_rented"] = True
    try:
        output.error(error)
    except BrokenPipeError:
        sys.stderr.close()
    except AnswerLost as lost:
        output.say(f"{error.id}. The answer could not be written: {lost}.")
    return error.exit_code
