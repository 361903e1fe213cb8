"""Hold the practice cloud's Storage to the real `gcloud storage`: every command with its exit code and its effect.

    python tools/gcloud_storage_check.py [--megabytes 100]

It starts a practice cloud of its own in a temporary folder and gives gcloud a configuration of its own. Exit 0: all is
right. The suite runs a few of these commands (tests/contract/test_gcloud_storage.py); here are all, and a large file.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from gcloud_runner import Part, check, environment

from tpu_studio.practice.main import Practice

COMMAND_S = 300.0  # seconds a command may take


class Gcloud:
    """`gcloud storage …` against one practice cloud."""

    def __init__(self, folder: Path, practice: Practice) -> None:
        self._env = environment(folder, practice.url, practice.token, practice.cloud.settings.project)

    def __call__(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Raises: AssertionError with gcloud's own words when it fails and *check* is set."""
        done = subprocess.run(
            ["gcloud", "storage", *arguments],
            env=self._env,
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )
        if check and done.returncode:
            told = f"exit {done.returncode}\n{done.stdout}{done.stderr}"
            raise AssertionError(f"gcloud storage {' '.join(arguments)}: {told}")
        return done


def small_files(gcloud: Gcloud, bucket: str, folder: Path) -> None:
    one = folder / "one.txt"
    one.write_bytes(b"line one\r\nlast byte is a carriage return\r")
    gcloud("cp", str(one), f"{bucket}/small/one.txt")
    assert gcloud("ls", f"{bucket}/small/").stdout.split() == [f"{bucket}/small/one.txt"]
    assert gcloud("ls", bucket + "/").stdout.split() == [f"{bucket}/small/"]
    gcloud("cp", f"{bucket}/small/one.txt", str(folder / "back.txt"))
    assert (folder / "back.txt").read_bytes() == one.read_bytes()
    assert "line one" in gcloud("cat", f"{bucket}/small/one.txt").stdout
    assert gcloud("cat", "--range=5-7", f"{bucket}/small/one.txt").stdout == "one"
    described = gcloud("objects", "describe", f"{bucket}/small/one.txt", "--format=value(size,storage_class)")
    assert described.stdout.split() == [str(one.stat().st_size), "STANDARD"], described.stdout
    gcloud("cp", f"{bucket}/small/one.txt", f"{bucket}/small/two.txt")
    gcloud("mv", f"{bucket}/small/two.txt", f"{bucket}/small/three.txt")
    listed = gcloud("ls", f"{bucket}/small/*.txt").stdout.split()
    assert listed == [f"{bucket}/small/one.txt", f"{bucket}/small/three.txt"], listed
    gcloud("objects", "update", f"{bucket}/small/three.txt", "--custom-metadata=a=1")
    gcloud("objects", "compose", f"{bucket}/small/one.txt", f"{bucket}/small/three.txt", f"{bucket}/small/both.txt")
    size = gcloud("objects", "describe", f"{bucket}/small/both.txt", "--format=value(size)").stdout.strip()
    assert int(size) == 2 * one.stat().st_size, size
    kept = gcloud("cp", "--if-generation-match=0", str(one), f"{bucket}/small/one.txt", check=False)
    assert kept.returncode == 1 and "pre-conditions" in kept.stderr, kept.stderr
    gcloud("rm", f"{bucket}/small/three.txt")
    missing = gcloud("cat", f"{bucket}/small/three.txt", check=False)
    assert missing.returncode == 1 and "matched no objects" in missing.stderr, missing.stderr


