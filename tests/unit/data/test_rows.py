"""Names of columns: none empty, none twice, however many there are."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tpu_studio.data import csvfile, jsonlines, stretches
from tpu_studio.data.rows import unique_names
from tpu_studio.data.watching import Cancelled, Watch
from tpu_studio.wire.errors import DataError


def test_no_name_is_there_twice() -> None:
    assert unique_names(["a", "a", " a ", "", "a_2", "column_4"]) == (
        "a",
        "a_2",
        "a_3",
        "column_4",
        "a_2_2",
        "column_4_2",
    )
    assert unique_names(["a_2", "a", "a"]) == ("a_2", "a", "a_3")


def test_a_header_of_one_name_a_hundred_thousand_times_is_soon_named(tmp_path: Path) -> None:
    """Each name was counted from 2 anew: a file of kilobytes held a look for hours."""
    found = unique_names(["a"] * 100_000)
    assert len(set(found)) == 100_000 and found[-1] == "a_100000"


def test_a_list_of_more_names_than_a_table_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("[" + ",".join(['"a"'] * 20_000) + "]\n")
    with pytest.raises(DataError) as caught:
        jsonlines.opened(path, Watch())
    assert caught.value.id == "data-too-many-names"


def test_lines_without_a_name_are_not_kept_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonlines, "SAMPLE_CELLS", 1000)
    path = tmp_path / "t.jsonl"
    path.write_text("{}\n" * 50_000 + '{"a": 1, "b": 2}\n')
    with pytest.raises(DataError):
        jsonlines.opened(path, Watch())


def test_of_a_line_without_end_a_look_takes_a_part_and_can_be_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csvfile, "_LONGEST_LINE", 100_000)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 5_000_000 + "x" * 10_000_000)
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(0)
        return len(asked) > 20

    dialect = csvfile.sniff(path)
    with pytest.raises(Cancelled):
        csvfile.sample_rows(path, dialect, Watch(cancelled=cancelled))


class Text(io.StringIO):
    """Counts how often it is read."""

    reads = 0

    def read(self, size: int | None = -1) -> str:
        self.reads += 1
        return super().read(size)

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        self.reads += 1
        return super().readline(size)


@pytest.mark.parametrize("blanks", [0, 65_530, 65_536, 2_000_000])
def test_blank_lines_before_a_table_are_passed_over_by_blocks(blanks: int) -> None:
    """32 MB of them, dropped on the window, held it for four seconds."""
    text = Text("\n" * blanks + " question,answer\nwhy,so\n")
    assert stretches.first_line(text, 2**20).rstrip() == "question,answer"
    assert text.reads <= 2 + blanks // 60_000
    assert stretches.first_line(Text("\n" * blanks), 2**20) == ""
    assert len(stretches.first_line(Text("\n" * blanks + "x" * 4_000_000), 2**20)) <= 2**20 + 2**16
