"""Everything a run in the cloud uses, made from credentials and names; the same for Google and for the practice cloud.

`app` and `cli` compose it: which account, project and bucket is theirs to know, and so is where a practice cloud runs.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from tpu_studio.cloud.clock import DateClock
from tpu_studio.cloud.compute import ComputeMachines
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.evidence import CloudStopRights
from tpu_studio.cloud.mailbox import BucketMailbox
from tpu_studio.cloud.session import PATIENT, Patience, plain_session, session
from tpu_studio.cloud.stops import TaskStops
from tpu_studio.cloud.tpu import TpuMachines
from tpu_studio.wire import places
from tpu_studio.workflow.cloudruns.ports import CloudSide
from tpu_studio.workflow.livecheck.ways import USUAL, Ways

RUNNER = "tpu-studio-runner"
STOPPER = "tpu-studio-stopper"
_NEVER = datetime(9999, 1, 1)  # google-auth wants an end, in UTC and without a zone


def connect(
    credentials: object,
    project: str,
    bucket: str,
    *,
    runner: str = "",
    stopper: str = "",
    endpoints: Endpoints | None = None,
    place: str,
    patience: Patience = PATIENT,
    ways: Callable[[float], Ways] = lambda now: USUAL,
) -> CloudSide:
    """A side of *place*. Asks the cloud for its time and nothing else.

    Args:
        credentials: google-auth's; their quota project becomes *project*.
        runner: The machines' service account; default: ours in *project*.
        stopper: The service account of the shut-off timers; "": the runner's.
        ways: What a live check has seen, at a time of the cloud's.

    Raises:
        CloudUnclear: The cloud could not be reached.
    """
    ends = endpoints or Endpoints()
    http = session(credentials, project)
    clock = DateClock(plain_session(), f"{ends.tpu}/v2/projects/{project}/locations", http, patience=patience)
    first = ways(clock.now())
    if first.signed_in:
        clock.ask_signed_in_first()
    http.hooks["response"].append(clock.heard)
    runner = runner or runner_account(project)
    targets = {"tpu": ends.tpu, "compute": ends.compute}
    stops = TaskStops(http, ends.tasks, ends.orgpolicy, project, stopper or runner, targets, patience=patience)
    return CloudSide(
        place=place,
        project=project,
        runner=runner,
        stopper=stopper,
        machines={
            "tpu": TpuMachines(http, ends.tpu, project, patience=patience, compute=ends.compute, ways=first),
            "compute": ComputeMachines(http, ends.compute, project, patience=patience, ways=first),
        },
        stops=stops,
        rights=CloudStopRights(http, ends, project, runner, stopper, stops, patience=patience),
        mailbox=BucketMailbox(http, ends.storage, project, bucket, patience=patience, now=clock.now),
        clock=clock,
        endpoints=ends.for_machine(),
    )


def practice_side(
    url: str,
    token: str,
    project: str,
    bucket: str,
    *,
    patience: Patience = PATIENT,
    shared_account: bool = False,
    renewed: Callable[[], str] | None = None,
    ways: Callable[[float], Ways] = lambda now: USUAL,
) -> CloudSide:
    """A side of the practice cloud at *url*, as its owner. Raises CloudUnclear when it does not answer.

    Args:
        shared_account: The shut-off timers act as the runner, as in accounts that were set up before they had one.
        renewed: See `bearer`.
    """
    stopper = "" if shared_account else stopper_account(project)
    return connect(
        bearer(token, renewed),
        project,
        bucket,
        stopper=stopper,
        endpoints=Endpoints.at(url),
        place=places.rehearsing().id,
        patience=patience,
        ways=ways,
    )


def bearer(token: str, renewed: Callable[[], str] | None = None) -> object:
    """Credentials that are one token.

    Args:
        renewed: The token of now, asked for when this one is refused; None: it can't be refreshed.
    """
    from google.oauth2.credentials import Credentials

    make: Callable[..., object] = Credentials
    if renewed is None:
        return make(token=token)
    return make(token=token, refresh_handler=lambda request, scopes: (renewed(), _NEVER))


def runner_account(project: str) -> str:
    return f"{RUNNER}@{project}.iam.gserviceaccount.com"


def stopper_account(project: str) -> str:
    return f"{STOPPER}@{project}.iam.gserviceaccount.com"
