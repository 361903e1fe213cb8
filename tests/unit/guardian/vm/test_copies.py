"""Checkpoints between disk and bucket: what is being fetched is not taken for what was pruned."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, cast

from tpu_studio.trainer.guardian.vm.mailbox import Copies


class Box:
    """A bucket in memory that lets `during` happen while a file of an older copy is fetched."""

    def __init__(self, steps: tuple[str, ...]) -> None:
        names = ("state.safetensors", "manifest.json", "COMMITTED")
        self.objects = {f"runs/x/checkpoints/{step}/{name}": step.encode() for step in steps for name in names}
        self.threads: list[threading.Thread] = []
        self.during: Any = None

    def list(self, prefix: str) -> list[tuple[str, int]]:
        return sorted((name, len(data)) for name, data in self.objects.items() if name.startswith(prefix))

    def fetch(self, name: str, path: Path) -> bool:
        if self.during is not None and "/00000005/" in name:
            thread = threading.Thread(target=self.during)
            thread.start()
            thread.join(0.2)  # it would have done its harm by now
            self.threads.append(thread)
        if name not in self.objects:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.objects[name])
        return True

    def delete(self, name: str) -> None:
        self.objects.pop(name, None)


def test_copies_that_are_being_fetched_are_not_pruned_from_the_bucket(tmp_path: Path) -> None:
    box = Box(("00000005", "00000010"))
    config = cast(Any, type("Config", (), {"prefix": "runs/x/"})())
    copies = Copies(cast(Any, box), config, tmp_path)
    box.during = copies.carry
    before = dict(box.objects)
    assert copies.fetch() == [10, 5]
    for thread in box.threads:
        thread.join()
    assert box.objects == before
    for step in ("00000005", "00000010"):
        assert (tmp_path / "checkpoints" / step / "state.safetensors").read_bytes() == step.encode()
