"""`show PAGE.html`: what a run, or a comparison, that was saved as one page tells. Nothing but its data is read."""

from __future__ import annotations

from pathlib import Path

from tpu_studio.cli.output import Output, table


def show_page(file: Path, output: Output) -> int:
    """Raises RunError as `onepage.data.read`."""
    from tpu_studio.viewmodels.onepage import data

    told = data.read(file)
    lines = [told.title, f"{told.pill[0]}. {told.lead}".strip()]
    lines += [f"{label}: {value} {more}".rstrip() for label, value, more in told.numbers]
    for section in told.sections:
        lines += ["", section.title, *filter(None, [section.text])]
        headed = [list(section.head), *map(list, section.rows)]
        same = bool(section.head) and len({*map(len, headed)}) == 1  # a page may say anything
        lines += table(headed).splitlines() if same else ["  ".join(row) for row in section.rows]
        lines += [f"    {data.COMMAND}", ""] if section.code else []
        lines += [f"    {line}".rstrip() for line in section.code.splitlines()]  # its lines are no lines of ours
    sections = [
        {"title": one.title, "text": one.text, "head": one.head, "rows": one.rows, "code": one.code}
        for one in told.sections
    ]
    curves = [{"title": plot.title, "lines": {line.name: line.last for line in plot.lines}} for plot in told.plots]
    output.answer(
        {
            "page": str(file),
            "title": told.title,
            "state": told.pill[0],
            "lead": told.lead,
            "numbers": [{"label": label, "value": value, "more": more} for label, value, more in told.numbers],
            "curves": curves,
            "sections": sections,
        },
        "\n".join(lines),
    )
    return 0
