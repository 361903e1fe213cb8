"""The practice cloud's own address: its faults, for the panel “What could go wrong?”. Implements `FaultsPort`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from urllib import error, parse, request

from tpu_studio.practice.settings import Settings, folder_of
from tpu_studio.wire.errors import CloudUnclear

_CALL_S = 10.0


class PracticeFaults:
    """Starts the practice cloud of *home* if it does not run. Raises NotReady ``practice-failed``; CloudUnclear."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def listed(self) -> Mapping[str, object]:
        return self._call("GET")

    def peek(self) -> Mapping[str, object]:
        """As `listed`, of what lies on the disk: no server is started for it."""
        database = Settings(folder_of(self._home)).database
        if not database.exists():  # the usual case, which loads nothing of the practice cloud
            return {"faults": [], "armed": []}
        from tpu_studio.practice.faults import FAULTS, armed_in

        known = [{"name": one.name, "group": one.group, "sentence": one.sentence} for one in FAULTS.values()]
        return {"faults": known, "armed": armed_in(database)}

    def arm(self, name: str) -> Mapping[str, object]:
        """*name*: ``NAME[:key=value,…]``, as on the command line. Raises ValueError for keys that are none."""
        from tpu_studio.practice.faults import read_fault

        fault, about = read_fault(name)
        return self._call("POST", {"name": fault, **about})

    def disarm(self, name: str) -> Mapping[str, object]:
        """ "" takes all back."""
        return self._call("DELETE", query=f"?name={parse.quote(name)}" if name else "")

    def _call(self, method: str, body: Mapping[str, object] | None = None, query: str = "") -> Mapping[str, object]:
        from tpu_studio.practice import daemon

        server = daemon.start_or_join(self._home)
        data = None if body is None else json.dumps(body).encode()
        asked = request.Request(f"{server['url']}/practice/faults{query}", data=data, method=method)
        asked.add_header("Authorization", f"Bearer {server['token']}")
        asked.add_header("Content-Type", "application/json")
        opener = request.build_opener(request.ProxyHandler({}))  # a proxy of this computer's is not asked for loopback
        try:
            with opener.open(asked, timeout=_CALL_S) as reply:
                told: dict[str, object] = json.loads(reply.read())
                return told
        except (error.URLError, TimeoutError, ValueError) as failed:
            raise CloudUnclear("network-down", raw=str(failed)) from failed
