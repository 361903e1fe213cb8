"""Storage's JSON API on the wire: statuses, bodies and headers as Cloud Storage gives them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.client
import json
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.contract.conftest import Answer, Call, Start, caller
from tpu_studio.practice.iam import make_account
from tpu_studio.practice.main import Practice
from tpu_studio.practice.storage import service

BUCKET = "tpu-studio-0123456789ab"
OBJECTS = f"/storage/v1/b/{BUCKET}/o"
UPLOAD = f"/upload/storage/v1/b/{BUCKET}/o"
CHUNK = 256 * 1024


def put(call: Call, name: str, data: bytes = b"data", **query: Any) -> Answer:
    more = "".join(f"&{key}={value}" for key, value in query.items())
    path = f"{UPLOAD}?uploadType=media&name={quote(name, safe='')}{more}"
    return call("POST", path, data, headers={"Content-Type": "text/plain"})


def one(name: str) -> str:
    return f"{OBJECTS}/{quote(name, safe='')}"


def test_an_object_comes_back_with_all_that_google_says_of_it(call: Call, practice: Practice) -> None:
    made = put(call, "runs/a b/ü.txt", b"hello").body
    assert made["kind"] == "storage#object"
    assert made["id"] == f"{BUCKET}/runs/a b/ü.txt/{made['generation']}"
    assert (made["size"], made["metageneration"], made["contentType"]) == ("5", "1", "text/plain")
    assert made["md5Hash"] == base64.b64encode(hashlib.md5(b"hello").digest()).decode()
    assert made["crc32c"] == "mnG7TA=="  # CRC-32C of "hello": 0x9a71bb4c
    assert made["selfLink"] == f"{practice.url}{one('runs/a b/ü.txt')}"
    assert int(made["generation"]) > 10**15
    assert call("GET", one("runs/a b/ü.txt")).body == made
    media = urlsplit(made["mediaLink"])
    read = call("GET", f"{media.path}?{media.query}")
    assert read.raw == b"hello"
    assert read.headers["X-Goog-Hash"] == f"crc32c={made['crc32c']},md5={made['md5Hash']}"
    assert read.headers["X-Goog-Generation"] == made["generation"]
    assert read.headers["ETag"] == made["etag"]
    assert call("GET", one("runs/a b/ü.txt") + "?alt=media").raw == b"hello"


def test_refusals_have_the_bodies_of_the_json_api(call: Call) -> None:
    put(call, "there")

    def refused(
        method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str, str]:
        answer = call(method, path, body, headers=headers)
        assert answer.error["code"] == answer.status
        assert answer.error["errors"][0]["domain"] == "global"
        assert "details" not in answer.error and "status" not in answer.error
        return answer.status, answer.error["errors"][0]["reason"], answer.error["message"]

    assert refused("GET", one("nope")) == (404, "notFound", f"No such object: {BUCKET}/nope")
    assert refused("GET", "/storage/v1/b/nope") == (404, "notFound", "The specified bucket does not exist.")
    assert refused("GET", "/storage/v1/b/nope/o") == (404, "notFound", "The specified bucket does not exist.")
    assert refused("POST", "/storage/v1/b?project=practice-project", {"name": BUCKET})[:2] == (409, "conflict")
    assert refused("POST", "/storage/v1/b?project=practice-project", {"name": "No"})[:2] == (400, "invalid")
    assert refused("POST", "/storage/v1/b?project=practice-project", {"name": "okay", "colour": 1})[:2] == (
        400,
        "invalid",
    )
    assert refused("POST", "/storage/v1/b", {"name": "okay"})[:2] == (400, "required")
    assert refused("DELETE", f"/storage/v1/b/{BUCKET}")[:2] == (409, "conflict")
    assert refused("GET", one("there") + "?alt=media", headers={"Range": "bytes=4-"})[:2] == (
        416,
        "requestedRangeNotSatisfiable",
    )
    assert refused("POST", f"{UPLOAD}?uploadType=media&name=there&ifGenerationMatch=0", b"x")[:2] == (
        412,
        "conditionNotMet",
    )
    assert refused("POST", f"{UPLOAD}?uploadType=media", b"x")[:2] == (400, "required")
    assert refused("POST", f"{UPLOAD}?uploadType=other&name=a", b"x")[:2] == (400, "invalid")
    assert refused("GET", f"{OBJECTS}?maxResults=many")[:2] == (400, "invalid")


def test_preconditions_hold_for_every_call_that_has_them(call: Call) -> None:
    made = put(call, "o", b"1").body
    now, wrong = made["generation"], str(int(made["generation"]) - 1)
    assert put(call, "o", b"2", ifGenerationMatch=wrong).status == 412
    assert put(call, "o", b"2", ifGenerationNotMatch=now).status == 412
    assert call("GET", one("o") + f"?ifGenerationMatch={wrong}").status == 412
    assert call("GET", one("o") + f"?ifGenerationNotMatch={now}").status == 304
    assert call("GET", one("o") + "?ifMetagenerationNotMatch=1").status == 304
    assert call("GET", one("o") + "?alt=media&ifMetagenerationMatch=2").status == 412
    assert call("PATCH", one("o") + "?ifMetagenerationMatch=2", {"contentType": "a/b"}).status == 412
    assert call("DELETE", one("o") + f"?ifGenerationMatch={wrong}").status == 412
    assert call("POST", f"{one('o')}/rewriteTo/b/{BUCKET}/o/p?ifSourceGenerationMatch={wrong}", {}).status == 412
    assert call("POST", f"{one('o')}/copyTo/b/{BUCKET}/o/o?ifGenerationMatch=0", {}).status == 412
    assert call("POST", f"{one('o')}/compose?ifGenerationMatch=0", {"sourceObjects": [{"name": "o"}]}).status == 412
    assert call("GET", one("o")).body == made  # none of them did anything

    assert put(call, "o", b"2", ifGenerationMatch=now).body["generation"] > now
    assert call("DELETE", one("o") + "?ifMetagenerationMatch=1").status == 204
    assert put(call, "o", b"3", ifGenerationMatch=0).status == 200


def test_a_wrong_checksum_is_refused_and_nothing_is_stored(call: Call) -> None:
    path = f"{UPLOAD}?uploadType=media&name=o"
    answer = call("POST", path, b"hello", headers={"X-Goog-Hash": "crc32c=AAAAAA=="})
    assert answer.status == 400
    assert answer.error["message"] == 'Provided CRC32C "AAAAAA==" doesn\'t match calculated CRC32C "mnG7TA==".'
    assert call("POST", path, b"hello", headers={"Content-MD5": "AAAA"}).status == 400
    assert call("GET", one("o")).status == 404
    assert call("POST", path, b"hello", headers={"X-Goog-Hash": "crc32c=mnG7TA=="}).status == 200


@pytest.mark.parametrize("resumable", ["/upload", "/resumable/upload"])
def test_a_resumable_upload_step_by_step(call: Call, resumable: str, practice: Practice) -> None:
    data = bytes(range(256)) * 2048 + b"end"  # two chunks and three bytes
    path = f"{resumable}/storage/v1/b/{BUCKET}/o?uploadType=resumable&name=big&ifGenerationMatch=0"
    begun = call("POST", path, {"metadata": {"a": "1"}}, headers={"X-Upload-Content-Type": "a/b"})
    assert begun.status == 200 and begun.raw == b""
    session = begun.headers["Location"].removeprefix(practice.url)
    assert session.startswith(resumable)

    def send(start: int, stop: int, total: str) -> Answer:
        return call("PUT", session, data[start:stop], headers={"Content-Range": f"bytes {start}-{stop - 1}/{total}"})

    nothing_yet = call("PUT", session, b"", headers={"Content-Range": "bytes */*"})
    assert nothing_yet.status == 308 and "Range" not in nothing_yet.headers
    assert send(0, CHUNK, "*").headers["Range"] == f"bytes=0-{CHUNK - 1}"
    assert send(0, CHUNK, "*").headers["Range"] == f"bytes=0-{CHUNK - 1}"  # sent again: kept once
    assert send(CHUNK, CHUNK + 10, "*").status == 400  # too small for a chunk that is not the last
    assert send(2 * CHUNK, 2 * CHUNK + 3, str(len(data))).status == 503  # a hole
    asked = call("PUT", session, b"", headers={"Content-Range": f"bytes */{len(data)}"})
    assert asked.status == 308 and asked.headers["Range"] == f"bytes=0-{CHUNK - 1}"
    assert call("GET", one("big")).status == 404  # not before the end

    done = send(CHUNK, len(data), str(len(data)))
    assert done.status == 200
    assert (done.body["size"], done.body["contentType"], done.body["metadata"]) == (str(len(data)), "a/b", {"a": "1"})
    assert call("PUT", session, b"", headers={"Content-Range": "bytes */*"}).body == done.body
    assert call("GET", one("big") + "?alt=media").raw == data
    assert call("POST", path, {}).status == 412  # refused at the start already


def test_a_resumable_upload_survives_a_restart_of_the_server(start_practice: Start) -> None:
    first = start_practice()
    begun = caller(first)("POST", f"{UPLOAD}?uploadType=resumable&name=big", {})
    session = begun.headers["Location"].removeprefix(first.url)
    caller(first)("PUT", session, b"a" * CHUNK, headers={"Content-Range": f"bytes 0-{CHUNK - 1}/*"})
    first.stop()

    second = start_practice()
    call = caller(second)
    asked = call("PUT", session, b"", headers={"Content-Range": "bytes */*"})
    assert asked.headers["Range"] == f"bytes=0-{CHUNK - 1}"
    done = call("PUT", session, b"b", headers={"Content-Range": f"bytes {CHUNK}-{CHUNK}/{CHUNK + 1}"})
    whole = b"a" * CHUNK + b"b"
    assert done.body["md5Hash"] == base64.b64encode(hashlib.md5(whole).digest()).decode()
    second.stop()


def test_a_cancelled_upload_is_over(call: Call, practice: Practice) -> None:
    begun = call("POST", f"{UPLOAD}?uploadType=resumable&name=big", {})
    session = begun.headers["Location"].removeprefix(practice.url)
    assert call("DELETE", session).status == 499
    assert call("PUT", session, b"x", headers={"Content-Range": "bytes 0-0/1"}).status == 410
    assert call("PUT", UPLOAD + "?upload_id=made-up", b"x").status == 404


def test_a_resumable_upload_with_the_wrong_checksum_ends_without_an_object(call: Call, practice: Practice) -> None:
    begun = call("POST", f"{UPLOAD}?uploadType=resumable&name=big", {"crc32c": "AAAAAA=="})
    session = begun.headers["Location"].removeprefix(practice.url)
    assert call("PUT", session, b"hello", headers={"Content-Range": "bytes 0-4/5"}).status == 400
    assert call("PUT", session, b"", headers={"Content-Range": "bytes */*"}).status == 400
    assert call("GET", one("big")).status == 404


def test_a_client_that_hangs_up_in_the_middle_keeps_what_came(call: Call, practice: Practice) -> None:
    begun = call("POST", f"{UPLOAD}?uploadType=resumable&name=big", {})
    session = begun.headers["Location"].removeprefix(practice.url)
    host = urlsplit(practice.url)
    line = http.client.HTTPConnection(host.hostname or "", host.port or 0, timeout=60)
    line.putrequest("PUT", session)
    line.putheader("Authorization", f"Bearer {practice.token}")
    line.putheader("Content-Length", str(4 * CHUNK))
    line.putheader("Content-Range", f"bytes 0-{4 * CHUNK - 1}/{4 * CHUNK}")
    line.endheaders(b"x" * CHUNK)
    line.close()

    asked = call("PUT", session, b"", headers={"Content-Range": "bytes */*"})
    kept = int(asked.headers.get("Range", "bytes=0--1").rpartition("-")[2]) + 1 if "Range" in asked.headers else 0
    rest = b"x" * (4 * CHUNK - kept)
    done = call("PUT", session, rest, headers={"Content-Range": f"bytes {kept}-{4 * CHUNK - 1}/{4 * CHUNK}"})
    assert done.status == 200
    assert call("GET", one("big") + "?alt=media").raw == b"x" * (4 * CHUNK)


def test_parts_of_an_object(call: Call) -> None:
    data = bytes(range(200))
    put(call, "o", data)
    part = call("GET", one("o") + "?alt=media", headers={"Range": "bytes=10-19"})
    assert (part.status, part.raw) == (206, data[10:20])
    assert part.headers["Content-Range"] == "bytes 10-19/200"
    assert call("GET", one("o") + "?alt=media", headers={"Range": "bytes=-5"}).raw == data[-5:]
    behind = call("GET", one("o") + "?alt=media", headers={"Range": "bytes=200-"})
    assert behind.status == 416
    assert behind.headers["Content-Range"] == "bytes */200"


def test_gzip_is_unpacked_only_for_who_does_not_take_it(call: Call) -> None:
    packed = gzip.compress(b"line\n" * 1000)
    put(call, "log.gz", packed, contentEncoding="gzip")
    plain = call("GET", one("log.gz") + "?alt=media", headers={"Accept-Encoding": "identity"})
    assert plain.raw == b"line\n" * 1000
    assert "Content-Encoding" not in plain.headers
    assert plain.headers["X-Goog-Stored-Content-Encoding"] == "gzip"
    raw = call("GET", one("log.gz") + "?alt=media", headers={"Accept-Encoding": "gzip"})
    assert (raw.raw, raw.headers["Content-Encoding"]) == (packed, "gzip")


def test_listing(call: Call) -> None:
    for name in ("a", "runs/1/x", "runs/1/y", "runs/2/x", "z"):
        put(call, name)

    def names(query: str) -> list[str]:
        return [item["name"] for item in call("GET", f"{OBJECTS}?{query}").body.get("items", [])]

    assert names("") == ["a", "runs/1/x", "runs/1/y", "runs/2/x", "z"]
    assert names("prefix=runs/1/") == ["runs/1/x", "runs/1/y"]
    assert names("startOffset=runs/1/y&endOffset=z") == ["runs/1/y", "runs/2/x"]
    assert names("matchGlob=runs/*/x") == ["runs/1/x", "runs/2/x"]
    assert names("versions=false&prefix=z") == ["z"]
    top = call("GET", f"{OBJECTS}?delimiter=/").body
    assert top["prefixes"] == ["runs/"]
    assert [item["name"] for item in top["items"]] == ["a", "z"]
    first = call("GET", f"{OBJECTS}?maxResults=2&fields=items(name),nextPageToken").body
    assert first["items"] == [{"name": "a"}, {"name": "runs/1/x"}]
    assert set(first) == {"items", "nextPageToken"}
    assert names(f"maxResults=2&pageToken={first['nextPageToken']}") == ["runs/1/y", "runs/2/x"]
    assert call("GET", f"{OBJECTS}?prefix=none").body == {"kind": "storage#objects"}


def test_metadata_is_patched_and_replaced(call: Call) -> None:
    made = put(call, "o").body
    patched = call("PATCH", one("o"), {"metadata": {"a": "1", "b": "2"}, "cacheControl": "no-cache"}).body
    assert (patched["metageneration"], patched["generation"]) == ("2", made["generation"])
    assert patched["etag"] != made["etag"]
    assert call("PATCH", one("o"), {"metadata": {"a": None}}).body["metadata"] == {"b": "2"}
    replaced = call("PUT", one("o"), {"contentType": "a/b"}).body
    assert replaced["contentType"] == "a/b"
    assert "metadata" not in replaced and "cacheControl" not in replaced
    assert replaced["md5Hash"] == made["md5Hash"]
    assert call("PATCH", one("o"), {"metadata": {"a": 1}}).status == 400


def test_compose_joins_up_to_32_objects(call: Call) -> None:
    generations = [put(call, f"part{number}", bytes([number])).body["generation"] for number in range(3)]
    sources = [
        {"name": f"part{number}", "objectPreconditions": {"ifGenerationMatch": generations[number]}}
        for number in range(3)
    ]
    path = one("whole") + "/compose"
    body = {"sourceObjects": sources, "destination": {"contentType": "a/b"}, "deleteSourceObjects": True}
    wrong = [{"name": "part0", "objectPreconditions": {"ifGenerationMatch": "1"}}]
    assert call("POST", path, {"sourceObjects": wrong}).status == 412
    assert call("POST", path, {"sourceObjects": [{"name": "nope"}]}).status == 404
    assert call("POST", path, {"sourceObjects": [{"name": "part0"}] * 33}).status == 400
    made = call("POST", path, body).body
    assert (made["componentCount"], made["size"], made["contentType"]) == (3, "3", "a/b")
    assert "md5Hash" not in made
    assert call("GET", one("whole") + "?alt=media").raw == b"\x00\x01\x02"
    assert [item["name"] for item in call("GET", OBJECTS).body["items"]] == ["whole"]


def test_copy_rewrite_and_move(call: Call) -> None:
    put(call, "o", b"data")
    rewritten = call("POST", f"{one('o')}/rewriteTo/b/{BUCKET}/o/p%2Fq", {}).body
    assert (rewritten["done"], rewritten["totalBytesRewritten"]) == (True, "4")
    assert rewritten["resource"]["contentType"] == "text/plain"
    told = call("POST", f"{one('o')}/rewriteTo/b/{BUCKET}/o/r", {"contentType": "a/b"}).body
    assert told["resource"]["contentType"] == "a/b"
    assert call("POST", f"{one('o')}/copyTo/b/{BUCKET}/o/s", {}).body["name"] == "s"
    assert call("POST", f"{one('s')}/moveTo/o/t", None).body["name"] == "t"
    assert call("GET", one("s")).status == 404
    assert call("GET", one("t") + "?alt=media").raw == b"data"


def test_a_bucket_as_the_set_up_makes_it(call: Call) -> None:
    rules = {
        "rule": [
            {"action": {"type": "Delete"}, "condition": {"age": 30, "matchesPrefix": ["runs/"]}},
            {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 1}},
        ]
    }
    asked = {
        "name": "tpu-studio-ffffffffffff",
        "location": "us-west4",
        "storageClass": "STANDARD",
        "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}, "publicAccessPrevention": "enforced"},
        "softDeletePolicy": {"retentionDurationSeconds": "0"},
        "lifecycle": rules,
        "labels": {"tpu-studio": "1"},
    }
    path = "/storage/v1/b/tpu-studio-ffffffffffff"
    made = call("POST", "/storage/v1/b?project=practice-project", asked).body
    assert call("GET", path).body == made
    assert (made["location"], made["locationType"], made["metageneration"]) == ("US-WEST4", "region", "1")
    assert made["projectNumber"] == "481516234200"
    assert made["lifecycle"] == rules
    assert made["softDeletePolicy"] == {"retentionDurationSeconds": "0"}
    assert made["iamConfiguration"]["publicAccessPrevention"] == "enforced"
    changed = call("PATCH", path, {"labels": {"tpu-studio": None, "x": "y"}, "lifecycle": None}).body
    assert changed["labels"] == {"x": "y"}
    assert "lifecycle" not in changed
    assert changed["metageneration"] == "2"
    assert call("PATCH", path, {"location": "EU"}).status == 400
    assert call("PATCH", path + "?ifMetagenerationMatch=1", {"labels": {}}).status == 412
    assert (
        call("PATCH", path, {"lifecycle": {"rule": [{"action": {"type": "Sell"}, "condition": {"age": 1}}]}}).status
        == 400
    )
    listed = call("GET", "/storage/v1/b?project=practice-project&prefix=tpu-studio-f").body
    assert [item["name"] for item in listed["items"]] == ["tpu-studio-ffffffffffff"]
    assert call("DELETE", path).status == 204
    assert call("GET", path).status == 404


def test_a_bucket_without_wishes_has_googles_defaults(call: Call) -> None:
    made = call("POST", "/storage/v1/b?project=practice-project", {"name": "plain-bucket"}).body
    assert (made["location"], made["locationType"], made["storageClass"]) == ("US", "multi-region", "STANDARD")
    assert made["softDeletePolicy"]["retentionDurationSeconds"] == "604800"
    assert made["iamConfiguration"]["publicAccessPrevention"] == "inherited"


def test_who_may_what_comes_from_the_buckets_own_policy(call: Call, practice: Practice) -> None:
    someone = practice.cloud.principals.issue("someone@practice-project.iam.gserviceaccount.com", "serviceAccount")

    def as_someone(method: str, path: str, body: Any = None) -> int:
        return call(method, path, body, token=someone).status

    put(call, "o")
    assert as_someone("GET", one("o")) == 403
    policy = call("GET", f"/storage/v1/b/{BUCKET}/iam?optionsRequestedPolicyVersion=3").body
    email = "someone@practice-project.iam.gserviceaccount.com"
    viewer: dict[str, Any] = {"role": "roles/storage.objectViewer", "members": [f"serviceAccount:{email}"]}
    policy["bindings"].append(viewer)
    unheard_of = call("PUT", f"/storage/v1/b/{BUCKET}/iam", policy)
    assert (unheard_of.status, unheard_of.error["message"]) == (400, f"Service account {email} does not exist.")
    make_account(practice.cloud, "practice-project", email)
    assert call("PUT", f"/storage/v1/b/{BUCKET}/iam", policy).status == 200
    assert call("PUT", f"/storage/v1/b/{BUCKET}/iam", policy).status == 412  # its etag is old now

    assert as_someone("GET", one("o")) == 200
    assert as_someone("POST", f"{UPLOAD}?uploadType=media&name=p", b"x") == 403
    asked = "permissions=storage.objects.get&permissions=storage.objects.create"
    tested = call("GET", f"/storage/v1/b/{BUCKET}/iam/testPermissions?{asked}", token=someone).body
    assert tested["permissions"] == ["storage.objects.get"]

    viewer["role"] = "roles/storage.objectCreator"
    policy = call("GET", f"/storage/v1/b/{BUCKET}/iam?optionsRequestedPolicyVersion=3").body | {"bindings": [viewer]}
    call("PUT", f"/storage/v1/b/{BUCKET}/iam", policy)
    assert as_someone("POST", f"{UPLOAD}?uploadType=media&name=p", b"x") == 200
    assert as_someone("POST", f"{UPLOAD}?uploadType=media&name=p", b"y") == 403  # overwriting is deleting
    assert as_someone("GET", one("p")) == 403


def test_a_right_on_the_source_of_a_copy_is_none_on_its_target(call: Call, practice: Practice) -> None:
    someone = practice.cloud.principals.issue("someone@elsewhere.example")
    call("POST", "/storage/v1/b?project=practice-project", {"name": "other-bucket"})
    practice.cloud.principals.grant(f"buckets/{BUCKET}", "roles/storage.objectAdmin", "user:someone@elsewhere.example")
    put(call, "o")
    assert call("POST", f"{one('o')}/copyTo/b/{BUCKET}/o/p", {}, token=someone).status == 200
    assert call("POST", f"{one('o')}/copyTo/b/other-bucket/o/p", {}, token=someone).status == 403


def test_a_token_without_a_storage_scope_is_told_so(call: Call, practice: Practice) -> None:
    scopes = ("https://www.googleapis.com/auth/userinfo.email",)
    token = practice.cloud.principals.issue(practice.cloud.settings.owner, scopes=scopes)
    refused = call("GET", OBJECTS, token=token)
    assert (refused.status, refused.error["errors"][0]["reason"]) == (403, "insufficientPermissions")


def test_the_runner_may_write_to_the_bucket_that_is_ready(call: Call, practice: Practice) -> None:
    runner = practice.cloud.principals.issue(practice.cloud.settings.runner, "serviceAccount")
    name = "runs/digits-k3f7/claims/a0001.json"
    assert call("POST", f"{UPLOAD}?uploadType=media&name={name}", b"x", token=runner).status == 200
    assert call("DELETE", one(name), token=runner).status == 204


def test_strangers_get_in_nowhere(call: Call) -> None:
    put(call, "o")
    for method, path in (
        ("GET", one("o")),
        ("GET", f"/download{one('o')}"),
        ("POST", f"{UPLOAD}?uploadType=media&name=p"),
    ):
        assert call(method, path, b"x" if method == "POST" else None, token="made-up").status == 401


def test_operations_are_on_the_bill_by_class(call: Call, practice: Practice) -> None:
    put(call, "o")
    put(call, "o", ifGenerationMatch=0)  # refused: free
    call("GET", OBJECTS)
    call("GET", one("o"))
    call("GET", one("nope"))  # free
    call("DELETE", one("o"))  # free
    lines = {line["sku"]: line for line in practice.cloud.meter.bill() if line["name"] == BUCKET}
    assert lines[service.SKU["A"]]["count"] == 2
    assert lines[service.SKU["A"]]["usd"] == pytest.approx(2 * 0.005 / 1000)
    assert lines[service.SKU["B"]]["count"] == 1
    assert lines[service.SKU["B"]]["usd"] == pytest.approx(0.0004 / 1000)


def test_everything_is_still_there_after_a_restart(start_practice: Start) -> None:
    first = start_practice()
    made = put(caller(first), "o", b"data").body
    first.stop()
    second = start_practice()
    read = caller(second)("GET", one("o")).body
    links = ("selfLink", "mediaLink")  # another port
    assert {k: v for k, v in read.items() if k not in links} == {k: v for k, v in made.items() if k not in links}
    assert caller(second)("GET", one("o") + "?alt=media").raw == b"data"
    second.stop()


# -------------------------------------------------------------------------------------------------------------- faults


def test_a_bucket_that_has_gone(call: Call, practice: Practice) -> None:
    put(call, "o")
    practice.cloud.faults.arm("bucket-gone")
    assert put(call, "p").error["message"] == "The specified bucket does not exist."
    assert call("GET", one("o")).status == 404
    assert call("GET", OBJECTS).status == 404
    practice.cloud.faults.disarm("bucket-gone")
    assert call("GET", one("o")).status == 200


@pytest.mark.parametrize(("fault", "status"), [("object-write-refused", 403), ("storage-full", 503)])
def test_writes_that_are_refused(call: Call, practice: Practice, fault: str, status: int) -> None:
    put(call, "o", b"old")
    practice.cloud.faults.arm(fault, times=3)
    assert put(call, "o", b"new").status == status
    assert call("POST", f"{UPLOAD}?uploadType=resumable&name=o", {}).status == status
    assert call("POST", f"{one('o')}/copyTo/b/{BUCKET}/o/p", {}).status == status
    assert call("GET", one("o") + "?alt=media").raw == b"old"  # reading goes on
    assert put(call, "o", b"new").status == 200


def test_the_third_write_fails(call: Call, practice: Practice) -> None:
    practice.cloud.faults.arm("storage-write-unavailable", write=3)
    assert [put(call, f"o{number}").status for number in range(4)] == [200, 200, 503, 200]


def test_storage_that_is_down_for_a_while(call: Call, practice: Practice) -> None:
    practice.cloud.faults.arm("storage-unavailable", times=2)
    assert [put(call, "o").status, call("GET", OBJECTS).status, call("GET", OBJECTS).status] == [503, 503, 200]


def test_a_write_that_was_carried_out_though_the_answer_says_no(call: Call, practice: Practice) -> None:
    practice.cloud.faults.arm("apply-then-fail", match="/upload/")
    assert put(call, "o", ifGenerationMatch=0).status == 503
    assert put(call, "o", ifGenerationMatch=0).status == 412  # it is there
    assert call("GET", one("o") + "?alt=media").raw == b"data"


def test_a_download_that_breaks_off(call: Call, practice: Practice) -> None:
    put(call, "o", b"x" * 1000)
    practice.cloud.faults.arm("connection-cut", match="/download/")
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        call("GET", f"/download{one('o')}?alt=media")
    assert call("GET", f"/download{one('o')}?alt=media").raw == b"x" * 1000


def test_a_full_disk_is_googles_503_and_leaves_nothing(call: Call, practice: Practice, monkeypatch: Any) -> None:
    from tpu_studio.practice.storage import store

    def full(self: Any, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.Digest, "update", full)
    assert put(call, "o").status == 503
    monkeypatch.undo()
    assert call("GET", one("o")).status == 404
    assert not list((practice.cloud.settings.objects / "content").glob("*/*"))
    assert json.loads(call("GET", OBJECTS).raw) == {"kind": "storage#objects"}
