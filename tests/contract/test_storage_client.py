"""Google's own Python client, google-cloud-storage, on the practice cloud, with a real token, as on the desktop."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import storage
from google.oauth2.credentials import Credentials
from googleapiclient import discovery, errors, http

from tpu_studio.cloud.session import session
from tpu_studio.practice.main import Practice
from tpu_studio.wire.resources import resource_path


def client_of(practice: Practice, token: str) -> storage.Client:
    return storage.Client(
        project=practice.cloud.settings.project,
        credentials=Credentials(token),  # type: ignore[no-untyped-call]
        client_options={"api_endpoint": practice.url},
    )


@pytest.fixture
def client(practice: Practice) -> Iterator[storage.Client]:
    made = client_of(practice, practice.token)
    yield made
    for thread in threading.enumerate():  # after a 404 it looks for the bucket in the background, up to two minutes
        if thread.name.endswith("_background)"):
            thread.join(30)
    made.close()


@pytest.fixture
def bucket(client: storage.Client, practice: Practice) -> storage.Bucket:
    return client.get_bucket(practice.cloud.settings.bucket)


def test_small_objects_go_up_and_come_down(bucket: storage.Bucket) -> None:
    blob = bucket.blob("runs/a b/ü.txt")
    blob.upload_from_string("hello\r", if_generation_match=0)
    assert blob.crc32c and blob.md5_hash and blob.generation
    assert bucket.blob("runs/a b/ü.txt").download_as_bytes() == b"hello\r"
    assert bucket.get_blob("runs/a b/ü.txt").size == 6
    with pytest.raises(exceptions.PreconditionFailed):
        bucket.blob("runs/a b/ü.txt").upload_from_string("again", if_generation_match=0)
    with pytest.raises(exceptions.NotFound):
        bucket.blob("nope").download_as_bytes()
    assert bucket.get_blob("nope") is None


def test_a_stream_that_is_refused_leaves_its_connection_for_the_next(practice: Practice) -> None:
    http = session(Credentials(practice.token))  # type: ignore[no-untyped-call]
    url = f"{practice.url}/download/storage/v1/b/{practice.cloud.settings.bucket}/o/nope?alt=media"
    replies = [http.get(url, stream=True) for _ in range(3)]  # each kept, unread
    assert [reply.status_code for reply in replies] == [404, 404, 404]
    adapter: Any = http.get_adapter(url)
    pools = adapter.poolmanager.pools
    assert [pools[key].num_connections for key in pools.keys()] == [1]  # noqa: SIM118  it is no dict
    http.close()


@pytest.mark.parametrize("size_known", [True, False])
def test_resumable_uploads_in_chunks(bucket: storage.Bucket, size_known: bool) -> None:
    data = os.urandom(3 * 1024 * 1024 + 5)
    blob = bucket.blob("big", chunk_size=1024 * 1024)
    blob.upload_from_file(io.BytesIO(data), size=len(data) if size_known else None, checksum="crc32c")
    whole = bucket.blob("big")
    assert whole.download_as_bytes(checksum="md5") == data
    assert whole.download_as_bytes(start=10, end=19) == data[10:20]
    pieces = bucket.blob("big", chunk_size=1024 * 1024)
    assert pieces.download_as_bytes() == data
    with bucket.blob("big").open("rb") as stream:
        stream.seek(-5, os.SEEK_END)
        assert stream.read() == data[-5:]
    with pytest.raises(exceptions.RequestRangeNotSatisfiable):
        whole.download_as_bytes(start=len(data))


def test_pages_prefixes_and_offsets(bucket: storage.Bucket) -> None:
    for number in range(5):
        bucket.blob(f"events/w0/{number:012d}.jsonl").upload_from_string("{}")
    listed = bucket.list_blobs(prefix="events/w0/", start_offset="events/w0/000000000002", page_size=2)
    assert [blob.name[-7] for blob in listed] == ["2", "3", "4"]
    folders = bucket.list_blobs(delimiter="/")
    assert list(folders) == []
    assert folders.prefixes == {"events/"}
    assert [blob.name for blob in bucket.list_blobs(match_glob="**3.jsonl")] == ["events/w0/000000000003.jsonl"]


def test_compose_copy_rename_patch_delete(bucket: storage.Bucket) -> None:
    one, two = bucket.blob("one"), bucket.blob("two")
    one.upload_from_string("1")
    two.upload_from_string("2")
    whole = bucket.blob("whole")
    whole.compose([one, two], if_source_generation_match=[one.generation, two.generation])
    assert (whole.download_as_bytes(), whole.component_count, whole.md5_hash) == (b"12", 2, None)
    bucket.copy_blob(whole, bucket, "copy")
    bucket.rename_blob(bucket.blob("copy"), "renamed")
    renamed = bucket.get_blob("renamed")
    renamed.metadata = {"sha256": "0"}
    renamed.patch(if_metageneration_match=1)
    assert bucket.get_blob("renamed").metadata == {"sha256": "0"}
    bucket.delete_blobs(list(bucket.list_blobs()))
    assert list(bucket.list_blobs()) == []


def test_gzip_is_unpacked_on_the_way(bucket: storage.Bucket) -> None:
    blob = bucket.blob("log.gz")
    blob.content_encoding = "gzip"
    packed = gzip.compress(b"line\n" * 100)
    blob.upload_from_string(packed)
    assert blob.download_as_bytes() == b"line\n" * 100
    assert blob.download_as_bytes(raw_download=True) == packed


def test_a_bucket_is_made_changed_and_deleted(client: storage.Client) -> None:
    made = storage.Bucket(client, "tpu-studio-ffffffffffff")
    made.iam_configuration.uniform_bucket_level_access_enabled = True
    made.iam_configuration.public_access_prevention = "enforced"
    made.add_lifecycle_delete_rule(age=30, matches_prefix=["runs/"])
    made.labels = {"tpu-studio": "1"}
    client.create_bucket(made, location="us-west4")
    with pytest.raises(exceptions.Conflict):
        client.create_bucket("tpu-studio-ffffffffffff", location="us-west4")
    made.labels = {}
    made.clear_lifecycle_rules()
    made.patch()
    again = client.get_bucket("tpu-studio-ffffffffffff")
    assert (again.labels, list(again.lifecycle_rules), again.location) == ({}, [], "US-WEST4")
    policy = again.get_iam_policy(requested_policy_version=3)
    policy.bindings.append({"role": "roles/storage.objectViewer", "members": {"allUsers"}})
    again.set_iam_policy(policy)
    asked = ["storage.buckets.delete", "storage.objects.list"]
    assert again.test_iam_permissions(asked) == asked
    assert {bucket.name for bucket in client.list_buckets(prefix="tpu-studio-f")} == {"tpu-studio-ffffffffffff"}
    again.delete()
    with pytest.raises(exceptions.NotFound):
        client.get_bucket("tpu-studio-ffffffffffff")


def test_the_client_rides_over_storage_being_down(bucket: storage.Bucket, practice: Practice) -> None:
    practice.cloud.faults.arm("storage-write-unavailable", times=1)
    blob = bucket.blob("o")
    blob.upload_from_string("data", if_generation_match=0)
    assert blob.download_as_bytes() == b"data"


def test_the_client_goes_on_with_an_upload_that_failed_midway(bucket: storage.Bucket, practice: Practice) -> None:
    data = os.urandom(1024 * 1024)
    practice.cloud.faults.arm("storage-write-unavailable", write=3)  # the session, its first chunk, its second
    blob = bucket.blob("o", chunk_size=256 * 1024)
    blob.upload_from_file(io.BytesIO(data), if_generation_match=0)
    assert practice.cloud.faults.listed() == []  # it has happened
    assert bucket.blob("o").download_as_bytes() == data


def test_a_revoked_token_is_told_apart(practice: Practice) -> None:
    client = client_of(practice, "made-up")
    with pytest.raises(Exception, match=r"(?i)credentials|refresh") as refused:
        client.get_bucket(practice.cloud.settings.bucket)
    assert "401" in str(refused.value) or "refresh" in str(refused.value)
    client.close()


def test_googles_generic_client_uploads_in_parts_and_in_chunks(practice: Practice) -> None:
    """google-api-python-client, made from Google's discovery document: bare line feeds, and its own resumable loop."""
    document = json.loads(resource_path("discovery", "storage.v1.json").read_text("utf-8"))
    document |= {"rootUrl": practice.url + "/", "baseUrl": f"{practice.url}/storage/v1/", "mtlsRootUrl": ""}
    credentials = Credentials(practice.token)  # type: ignore[no-untyped-call]
    service = discovery.build_from_document(document, credentials=credentials)
    name, data = practice.cloud.settings.bucket, os.urandom(600 * 1024)
    small = http.MediaIoBaseUpload(io.BytesIO(b"ends in CR\r"), "text/plain")
    made = service.objects().insert(bucket=name, body={"name": "small"}, media_body=small).execute()
    assert made["size"] == "11"
    assert service.objects().get_media(bucket=name, object="small").execute() == b"ends in CR\r"
    big = http.MediaIoBaseUpload(io.BytesIO(data), "a/b", chunksize=256 * 1024, resumable=True)
    assert service.objects().insert(bucket=name, name="big", media_body=big).execute()["size"] == str(len(data))
    assert service.objects().get_media(bucket=name, object="big").execute() == data
    listed = service.objects().list(bucket=name, fields="items(name)").execute()
    assert listed == {"items": [{"name": "big"}, {"name": "small"}]}
    with pytest.raises(errors.HttpError) as refused:
        service.objects().get(bucket=name, object="nope").execute()
    assert (refused.value.status_code, refused.value.reason) == (404, f"No such object: {name}/nope")
    service.close()
