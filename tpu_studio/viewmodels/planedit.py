"""The Plan page's draft: begun from nothing, a job file, a run or data, and edited; undone and redone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_studio.data import textlayout
from tpu_studio.data.chatlayout import QUESTIONS
from tpu_studio.viewmodels import draft, planwhere
from tpu_studio.viewmodels.opening import what_is
from tpu_studio.viewmodels.planbase import PlanBase
from tpu_studio.viewmodels.planform import is_number, option_value
from tpu_studio.viewmodels.planstate import PlanView
from tpu_studio.viewmodels.planverdict import place_changes
from tpu_studio.viewmodels.problem import problem_of
from tpu_studio.wire import kinds
from tpu_studio.wire.errors import JobError
from tpu_studio.wire.job import Job, one_number
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.schema import BY_PATH

if TYPE_CHECKING:
    from tpu_studio.viewmodels.engine import EngineViewModel
    from tpu_studio.viewmodels.leaving import Leaving
    from tpu_studio.workflow.ports import Tasks

TYPING_S = 1.0  # letters that follow each other faster belong together
UNDO_AT_MOST = 100


class Editing(PlanBase):
    def __init__(self, tasks: Tasks, engine: EngineViewModel, clock: Callable[[], float]) -> None:
        super().__init__(tasks, engine, clock)
        self._past: list[Job] = []
        self._future: list[Job] = []
        self._typing = ("", 0.0)  # the field being typed into, and when its last letter came
        self._own_names: set[str] = set()  # names of runs that we gave, not the person

    # ------------------------------------------------------------------------------------------------------ beginning

    def new(self) -> None:
        self._begin(draft.empty(), None)

    def open_job(self, path: Path) -> None:
        """Begin with the job file *path*; a file that cannot be read is told and nothing changes."""

        def work() -> Job:
            from tpu_studio.domain import jobfile

            return jobfile.load(path)

        self._tasks.submit(work, done=lambda job: self._begin(job, path), failed=self._failed)

    def open_draft(self, job: Job, leaving: Leaving | None = None, unstoppable: tuple[str, ...] = ()) -> None:
        """Begin with the settings of an earlier run; *leaving*: its queue is left once this plan starts; *unstoppable*:
        as in `PlanView`."""
        self._begin(job, None, leaving, unstoppable)

    def open_data(self, path: Path, kind: str) -> None:
        """Begin with data; the model is the good first choice for it."""
        self.new()
        self.choose_data(kind, path)

    def _begin(
        self, job: Job, file: Path | None, leaving: Leaving | None = None, unstoppable: tuple[str, ...] = ()
    ) -> None:
        self._past.clear()
        self._future.clear()
        view = self.state.value
        self.state.set(
            PlanView(
                engine=view.engine,
                running=view.running,
                bases=view.bases,
                saved=job if file else None,
                file=file,
                price_trouble=view.price_trouble,
                account_missing=view.account_missing,
                practice_missing=view.practice_missing,
                leaving=leaving,
                unstoppable=unstoppable,
            )
        )
        self._take(job)

    # --------------------------------------------------------------------------------------------------------- editing

    def set(self, path: str, value: object) -> None:
        """Change one value (None: back to the recommended one); a wrong one is told under its field."""
        self.apply({path: value})

    def set_text(self, path: str, text: str) -> None:
        """Change one value as it was typed."""
        if path.startswith("model.options."):
            self._set_option(path, text)
            return
        try:
            value = draft.value_of(BY_PATH[path], text)
        except JobError as error:
            self._wrong(path, text, error)
            return
        self.apply({path: value}, typing=path)

    def reset(self, *paths: str) -> None:
        """Take values back to the recommended ones."""
        changes: dict[str, object] = {}
        for path in paths:
            if path.startswith("model.options."):
                changes["model.options"] = option_value(self.state.value.job, path.rpartition(".")[2], None) or None
            else:
                changes[path] = None
        self.apply(changes)

    def use_recommended(self) -> None:
        """All settings back to the recommended ones; model, data and place stay."""
        view = self.state.value
        paths = [
            path
            for path in view.job.given
            if path.startswith("training.")
            or path
            in (
                "data.image_size",
                "data.augment",
                "data.sequence_length",
                "data.tokenizer",
                "data.validation",
                "limits.hours",
                "limits.money_usd",
            )
        ]
        self.state.set(replace(view, problems={}, typed={}))
        self.apply(dict.fromkeys(paths))

    def apply(self, changes: Mapping[str, object], *, typing: str = "") -> None:
        """Change several values at once, as a check's repair does. What is typed in one go is undone in one."""
        view = self.state.value
        changes = {path: None if value == AUTO and BY_PATH[path].auto else value for path, value in changes.items()}
        try:
            job = draft.edited(view.job, changes)
        except JobError as error:
            path = str(error.facts.get("key") or next(iter(changes)))
            self._wrong(path, str(changes.get(path, "")), error)
            return
        of_model = any(path.startswith("model.") for path in changes)  # its options are others', or another's
        gone = {path for path in view.problems if path in changes or (of_model and path.startswith("model.options."))}
        problems = {path: problem for path, problem in view.problems.items() if path not in gone}
        typed = {path: text for path, text in view.typed.items() if path not in changes and path not in gone}
        self.state.set(replace(view, problems=problems, typed=typed))
        self._change(job, typing)

    def choose_model(self, name: str) -> None:
        self.close_section("model")
        self.apply({"model.name": name})

    def choose_file(self, path: Path) -> None:
        """The user's own Keras file; it is read and shown, and runs only after consent."""
        self.close_section("model")
        self.apply({"model.file": str(path)})

    def choose_path(self, path: Path, known: str = "", name: str = "") -> None:
        """What was dropped, or has come as *name* from elsewhere. Its path tells the kind unless it is *known*; where
        it does not, the chosen kind holds, as it does among those that the same file can be."""
        now, told = self.state.value.job.data.kind, what_is(path)
        kind = known or (told.data_kind if told.kind == "data" and told.data_kind else now)
        chosen = kinds.find(now)
        if not known and chosen and chosen.source == "file" and (path.is_file() or textlayout.has_shards(path)):
            kind = chosen.id
        self.choose_data(kind or kinds.IDS[0], path, name)

    def choose_data(self, kind: str, path: Path | None, called: str = "") -> None:
        """Data of *kind*; settings that belonged to other data go, and the model becomes a fitting one if it must.
        *called*: what the run is named after, instead of the path."""
        view = self.state.value
        job = view.job
        changes: dict[str, object] = {
            "data.kind": kind,
            "data.path": str(path) if path else None,
            "data.target": None,
            "data.columns": None,
            "data.task": None,
        }
        task = textlayout.of_path(path).id if path is not None and kinds.by_id(kind).has_text else None
        if not draft.has_model(job) or not draft.model_fits(job, kind, task):
            changes["model.name"] = draft.first_model(kind, task)
        if "name" not in job.given or job.name in self._own_names:
            name = kind if path is None else path.stem if kinds.by_id(kind).suffixes else path.name
            changes["name"] = called or name.strip() or kind
            self._own_names.add(str(changes["name"]))
        self.state.set(replace(view, opened=view.opened | {"data"}, problems={}, typed={}))
        self.apply(changes)

    def choose_sample(self, path: Path) -> None:
        """The data (and a fitting model) of the example job in *path*; the person's own settings stay."""

        def work() -> Job:
            from tpu_studio.domain import jobfile

            return jobfile.load(path)

        def take(job: Job) -> None:
            self.choose_data(job.data.kind, draft.absolute(job, "data.path"))
            self.apply({"data.target": job.data.target, "training.epochs": job.training.epochs})

        self._tasks.submit(work, done=take, failed=self._failed)

    def set_column(self, name: str, kind: str | None) -> None:
        """Use a column as *kind*, or None: as we propose."""
        columns = dict(self.state.value.job.data.columns)
        if kind is None:
            columns.pop(name, None)
        else:
            columns[name] = kind
        self.apply({"data.columns": columns or None})

    def set_question(self, name: str) -> None:
        """The column of questions of a table of chats; "": as its name says."""
        self.apply({"data.columns": {name: QUESTIONS} if name else None})

    def undo(self) -> None:
        if self._past:
            self._future.append(self.state.value.job)
            self._take(self._past.pop())

    def redo(self) -> None:
        if self._future:
            self._past.append(self.state.value.job)
            self._take(self._future.pop())

    def _set_option(self, path: str, text: str) -> None:
        from tpu_studio.wire.models import BY_NAME, options

        view, name = self.state.value, path.rpartition(".")[2]
        if view.job.model.is_own:
            self._set_own_option(path, text)
            return
        asked = text.strip().lower() not in ("", AUTO)
        model = BY_NAME.get(str(view.job.model.name))
        whole = any(isinstance(one.default, int) for one in (model.options if model else ()) if one.name == name)
        try:
            value = one_number(path, text, whole=whole) if asked else None
        except JobError as error:
            self._wrong(path, text, error)
            return
        if value is not None and value == int(value):
            value = int(value)
        changed = option_value(view.job, name, value)
        try:
            options(str(view.job.model.name), changed)
        except JobError as error:
            self._wrong(path, text, error)
            return
        problems = {key: problem for key, problem in view.problems.items() if not key.startswith("model.options.")}
        self.state.set(replace(view, problems=problems))
        self.apply({"model.options": changed or None})

    def _set_own_option(self, path: str, text: str) -> None:
        """What stands there stays of its kind: a number a number, words words, yes or no yes or no."""
        view, name = self.state.value, path.rpartition(".")[2]
        before, value = view.job.model.options.get(name), text.strip()
        try:
            if isinstance(before, bool):
                if value.lower() not in ("true", "false"):
                    raise JobError("job-wrong-type", key=path, value=f"“{value[:40]}”", wanted="true or false")
                kept: object = value.lower() == "true"
            elif is_number(before):
                number = one_number(path, text, whole=False)
                kept = int(number) if number == int(number) else number
            else:
                kept = value
        except JobError as error:
            self._wrong(path, text, error)
            return
        problems = {key: problem for key, problem in view.problems.items() if key != path}
        self.state.set(replace(view, problems=problems))
        self.apply({"model.options": option_value(view.job, name, kept)}, typing=path)

    def _wrong(self, path: str, text: str, error: JobError) -> None:
        view = self.state.value
        self.state.set(
            replace(view, problems={**view.problems, path: problem_of(error)}, typed={**view.typed, path: text})
        )

    def _change(self, job: Job, typing: str = "") -> None:
        if job == self.state.value.job:
            return
        path, at = self._typing
        if not (typing and typing == path and self._clock() - at < TYPING_S and self._past):
            self._past = [*self._past[-UNDO_AT_MOST:], self.state.value.job]
        self._typing = (typing, self._clock())
        self._future.clear()
        self._take(job)

    # ----------------------------------------------------------------------------------------------------------- where

    def set_place(self, place: str) -> None:
        self.apply(place_changes(self.state.value.job, place))

    def set_generation(self, generation: str) -> None:
        self.apply(planwhere.generation_changes(self.state.value.job, generation))

    def set_slice(self, accelerator: str) -> None:
        """One size of a TPU; the areas that lend it are chosen anew."""
        self.apply(planwhere.slice_changes(self.state.value.job, accelerator))

    def set_tier(self, tier: str) -> None:
        self.apply({"where.tier": tier, "where.zones": None})

    def set_lender(self, backend: str) -> None:
        self.apply({"where.backend": backend})

    def set_region(self, region: str) -> None:
        self.apply(planwhere.region_changes(self.state.value.where, region))

    def set_zone(self, zone: str, on: bool) -> None:
        self.apply(planwhere.zone_changes(self.state.value.where, zone, on))

    # -------------------------------------------------------------------------------------------------------- sections

    def open_section(self, section: str) -> None:
        view = self.state.value
        self.state.set(replace(view, opened=view.opened | {section}))

    def close_section(self, section: str) -> None:
        view = self.state.value
        self.state.set(replace(view, opened=view.opened - {section}))

    def set_beside(self, beside: bool) -> None:
        self._draw(beside=beside)
