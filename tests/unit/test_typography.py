"""One way to write an ellipsis and a percentage in all words that a person meets."""

from __future__ import annotations

import re
from pathlib import Path

import tpu_studio

ROOT = Path(tpu_studio.__file__).parent
SHOWN = ("gui", "viewmodels", "cli", "domain/sentences", "workflow/account")


def test_no_space_before_an_ellipsis_at_an_end_nor_before_a_percent_sign() -> None:
    wrong = re.compile(r"[A-Za-z}] …[\"']|[0-9}] %[ .,\"'](?![sd(])")
    met = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for part in SHOWN
        for path in sorted((ROOT / part).rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if wrong.search(line.partition("  # ")[0]) and "PASSAGE_LETTERS" not in line
    ]
    assert met == []


def test_no_line_is_kept_from_the_formatter() -> None:
    apart = re.compile(r"#\s*fmt:\s*" + "(off|on|skip)")
    folders = ("tpu_studio", "tests", "tools", "benchmarks", "packaging")
    files = [file for folder in folders for file in sorted((ROOT.parent / folder).rglob("*.py"))]
    assert len(files) > 1000
    assert [str(file.relative_to(ROOT.parent)) for file in files if apart.search(file.read_text("utf-8"))] == []
