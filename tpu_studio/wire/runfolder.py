"""Names of the files in a run folder, the same on this disk and in a bucket (blueprint §2)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePath, PurePosixPath
from typing import TypeVar

from tpu_studio.wire.homes import make_private
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.newfile import create_new

P = TypeVar("P", bound=PurePath)
PLAN = "plan.json"
OWNER = "owner.json"
WATCHING = "watching.json"
LIMITS_ASKED = "limits-asked.jsonl"  # what was asked for on one computer: never taken along to another
RECEIPT = "result/receipt.json"
COMMITTED = "COMMITTED"
_EVENTS_FILES = 2_048  # of attempts, one for each of a slice's hosts
DESKS_AT_MOST = 100  # desktops whose events come with a run; most runs have one
_FILES = frozenset({PLAN, OWNER, WATCHING, "guardian.log"})
FOLDERS: dict[str, frozenset[str]] = {  # with the endings that their files have; none: any
    "events": frozenset({".jsonl"}),
    "heartbeat": frozenset({".json"}),
    "claims": frozenset({".json"}),
    "ledger": frozenset({".json"}),
    "control": frozenset({".json"}),
    "checkpoints": frozenset(),
    "result": frozenset(),
    "profile": frozenset({".pb"}),
}
_CLAIM = re.compile(r"a([0-9]{4,9})\.json")
ID_LETTERS = 64
_ID = re.compile(rf"[a-z0-9][a-z0-9-]{{0,{ID_LETTERS - 1}}}")


def is_run_id(name: str) -> bool:
    """Whether *name* can be that of a run's folder: no way leads out of it, and every system and bucket can hold it."""
    return _ID.fullmatch(name) is not None


def numbered_id(run: str, number: int) -> str:
    """The id *run* with that *number* behind it, and no longer than an id may be."""
    return f"{run[: ID_LETTERS - len(f'-{number}')]}-{number}"


def belongs(name: PurePosixPath) -> bool:
    """Whether the file *name*, relative to a run's folder, is of a kind that a run's folder has (blueprint §2).

    Who brings a run takes nothing else of it: a module of Python beside the plan has no business there.
    """
    top, *inner = name.parts
    if not inner:
        return top in _FILES
    if top == "claims" and not (len(inner) == 1 and _CLAIM.fullmatch(inner[0])):
        return False
    endings = FOLDERS.get(top)
    return endings is not None and (not endings or name.suffix in endings)


def is_of_desk(name: str) -> bool:
    """Whether the events file called *name* is a desktop's."""
    return name.startswith("desk-")


def surplus(names: Iterable[PurePosixPath]) -> set[PurePosixPath]:
    """Of the files of a run, relative to its folder, the events of more desktops than any run has."""
    desks = sorted(one for one in names if one.parts[0] == "events" and is_of_desk(one.name))
    return set(desks[DESKS_AT_MOST:])


def tops_of(names: Iterable[str]) -> tuple[str, ...]:
    """The files at the top of a run's folder, the folders there that are none of a run's, and odd files in its own."""
    return tuple(sorted({name if name.split("/")[0] in FOLDERS else name.split("/")[0] for name in names}))


def is_known(name: PurePosixPath) -> bool:
    """Whether the program itself writes the file *name* into a run's folder: it belongs, or stays where it is."""
    return belongs(name) or name.parts == (LIMITS_ASKED,)


def has_plan(folder: Path) -> bool:
    """Whether *folder* is a run's; one that nobody lets us look into counts, so that it is listed with its problem."""
    try:
        return (folder / PLAN).exists()
    except OSError:
        return True


def is_torn(folder: Path) -> bool:
    """Whether *folder* holds parts of a run, but not its plan."""
    return not has_plan(folder) and any(
        (folder / part).is_dir() for part in ("events", "claims", "checkpoints", "result")
    )


def events_name(attempt: int, worker: int) -> str:
    """`a0001-w003`: the writer of one events file, an attempt's worker."""
    return f"a{attempt:04d}-w{worker:03d}"


