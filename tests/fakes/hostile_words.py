"""What hostile requests are made of: words that break things, and whole requests as they are meant."""

from __future__ import annotations

from typing import Any

WORDS = (
    "", "-", "a", "A", "0", "-1", "1", "99999999999999999999", "x" * 1100, "é€𝄞", "\x00", "a\r\nX-Evil: 1", "..",
    "../../x", "%", "%2e%2e%2f", "*" * 60 + "x", "**a" * 30, "[a", "{a,b", "[z-a]", "(((((", "a=b", "name:*", "NaN",
    "1e999",
    "null", "ts-a-a1-t1", "q1", "n1", "labels.run-id=a", "2026-01-01T00:00:00Z", "9s", "-9s", "9" * 400 + "s", "true",
    "True", "\ud800", "\x1b[31m", "<script>", "a,b(c,d/e)", "items(name),nextPageToken", "at-5", "at-x", "AAAA", "//",
    "a/b/c", "projects/p", "roles/owner", "user:you@practice.example", "v5litepod-1", "v2-alpha-tpuv5-lite",
    "ct5lp-hightpu-1t",
)  # fmt: skip
PARAMETERS = (
    "access_token", "after", "allowMissing", "alt", "contentEncoding", "currencyCode", "delimiter", "endOffset",
    "fields", "filter", "force", "generation", "id", "ifGenerationMatch", "ifGenerationNotMatch",
    "ifMetagenerationMatch", "includeTrailingDelimiter", "matchGlob", "maxResults", "name", "nodeId",
    "options.requestedPolicyVersion", "optionsRequestedPolicyVersion", "orderBy", "pageSize", "pageToken", "parent",
    "port", "prefix", "project", "query", "queuedResourceId", "recursive", "requestId", "responseView",
    "returnPartialSuccess", "scope", "showDeleted", "softDeleted", "sourceGeneration", "startOffset", "token",
    "updateMask", "uploadType", "upload_id", "validateOnly", "$alt", "key", "client_id", "redirect_uri",
    "response_type", "state", "login_hint", "code_challenge", "code_challenge_method",
)  # fmt: skip
HEADERS = (
    "Content-Range", "Range", "Content-Type", "X-Upload-Content-Length", "X-Upload-Content-Type", "X-Goog-Hash",
    "Content-MD5", "Accept-Encoding", "X-Goog-User-Project", "X-HTTP-Method-Override", "Expect", "Origin",
    "Sec-Fetch-Site", "If-Match", "X-Goog-Api-Client", "Authorization", "Cookie",
)  # fmt: skip
HEADER_WORDS = (
    "bytes 0-0/1", "bytes */*", "bytes=0-", "bytes=-0", "bytes=5-1", "bytes 9-1/3", "gzip",
    "multipart/related; boundary=b",
    "multipart/related", "application/json", "text/plain; charset=\xe9", "Basic !!!", "Bearer a.b.c", "100-continue",
    "crc32c=AAAA,md5=", "null", "9" * 30, "application/x-www-form-urlencoded", "text/plain\r\n folded",
)  # fmt: skip
FORM = (
    "grant_type", "code", "assertion", "refresh_token", "ticket", "account", "action", "client_secret", "machine",
    "key",
)  # fmt: skip
NO_JSON = (b"[" * 5000, b'{"a":' * 5000, b"\xff\xfe", b"NaN", b'{"a":1e999}', b'"\\ud800"', b"{")
BYTES = (b"\r\n", b"\x00", b"\n\n", b" ", b"\t", b"%", b"\xff")
_P = "projects/practice-project"
_PLACE = f"{_P}/locations/us-west4-a"
_QUEUE = f"{_P}/locations/us-west4/queues/tpu-studio"
_BUCKET = "/storage/v1/b/tpu-studio-0123456789ab"
_NODE = {
    "acceleratorType": "v5litepod-1", "runtimeVersion": "v2-alpha-tpuv5-lite", "labels": {"a": "b"},
    "metadata": {"startup-script": "#!/bin/sh"}, "serviceAccount": {"email": "a@b.c", "scope": ["x"]},
    "networkConfig": {"enableExternalIps": True, "network": "default"}, "schedulingConfig": {"spot": True},
    "dataDisks": [{"sourceDisk": "d", "mode": "READ_ONLY"}],
}  # fmt: skip
_POLICY = {"policy": {"version": 3, "etag": "ACAB", "bindings": [
    {"role": "roles/viewer", "members": ["user:you@practice.example"], "condition": {
        "title": "t", "expression": "request.time < timestamp('2030-01-01T00:00:00Z')"}}]}}  # fmt: skip
