"""Logs of megabytes in which no line is like another: all is looked through, and what that costs has a limit."""

from __future__ import annotations

import itertools

import pytest

from tpu_studio.domain.explaining import causes, explain, logtext
from tpu_studio.domain.explaining.pieces import Pieces
from tpu_studio.domain.explaining.rules import rules

LETTERS = "ghijklmnopqrstuvwxyz"  # none of which is taken for a figure
SIGNS = [sign for rule in rules() for sign in rule.signs]


def unlike(line: str, size: int) -> list[str]:
    count = size // (len(line) + 6)
    return [f"{''.join(one)} {line}" for one in itertools.islice(itertools.product(LETTERS, repeat=5), count)]


def test_a_piece_that_is_there_is_found_and_few_others() -> None:
    text = " ".join(SIGNS[::2])
    pieces = Pieces(text)
    assert all(one in pieces for one in SIGNS[::2])
    there = sum(one in pieces for one in ("zzzyqx", "quick brown fox jumps", "über den wolken"))
    assert there == 0 and "ab" in pieces  # too short to tell


def test_the_cause_in_the_middle_of_a_large_log_is_seen() -> None:
    lines = unlike("the loss of this step went down and the model is better now", 3_000_000)
    lines[len(lines) // 2] = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes."
    found = explain("\n".join(lines))
    assert found.causes and "17179869184" in found.causes[0].lines[0]


def test_a_log_with_every_sign_in_long_lines_is_looked_through_within_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    whole = logtext.without_secrets
    monkeypatch.setattr(logtext, "without_secrets", lambda text: given.append(len(text)) or whole(text))
    lines = [f"{one} {SIGNS[at % len(SIGNS)]} " + "token=" * 2500 for at, one in enumerate(unlike("", 6 * 500))]
    found = explain("\n".join(lines))
    assert found.causes and sum(given) < 3_000_000
    assert all(len(cause.lines) <= causes.LINES for cause in found.causes)


def test_so_many_letters_are_looked_through_for_all_signs_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causes, "_WORK", 50_000_000)
    text = "\n".join(f"{one} {SIGNS[at % len(SIGNS)]}" for at, one in enumerate(unlike("token " * 8, 2_000_000)))
    kept, small, left = causes._bounded(text, text.lower(), rules())
    pieces = sum(len(rule.signs) + len(rule.unless) + len(rule.besides) for rule in left)
    assert len(kept) == len(small) and len(kept) * pieces < 1.1 * causes._WORK
    assert kept.lower() == small and text.startswith(kept[:1000]) and text.endswith(kept[-1000:])
