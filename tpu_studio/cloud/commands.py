"""“Show me the commands”: a launch as the gcloud script that a person would type, word by word safe for the shell.

It shows what the program does, with nothing secret in it; what gcloud cannot do (flex-start's stop, the timers'
read-back) stands as a comment. The same metadata files are named as the program makes them.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath

from tpu_studio.cloud.queues import QUEUE
from tpu_studio.cloud.stops import resource
from tpu_studio.wire import loans
from tpu_studio.workflow.cloudruns.ports import Wanted

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def script(
    wanted: Wanted,
    project: str,
    bucket: str,
    uploads: Mapping[str, str],
    stops: Sequence[float],
    endpoint: str = "https://tpu.googleapis.com",
    account: str = "",
    queue_region: str = "",
) -> str:
    """A POSIX shell script.

    Args:
        uploads: Local file → object name, in order.
        stops: When shut-off timers are to fire, seconds since 1970; [] for none.
        account: As which they act; "": as the machine's own.
        queue_region: Where their queue stands; "": in the machine's region.
    """
    ref = wanted.ref
    parts = ["#!/bin/sh", f"# What TPU Studio does to start {_word(ref.name)}.", "set -eu", ""]
    if uploads:
        parts.append("# Job and data, to the bucket.")
        parts += [_line("gcloud", "storage", "cp", path, f"gs://{bucket}/{name}") for path, name in uploads.items()]
        parts.append("")
    parts += _stop_lines(
        wanted, project, stops, endpoint, account or wanted.service_account, queue_region or wanted.ref.region
    )
    parts.append("# The machine. Its metadata is written to files first: the startup script, and what it reads.")
    files = {key: f"{PurePosixPath(ref.name)}.{key}" for key in wanted.metadata}
    if ref.backend == "compute":
        parts.append("# On Compute Engine TPU Studio calls instances.insert with the same values.")
        return "\n".join([*parts, _line(*_instance(wanted, project, files)), *_end(wanted, project)]) + "\n"
    parts.append(_line(*_queued_resource(wanted, project, files)))
    return "\n".join([*parts, *_end(wanted, project)]) + "\n"


def _queued_resource(wanted: Wanted, project: str, files: Mapping[str, str]) -> list[str]:
    ref = wanted.ref
    alpha = ["alpha"] if loans.by_id(wanted.tier).waits else []
    words = [
        "gcloud",
        *alpha,
        "compute",
        "tpus",
        "queued-resources",
        "create",
        ref.name,
        f"--node-id={ref.name}",
        f"--project={project}",
        f"--zone={ref.zone}",
        f"--accelerator-type={wanted.accelerator}",
        f"--runtime-version={wanted.runtime}",
        f"--service-account={wanted.service_account}",
        f"--scopes={_SCOPE}",
        f"--network={wanted.network}",
        f"--valid-until-duration={round(wanted.valid_for_s)}s",
        f"--labels={_pairs(wanted)}",
        f"--metadata-from-file={','.join(f'{key}={path}' for key, path in files.items())}",
    ]
    if loans.by_id(wanted.tier).spare:
        words.append("--spot")
    if loans.by_id(wanted.tier).waits:
        words += ["--provisioning-model=flex-start", f"--max-run-duration={round(wanted.run_s or 0)}s"]
    return words


def _instance(wanted: Wanted, project: str, files: Mapping[str, str]) -> list[str]:
    from tpu_studio.cloud.compute import insert_body
    from tpu_studio.domain.catalogue import catalogue

    body = insert_body(wanted, catalogue())
    disk = body["disks"][0]["initializeParams"]
    image = disk["sourceImage"].split("/")
    words = [
        "gcloud",
        "compute",
        "instances",
        "create",
        wanted.ref.name,
        f"--project={project}",
        f"--zone={wanted.ref.zone}",
        f"--machine-type={body['machineType'].rpartition('/')[2]}",
        f"--image-project={image[1]}",
        f"--image-family={image[-1]}",
        f"--boot-disk-size={disk['diskSizeGb']}GB",
        f"--boot-disk-type={disk['diskType'].rpartition('/')[2]}",
        f"--boot-disk-provisioned-iops={disk['provisionedIops']}",
        f"--boot-disk-provisioned-throughput={disk['provisionedThroughput']}",
        f"--service-account={wanted.service_account}",
        f"--scopes={_SCOPE}",
        f"--network={wanted.network}",
        "--maintenance-policy=TERMINATE",
        "--no-restart-on-failure",
        f"--provisioning-model={body['scheduling']['provisioningModel']}",
        f"--labels={_pairs(wanted)}",
        f"--metadata-from-file={','.join(f'{key}={path}' for key, path in files.items())}",
    ]
    if "params" in body:
        words.append(f"--request-valid-for-duration={body['params']['requestValidForDuration']['seconds']}s")
    if wanted.run_s is not None:
        words += [f"--max-run-duration={round(wanted.run_s)}s", "--instance-termination-action=DELETE"]
    return words


def _stop_lines(
    wanted: Wanted, project: str, stops: Sequence[float], endpoint: str, account: str, region: str
) -> list[str]:
    if not stops:
        return ["# No shut-off timer: the machine alone ends itself.", ""]
    ref = wanted.ref
    told = ["# Shut-off timers: Google deletes the machine at these times, whatever becomes of it."]
    told.append("# Many, for Google deletes nothing that it is still making. Each is NUMBER-UNIX_TIME@TIME.")
    told.append("for stop in \\")
    times = [(round(at), datetime.fromtimestamp(round(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")) for at in stops]
    told += [f"    {number}-{at}@{when} \\" for number, (at, when) in enumerate(times, 1)]
    told[-1] = told[-1].removesuffix(" \\")
    task = _line(
        "gcloud",
        "tasks",
        "create-http-task",
        "NAME",
        f"--queue={QUEUE}",
        f"--project={project}",
        f"--location={region}",
        f"--url={endpoint}/{resource(ref, project)}",
        "--method=DELETE",
        "--schedule-time=TIME",
        f"--oauth-service-account-email={account}",
        f"--oauth-token-scope={_SCOPE}",
    )
    name = f'{shlex.quote(ref.name)}-b-"${{stop%@*}}"'
    return [*told, "do", task.replace("NAME", name, 1).replace("=TIME", '="${stop#*@}"', 1), "done", ""]


def _end(wanted: Wanted, project: str) -> list[str]:
    ref = wanted.ref
    kind = ["instances"] if ref.backend == "compute" else ["tpus", "queued-resources"]
    force = ["--quiet"] if ref.backend == "compute" else ["--force", "--quiet"]
    words = ["gcloud", "compute", *kind, "delete", ref.name, f"--project={project}", f"--zone={ref.zone}", *force]
    return ["", "# The machine deletes itself when the run ends. By hand:", f"# {shlex.join(words)}"]


def _pairs(wanted: Wanted) -> str:
    return ",".join(f"{key}={value}" for key, value in wanted.labels.items())


def _line(*words: str) -> str:
    """One command, an option a line."""
    quoted = [shlex.quote(word) for word in words]
    head = [word for word in quoted if not word.lstrip("'").startswith("--")]
    options = [word for word in quoted if word.lstrip("'").startswith("--")]
    return " \\\n    ".join([" ".join(head), *options])


def _word(text: str) -> str:
    """*text* in a comment: on its one line."""
    return " ".join(text.split())
