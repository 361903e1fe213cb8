"""Words for a tooltip, shown as they stand there.

Qt takes what looks like markup in a tooltip for markup, also in a class name out of somebody's data: a picture it names
is opened, and where that is a pipe the window stands still. Every tooltip of ours goes through `plain`.
"""

from __future__ import annotations

from PySide6.QtGui import Qt

from tpu_studio.wire.brief import cut

_LETTERS = 2_000  # fill a screen


def plain(text: str) -> str:
    """*text* as far as a person reads, or where Qt would see markup in it, markup that shows *text*."""
    text = cut(text, _LETTERS)
    return str(Qt.convertFromPlainText(text)) if Qt.mightBeRichText(text) else text
