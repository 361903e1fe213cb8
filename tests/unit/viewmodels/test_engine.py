"""The training engine in the window: what it says in each state, and that creating it can be watched and stopped."""

from types import SimpleNamespace

import pytest

from tests.fakes.tasks import LaterTasks
from tpu_studio.viewmodels.engine import EngineView, EngineViewModel, bar_of
from tpu_studio.wire.errors import NotReady, StudioError
from tpu_studio.workflow.background import InlineTasks


class FakeEngine:
    """An engine that is created in one go; *error* is raised instead."""

    def __init__(self, status="missing", error=None):
        self.status, self.error, self.calls, self.seen_cancelled = status, error, [], None

    def state(self):
        ready = self.status == "ready"
        return SimpleNamespace(
            status=self.status,
            problem="unfinished" if self.status == "broken" else "",
            python="3.11.7" if ready else "",
            versions={"tensorflow-cpu": "2.21.0", "jax": "0.10.2", "keras": "3.15.1"} if ready else {},
            size_bytes=2_100_000_000 if ready else 0,
        )

    def install(self, progress, cancelled):
        self.calls.append("install")
        progress(
            SimpleNamespace(
                step="downloading",
                packages=3,
                packages_total=59,
                bytes=10e6,
                bytes_total=353e6,
                name="jax",
                retrying=False,
                share=0.1,
            )
        )
        self.seen_cancelled = cancelled()
        if self.error:
            raise self.error
        self.status = "ready"

    def repair(self, progress, cancelled):
        self.calls.append("repair")
        self.status = "ready"

    def remove(self):
        self.calls.append("remove")
        self.status = "missing"


def model(engine, tasks=None):
    made = EngineViewModel(tasks or InlineTasks())
    made.connect(engine)
    return made


def test_a_missing_engine_says_what_it_is_how_large_and_offers_to_create_it():
    view = model(FakeEngine()).state.value
    assert view.word == "Not there yet" and "470 MB" in view.sentence and "2.1 GB" in view.sentence
    assert view.remedy == ("install", "Create the engine")
    assert not view.may_remove


def test_creating_it_ends_ready_with_versions_and_size():
    made = model(FakeEngine())
    made.install()
    view = made.state.value
    assert view.ready and view.summary == "TensorFlow 2.21.0, JAX 0.10.2, Keras 3.15.1 · Python 3.11.7"
    assert view.size == "2.1 GB" and view.bar is None


def test_what_was_to_follow_follows_once_when_it_is_ready():
    made, then = model(FakeEngine()), []
    made.install(lambda: then.append("run"))
    made.look()
    assert then == ["run"]


def test_progress_is_taken_over_by_the_tick_with_exact_counts():
    tasks = LaterTasks()
    made = model(FakeEngine(), tasks)
    tasks.finish_all()
    made.install()
    bars = []
    made.state.subscribe(lambda view: bars.append(view.bar), now=False)
    install = tasks.waiting.pop()[0]
    install()
    made.tick()
    assert bars[-1].detail == "3 of 59 packages · 10.0 MB of 353 MB · jax" and bars[-1].title == "Downloading"


def test_stopping_asks_the_installer_and_is_no_problem():
    tasks = LaterTasks()
    engine = FakeEngine(error=StudioError("engine-cancelled"))
    made = model(engine, tasks)
    tasks.finish_all()
    then = []
    made.install(lambda: then.append(1))
    made.cancel()
    assert made.state.value.cancelling
    tasks.finish_all()
    view = made.state.value
    assert engine.seen_cancelled is True
    assert view.status == "missing" and view.problem is None and not view.doing and then == []


def test_a_failure_has_a_sentence_and_what_is_there_is_looked_at_again():
    made = model(FakeEngine(error=NotReady("engine-offline", raw="timed out")))
    made.install()
    view = made.state.value
    assert view.problem is not None and view.problem.title and view.problem.details == "timed out"
    assert view.status == "missing" and view.remedy[0] == "install"


def test_only_one_thing_is_done_at_a_time():
    tasks = LaterTasks()
    engine = FakeEngine()
    made = model(engine, tasks)
    tasks.finish_all()
    made.install()
    made.install()
    made.remove()
    tasks.finish_all()
    assert engine.calls == ["install"]


@pytest.mark.parametrize(
    ("status", "cause", "remedy"),
    [
        ("broken", "package-gone", "repair"),
        ("broken", "unfinished", "install"),
        ("outdated", "", "install"),
        ("ready", "", ""),
        ("installing", "", ""),
    ],
)
def test_each_state_has_its_own_remedy_and_a_sentence(status, cause, remedy):
    view = EngineView(status, cause, versions={"jax": "1"})
    assert view.remedy[0] == remedy and view.sentence and view.word
    assert view.ready == (status == "ready")


def test_removing_it_leaves_it_missing():
    made = model(FakeEngine("ready"))
    made.remove()
    assert made.state.value.status == "missing"


def test_a_network_that_does_not_answer_is_told_instead_of_the_package():
    progress = SimpleNamespace(
        step="downloading", packages=0, packages_total=0, bytes=0, bytes_total=0, name="jax", retrying=True, share=0.0
    )
    assert bar_of(progress).detail == "the network does not answer, trying again"
