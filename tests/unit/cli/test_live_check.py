"""A live check that ends before its time, on the command line: it says what is still there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.cli.main import main
from tpu_studio.places import livechecking
from tpu_studio.wire.errors import SignedOut
from tpu_studio.workflow.livecheck.left import Left


class NoSteps:
    def steps(self) -> tuple[()]:
        return ()


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize(("ends", "code"), [(KeyboardInterrupt(), 130), (SignedOut("signed-out"), 4)])
def test_a_live_check_that_is_ended_says_what_is_still_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, ends: BaseException, code: int, left: bool
) -> None:
    @contextmanager
    def prober_of(place: str, home: Path) -> Iterator[tuple[NoSteps, None]]:
        yield NoSteps(), None

    def live_check(place: str, home: Path, *rest: object, **more: object) -> None:
        if left:
            with Left(home, "practice|p").making("machine", "us-west4-a/ts-live-0-a1-t1"):
                raise ends
        raise ends

    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    monkeypatch.setattr(livechecking, "prober_of", prober_of)
    monkeypatch.setattr(livechecking, "live_check", live_check)
    assert main(["live-check", "--on", "practice", "--yes"]) == code
    said = capsys.readouterr().err
    assert "goes on." not in said  # what was started before does not
    assert ("ts-live-0-a1-t1" in said and "run live-check again" in said) is left
