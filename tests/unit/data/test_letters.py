"""Which letters a file's bytes stand for, and what is told of it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.data import encodings
from tpu_studio.data.look import look
from tpu_studio.wire.job import parse

ROWS = [
    (f"Schöne Grüße aus {'Köln' if n % 2 else 'Zürich'}, {n} – très bien 日本語", "grün" if n % 3 else "weiß")
    for n in range(200)
]


def seen(path: Path) -> Any:
    data = {"kind": "text", "path": str(path), "task": "text-classification"}
    return look(parse({"model": {"name": "text-classifier"}, "data": data}))


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_one_damaged_byte_leaves_all_other_letters_as_they_are(tmp_path: Path, mark: bytes) -> None:
    raw = mark + ("text,label\n" + "".join(f'"{text}",{label}\n' for text, label in ROWS)).encode()
    at = raw.index("Grü".encode(), len(raw) // 2) + 2
    path = tmp_path / "t.csv"
    path.write_bytes(raw[: at + 1] + raw[at + 2 :])
    found = seen(path)
    assert dict(found.classes) == {"grün": 133, "weiß": 67}
    assert [(one.id, one.facts) for one in found.findings if one.id == "damaged-letters"] == [
        ("damaged-letters", {"count": 1})
    ]
    lines = "".join(json.dumps({"text": a, "label": b}, ensure_ascii=False) + "\n" for a, b in ROWS).encode()
    at = lines.index("Grü".encode(), len(lines) // 2) + 2
    path = tmp_path / "t.jsonl"
    path.write_bytes(lines[: at + 1] + lines[at + 2 :])
    found = seen(path)
    assert set(dict(found.classes)) == {"grün", "weiß"} and "damaged-letters" in [one.id for one in found.findings]


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "cp1251", "shift-jis"])
def test_an_older_encoding_is_told(tmp_path: Path, encoding: str) -> None:
    words = {"cp1251": "Привет, мир", "shift-jis": "日本語の文", "latin-1": "Grüße, très"}.get(
        encoding, "Grüße – „très“"
    )
    path = tmp_path / "t.csv"
    path.write_bytes(("text,label\n" + "".join(f'"{words} {n}",{"ab"[n % 2]}\n' for n in range(60))).encode(encoding))
    assert "other-encoding" in [one.id for one in seen(path).findings]


def test_a_text_of_western_letters_is_hardly_ever_taken_for_utf_8() -> None:
    letters = "äöüÄÖÜßéèêáàâçñÉÀ°»«“”’ "
    for seed in range(300):
        words = "".join(random.Random(seed).choices(letters + "abcdefghij" * 6, k=2_000))
        assert encodings.of_bytes(words.encode("cp1252")) == "cp1252"


def test_a_large_file_with_a_damaged_letter_far_behind_is_utf_8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encodings, "WHOLE", 10_000)
    monkeypatch.setattr(encodings, "_PIECE", 5_000)
    raw = ("Grüße aus Köln\n" * 5_000).encode()
    path = tmp_path / "t.txt"
    for at in (5, 40_000, len(raw) - 5_000):
        cut = raw.index("ü".encode(), at)
        path.write_bytes(raw[: cut + 1] + raw[cut + 2 :])
        assert encodings.detect(path) == "utf-8"