def events_file(run: Path, attempt: int, worker: int = 0) -> Path:
    return run / "events" / f"{events_name(attempt, worker)}.jsonl"


def desk_events_file(run: Path, install: str) -> Path:
    return run / "events" / f"desk-{install}.jsonl"


def heartbeat_file(run: Path, attempt: int, worker: int = 0) -> Path:
    return run / "heartbeat" / f"{events_name(attempt, worker)}.json"


def claim_file(run: Path, attempt: int) -> Path:
    return run / "claims" / f"a{attempt:04d}.json"


def is_number(stem: str) -> bool:
    """Whether a file's name is one of the numbers that the program writes: "²" is a digit, and no number."""
    return stem.isascii() and stem.isdigit() and len(stem) <= 18


def latest_attempt(run: Path) -> int:
    """Of the claims that are there; 0 without one. Files of other names are nobody's claim."""
    found = (_CLAIM.fullmatch(path.name) for path in (run / "claims").glob("a*.json"))
    return max((int(match[1]) for match in found if match), default=0)


def ledger_file(run: Path, attempt: int) -> Path:
    return run / "ledger" / f"a{attempt:04d}.json"


def control_file(run: Path, number: int) -> Path:
    return run / "control" / f"{number:06d}.json"


def checkpoint_folder(run: Path, step: int) -> Path:
    return run / "checkpoints" / f"{step:08d}"


def newest_copy(run: Path) -> int | None:
    """The step of the newest whole checkpoint, whatever the run's events say of it."""
    whole = (path.parent.name for path in (run / "checkpoints").glob(f"*/{COMMITTED}"))
    return max((int(name) for name in whole if name.isascii() and name.isdecimal()), default=None)


def result_folder(run: Path) -> Path:
    return run / "result"


def profile_folder(run: Path) -> Path:
    """Raw traces of profiles, each in a folder with the number of the step at which it began."""
    return run / "profile"


def model_from_before(run: Path) -> dict[str, object]:
    """``kept_step`` of the model in *run*'s result, for words about an end at which none was written; {} if none."""
    result = result_folder(run)
    try:
        if not (result / "model.keras").is_file():
            return {}
        return {"kept_step": int(read_json(result / "model.json")["trained"]["steps"])}
    except (OSError, ValueError, KeyError, TypeError, OverflowError):  # no readable card: then nothing is promised
        return {}


def beside(path: P, ending: str) -> P:
    """A hidden name beside *path* that nobody uses, and nobody can guess: others may write into the folder, too."""
    return path.with_name(f".{path.name[:40]}.{os.urandom(8).hex()}.{ending}")


def write_atomically(path: Path, data: bytes) -> None:
    """Write *data* beside *path*, sync it, and put it in place: after a crash either the old or the new is there."""
    make_private(path.parent)
    temporary = beside(path, "tmp")
    try:
        with create_new(temporary) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def create_once(path: Path, data: bytes) -> bool:
    """Create *path* with *data* unless it is there; True when this call created it, whole or not at all."""
    make_private(path.parent)
    temporary = beside(path, "new")
    with create_new(temporary) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, path)  # fails when the name is taken; atomic, unlike open("x") and a later write
        return True
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)


def events_names(run: Path) -> list[Path]:
    """All events files of a run, in the order in which they count: desktop files first, then attempts. Of more than
    `_EVENTS_FILES` of attempts, those of the first workers and some: each is asked for at every look at the list, and
    whoever shares a run may have laid any number."""
    folder = run / "events"
    try:
        names = os.listdir(folder)  # not glob: the list of runs asks this of each run, each second
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    found = sorted(name for name in names if name.endswith(".jsonl"))
    desks, attempts = [name for name in found if is_of_desk(name)], [name for name in found if not is_of_desk(name)]
    if len(attempts) > _EVENTS_FILES:
        first = [name for name in attempts if name.endswith("-w000.jsonl")][:_EVENTS_FILES]
        others = [name for name in attempts if not name.endswith("-w000.jsonl")]
        attempts = sorted([*first, *others[: _EVENTS_FILES - len(first)]])
    return [folder / name for name in (*desks, *attempts)]
