"""The control files of a run on this disk and those in its bucket, kept alike in the order of their numbers.

Whoever writes to the bucket may lay there what no desktop has asked for: AT_MOST of them are looked at, and what is
larger than BYTES is no control. The rest stays in the bucket, and that is told.
"""

from __future__ import annotations

import errno
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from tpu_studio.wire.controls import AT_MOST, Control, obeyable
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.wire.jsonfile import parse_json
from tpu_studio.wire.plainfiles import create_inside, open_below, write_inside
from tpu_studio.wire.runfolder import control_file, create_once, is_number
from tpu_studio.workflow.cloudruns.ports import Mailbox, needs_a_key

BYTES = 64 << 10
"""Of one that comes down; they have a hundred, and all together then fill 64 MB of this disk at most."""
A_PUSH = 20
"""Numbers that others took, made way for in one push: each is three calls, and the machine must be seen to as well."""
_OVER = "control"


class BucketControls:
    """One run's; methods may raise CloudRefused, CloudUnclear, SignedOut, OSError, and may be called again."""

    def __init__(self, folder: Path, prefix: str, mailbox: Mailbox, leave_out: Callable[[str], None]) -> None:
        """*leave_out* is told of what stays in the bucket, each time."""
        self._folder, self._prefix, self._box, self._leave_out = folder, prefix, mailbox, leave_out
        self._alike = 0  # numbers from 1 to this one are the same here and there

    def push(self) -> None:
        """Control files that the bucket does not have; one whose number another desktop took gets a new number.

        After A_PUSH taken numbers the next push goes on. The newest stop does not wait for that: it goes out ahead,
        under the first free number, as it will then be found there.
        """
        newest = taken = 0
        while (path := control_file(self._folder, self._alike + 1)).exists():
            if taken == A_PUSH:
                self._stop_ahead()
                return
            number, data = self._alike + 1, _control(path)
            if not self._box.create(self._name(number), data):
                if number > AT_MOST:  # it is not for this disk to follow them: what was asked for here stays here
                    self._leave_out(_OVER)
                elif (theirs := self._read(number)) is not None and theirs != data:
                    taken, newest = taken + 1, newest or max(self._numbers())
                    if _record(data) is not None:  # first under its new number: the process may end here
                        newest = self._once_more(newest, data)
                    write_inside(self._folder, path, theirs)
            self._alike = number

    def pull(self) -> None:
        """What other desktops asked for."""
        for number in range(1, AT_MOST + 1):
            path = control_file(self._folder, number)
            if path.exists():
                continue
            data = self._read(number)
            if data is None:
                return
            if create_inside(self._folder, path, data) and self._alike == number - 1:
                self._alike = number
        self._tell_of_more()

    def offered(self, *, here: bool) -> list[Control]:
        """What `Controls` would read once `pull` has run; nothing is written. *here*: those count that lie on this disk
        already."""
        found: list[Control] = []
        for number in range(1, AT_MOST + 1):
            path = control_file(self._folder, number)
            data = _control(path) if here and path.exists() else self._read(number)
            if data is None:
                return found
            found.append({**obeyable(_record(data)), "number": number})
        return found

    def send(self, record: Mapping[str, object]) -> bool:
        """Into the bucket itself, for a disk on which nothing can be written; False: every number is taken."""
        return self._lay(json.dumps({**record, "t": round(time.time(), 3)}, sort_keys=True).encode() + b"\n")

    def sent_at(self, number: int) -> float | None:
        """When a control file came into the bucket, by the cloud's clock; None: it is not there."""
        stored = self._box.stat(self._name(number))
        return None if stored is None else stored.updated

    def _numbers(self) -> list[int]:
        names = (path.stem for path in (self._folder / "control").glob("[0-9]*.json"))
        return [int(name) for name in names if is_number(name)]

    def _once_more(self, newest: int, data: bytes) -> int:
        """The number of *data* behind all that is here, where it may stand already since a push that was cut short."""
        if _control(control_file(self._folder, newest)) == data and newest > self._alike + 1:
            return newest
        while not create_once(control_file(self._folder, newest + 1), data):
            newest += 1
        return newest + 1

    def _stop_ahead(self) -> None:
        """The newest stop that is not known to be in the bucket."""
        for number in sorted((one for one in self._numbers() if one > self._alike), reverse=True):
            data = _control(control_file(self._folder, number))
            if (_record(data) or {}).get("verb") == "stop":
                self._lay(data)
                return

    def _lay(self, data: bytes) -> bool:
        """Into the bucket under the first number that is free there, unless it stands before that; False: none is."""
        stored = self._box.list(f"{self._prefix}control/", start=self._name(1), most=AT_MOST + 1)
        there = {one.name: one.md5 for one in stored}  # what others laid between them hides some: then they are asked
        mine = hashlib.md5(data, usedforsecurity=False).hexdigest()  # Cloud Storage's own sum
        for number in range(1, AT_MOST + 2):  # a machine reads on to the first that is not there
            if (md5 := there.get(self._name(number))) == mine:
                return True
            if md5 is None and self._box.create(self._name(number), data):
                return True
        return False

    def _name(self, number: int) -> str:
        return f"{self._prefix}control/{control_file(self._folder, number).name}"

    def _read(self, number: int) -> bytes | None:
        """What the bucket has under that number; None: nothing. Of what is too large nothing: it asks for nothing."""
        stored = self._box.stat(self._name(number))
        if stored is None:
            return None
        try:
            data = (self._box.read(self._name(number)) or b"") if stored.size <= BYTES else None
        except CloudRefused as error:
            if not needs_a_key(error):
                raise
            data = None
        if data is None or len(data) > BYTES:
            self._leave_out(_OVER)
            return b""
        return data

    def _tell_of_more(self) -> None:
        here = control_file(self._folder, AT_MOST + 1).exists()
        if not here and self._box.stat(self._name(AT_MOST + 1)) is not None:
            self._leave_out(_OVER)


def _control(path: Path) -> bytes:
    """What stands in a control file of ours; nothing where it asks for nothing: no other file of the person's goes up
    because a link, or a copy, is in that place."""
    try:
        with open_below(path.parent.parent, PurePosixPath(path.parent.name, path.name)) as file:
            data = file.read(BYTES + 1)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        data = b""
    return data if len(data) <= BYTES and "verb" in (_record(data) or ()) else b""


def _record(data: bytes) -> Mapping[str, object] | None:
    """The record in a control file; None where it holds none: then nothing was asked for."""
    try:
        record = parse_json(data, "control")
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