def folders(gcloud: Gcloud, bucket: str, folder: Path) -> None:
    tree = folder / "tree"
    for name in ("a.txt", "deep/b.txt", "deep/er/c.txt"):
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    gcloud("rsync", "--recursive", str(tree), f"{bucket}/tree")
    assert len(gcloud("ls", f"{bucket}/tree/**").stdout.split()) == 3
    (tree / "a.txt").write_text("changed, and longer")
    (tree / "deep" / "b.txt").unlink()
    gcloud("rsync", "--recursive", "--delete-unmatched-destination-objects", str(tree), f"{bucket}/tree")
    names = gcloud("ls", f"{bucket}/tree/**").stdout.split()
    assert names == [f"{bucket}/tree/a.txt", f"{bucket}/tree/deep/er/c.txt"], names
    assert gcloud("cat", f"{bucket}/tree/a.txt").stdout == "changed, and longer"
    gcloud("rsync", "--recursive", f"{bucket}/tree", str(folder / "tree-back"))
    assert (folder / "tree-back" / "deep" / "er" / "c.txt").read_text() == "deep/er/c.txt"
    gcloud("cp", "--recursive", str(tree), f"{bucket}/copied/")
    gcloud("rm", "--recursive", f"{bucket}/tree", f"{bucket}/copied")
    assert gcloud("ls", f"{bucket}/tree/**", check=False).returncode == 1
    text = folder / "log.txt"
    text.write_text("the same line again\n" * 1000)
    gcloud("cp", "--gzip-local-all", str(text), f"{bucket}/zipped.txt")
    gcloud("cp", f"{bucket}/zipped.txt", str(folder / "unzipped.txt"))  # it takes gzip, and unzips by itself
    assert (folder / "unzipped.txt").read_text() == text.read_text()
    gcloud("rm", f"{bucket}/zipped.txt")


def buckets(gcloud: Gcloud, bucket: str, folder: Path) -> None:
    other = "gs://tpu-studio-aaaaaaaaaaaa"
    gcloud(
        "buckets",
        "create",
        other,
        "--location=us-west4",
        "--uniform-bucket-level-access",
        "--public-access-prevention",
        "--soft-delete-duration=0s",
    )
    again = gcloud("buckets", "create", other, "--location=us-west4", check=False)
    assert again.returncode == 1 and "already own it" in again.stderr, again.stderr
    rules = folder / "lifecycle.json"
    rules.write_text('{"rule":[{"action":{"type":"Delete"},"condition":{"age":30,"matchesPrefix":["runs/"]}}]}')
    gcloud("buckets", "update", other, f"--lifecycle-file={rules}", "--update-labels=tpu-studio=1")
    shown = "--format=value(location,labels.tpu-studio,lifecycle_config.rule[0].condition.age)"
    told = gcloud("buckets", "describe", other, shown)
    assert told.stdout.split() == ["US-WEST4", "1", "30"], told.stdout
    gcloud("buckets", "update", other, "--clear-lifecycle", "--clear-labels")
    assert set(gcloud("buckets", "list", "--format=value(storage_url)").stdout.split()) == {other + "/", bucket + "/"}
    gcloud(
        "buckets",
        "add-iam-policy-binding",
        other,
        "--role=roles/storage.objectViewer",
        "--member=serviceAccount:someone@practice-project.iam.gserviceaccount.com",
    )
    assert "roles/storage.objectViewer" in gcloud("buckets", "get-iam-policy", other).stdout
    (folder / "in-it").write_text("x")
    gcloud("cp", str(folder / "in-it"), f"{other}/in-it")
    full = gcloud("buckets", "delete", other, check=False)
    assert full.returncode == 1 and "not empty" in full.stderr, full.stderr
    gcloud("rm", "--recursive", other)
    assert gcloud("buckets", "list", "--format=value(storage_url)").stdout.split() == [bucket + "/"]


def large_file(gcloud: Gcloud, bucket: str, folder: Path, megabytes: int) -> None:
    big, back = folder / "big.bin", folder / "big.back"
    with big.open("wb") as file:
        for _ in range(megabytes):
            file.write(os.urandom(1 << 20))
    gcloud("cp", str(big), f"{bucket}/big.bin")
    gcloud("cp", f"{bucket}/big.bin", str(back))
    with big.open("rb") as sent, back.open("rb") as got:
        assert hashlib.file_digest(sent, "sha256").digest() == hashlib.file_digest(got, "sha256").digest()
    gcloud("rm", f"{bucket}/big.bin")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=100, help="size of the large file")
    megabytes = parser.parse_args().megabytes

    def parts(practice: Practice, folder: Path) -> list[Part]:
        gcloud, bucket = Gcloud(folder, practice), f"gs://{practice.cloud.settings.bucket}"
        return [
            ("small files", lambda: small_files(gcloud, bucket, folder)),
            ("folders, rsync, gzip", lambda: folders(gcloud, bucket, folder)),
            ("buckets", lambda: buckets(gcloud, bucket, folder)),
            (f"a file of {megabytes} MiB", lambda: large_file(gcloud, bucket, folder, megabytes)),
        ]

    return check(parts)


if __name__ == "__main__":
    sys.exit(main())
