"""“Show me the commands”: a launch as a gcloud script, made from what `workflow.cloudruns` asks for.

Nothing is asked for and nothing is uploaded. `launch_script`: of a plan; data is read once, for its checksum.
`run_script`: of a run, as its newest machine was asked for.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from tpu_studio.cloud import startup
from tpu_studio.cloud.bundle import bundle, data_pieces
from tpu_studio.cloud.commands import script
from tpu_studio.cloud.presetparts import SUFFIX, files_of
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.wire.limits import limits_of
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import inner
from tpu_studio.workflow.cloudruns import asking, brought
from tpu_studio.workflow.cloudruns.machine import Machine
from tpu_studio.workflow.cloudruns.ports import CloudSide, Ref
from tpu_studio.workflow.cloudruns.state import State

_REQUEST = "00000000-0000-4000-8000-000000000000"


def launch_script(plan: Plan, run: str, side: CloudSide, install: str) -> str:
    """A POSIX shell script. Raises DataError where the data cannot be read."""
    plan = replace(plan, run=run)
    generation = catalogue().slice(plan.accelerator).generation
    packed = bundle(plan)
    sha256 = hashlib.sha256(packed).hexdigest()
    object_ = f"runs/{run}/job/bundle-{sha256}.tar.gz"
    uploads = {f"bundle-{sha256}.tar.gz": object_}
    data = []
    for piece in data_pieces(plan.job):
        told = _Hashing()
        found = piece.write(cast(BinaryIO, told))
        name = f"data/{found}{piece.suffix}"
        local = str(piece.files[0].path) if piece.single else f"{found}.tar"
        uploads[local] = name
        data.append({"object": name, "sha256": found, "bytes": told.size, "as": piece.folder})
    folder = files_of(plan)
    for one in folder:
        whole = str(one.path) if len(one.parts) == 1 else ""
        uploads |= {whole or f"{part.sha256}{SUFFIX}": part.object for part in one.parts}
    pieces: dict[str, object] = {
        **({"preset": [one.record() for one in folder]} if folder else {}),
        "bundle": {"object": object_, "sha256": sha256, "bytes": len(packed)},
        "data": data,
        "environment": startup.environment(plan.framework, generation),
        "guardian_sha256": startup.guardian_sha256(),
        "trust_code": plan.job.model.is_own,
        "runtime": startup.runtime(plan.framework, generation),
    }
    rules = asking.rules_of(plan, limits_of(plan))
    machine = Machine(
        Ref(f"ts-{run}-a1-t1", rules.zones[0], rules.backend, alpha=rules.alpha), 1, 1, request_id=_REQUEST
    )
    now = side.clock.now()
    return _script(plan, machine, State(pieces=pieces, since=now), uploads, side, install, now)


def run_script(plan: Plan, run: str, state: State, side: CloudSide, install: str) -> str:
    """What was, or will be, done for *run*. Raises as `launch_script`, where nothing was sent yet."""
    if not state.pieces or not state.pieces.get("bundle") or not state.machines:
        return launch_script(plan, run, side, install)
    machine = state.machines[-1]
    pieces = [inner(state.pieces["bundle"]), *brought.shared(state.pieces)]
    uploads = {PurePosixPath(str(piece["object"])).name: str(piece["object"]) for piece in pieces}
    now_ours = {**state.pieces, "guardian_sha256": startup.guardian_sha256()}  # the script only names its file
    before = replace(state, machines=state.machines[:-1], pieces=now_ours)
    now = machine.asked or state.since or side.clock.now()
    return _script(replace(plan, run=run), machine, before, uploads, side, install, now)


def _script(
    plan: Plan, machine: Machine, state: State, uploads: dict[str, str], side: CloudSide, install: str, now: float
) -> str:
    """*machine* as it is asked for at *now*, after what *state* tells."""
    limits = limits_of(plan)
    rules = asking.rules_of(plan, limits)
    config = asking.config(machine, plan=plan, state=state, side=side, install=install, limits=limits, now=now)
    metadata = startup.metadata(config, asking.bare_deadline(now, state, rules, limits))
    wanted = asking.wanted(
        machine, metadata, plan=plan, rules=rules, limits=limits, state=state, side=side, install=install, now=now
    )
    endpoint = side.endpoints["compute" if rules.backend == "compute" else "tpu"]
    outside = not plan.limits.without_outside_stop
    times = asking.before_times(now, state, rules, limits) if outside else []
    region = side.stops.queue(machine.ref).split("/")[3] if outside else ""
    return script(wanted, side.project, side.mailbox.bucket, uploads, times, endpoint, side.stop_account, region)


class _Hashing(io.RawIOBase):
    """Takes bytes and keeps their number."""

    size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        count = memoryview(cast(bytes, data)).nbytes
        self.size += count
        return count

    def tell(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[bytes]:
        return iter(())