GOOD: tuple[tuple[str, str, Any], ...] = (
    ("POST", f"/v2/{_PLACE}/queuedResources?queuedResourceId=q1", {
        "tpu": {"nodeSpec": [{"parent": _PLACE, "nodeId": "n1", "node": _NODE}]}, "spot": {},
        "queueingPolicy": {"validUntilDuration": "600s"}, "runDuration": "3600s"}),
    ("POST", f"/v2/{_PLACE}/nodes?nodeId=n2", _NODE),
    ("PATCH", f"/v2/{_PLACE}/nodes/n2?updateMask=labels,metadata", {"labels": {"a": "c"}, "metadata": {"a": "b"}}),
    ("POST", "/compute/v1/projects/practice-project/zones/us-west4-a/instances", {
        "name": "i1", "machineType": "zones/us-west4-a/machineTypes/ct5lp-hightpu-1t", "labels": {"a": "b"},
        "disks": [{"boot": True, "autoDelete": True, "initializeParams": {
            "sourceImage": "projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accel-2204",
            "diskSizeGb": "200", "diskType": "zones/us-west4-a/diskTypes/hyperdisk-balanced"}}],
        "networkInterfaces": [{"network": "global/networks/default", "accessConfigs": [{"type": "ONE_TO_ONE_NAT"}]}],
        "metadata": {"items": [{"key": "startup-script", "value": "x"}]},
        "scheduling": {"provisioningModel": "SPOT", "onHostMaintenance": "TERMINATE", "automaticRestart": False,
                       "instanceTerminationAction": "DELETE", "maxRunDuration": {"seconds": "3600", "nanos": 1}},
        "serviceAccounts": [{"email": "tpu-studio-runner@practice-project.iam.gserviceaccount.com", "scopes": ["x"]}]}),
    ("POST", "/compute/v1/projects/practice-project/zones/us-west4-a/instances/i1/setLabels", {
        "labels": {"a": "c"}, "labelFingerprint": "AAAA"}),
    ("POST", "/compute/v1/projects/practice-project/global/networks", {"name": "net", "autoCreateSubnetworks": True}),
    ("POST", "/compute/v1/projects/practice-project/global/firewalls", {
        "name": "rule", "network": "global/networks/default", "direction": "INGRESS", "sourceRanges": ["10.0.0.0/8"],
        "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}]}),
    ("POST", f"/cloudtasks/v2/{_P}/locations/us-west4/queues", {
        "name": f"{_P}/locations/us-west4/queues/other", "retryConfig": {"maxAttempts": 3, "maxDoublings": 2,
        "minBackoff": "1s", "maxBackoff": "9s", "maxRetryDuration": "99s"},
        "rateLimits": {"maxDispatchesPerSecond": 1}}),
    ("PATCH", f"/cloudtasks/v2/{_QUEUE}?updateMask=retryConfig", {"retryConfig": {"maxAttempts": 3,
        "minBackoff": "1s"}}),
    ("POST", f"/cloudtasks/v2/{_QUEUE}/tasks", {"task": {
        "name": f"{_QUEUE}/tasks/t1", "scheduleTime": "2026-12-01T00:00:00Z", "dispatchDeadline": "30s",
        "httpRequest": {
            "httpMethod": "DELETE", "url": f"https://tpu.googleapis.com/v2/{_PLACE}/queuedResources/q1?force=true",
            "headers": {"X-A": "b"}, "body": "aGVsbG8=", "oauthToken": {"serviceAccountEmail": "a@b.c", "scope": "x"}}},
        "responseView": "FULL"}),
    ("POST", f"/v3/{_P}:setIamPolicy", _POLICY),
    ("POST", f"/v1/{_P}/serviceAccounts/tpu-studio-runner@practice-project.iam.gserviceaccount.com:setIamPolicy",
        _POLICY),
    ("POST", f"/v1/{_P}/serviceAccounts", {"accountId": "abcdefg", "serviceAccount": {"displayName": "x"}}),
    ("POST", f"/v1/{_P}/roles", {"roleId": "aRole", "role": {
        "title": "t", "stage": "GA", "includedPermissions": ["tpu.nodes.get"]}}),
    ("POST", f"/v1/{_P}/services:batchEnable", {"serviceIds": ["tpu.googleapis.com"]}),
    ("POST", f"/v1/{_P}/locations/global/quotaPreferences?quotaPreferenceId=mine", {
        "service": "tpu.googleapis.com", "quotaId": "TPUV6EPreemptiblePerProjectPerZoneForTPUAPI",
        "quotaConfig": {"preferredValue": "8"}, "dimensions": {"zone": "us-east5-b"}, "contactEmail": "a@b.c"}),
    ("POST", "/v1/billingAccounts/0A1B2C-3D4E5F-678901/budgets", {
        "displayName": "b", "budgetFilter": {"projects": ["projects/481516234200"], "calendarPeriod": "MONTH"},
        "amount": {"specifiedAmount": {"currencyCode": "USD", "units": "40", "nanos": 1}},
        "thresholdRules": [{"thresholdPercent": 0.5, "spendBasis": "CURRENT_SPEND"}]}),
    ("PUT", f"/v1/{_P}/billingInfo", {"billingAccountName": "billingAccounts/0A1B2C-3D4E5F-678901"}),
    ("POST", "/v3/projects", {"projectId": "another-one", "displayName": "Another", "labels": {"a": "b"}}),
    ("PATCH", _BUCKET, {"labels": {"a": "b"}, "lifecycle": {"rule": [
        {"action": {"type": "Delete"}, "condition": {"age": 3, "matchesPrefix": ["x"]}}]},
        "softDeletePolicy": {"retentionDurationSeconds": "0"}, "iamConfiguration": {
            "uniformBucketLevelAccess": {"enabled": True}, "publicAccessPrevention": "enforced"}}),
    ("PUT", f"{_BUCKET}/iam", _POLICY["policy"]),
    ("PATCH", f"{_BUCKET}/o/a", {"contentType": "text/plain", "contentEncoding": "gzip", "metadata": {"a": "b"},
                                 "cacheControl": "no-store", "contentDisposition": "x",
                                 "customTime": "2026-01-01T00:00:00Z"}),
    ("GET", f"{_BUCKET}/o/a?alt=media", {}),
    ("POST", f"{_BUCKET}/o/c/compose", {"sourceObjects": [{"name": "a", "generation": "1", "objectPreconditions": {
        "ifGenerationMatch": "1"}}], "destination": {"contentType": "text/plain"}}),
    ("POST", f"{_BUCKET}/o/a/rewriteTo/b/tpu-studio-0123456789ab/o/d", {"contentType": "text/plain"}),
    ("POST", "/upload/storage/v1/b/tpu-studio-0123456789ab/o?uploadType=resumable&name=u", {"contentType": "x",
        "md5Hash": "x"}),
    ("POST", "/practice/faults", {"name": "slow-replies", "times": 1, "seconds": 0.0, "match": ".", "after_s": 0.0}),
    ("POST", "/practice/faults", {"name": "preempted-at-step", "step": 3, "notice": 1.0}),
    ("POST", "/practice/doubts", {"doubt": "date-header"}),
)  # fmt: skip
"""Requests as they are meant, to be spoilt in a place or two."""
