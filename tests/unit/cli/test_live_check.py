"""A live check on the command line: what it answers, and what is still there when it ends before its time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.cli.main import main
from tpu_studio.domain.doubts import doubts
from tpu_studio.places import livechecking
from tpu_studio.wire.errors import SignedOut
from tpu_studio.workflow.livecheck.checking import Outcome
from tpu_studio.workflow.livecheck.left import Left
from tpu_studio.workflow.livecheck.ports import Seen


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


@pytest.mark.parametrize("left", [(), ("machine us-west4-a/ts-live-0-a1-t1",)])
def test_json_names_each_doubt_with_what_was_seen_and_the_exit_code_what_was_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, left: tuple[str, ...]
) -> None:
    asked: list[tuple[object, ...]] = []
    ids = [one.id for one in doubts().values() if one.automatic][:3]
    seen = [Seen(ids[0], "", "200"), Seen(ids[1], doubts()[ids[1]].others[0], "404"), Seen(ids[2], None, "")]

    @contextmanager
    def prober_of(place: str, home: Path) -> Iterator[tuple[NoSteps, None]]:
        yield NoSteps(), None

    def live_check(place: str, home: Path, agreed: bool, max_usd: float, **more: object) -> Outcome:
        asked.append((place, agreed, max_usd))
        return Outcome(seen, 0.25, left)

    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    monkeypatch.setattr(livechecking, "prober_of", prober_of)
    monkeypatch.setattr(livechecking, "live_check", live_check)
    assert main(["live-check", "--on", "cloud", "--yes", "--max-usd", "0.5", "--json"]) == (1 if left else 0)
    told = json.loads(capsys.readouterr().out)
    assert [(one["id"], one["seen"]) for one in told["doubts"]] == list(
        zip(ids, ("as-assumed", "other-way", "not-seen"), strict=True)
    )
    assert (told["left"], told["usd_at_most"], told["agreed"]) == (list(left), 0.25, True)
    assert main(["live-check", "--on", "cloud", "--json"]) == (1 if left else 0)
    assert asked == [("cloud", True, 0.5), ("cloud", False, 1.0)]  # without a yes the free reads alone
