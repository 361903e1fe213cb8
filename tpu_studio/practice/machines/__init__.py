"""Practice machines: local process trees that really run the startup script they were given.

    server: fleet.Fleet (practice.vms.Vms)  ──starts, detached──▶  python -m tpu_studio.practice.machines FOLDER
                                                                     supervisor: one a machine, outlives everybody
                                                                       metadata server a worker (127.0.0.1)
                                                                       worker 0, 1 …: /bin/sh startup-script

The folder of a machine, `<TPU_STUDIO_HOME>/practice/machines/<backend>.<zone>.<node>/`:

    machine.json     what it is, its faults, its secrets (0600); written by the fleet before each boot
    state.json       the running boot: pids and ports; written by the supervisor
    killed           made before a kill, so that a supervisor that is only just starting ends itself
    w0/console.log   what the startup script printed: the serial port; stays when the machine is deleted
    w0/home  w0/vm   HOME and TPU_STUDIO_VM_ROOT: the machine's disk; kept over a stop, gone with a delete

`install` gives the cloud its fleet and answers what supervisors ask.

Not imitated: chips, their speed, root, systemd, a network of its own. Machines need a POSIX shell and curl, so there
are none on Windows (`image.unsupported`). Supervisors import this package: it must stay quick to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tpu_studio.practice.cloud import Cloud
    from tpu_studio.practice.routing import Request, Router


def install(router: Router, cloud: Cloud) -> None:
    from tpu_studio.practice.errors import GoogleError
    from tpu_studio.practice.machines.fleet import Fleet

    if not cloud.settings.machines:
        return
    fleet = Fleet(cloud)
    cloud.vms = fleet
    cloud.closing.append(fleet.close)
    cloud.ending.append(fleet.end_all)
    cloud.hangs_up.append(fleet.is_cut)
    cloud.busy.append(lambda: bool(fleet.names()))
    cloud.every(0.25 * cloud.clock.speed, fleet.look_at_faults)

    @router.route("POST", "/practice/machine-token", public=True)
    def token(request: Request) -> dict[str, object]:
        """A machine's supervisor asks with the machine's own key: ``{"machine","key"}``."""
        body = request.json()
        issued = fleet.issue_token(str(body.get("machine", "")), str(body.get("key", "")))
        if issued is None:
            raise GoogleError(403, "PERMISSION_DENIED", "No machine of this practice cloud.")
        return issued
