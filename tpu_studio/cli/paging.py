"""One file instead of an answer: ``--as page --to FILE`` of ``export`` and ``compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpu_studio.cli.output import Output
from tpu_studio.domain import figures
from tpu_studio.wire.errors import BadInput

if TYPE_CHECKING:
    from tpu_studio.cli.parser import Arguments
    from tpu_studio.viewmodels.onepage.page import Page


def is_asked_for(arguments: Arguments) -> bool:
    """Raises BadInput: one of the options without the others."""
    asked = bool(arguments.form or arguments.to is not None or arguments.force)
    if asked and not (arguments.form and arguments.to is not None):
        help = f"tpu-studio {arguments.verb} --help"
        raise BadInput("command-line", raw="one file takes both: --as FORMAT and --to FILE", help=help)
    return asked


def save_page(page: Page, arguments: Arguments, output: Output) -> dict[str, object]:
    """Write it, say what is in it, and return what of it the JSON says. Raises RunError."""
    from tpu_studio.viewmodels.onepage.page import save

    file = save(page, arguments.to, replace=arguments.force)
    output.say(f"{page.run}: saved as one page, to open in any browser ({figures.size(len(page.data))}).")
    output.say(f"Inside: {'; '.join(page.inside)}.")
    output.say(f"Left out: {'; '.join(page.left_out)}.")
    curves = [{"title": plot.title, "points": plot.count, "drawn": plot.drawn} for plot in page.plots]
    told = {"file": str(file), "bytes": len(page.data), "curves": curves}
    return {**told, "inside": list(page.inside), "left_out": list(page.left_out)}
