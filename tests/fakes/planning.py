"""The Plan page's view-model with all around it: looks, launcher, consents, stopwatch, clock. Nothing is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes.looks import DIAMONDS, DIGITS, HANDS, NOW, PLAYS
from tests.fakes.tasks import InlineTasks
from tpu_studio.data.looked import Look
from tpu_studio.viewmodels.engine import EngineView, EngineViewModel
from tpu_studio.viewmodels.plan import PAUSE_S, PlanViewModel
from tpu_studio.viewmodels.planstate import PlanView
from tpu_studio.viewmodels.runs import RunsViewModel
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.consent import place_kind

LOOKS = {"digits": DIGITS, "images": HANDS, "table": DIAMONDS, "text": PLAYS}
TOLD = {"step_time_s": 0.05, "compile_s": 3.0, "setup_s": 5.0, "examples_per_s": 640.0}


class Engine:
    """Gives TOLD, or raises *trouble*; what was `remembered` is known at once. *seen*: in the models that it builds."""

    def __init__(self) -> None:
        self.timed: list[Plan] = []
        self.built: list[Plan] = []
        self.kept: Mapping[str, Any] | None = None
        self.seen: Mapping[str, Any] = {}
        self.remembered: Mapping[str, Any] | None = None
        self.trouble: Exception | None = None

    def known(self, plan: Plan) -> Mapping[str, Any] | None:
        return self.remembered

    def counted(self, plan: Plan) -> Mapping[str, Any] | None:
        return self.kept

    def inspect(self, plan: Plan, cancelled: Callable[[], bool]) -> Mapping[str, Any]:
        self.built.append(plan)
        return self.seen

    def time(self, plan: Plan, seconds: float, cancelled: Callable[[], bool]) -> Mapping[str, Any]:
        self.timed.append(plan)
        if self.trouble:
            raise self.trouble
        return TOLD


class World:
    def __init__(self, tasks: Any = None, *, engine: str = "ready") -> None:
        self.tasks = tasks or InlineTasks()
        self.time = 1000.0
        self.looked: list[Job] = []
        self.launched: list[tuple[Plan, bool]] = []
        self.consented: dict[tuple[str, str], str] = {}
        self.trouble: Exception | None = None
        self.launch_trouble: Exception | None = None
        self.stopwatch = Engine()
        self.picture_s: float | None = None  # seconds that a picture takes to be read
        self.started: list[tuple[str, str]] = []
        self.engine = EngineViewModel(self.tasks)
        self.engine.state.set(EngineView(engine))
        self.runs = RunsViewModel(self.tasks)
        self.model = PlanViewModel(
            self.tasks,
            self.engine,
            self.runs,
            clock=lambda: self.time,
            now=lambda: NOW,
            look=self.look,
            pace=lambda plan: self.picture_s,
        )
        self.model.started = lambda run, name: self.started.append((run, name))
        self.model.connect(self, self, self.stopwatch)

    @property
    def view(self) -> PlanView:
        return self.model.state.value

    @property
    def timed(self) -> list[Plan]:
        return self.stopwatch.timed

    def look(self, job: Job, *, progress: Callable[[int, int], None], cancelled: Callable[[], bool]) -> Look:
        self.looked.append(job)
        progress(7, 10)
        if self.trouble:
            raise self.trouble
        return LOOKS[job.data.kind]

    def launch(self, plan: Plan, *, beside: bool = False) -> str:
        if self.launch_trouble:
            raise self.launch_trouble
        self.launched.append((plan, beside))
        return "digits-k3f7"

    def agreed(self, sha256: str, place: str) -> bool:
        return (sha256, place_kind(place)) in self.consented

    def agree(self, sha256: str, path: str, place: str) -> None:
        self.consented |= {(sha256, place_kind(place)): path, (sha256, place_kind()): path}

    def pause(self) -> None:
        """Nothing is edited for long enough."""
        self.time += PAUSE_S
        self.model.tick()
