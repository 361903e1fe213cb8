"""``practice``: serve the practice cloud in the foreground, have things go wrong in one that runs, or end it."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.homes import home_folder


def practice(arguments: Arguments, output: Output) -> int:
    """Runs until Ctrl-C, a stop, or (detached) nobody needs it."""
    from tpu_studio.practice import daemon
    from tpu_studio.practice.faults import FAULTS
    from tpu_studio.practice.settings import Settings

    home = home_folder()
    if arguments.stop:
        was_there = daemon.stop(home)
        output.answer({"stopped": was_there}, "Stopped." if was_there else "It was not running.")
        return 0
    if "list" in arguments.fault:
        faults = [{"name": fault.name, "group": fault.group, "sentence": fault.sentence} for fault in FAULTS.values()]
        output.answer({"faults": faults}, "\n".join(f"{one['name']:28}{one['sentence']}" for one in faults))
        return 0
    for text in arguments.fault:
        if text.partition(":")[0] not in FAULTS:
            raise BadInput("practice-fault-unknown", fault=text, known=sorted(FAULTS))
    if arguments.speed <= 0:
        raise BadInput("practice-speed", speed=arguments.speed)
    if arguments.fault and daemon.running(home) is not None:
        try:
            armed = daemon.arm(home, arguments.fault)
        except ValueError as error:
            raise BadInput("practice-fault-wrong", raw=str(error)) from error
        names = ", ".join(str(one["name"]) for one in armed)
        output.answer({"armed": armed}, f"The practice cloud that runs has it now. What goes wrong there: {names}.")
        return 0
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    def ready(line: dict[str, str]) -> None:
        told = f"The practice cloud listens at {line['url']}, project {line['project']}, zone {line['zone']}.\n"
        output.answer(line, f"{told}Its owner's token: {line['token']}")
        if not arguments.detached:
            output.say("Nothing here costs money. Ctrl-C ends the server; machines go on until “practice --stop”.")

    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    settings = Settings(daemon.folder(home), speed=arguments.speed)
    idle_s = daemon.IDLE_S if arguments.detached else None
    try:
        daemon.serve(settings, tuple(arguments.fault), arguments.port, ready, ended, idle_s)
    except ValueError as error:
        raise BadInput("practice-fault-wrong", raw=str(error)) from error
    return 0
