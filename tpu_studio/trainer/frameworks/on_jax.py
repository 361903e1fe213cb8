"""JAX: everything through XLA, on processors and on TPUs."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpu_studio.trainer.frameworks import Devices, Example, Steps, Way, needs_a_tpu
from tpu_studio.trainer.recipe import Recipe
from tpu_studio.trainer.state import Layout
from tpu_studio.wire import places, tasks
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.plan import Plan

_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8  # malloc.h


def begin_here(plan: Plan, devices: int) -> None:
    if tasks.by_id(plan.task).has_tokens:
        keep_memory()
    flags = os.environ.get("XLA_FLAGS", "")
    if devices > 1 and "device_count" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={devices}".strip()


def keep_memory() -> None:
    """Have the C library keep memory it was given back, where it can be told so (glibc).

    XLA on a processor takes its working memory anew for each call, and glibc returns large pieces to the system at
    once: gpt-nano pays 26,000 page faults a call, 45 ms, for memory it had a moment ago. Small models need little
    memory a call, and the one arena that this takes costs their short steps 6 %: for language models only.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    for name, value in ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, 2**31 - 1), (_M_ARENA_MAX, 1)):
        mallopt(name, value)


def devices(plan: Plan) -> Devices:
    import jax

    try:
        found = Devices(len(jax.local_devices()), len(jax.devices()), jax.default_backend())
    except RuntimeError as error:  # "Unable to initialize backend 'tpu': …"
        raise StudioError("tpu-not-opened", raw=str(error)[:1000], place=plan.place) from error
    if needs_a_tpu(plan) and found.kind != "tpu":  # where there is no libtpu, JAX goes on without a word
        raise StudioError("tpu-not-opened", raw=f"JAX found no TPU, only {found.kind}", place=plan.place)
    return found


def way(plan: Plan, *, slow_convolutions: bool) -> Way:
    """Always compiled. Convolutions on a processor are slow either way, and one step a call keeps compiling short."""
    return Way(True, 1 if slow_convolutions else max(1, plan.job.training.steps_per_call))


def make_steps(plan: Plan, model: object, recipe: Recipe, shape: Layout, chosen: Way) -> Steps:
    from tpu_studio.trainer.step_jax import JaxSteps

    if places.by_id(plan.place).on_this_computer:
        quicken(model)
    return JaxSteps(model, recipe, shape, devices=plan.devices, sharded=plan.sharded)


def quicken(model: object) -> None:
    from tpu_studio.trainer.models import quick

    quick.quicken(model)


def watch_compiling() -> Callable[[], dict[str, Any]]:
    """Of the compilation cache (``JAX_COMPILATION_CACHE_DIR``), by JAX's own events."""
    from jax import monitoring

    saved: list[float] = []

    def heard(event: str, seconds: float, **more: Any) -> None:
        if event == "/jax/compilation_cache/compile_time_saved_sec":
            saved.append(seconds)

    monitoring.register_event_duration_secs_listener(heard)
    return lambda: {"programs": len(saved), "saved_s": round(max(0.0, sum(saved)), 1)} if saved else {}


def keep_attention_plain() -> None:
    from tpu_studio.trainer.models import attention

    attention.without_kernel()


def recomputed(function: Callable[..., object]) -> Callable[..., object]:
    """All but what the attention kernel gave: that is small, and the dearest to work out again."""
    import jax

    from tpu_studio.trainer.models import splash

    policy = jax.checkpoint_policies.save_only_these_names(splash.MIXED)
    return jax.checkpoint(function, policy=policy)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class JaxTrace:
    """Of ``jax.profiler``."""

    profiler: Any

    def mark(self, name: str) -> AbstractContextManager[object]:
        return self.profiler.TraceAnnotation(name)  # type: ignore[no-any-return]

    def stop(self) -> None:
        self.profiler.stop_trace()


def trace(folder: Path) -> JaxTrace:
    from jax import profiler

    options = profiler.ProfileOptions()
    options.host_tracer_level = 1  # what the threads of a processor compute, not what they say to one another
    options.python_tracer_level = 0  # each call of Python's would be an event
    profiler.start_trace(str(folder), profiler_options=options)
    return JaxTrace(profiler)


def count_model(model: Any, recipe: Recipe, example: Example, batch: int) -> dict[str, object]:
    from tpu_studio.trainer.work.model import count_model

    return count_model(model, recipe, example, batch)


def compiled(model: Any) -> Callable[[object], object]:
    import jax

    from tpu_studio.trainer.models import quick

    weights = [variable.value for variable in model.trainable_variables]
    others = [variable.value for variable in model.non_trainable_variables]

    def forward(weights: Any, others: Any, x: object) -> object:
        with quick.forward(model) if jax.default_backend() == "cpu" else nullcontext():
            return model.stateless_call(weights, others, x, training=False)[0]

    run = jax.jit(forward)
    return lambda x: run(weights, others, x)
