"""Several machines of one slice train one model: who is who, and what they agree upon between two calls.

Each worker runs the same program and reads its own devices' part of each batch; ``jax.distributed`` joins the devices.
Whatever depends on one machine's clock or on what a person asks is worker 0's to say: it puts each answer under a
number into the runtime's key-value store, and the others take them in the same order. What follows from the training
itself (losses, checks on unseen data) is the same everywhere and needs no word. What goes wrong on one of them alone (a
picture that it reads, its disk) it tells worker 0, whose word is the run's, before it ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tpu_studio.trainer.words import Events

JOIN_S = 900  # environments are made at different speeds
HEARTBEAT_S = 60  # a worker that has said nothing for so long is lost
WORD_MS = 1_800_000  # worker 0 may be busy with the result
LOOKS_EVERY_S = 1.0  # worker 0, whether another ends
HEARD_S = 5.0  # one that ends stays so long, that worker 0 has looked
_KEPT_WORDS = 64
_ENDS = "tpu-studio/ends"
_LOST = ("gloo", "coordination", "heartbeat", "unavailable:", "deadline_exceeded", "distributed service")


class Lost(Exception):
    """Another worker is not there any more."""


@dataclass
class Team:
    """Args:
    coordinator: ``host:port`` at which worker 0 serves the distributed runtime.
    """

    workers: int
    worker: int
    coordinator: str

    def __post_init__(self) -> None:
        self._number = 0
        self._parted = threading.Event()

    @property
    def leads(self) -> bool:
        return self.worker == 0

    def join(self, *, on_processors: bool) -> None:
        """Wait until all workers are there. After the environment is set, before anything asks for devices."""
        import jax

        if on_processors:
            jax.config.update("jax_cpu_collectives_implementation", "gloo")
            jax.config.update("jax_cpu_enable_async_dispatch", False)  # two calls at once would wait for each other
        jax.distributed.initialize(
            self.coordinator,
            self.workers,
            self.worker,
            coordinator_bind_address=self._listens_at(),
            initialization_timeout=JOIN_S,
            heartbeat_timeout_seconds=HEARTBEAT_S,
        )

    def _listens_at(self) -> str | None:
        """Workers of one computer talk over loopback alone; else JAX would listen to the whole network for them."""
        return self.coordinator if self.coordinator.rpartition(":")[0] in ("127.0.0.1", "localhost", "[::1]") else None

    def agree(self, value: object = None) -> Any:
        """Worker 0's *value*, plain JSON; the same number of calls in the same order on each worker. Raises Lost."""
        self._number += 1
        from jax.errors import JaxRuntimeError

        client, key = _client(), f"tpu-studio/{self._number}"
        try:
            if self.leads:
                client.key_value_set(key, json.dumps(value))
                if self._number > _KEPT_WORDS:
                    client.key_value_delete(f"tpu-studio/{self._number - _KEPT_WORDS}")
                return value
            return json.loads(client.blocking_key_value_get(key, WORD_MS))
        except JaxRuntimeError as error:
            raise Lost(str(error)) from error

    def have_same(self, arrays: Mapping[str, object]) -> bool:
        """Whether all workers hold the very same *arrays*; all are told the same."""
        import numpy as np
        from jax.experimental import multihost_utils

        digest = hashlib.sha256()
        for name, array in arrays.items():
            digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
        told = multihost_utils.process_allgather(np.frombuffer(digest.digest(), np.uint8))
        return bool((told == told[0]).all())

    def tell_why(self, told: Mapping[str, object]) -> None:
        """Tell worker 0 why this worker ends, plain JSON, and stay until it has heard. Nothing before `join`."""
        from jax.errors import JaxRuntimeError

        if (client := _client()) is None:
            return
        try:
            client.key_value_set(_ENDS, json.dumps(told))
        except JaxRuntimeError as error:  # told already by another worker, or worker 0 is gone
            print(f"trainer: worker 0 was not told: {error}", flush=True)
            return
        self._parted.wait(HEARD_S)

    def why(self) -> dict[str, Any] | None:
        """What the first worker that ended by itself told."""
        from jax.errors import JaxRuntimeError

        try:
            return dict(json.loads(_client().key_value_try_get(_ENDS)))
        except JaxRuntimeError:  # not found, or the runtime has ended
            return None

    def hear(self, heard: Callable[[dict[str, object]], None]) -> None:
        """On worker 0: *heard*, in another thread, what a worker tells that ends; a call may be waiting for it."""

        def look() -> None:
            while not self._parted.wait(LOOKS_EVERY_S):
                if (told := self.why()) is not None:
                    heard(told)
                    return

        threading.Thread(target=look, name="others", daemon=True).start()

    def part(self) -> None:
        """All are done; the runtime ends on all workers together."""
        import jax

        self._parted.set()
        try:
            jax.distributed.shutdown()
        except RuntimeError as error:  # one that has gone already
            print(f"trainer: the workers did not part together: {error}", flush=True)


def is_lost(error: BaseException) -> bool:
    """Whether *error* means that another worker is gone."""
    if isinstance(error, Lost):
        return True
    text = str(error).lower()  # the same trouble comes as ValueError or as JaxRuntimeError
    return isinstance(error, (RuntimeError, ValueError)) and any(word in text for word in _LOST)


def _client() -> Any:
    """Of the key-value store; the one that ``jax.distributed`` made (no public name for it in jax 0.10)."""
    from jax._src import distributed

    return distributed.global_state.client


class Aside(Events):
    """Where a worker besides the first tells what happens: only what is its own. The curve is worker 0's to tell."""

    def __init__(self, fd: int, worker: int) -> None:
        super().__init__(fd)
        self._worker = worker

    def send(self, kind: str, **fields: object) -> None:
        if kind == "outcome" or (kind == "notice" and fields.get("id") == "broken-items"):
            super().send(kind, **fields)
        elif kind == "device":
            super().send(kind, **{**fields, "worker": self._worker})
        elif kind == "speed":
            super().send("alive", worker=self._worker, step=fields.get("step"))  # its guardian hears that it works


def leave_after(seconds: float) -> None:
    """A worker whose guardian is gone goes too, if worker 0 has not ended the training by then."""
    timer = threading.Timer(seconds, lambda: os._exit(3))
    timer.daemon = True
    timer.start()
