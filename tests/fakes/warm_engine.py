"""The engine's Python with a framework imported, from which programs of tests are forked: ``warm_engine.py FRAMEWORK``.

Standard input is a socket. Each question on it names arguments, environment and folder, and brings four files: the
program's standard input, output and error, and a socket that is told its number and, when it has ended, its exit code.
The server ends when nobody can ask any more.

A fork is sound here: nothing is imported that starts a thread, and no backend is opened before it. JAX warns of forks
from the moment that one is. Environment that is read later counts as ever; `tests.trainer.warm` says what is not.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import select
import socket
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

IMPORTED = {
    "jax": ("jax.numpy", "keras", "h5py", "safetensors.numpy", "PIL.Image"),
    "tensorflow": ("tensorflow", "keras", "h5py", "safetensors.numpy", "PIL.Image"),
}


class Kept:
    """Finds Keras where it is first imported: the one that is there, if its backend is the one asked for."""

    def __init__(self) -> None:
        self._keras, self._backend = sys.modules.pop("keras"), os.environ["KERAS_BACKEND"]
        assert self._keras.__spec__ is not None
        self._spec = self._keras.__spec__
        self._spec.loader = self  # type: ignore[assignment]  # importlib asks for no more than is here

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "keras":
            return None
        asked = os.environ.get("KERAS_BACKEND")
        assert asked == self._backend, f"Keras is there with {self._backend}, not {asked}"
        return self._spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._keras

    def exec_module(self, module: ModuleType) -> None:
        pass


def load(framework: str) -> dict[str, str]:
    """The environment that the imports made."""
    before = dict(os.environ)
    for name in IMPORTED[framework]:
        importlib.import_module(name)
    sys.meta_path.insert(0, Kept())
    gc.collect()
    gc.freeze()
    return {name: value for name, value in os.environ.items() if before.get(name) != value}


def serve(questions: socket.socket) -> dict[str, Any] | None:
    """What a child shall do, in the child; None at the end, in the server."""
    running: dict[int, tuple[int, socket.socket]] = {}  # by pidfd
    while True:
        for ready in select.select([questions.fileno(), *running], [], [])[0]:
            if ready in running:
                pid, answer = running.pop(ready)
                answer.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
                answer.close()
                os.close(ready)
                continue
            data, files, *_ = socket.recv_fds(questions, 1 << 20, 4)
            if not data:
                return None
            answer = socket.socket(fileno=files.pop())
            pid = os.fork()
            if pid == 0:
                for number, file in enumerate(files):
                    os.dup2(file, number)
                for each in (questions, answer, *(one for _, one in running.values())):
                    each.close()
                for file in (*files, *running):
                    os.close(file)
                told: dict[str, Any] = json.loads(data)
                return told
            for file in files:
                os.close(file)
            answer.send(str(pid).encode())
            running[os.pidfd_open(pid)] = pid, answer


def become(told: dict[str, Any], made: dict[str, str]) -> None:
    """What `python ARGUMENT…` is when it has imported the same."""
    os.environ.clear()
    os.environ.update(told["environment"] | made)
    os.chdir(told["folder"])
    sys.modules["numpy"].random.seed()  # no two programs draw the same
    sys.argv[:] = told["argv"]
    if sys.argv[0] == "-m":
        del sys.argv[0]
        sys.path[0] = os.getcwd()
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(sys.argv[0]).parent)
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    made = load(sys.argv[1])
    if (told := serve(socket.socket(fileno=os.dup(0)))) is not None:
        become(told, made)
