"""The commands of the README and of the manual are commands: each is understood as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import tpu_studio
from tpu_studio.cli.parser import parse
from tpu_studio.wire.errors import BadInput

ROOT = Path(tpu_studio.__file__).parent.parent
VERBS = {"plan", "run", "runs", "predict", "convert", "engine", "doctor", "check", "catalogue", "sweep", "practice"}


def commands() -> list[str]:
    """Lines of the README that stand there to be typed."""
    return re.findall(r"^ {4}tpu-studio +(.*?)(?: +#.*)?$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)


def inline() -> list[str]:
    """Commands between backquotes, of the README and of the manual; what has `…` or `[…]` in it is told, not typed,
    and a verb alone is its name."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    found = (one for page in pages for one in re.findall(r"`tpu-studio ([a-z-]+ [^`]*)`", page.read_text("utf-8")))
    return sorted({one for one in found if not re.search(r"[…\\[|]|\.\.\.", one)})


@pytest.mark.parametrize("line", [*commands(), *inline()])
def test_a_command_of_the_manual_is_understood(line: str):
    assert parse(shlex.split(line)).verb == line.split()[0]


def test_the_list_in_the_readme_has_the_verbs_that_a_newcomer_needs_and_a_wrong_option_is_seen():
    assert {line.split()[0] for line in commands()} >= VERBS and len(inline()) > 5
    with pytest.raises(BadInput):
        parse(["plan", "hands.tpujob", "--for", "cloud"])


def test_what_the_pages_link_to_is_there():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))]
    here = [(page, link) for page, link in links if not link.startswith("http")]
    assert len(here) > 30
    assert [f"{page.name}: {link}" for page, link in here if not (page.parent / link).exists()] == []
