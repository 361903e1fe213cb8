"""Other desktops' events in the bucket, where somebody else writes, too: how much of them comes down."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.clouddesk import RUN
from tests.fakes.skies import Sky
from tpu_studio.workflow.cloudruns import mirror

PREFIX = f"runs/{RUN}/"
_MANY = 30
LINE = b'{"t":1.0,"kind":"log","text":"x"}\n'


@pytest.fixture
def box(sky: Sky, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A bucket in which the desktop that sorts last has begun first."""
    for number in range(_MANY):
        sky._put(f"{PREFIX}events/desk-{number:08d}/000000000000.jsonl", LINE)
    made = sky.side().mailbox
    real = type(made).list

    def listed(self: Any, *given: Any, **more: Any) -> Any:
        found = real(self, *given, **more)
        return [replace(one, updated=1000.0 - int(one.name.split("desk-")[1][:8])) for one in found]

    monkeypatch.setattr(type(made), "list", listed)
    return made


def test_of_desktops_without_end_those_come_that_began_first(tmp_path: Path, box: Any, sky: Sky) -> None:
    (tmp_path / RUN).mkdir()
    one = mirror.Mirror(tmp_path / RUN, "aaaaaaaa", box)
    first = [f"desk-{number:08d}.jsonl" for number in range(_MANY - mirror.DESKS_FROM_BUCKET, _MANY)]
    for _ in range(2):
        one.desk_files()
        assert sorted(path.name for path in (tmp_path / RUN / "events").iterdir()) == first
    assert one.left_out == {"events/desk-*"}
    name = f"desk-{_MANY - 1:08d}"
    sky._put(f"{PREFIX}events/{name}/{len(LINE):012d}.jsonl", LINE)
    one.desk_files()
    assert (tmp_path / RUN / "events" / f"{name}.jsonl").read_bytes() == 2 * LINE


def test_so_many_bytes_of_all_of_them_come_and_no_more(
    tmp_path: Path, box: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror, "DESKS_AT_MOST", 3 * len(LINE))
    (tmp_path / RUN).mkdir()
    one = mirror.Mirror(tmp_path / RUN, "aaaaaaaa", box)
    for _ in range(2):
        one.desk_files()
        came = sorted(path.name for path in (tmp_path / RUN / "events").iterdir())
        assert came == [f"desk-{number:08d}.jsonl" for number in range(_MANY - 3, _MANY)]
    assert f"events/desk-{_MANY - 4:08d}" in one.left_out


def test_a_few_desktops_come_whole(tmp_path: Path, sky: Sky) -> None:
    for name in ("desk-bbbbbbbb", "desk-cccccccc"):
        sky._put(f"{PREFIX}events/{name}/000000000000.jsonl", LINE)
    (tmp_path / RUN).mkdir()
    one = mirror.Mirror(tmp_path / RUN, "aaaaaaaa", sky.side().mailbox)
    one.desk_files()
    assert len(list((tmp_path / RUN / "events").iterdir())) == 2 and not one.left_out
