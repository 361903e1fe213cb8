"""The free path as the window shows it: a notebook is made or the reason is told; a zip completes its run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.fakes.plans import plan
from tests.fakes.tasks import InlineTasks, LaterTasks
from tpu_studio.viewmodels.colab import ColabViewModel
from tpu_studio.wire.errors import BadInput, RunError
from tpu_studio.wire.plan import Plan


@dataclass(frozen=True)
class Written:
    notebook: Path
    data: Path | None = None


@dataclass(frozen=True)
class Imported:
    run: str


class Runs:
    """One run at most."""

    def __init__(self) -> None:
        self.frozen: Plan | None = None

    def launch(self, plan: Plan, *, beside: bool = False, notebook: bool = False) -> str:
        assert notebook
        self.frozen = plan.launched("digits-abcd", 1.0, "0")
        return "digits-abcd"

    def plan(self, run: str) -> Plan:
        assert self.frozen is not None
        return self.frozen

    def delete(self, run: str) -> None:
        self.frozen = None

    def import_folder(self, path: Path, *, run: str = "") -> Imported:
        if run and path.stem != run:
            raise RunError("zip-other-run", file=str(path), run=run, found=path.stem)
        return Imported(path.stem)


def test_a_notebook_is_made_and_the_next_steps_are_told() -> None:
    model = ColabViewModel(InlineTasks(), Runs(), lambda plan, path: Written(path, path.with_name("d.tar")))
    assert model.state.value.steps == ()
    assert any("September 2025" in line for line in model.state.value.limits)
    model.make(plan(), Path("/jobs"))
    state = model.state.value
    assert (state.run, state.notebook, state.problem) == ("digits-abcd", Path("/jobs/digits-abcd.ipynb"), None)
    assert any("digits-abcd.ipynb" in step for step in state.steps)
    assert any("d.tar" in step for step in state.steps)


def test_a_notebook_that_cannot_be_written_leaves_no_run() -> None:
    def refuse(plan: Plan, path: Path) -> Written:
        raise BadInput("notebook-exists", file=str(path))

    runs = Runs()
    model = ColabViewModel(InlineTasks(), runs, refuse)
    model.make(plan(), Path("/jobs"))
    assert model.state.value.problem is not None
    assert "digits-abcd.ipynb" in model.state.value.problem.title
    assert (runs.frozen, model.state.value.busy) == (None, "")


def test_a_second_press_while_one_is_written_does_nothing() -> None:
    tasks, written = LaterTasks(), []
    model = ColabViewModel(tasks, Runs(), lambda plan, path: written.append(path) or Written(path))  # type: ignore[func-returns-value]
    model.make(plan(), Path("/jobs"))
    model.make(plan(), Path("/jobs"))
    tasks.finish_all()
    assert len(written) == 1


def test_a_zip_opens_its_run_and_another_is_refused_by_name() -> None:
    opened: list[str] = []
    model = ColabViewModel(InlineTasks(), Runs(), lambda plan, path: Written(path), opened.append)
    model.bring(Path("/downloads/digits-abcd.zip"))
    assert opened == ["digits-abcd"]
    model.bring(Path("/downloads/digits-wxyz.zip"), "digits-abcd")
    assert model.state.value.problem is not None
    assert "digits-wxyz" in model.state.value.problem.title
    assert opened == ["digits-abcd"]
