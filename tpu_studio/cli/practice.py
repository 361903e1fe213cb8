"""``practice``: serve the practice cloud, in the foreground or detached, have things go wrong in it, or end it."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.wire.errors import BadInput, NotReady
from tpu_studio.wire.homes import home_folder

if TYPE_CHECKING:
    from tpu_studio.practice.settings import Settings


def practice(arguments: Arguments, output: Output) -> int:
    """In the foreground it runs until Ctrl-C or a stop."""
    from tpu_studio.domain.doubts import read_doubt
    from tpu_studio.practice import daemon
    from tpu_studio.practice.cloud import account_of
    from tpu_studio.practice.faults import FAULTS
    from tpu_studio.practice.settings import Settings, folder_of

    home = home_folder()
    if arguments.stop:
        was_there = daemon.stop(home)
        output.answer({"stopped": was_there}, "Stopped." if was_there else "It was not running.")
        return 0
    if "list" in arguments.fault:
        faults = [{"name": fault.name, "group": fault.group, "sentence": fault.sentence} for fault in FAULTS.values()]
        output.answer({"faults": faults}, "\n".join(f"{one['name']:28}{one['sentence']}" for one in faults))
        return 0
    if arguments.doubts:
        return _list_doubts(output)
    for text in arguments.doubt:
        read_doubt(text)
    for text in arguments.fault:
        if text.partition(":")[0] not in FAULTS:
            raise BadInput("practice-fault-unknown", fault=text, known=sorted(FAULTS))
    if arguments.speed is not None and arguments.speed <= 0:
        raise BadInput("practice-speed", speed=arguments.speed)
    settings = Settings(folder_of(home), speed=arguments.speed or 1.0, new=arguments.account == "new")
    if arguments.account not in (None, account_of(settings) or arguments.account):
        raise NotReady("practice-account-other", account=account_of(settings), folder=str(settings.folder))
    if (running := daemon.running(home)) is not None:
        if arguments.fault or arguments.doubt:
            return _arm(home, arguments, output)
        if arguments.detached and arguments.speed is None and not arguments.port:
            output.answer(running, _told(running))
            return 0
    elif arguments.detached:
        line = daemon.start_or_join(home, options=_again(arguments))
        output.answer(line, _told(line))
        return 0
    return _serve(settings, arguments, output)


def _serve(settings: Settings, arguments: Arguments, output: Output) -> int:
    from tpu_studio.practice import daemon

    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    def ready(line: dict[str, object]) -> None:
        output.answer(line, _told(line))
        if not arguments.as_server:
            output.say("Nothing here costs money. Ctrl-C ends the server; machines go on until “practice --stop”.")

    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    idle_s = daemon.IDLE_S if arguments.as_server else None
    try:
        daemon.serve(settings, tuple(arguments.fault), arguments.port, ready, ended, idle_s, tuple(arguments.doubt))
    except ValueError as error:
        raise BadInput("practice-fault-wrong", raw=str(error)) from error
    return 0


def _told(line: dict[str, object]) -> str:
    where = f"project {line['project']}, zone {line['zone']}" if line["project"] else "a new account without a project"
    return f"The practice cloud listens at {line['url']}, {where}.\nIts owner's token: {line['token']}"


def _again(arguments: Arguments) -> tuple[str, ...]:
    """The options of this call, for the server that it starts."""
    options = [("--account", arguments.account), ("--speed", arguments.speed), ("--port", arguments.port or None)]
    options += [("--fault", one) for one in arguments.fault] + [("--doubt", one) for one in arguments.doubt]
    return tuple(f"{name}={value}" for name, value in options if value is not None)


def _arm(home: Path, arguments: Arguments, output: Output) -> int:
    """Faults and doubts for the server that runs for *home*."""
    from tpu_studio.practice import daemon

    try:
        faults = daemon.arm(home, arguments.fault)
        doubts = daemon.doubt(home, arguments.doubt)
    except ValueError as error:
        raise BadInput("practice-fault-wrong", raw=str(error)) from error
    told = ["The practice cloud that runs has it now."]
    if faults:
        told.append(f"Injected faults: {', '.join(str(one['name']) for one in faults)}.")
    if doubts:
        told.append(f"What is otherwise than assumed: {', '.join(f'{key}={way}' for key, way in doubts.items())}.")
    output.answer({"armed": faults, "doubts": doubts}, " ".join(told))
    return 0


def _list_doubts(output: Output) -> int:
    """The whole table, without a server."""
    from tpu_studio.domain.doubts import doubts

    lines = []
    for one in doubts().values():
        lines.append(f"{one.id}: {one.assumed}")
        lines += [f"    ={way}: {one.ways[way]}" for way in one.others]
        if not one.by_practice:
            lines.append(f"    not played here ({one.playable.removeprefix('no: ')})")
    output.answer({"doubts": [one.record() for one in doubts().values()]}, "\n".join(lines))
    return 0
