"""``engine``: the state of the training engine; install, repair, remove. Ctrl-C cancels cleanly."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.studio import Studio, studio

if TYPE_CHECKING:
    from tpu_studio.local.engine import Progress

_STEPS = {"preparing": "Getting ready", "downloading": "Downloading", "installing": "Unpacking", "checking": "Checking",
          "testing": "Trying it out"}  # fmt: skip


def engine(arguments: Arguments, output: Output) -> int:
    """Exit code 4 when the engine is not ready afterwards and nothing else was asked for."""
    with studio() as services:
        found = services.engine
        if arguments.path:
            output.answer({"path": str(found.root)}, str(found.root))
            return 0
        if arguments.install:
            install(services, output, arguments.wheels)
        elif arguments.repair:
            with cancelling() as cancelled:
                replaced = found.repair(lambda progress: _tell(output, progress), cancelled, arguments.wheels)
            output.say(f"Replaced: {', '.join(replaced)}." if replaced else "Nothing was wrong.")
        elif arguments.remove:
            found.remove()
            output.say("The training engine is deleted. Runs and their models stay.")
        state = found.state()
        output.answer({"path": str(found.root), **state.to_json()}, _as_text(str(found.root), state))
        return 0 if state.is_ready or arguments.remove else 4


def install(services: Studio, output: Output, wheels: Any = None) -> None:
    """Raises NotReady with what is in the way; ``engine-cancelled`` after Ctrl-C."""
    with cancelling() as cancelled:
        services.engine.install(lambda progress: _tell(output, progress), cancelled, wheels)
    output.say("The training engine is ready.")


@contextmanager
def cancelling() -> Iterator[Callable[[], bool]]:
    """Inside, Ctrl-C is an answer to "cancelled?" instead of an exception in the middle of things."""
    pressed = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _tell(output: Output, progress: Progress) -> None:
    from tpu_studio.domain import figures

    words = [_STEPS.get(progress.step, progress.step)]
    if progress.packages_total:
        words.append(f"{progress.packages} of {progress.packages_total} packages")
    if progress.bytes_total:
        words.append(f"{figures.size(progress.bytes)} of {figures.size(progress.bytes_total)}")
    if progress.retrying:
        words.append("the network does not answer, trying again")
    elif progress.name:
        words.append(progress.name)
    output.progress(progress.share, " · ".join(words))


def _as_text(root: str, state: Any) -> str:
    from tpu_studio.cli.output import table
    from tpu_studio.domain import figures

    rows = [["Engine", state.status + (f" ({state.problem})" if state.problem else "")], ["Folder", root]]
    if state.size_bytes:
        rows.append(["Size", figures.size(state.size_bytes)])
    rows += [
        [name, state.versions[name]]
        for name in ("tensorflow", "tensorflow-cpu", "jax", "keras")
        if name in state.versions
    ]
    return table(rows)
