"""What the guardian prints: short lines, and no waiting for whoever reads them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.unit.guardian.vm.cloud import Cloud, Vm
from tpu_studio.trainer.guardian.vm.serial import LINE_BYTES, Serial

Machine = Callable[..., Vm]


def test_no_line_is_as_long_as_the_one_at_which_googles_reader_gives_up(tmp_path: Path) -> None:
    path = tmp_path / "serial"
    with open(path, "wb") as file:
        print("x" * 200_000, file=Serial(file.fileno()))
        stream = Serial(file.fileno())
        for _ in range(100):  # one line in many writes
            stream.write("é" * 1000)
        stream.write("\nshort \udce4\n\n")
    lines = path.read_bytes().split(b"\n")
    assert max(map(len, lines)) <= LINE_BYTES < 64 * 1024
    assert lines[2:] == [b"short \\udce4", b"", b""]


def test_what_cannot_be_written_is_let_go() -> None:
    read, write = os.pipe()
    os.close(read)
    assert Serial(write).write("nobody reads\n") == 13
    os.close(write)


def test_a_lock_that_a_killed_trainer_left_is_gone_before_the_next_one_starts(
    cloud: Cloud, machine: Machine, tmp_path: Path
) -> None:
    lock = tmp_path / "libtpu_lockfile"
    cloud.config()
    vm = machine(f"--steps 20 --save-every 5 --at 3:touch={lock} --at 12:kill")
    vm.more["TMPDIR"] = str(tmp_path)
    vm.boot().to_its_deletion()
    assert [event["id"] for event in cloud.said("notice")].count("trainer-restarted") >= 1
    assert cloud.said("resume")
    assert not lock.exists()
