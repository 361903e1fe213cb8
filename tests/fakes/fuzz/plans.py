"""Plans with odd looks at data, and runs with odd figures beside each other, as window and command line read them."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.fakes.fuzz.target import Base, told
from tests.fakes.hostile import VALUES, Damage
from tests.fakes.looks import DIAMONDS, DIGITS, HANDS, LAPTOP, NOW, PLAYS, job
from tests.fakes.making import make_plan
from tests.fakes.skies import cloud_plan
from tpu_studio.cli import comparing as said
from tpu_studio.cli.output import words_for_numbers
from tpu_studio.domain.comparison import Contender, compare
from tpu_studio.domain.folding import apply
from tpu_studio.domain.forecast import forecast
from tpu_studio.domain.run import RunView
from tpu_studio.planner.modelwork import key_of_plan
from tpu_studio.viewmodels import comparing, draft, planpace, planwords, runfacts, runnumbers, runpace, samples
from tpu_studio.wire import models, tasks
from tpu_studio.wire.events import Event
from tpu_studio.wire.limits import limits_of
from tpu_studio.wire.plan import Plan, dumps, loads
from tpu_studio.workflow.comparing import _settings

EDGES = (1e308, -1e308, 1e100, -1e100, 5e-324, 0.0, 1.0, 0.5, float("nan"), float("inf"), float("-inf"))
HAPPENED = (
    Event(NOW, "phase", {"phase": "training"}),
    Event(NOW + 1, "metric", {"step": [1, 2], "loss": [2.0, 1.0]}),
    Event(NOW + 3, "speed", {"step": 9, "steps": 9, "examples": 90, "seconds": 2.0}),
    Event(NOW + 9, "speed", {"step": 40, "steps": 31, "examples": 310, "seconds": 6.0}),
    Event(NOW + 10, "money", {"usd": 1.0, "usd_per_hour": 3.0}),
)


class Plans(Base):
    """A damaged `plan.json` is refused, or every page that reads one reads it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        asked = (("gpt-nano", "text", PLAYS), ("mlp", "table", DIAMONDS), ("small-cnn", "images", HANDS))
        made = [make_plan(job(model, kind), look, now=NOW, computer=LAPTOP) for model, kind, look in asked]
        made += [cloud_plan(), make_plan(job("efficientnet-lite0", "images"), HANDS, now=NOW, computer=LAPTOP)]
        made.append(make_plan(job("mlp", "digits"), DIGITS, now=NOW, computer=LAPTOP))
        self.trees: list[dict[str, Any]] = [json.loads(dumps(one)) for one in made]
        self.views = [RunView()]
        for event in HAPPENED:
            self.views.append(apply(self.views[-1], event))

    def one(self, chance: random.Random) -> None:
        damage, tree = Damage(chance), chance.choice(self.trees)
        key = chance.choice(("data", "data", "job", ""))
        changed = {**tree, key: damage.mutated_value(tree[key])} if key else damage.mutated_value(tree)
        data = json.dumps(changed).encode()
        if chance.random() < 0.1:
            data = damage.mutated_bytes(data)
        self.given("plan.json", data)
        plan = told(lambda: loads(data))
        if plan is not None:
            self._read(plan)

    def _read(self, plan: Plan) -> None:
        if plan.job.model.starts_from:
            models.starter(plan.job.model.starts_from)
        limits_of(plan)
        samples.samples_of(plan)
        planpace.needs_pace(plan)
        planwords.memory_of(plan)
        told(lambda: _settings(plan))
        told(lambda: draft.of_plan(plan, Path()))
        told(lambda: dumps(plan))
        try:
            told(lambda: key_of_plan(plan))
        except ValueError as error:  # of the look: whoever reads it expects it
            assert str(error)
        facts = runfacts.facts_of(plan)
        for view in self.views:
            found = forecast(plan, view)
            runpace.to_json(plan, view, found)
            runnumbers.numbers(facts, view, NOW, found)
            runnumbers.extension_words(facts, view, 1.0)


class Compared(Base):
    """Runs whose figures and settings may be anything: a finding in words, a table and JSON, or a refusal."""

    def one(self, chance: random.Random) -> None:
        task = chance.choice(tasks.all_tasks())
        runs = []
        for number in range(chance.choice((1, 2, 3, 6, 8, 21))):
            settings = {"training.seed": number, "a": chance.choice((1, 2)), "b": chance.choice(VALUES)}
            figures = [chance.choice(EDGES) for _ in range(4)]
            best = {task.metric: figures[0]} if chance.random() < 0.9 else {}
            name = chance.choice((f"r{number}", "\ud800", "=1+1", "x" * 5000))
            run = Contender(f"r{number}", name, "computer", "cpu", task.id, settings, "d", best)
            runs.append(replace(run, time_s=figures[1], usd=figures[2], is_over=chance.random() < 0.8))
        self.given("runs", repr(runs).encode("utf-8", "replace"))
        found = told(lambda: compare(runs))
        if found is None:
            return
        assert found.finding.title and "infinite" not in found.finding.title
        json.dumps(words_for_numbers(said.as_json(found)), default=str, allow_nan=False)
        said._words(found)
        comparing._table(found, runs)
        comparing.table_of(found)
