"""What the checks by the real `gcloud` share: its environment, its call, and the loop over the parts of a check."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tpu_studio.practice.main import Practice
from tpu_studio.practice.settings import Settings

COMMAND_S = 120.0  # seconds a command may take
PATIENCE_S = 60.0
Part = tuple[str, Callable[[], None]]


def check(parts: Callable[[Practice, Path], Sequence[Part]], **settings: Any) -> int:
    """Play each part at a practice cloud of its own with *settings*, in a temporary folder. Exit code: 1 when one
    failed or there is no gcloud."""
    if shutil.which("gcloud") is None:
        print("gcloud is not installed")
        return 1
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with Practice(Settings(folder / "practice", machines=False, **settings)) as practice:
            for name, part in parts(practice, folder):
                began = time.monotonic()
                try:
                    part()
                    print(f"ok      {name}  ({time.monotonic() - began:.0f} s)")
                except (AssertionError, ValueError, KeyError, IndexError) as error:
                    failed += 1
                    print(f"FAILED  {name}: {error!r}")
    return 1 if failed else 0


def environment(folder: Path, url: str, token: str, project: str) -> dict[str, str]:
    """What makes gcloud talk to the practice cloud at *url* only, with nothing of the person's own configuration."""
    config = folder / "gcloud"
    config.mkdir(parents=True, exist_ok=True)
    token_file = config / "token"
    token_file.write_text(token)
    services = ("TPU", "SERVICEUSAGE", "CLOUDBILLING", "CLOUDRESOURCEMANAGER", "CLOUDQUOTAS", "IAM", "ORGPOLICY")
    return {
        **{key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")},
        "CLOUDSDK_CONFIG": str(config),
        "CLOUDSDK_CORE_PROJECT": project,
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
        "CLOUDSDK_CORE_DISABLE_FILE_LOGGING": "true",
        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(token_file),
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": f"{url}/storage/v1/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": f"{url}/compute/v1/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDTASKS": f"{url}/cloudtasks/",
        **{f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{service}": f"{url}/" for service in services},
    }


class Gcloud:
    """`gcloud …` against one practice cloud."""

    def __init__(self, folder: Path, practice: Practice) -> None:
        self._env = environment(folder, practice.url, practice.token, practice.cloud.settings.project)

    def __call__(self, *arguments: str, fails: bool = False) -> str:
        """stdout; with *fails* stderr. Raises AssertionError with gcloud's own words when it ended otherwise."""
        done = subprocess.run(
            ["gcloud", *arguments], env=self._env, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )
        if (done.returncode != 0) != fails:
            told = f"exit {done.returncode}\n{done.stdout}{done.stderr}"
            raise AssertionError(f"gcloud {' '.join(arguments)}: {told}")
        return done.stderr if fails else done.stdout

    def read(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--format=json"))

    def until(self, wanted: str, *arguments: str) -> None:
        """Until the command prints *wanted*."""
        give_up = time.monotonic() + PATIENCE_S
        while (seen := self(*arguments).strip()) != wanted:
            assert time.monotonic() < give_up, f"{seen} instead of {wanted}"
