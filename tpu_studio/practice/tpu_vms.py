"""The machines behind nodes: what a node's record says about its machine (``vm``: "", on, off) is made true.

Outside the transactions in which records move (`tpu_life`): a machine takes its time, and a server that was killed in
between takes it up again.
"""

from __future__ import annotations

from collections.abc import Iterable

from tpu_studio.practice import tpu_offer
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.state import Record
from tpu_studio.practice.tpu_show import NODE
from tpu_studio.practice.vms import MachineSpec
from tpu_studio.wire import loans

STOP_S = 3.0  # practice seconds that a node may take to stop


class Machines:
    def __init__(self, cloud: Cloud) -> None:
        self._cloud, self._db, self._faults = cloud, cloud.db, cloud.faults
        self._begun = False

    def see_to(self) -> None:
        """Make true what the records say."""
        vms = self._cloud.vms
        if not self._begun:
            self._begun = True
            self._begin()
        for name, record in self._db.peek(NODE):
            state, vm = record["state"], record["vm"]
            if state == "READY" and record.get("taken"):
                if vm and vms is not None:
                    vms.kill(name)
                if vm:
                    self._note(name, vm="")
            elif state == "READY":
                if vm != "on":
                    if vms is not None:
                        vms.start(name, self._spec(name, record))
                    if not self._note(name, vm="on") and vms is not None:
                        vms.kill(name)  # deleted while it started
                elif record.get("notice") is not None:
                    if vms is not None:
                        vms.stop(name, record["notice"])
                    self._note(name, notice=None)
                elif vms is not None:
                    self._preempt_at_step(name, record)
            elif state == "STOPPING" and vm == "on":
                if vms is not None:
                    vms.shut_down(name, STOP_S)
                self._note(name, vm="off")
            elif state in ("DELETING", "PREEMPTED") and vm:
                if vms is not None:
                    vms.kill(name)
                self._note(name, vm="")

    def end(self, nodes: Iterable[str]) -> None:
        """Every process of them, now."""
        for name in nodes:
            if self._cloud.vms is not None:
                self._cloud.vms.kill(name)

    def _begin(self) -> None:
        """A machine that died while no server ran (this computer was off) boots again."""
        for name, record in self._db.peek(NODE):
            if record["vm"] == "on" and self._cloud.vms is not None and not self._cloud.vms.alive(name):
                self._note(name, vm="off")

    def _preempt_at_step(self, name: str, record: Record) -> None:
        """The supervisor of the machine watches the steps and gives the notice itself, at the very step."""
        vms = self._cloud.vms
        assert vms is not None
        about = {"node": record["id"], "zone": record["zone"], "tier": record["tier"]}
        waits = record.get("at_step")
        fault = self._faults.armed("preempted-at-step", **about)
        if waits is None and fault is not None:
            vms.preempt_at(name, int(fault["step"]), float(fault["notice"]))
            self._note(name, at_step=fault["step"], step_notice=float(fault["notice"]))
        elif waits is not None and not record.get("preempt") and (noticed := vms.noticed(name)) is not None:
            self._faults.take("preempted-at-step", **about)
            self._note(name, preempt=noticed + record["step_notice"])

    def _note(self, name: str, **change: object) -> bool:
        """Whether there is such a node still."""
        with self._db.transaction():
            record = self._db.get(NODE, name)
            if record is not None:
                self._db.put(NODE, name, {**record, **change})
        return record is not None

    def _spec(self, name: str, record: Record) -> MachineSpec:
        part = tpu_offer.by_type(record["accelerator"])
        assert part is not None
        return MachineSpec(
            resource=name,
            project=record["project"],
            zone=record["zone"],
            node=record["id"],
            accelerator_type=part.accelerator_type,
            chips=part.chips,
            topology=part.topology,
            workers=part.vms,
            service_account=record["account"],
            runtime_version=record["body"]["runtimeVersion"],
            spot=loans.by_id(record["tier"]).spare,
            scopes=tuple(record["scopes"]),
            metadata=record["body"].get("metadata", {}),
            labels=record["body"].get("labels", {}),
            run_at=record["create"],
        )
