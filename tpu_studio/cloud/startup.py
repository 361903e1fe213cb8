"""What a machine is given when it is made: its metadata, the image it stands on, and what it shall install.

The metadata can be read by whoever may look at the machine: nothing in it is secret.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from tpu_studio.cloud import errors
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.wire.resources import resource_path
from tpu_studio.workflow.cloudruns.pyz import guardian_pyz, shutdown_script, startup_script

LIMIT_BYTES = 256 * 1024
"""Of one metadata value (Compute Engine's Metadata)."""


def metadata(config: Mapping[str, object], deadline: float) -> dict[str, str]:
    """The metadata of a machine with this ts-config.

    Args:
        deadline: Seconds since 1970 at which the bare shell deletes the machine unless the guardian moves it.

    Raises:
        CloudRefused: ``bad-request``: a value is too long, or the guardian is not the one that *config* names.
    """
    guardian = guardian_pyz()
    if config.get("guardian_sha256") != hashlib.sha256(guardian).hexdigest():
        raise errors.make("bad-request", {"raw": "the program has changed since the run was prepared"})
    values = {
        "startup-script": startup_script(),
        "shutdown-script": shutdown_script(),
        "ts-guardian": base64.b64encode(guardian).decode(),
        "ts-config": one_line(config),
        "ts-deadline": str(round(deadline)),
    }
    for key, value in values.items():
        if len(value.encode()) > LIMIT_BYTES:
            raise errors.make("bad-request", {"raw": f"{key} has more than {LIMIT_BYTES} bytes"})
    return values


def one_line(config: Mapping[str, object]) -> str:
    """*config* as the startup script can read it too: one line, no escaped quotes.

    Raises:
        CloudRefused: ``bad-request``: there is a quote or a control character in a value.
    """
    text = json.dumps(config, ensure_ascii=False)
    if "\\" in text or "\n" in text:
        raise errors.make("bad-request", {"raw": "a value of ts-config holds a quote, backslash or line end"})
    return text


def environment(framework: str, generation: str) -> dict[str, object]:
    """``environment`` of ts-config: versions that go together; the lock itself travels in the bundle.

    Raises:
        CloudRefused: ``type-not-in-zone`` where there is none.
    """
    id = catalogue().generation(generation).id
    for one in _table()["environments"] if catalogue().possible(id, framework).possible else ():
        if one["framework"] == framework:
            return {**{key: one[key] for key in ("framework", "python", "lock")}, "uv": uv()}
    raise errors.make("type-not-in-zone", {"raw": f"nothing is known to run {framework} on {id}", "accelerator": id})


def runtime(framework: str, generation: str) -> str:
    """The image that the TPU API wants for this generation; "" on Compute Engine, which names image families."""
    known = catalogue().generation(generation).software.get(framework)
    return known.runtime if known else ""


def uv() -> dict[str, str]:
    """``uv`` of an environment: version and sha256 of what makes a Python where the image has not the right one."""
    return {key: str(installer()[key]) for key in ("version", "sha256")}


def installer() -> Mapping[str, object]:
    """What a machine without pip gets: ``name``, ``version``, ``platform``, ``sha256`` of a wheel."""
    found: Mapping[str, object] = _table()["installer"]
    return found


def guardian_sha256() -> str:
    return hashlib.sha256(guardian_pyz()).hexdigest()


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, object] = json.loads(resource_path("catalogue", "vm.json").read_text("utf-8"))
    return table
