"""Which framework drives the chips of a TPU, and what is said where another one was chosen. Pure.

JAX drives every TPU that can be had. TensorFlow does by Google's recipe (`trainer.step_tf_replicas`): on a single
machine of the Cloud TPU API, of a generation for which Google documents it. Nobody has seen it there yet, and the plan
says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpu_studio.domain.catalogue import Catalogue
from tpu_studio.domain.sentences import say_finding
from tpu_studio.planner.rented import Rented
from tpu_studio.wire import frameworks, places
from tpu_studio.wire.job import Job
from tpu_studio.wire.plan import Check

NEEDS_JAX = "place-needs-jax"
BY_RECIPE = "tensorflow-by-recipe"


def refused(place: str, framework: str, known: Catalogue, accelerator: str, backend: str | None = None) -> str:
    """Why *framework* does not train on this TPU: "notebook", "generation", "machines", "lender"; "": it does.

    A place without chips, such as the practice cloud, trains in any.

    Raises:
        BadInput: ``slice-unknown``, ``generation-unknown``.
    """
    chosen = frameworks.find(framework)
    if not places.by_id(place).has_chips or chosen is None or chosen.leads_on_chip:
        return ""
    if places.by_id(place).notebook:
        return "notebook"
    part = known.slice(accelerator)
    if not known.drives(part.generation, framework):
        return "generation"
    if part.vms > 1:
        return "machines"
    return "lender" if known.by_compute_engine(accelerator, backend) else ""


def of_framework(job: Job, found: Rented) -> Iterator[Check]:
    """Of a job whose framework is chosen, on *found*."""
    place, framework = str(job.where.place), str(job.training.framework)
    if frameworks.by_id(framework).leads_on_chip or not places.by_id(place).has_chips:
        return
    fix: dict[str, object] = {"training.framework": frameworks.for_chips().id}
    facts: dict[str, object] = {"place": place, "accelerator": found.title}
    accelerator = found.slice.accelerator_type
    if why := refused(place, framework, found.known, accelerator, found.backend or None):
        facts |= {"why": why, "said": found.known.possible(found.slice.generation, framework).why}
        yield Check(NEEDS_JAX, "error", say_finding(NEEDS_JAX, facts).title, fix, facts)
    else:
        yield Check(BY_RECIPE, "warning", say_finding(BY_RECIPE, facts).title, fix, facts)
