"""Where a sentence points to the details, a terminal shows them: it has nothing to unfold."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.fakes.terminal import Terminal
from tpu_studio.cli.output import Output, never_fail_on_letters, table
from tpu_studio.practice import daemon
from tpu_studio.wire.errors import NotReady, RunError


def test_a_practice_cloud_that_does_not_start_shows_the_last_of_what_its_server_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = (
        "\n".join(f"line {number}" for number in range(1, 20)) + "\nOSError: [Errno 99] Cannot assign requested address"
    )

    def start(*about: object, **more: object) -> None:
        raise NotReady("practice-failed", raw=said)

    monkeypatch.setattr(daemon, "start_or_join", start)
    done = Terminal(tmp_path / "home").run("practice", "--detached")
    lines = [line.strip() for line in done.stderr.splitlines()]
    assert done.returncode == 4 and "Try again; if it stays, the details show what it said." in lines
    after = lines[lines.index("Details:") + 1 :]
    assert after[:2] == ["… (12 lines before)", "line 13"]
    assert after[-1] == "OSError: [Errno 99] Cannot assign requested address"


def test_of_other_errors_no_details_are_shown_and_none_where_there_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(as_json=False)
    output.error(RunError("import-failed", raw="secret words"))
    output.error(NotReady("practice-failed"))
    assert "Details" not in capsys.readouterr().err


def test_a_sentence_in_a_table_is_whole_however_long() -> None:
    words = "At worst $24.92: " + "so much at its limits, and so much beyond; " * 20
    assert table([["At worst", words], ["Waits", "4 h"]]).split("\n")[0] == f"At worst  {words}".rstrip()


def test_a_cell_of_a_table_writes_no_line_of_its_own() -> None:
    """A metric of that name wrote “Cost  $0.00, settled” into what `show` says of a run that somebody sent."""
    told = table([["Steps", "2 of 2"], ["x\nCost      $0.00, settled\u2028Machine   deleted", "1"]])
    assert told.splitlines()[0].split() == ["Steps", "2", "of", "2"] and len(told.splitlines()) == 2


def test_half_a_letter_ends_no_verb_whatever_the_terminal_is_set_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the locale C, and where none is set, Python hands out bytes in the place of letters."""
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, "utf-8", errors="surrogateescape", write_through=True))
    never_fail_on_letters()
    Output(as_json=True).answer({"name": "gr\udcfc\ud800"}, "")
    assert json.loads(shown.getvalue()) == {"name": "gr\udcfc\ud800"}
