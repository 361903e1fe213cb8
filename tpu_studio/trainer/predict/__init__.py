"""Asks a trained model: pictures, rows of a table, or text to go on with.

    python -m tpu_studio.trainer.predict --run FOLDER ITEM… [--json]      once, answers on stdout
    python -m tpu_studio.trainer.predict --run FOLDER --serve             warm, JSON lines on stdin and stdout
    python -m tpu_studio.trainer.predict --run FOLDER --serve --before    the same, of the model before training

FOLDER is a run folder or an exported result. ``serving`` has the lines, ``asking`` the model, ``generating`` the text.
Importing this imports no framework.
"""

from __future__ import annotations


def main(argv: list[str]) -> int:
    """The command line; the exit code."""
    from tpu_studio.trainer.predict import command

    return command.main(argv)
