"""Logs of any length are read with no more than their limit in memory; what is no file is refused."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from tpu_studio.domain.explaining import LARGEST
from tpu_studio.wire.errors import BadInput
from tpu_studio.workflow.logs import read_log, read_stream


def test_of_a_huge_log_first_and_last_half_are_read_from_a_file_as_from_a_pipe(tmp_path: Path) -> None:
    raw = b"first\n" + b"".join(b"step %d\n" % step for step in range(2_000_000)) + b"last\n"
    (tmp_path / "train.log").write_bytes(raw)
    by_file, by_pipe = read_log(tmp_path / "train.log"), read_stream(io.BytesIO(raw).read)
    assert by_file == by_pipe
    assert (by_file.size, by_file.is_cut) == (len(raw), True)
    assert by_file.text.startswith("first\n") and by_file.text.endswith("last\n")
    assert LARGEST - 2 * len("step 1999999\n") < len(by_file.text) <= LARGEST + 1  # whole lines


@pytest.mark.parametrize("extra", [-1, 0, 1, 5_000_000])
def test_around_the_limit_both_ways_agree(tmp_path: Path, extra: int) -> None:
    raw = (b"0123456789abcde\n" * (LARGEST // 16 + 400_000))[: LARGEST + extra]
    (tmp_path / "log").write_bytes(raw)
    assert read_log(tmp_path / "log") == read_stream(io.BytesIO(raw).read)
    assert read_log(tmp_path / "log").is_cut == (extra > 0)


def test_a_log_on_another_computer_is_not_even_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_file", None)
    for share in ("//host/share/train.log", r"\\host\share\train.log"):
        with pytest.raises(BadInput) as caught:
            read_log(Path(share))
        assert caught.value.id == "log-in-a-share"


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "absent"):
        with pytest.raises(BadInput) as caught:
            read_log(path)
        assert caught.value.id == "log-unreadable"
