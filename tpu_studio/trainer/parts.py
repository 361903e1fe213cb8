"""The parts of a training, made in order: data, model, step functions, feed. Used by `program` and `timing`.

Imports Keras, so it is imported after ``backend.begin``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from tpu_studio.data import sources, tokens
from tpu_studio.data.augment import may_mirror, mixes, variations
from tpu_studio.data.fingerprints import check_unchanged
from tpu_studio.data.looked import Look, look_of_plan
from tpu_studio.data.opened import Opened, Share, Source
from tpu_studio.trainer import backend, checkpoints, features, recipe, state
from tpu_studio.trainer.feed import Batch, Feed, Vary
from tpu_studio.trainer.frameworks import running
from tpu_studio.trainer.guard import BuildWatch
from tpu_studio.trainer.loop import Loop, Settings
from tpu_studio.trainer.models import for_result, starting
from tpu_studio.trainer.order import Order
from tpu_studio.trainer.progress import Progress
from tpu_studio.trainer.reports import Reports
from tpu_studio.trainer.schedule import Schedule
from tpu_studio.trainer.stages import FOREVER, Stage, unfreeze_at
from tpu_studio.trainer.words import Command, Events
from tpu_studio.wire import frameworks, models, places
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reading import decoding_processes
from tpu_studio.wire.reasons import Reason

MEMORY_BUDGET = 2 * 2**30  # bytes of data kept in memory; more is read while training


@dataclass
class Parts:
    """Attributes:
    stage: The one that is gone on with (`enter`).
    most: Examples of each side that features are made of, for a timing; *unmade_s*: what the others would take.
    """

    plan: Plan
    opened: Opened
    model: Any
    recipe: recipe.Recipe
    stage: Stage
    batch: int
    workers: int = 1
    most: int | None = None
    unmade_s: float = 0.0

    @classmethod
    def make(
        cls, plan: Plan, events: Events | None, watch: BuildWatch | None, workers: int = 1, *, most: int | None = None
    ) -> Parts:
        """Open the data, build the model, make the step functions, for one worker of *workers*.

        *most*: examples that features are made of, for a timing.
        """
        opened = open_data(plan)
        if events is not None:
            events.send("phase", phase="setting-up", detail="model")
        model = build_model(plan, opened.description, watch)
        batch = plan.job.training.global_batch
        parts = cls(plan, opened, model, recipe.from_plan(plan), cast(Stage, None), batch, workers, most)
        if parts.unfreeze_at and events is not None:
            events.send("phase", phase="setting-up", detail="features")
        parts.enter(0, None)
        return parts

    @property
    def unfreeze_at(self) -> int:
        return unfreeze_at(self.plan)

    def enter(self, step: int, arrays: state.Arrays | None) -> Stage:
        """See `stages.Enter`."""
        at = self.unfreeze_at
        self.stage = self._head(at) if step < at else self._whole(at, arrays)
        return self.stage

    def _whole(self, at: int, arrays: state.Arrays | None) -> Stage:
        if at:
            self._fill()  # its variables may have given up their values
            if arrays is not None:
                self.stage.put(arrays)
        return self._stage(at, FOREVER, self.model, (self.opened.train, self.opened.validation), varies=True)

    def _head(self, at: int) -> Stage:
        self._fill()
        backbone, head = starting.halves(self.model, self.plan)
        key = features.key_of(self.plan, starting.sha256_of(self.plan))
        seen = features.of(self.opened, lambda: running().compiled(backbone), key, self.most)
        self.unmade_s = seen.each_s * seen.left
        return self._stage(0, at, head, (seen.train, seen.validation), varies=False)

    def _fill(self) -> None:
        starting.fill(self.model, self.plan, self.opened.description)

    def _stage(self, first: int, last: int, model: Any, sources: tuple[Source, Source], *, varies: bool) -> Stage:
        plan, shape = self.plan, state.layout(model, self.recipe)
        chosen = backend.way(plan, convolutions=backend.has_convolutions(model))
        steps = backend.make_steps(plan, model, self.recipe, shape, chosen, self.workers)
        unseen = backend.evaluation_batch(plan, model, len(sources[1]))
        return Stage(first, last, model, shape, steps, *sources, varies, unseen, chosen.per_call)

    def feed(self, stage: Stage, cut: Callable[[int], int]) -> Feed:
        order = Order(len(stage.source), self.batch, self.plan.job.training.seed)
        on_one_computer = self.workers if places.by_id(self.plan.place).on_this_computer else 1
        return Feed(
            stage.source,
            order,
            stage.per_call,
            cut,
            vary=vary_of(self.plan, self.opened, self.batch) if stage.varies else None,
            share=stage.steps.share(self.batch),
            processes=decoding_processes((os.cpu_count() or 1) // on_one_computer),
        )

    def loop(
        self,
        run: Path,
        schedule: Schedule,
        events: Events,
        attempt: int,
        command: Callable[[], Command | None],
        extended: Callable[[Command | None], tuple[int, ...]],
        *,
        timing: bool = False,
    ) -> Loop:
        """*timing*: steps in the plan's own rhythm, but checks are short and nothing is saved."""
        loop = Loop(
            run,
            self._timed(attempt) if timing else self._settings(attempt),
            self.stage,
            self.opened,
            lambda stage: self.feed(stage, lambda step: loop.cut(step)),
            schedule,
            Progress(
                base=starting.sha256_of(self.plan),
                unfreeze_at=self.unfreeze_at,
                tokenizer=str(self.opened.description.get("tokenizer_sha256") or ""),
            ),
            events,
            Reports(events, self.batch, utilisation=backend.utilisation(self.plan)),
            in_units=self.in_units,
            enter=self.enter,
            command=command,
            extended=extended,
        )
        return loop

    def in_units(self, values: object) -> object:
        """Standardised numbers of a regression in the column's own unit."""
        return sources.untransform(np.asarray(values), self.opened.description)

    def write_result(
        self,
        run: Path,
        loop: Loop,
        arrays: state.Arrays,
        reason: Reason,
        tell: Callable[[str, Mapping[str, object]], None],
    ) -> None:
        """Put the final weights, of *arrays*, or the best into the model and hand it to ``result``, with *tell*."""
        from tpu_studio.trainer import result

        step, labels = loop.progress.step, loop.progress.labels
        if loop.takes_best and loop.progress.best_step is not None:
            best = checkpoints.read(run, loop.progress.best_step)
            if isinstance(best, checkpoints.Loaded):
                arrays, step, labels = best.arrays, best.step, loop.progress.best_labels
            else:
                loop.tell_damaged(best)
        if not self.stage.holds(step):
            self.enter(max(0, step - 1), None)
        self.stage.put(arrays)
        result.write(
            run,
            self.plan,
            self.opened.description,
            for_result(self.model, self.plan, self.opened.description),
            loop.progress.history,
            reason=reason.value,
            step=step,
            tell=tell,
            kept=self.opened.files,
            labels=labels,
        )

    @property
    def is_slow_convolution(self) -> bool:
        """Convolutions of JAX on a processor: minutes where others take seconds."""
        at_home = places.by_id(self.plan.place).on_this_computer
        slower = frameworks.by_id(self.plan.framework).slower_convolution > 1
        return at_home and slower and backend.has_convolutions(self.stage.model)

    def _timed(self, attempt: int) -> Settings:
        planned = self._settings(attempt)
        return replace(planned, checkpoint_every=FOREVER, early_stopping=0, check_batches=1)

    def _settings(self, attempt: int) -> Settings:
        job = self.plan.job
        return Settings(
            self.plan.task,
            job.training.evaluate_every,
            job.training.checkpoint_every,
            job.training.early_stopping,
            job.training.on_nan,
            attempt,
            self._if_not_finite(),
            in_step=self.workers > 1,
        )

    def _if_not_finite(self) -> tuple[str, ...]:
        """Ids of what to try when the loss stops being a number: what the plan does not do already."""
        job = self.plan.job
        tries = ["lower-learning-rate"]
        tries += ["clip-gradient"] if not self.recipe.clip_norm else []
        tries += ["longer-warmup"] if job.training.warmup < 0.05 else []
        tries += ["float32"] if job.training.precision == "bfloat16" else []
        return (*tries, "check-data")


