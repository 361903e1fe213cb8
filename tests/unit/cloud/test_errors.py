"""Google's own words, as real projects met them, and the id that each must become."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests
from google.api_core import exceptions as core_exceptions
from google.auth import exceptions as auth_exceptions
from google.protobuf.json_format import ParseError

from tpu_studio.cloud import errors
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, SignedOut

core: Any = core_exceptions  # Google's exceptions have no types
auth: Any = auth_exceptions


def info(reason: str, **metadata: str) -> dict[str, Any]:
    kind = "type.googleapis.com/google.rpc.ErrorInfo"
    return {"@type": kind, "reason": reason, "domain": "googleapis.com", "metadata": metadata}


def quota_failure(description: str) -> dict[str, Any]:
    return {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"subject": "p", "description": description}],
    }


DISABLED = (
    "Cloud TPU API has not been used in project 1032299714650 before or it is disabled. Enable it by visiting "
    "https://console.developers.google.com/apis/api/tpu.googleapis.com/overview?project=1032299714650 then retry. If "
    "you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry."
)

# HTTP replies: code, status word, message, details, id, facts that must be told.
REPLIES: list[tuple[int, str, str, list[dict[str, Any]], str, dict[str, Any]]] = [
    (
        429,
        "RESOURCE_EXHAUSTED",
        "Quota limit 'TPUV6EPreemptiblePerProjectPerRegionForTPUAPI' has been exceeded. Limit: 0 in region us-east5.",
        [],
        "quota-exceeded",
        {
            "quota": "TPUV6EPreemptiblePerProjectPerRegionForTPUAPI",
            "limit": 0.0,
            "scope": "region",
            "location": "us-east5",
        },
    ),
    (
        429,
        "RESOURCE_EXHAUSTED",
        "Resource has been exhausted",
        [
            quota_failure(
                "Quota 'TPUV2sPreemptiblePodPerProjectPerRegionForTPUAPI' exhausted. Limit 32 in region europe-west4"
            )
        ],
        "quota-exceeded",
        {"quota": "TPUV2sPreemptiblePodPerProjectPerRegionForTPUAPI", "limit": 32.0, "location": "europe-west4"},
    ),
    (
        429,
        "RESOURCE_EXHAUSTED",
        "Quota exceeded: Maximum number of CreateNode requests per minute",
        [],
        "create-rate",
        {},
    ),
    (429, "", "The rate of change requests to the object exceeds the rate limit.", [], "create-rate", {}),
    (
        429,
        "RESOURCE_EXHAUSTED",
        "Quota limit 'TPUV5sLitepodServingPerProjectPerZoneForTPUAPI' has been exceeded. Limit: 4 in zone us-east5-a.",
        [quota_failure("Quota 'TPUV5sLitepodServingPerProjectPerZoneForTPUAPI' exhausted. Limit 4 in zone us-east5-a")],
        "quota-exceeded",
        {"quota": "TPUV5sLitepodServingPerProjectPerZoneForTPUAPI", "limit": 4.0, "location": "us-east5-a"},
    ),
    (
        403,
        "PERMISSION_DENIED",
        'User does not have permission to submit requests for accelerator type "v5litepod-4" in location us-central1-a',
        [],
        "not-entitled",
        {"accelerator": "v5litepod-4", "location": "us-central1-a"},
    ),
    (
        403,
        "PERMISSION_DENIED",
        "User does not have permission to submit requests for accelerator type v6e-4",
        [],
        "not-entitled",
        {"accelerator": "v6e-4"},
    ),
    (
        403,
        "",
        "Insufficient regional quota to satisfy request: resource \"IN_USE_ADDRESSES\": request requires '12.0' and is "
        "short '7.0'. project has a quota of '8.0' with '5.0' available.",
        [],
        "region-limit",
        {"quota": "IN_USE_ADDRESSES", "limit": 8.0},
    ),
    (
        400,
        "INVALID_ARGUMENT",
        'Cloud TPU received a bad request. The requested accelerator configuration for accelerator type, "v5litepod-8",'
        ' could not be found in the zonal accelerator configurations for "us-central1-b".; the accelerator v5litepod-8 '
        "was not found in zone us-central1-b [EID: 0x5be9ca996f9773a4]",
        [],
        "type-not-in-zone",
        {"eid": "0x5be9ca996f9773a4"},
    ),
    (
        400,
        "INVALID_ARGUMENT",
        'CloudTpu received an invalid AcceleratorType, "v3-8" for zone "us-central1-c". Valid values are "v2-8, ".',
        [],
        "type-not-in-zone",
        {},
    ),
    (
        400,
        "",
        "This user agent is not allowed to use the machine type [ct5lp-hightpu-1t].",
        [],
        "type-not-in-zone",
        {"machine_type": "ct5lp-hightpu-1t"},
    ),
    (
        400,
        "",
        "Invalid value for field 'resource.machineType': 'zones/us-east5-b/machineTypes/ct9-9t'. Machine type with "
        "name 'ct9-9t' does not exist in zone 'us-east5-b'.",
        [],
        "type-not-in-zone",
        {},
    ),
    (
        403,
        "PERMISSION_DENIED",
        "Location us-east1-d is not found or access is unauthorized.",
        [],
        "zone-not-allowed",
        {"location": "us-east1-d"},
    ),
    (
        403,
        "PERMISSION_DENIED",
        "Permission denied on 'locations/us-central2-b' (or it may not exist).",
        [info("LOCATION_POLICY_VIOLATED", location="us-central2-b", service="tpu.googleapis.com")],
        "zone-not-allowed",
        {"location": "us-central2-b"},
    ),
    (
        400,
        "INVALID_ARGUMENT",
        'FLEX_START provisioning model is not supported for accelerator type "v5litepod-1" in location "z"',
        [],
        "tier-not-offered",
        {"model": "FLEX_START"},
    ),
    (
        403,
        "PERMISSION_DENIED",
        "Permission 'tpu.nodes.list' denied on 'projects/p/locations/z'",
        [],
        "permission-missing",
        {"permission": "tpu.nodes.list"},
    ),
    (
        403,
        "",
        "me@x.org does not have storage.objects.create access to the Google Cloud Storage object.",
        [],
        "permission-missing",
        {"permission": "storage.objects.create"},
    ),
    (
        403,
        "",
        "Required 'compute.instances.create' permission for 'projects/p/zones/z/instances/i'",
        [],
        "permission-missing",
        {"permission": "compute.instances.create"},
    ),
    (403, "PERMISSION_DENIED", DISABLED, [], "service-disabled", {"service": "tpu.googleapis.com"}),
    (
        403,
        "PERMISSION_DENIED",
        "No.",
        [info("SERVICE_DISABLED", service="cloudtasks.googleapis.com")],
        "service-disabled",
        {"service": "cloudtasks.googleapis.com"},
    ),
    (
        403,
        "PERMISSION_DENIED",
        "This API method requires billing to be enabled.",
        [info("BILLING_DISABLED")],
        "billing-off",
        {},
    ),
    (
        403,
        "",
        "The billing account for the owning project is disabled in state absent",
        [],
        "billing-off",
        {},
    ),
    (
        403,
        "PERMISSION_DENIED",
        "The principal lacks IAM permission iam.serviceAccounts.actAs for the resource.",
        [info("IAM_PERMISSION_DENIED")],
        "act-as-missing",
        {},
    ),
    (
        412,
        "",
        "Constraint constraints/compute.vmExternalIpAccess violated for project 12.",
        [],
        "org-policy",
        {"constraint": "compute.vmExternalIpAccess"},
    ),
    (  # https://docs.cloud.google.com/iam/docs/troubleshoot-org-policies: the constraint stands in the details only
        400,
        "FAILED_PRECONDITION",
        "Service account creation is not allowed on this project.",
        [
            {
                "@type": "type.googleapis.com/google.rpc.PreconditionFailure",
                "violations": [
                    {
                        "type": "constraints/iam.disableServiceAccountCreation",
                        "subject": "projects/p/serviceAccounts/?configvalue=",
                        "description": "Service account creation is not allowed on this project.",
                    }
                ],
            }
        ],
        "org-policy",
        {"constraint": "iam.disableServiceAccountCreation"},
    ),
    (
        400,
        "FAILED_PRECONDITION",
        "Operation denied by org policy on resource 'projects/p': "
        '["constraints/iam.managed.disableServiceAccountCreation": "Disabled."].',
        [info("CUSTOM_ORG_POLICY_VIOLATION")],
        "org-policy",
        {"constraint": "iam.managed.disableServiceAccountCreation"},
    ),
    (
        400,
        "FAILED_PRECONDITION",
        'Operation denied by org policy: ["customConstraints/custom.cheap": "Only spot."].',
        [],
        "org-policy",
        {"constraint": "custom.cheap"},
    ),
    (403, "PERMISSION_DENIED", "Request had insufficient authentication scopes.", [], "scope-missing", {}),
    (409, "ALREADY_EXISTS", "Resource already exists", [], "exists", {}),
    (404, "NOT_FOUND", "Resource not found", [], "not-found", {}),
    (412, "", "At least one of the pre-conditions you specified did not hold.", [], "precondition", {}),
    (400, "FAILED_PRECONDITION", "Queued resource has running nodes; use force.", [], "precondition", {}),
    (
        400,
        "INVALID_ARGUMENT",
        "Invalid JSON payload received. Unknown name \"x\" at 'y': Cannot find field.",
        [],
        "bad-request",
        {},
    ),
    (503, "UNAVAILABLE", "Internal error. Please try again", [], "server-error", {}),
    (503, "", "502:Bad Gateway", [], "server-error", {}),
    (500, "INTERNAL", "Internal error", [], "server-error", {}),
    (409, "ABORTED", "The operation was aborted.", [], "server-error", {}),
    (504, "DEADLINE_EXCEEDED", "Deadline exceeded", [], "timed-out", {}),
    (401, "UNAUTHENTICATED", "Request had invalid authentication credentials.", [], "signed-out", {}),
]


@pytest.mark.parametrize(("code", "word", "message", "details", "id", "facts"), REPLIES)
def test_a_reply_becomes_its_id(
    code: int, word: str, message: str, details: list[dict[str, Any]], id: str, facts: dict[str, Any]
) -> None:
    body = {"error": {"code": code, "message": message, "status": word, "details": details}}
    told = errors.of_reply(code, json.dumps(body).encode(), zone="z")
    assert told.id == id
    assert told.facts["zone"] == "z"
    assert {key: told.facts.get(key) for key in facts} == facts
    assert "EID" not in told.facts["raw"]
    kind = CloudUnclear if id in errors.UNCLEAR else SignedOut if id in errors.SIGNED_OUT else CloudRefused
    assert type(told) is kind


OPERATIONS: list[tuple[dict[str, Any], str]] = [
    (
        {
            "code": 8,
            "message": 'There is no more capacity in the zone "europe-west4-a"; you can try in another zone where '
            "Cloud TPU Nodes are offered (see https://cloud.google.com/tpu/docs/regions) [EID: 0x1bc8f9d790be9142]",
        },
        "no-capacity",
    ),
    ({"code": 14, "message": "Insufficient capacity"}, "no-capacity"),
    (
        {
            "code": 9,
            "message": "Insufficient reserved capacity. Contact customer support to increase your reservation. "
            "[EID: 0x2f8bc266e74261a]",
        },
        "no-capacity",
    ),
    ({"code": 8, "message": "whatever they say tomorrow"}, "no-capacity"),
    (
        {
            "code": 8,
            "message": "Quota 'TPUV4sPreemptiblePodPerProjectPerZoneForTPUAPI' exhausted. Limit 0 in zone z",
        },
        "quota-exceeded",
    ),
    (
        {
            "code": 3,
            "message": "Cloud TPU received a bad request. update is not supported while in state PREEMPTED "
            "[EID: 0x73013519f5b7feb2]",
        },
        "precondition",
    ),
    ({"code": 13, "message": "Internal"}, "server-error"),
    (
        {
            "errors": [
                {
                    "code": "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
                    "message": "The zone 'projects/P/zones/Z' does not have enough resources available to fulfill the "
                    "request. (resource type:compute) (state:STOCKOUT)",
                    "errorDetails": [
                        {
                            "errorInfo": {
                                "reason": "resource_availability",
                                "domain": "compute.googleapis.com",
                                "metadatas": {"zone": "Z", "zonesAvailable": "us-east5-b"},
                            }
                        }
                    ],
                }
            ]
        },
        "no-capacity",
    ),
    (
        {"errors": [{"code": "QUOTA_EXCEEDED", "message": "Quota 'CPUS' exceeded. Limit: 24.0 in region us-west1."}]},
        "quota-exceeded",
    ),
    ({"errors": [{"code": "UNSUPPORTED_OPERATION", "message": "…"}]}, "no-capacity"),
    ({"errors": [{"code": "RESOURCE_OPERATION_RATE_EXCEEDED", "message": "…"}]}, "create-rate"),
    (
        {
            "code": 7,
            "message": 'User does not have permission to submit requests for accelerator type "v6e-8" in location '
            "us-east1-d",
        },
        "not-entitled",
    ),
    ({"code": 8, "message": "You have reached IN_USE_ADDRESSES limit. [EID: 0x5be9ca996f9773a4]"}, "region-limit"),
    ({"code": 8, "message": "IN_USE_ADDRESSES limit: 8.0"}, "region-limit"),
    ({"code": 8, "message": "You have reached INSTANCES limit"}, "region-limit"),
    (
        {
            "errors": [
                {
                    "code": "QUOTA_EXCEEDED",
                    "message": "Quota 'IN_USE_ADDRESSES' exceeded.  Limit: 8.0 in region europe-west3.",
                }
            ]
        },
        "region-limit",
    ),
]


@pytest.mark.parametrize(("error", "id"), OPERATIONS)
def test_an_operations_error_becomes_its_id(error: dict[str, Any], id: str) -> None:
    assert errors.of_operation(error).id == id


def test_compute_names_the_zones_that_it_thinks_free_and_the_limit_as_a_number() -> None:
    assert errors.of_operation(OPERATIONS[7][0]).facts["zones_available"] == "us-east5-b"
    assert errors.of_operation(OPERATIONS[8][0]).facts["limit"] == 24.0


EXCEPTIONS: list[tuple[Exception, str]] = [
    (requests.exceptions.ReadTimeout("read timed out"), "timed-out"),
    (requests.exceptions.ConnectTimeout("connect timed out"), "timed-out"),
    (requests.exceptions.ConnectionError("refused"), "network-down"),
    (requests.exceptions.ProxyError("dead proxy"), "proxy-down"),
    (
        requests.exceptions.ProxyError("OSError('Tunnel connection failed: 407 Proxy Authentication Required')"),
        "proxy-refused",
    ),
    (auth.TransportError(requests.exceptions.ProxyError("Tunnel connection failed: 403 Forbidden")), "proxy-refused"),
    (requests.exceptions.InvalidProxyURL("malformed"), "proxy-down"),
    (requests.exceptions.SSLError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate"), "certificate-unknown"),
    (requests.exceptions.SSLError("EOF occurred in violation of protocol"), "network-down"),
    (requests.exceptions.ChunkedEncodingError("cut"), "network-down"),
    (requests.exceptions.JSONDecodeError("no", "", 0), "unreadable-reply"),
    (ParseError("Can not find message descriptor by type_url"), "unreadable-reply"),
    (auth.TransportError(requests.exceptions.ConnectionError("refused")), "network-down"),
    (
        auth.RefreshError("x", {"error": "invalid_grant", "error_description": "Token has been expired or revoked."}),
        "signed-out",
    ),
    (auth.RefreshError("x", {"error": "invalid_grant", "error_subtype": "invalid_rapt"}), "reauth-needed"),
    (auth.RefreshError("x", {"error": "invalid_client"}), "client-gone"),
    (auth.RefreshError("x", {"error": "deleted_client"}), "client-gone"),
    (auth.RefreshError("x", '{"error": "invalid_scope"}'), "scope-missing"),
    (auth.ReauthFailError("challenge"), "reauth-needed"),
    (auth.DefaultCredentialsError("none"), "signed-out"),
    (auth.InvalidOperation("Anonymous credentials cannot be refreshed."), "signed-out"),
    (core.TooManyRequests("Quota 'CPUS' exceeded. Limit: 24.0 in region us-west1."), "quota-exceeded"),
    (core.Forbidden("Permission 'tpu.nodes.get' denied"), "permission-missing"),
    (core.ServiceUnavailable("Internal error. Please try again"), "server-error"),
    (core.RetryError("gave up", core.ServiceUnavailable("x")), "server-error"),
]


@pytest.mark.parametrize(("error", "id"), EXCEPTIONS)
def test_an_exception_of_googles_libraries_becomes_its_id(error: Exception, id: str) -> None:
    assert errors.of_exception(error).id == id


SECRETS = ["ya29.a0AfB_planted", "1//0gPlantedRefreshToken", "GOCSPX-plantedClientSecret", "plantedaccesstoken"]


def test_no_credential_is_kept_in_facts_or_text() -> None:
    text = (
        f'Authorization: Bearer {SECRETS[0]} {{"refresh_token": "{SECRETS[1]}", "client_secret":"{SECRETS[2]}"}} '
        f"https://x/?access_token={SECRETS[3]}&a=1"
    )
    for told in (
        errors.of_reply(500, text.encode()),
        errors.of_reply(400, {"error": {"message": text}}),
        errors.of_reply(400, {"error": "invalid_grant", "error_description": text}),
        errors.of_operation({"code": 13, "message": text}),
        errors.of_exception(requests.exceptions.ConnectionError(text)),
        errors.of_exception(auth.RefreshError(text, {"error": "x", "error_description": text})),
        errors.of_exception(auth.ReauthFailError(text)),
    ):
        whole = str(told) + repr(told) + json.dumps(told.to_json())
        assert not [secret for secret in SECRETS if secret in whole]


def test_what_cannot_be_read_at_all_is_still_judged_by_its_code() -> None:
    assert errors.of_reply(502, b"<html>Bad Gateway</html>").id == "server-error"
    assert errors.of_reply(401, b"").id == "signed-out"
    assert errors.of_reply(429, b"slow down").id == "create-rate"


@pytest.mark.parametrize("status", [400, 403, 404, 409, 410, 412])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[1]",
        b"null",
        b"Not Found",
        b"404 page not found",
        b'{"error": {"code": 404, "mess',
        b'{"message": "no Route matched with those values"}',
        b'{"detail": "Not Found"}',
        b'{"error": {}}',
        b"<!DOCTYPE html><title>Hotel WiFi</title>",
    ],
)
def test_a_refusal_that_is_not_googles_proves_nothing(status: int, body: bytes) -> None:
    """Taken for a 404 of Google's it would close a bill and take the stops away while the machine goes on."""
    told = errors.of_reply(status, body)
    assert isinstance(told, CloudUnclear) and (told.id, told.facts["code"]) == ("unreadable-reply", status)


def test_the_words_of_cloud_storage_for_the_bytes_of_an_object_are_googles() -> None:
    assert errors.of_reply(404, b"No such object: bucket/runs/x/plan.json").id == "not-found"
    text = b"mina@example.com does not have storage.objects.get access to the Google Cloud Storage object."
    assert errors.of_reply(403, text).id == "permission-missing"
