"""How many bytes a download takes: what the object is said to have, and not one more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpu_studio.cloud.mailbox import _Cancelled, _Written
from tpu_studio.wire.sizes import TooLarge


def test_more_bytes_than_were_announced_end_the_download(tmp_path: Path) -> None:
    told: list[int] = []
    with open(tmp_path / "x", "wb") as file:
        into = _Written(file, 10, lambda done, total: told.append(done))
        into.write(b"12345")
        into.write(b"67890")
        with pytest.raises(_Cancelled) as caught:
            into.write(b"!")
    assert isinstance(caught.value.cause, TooLarge) and told == [5, 10]
    assert (tmp_path / "x").stat().st_size == 10