def vary_of(plan: Plan, opened: Opened, batch: int) -> Vary | None:
    """How the pictures of each batch of training are varied and mixed; None where they are not."""
    shape, description = opened.train.spec["x"][0], opened.description
    varies, mixed, mix = plan.job.data.augment is True, recipe.is_mixed(plan), plan.job.training.mix
    if len(shape) != 3 or not (varies or mixed):
        return None
    mirror = may_mirror(description.get("kind"), description.get("classes", ()))
    value_max = int(description.get("value_max") or 255)

    def vary(rng: np.random.Generator, share: Share | None) -> Batch:
        drawn: Batch = {}
        if varies:
            drawn |= variations(rng, batch, shape[:2], mirror=mirror, value_max=value_max, share=share)
        if mixed:
            drawn |= mixes(rng, batch, shape[:2], mix, share=share)
        return drawn

    return vary


def open_data(plan: Plan) -> Opened:
    """The plan's data, with the target and sizes that were planned with.

    Raises:
        DataError: ``data-changed`` when it is no longer what was planned with, and what the data itself raises.
    """
    look = look_of_plan(plan) if plan.data else None
    if look is not None:
        check_unchanged(plan.job, look)
    return sources.open_data(plan.job, look, memory_budget_bytes=MEMORY_BUDGET, workers=os.cpu_count() or 1)


def description_of(plan: Plan) -> dict[str, Any]:
    """Of the data, as far as a model needs it, from the look that the plan holds: nothing is opened."""
    look, side = look_of_plan(plan), plan.job.data.image_size
    shape = look.input_shape
    if len(shape) == 3 and isinstance(side, int):  # as they are trained with, not as they were looked at
        shape = (side, side, shape[2])
    return {
        "kind": look.kind,
        "task": plan.task,
        "input_shape": list(shape),
        "outputs": look.outputs,
        "classes": [name for name, _ in look.classes],
        "vocabulary": _vocabulary(plan, look),
    }


def _vocabulary(plan: Plan, look: Look) -> int:
    """Tokens of texts to be told apart, as far as a look tells; 0 for other data, whose model says it."""
    preset = plan.job.model.starts_from
    begins = preset and not plan.job.model.folder
    known = models.starter(preset).vocabulary if begins else look.numbers.get("vocabulary", 0)
    return tokens.BYTES if known and plan.job.data.tokenizer == "bytes" else known


def build_model(plan: Plan, description: Mapping[str, object], watch: BuildWatch | None) -> Any:
    from tpu_studio.trainer import models

    own = str(plan.job.model.file) if plan.job.model.is_own else None
    if watch is None:
        return models.build(plan, description)
    with watch.over(own):
        return models.build(plan, description)
