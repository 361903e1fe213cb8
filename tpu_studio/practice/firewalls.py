"""Compute Engine's firewall rules. Google's own ``default`` network comes with four; one made by a call has none."""

from __future__ import annotations

from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.state import Record

HOME = "https://www.googleapis.com/compute/v1"
_OF_DEFAULT: tuple[tuple[str, str, list[Record]], ...] = (
    (
        "allow-internal",
        "10.128.0.0/9",
        [*({"IPProtocol": kind, "ports": ["0-65535"]} for kind in ("tcp", "udp")), {"IPProtocol": "icmp"}],
    ),
    ("allow-ssh", "0.0.0.0/0", [{"IPProtocol": "tcp", "ports": ["22"]}]),
    ("allow-rdp", "0.0.0.0/0", [{"IPProtocol": "tcp", "ports": ["3389"]}]),
    ("allow-icmp", "0.0.0.0/0", [{"IPProtocol": "icmp"}]),
)
"""https://cloud.google.com/firewall/docs/firewalls#more_rules_default_vpc"""


def with_network(cloud: Cloud, project: str, network: str) -> None:
    """The rules that come with Google's default network."""
    for ending, source, allowed in _OF_DEFAULT:
        body = {
            "name": f"{network}-{ending}",
            "network": f"global/networks/{network}",
            "sourceRanges": [source],
            "allowed": allowed,
            "priority": 65534,
        }
        put(cloud, project, body)


def put(cloud: Cloud, project: str, wanted: dict[str, object]) -> dict[str, object]:
    """Raises GoogleError: 400 no such network, or a rule that allows and denies nothing; 409 there is one."""
    name, network = wanted.get("name", ""), str(wanted.get("network", "global/networks/default")).rpartition("/")[2]
    key = f"{project}/{name}"
    if not wanted.get("allowed") and not wanted.get("denied"):
        raise GoogleError(
            400,
            "INVALID_ARGUMENT",
            "Invalid value for field 'resource': Firewall should have allowed or denied fields specified.",
            reason="invalid",
        )
    if cloud.db.get("firewall", key) is not None:
        raise GoogleError(
            409,
            "ALREADY_EXISTS",
            f"The resource 'projects/{project}/global/firewalls/{name}' already exists",
            reason="alreadyExists",
        )
    home = f"{HOME}/projects/{project}/global"
    record = {
        "kind": "compute#firewall",
        "direction": "INGRESS",
        "priority": 1000,
        "disabled": False,
        **wanted,
        "name": name,
        "network": f"{home}/networks/{network}",
        "selfLink": f"{home}/firewalls/{name}",
        "creationTimestamp": cloud.clock.rfc3339(),
    }
    cloud.db.put("firewall", key, record)
    return record


def of(cloud: Cloud, project: str, network: str = "") -> list[Record]:
    """All of *project*, or those of one network."""
    found = [record for _, record in cloud.db.list("firewall", f"{project}/")]
    return [one for one in found if not network or one["network"].endswith(f"/networks/{network}")]
