"""The guardian's command line: claim the attempt, leave the terminal, guard the trainer to its end.

Exit codes, for whoever starts it: 0 the end is written, 2 wrong arguments, 5 the attempt has its guardian already,
6 the run folder cannot be written, 7 the end could not be written. With ``--detach`` the starting process returns as
soon as the claim is made (0) or known to be impossible (5, 6); the guardian itself goes on in a session of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from pathlib import Path

from tpu_studio.trainer.guardian.keeper import Keeper
from tpu_studio.wire.claims import claim_record, create_claim
from tpu_studio.wire.plainfiles import check_plain
from tpu_studio.wire.runfolder import claim_file

DONE, CLAIMED_ALREADY, UNWRITABLE, NO_END = 0, 5, 6, 7


def main(argv: list[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == ["vm"]:
        from tpu_studio.trainer.guardian.vm.main import main as on_a_machine

        return on_a_machine()
    arguments, trainer = _arguments(argv)
    if arguments.detach:
        return _detached(arguments, trainer)
    claim = _claim(arguments)
    return claim if claim in (CLAIMED_ALREADY, UNWRITABLE) else _guard(arguments, trainer)


def _arguments(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(prog="guardian", description="Guard one attempt of a run.")
    parser.add_argument("--run", required=True, type=Path, metavar="FOLDER", help="the run folder")
    parser.add_argument("--attempt", required=True, type=int, metavar="N")
    parser.add_argument("--worker", default=0, type=int, metavar="N")
    parser.add_argument("--turnstile", type=Path, metavar="LOCKFILE", help="wait for one's turn at this lock")
    parser.add_argument(
        "--grace",
        default=180.0,
        type=float,
        metavar="S",
        help="seconds of silence granted to a trainer that was told to stop",
    )
    parser.add_argument("--nice", default=0, type=int, metavar="N")
    parser.add_argument("--detach", action="store_true", help="return once the attempt is claimed")
    own, trainer = (argv[: argv.index("--")], argv[argv.index("--") + 1 :]) if "--" in argv else (argv, [])
    arguments = parser.parse_args(own)
    if not trainer:
        parser.error("the trainer's command line is missing: … -- PROGRAM ARGUMENTS")
    arguments.run = arguments.run.resolve()
    return arguments, trainer


def _claim(arguments: argparse.Namespace) -> int:
    """Claim the attempt: 0, or the exit code that says why not. The lock is held until this process ends."""
    path = claim_file(arguments.run, arguments.attempt)
    try:
        check_plain(arguments.run)
        held = create_claim(path, claim_record(arguments.attempt, arguments.worker))
    except OSError as error:
        print(f"guardian: folder-unwritable: {path}: {error}", file=sys.stderr)
        return UNWRITABLE
    if held is None:
        print(f"guardian: attempt {arguments.attempt} has its guardian already ({path})", file=sys.stderr)
        return CLAIMED_ALREADY
    return 0  # *held* stays open on purpose


def _guard(arguments: argparse.Namespace, trainer: list[str]) -> int:
    if arguments.nice:
        os.nice(arguments.nice)
    try:
        keeper = Keeper(
            arguments.run,
            arguments.attempt,
            trainer,
            worker=arguments.worker,
            turnstile=arguments.turnstile,
            grace_s=arguments.grace,
        )
        written = keeper.run()
    except OSError as error:
        print(f"guardian: folder-unwritable: {error}", file=sys.stderr)
        return UNWRITABLE
    return DONE if written else NO_END


def _detached(arguments: argparse.Namespace, trainer: list[str]) -> int:
    """Guard in a child of its own session; return what became of the claim."""
    told, tell = os.pipe()
    child = os.fork()
    if child:
        os.close(tell)
        word = os.read(told, 1)
        os.close(told)
        return word[0] if word else UNWRITABLE
    code = NO_END
    try:
        os.setsid()
        os.close(told)
        claimed = _claim(arguments)
        os.write(tell, bytes([claimed]))
        os.close(tell)
        code = claimed or _guard(arguments, trainer)
    except BaseException:  # noqa: BLE001  a forked process ends here: told in guardian.log, not in the parent
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
