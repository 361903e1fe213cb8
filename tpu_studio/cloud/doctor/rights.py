"""What the person may do: needed to launch, and, while something is still to be set up, needed for that.

Each permission is asked where it is granted: of the project, of our bucket, of the two accounts. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpu_studio.cloud.doctor import names
from tpu_studio.cloud.doctor.apis import Apis
from tpu_studio.cloud.doctor.repairs import account_path, runner_address, stopper_address
from tpu_studio.cloud.session import Api, segment
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.workflow.account.ports import Choices


def to_launch(apis: Apis, choices: Choices) -> list[str]:
    """Missing to launch, watch and delete."""
    missing = refused(apis.resources, f"/v3/projects/{segment(choices.project)}", (*names.LAUNCH, names.ACT_AS))
    if names.ACT_AS in missing and _acts_as_both(apis, choices):
        missing.remove(names.ACT_AS)
    return missing + _of_bucket(apis, choices)


def to_set_up(apis: Apis, choices: Choices, fixes: Sequence[str]) -> list[str]:
    """Missing for the repairs *fixes*."""
    wanted = dict.fromkeys(one for fix in fixes for one in names.SET_UP.get(fix, ()))
    return refused(apis.resources, f"/v3/projects/{segment(choices.project)}", tuple(wanted)) if wanted else []


def _acts_as_both(apis: Apis, choices: Choices) -> bool:
    """Whether the right to act as the runner and as the stopper was granted on each by itself."""
    for address in (runner_address(choices), stopper_address(choices)):
        try:
            if refused(apis.iam, account_path(choices, address), (names.ACT_AS,)):
                return False
        except CloudRefused:
            return False  # it is not there yet
    return True


def _of_bucket(apis: Apis, choices: Choices) -> list[str]:
    if not choices.bucket:
        return []
    path = f"/storage/v1/b/{segment(choices.bucket)}/iam/testPermissions"
    try:
        held = apis.storage.get(path, {"permissions": list(names.ON_BUCKET)}).get("permissions") or ()
    except CloudRefused as error:
        if error.id in ("not-found", "permission-missing"):
            return []  # the bucket's own row says so
        raise
    return [one for one in names.ON_BUCKET if one not in held]


def refused(api: Api, path: str, permissions: Sequence[str]) -> list[str]:
    granted = api.post(f"{path}:testIamPermissions", {"permissions": list(permissions)}, again=True)
    return [one for one in permissions if one not in (granted.get("permissions") or ())]
