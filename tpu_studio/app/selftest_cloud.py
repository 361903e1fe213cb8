"""The self-test's parts about the cloud: all on this computer, free, and ended again."""

from __future__ import annotations

import hashlib
import importlib
import io
import time
import zipfile
from pathlib import Path

from tpu_studio.app.selftest import Skipped
from tpu_studio.wire import places
from tpu_studio.wire.homes import home_folder

WITHIN_S = 60.0
_NODE = "self-test"
_SCRIPT = """#!/bin/sh
curl -s -H 'Metadata-Flavor: Google' "http://$GCE_METADATA_HOST/computeMetadata/v1/instance/zone"
python3 -c 'import sys; print("\\nPython", ".".join(map(str, sys.version_info[:3])), "answers")'
"""


def keyrings() -> str:
    """The system's keyring is found by its metadata, and certificates by their file: both have to travel."""
    from keyring.backend import get_all_keyring
    from requests.utils import DEFAULT_CA_BUNDLE_PATH

    from tpu_studio.cloud.signin.secrets import choose

    found = {type(one).__module__ for one in get_all_keyring()}
    importlib.import_module("keyring.backends.SecretService")  # as on a desktop with a Secret Service
    if not any(name.startswith("keyring.backends.") for name in found):
        raise RuntimeError(f"keyring has found only {sorted(found)}")
    certificates = Path(DEFAULT_CA_BUNDLE_PATH).read_bytes().count(b"BEGIN CERTIFICATE")
    if certificates < 50:
        raise RuntimeError(f"{DEFAULT_CA_BUNDLE_PATH} has {certificates} certificates")
    return f"secrets would go to the {choose(home_folder()).where}, {certificates} certificates"


def vm_program() -> str:
    """What a machine is started with, made from the sources that travel."""
    from tpu_studio.workflow.cloudruns.pyz import guardian_pyz, startup_script

    made = guardian_pyz()
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        inside = archive.namelist()
    if "tpu_studio/trainer/guardian/main.py" not in inside or not startup_script().startswith("#!"):
        raise RuntimeError(
            f"guardian.pyz holds {len(inside)} files, the startup script {len(startup_script())} letters"
        )
    return f"guardian.pyz {len(made) // 1024} KB, {len(inside)} files, {hashlib.sha256(made).hexdigest()[:12]}"


def practice_cloud() -> str:
    """Start it as the window does, detached; ask it by Google's own clients; end it."""
    from tpu_studio.places.reaching import connected
    from tpu_studio.practice import daemon

    home = home_folder()
    try:
        side = connected(places.rehearsing().id, home)
        machines = [*side.machines["tpu"].find({}), *side.machines["compute"].find({})]
        side.mailbox.create("self-test.txt", b"there")
        if side.mailbox.read("self-test.txt") != b"there":
            raise RuntimeError("an object cannot be read back")
        return f"{len(machines)} machines listed, an object written and read, at {side.endpoints['tpu']}"
    finally:
        daemon.stop(home)


def practice_machine() -> str:
    """A machine runs its startup script: its supervisor, its metadata server and the system's python3."""
    from tpu_studio.practice.machines import image
    from tpu_studio.practice.main import Practice
    from tpu_studio.practice.settings import Settings
    from tpu_studio.practice.vms import MachineSpec

    if reason := image.unsupported():
        raise Skipped(reason)
    settings = Settings(home_folder() / "practice-of-self-test")
    spec = MachineSpec(
        f"projects/{settings.project}/locations/{settings.zone}/nodes/{_NODE}",
        settings.project,
        settings.zone,
        _NODE,
        "v5litepod-1",
        1,
        "1x1",
        1,
        settings.runner,
        metadata={"startup-script": _SCRIPT},
    )
    with Practice(settings) as practice:
        vms = practice.cloud.vms
        assert vms is not None
        vms.start(spec.resource, spec)
        try:
            give_up = time.monotonic() + WITHIN_S
            while "answers" not in (said := vms.console(spec.resource).decode("utf-8", "replace")):
                if time.monotonic() > give_up or not vms.alive(spec.resource):
                    raise RuntimeError(f"it said only: {said[-300:]}")
                time.sleep(0.02)
        finally:
            vms.kill(spec.resource)
    if settings.zone not in said:
        raise RuntimeError(f"its metadata server did not answer: {said[-300:]}")
    return " ".join(line for line in said.splitlines() if line.endswith("answers"))
