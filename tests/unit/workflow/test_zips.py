"""Runs that come as a zip: a waiting one is completed, twice is nothing new, another course waits for its place."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plans import plan
from tests.fakes.studio import Studio
from tpu_studio.domain.sentences import say
from tpu_studio.store.index import Index
from tpu_studio.wire.errors import BadInput, RunError
from tpu_studio.wire.events import encode, event
from tpu_studio.wire.plan import dumps, loads
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.workflow import bringing, desk, zips
from tpu_studio.workflow.notebooks import launched

COLAB = replace(plan(), place="colab", framework="jax", accelerator="v5litepod-1")


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    made = Studio(tmp_path / "home")
    yield made
    made.close()


def _lines(first: int, last: int, *, attempt: int = 1, t: float = 2e9, end: str = "") -> bytes:
    steps = list(range(first, last + 1))
    found = [
        event("phase", t=t, phase="training", attempt=attempt),
        event("metric", t=t + 1, step=steps, loss=[1.0 / step for step in steps]),
    ]
    if end:
        told = {"status": "finished", "reason": end, "steps": last, "final": {}, "facts": {}}
        found.append(event("end", t=t + 2, attempt=attempt, **told))
    return b"".join(encode(one) for one in found)


def _zip(path: Path, run: str, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"{run}/{name}", data)
    return path


def _of(studio: Studio, run: str, path: Path, *, events: bytes, **more: bytes) -> Path:
    """What the notebook of *run* would bring."""
    frozen = (studio.runs.folder(run) / PLAN).read_bytes()
    files = {PLAN: frozen, "events/a0001-w000.jsonl": events, "claims/a0001.json": b"{}", "result/model.json": b"{}"}
    return _zip(path, run, {**files, **more})


def test_a_launched_run_waits_and_is_never_declared_lost(studio: Studio) -> None:
    run = studio.runs.launch(COLAB, notebook=True)
    assert studio.runs.reconcile() == []
    row = studio.runs.summary(run)
    assert (row.status, row.over, row.place, row.steps_planned) == ("queued", False, "colab", 20)
    following = studio.runs.follow(run)
    following.poll()
    assert following.view.detail == "waiting-for-colab"
    following.close()
    for steer in (studio.runs.resume, lambda name: studio.runs.extend(name, 1)):
        with pytest.raises(RunError) as caught:
            steer(run)
        assert caught.value.id == "run-in-colab"


def test_its_zip_completes_that_very_run_and_twice_does_no_harm(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.launch(COLAB, notebook=True)
    path = _of(studio, run, tmp_path / "any name.zip", events=_lines(1, 20, end="completed"))
    brought = studio.runs.import_folder(path, run=run)
    assert (brought.run, brought.already) == (run, False)
    assert studio.runs.import_folder(path).already
    row = studio.runs.summary(run)
    assert (row.status, row.reason, row.step) == ("finished", "completed", 20)
    assert studio.points(run) == [(step, 1.0 / step) for step in range(1, 21)]
    assert (studio.runs.folder(run) / "result" / "model.json").exists()
    assert [row.run for row in studio.runs.list()] == [run]
    assert not list(studio.runs.runs_folder.glob(".unzipping*"))


def test_a_part_shows_its_curve_and_waits_for_the_rest(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.launch(COLAB, notebook=True)
    studio.runs.import_folder(_of(studio, run, tmp_path / "part.zip", events=_lines(1, 10)))
    assert (studio.runs.summary(run).status, len(studio.points(run))) == ("queued", 10)
    whole = _lines(1, 10) + _lines(11, 20, end="completed")
    studio.runs.import_folder(_of(studio, run, tmp_path / "whole.zip", events=whole))
    assert (studio.runs.summary(run).status, len(studio.points(run))) == ("finished", 20)
    assert studio.runs.import_folder(tmp_path / "part.zip").already  # an older one takes nothing away
    assert studio.runs.summary(run).status == "finished"


def test_a_run_that_nobody_waits_for_any_more_is_completed_all_the_same(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.launch(COLAB, notebook=True)
    studio.runs.stop(run)
    assert studio.runs.summary(run).reason == "discarded"
    studio.runs.import_folder(_of(studio, run, tmp_path / "it.zip", events=_lines(1, 20, t=1e9, end="completed")))
    assert studio.runs.summary(run).reason == "completed"


def test_a_zip_of_another_run_is_refused_by_name(studio: Studio, tmp_path: Path) -> None:
    one, other = studio.runs.launch(COLAB, notebook=True), studio.runs.launch(COLAB, notebook=True)
    path = _of(studio, other, tmp_path / "it.zip", events=_lines(1, 20, end="completed"))
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(path, run=one)
    assert (caught.value.id, caught.value.facts["run"], caught.value.facts["found"]) == ("zip-other-run", one, other)
    assert studio.runs.summary(other).status == "queued"


def test_another_plan_or_another_end_under_the_same_name_changes_nothing(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.launch(COLAB, notebook=True)
    frozen = loads((studio.runs.folder(run) / PLAN).read_bytes())
    path = _zip(tmp_path / "plan.zip", run, {PLAN: dumps(replace(frozen, steps=7))})
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(path)
    assert caught.value.id == "zip-other-plan"
    studio.runs.import_folder(_of(studio, run, tmp_path / "one.zip", events=_lines(1, 20, end="completed")))
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(_of(studio, run, tmp_path / "two.zip", events=_lines(1, 9, t=2.1e9, end="completed")))
    assert caught.value.id == "zip-other-course"
    assert len(studio.points(run)) == 20


def test_a_run_of_another_computer_comes_as_a_new_one(studio: Studio, tmp_path: Path) -> None:
    frozen = dumps(COLAB.launched("digits-abcd", 1e9, "0"))
    path = _zip(tmp_path / "it.zip", "digits-abcd", {PLAN: frozen, "events/a0001-w000.jsonl": _lines(1, 5)})
    assert studio.runs.import_folder(path).run == "digits-abcd"
    assert (studio.runs.summary("digits-abcd").status, len(studio.points("digits-abcd"))) == ("queued", 5)


STEPS = (
    (zips, "_plan"),
    (zips, "_unpack"),
    (bringing, "_copy"),
    (bringing, "write_atomically"),
    (bringing, "send"),
    (desk, "write_owner"),
    (Index, "summary"),
    (desk, "write_event"),
    (Index, "forget"),
    (os, "rename"),
)


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("holder", "step"), STEPS, ids=[step for _, step in STEPS])
@pytest.mark.parametrize("place", ["colab", "computer"])
def test_an_import_that_is_interrupted_leaves_no_run_or_the_whole_one(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: Any, step: str, done: bool, place: str
) -> None:
    frozen = dumps((COLAB if place == "colab" else plan()).launched("digits-abcd", 1e9, "0"))
    files = {
        PLAN: frozen,
        "events/a0001-w000.jsonl": _lines(1, 5),
        "control/000001.json": b'{"verb":"extend","epochs":1}',
    }
    path = _zip(tmp_path / "it.zip", "digits-abcd", files)
    whole = getattr(holder, step)

    def killed(*arguments: Any, **named: Any) -> None:
        if done:
            whole(*arguments, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(holder, step, killed)
        studio.runs.import_folder(path)
    found = list(studio.runs.runs_folder.iterdir())
    assert found == ([studio.runs.runs_folder / "digits-abcd"] if found else [])
    reached = place == "colab" or step not in ("summary", "write_event")  # those are for a notebook's run
    assert bool(found) == (not reached or (step == "rename" and done))
    again = studio.runs.import_folder(path)
    assert (again.run, again.already) == ("digits-abcd", bool(found))
    status = "queued" if place == "colab" else "training"
    assert (studio.runs.summary("digits-abcd").status, len(studio.points("digits-abcd"))) == (status, 5)
    if step != "forget":  # of the index, which can be thrown away
        assert not list((studio.home / "columns").glob(".importing*"))


def test_a_completion_that_is_interrupted_is_made_whole_by_the_same_zip(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = studio.runs.launch(COLAB, notebook=True)
    path = _of(studio, run, tmp_path / "part.zip", events=_lines(1, 10))
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Index, "forget", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        studio.runs.import_folder(path)
    assert studio.runs.import_folder(path).already
    assert (studio.runs.summary(run).status, len(studio.points(run))) == ("queued", 10)


def test_without_a_notebook_there_is_no_run_either(studio: Studio) -> None:
    with pytest.raises(BadInput) as caught:
        studio.runs.launch(COLAB)
    assert caught.value.id == "colab-needs-notebook"

    def refuse(_: object) -> None:
        raise BadInput("notebook-exists", file="it.ipynb")

    with pytest.raises(BadInput):
        launched(studio.runs, COLAB, refuse)
    assert studio.runs.list() == []


def test_another_course_of_a_run_that_has_not_ended_is_taken_only_in_its_place(studio: Studio, tmp_path: Path) -> None:
    """A second session of the same notebook took away a thousand steps and the model, unasked."""
    run = studio.runs.launch(COLAB, notebook=True)
    studio.runs.import_folder(_of(studio, run, tmp_path / "one.zip", events=_lines(1, 100)))
    other = _of(studio, run, tmp_path / "two.zip", events=_lines(1, 9, t=1.6e9))
    with pytest.raises(RunError) as caught:
        studio.runs.import_folder(other)
    assert caught.value.id == "zip-other-course" and "has trained here already" in say(caught.value).title
    assert len(studio.points(run)) == 100
    taken = studio.runs.import_folder(other, replace=True)
    assert taken.replaced and len(studio.points(run)) == 9


@pytest.mark.parametrize("field", ["folder", "key", "install", "self", "path"])
def test_an_end_with_fields_of_its_own_is_an_end(studio: Studio, tmp_path: Path, field: str) -> None:
    run = studio.runs.launch(COLAB, notebook=True)
    studio.runs.stop(run)
    lines = _lines(1, 9, end="completed").replace(b'"kind":"end"', f'"kind":"end","{field}":"x"'.encode())
    studio.runs.import_folder(_of(studio, run, tmp_path / "one.zip", events=lines))
    assert studio.runs.summary(run).reason == "completed"


def test_a_zip_that_brings_one_line_more_takes_no_model_and_no_copies_away(studio: Studio, tmp_path: Path) -> None:
    """Plan and events stand in whatever was handed on of a run: who has them makes such a zip."""
    run = studio.runs.launch(COLAB, notebook=True)
    copy = {f"checkpoints/00000050/{name}": b"x" for name in ("COMMITTED", "state.safetensors")}
    going, over = _lines(1, 100), _lines(1, 100, end="completed")
    files = {PLAN: (studio.runs.folder(run) / PLAN).read_bytes(), "result/model.json": b"{}", **copy}
    studio.runs.import_folder(_zip(tmp_path / "1.zip", run, {**files, "events/a0001-w000.jsonl": going}))
    more = encode(event("log", t=2e9 + 5, text="."))
    bare = {PLAN: files[PLAN], "events/a0001-w000.jsonl": going + more}
    studio.runs.import_folder(_zip(tmp_path / "2.zip", run, bare))
    kept = [studio.runs.folder(run) / name for name in files]
    assert all(path.is_file() for path in kept)

    ended = {**files, "events/a0001-w000.jsonl": going + more + over.splitlines(keepends=True)[-1]}
    studio.runs.import_folder(_zip(tmp_path / "3.zip", run, ended))
    longer = {"events/a0001-w000.jsonl": ended["events/a0001-w000.jsonl"] + more}
    for result in ({}, {"result/model.json": b"other"}):
        with pytest.raises(RunError) as caught:
            studio.runs.import_folder(_zip(tmp_path / "4.zip", run, {PLAN: files[PLAN], **copy, **longer, **result}))
        assert caught.value.id == "zip-other-course"
    studio.runs.import_folder(_zip(tmp_path / "5.zip", run, {**files, **longer}))  # with all that is here
    assert all(path.is_file() for path in kept) and studio.runs.summary(run).status == "finished"


def test_a_zip_of_a_run_that_goes_on_after_an_interruption_is_taken_with_the_model_that_is_here(
    studio: Studio, tmp_path: Path
) -> None:
    """A browser saves one every 15 minutes; where the runtime dies then, it is all there is."""
    run = studio.runs.launch(COLAB, notebook=True)
    first = _lines(1, 50, end="stopped-by-user")
    studio.runs.import_folder(_of(studio, run, tmp_path / "1.zip", events=first))
    second = encode(event("again", t=2e9 + 9, attempt=2)) + _lines(51, 80, attempt=2, t=2e9 + 10)
    model = {path.relative_to(studio.runs.folder(run)).as_posix(): path.read_bytes() for path in _results(studio, run)}
    copy = {f"checkpoints/00000080/{name}": b"x" for name in ("COMMITTED", "state.safetensors")}
    files = {PLAN: (studio.runs.folder(run) / PLAN).read_bytes(), **model, **copy}
    files |= {"events/a0001-w000.jsonl": first, "events/a0002-w000.jsonl": second}
    brought = studio.runs.import_folder(_zip(tmp_path / "2.zip", run, files))
    assert not brought.replaced and _results(studio, run)
    assert (studio.runs.folder(run) / "checkpoints/00000080/COMMITTED").is_file()


def test_what_was_taken_in_by_half_comes_whole_with_the_same_zip(
    studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = studio.runs.launch(COLAB, notebook=True)
    copy = {f"checkpoints/00000050/{name}": b"x" for name in ("COMMITTED", "a.safetensors", "z.json")}
    files = {PLAN: (studio.runs.folder(run) / PLAN).read_bytes(), "events/a0001-w000.jsonl": _lines(1, 100), **copy}
    path = _zip(tmp_path / "1.zip", run, files)
    move, moved = os.replace, list[str]()

    def dies(source: str | Path, target: str | Path) -> None:
        if "checkpoints" in str(target) and len(moved) == 1:
            raise KeyboardInterrupt
        moved.extend([str(target)] if "checkpoints" in str(target) else [])
        move(source, target)

    monkeypatch.setattr(zips.os, "replace", dies)
    with pytest.raises(KeyboardInterrupt):
        studio.runs.import_folder(path)
    monkeypatch.setattr(zips.os, "replace", move)
    studio.runs.import_folder(path)
    assert all((studio.runs.folder(run) / name).is_file() for name in copy)


def test_what_a_system_puts_beside_a_result_makes_no_other_course_of_a_run(studio: Studio, tmp_path: Path) -> None:
    run = studio.runs.launch(COLAB, notebook=True)
    first = _lines(1, 50, end="stopped-by-user")
    studio.runs.import_folder(_of(studio, run, tmp_path / "1.zip", events=first))
    model = {path.relative_to(studio.runs.folder(run)).as_posix(): path.read_bytes() for path in _results(studio, run)}
    for stray in (".DS_Store", "Thumbs.db"):
        (studio.runs.folder(run) / "result" / stray).write_bytes(b"x")
    second = encode(event("again", t=2e9 + 9, attempt=2)) + _lines(51, 80, attempt=2, t=2e9 + 10)
    files = {PLAN: (studio.runs.folder(run) / PLAN).read_bytes(), **model, "events/a0001-w000.jsonl": first}
    brought = studio.runs.import_folder(_zip(tmp_path / "2.zip", run, {**files, "events/a0002-w000.jsonl": second}))
    assert not brought.replaced
    assert (studio.runs.folder(run) / "result" / ".DS_Store").is_file()


def _results(studio: Studio, run: str) -> list[Path]:
    return [path for path in (studio.runs.folder(run) / "result").rglob("*") if path.is_file()]


def test_a_notebook_that_ended_and_was_run_again_to_go_on_completes_its_run(studio: Studio, tmp_path: Path) -> None:
    """As docs/colab.md says: interrupt once, bring the zip home; run again to go on."""
    run = studio.runs.launch(COLAB, notebook=True)
    first = _lines(1, 50, end="stopped-by-user")
    studio.runs.import_folder(_of(studio, run, tmp_path / "1.zip", events=first))
    second = encode(event("again", t=2e9 + 9, attempt=2)) + _lines(51, 100, attempt=2, t=2e9 + 10, end="completed")
    files = {PLAN: (studio.runs.folder(run) / PLAN).read_bytes(), "result/model.json": b'{"new": 1}'}
    events = {"events/a0001-w000.jsonl": first, "events/a0002-w000.jsonl": second}
    before = (studio.runs.folder(run) / "result" / "model.json").read_bytes()
    brought = studio.runs.import_folder(_zip(tmp_path / "2.zip", run, {**files, **events}))
    assert (studio.runs.folder(run) / "result" / "model.json").read_bytes() == b'{"new": 1}'
    assert studio.runs.summary(run).reason == "completed"
    kept = studio.runs.undo_delete(brought.replaced)  # whoever has its plan and its events can make such a zip
    assert (studio.runs.folder(kept) / "result" / "model.json").read_bytes() == before
    assert studio.runs.summary(kept).reason == "stopped-by-user"


@pytest.mark.parametrize("copies", [False, True])
def test_no_end_of_a_stranger_s_takes_a_model_or_a_copy_away(studio: Studio, tmp_path: Path, copies: bool) -> None:
    run = studio.runs.launch(COLAB, notebook=True)
    frozen = {PLAN: (studio.runs.folder(run) / PLAN).read_bytes()}
    going, over = _lines(1, 100), _lines(1, 100, end="completed")
    forged = {f"checkpoints/99999999/{name}": b"garbage" for name in ("COMMITTED", "state.safetensors")}
    copy = {f"checkpoints/00000050/{name}": b"x" for name in ("COMMITTED", "state.safetensors")}
    files = {**frozen, **copy, "events/a0001-w000.jsonl": going if copies else over}
    files |= {} if copies else {"result/model.json": b"{}"}
    studio.runs.import_folder(_zip(tmp_path / "1.zip", run, files))
    if copies:  # it waits: a line more, and copies that say to be the later ones, the same step among them
        more = going + encode(event("log", t=2e9 + 5, text="."))
        for step in (99999999, 99999998, 99999997):  # one zip after another
            forged |= {f"checkpoints/{step}/{name}": b"garbage" for name in ("COMMITTED", "state.safetensors")}
            more += encode(event("log", t=2e9 + 6, text="."))
            files = {**frozen, **forged, **dict.fromkeys(copy, b"garbage"), "events/a0001-w000.jsonl": more}
            studio.runs.import_folder(_zip(tmp_path / f"{step}.zip", run, files))
    else:
        end = {"status": "failed", "reason": "trainer-crashed", "steps": 0, "final": {}, "facts": {}}
        second = {"events/a0002-w000.jsonl": encode(event("end", t=2e9 + 9, attempt=2, **end)), "result/x.txt": b"x"}
        brought = studio.runs.import_folder(
            _zip(tmp_path / "2.zip", run, {**frozen, **forged, **second, "events/a0001-w000.jsonl": over})
        )
        run = studio.runs.undo_delete(brought.replaced)
        assert (studio.runs.folder(run) / "result/model.json").read_bytes() == b"{}"
        assert studio.runs.summary(run).status == "finished"
    assert all((studio.runs.folder(run) / name).read_bytes() == data for name, data in copy.items())
