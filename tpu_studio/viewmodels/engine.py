"""The training engine as the window shows it: is it there, how far is it, what went wrong, what can be done.

Used by Settings, by the dialog that appears when a run needs an engine, and by Home's ready line. The engine itself
is `local.engine.Engine`; here stand its shape (so that no layer is skipped) and the words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from tpu_studio.domain import figures
from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire import frameworks

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Handle, Tasks

_NAMES = {name: one.title for one in frameworks.all_frameworks() for name in one.packages} | {"keras": "Keras"}
HEADLINE = tuple(_NAMES)
SIZE = "about 470 MB to download, 2.1 GB on disk"
_STEPS = {
    "preparing": "Getting ready",
    "downloading": "Downloading",
    "installing": "Unpacking",
    "checking": "Checking",
    "testing": "Trying it out",
}


class EngineStateLike(Protocol):
    @property
    def status(self) -> str: ...
    @property
    def problem(self) -> str: ...
    @property
    def versions(self) -> Mapping[str, str]: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def python(self) -> str: ...


class ProgressLike(Protocol):
    @property
    def step(self) -> str: ...
    @property
    def packages(self) -> int: ...
    @property
    def packages_total(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def bytes_total(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def retrying(self) -> bool: ...
    @property
    def share(self) -> float: ...


class EngineLike(Protocol):
    """What this view-model needs of `local.engine.Engine`; all calls block and run away from the window."""

    def state(self) -> EngineStateLike: ...
    def install(self, progress: Callable[[Any], None], cancelled: Callable[[], bool]) -> Any: ...
    def repair(self, progress: Callable[[Any], None], cancelled: Callable[[], bool]) -> object: ...
    def remove(self) -> Any: ...


@dataclass(frozen=True)
class Bar:
    """How far an installation is: *share* 0 to 1, and the words beside the bar."""

    share: float
    title: str
    detail: str


@dataclass(frozen=True)
class EngineView:
    """*status*: ``unknown`` until asked, then as the engine says (missing, installing, broken, outdated, ready).

    *doing* is "", ``install``, ``repair`` or ``remove`` while this window does it.
    """

    status: str = "unknown"
    cause: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    size_bytes: int = 0
    python: str = ""
    doing: str = ""
    cancelling: bool = False
    bar: Bar | None = None
    problem: Problem | None = None

    @property
    def ready(self) -> bool:
        """Good for training."""
        return self.status == "ready" and not self.doing

    @property
    def tone(self) -> str:
        if self.problem or self.status == "broken":
            return "bad"
        return "ok" if self.ready else "accent" if self.doing or self.status == "installing" else "neutral"

    @property
    def word(self) -> str:
        if self.doing:
            words = {"install": "Being created", "repair": "Being checked and repaired", "remove": "Being removed"}
            return words[self.doing]
        return {
            "unknown": "Looking",
            "missing": "Not there yet",
            "installing": "Being created by another program",
            "broken": "Needs repair",
            "outdated": "Needs an update",
            "ready": "Ready",
        }.get(self.status, self.status)

    @property
    def sentence(self) -> str:
        if self.doing == "remove":
            return "The engine is being removed. Your runs and models stay."
        if self.doing:
            return "You can go on using the window. The engine counts only after it has passed its own test."
        if self.status == "missing":
            return (
                "Training needs TensorFlow, JAX and Keras. They live in a folder of their own, apart from this app "
                f"({SIZE})."
            )
        if self.status == "installing":
            return "Another TPU Studio program is creating the engine. It will be ready here as well."
        if self.status == "broken":
            cause = _CAUSES.get(self.cause, "Something in it is missing.")
            return f"{cause} Repairing puts it right; your runs are not affected."
        if self.status == "outdated":
            return (
                "It belongs to another version of this app. Updating brings the packages that this version was tested "
                "with; your runs are not affected."
            )
        return self.summary if self.status == "ready" else ""

    @property
    def summary(self) -> str:
        """TensorFlow 2.21.0, JAX 0.10.2, Keras 3.15.1 · Python 3.11.7"""
        named = [f"{_NAMES[name]} {self.versions[name]}" for name in HEADLINE if name in self.versions]
        return ", ".join(named) + (f" · Python {self.python}" if self.python else "")

    @property
    def size(self) -> str:
        return figures.size(self.size_bytes) if self.size_bytes else ""

    @property
    def remedy(self) -> tuple[str, str]:
        """What makes it ready: the command (``install``, ``repair`` or "") and the words of its button."""
        if self.doing or self.status in ("unknown", "installing", "ready"):
            return "", ""
        if self.status == "missing":
            return "install", "Create the engine"
        if self.status == "outdated":
            return "install", "Update the engine"
        return ("install", "Finish the engine") if self.cause == "unfinished" else ("repair", "Repair the engine")

    @property
    def may_repair(self) -> bool:
        return not self.doing and self.status in ("broken", "ready")

    @property
    def may_remove(self) -> bool:
        return not self.doing and self.status in ("broken", "outdated", "ready")


_CAUSES = {
    "unfinished": "It was never finished.",
    "record-unreadable": "Its record cannot be read.",
    "python-gone": "The Python that it was made with has gone from this computer.",
    "package-gone": "One of its packages has gone.",
    "package-other": "One of its packages is of another version than the one that was tested.",
    "library-changed": "One of its libraries has gone or was replaced.",
}


class EngineViewModel:
    """Commands: `look`, `install`, `repair`, `cancel`, `remove`; `tick` takes over the latest progress."""

    def __init__(self, tasks: Tasks) -> None:
        self.state = Observable(EngineView())
        self._tasks = tasks
        self._engine: EngineLike | None = None
        self._progress: ProgressLike | None = None
        self._cancel = False
        self._handle: Handle | None = None
        self._when_ready: list[Callable[[], None]] = []

    def connect(self, engine: EngineLike) -> None:
        """Give the engine, which is built after the first picture is on screen, and look at it."""
        self._engine = engine
        self.look()

    def look(self) -> None:
        if self._engine is None or self.state.value.doing:
            return
        self._tasks.submit(self._engine.state, done=self._seen, failed=self._failed)

    def install(self, then: Callable[[], None] | None = None) -> None:
        """Create the engine, or take part in what is going on; *then* is called once it is ready."""
        self._start("install", then)

    def repair(self, then: Callable[[], None] | None = None) -> None:
        self._start("repair", then)

    def cancel(self) -> None:
        """Ask the installation to stop; what was downloaded is kept for the next try."""
        if self.state.value.doing in ("install", "repair"):
            self._cancel = True
            self.state.set(replace(self.state.value, cancelling=True))

    def remove(self) -> None:
        engine = self._engine
        if engine is None or not self.state.value.may_remove:
            return
        self.state.set(replace(self.state.value, doing="remove", problem=None, bar=None))
        self._tasks.submit(lambda: (engine.remove(), engine.state())[1], done=self._seen, failed=self._failed)

    def dismiss(self) -> None:
        self.state.set(replace(self.state.value, problem=None))

    def tick(self) -> None:
        progress = self._progress
        if progress is None or not self.state.value.doing:
            return
        self.state.set(replace(self.state.value, bar=bar_of(progress)))

    def _start(self, doing: str, then: Callable[[], None] | None) -> None:
        if then is not None:
            self._when_ready.append(then)
        engine = self._engine
        if engine is None or self.state.value.doing:
            return
        self._cancel, self._progress = False, None
        self.state.set(
            replace(self.state.value, doing=doing, cancelling=False, problem=None, bar=Bar(0.0, "Getting ready", ""))
        )
        act = engine.install if doing == "install" else engine.repair

        def work() -> EngineStateLike:
            act(self._take, lambda: self._cancel)
            return engine.state()

        self._handle = self._tasks.submit(work, done=self._seen, failed=self._failed)

    def _take(self, progress: ProgressLike) -> None:
        self._progress = progress  # one assignment, called from another thread; `tick` takes it over

    def _seen(self, seen: EngineStateLike) -> None:
        self._progress = None
        self.state.set(EngineView(seen.status, seen.problem, seen.versions, seen.size_bytes, seen.python))
        if self.state.value.ready:
            waiting, self._when_ready = self._when_ready, []
            for then in waiting:
                then()

    def _failed(self, error: BaseException) -> None:
        stopped = getattr(error, "id", "") == "engine-cancelled"
        doing, self._progress = self.state.value.doing, None
        self._when_ready.clear()
        problem = None if stopped else problem_of(error)
        self.state.set(replace(self.state.value, doing="", cancelling=False, bar=None, problem=problem))
        if doing and self._engine is not None:  # what is there now: a cancelled one leaves the old engine or none
            self._tasks.submit(self._engine.state, done=self._seen_after_failure, failed=lambda error: None)

    def _seen_after_failure(self, seen: EngineStateLike) -> None:
        self.state.set(
            EngineView(
                seen.status, seen.problem, seen.versions, seen.size_bytes, seen.python, problem=self.state.value.problem
            )
        )


def bar_of(progress: ProgressLike) -> Bar:
    """Words for a step of an installation: what is counted, never a guess."""
    counted = []
    if progress.packages_total:
        counted.append(f"{progress.packages} of {progress.packages_total} packages")
    if progress.bytes_total and progress.step == "downloading":
        counted.append(f"{figures.size(progress.bytes)} of {figures.size(progress.bytes_total)}")
    if progress.retrying:
        counted.append("the network does not answer, trying again")
    elif progress.name:
        counted.append(progress.name)
    return Bar(progress.share, _STEPS.get(progress.step, progress.step), " · ".join(counted))
