"""``explain``: what an error text of a TPU, a framework, a notebook or the cloud means. Reads; asks nobody."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments

if TYPE_CHECKING:
    from pathlib import Path

    from tpu_studio.domain.explaining import Cause, Explanation

SHOWN = 3  # causes in words; JSON has all


def explain(arguments: Arguments, output: Output) -> int:
    from tpu_studio.domain import figures
    from tpu_studio.domain.explaining import LARGEST
    from tpu_studio.domain.explaining import explain as causes_of
    from tpu_studio.workflow.logs import read_log, read_stream

    file: Path | None = arguments.file
    if file is None or str(file) == "-":
        if sys.stdin.isatty():
            output.say("Paste the error text, then press Ctrl-D (Windows: Ctrl-Z, Enter).")
        log = read_stream(sys.stdin.buffer.read)
    else:
        log = read_log(file)
    if log.is_cut:
        read = figures.size(LARGEST // 2)
        output.say(f"Of {figures.size(log.size)}, the first and the last {read} were read, not the middle.")
    found = causes_of(log.text)
    output.answer({**found.to_json(), "bytes": log.size, "middle_left_out": log.is_cut}, _words(found))
    return 0


def _words(found: Explanation) -> str:
    if not found.causes and not found.harmless:
        return (
            "No known cause is in this text. Give more of it: the lines before the first “Error”, and the last lines.\n"
            "Nothing was sent anywhere, and nothing was changed."
        )
    parts = [_cause(cause) for cause in found.causes[:SHOWN]]
    if left := len(found.causes) - SHOWN:
        parts += [f"{left} more, less sure: --json tells them."] if left > 0 else []
    if not found.causes:
        parts.append("No error is known in this text.")
    for one in found.harmless:
        parts.append(f"No error: {one.why}\n" + "\n".join(f"    {line}" for line in one.lines[:1]))
    return "\n\n".join(parts)


def _cause(cause: Cause) -> str:
    lines = "\n".join(f"    {line}" for line in cause.lines)
    steps = "\n".join(_wrapped(f"{number}. {step}", "   ") for number, step in enumerate(cause.do, 1))
    verb = f"\nThis program does it for you: {cause.verb}" if cause.verb else ""
    sure = "" if cause.sure >= 0.8 else " (perhaps)" if cause.sure >= 0.5 else " (less likely)"
    return f"{cause.title}{sure}\n{lines}\n{_wrapped(cause.means)}\n{steps}{verb}\nSource: {cause.source}"


def _wrapped(words: str, indent: str = "") -> str:
    return textwrap.fill(words, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
