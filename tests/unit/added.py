"""What `test_additions` asks of a copy of the package that has one thing more; prints it as JSON. Not a test."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import tpu_studio
from tpu_studio.cloud import prices, startup
from tpu_studio.cloud.doctor import quota
from tpu_studio.data.guess import guess
from tpu_studio.data.look import look
from tpu_studio.data.sources import open_data
from tpu_studio.domain.catalogue import catalogue, title_of
from tpu_studio.domain.run import RunView
from tpu_studio.planner.make import make_plan
from tpu_studio.practice import quota_limits, tpu_offer
from tpu_studio.practice.skus import COMPUTE_SERVICE, of_service
from tpu_studio.store.index import Index
from tpu_studio.store.journal import JournalFile
from tpu_studio.trainer import backend, evaluation, recipe
from tpu_studio.trainer.state import Layout
from tpu_studio.viewmodels import accountview, draft, planform, planwhere, planwords, runfacts, runnumbers
from tpu_studio.viewmodels.planwhere import PLACES
from tpu_studio.wire import kinds
from tpu_studio.wire.job import Job, parse
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.schema import step_values
from tpu_studio.workflow.account.ports import Allowance
from tpu_studio.workflow.runs import Runs

NOW = 1_795_229_666.0


def _job(**tables: Any) -> Job:
    return parse({"model": {"name": "small-cnn"}, "data": {"kind": "digits"}, **tables})


def _plan(job: Job) -> Plan:
    return make_plan(job, look(job), now=NOW)


def hyperparameter(home: Path) -> dict[str, Any]:
    plan = _plan(_job(training={"momentum": 0.5}))
    group, fields = next(
        (title, [one.title for one in fields if one.path == "training.momentum"])
        for title, fields in planform.more_fields(plan.job, plan, {}, {})
        if any(one.path == "training.momentum" for one in fields)
    )
    planned = plan.job.values["training.momentum"]
    step = "training.momentum" in step_values(plan.job.values)
    return {
        "planned": planned,
        "field": fields[0],
        "group": group,
        "recipe": recipe.from_plan(plan).momentum,
        "step": step,
    }


def family(home: Path) -> dict[str, Any]:
    job = _job(model={"name": "one-layer"})
    plan = _plan(job)
    return {
        "offered": "one-layer" in [model.name for model in draft.fitting_models("digits", None)],
        "fits": plan.fits and not plan.blocking and plan.time_s is not None,
        "batch": 32 <= plan.job.values["training.global_batch"] <= 512,
        "options": dict(plan.options),
    }


def metric(home: Path) -> dict[str, Any]:
    plan = _plan(_job())
    view = replace(RunView(), last={"val_accuracy": 0.88, "val_error": 0.12})
    number = runnumbers.numbers(runfacts.facts_of(plan), view, NOW)[2]
    steps = SimpleNamespace(
        share=lambda batch: None,
        evaluate=lambda batch: None,
        fetch_evaluation=lambda handle: {"loss": 1.0, "total": 4.0, "right": 2.0},
    )
    source = open_data(_job()).validation
    values = evaluation.evaluate(steps, source, plan.task, 4, lambda value: value, limit=1).values
    return {"more": number.more, "hover": number.hover, "measured": values["val_error"]}


def data_kind(home: Path) -> dict[str, Any]:
    home.mkdir(parents=True)
    rows = np.random.default_rng(0).integers(0, 255, (10, 65))
    rows[:, 0] = np.arange(10) % 2
    np.savetxt(home / "some.marks", rows, fmt="%d")
    told = guess(home / "some.marks")
    job = _job(data={"kind": told["data.kind"], "path": told["data.path"]})
    plan = _plan(job)
    opened = open_data(job)
    return {
        "guessed": told["data.kind"],
        "planned": plan.job.values["data.kind"],
        "model": draft.first_model("marks"),
        "card": kinds.by_id("marks").title,
        "trained": [len(opened.train), len(opened.validation)],
    }


def place(home: Path) -> dict[str, Any]:
    plan = _plan(_job(where={"place": "shed"}))
    home.mkdir(parents=True)
    index, journal = Index(home), JournalFile(home / "journal.db")
    runs = Runs(home, places={}, journal=journal, index=index)
    run = runs.launch(plan)
    following = runs.follow(run)
    following.poll()
    told = {
        "tab": ("shed", "Shed") in PLACES,
        "usd_per_hour": plan.price and plan.price.usd_per_hour,
        "charged": bool(plan.cost_usd and plan.cost_usd.expected),
        "status": runs.summary(run).status,
        "detail": following.view.detail,
    }
    following.close()
    runs.stop(run)
    index.close()
    journal.disconnect()
    return told


def generation(home: Path) -> dict[str, Any]:
    plan = _plan(_job(where={"place": "cloud", "accelerator": "v9z-4"}))
    where = planwhere.where_of(plan.job, plan, date(2026, 11, 22))
    (group,) = accountview.groups([Allowance("v9z", "on-demand", "us-west4-a", 8, "zone", 0)])
    skus = [dict(sku) for sku in of_service(COMPUTE_SERVICE)]
    known = catalogue()
    live = prices.with_rows(prices.rows(skus, date(2026, 11, 22), known), date(2026, 11, 22))
    return {
        "choice": next(one.key for one in where.generations if one.key == "v9z" and one.enabled),
        "size": where.size,
        "title": title_of(plan.accelerator),
        "limit_gib": plan.memory.limit_bytes / 2**30,
        "usd_per_hour": plan.price and plan.price.usd_per_hour,
        "zones": list(plan.job.where.zones),
        "timed": plan.time_s is not None and plan.time_s.low > 0,
        "blocking": bool(plan.blocking),
        "runtime": startup.runtime("jax", "v9z"),
        "environment": startup.environment("jax", "v9z")["framework"],
        "account": [group.generation, group.about],
        "drawn": list(quota.drawn("v9z-4")),
        "lent": tpu_offer.by_type("v9z-4") in tpu_offer.slices("us-west4-a"),
        "limit": any(one.generation == "v9z" for one in quota_limits.QUOTAS),
        "priced": live.price("v9z", 4, "us-west4").usd_per_chip_hour,
    }


def framework(home: Path) -> dict[str, Any]:
    job = _job(model={"name": "mlp"}, training={"framework": "plain"})
    plan, opened = _plan(job), open_data(job)
    backend.check_devices(plan)
    way = backend.way(plan, convolutions=False)
    steps = backend.make_steps(plan, None, recipe.from_plan(plan), Layout((), (), (), ()), way)
    everything = opened.train.batch(np.arange(len(opened.train)))
    stack = {name: np.stack([values] * 40) for name, values in everything.items()}
    told = steps.fetch(steps.train(stack, np.full(40, 1.0), 0, 40))
    values = evaluation.evaluate(steps, opened.validation, plan.task, 64, lambda value: value).values
    rented = _plan(_job(model={"name": "mlp"}, training={"framework": "plain"}, where={"place": "cloud"}))
    return {
        "planned": plan.framework,
        "choice": planwords.FRAMEWORK_WORDS["plain"],
        "card": "Plain" in str(runfacts.facts_of(plan)),
        "fits": plan.fits and not plan.blocking,
        "timed": plan.time_s is not None,
        "refused": bool(rented.blocking),
        "learns": bool(told["loss"][-1] < told["loss"][0] / 2),
        "right": values["val_accuracy"] > 0.8,
        "per_call": way.per_call,
    }


if __name__ == "__main__":
    found = globals()[sys.argv[1]](Path(sys.argv[2]))
    print(json.dumps({"package": str(Path(tpu_studio.__file__).parent), **found}))
