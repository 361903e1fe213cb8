"""A file of another name among the claims is nobody's claim: one stopped every verb for all runs."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path, PurePosixPath

import pytest

from tpu_studio.wire.runfolder import belongs, events_names, is_number, latest_attempt
from tpu_studio.wire.visible import numbered

STRANGE = ["a1x.json", "a0²3.json", "a1.json", "a.json", "a٠٠٠١.json", "a00001x.json"]


@pytest.mark.parametrize("name", STRANGE)
def test_a_claim_of_another_name_is_passed_over_and_taken_in_from_nobody(tmp_path: Path, name: str) -> None:
    claims = tmp_path / "claims"
    claims.mkdir()
    (claims / name).write_text("{}")
    assert latest_attempt(tmp_path) == 0
    (claims / "a0007.json").write_text("{}")
    assert latest_attempt(tmp_path) == 7
    assert not belongs(PurePosixPath("claims", name)) and belongs(PurePosixPath("claims/a0007.json"))
    assert not belongs(PurePosixPath("claims/a0007.json/a0001.json"))


def test_a_digit_is_no_number_and_a_number_is_no_longer_than_one_can_be() -> None:
    assert is_number("000012") and not is_number("²") and not is_number("1" * 30) and not is_number("")


def test_every_letter_that_only_formats_is_written_out_and_those_that_names_may_hold_unseen() -> None:
    letters = [chr(code) for code in range(sys.maxunicode + 1)]
    formats = [one for one in letters if unicodedata.category(one) in ("Cf", "Zl", "Zp")]
    assert len(formats) > 150
    unseen = [*formats, *"\u17b4\u17b5\u180b\u180c\u180d\u180f"]
    assert [f"U+{ord(one):04X}" for one in unseen if numbered(f"a{one}b") != f"a\\u{{{ord(one):x}}}b"] == []
    assert numbered("größe = 'ក្សា ᠮᠣᠩ 日本 ۱۲'\t# é\n") == "größe = 'ក្សា ᠮᠣᠩ 日本 ۱۲'\t# é\n"


def test_what_python_reads_and_nobody_sees_is_written_out() -> None:
    shown = numbered("a\rb\r\nc\ufe0fd\U000e0100e\u2800")
    assert shown == "a\\u{d}b\r\nc\\u{fe0f}d\\u{e0100}e\\u{2800}"


def test_of_events_files_without_end_those_of_the_first_workers_are_read(tmp_path: Path) -> None:
    """Each was asked for at every look at the list of runs: 50,000 of them cost minutes."""
    folder = tmp_path / "events"
    folder.mkdir()
    names = ["desk-a.jsonl", *(f"a{attempt:04d}-w{worker:03d}.jsonl" for attempt in (1, 2) for worker in range(1500))]
    for name in names:
        (folder / name).touch()
    found = [path.name for path in events_names(tmp_path)]
    assert len(found) == 2049 and found[0] == "desk-a.jsonl" and found[1:] == sorted(found[1:])
    assert {"a0001-w000.jsonl", "a0002-w000.jsonl"} < {*found}
