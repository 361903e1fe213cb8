"""The shipped examples as Home and the palette offer them: job files in `resources/examples`, each runs as it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Example:
    """*name* is the job file's stem; *title* and *text* say what comes out; *icon* names a Lucide drawing."""

    name: str
    title: str
    text: str
    icon: str
    path: Path


_KNOWN = (
    ("digits", "Handwritten digits", "Tell 0 to 9 apart in tiny pictures. The quickest first run.", "grid-3x3"),
    ("sign-digits", "Hands that count", "Photos of hands signing 0 to 9, learned by a picture network.", "images"),
    ("diamonds", "Price of a diamond", "From a table of weight, cut and colour to the price.", "table"),
    ("shakespeare", "Write like Shakespeare", "A tiny GPT that learns the plays letter by letter.", "type"),
)


def shipped() -> tuple[Example, ...]:
    """Those whose job file is there, in the order to try them."""
    from tpu_studio.wire.resources import resource_path

    try:
        folder = resource_path("examples")
    except FileNotFoundError:
        return ()
    return tuple(
        Example(name, title, text, icon, folder / f"{name}.tpujob")
        for name, title, text, icon in _KNOWN
        if (folder / f"{name}.tpujob").is_file()
    )
