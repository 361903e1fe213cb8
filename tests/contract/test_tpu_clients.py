"""Google's own clients against the practice TPU API: tpu_v2 over REST, the generic client on the discovery files."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import google.auth.transport.requests
import google.cloud.common  # its OperationMetadata must be known, or a good create ends in a parse error
import pytest
from google.api_core import exceptions
from google.cloud import tpu_v2
from google.cloud.tpu_v2.services.tpu.transports import TpuRestTransport
from google.oauth2.credentials import Credentials
from googleapiclient.discovery import build_from_document

from tests.contract.conftest import Start
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.practice.main import Practice
from tpu_studio.wire.resources import resource_path

PLACE = "projects/practice-project/locations/us-west4-a"
QR = f"{PLACE}/queuedResources/q1"


@pytest.fixture
def practice(start_practice: Start) -> Practice:
    return start_practice(speed=20.0)


def client_of(practice: Practice) -> tpu_v2.TpuClient:
    host = practice.url.removeprefix("http://")
    return tpu_v2.TpuClient(
        transport=TpuRestTransport(host=host, url_scheme="http", credentials=Credentials(practice.token))
    )


@pytest.fixture
def client(practice: Practice) -> Iterator[tpu_v2.TpuClient]:
    with client_of(practice) as client:
        yield client


def wanted() -> tpu_v2.QueuedResource:
    node = tpu_v2.Node(accelerator_type="v5litepod-4", runtime_version="v2-alpha-tpuv5-lite")
    spec = tpu_v2.QueuedResource.Tpu.NodeSpec(parent=PLACE, node_id="n1", node=node)
    return tpu_v2.QueuedResource(tpu=tpu_v2.QueuedResource.Tpu(node_spec=[spec]), spot=tpu_v2.QueuedResource.Spot())


def create(client: tpu_v2.TpuClient) -> Any:
    return client.create_queued_resource(parent=PLACE, queued_resource=wanted(), queued_resource_id="q1", timeout=60)


def test_tpu_v2_makes_watches_and_deletes_a_queued_resource(client: tpu_v2.TpuClient):
    create(client)
    states = tpu_v2.QueuedResourceState.State
    give_up = time.monotonic() + PATIENCE_S
    while (found := client.get_queued_resource(name=QR, timeout=60)).state.state != states.ACTIVE:
        assert found.state.state in (states.CREATING, states.WAITING_FOR_RESOURCES, states.PROVISIONING)
        assert time.monotonic() < give_up
        time.sleep(0.02)
    node = client.get_node(name=f"{PLACE}/nodes/n1", timeout=60)
    assert node.state == tpu_v2.Node.State.READY and node.id > 0
    assert node.accelerator_config.type_ == tpu_v2.AcceleratorConfig.Type.V5LITE_POD
    with pytest.raises(exceptions.BadRequest):
        client.delete_queued_resource(name=QR, timeout=60)
    operation = client.delete_queued_resource(request={"name": QR, "force": True}, timeout=60)
    operation.result(timeout=60)
    with pytest.raises(exceptions.NotFound):
        client.get_queued_resource(name=QR, timeout=60)


def test_tpu_v2_lists_what_there_is(client: tpu_v2.TpuClient):
    assert "v5litepod-4" in {one.type_ for one in client.list_accelerator_types(parent=PLACE, timeout=60)}
    assert "v2-alpha-tpuv5-lite" in {one.version for one in client.list_runtime_versions(parent=PLACE, timeout=60)}
    create(client)
    assert [one.name for one in client.list_queued_resources(parent=PLACE, timeout=60)] == [QR]
    assert list(client.list_nodes(parent="projects/practice-project/locations/-", timeout=60)) is not None


def test_tpu_v2_understands_a_refusal_with_its_details(start_practice: Start):
    with client_of(start_practice("quota-zero")) as client, pytest.raises(exceptions.TooManyRequests) as refused:
        create(client)
    assert refused.value.metadata["quota_limit"] == "TPUV5sPreemptibleLitepodServingPerProjectPerZoneForTPUAPI"
    assert "Limit: 0 in zone us-west4-a." in refused.value.message


def test_tpu_v2_gets_a_stockout_from_the_operation(start_practice: Start):
    short = pytest.raises(exceptions.ResourceExhausted, match="no more capacity")
    with client_of(start_practice("stockout-in-operation", speed=20.0)) as client, short:
        create(client).result(timeout=60)


def test_tpu_v2_survives_a_foreign_metadata_type_once_that_is_imported(start_practice: Start):
    assert google.cloud.common.OperationMetadata
    with client_of(start_practice("foreign-metadata-type", speed=20.0)) as client:
        create(client).result(timeout=60)


@pytest.mark.parametrize("version", ["v2", "v2alpha1"])
def test_the_generic_client_on_the_discovery_documents_makes_and_deletes(practice: Practice, version: str):
    document = json.loads(resource_path("discovery", f"tpu.{version}.json").read_text("utf-8"))
    document["rootUrl"] = f"{practice.url}/"
    session = google.auth.transport.requests.AuthorizedSession(Credentials(practice.token))
    with build_from_document(document, credentials=Credentials(practice.token)) as service, session:
        queued = service.projects().locations().queuedResources()
        spec = {
            "parent": PLACE,
            "nodeId": "n1",
            "node": {"acceleratorType": "v5litepod-1", "runtimeVersion": "v2-alpha-tpuv5-lite"},
        }
        body = {"tpu": {"nodeSpec": [spec]}}
        made = queued.create(parent=PLACE, queuedResourceId="q1", body=body).execute()
        assert made["metadata"]["apiVersion"] == version
        assert queued.get(name=QR).execute()["name"] == QR
        assert queued.delete(name=QR, force=True).execute()["metadata"]["verb"] == "delete"
