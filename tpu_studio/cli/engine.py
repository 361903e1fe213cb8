"""``engine``: the state of the training engine; install, repair, remove. Ctrl-C cancels cleanly."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.studio import Studio, studio

if TYPE_CHECKING:
    from tpu_studio.local.engine import Engine, Progress

_STEPS = {
    "preparing": "Getting ready",
    "downloading": "Downloading",
    "installing": "Unpacking",
    "checking": "Checking",
    "testing": "Trying it out",
}


def engine(arguments: Arguments, output: Output) -> int:
    """Exit code 4 when the engine is not ready afterwards and nothing else was asked for."""
    with studio() as services:
        found = _extra(services, arguments) if arguments.extra else services.engine
        if arguments.path:
            output.answer({"path": str(found.root)}, str(found.root))
            return 0
        if arguments.install:
            _install(found, output, arguments.wheels)
        elif arguments.repair:
            with cancelling() as cancelled:
                replaced = found.repair(lambda progress: _tell(output, progress), cancelled, arguments.wheels)
            output.say(f"Replaced: {', '.join(replaced)}." if replaced else "Nothing was wrong.")
        elif arguments.remove:
            found.remove()
            output.say(f"Deleted: the {found.spec.title}. Runs and their models stay.")
        state = found.state()
        answer: dict[str, object] = {"path": str(found.root), **state.to_json()}
        text = _as_text(str(found.root), state)
        if not arguments.extra:
            beside = {one.spec.name: one for one in services.extras}
            answer["extras"] = {name: {"path": str(one.root), **one.state().to_json()} for name, one in beside.items()}
            text += "\n\n" + _extras_as_text(beside.values())
        output.answer(answer, text)
        return 0 if state.is_ready or arguments.remove else 4


def install(services: Studio, output: Output, wheels: object = None) -> None:
    """Raises NotReady with what is in the way; ``engine-cancelled`` after Ctrl-C."""
    _install(services.engine, output, wheels)


def _install(found: Engine, output: Output, wheels: Any) -> None:
    from tpu_studio.domain import figures

    title = found.spec.title
    if not found.state().is_ready:
        output.say(f"The {title} will take about {figures.size(found.spec.installed_bytes)} in {found.root}.")
        for words in found.spec.licences:
            output.say(words)
    with cancelling() as cancelled:
        found.install(lambda progress: _tell(output, progress), cancelled, wheels)
    output.say(f"The {title} {'are' if title.endswith('s') else 'is'} ready.")


def _extra(services: Studio, arguments: Arguments) -> Engine:
    """The environment that ``--with`` names.

    Raises:
        NotReady: ``tpu-compiler-licence`` when it is to be fetched and its licence was not accepted.
    """
    from tpu_studio.local.engine.spec import LICENCE
    from tpu_studio.wire.errors import NotReady

    found = next(one for one in services.extras if one.spec.name == arguments.extra)
    fetches = (arguments.install or arguments.repair) and found.spec.needs_acceptance
    if fetches and not arguments.accept_licence and not found.state().is_ready:
        size = found.spec.installed_bytes
        raise NotReady("tpu-compiler-licence", licence=LICENCE, what=arguments.extra, needed_bytes=size)
    return found


@contextmanager
def cancelling() -> Iterator[Callable[[], bool]]:
    """Inside, Ctrl-C is an answer to "cancelled?" instead of an exception in the middle of things; a second one is such
    an exception, for whoever is not heard."""
    pressed = False

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
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

    why = f" ({state.problem}{': ' if state.detail else ''}{state.detail})" if state.problem else ""
    rows = [["Engine", state.status + why], ["Folder", root]]
    if state.size_bytes:
        rows.append(["Size", figures.size(state.size_bytes)])
    rows += [
        [name, state.versions[name]]
        for name in ("tensorflow-tpu", "tensorflow-cpu", "jax", "libtpu", "keras")
        if name in state.versions
    ]
    return table(rows)


def _extras_as_text(extras: Iterable[Engine]) -> str:
    """What stands beside the engine, and the words that install or remove it."""
    from tpu_studio.cli.output import table
    from tpu_studio.domain import figures

    rows = []
    for one in extras:
        state = one.state()
        size = f", {figures.size(state.size_bytes)}" if state.size_bytes else ""
        rows.append([f"--with {one.spec.name}", f"{one.spec.title}: {state.status}{size}"])
    return table(rows)
