"""What is told of the letters of a file: written in an older encoding, or some of them damaged."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tpu_studio.data import encodings
from tpu_studio.data.looked import Finding

_READ = 64 * 2**20  # bytes, about, of a folder of texts
_WRITTEN = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson")


def findings_of(path: Path) -> list[Finding]:
    """Of one file; none of a folder, or of what is no text. Raises DataError as `encodings.detect`."""
    if path.suffix.lower() not in _WRITTEN or not path.is_file():
        return []
    return findings([(path, encodings.detect(path))])


def findings(files: Iterable[tuple[Path, str]]) -> list[Finding]:
    """*files*: each with its encoding."""
    files = list(files)
    found = []
    if others := sorted({encoding for _, encoding in files if encoding in encodings.WESTERN}):
        found.append(Finding("other-encoding", "info", {"encodings": others}))
    damaged, left = 0, _READ
    for path, encoding in files:
        if encoding.startswith("utf-8") and left > 0:
            damaged += encodings.damaged(path)
            left -= path.stat().st_size
    if damaged:
        found.append(Finding("damaged-letters", "warning", {"count": damaged}))
    return found
