"""What the metadata server of one worker tells: a tree of names (reference: google-cloud.md §5.2, cloud-clients.md §4).

A leaf is text, a number, a list of text, or a function that gives one of them. Folders that list by name are dicts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tpu_studio.practice.machines.machine import Machine

Tree = dict[str, Any]
_LITERAL = ("attributes", "service-accounts", "guest-attributes")  # their children keep their names in JSON
MULTI_HOST_IP = "127.0.0.1"


def build(machine: Machine, worker: int, token: Callable[[], dict[str, object]], preempted: Callable[[], str]) -> Tree:
    """The tree of *worker*.

    Args:
        token: ``{"access_token","expires_in","token_type"}``; may raise OSError when the cloud does not answer.
        preempted: ``TRUE`` or ``FALSE``.
    """
    number, zone, email = machine.project_number, machine.zone, machine.service_account
    account: Tree = {
        "aliases": ["default"],
        "email": email,
        "scopes": list(machine.scopes),
        "token": token,
    }
    tree: Tree = {
        "instance": {
            "attributes": attributes(machine, worker),
            "cpu-platform": "Practice",
            "description": "",
            "disks": {"0": {"device-name": "boot", "index": 0, "mode": "READ_WRITE", "type": "PERSISTENT"}},
            "guest-attributes": {},
            "hostname": f"{host_name(machine, worker)}.{zone}.c.{machine.project}.internal",
            "id": machine.instance_id + worker,
            "image": "",
            "machine-type": f"projects/{number}/machineTypes/{machine.machine_type}",
            "maintenance-event": "NONE",
            "name": host_name(machine, worker),
            "network-interfaces": {
                "0": {
                    "access-configs": {"0": {"external-ip": MULTI_HOST_IP, "type": "ONE_TO_ONE_NAT"}},
                    "ip": MULTI_HOST_IP,
                    "network": f"projects/{number}/networks/default",
                }
            },
            "preempted": preempted,
            "scheduling": {
                "automatic-restart": "FALSE",
                "on-host-maintenance": "TERMINATE",
                "preemptible": "TRUE" if machine.spot else "FALSE",
            },
            "service-accounts": {"default": account, email: account} if email else {},
            "tags": [],
            "zone": f"projects/{number}/zones/{zone}",
        },
        "oslogin": {},
        "project": {"attributes": {}, "numeric-project-id": int(number), "project-id": machine.project},
        "universe": {"universe-domain": "googleapis.com", "universe_domain": "googleapis.com"},
    }
    if machine.doubts.get("preempted-metadata") == "absent":
        del tree["instance"]["preempted"]
    return tree


def host_name(machine: Machine, worker: int) -> str:
    """A TPU's hosts have names of their own; an instance is its own host."""
    return machine.node if machine.backend == "compute" else f"t1v-n-{machine.instance_id % 16**8:08x}-w-{worker}"


def attributes(machine: Machine, worker: int) -> Tree:
    """The metadata given at creation, and on TPU nodes what Google adds (absent on Compute Engine, as far as known)."""
    given: Tree = dict(machine.metadata)
    if machine.backend != "tpu" and not machine.doubts.get("compute-attributes"):
        return given
    return given | {
        "accelerator-type": machine.accelerator_type,
        "agent-worker-number": str(worker),
        "instance-id": machine.node,
        "tpu-env": tpu_env(machine, worker),
        "worker-network-endpoints": ",".join(
            f"{host_name(machine, index)}:{machine.instance_id + index}:{MULTI_HOST_IP}"
            for index in range(machine.workers)
        ),
    }


def tpu_env(machine: Machine, worker: int) -> str:
    bounds = ",".join((machine.topology or "1x1").split("x") + ["1"] * (2 - machine.topology.count("x")))
    lines = {
        "ACCELERATOR_TYPE": machine.accelerator_type,
        "CHIPS_PER_HOST_BOUNDS": f"1,{max(1, machine.chips // machine.workers)},1",
        "CONSUMER_PROJECT_ID": machine.project,
        "HOST_BOUNDS": f"1,{machine.workers},1",
        "NODE_ID": machine.node,
        "TOPOLOGY": machine.topology,
        "TPU_CHIPS_PER_PROCESS_BOUNDS": f"1,{max(1, machine.chips // machine.workers)},1",
        "TPU_PROCESS_BOUNDS": f"1,{machine.workers},1",
        "TPU_TOPOLOGY_BOUNDS": bounds,
        "WORKER_ID": str(worker),
        "ZONE": machine.zone,
    }
    return "".join(f"{key}: '{value}'\n" for key, value in lines.items())


class NoSuchPath(LookupError):
    pass


def find(tree: Tree, path: str) -> object:
    """The node at *path* (``instance/name``, slashes at the ends do not matter). Raises NoSuchPath."""
    node: object = tree
    for part in filter(None, path.split("/")):
        if not isinstance(node, dict) or part not in node:
            raise NoSuchPath(path)
        node = node[part]
    return node


def value(leaf: object) -> object:
    return leaf() if callable(leaf) else leaf


def as_text(leaf: object) -> str:
    """A leaf as the server writes it by default: plain text, a list one a line, an object as JSON."""
    told = value(leaf)
    if isinstance(told, list):
        return "".join(f"{item}\n" for item in told)
    return json.dumps(told) if isinstance(told, Mapping) else str(told)


def listing(node: Mapping[str, object]) -> str:
    return "".join(f"{name}/\n" if isinstance(child, dict) else f"{name}\n" for name, child in sorted(node.items()))


def as_json(node: object, *, literal: bool = False) -> object:
    """With ``recursive=true``: everything below *node*; names in camelCase where they are Google's; no tokens."""
    if not isinstance(node, dict):
        return value(node)
    if node and all(name.isdigit() for name in node):
        return [as_json(node[name]) for name in sorted(node, key=int)]
    return {
        name if literal else _camel(name): as_json(child, literal=name in _LITERAL)
        for name, child in node.items()
        if name != "token" or literal
    }


def _camel(name: str) -> str:
    first, *rest = name.split("-")
    return first + "".join(part.capitalize() for part in rest)
